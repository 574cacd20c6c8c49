"""Error rates at many thresholds with their intervals, for bands: independent trials, or shared speakers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array, FloatArray
from llrkit.core.elementary_functions import logit, sigmoid
from llrkit.core.loss_sums import LossSums
from llrkit.core.summary_algebra import ReadOnlyArrays
from llrkit.scores import ScoreSource
from llrkit.trust.intervals.dyadic_covariance import covariance
from llrkit.trust.intervals.error_rate_intervals import ErrorRates, RateIntervals
from llrkit.trust.intervals.interval_formulas import quantile
from llrkit.trust.intervals.jackknife import Jackknife
from llrkit.trust.intervals.number_functionals import FEWEST_ERRORS
from llrkit.trust.intervals.speaker_cells import speaker_cells
from llrkit.trust.intervals.speakers import Speakers

_LOOKED_AT = 9
"""Thresholds at which it is found out how much pairs of speakers count twice for; the others lie between."""
_FEW = 24
"""Up to so many thresholds it is found out at each of them, whatever the others are."""


@dataclass(frozen=True, eq=False)
class CurveRates(ReadOnlyArrays):
    """Intervals of Pmiss and Pfa at ascending thresholds, and what is needed for those along the ROC."""

    thresholds: FloatArray
    miss: RateIntervals
    fa: RateIntervals
    level: float
    n: tuple[float, float]
    by_speaker: tuple[Jackknife, Jackknife] | None
    """Both rates without each speaker; None where trials are independent."""
    counted_once: FloatArray

    def design_effect(self, class_index: int, at: int) -> float:
        """Variance of a rate over that of as many independent trials; at least 1.

        Pmiss is the rate of class 0, Pfa that of class 1.
        """
        rate = float((self.miss, self.fa)[class_index].rate[at])
        if self.by_speaker is None or not 0.0 < rate < 1.0:
            return 1.0
        once = float(self.counted_once[at]) if class_index == 1 else 1.0
        variance = float(self.by_speaker[class_index].standard_error[at]) ** 2 * once
        return max(1.0, variance * self.n[class_index] / (rate * (1.0 - rate)))

    def along_roc(self, slope: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Ends for Pmiss at a fixed Pfa: the threshold moves with Pfa, and Pmiss by the slope of the ROC.

        ``nan`` where few errors of a kind were seen, or few speakers made them.
        """
        p_miss, p_fa = self.miss.rate, self.fa.rate
        few = (p_miss * self.n[0] < FEWEST_ERRORS) | ((1.0 - p_miss) * self.n[0] < FEWEST_ERRORS)
        few |= (p_fa * self.n[1] < FEWEST_ERRORS) | self.miss.few | self.fa.few
        steep = np.where(few, 1.0, p_miss * (1.0 - p_miss))
        middle = logit(np.where(few, 0.5, p_miss))
        if self.by_speaker is None:
            variance = p_miss * (1.0 - p_miss) / self.n[0] + slope**2 * p_fa * (1.0 - p_fa) / self.n[1]
            step = quantile(self.level) * np.sqrt(variance) / steep
            low, high = middle - step, middle + step
        else:
            miss, fa = self.by_speaker
            without = middle + (miss.without - p_miss + slope * (fa.without - p_fa)) / steep
            moved = replace(miss, values=middle, without=without)
            part = np.square(slope * fa.standard_error / steep) * (1.0 - self.counted_once)
            whole = np.maximum(np.square(moved.standard_error), 1e-300)
            kept = replace(moved, counted_once=np.clip(1.0 - part / whole, 0.1, 1.0))
            low, high = kept.interval(self.level, center=middle)
        ends = [np.where(few, np.nan, np.asarray(sigmoid(end))) for end in (low, high)]
        return ends[0], ends[1]


def curve_rates(
    source: ScoreSource,
    thresholds: npt.ArrayLike,
    speakers: Speakers | None,
    level: float,
    *,
    along: npt.ArrayLike | None = None,
) -> CurveRates:
    """Rates at some thresholds; one pass for independent trials, two for those that share speakers.

    Rates with few errors borrow the effective number of trials from the whole curve. With ``along``,
    thresholds that follow from the trials, intervals do not depend on which others are asked for.
    """
    cuts = np.unique(np.asarray(thresholds, dtype=np.float64))
    if speakers is None:
        counts = source.reduce(LossSums.at(thresholds=cuts))
        n = float(counts.n_target), float(counts.n_nontarget)
        miss, fa = (
            _exact_rate_intervals(np.asarray(errors, dtype=np.float64) / size, size, level)
            for errors, size in zip((counts.n_miss, counts.n_fa), n, strict=True)
        )
        return CurveRates(cuts, miss, fa, level, n, None, np.ones(len(cuts)))
    groups = speakers.grouped()
    every = cuts if along is None else np.union1d(cuts, np.asarray(along, dtype=np.float64))
    cells = speaker_cells(source, groups, every)
    looked = None if along is None else np.searchsorted(every, np.unique(along))
    both = [ErrorRates.of(cells, i, np.searchsorted(every, cuts), looked) for i in (0, 1)]
    share = _share_of_false_alarms(source, groups, cuts, both[1].jackknife.values)
    return CurveRates(
        cuts,
        both[0].intervals(level, corrected=False),
        both[1].intervals(level, counted_once=share, corrected=False),
        level,
        cells.total.n,
        (both[0].jackknife, both[1].jackknife),
        share,
    )


def _exact_rate_intervals(rate: FloatArray, n: float, level: float) -> RateIntervals:
    """Exact intervals and bounds of independent trials (Clopper & Pearson)."""
    from scipy.special import betaincinv

    k, tail = rate * n, 0.5 - 0.5 * level
    few = np.minimum(k, n - k) < FEWEST_ERRORS
    above = np.maximum(n - k, 1e-9)
    low = np.where(k > 0.0, betaincinv(np.maximum(k, 1e-9), n - k + 1.0, tail), 0.0)
    high = np.where(k < n, betaincinv(k + 1.0, above, 1.0 - tail), 1.0)
    bound = np.where(k < n, betaincinv(k + 1.0, above, level), 1.0)
    return RateIntervals(rate, low, high, bound, few, k)


@dataclass(frozen=True, eq=False)
class _FalseAlarms:
    """Whether each non-target is a false alarm at some thresholds, less the rate of them."""

    thresholds: FloatArray
    rates: FloatArray

    @property
    def size(self) -> int:
        return len(self.thresholds)

    def columns(self, class_index: int) -> tuple[int, ...]:
        return tuple(range(self.size)) if class_index == 1 else ()

    def of(self, values: Array, class_index: int) -> list[FloatArray]:
        if class_index == 0:
            return []
        return [(values >= t) - rate for t, rate in zip(self.thresholds, self.rates, strict=True)]


def _share_of_false_alarms(
    source: ScoreSource, groups: Speakers, cuts: FloatArray, rates: FloatArray
) -> FloatArray:
    """At each threshold, the share of the variance of Pfa that is left when no pair counts twice."""
    seen = np.flatnonzero((rates > 0.0) & (rates < 1.0))
    if len(groups.columns) == 1 or len(seen) == 0:
        return np.ones(len(cuts))
    place = seen
    if len(seen) > _FEW:
        along = -np.asarray(logit(rates[seen]))
        wanted = np.linspace(float(along[0]), float(along[-1]), _LOOKED_AT)
        place = np.unique(seen[np.clip(np.searchsorted(along, wanted), 0, len(seen) - 1)])
    found = covariance(source, _FalseAlarms(cuts[place], rates[place]), groups, diagonal=True)
    shares = [found.share_without_pairs(unit) for unit in np.eye(len(place))]
    return np.interp(np.arange(len(cuts)), place, shares)
