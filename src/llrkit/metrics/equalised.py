"""Evaluation with equalised conditions: every condition weighs the same, however many trials it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from llrkit.core.grid import Grid, collect_again
from llrkit.core.moments import Moments
from llrkit.core.summary import Both, both, grouped
from llrkit.errors import EmptyClassError, InputError
from llrkit.metrics.evaluation import Evaluation
from llrkit.metrics.measure import finish, resolve_points, second_pass
from llrkit.scores import ScoreSource
from llrkit.theory.points import OperatingPoint

Weights = dict[Any, tuple[float, float]]


def nist_weights(sizes: Weights) -> Weights:
    """Weights of the targets and non-targets of each condition: largest count over own count, as NIST.

    Examples
    --------
    >>> nist_weights({"clean": (10, 100), "noisy": (5, 400)})
    {'clean': (1.0, 4.0), 'noisy': (2.0, 1.0)}
    """
    largest = [max(size[side] for size in sizes.values()) for side in (0, 1)]
    return {
        key: (largest[0] / size[0] if size[0] else 0.0, largest[1] / size[1] if size[1] else 0.0)
        for key, size in sizes.items()
    }


def equalised(
    source: ScoreSource,
    columns: str | Sequence[str],
    points: Sequence[OperatingPoint | str | float] = ("sre08", "sre10"),
    *,
    allow_unconfirmed: bool = False,
) -> Evaluation:
    """Evaluate with every value of a column, or combination of several, given the same weight in each class.

    Error counts and losses of each condition are weighted before they are added, so every number and
    curve is that of an evaluation in which all conditions have the same number of trials. Weights are
    those of NIST, scaled so that the weighted trials number as many as there are. Two passes.

    Examples
    --------
    >>> from llrkit.scores import Scores
    >>> clean, noisy = [4.0, 3.0, 5.0, -1.0], [1.0]
    >>> condition = (["clean"] * 4 + ["noisy"], ["clean", "noisy"])
    >>> scores = Scores(clean + noisy, [-2.0, 0.0], {"condition": condition})
    >>> equalised(scores, "condition", [0.5]).points[0].p_miss  # one of 4 clean targets, no noisy one
    0.125
    """
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    if not names:
        raise InputError("equalise needs the name of at least one column")
    asked = resolve_points(points, allow_unconfirmed)
    wide = source.with_columns(*names)
    moments, grid, groups = wide.reduce(both(Moments.of, Grid.of, grouped(Moments.of, names)))
    grid = collect_again(source, grid)
    parts = wide.reduce(grouped(second_pass(moments, grid, asked), names)).parts
    sizes = {
        key: (float(part.parts[0].n_target), float(part.parts[0].n_nontarget)) for key, part in parts.items()
    }
    weights = _kept_size(nist_weights(sizes), sizes)
    second = _added([Both(tuple(part.weighted(*weights[key]) for part in parts[key])) for key in parts])
    first = _added([groups.parts[key].weighted(*weights[key]) for key in parts])
    result = finish(first, second, asked)
    by_name = {", ".join(str(value) for value in key): weights[key] for key in sorted(weights, key=str)}
    return replace(result, equalised=names, condition_weights=MappingProxyType(by_name))


def _kept_size(weights: Weights, sizes: Weights) -> Weights:
    """The same weights, scaled so that each class keeps its number of trials."""
    scale = []
    for side in (0, 1):
        weighted = sum(weights[key][side] * sizes[key][side] for key in sizes)
        scale.append(sum(size[side] for size in sizes.values()) / weighted if weighted else 0.0)
    return {key: (t * scale[0], n * scale[1]) for key, (t, n) in weights.items()}


def _added(parts: list[Any]) -> Any:
    if not parts:
        raise EmptyClassError("there are no trials")
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
