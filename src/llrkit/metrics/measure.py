"""All numbers of a set of trials, in two passes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from llrkit.base.arguments import FloatArray, yes_or_no
from llrkit.base.process import cached_property
from llrkit.base.text import Json
from llrkit.core import cells
from llrkit.core.counting import FirstLook, count, count_below
from llrkit.core.groups import (
    By,
    SharedClass,
    ValueCounts,
    class_to_share,
    columns_of,
    each_group,
    find_shared_class,
    natural_order,
    split_by,
    trials_with_values,
)
from llrkit.core.losses import LossSums
from llrkit.core.numerics import LN2
from llrkit.core.order import Ranking
from llrkit.core.pav import PavBlocks, ScoreBins
from llrkit.core.summaries import Both, Moments, Sample, Summarizer, both
from llrkit.errors import EmptyClassError, InputError
from llrkit.metrics import curves, discrimination
from llrkit.metrics.costs import cross_entropy_from_losses, eer_threshold, losses_at
from llrkit.metrics.discrimination import Curve, DetSlope, best_errors, det_slope_from_bins
from llrkit.metrics.loss_parts import FAR, BestLine, LlrCells, LossSplit, best_line, loss_split, slope_may_be
from llrkit.results.result import Result
from llrkit.scores import Scores, ScoreSource, as_source
from llrkit.theory.operating_points import OperatingPoint, Points, costs_of

if TYPE_CHECKING:
    from llrkit.theory.calibrated_pairs import PairCurve


@dataclass(frozen=True, eq=False)
class OperatingMarks(Curve):
    """Error rates at operating points: at the Bayes threshold and at the best one."""

    names: tuple[str, ...]
    actual_p_miss: FloatArray
    actual_p_fa: FloatArray
    best_p_miss: FloatArray
    best_p_fa: FloatArray


@dataclass(frozen=True)
class PointResult(Result):
    """Normalized detection costs at one operating point."""

    point: OperatingPoint
    min_dcf: float
    act_dcf: float
    p_miss: float
    """Miss rate at the Bayes threshold."""
    p_fa: float
    """False-alarm rate at the Bayes threshold."""

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        return {
            "name": self.point.name,
            "p_target": self.point.p_target,
            "c_miss": self.point.c_miss,
            "c_fa": self.point.c_fa,
            "min_dcf": self.min_dcf,
            "act_dcf": self.act_dcf,
            "threshold": self.point.threshold,
            "p_miss": self.p_miss,
            "p_fa": self.p_fa,
        }


@dataclass(frozen=True)
class PrimaryResult(Result):
    """A cost averaged over the operating points of an evaluation."""

    name: str
    min: float
    act: float
    members: tuple[int, ...] = ()
    """Which of the points are averaged."""


@dataclass(frozen=True)
class FixedThreshold(Result):
    """Errors at a threshold that was fixed on other data, its equal-error point."""

    threshold: float
    p_miss: float
    p_fa: float

    @property
    def hter(self) -> float:
        """Half total error rate."""
        return (self.p_miss + self.p_fa) / 2.0


@dataclass(frozen=True, eq=False)
class CountedLater:
    """The scores of a small set in ascending order, whose errors are counted when a curve asks for them."""

    scores: Scores
    sums: LossSums
    thresholds: Callable[[], FloatArray]

    def losses(self) -> LossSums:
        """The losses with the errors at all thresholds."""
        cuts = self.thresholds()
        below = (count_below(of, cuts) for of in (self.scores.target, self.scores.nontarget))
        return self.sums.with_errors(cuts, *below)


@dataclass(frozen=True, eq=False)
class MeasuredSummaries:
    """What the curves are made from: counts, or the sorted scores of a set in memory."""

    ranking: Ranking
    counted: LossSums | CountedLater
    moments: Moments

    @property
    def blocks(self) -> PavBlocks:
        """The PAV blocks of all trials."""
        return self.ranking.blocks

    @cached_property
    def bins(self) -> ScoreBins:
        """The bins of all trials, which a large set in memory makes when they are first looked at."""
        return self.ranking.bins

    @cached_property
    def losses(self) -> LossSums:
        """With the errors at all thresholds, those of the curves and cells included."""
        return self.counted if isinstance(self.counted, LossSums) else self.counted.losses()

    def slope_may_be(self, low: float, high: float) -> bool:
        """Whether the best straight line may have a slope between two numbers; a small set may tell."""
        return isinstance(self.counted, LossSums) or slope_may_be(self.counted.scores, low, high)

    @cached_property
    def at_log_odds(self) -> LossSums:
        """Errors at the thresholds of :data:`llrkit.metrics.curves.BAYES_LOG_ODDS`."""
        # the order of measurement_thresholds(): log-odds, LLRs, operating points, far ones
        return self.losses.slice_thresholds(0, len(curves.BAYES_LOG_ODDS))

    @cached_property
    def at_llrs(self) -> LossSums:
        """Errors at an even grid of LLRs between the extremes."""
        n_odds = len(curves.BAYES_LOG_ODDS)
        return self.losses.slice_thresholds(n_odds, n_odds + curves.LLR_STEPS + 1)

    @cached_property
    def cells(self) -> LlrCells:
        """Both classes between all thresholds."""
        return LlrCells.from_counts(self.losses, self.moments, self.ranking)


@dataclass(frozen=True, eq=False, repr=False)
class Measurements(Result):
    """The numbers and curves of a set of trials, without intervals and without words.

    Made by :func:`llrkit.metrics.measure.measure`; :class:`llrkit.Evaluation` adds how sure the numbers are
    and what they mean.
    """

    n_target: int
    """Number of target trials."""
    n_nontarget: int
    """Number of non-target trials."""
    eer: float
    """Equal error rate on the ROC convex hull, see :func:`llrkit.eer`."""
    eer_roc: float
    """Equal error rate on the interpolated ROC, see :func:`llrkit.metrics.eer_roc`."""
    auc: float
    """Area under the ROC."""
    cllr: float
    """Cost of the LLR in bits."""
    min_cllr: float
    """Cost of the LLR in bits after the best monotone calibration of these trials."""
    prbep: float
    """Precision-recall break-even point, a count."""
    points: tuple[PointResult, ...]
    """Minimum and actual cost at each operating point."""
    primaries: tuple[PrimaryResult, ...]
    """Means over the operating points of a preset."""
    moments: Moments
    """Means, variances and higher moments of both classes."""
    summaries: MeasuredSummaries
    """The counts that curves are made from."""
    fixed: FixedThreshold | None = None
    """Errors at a threshold that was given."""
    ece: curves.CrossEntropyCurve | None = None
    """Empirical cross-entropy over priors, if it was asked for."""
    groups: Mapping[Hashable, Measurements] = field(default_factory=lambda: MappingProxyType({}))
    """The same of each group."""
    skipped_groups: Mapping[Hashable, str] = field(default_factory=lambda: MappingProxyType({}))
    """Groups that could not be evaluated, and why."""
    shared: SharedClass | None = None
    """The class whose trials all groups have in common, if they do."""
    by: tuple[str, ...] = ()
    """The columns whose values are the groups."""

    @property
    def cllr_cal(self) -> float:
        """What is lost to calibration, in bits: ``cllr - min_cllr``."""
        return self.cllr - self.min_cllr

    @cached_property
    def best_line(self) -> BestLine | None:
        """The straight map of scores with the lowest Cllr, fitted to narrow cells; None if there is none."""
        return best_line(self.summaries.cells)

    @cached_property
    def loss_split(self) -> LossSplit | None:
        """Cllr as the sum of what discrimination, scale and offset, and shape cost."""
        return loss_split(self.summaries.cells, self.best_line, self.cllr, self.min_cllr)

    @property
    def primary(self) -> PrimaryResult | None:
        """The first averaged cost that was asked for."""
        return self.primaries[0] if self.primaries else None

    @cached_property
    def roc(self) -> curves.ErrorCurve:
        """The exact ROC."""
        return curves.error_curve(self.summaries.bins)

    @property
    def det(self) -> curves.ErrorCurve:
        """The DET curve: the ROC, to be drawn on probit axes."""
        return self.roc

    @cached_property
    def rocch(self) -> curves.ErrorCurve:
        """The ROC convex hull."""
        return curves.error_curve(self.summaries.blocks)

    @cached_property
    def pav(self) -> curves.PavCurve:
        """The optimal monotone map from score to LLR."""
        blocks = self.summaries.blocks
        return curves.PavCurve(blocks.low, blocks.high, blocks.llr, blocks.target, blocks.nontarget)

    @cached_property
    def bayes_error(self) -> curves.BayesErrorCurve:
        """Actual and minimum error rates over prior log-odds."""
        summaries = self.summaries
        return curves.bayes_error_curve(summaries.blocks, curves.BAYES_LOG_ODDS, summaries.at_log_odds)

    @cached_property
    def tippett(self) -> curves.TippettCurve:
        """Cumulative LLR distributions."""
        # the middle of the grid is log-odds 0
        at_odds, zero = self.summaries.at_log_odds, len(curves.BAYES_LOG_ODDS) // 2
        misleading = float(at_odds.p_miss[zero]), float(at_odds.p_fa[zero])
        losses = self.summaries.at_llrs
        return curves.TippettCurve(losses.thresholds, 1.0 - losses.p_miss, losses.p_fa, misleading)

    @cached_property
    def histogram(self) -> curves.HistogramPair:
        """Histograms of both classes."""
        return curves.histogram_pair(self.summaries.at_llrs, self.moments)

    @cached_property
    def marks(self) -> OperatingMarks:
        """The error rates at the operating points, to be marked on DET and ROC plots."""
        best = best_errors(self.summaries.blocks, [result.point.log_odds for result in self.points])
        return OperatingMarks(
            tuple(result.point.name for result in self.points),
            np.array([result.p_miss for result in self.points]),
            np.array([result.p_fa for result in self.points]),
            *best,
        )

    @cached_property
    def predicted(self) -> PairCurve | None:
        """The densities of calibrated Gaussian LLRs with this EER, over the range of the histogram.

        None where there is no such pair: at an EER of 0, and from 1/2 on.
        """
        if not 0.0 < self.eer < 0.5:  # calibrated LLRs have an EER below 1/2
            return None
        from llrkit.theory.calibrated_pairs import pair_curve
        from llrkit.theory.gaussian import GaussianLLR

        edges = self.histogram.edges
        return pair_curve(GaussianLLR.from_eer(self.eer), np.linspace(edges[0], edges[-1], 513))

    @cached_property
    def det_slope(self) -> DetSlope:
        """The straight line through the DET curve."""
        return det_slope_from_bins(self.summaries.bins)

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name}={getattr(self, name):.4g}" for name in ("eer", "cllr", "min_cllr"))
        return f"{type(self).__name__}({self.n_target:,} + {self.n_nontarget:,} trials: {numbers})"


SHARE_AT_AN_END = 0.01
"""Of a class, from which on scores count as saturated; and never fewer than ``FEWEST_AT_AN_END`` trials."""
FEWEST_AT_AN_END = 5
DEFAULT_POINTS = ("sre08", "sre10")


@dataclass(frozen=True)
class RequestedPoints:
    """The operating points to report, and which of them each averaged cost takes."""

    points: tuple[OperatingPoint, ...]
    primaries: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def thresholds(self) -> FloatArray:
        """The Bayes threshold of each point."""
        return np.array([point.threshold for point in self.points])


def resolve_points(points: Points, allow_unconfirmed: bool) -> RequestedPoints:
    """The operating points of names, priors and presets."""
    yes_or_no(allow_unconfirmed, "allow_unconfirmed")
    # the default is asked for in almost every call, so it is resolved once
    if isinstance(points, tuple) and points == DEFAULT_POINTS:
        return _default_points()
    return _resolved_points(points, allow_unconfirmed)


@cache
def _default_points() -> RequestedPoints:
    return _resolved_points(DEFAULT_POINTS, allow_unconfirmed=False)


def _resolved_points(points: Points, allow_unconfirmed: bool) -> RequestedPoints:
    flat: list[OperatingPoint] = []
    primaries = []
    for chosen_preset in costs_of(points, allow_unconfirmed=allow_unconfirmed):
        if chosen_preset.averages:
            primaries.append(
                (chosen_preset.name, tuple(range(len(flat), len(flat) + len(chosen_preset.points))))
            )
        flat.extend(chosen_preset.points)
    return RequestedPoints(tuple(flat), tuple(primaries))


def measurement_thresholds(moments: Moments, requested: RequestedPoints) -> FloatArray:
    """Where errors are counted: for the curves, at the operating points, and far out for the cells."""
    low, high = moments.extremes
    if not low <= high:  # no finite score at all
        low = high = 0.0
    share = np.linspace(0.0, 1.0, curves.LLR_STEPS + 1)
    llrs = low * (1.0 - share) + high * share  # high - low may be beyond float64
    # slices below rely on this order
    return np.concatenate([-curves.BAYES_LOG_ODDS, llrs, requested.thresholds, FAR])


def at_points(losses: LossSums, requested: RequestedPoints) -> LossSums:
    """The losses with the errors at the operating points only."""
    first = len(curves.BAYES_LOG_ODDS) + curves.LLR_STEPS + 1
    return losses.slice_thresholds(first, first + len(requested.points))


LATER_UP_TO = 1 << 16
"""Trials of a set in memory whose errors for the curves are counted when one is first looked at."""

Split: TypeAlias = Callable[[Scores], Mapping[Hashable, Scores]]
SecondLook: TypeAlias = Both[tuple[cells.TrialCounts, LossSums]]
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
        threshold = eer_threshold(threshold_from)
        losses = losses_at(source, thresholds=[threshold])
        fixed = FixedThreshold(threshold, float(losses.p_miss[0]), float(losses.p_fa[0]))
        result = replace(result, fixed=fixed)
    if ece:
        result = replace(result, ece=curves.cross_entropy_from_blocks(source, result.summaries.blocks))
    return with_groups(result, source, by, points, allow_unconfirmed, shared)


def _measured(source: ScoreSource, requested: RequestedPoints) -> Measurements:
    # sizes unknown: the first pass also finds what the way of counting is chosen from
    if source.sizes is None:
        moments, losses, grid, sample = source.reduce(
            both(Moments.of, LossSums.of, cells.Grid.of, Sample.of)
        ).summaries
        look = FirstLook.of(grid, sample)
    else:
        moments, losses = source.reduce(both(Moments.of, LossSums.of)).summaries
        look = FirstLook(*source.sizes)
    # the curves and cells need errors at more than 3,000 thresholds; a small set counts them only when one is
    # looked at (docs/notes/decisions-speed.md)
    if isinstance(source, Scores) and source.ascending and sum(source.sizes) <= LATER_UP_TO:
        ranking, *below = count(source, look, requested.thresholds)
        at = losses.with_errors(requested.thresholds, *below)
        later = CountedLater(source, losses, partial(measurement_thresholds, moments, requested))
        return measurements_of(moments, ranking, at, requested, later)
    thresholds = measurement_thresholds(moments, requested)
    ranking, *below = count(source, look, thresholds)
    everywhere = losses.with_errors(thresholds, *below)
    return measurements_of(moments, ranking, at_points(everywhere, requested), requested, everywhere)


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
    moments: Moments, grid: cells.Grid, requested: RequestedPoints
) -> Summarizer[SecondLook]:
    """A summarizer of what an evaluation is made from, in cells; for weighted and grouped trials."""
    thresholds = measurement_thresholds(moments, requested)
    return cells.count_beside(grid, thresholds, LossSums.at(thresholds=thresholds))


def measurements_from_summaries(
    moments: Moments, second: SecondLook, requested: RequestedPoints
) -> Measurements:
    """The numbers that the summaries of two passes give, where trials were counted in cells."""
    counts, losses = second.summaries
    cells.require_both_classes(counts.n_target, counts.n_nontarget)
    ranking = Ranking(counts.bins())
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
            point, min_dcf=point.cost(*at_best), act_dcf=point.cost(p_miss, p_fa), p_miss=p_miss, p_fa=p_fa
        )
        # Python floats, as JSON has them
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
        n_target=round(ranking.n_target),  # weights that are not whole
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


def measure_groups(
    source: ScoreSource, by: By, requested: RequestedPoints, shared: cells.ClassName | None = None
) -> tuple[dict[Hashable, Measurements], dict[Hashable, str], SharedClass | None]:
    """Measure every value of a column, still in two passes (a third if some group's grid was dropped).

    With several columns every combination of their values that occurs is measured, and keys are tuples.
    Where groups share a class, one pass more finds the groups first.
    """
    names = columns_of(by)
    if len(names) > 1 and shared is not None:
        raise InputError("shared= needs groups of one column (by=)")
    wide, column = source.with_columns(*names), names[0]
    split: Split = partial(split_by, column=names if len(names) > 1 else column)
    sharing: SharedClass | None = None
    skipped: dict[Hashable, str] = {}

    def part(key: Hashable) -> ScoreSource:
        if sharing is not None:
            return sharing.trials_of(wide, column, key)
        return trials_with_values(wide, names, key if isinstance(key, tuple) else (key,))

    # with `shared` the groups are not known before the values are counted
    first = {} if shared is not None else wide.reduce(each_group(split, _first_look)).groups
    if len(names) == 1:
        if shared is not None:
            counts = wide.reduce(lambda chunk: ValueCounts.of(chunk, column)).counts
        else:
            grids = {key: look.summaries[1] for key, look in first.items()}
            counts = {key: (grid.n_target, grid.n_nontarget) for key, grid in grids.items()}
        sharing = find_shared_class(counts, shared)
        if sharing is not None:
            skipped = sharing.skipped(counts)
            split = partial(sharing.split, column=column, groups=sharing.groups(counts))
            first = wide.reduce(each_group(split, _first_look)).groups
    usable = {}
    # sorted: which value comes first must not depend on how the trials are cut into chunks
    for key, look in sorted(first.items(), key=lambda item: natural_order(item[0])):
        moments, grid = look.summaries
        try:
            cells.require_both_classes(grid.n_target, grid.n_nontarget)
            # the smaller class of a group may have been the larger one of a chunk
            usable[key] = (moments, grid if grid.points is not None else cells.collect_again(part(key), grid))
        except EmptyClassError as error:
            skipped[key] = str(error)
    second = {
        key: measurement_summarizer(moments, grid, requested) for key, (moments, grid) in usable.items()
    }
    if not second:
        return {}, skipped, sharing
    summaries = wide.reduce(
        each_group(split, lambda key, group: second[key](group) if key in second else None)
    ).groups
    groups = {key: measurements_from_summaries(usable[key][0], summaries[key], requested) for key in usable}
    return groups, skipped, sharing


def _first_look(_key: object, group: Scores) -> Both[tuple[Moments, cells.Grid]]:
    return both(Moments.of, cells.Grid.of)(group)
