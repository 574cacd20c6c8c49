"""Measurements: all numbers of a set of trials; curves are made from the summaries when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._cached import cached_property
from llrkit._plain import Json
from llrkit._results import Result
from llrkit.core.counting import below_in_order
from llrkit.core.loss_sums import LossSums
from llrkit.core.moments import Moments
from llrkit.core.pav_and_hull import PavBlocks
from llrkit.core.ranking import Ranking
from llrkit.core.score_bins import ScoreBins
from llrkit.core.shared_class import SharedClass
from llrkit.metrics import curves
from llrkit.metrics.curve_base import Curve
from llrkit.metrics.det_shape import DetSlope, det_slope_from_bins
from llrkit.metrics.discrimination import best_errors
from llrkit.metrics.llr_cells import LlrCells
from llrkit.metrics.loss_split import BestLine, LossSplit, best_line, loss_split
from llrkit.metrics.slope_bound import slope_may_be
from llrkit.scores import Scores
from llrkit.theory.operating_points import OperatingPoint

if TYPE_CHECKING:
    from llrkit.theory.pair_curve import PairCurve


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
        return self.sums.with_errors(cuts, *below_in_order(self.scores, cuts))


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
    """Equal error rate on the interpolated ROC, see :func:`llrkit.eer_roc`."""
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
        return curves.pav_curve(self.summaries.blocks)

    @cached_property
    def bayes_error(self) -> curves.BayesErrorCurve:
        """Actual and minimum error rates over prior log-odds."""
        summaries = self.summaries
        return curves.bayes_error_curve(summaries.blocks, curves.BAYES_LOG_ODDS, summaries.at_log_odds)

    @cached_property
    def tippett(self) -> curves.TippettCurve:
        """Cumulative LLR distributions."""
        at_zero = self.summaries.at_log_odds
        zero = len(curves.BAYES_LOG_ODDS) // 2
        return curves.tippett_curve(
            self.summaries.at_llrs, (float(at_zero.p_miss[zero]), float(at_zero.p_fa[zero]))
        )

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
        if not 0.0 < self.eer < 0.5:
            return None
        from llrkit.theory.gaussian_pair import GaussianLLR
        from llrkit.theory.pair_curve import pair_curve

        edges = self.histogram.edges
        return pair_curve(GaussianLLR.from_eer(self.eer), np.linspace(edges[0], edges[-1], 513))

    @cached_property
    def det_slope(self) -> DetSlope:
        """The straight line through the DET curve."""
        return det_slope_from_bins(self.summaries.bins)

    def __repr__(self) -> str:
        numbers = ", ".join(f"{name}={getattr(self, name):.4g}" for name in ("eer", "cllr", "min_cllr"))
        return f"{type(self).__name__}({self.n_target:,} + {self.n_nontarget:,} trials: {numbers})"
