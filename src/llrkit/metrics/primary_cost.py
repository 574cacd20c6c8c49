"""Costs that average several operating points, with known non-targets and equalized partitions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from llrkit._arrays import Counts
from llrkit.core.column_values import trials_with_value, truth_of
from llrkit.core.loss_sums import LossSums
from llrkit.core.moments import Moments
from llrkit.core.pav_and_hull import pav_blocks
from llrkit.core.summary_algebra import grouped
from llrkit.core.threshold_grid import Grid, collect_again, require_both_classes
from llrkit.core.trial_counts import TrialCounts, count_on
from llrkit.errors import EmptyClassError, InputError
from llrkit.metrics.discrimination import min_dcf_from_blocks
from llrkit.scores import ScoreSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.scores.source import as_source
from llrkit.theory.operating_points import OperatingPoint
from llrkit.theory.presets import Preset, cost_of

Weights: TypeAlias = dict[Hashable, tuple[float, float]]


def nist_weights(sizes: Weights) -> Weights:
    """Weights of the targets and non-targets of each condition: largest count over own count, as NIST.

    Examples
    --------
    >>> nist_weights({"clean": (10, 100), "noisy": (5, 400)})
    {'clean': (1.0, 4.0), 'noisy': (2.0, 1.0)}
    """
    largest = [max(size[class_index] for size in sizes.values()) for class_index in (0, 1)]
    return {
        key: (largest[0] / size[0] if size[0] else 0.0, largest[1] / size[1] if size[1] else 0.0)
        for key, size in sizes.items()
    }


def scaled_to_size(weights: Weights, sizes: Weights) -> Weights:
    """The same weights, scaled so that each class keeps its number of trials."""
    scale = []
    for class_index in (0, 1):
        weighted = sum(weights[key][class_index] * sizes[key][class_index] for key in sizes)
        scale.append(sum(size[class_index] for size in sizes.values()) / weighted if weighted else 0.0)
    return {key: (t * scale[0], n * scale[1]) for key, (t, n) in weights.items()}


@takes_labels
def c_primary(
    source: ScoreSource,
    evaluation: str | Preset | OperatingPoint | float,
    *,
    actual: bool = True,
    known: str | None = None,
    p_known: float | None = None,
    partition: str | Sequence[str] | None = None,
    dataset: str | None = None,
    allow_unconfirmed: bool = False,
) -> float:
    """Primary cost of a NIST evaluation: the mean of normalized DCFs at its operating points.

    Parameters
    ----------
    evaluation
        Name of a preset: "sre12", "sre16", "sre21", ... A preset with one point is that point. Or an
        operating point, or a prior.
    actual
        At the Bayes thresholds (default) or at the best thresholds (``False``).
    known
        Name of a column that is true (or 1) for non-target trials of known impostors. Pfa is then
        ``p_known Pfa_known + (1 - p_known) Pfa_unknown`` as in SRE12.
    p_known
        The share of known impostors; by default the preset's.
    partition
        Name of a column whose values are given equal weight in each class, as NIST does from SRE16 on;
        with several names, all combinations of their values.
    dataset
        For "sre18", whose cost is the mean of those of two sets: the column that holds "cmn2" or "vast".
    allow_unconfirmed
        Accept presets whose definition could not be confirmed.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.c_primary(lk.Scores([0.0], [0.0]), "sre12")
    1.0
    """
    if isinstance(evaluation, str) and evaluation.lower() in COMPOSED:
        options = {"actual": actual, "partition": partition, "allow_unconfirmed": allow_unconfirmed}
        return _mean_over_sets(source, COMPOSED[evaluation.lower()], dataset, options)
    if dataset is not None:
        raise InputError(f"{evaluation!r} has one set only; dataset is for {', '.join(COMPOSED)}")
    chosen_preset = cost_of(evaluation, allow_unconfirmed=allow_unconfirmed)
    if known is not None and partition is not None:
        raise InputError("give either known or partition, not both")
    if known is not None:
        weights = _known_weights(chosen_preset, p_known)
        return _weighted_cost(source, chosen_preset, actual, known, weights)
    if p_known is not None:
        raise InputError("p_known needs the name of the column that marks known non-targets (known=...)")
    if partition is not None:
        return _weighted_cost(source, chosen_preset, actual, partition, nist_weights)
    if actual:
        losses = as_source(source).reduce(
            LossSums.at(thresholds=[point.threshold for point in chosen_preset.points])
        )
        return _mean_actual_cost(
            chosen_preset, [(losses.n_target, losses.n_nontarget, losses.n_miss, losses.n_fa)]
        )
    return _mean_minimum_cost(chosen_preset, source.reduce(count_on(_grid_of_smaller_class(source))))


COMPOSED = {"sre18": {"cmn2": "sre18-cmn2", "vast": "sre18-vast"}}
"""Evaluations whose cost is the mean of those of several sets: value of the column -> preset."""


def _mean_over_sets(
    source: ScoreSource, presets: dict[str, str], dataset: str | None, options: Mapping[str, object]
) -> float:
    if dataset is None:
        raise InputError(f"the cost is a mean over sets: give the column that holds {' or '.join(presets)}")
    key_of = {
        str(key): key for key in source.with_columns(dataset).reduce(grouped(Moments.of, dataset)).groups
    }
    by_name = {name.strip().lower(): key for name, key in key_of.items()}
    if set(by_name) != set(presets):
        raise InputError(f"column {dataset!r} must hold {' and '.join(presets)}, saw {', '.join(key_of)}")
    costs = [
        c_primary(trials_with_value(source, dataset, by_name[set_name]), name, **options)
        for set_name, name in presets.items()
    ]
    return float(np.mean(costs))


GroupWeights = Callable[[Weights], Weights]


def _grid_of_smaller_class(source: ScoreSource) -> Grid:
    return collect_again(source, as_source(source).reduce(Grid.of))


def _weighted_cost(
    source: ScoreSource,
    chosen_preset: Preset,
    actual: bool,
    column: str | Sequence[str],
    weights_of: GroupWeights,
) -> float:
    """The cost with every group of a column weighted; the weights follow from the class counts."""
    wide = as_source(source).with_columns(*([column] if isinstance(column, str) else column))
    if actual:
        thresholds = [point.threshold for point in chosen_preset.points]
        losses = wide.reduce(grouped(LossSums.at(thresholds=thresholds), column)).groups
        weights = weights_of({key: (group.n_target, group.n_nontarget) for key, group in losses.items()})
        rows = [
            (group.n_target * wt, group.n_nontarget * wn, group.n_miss * wt, group.n_fa * wn)
            for group, (wt, wn) in ((losses[key], weights[key]) for key in losses)
        ]
        return _mean_actual_cost(chosen_preset, rows)
    counts = wide.reduce(grouped(count_on(_grid_of_smaller_class(source)), column))
    weights = weights_of({key: (group.n_target, group.n_nontarget) for key, group in counts.groups.items()})
    total: TrialCounts | None = None
    for key, group in counts.groups.items():
        weighted = group.weighted(*weights[key])
        total = weighted if total is None else total + weighted
    if total is None:
        raise EmptyClassError("there are no trials")
    return _mean_minimum_cost(chosen_preset, total)


def _mean_actual_cost(chosen_preset: Preset, rows: Sequence[tuple[float, float, Counts, Counts]]) -> float:
    n_target, n_nontarget = sum(row[0] for row in rows), sum(row[1] for row in rows)
    require_both_classes(n_target, n_nontarget)
    p_miss = np.sum([row[2] for row in rows], axis=0) / n_target
    p_fa = np.sum([row[3] for row in rows], axis=0) / n_nontarget
    costs = [
        point.cost(float(m), float(f)) for point, m, f in zip(chosen_preset.points, p_miss, p_fa, strict=True)
    ]
    return float(np.mean(costs))


def _mean_minimum_cost(chosen_preset: Preset, counts: TrialCounts) -> float:
    require_both_classes(counts.n_target, counts.n_nontarget)
    blocks = pav_blocks(counts.bins())
    return float(np.mean([min_dcf_from_blocks(blocks, point) for point in chosen_preset.points]))


def _known_weights(chosen_preset: Preset, p_known: float | None) -> GroupWeights:
    share = chosen_preset.p_known if p_known is None else p_known
    if share is None or not 0.0 <= share <= 1.0:
        raise InputError(f"{chosen_preset.name}: p_known must be given, between 0 and 1; got {p_known!r}")

    def weights(sizes: Weights) -> Weights:
        n_known = sum(n for key, (_, n) in sizes.items() if _is_known(key))
        n_unknown = sum(n for key, (_, n) in sizes.items() if not _is_known(key))
        if (share > 0 and n_known == 0) or (share < 1 and n_unknown == 0):
            missing = "known" if n_known == 0 else "unknown"
            raise EmptyClassError(f"there are no {missing} non-targets, but p_known is {share:g}")
        known = share / n_known if n_known else 0.0
        unknown = (1.0 - share) / n_unknown if n_unknown else 0.0
        return {key: (1.0, known if _is_known(key) else unknown) for key in sizes}

    return weights


def _is_known(value: object) -> bool:
    text = str(value).strip().lower()
    known = {"known": True, "1.0": True, "unknown": False, "0.0": False}.get(text, truth_of(text))
    if known is None:
        raise InputError(
            f"the column of known non-targets must hold true/false or known/unknown, saw {value!r}"
        )
    return known
