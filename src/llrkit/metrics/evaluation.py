"""Evaluation: what evaluate() found, frozen; curves are made from the summaries when first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from llrkit.core.counts import ScoreBins
from llrkit.core.hull import PavBlocks
from llrkit.core.losses import LossSums
from llrkit.core.moments import Moments
from llrkit.metrics import curves, wording
from llrkit.metrics.detection import best_errors
from llrkit.metrics.pictures import OperatingMarks
from llrkit.metrics.slope import DetSlope, det_slope_from_bins
from llrkit.metrics.uncertainty import Uncertainty
from llrkit.theory.gaussian import GaussianLLR
from llrkit.theory.pair_curve import PairCurve, pair_curve
from llrkit.theory.points import OperatingPoint

CONVENTIONS: Mapping[str, str] = MappingProxyType(
    {
        "llr": "natural logarithm",
        "cllr": "bits",
        "decision": "accept when score >= threshold",
        "ties": "pooled",
        "eer": "on the ROC convex hull (ROCCH-EER)",
        "eer_roc": "on the interpolated ROC",
        "min_cllr": "after PAV on the same trials, no Laplace end points",
        "dcf": "divided by min(P Cmiss, (1 - P) Cfa)",
        "act_dcf": "at the Bayes threshold",
        "det_slope": "total least squares over the DET's crossings with probit Pmiss - probit Pfa = c, "
        "both rates in [0.001, 0.5]",
    }
)


@dataclass(frozen=True)
class PointResult:
    """Normalised detection costs at one operating point."""

    point: OperatingPoint
    min_dcf: float
    act_dcf: float
    p_miss: float
    """Miss rate at the Bayes threshold."""
    p_fa: float
    """False-alarm rate at the Bayes threshold."""

    def to_dict(self) -> dict[str, Any]:
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
class PrimaryResult:
    """A cost averaged over the operating points of an evaluation."""

    name: str
    min: float
    act: float
    members: tuple[int, ...] = ()
    """Which of the points are averaged."""


@dataclass(frozen=True)
class FixedThreshold:
    """Errors at a threshold that was fixed on other data, its equal-error point."""

    threshold: float
    p_miss: float
    p_fa: float

    @property
    def hter(self) -> float:
        """Half total error rate."""
        return (self.p_miss + self.p_fa) / 2.0


@dataclass(frozen=True, eq=False)
class EvaluationSummaries:
    """What the curves are made from; nothing here grows with the larger class."""

    bins: ScoreBins
    blocks: PavBlocks
    at_log_odds: LossSums
    """Errors at the thresholds of :data:`llrkit.metrics.curves.BAYES_LOG_ODDS`."""
    at_llrs: LossSums
    """Errors at an even grid of LLRs between the extremes."""


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """What :func:`evaluate` found: numbers, curves, conventions. Nothing in it changes any more."""

    n_target: int
    n_nontarget: int
    eer: float
    eer_roc: float
    auc: float
    cllr: float
    min_cllr: float
    prbep: float
    points: tuple[PointResult, ...]
    primaries: tuple[PrimaryResult, ...]
    moments: Moments
    summaries: EvaluationSummaries
    fixed: FixedThreshold | None = None
    ece: curves.CrossEntropyCurve | None = None
    groups: Mapping[str, Evaluation] = field(default_factory=lambda: MappingProxyType({}))
    skipped_groups: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    conventions: Mapping[str, str] = field(default_factory=lambda: CONVENTIONS)
    equalised: tuple[str, ...] = ()
    """Columns whose values were given the same weight."""
    condition_weights: Mapping[str, tuple[float, float]] = field(default_factory=lambda: MappingProxyType({}))
    """Weight of each target and of each non-target by condition, where conditions were equalised."""
    uncertainty: Uncertainty | None = None
    """Intervals of the numbers, where they were asked for."""

    @property
    def intervals(self) -> Mapping[str, tuple[float, float]]:
        """Lower and upper end by name of the number; empty unless ``evaluate(..., ci=...)`` was asked."""
        return MappingProxyType({}) if self.uncertainty is None else self.uncertainty.intervals

    @property
    def cllr_cal(self) -> float:
        """What is lost to calibration, in bits: ``cllr - min_cllr``."""
        return self.cllr - self.min_cllr

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
        made = self.summaries
        return curves.bayes_error_curve(made.blocks, curves.BAYES_LOG_ODDS, made.at_log_odds)

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
        edges = self.histogram.edges
        return pair_curve(GaussianLLR.from_eer(self.eer), np.linspace(edges[0], edges[-1], 513))

    @cached_property
    def det_slope(self) -> DetSlope:
        """The straight line through the DET curve."""
        return det_slope_from_bins(self.summaries.bins)

    @property
    def sentence(self) -> str:
        """What the numbers mean, in plain words."""
        return wording.sentence(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, as in the JSON of the command line."""
        plain: dict[str, Any] = {
            "n_target": self.n_target,
            "n_nontarget": self.n_nontarget,
            "eer": self.eer,
            "eer_roc": self.eer_roc,
            "auc": self.auc,
            "cllr": self.cllr,
            "min_cllr": self.min_cllr,
            "cllr_cal": self.cllr_cal,
            "prbep": self.prbep,
            "det_slope": self.det_slope.slope,
            "points": [
                {**point.to_dict(), **self._uncertain(f"points.{i}.")} for i, point in enumerate(self.points)
            ],
            **self._uncertain(""),
        }
        if self.uncertainty is not None:
            plain["ci"] = self.uncertainty.how()
        if self.primary is not None:
            rows = [
                {"name": p.name, "min": p.min, "act": p.act, **self._uncertain(f"primaries.{i}.")}
                for i, p in enumerate(self.primaries)
            ]
            plain |= {"primary": rows[0], "primaries": rows}
        if self.fixed is not None:
            fixed = self.fixed
            plain["fixed_threshold"] = {
                "threshold": fixed.threshold, "p_miss": fixed.p_miss, "p_fa": fixed.p_fa, "hter": fixed.hter,
                **self._uncertain("fixed_threshold."),
            }  # fmt: skip
        if self.equalised:
            weights = {name: list(pair) for name, pair in self.condition_weights.items()}
            plain["equalised"] = {"columns": list(self.equalised), "weights": weights}
        plain["conventions"] = dict(self.conventions)
        plain["sentence"] = self.sentence
        if self.groups or self.skipped_groups:
            plain["groups"] = {name: group.to_dict() for name, group in self.groups.items()}
            plain["skipped_groups"] = dict(self.skipped_groups)
        return plain

    def _uncertain(self, prefix: str) -> dict[str, Any]:
        return {} if self.uncertainty is None else self.uncertainty.part(prefix)

    def __repr__(self) -> str:
        return wording.plain_table(self)

    def _repr_html_(self) -> str:
        return wording.html_table(self)
