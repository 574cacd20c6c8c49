"""Evaluation with equalized conditions: every condition weighs the same, however many trials it has."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from types import MappingProxyType

from llrkit.core.moments import Moments
from llrkit.core.summary_algebra import Both, both, grouped
from llrkit.core.threshold_grid import Grid, collect_again
from llrkit.errors import EmptyClassError, InputError
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.metrics.measure import measurement_summarizer, measurements_from_summaries
from llrkit.metrics.primary_cost import Weights, nist_weights, scaled_to_size
from llrkit.metrics.requested_points import resolve_points
from llrkit.scores import ScoreSource
from llrkit.scores.source import S
from llrkit.theory.presets import Points


def equalized(
    source: ScoreSource,
    columns: str | Sequence[str],
    points: Points = ("sre08", "sre10"),
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
    >>> equalized(scores, "condition", [0.5]).points[0].p_miss  # one of 4 clean targets, no noisy one
    0.125
    """
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    if not names:
        raise InputError("equalize needs the name of at least one column")
    operating_points = resolve_points(points, allow_unconfirmed)
    wide = source.with_columns(*names)
    moments, grid, groups = wide.reduce(both(Moments.of, Grid.of, grouped(Moments.of, names))).summaries
    grid = collect_again(source, grid)
    by_condition = wide.reduce(grouped(measurement_summarizer(moments, grid, operating_points), names)).groups
    counts = {key: summaries.summaries[0] for key, summaries in by_condition.items()}
    sizes = {key: (float(count.n_target), float(count.n_nontarget)) for key, count in counts.items()}
    weights = scaled_to_size(nist_weights(sizes), sizes)
    second = _sum_of_conditions(
        [
            Both((counts[key].weighted(*weights[key]), look.summaries[1].weighted(*weights[key])))
            for key, look in by_condition.items()
        ]
    )
    first = _sum_of_conditions([groups.groups[key].weighted(*weights[key]) for key in by_condition])
    result = Evaluation.from_measurements(measurements_from_summaries(first, second, operating_points))
    by_name = {
        ", ".join(map(str, _values_of_combination(key))): weights[key] for key in sorted(weights, key=str)
    }
    information = _information_of_weights(weights, sizes, 0), _information_of_weights(weights, sizes, 1)
    return replace(
        result, equalized=names, condition_weights=MappingProxyType(by_name), information=information
    )


def _values_of_combination(key: Hashable) -> tuple[Hashable, ...]:
    """The values of a combination."""
    return key if isinstance(key, tuple) else (key,)


def _information_of_weights(weights: Weights, sizes: Weights, of_class: int) -> float:
    """Effective trials of a class by Kish, (sum w)^2 / sum w^2, over their number."""
    w = [(weights[key][of_class], sizes[key][of_class]) for key in weights]
    total = sum(n * weight for weight, n in w)
    return float(total / sum(n * weight**2 for weight, n in w)) if total > 0.0 else 1.0


def _sum_of_conditions(summaries: list[S]) -> S:
    if not summaries:
        raise EmptyClassError("there are no trials")
    return reduce(add, summaries)
