"""measure(): all numbers and curves of a set of trials in two passes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from llrkit.core.column_values import (
    By,
    ValueCounts,
    columns_of,
    natural_order,
    trials_with_value,
    trials_with_values,
)
from llrkit.core.counting import FirstLook, count, keep_ranking
from llrkit.core.elementary_functions import LN2
from llrkit.core.loss_sums import LossSums
from llrkit.core.moments import Moments
from llrkit.core.ranking import RankedBins, Ranking
from llrkit.core.sample import Sample
from llrkit.core.score_index import score_indexes
from llrkit.core.shared_class import SharedClass, class_to_share, each_group, find_shared_class
from llrkit.core.summary_algebra import Both, Summarizer, both, split_by
from llrkit.core.threshold_grid import ClassName, Grid, collect_again, require_both_classes
from llrkit.core.trial_counts import TrialCounts, count_on
from llrkit.errors import EmptyClassError, InputError
from llrkit.metrics import curves, discrimination
from llrkit.metrics.eer_threshold_and_hter import eer_threshold
from llrkit.metrics.llr_costs import cross_entropy_from_losses, losses_at
from llrkit.metrics.measurements import (
    CountedLater,
    FixedThreshold,
    MeasuredSummaries,
    Measurements,
    PointResult,
    PrimaryResult,
)
from llrkit.metrics.requested_points import (
    DEFAULT_POINTS,
    RequestedPoints,
    at_points,
    measurement_thresholds,
    resolve_points,
)
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.source import as_source
from llrkit.theory.presets import Points

LATER_UP_TO = 1 << 16
"""Trials of a set in memory whose errors for the curves are counted when one is first looked at."""

Split: TypeAlias = Callable[[Scores], Mapping[Hashable, Scores]]
SecondLook: TypeAlias = Both[tuple[TrialCounts, LossSums]]
"""What a second pass finds, where trials are counted in cells."""


def measure(
    source: ScoreSource,
    points: Points = DEFAULT_POINTS,
    *,
    by: By | None = None,
    shared: str | None = None,
    threshold_from: ScoreSource | None = None,
    ece: bool = False,
    allow_unconfirmed: bool = False,
) -> Measurements:
    """All metrics and curves in two passes, without intervals; for the options see :func:`llrkit.evaluate`.

    Examples
    --------
    >>> measure(Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1]), points=["sre08"]).points[0].act_dcf
    0.75
    """
    requested = resolve_points(points, allow_unconfirmed)
    result = _measured(as_source(source), requested)
    if threshold_from is not None:
        result = replace(result, fixed=_fixed_threshold(source, threshold_from))
    if ece:
        result = replace(result, ece=curves.cross_entropy_curve(source, result.summaries.blocks))
    return with_groups(result, source, by, points, allow_unconfirmed, shared)


def _measured(source: ScoreSource, requested: RequestedPoints) -> Measurements:
    if source.sizes is None:
        moments, losses, grid, sample = source.reduce(
            both(Moments.of, LossSums.of, Grid.of, Sample.of)
        ).summaries
        look = FirstLook.of(grid, sample)
    else:
        moments, losses = source.reduce(both(Moments.of, LossSums.of)).summaries
        look = FirstLook(*source.sizes)
    if isinstance(source, Scores) and source.ascending and sum(source.sizes) <= LATER_UP_TO:
        counted = count(source, look, requested.thresholds)
        at = losses.with_errors(requested.thresholds, counted.target_below, counted.nontarget_below)
        later = CountedLater(source, losses, partial(measurement_thresholds, moments, requested))
        keep_ranking(source, counted.ranking)
        return measurements_of(moments, counted.ranking, at, requested, later)
    thresholds = measurement_thresholds(moments, requested)
    counted = count(source, look, thresholds)
    keep_ranking(source, counted.ranking)
    everywhere = losses.with_errors(thresholds, counted.target_below, counted.nontarget_below)
    return measurements_of(moments, counted.ranking, at_points(everywhere, requested), requested, everywhere)


def with_groups(
    result: Measurements,
    source: ScoreSource,
    by: By | None,
    points: Points,
    allow_unconfirmed: bool = False,
    shared: str | None = None,
) -> Measurements:
    """The same measurements with those of every value of a column, if one is given."""
    if by is None:
        if shared is not None:
            raise InputError("shared= needs groups: name their column (by=)")
        return result
    wanted = None if shared is None else class_to_share(shared)
    groups, skipped, sharing = measure_groups(source, by, resolve_points(points, allow_unconfirmed), wanted)
    return replace(
        result,
        groups=MappingProxyType(groups),
        skipped_groups=MappingProxyType(skipped),
        shared=sharing,
        by=columns_of(by),
    )


def measurement_summarizer(
    moments: Moments, grid: Grid, requested: RequestedPoints
) -> Summarizer[SecondLook]:
    """A summarizer of what an evaluation is made from, in cells; for weighted and grouped trials."""
    thresholds = measurement_thresholds(moments, requested)
    summarize = both(count_on(grid), LossSums.at(thresholds=thresholds))
    cuts, ascending = grid.points, np.sort(thresholds)

    def prepared(chunk: Scores) -> SecondLook:
        larger = score_indexes(chunk)[1 if grid.smaller == "target" else 0]
        if cuts is not None:
            larger.prepare(cuts, ascending)  # one look at the scores for both summaries
        return summarize(chunk)

    return prepared


def measurements_from_summaries(
    moments: Moments, second: SecondLook, requested: RequestedPoints
) -> Measurements:
    """The numbers that the summaries of two passes give, where trials were counted in cells."""
    counts, losses = second.summaries
    require_both_classes(counts.n_target, counts.n_nontarget)
    ranking = RankedBins(counts.bins())
    return measurements_of(moments, ranking, at_points(losses, requested), requested, losses)


def measurements_of(
    moments: Moments,
    ranking: Ranking,
    losses: LossSums,
    requested: RequestedPoints,
    everywhere: LossSums | CountedLater,
) -> Measurements:
    """The numbers of counted trials.

    The losses hold the errors at the operating points, ``everywhere`` those at
    :func:`measurement_thresholds`, which a small set counts only when a curve asks for them.
    """
    blocks = ranking.blocks
    actual = losses.p_miss, losses.p_fa
    best = discrimination.best_errors(blocks, [point.log_odds for point in requested.points])
    points = tuple(
        PointResult(
            point,
            min_dcf=point.cost(*at_best),
            act_dcf=point.cost(p_miss, p_fa),
            p_miss=p_miss,
            p_fa=p_fa,
        )
        for point, p_miss, p_fa, *at_best in zip(
            requested.points, *(rates.tolist() for rates in (*actual, *best)), strict=True
        )
    )
    primaries = tuple(
        PrimaryResult(
            name,
            min=float(np.mean([points[i].min_dcf for i in members])),
            act=float(np.mean([points[i].act_dcf for i in members])),
            members=members,
        )
        for name, members in requested.primaries
    )
    return Measurements(
        n_target=round(ranking.n_target),
        n_nontarget=round(ranking.n_nontarget),
        eer=discrimination.eer_from_blocks(blocks),
        eer_roc=discrimination.eer_roc_from_ranking(ranking),
        auc=discrimination.auc_from_ranking(ranking),
        cllr=float(cross_entropy_from_losses(losses)[0] / LN2),
        min_cllr=discrimination.min_cllr_from_blocks(blocks),
        prbep=discrimination.prbep_from_blocks(blocks),
        points=points,
        primaries=primaries,
        moments=moments,
        summaries=MeasuredSummaries(ranking, everywhere, moments),
    )


def _fixed_threshold(source: ScoreSource, dev: ScoreSource) -> FixedThreshold:
    threshold = eer_threshold(dev)
    losses = losses_at(source, thresholds=[threshold])
    return FixedThreshold(threshold, float(losses.p_miss[0]), float(losses.p_fa[0]))


def measure_groups(
    source: ScoreSource, by: By, requested: RequestedPoints, shared: ClassName | None = None
) -> tuple[dict[Hashable, Measurements], dict[Hashable, str], SharedClass | None]:
    """Measure every value of a column, still in two passes (a third if some group's grid was dropped).

    With several columns every combination of their values that occurs is measured, and keys are tuples.
    Where groups share a class, one pass more finds the groups first.
    """
    column, *others = columns_of(by)
    if others:
        names = (column, *others)
        return _measure_split(source.with_columns(*names), names, requested, shared)
    wide = source.with_columns(column)
    split: Split = partial(split_by, column=column)
    if shared is None:
        first = wide.reduce(each_group(split, _first_look)).groups
        grids = {key: look.summaries[1] for key, look in first.items()}
        counts: Mapping[Hashable, tuple[float, float]] = {
            key: (grid.n_target, grid.n_nontarget) for key, grid in grids.items()
        }
    else:
        counts = wide.reduce(lambda chunk: ValueCounts.of(chunk, column)).counts
    sharing = find_shared_class(counts, shared)
    skipped: dict[Hashable, str] = {}
    part: Callable[[Hashable], ScoreSource] = partial(trials_with_value, wide, column)
    if sharing is not None:
        skipped |= sharing.skipped(counts)
        split = partial(sharing.split, column=column, groups=sharing.groups(counts))
        part = partial(sharing.trials_of, wide, column)
        first = wide.reduce(each_group(split, _first_look)).groups
    groups, more = _measured_groups(wide, split, part, first, requested)
    return groups, skipped | more, sharing


def _measure_split(
    wide: ScoreSource, names: tuple[str, ...], requested: RequestedPoints, shared: ClassName | None
) -> tuple[dict[Hashable, Measurements], dict[Hashable, str], None]:
    """Every combination of the values of several columns."""
    if shared is not None:
        raise InputError("shared= needs groups of one column (by=)")
    split: Split = partial(split_by, column=names)
    first = wide.reduce(each_group(split, _first_look)).groups

    def part(key: Hashable) -> ScoreSource:
        return trials_with_values(wide, names, key if isinstance(key, tuple) else (key,))

    return *_measured_groups(wide, split, part, first, requested), None


def _measured_groups(
    wide: ScoreSource,
    split: Split,
    part: Callable[[Hashable], ScoreSource],
    first: Mapping[Hashable, Both[tuple[Moments, Grid]]],
    requested: RequestedPoints,
) -> tuple[dict[Hashable, Measurements], dict[Hashable, str]]:
    """The measurements of the groups after a first look at them, and why some have none."""
    usable, skipped = {}, {}
    # sorted: which value comes first must not depend on how the trials are cut into chunks
    for key, look in sorted(first.items(), key=lambda item: natural_order(item[0])):
        moments, grid = look.summaries
        try:
            require_both_classes(grid.n_target, grid.n_nontarget)
            usable[key] = (moments, grid if grid.points is not None else collect_again(part(key), grid))
        except EmptyClassError as error:
            skipped[key] = str(error)
    second = {
        key: measurement_summarizer(moments, grid, requested) for key, (moments, grid) in usable.items()
    }
    if not second:
        return {}, skipped
    summaries = wide.reduce(
        each_group(split, lambda key, group: second[key](group) if key in second else None)
    ).groups
    groups = {key: measurements_from_summaries(usable[key][0], summaries[key], requested) for key in usable}
    return groups, skipped


def _first_look(_key: object, group: Scores) -> Both[tuple[Moments, Grid]]:
    return both(Moments.of, Grid.of)(group)
