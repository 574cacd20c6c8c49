"""Intervals for independent trials and for shared speakers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from llrkit.base.arguments import Array, ArrayLike, FloatArray
from llrkit.core.losses import LossSums
from llrkit.core.numerics import logit, sigmoid
from llrkit.core.summaries import ReadOnlyArrays
from llrkit.metrics.measure import Measurements
from llrkit.scores import ScoreSource
from llrkit.trust import influence, jackknife
from llrkit.trust.jackknife import ErrorRates, Jackknife, Range, RateIntervals, Uncertainty
from llrkit.trust.speakers import (
    Contributions,
    Covariance,
    SpeakerCells,
    Speakers,
    clopper_pearson,
    covariance,
    exact_limits,
    on_log_scale,
    on_logit_scale,
    quadratic,
    quantile,
    speaker_cells,
)

_UNCORRECTED = ("eer_roc",)
"""Numbers that jump when a speaker is left out, so that the jackknife says nothing about their bias."""
_HANGS_ON_ONE = 1.5
"""Standard error of a logarithm, or of log-odds, from which on an interval would say nothing."""
_SMOOTH_ENOUGH = 4 * influence.FEWEST_ERRORS
"""So many errors move an equal error rate smoothly when a speaker is left out, however few make them."""
_WIDE_RATES, _SHORTER = 3.0 * jackknife.FEWEST_MAKERS, 0.9
"""With fewer speakers who make errors, both rates have long intervals, and the lower end of a cost that adds
them up would lie too low: with 30 Gaussian speakers 98.4 % of the intervals held, with this
factor 95.5 and 97.1 %."""


def closed_form(
    source: ScoreSource, result: Measurements, speakers: Speakers | None, level: float
) -> Uncertainty:
    """Intervals of all numbers of an evaluation, from one more pass over its trials."""
    if speakers is None:
        return trial_intervals(source, result, level)
    return intervals_and_cells(source, result, speakers, level, np.empty(0))[0]


def intervals_and_cells(
    source: ScoreSource, result: Measurements, speakers: Speakers, level: float, cuts: FloatArray
) -> tuple[Uncertainty, SpeakerCells]:
    """Intervals for shared speakers, and the trials of every speaker (or group) counted between other cuts.

    Both come from the same pass.
    """
    groups = speakers.grouped()
    wanted = influence.functionals(result, influence.trial_numbers(source), influence.score_cuts(result))
    # one pass counts between the cuts of both, of intervals and of the caller; cells are joined again below
    counted, spread = jackknife.speaker_pass(source, wanted.influences.cut_also(cuts), groups)
    cells = counted.joined(wanted.influences.finder.cuts)
    made = _SpeakerIntervals(result, wanted, cells, spread, level)
    made.make()
    in_groups = f"speakers are left out in {groups.n} random groups"
    used = Uncertainty(
        kind="speaker",
        level=level,
        intervals=MappingProxyType(made.intervals),
        standard_error=MappingProxyType(made.errors),
        design_effect=MappingProxyType(made.effects),
        no_interval=MappingProxyType(made.reasons),
        upper_bound=MappingProxyType(made.bounds),
        corrected=MappingProxyType(made.corrected),
        n_speakers=speakers.n_speakers,
        notes=(
            *jackknife.effect_note(made.effects, speakers.n_speakers),
            *([] if groups.n_groups is None else [in_groups]),
            *jackknife.few_speakers_note(
                dict(zip(("target", "nontarget"), cells.effective_speakers, strict=True))
            ),
        ),
    )
    return used, counted.joined(np.unique(cuts))


def counted_once(spread: Covariance, number: influence.Functional) -> float:
    """Share of the jackknife variance of a number that is left when no pair of speakers counts twice.

    Trials between two speakers are left out with either. What S speakers compared all with all have
    counted twice, some 2/S of the variance, stays in: with few speakers variances are rather too small. In
    rates of false alarms single pairs count for more, and nothing stays in.
    """
    share = spread.share_without_pairs(number.coefficients)
    # single pairs count for more in false alarms and minimum costs, so there nothing stays in
    # (docs/notes/decisions-statistics.md)
    if number.name.endswith(("p_fa", "min_dcf")):
        return share
    return min(1.0, share * (1.0 + 2.0 / spread.n_compared))


@dataclass
class _SpeakerIntervals:
    """Fills in the intervals of all numbers."""

    result: Measurements
    wanted: influence.Functionals
    cells: SpeakerCells
    spread: Covariance
    level: float
    intervals: dict[str, Range] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)
    effects: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    bounds: dict[str, float] = field(default_factory=dict)
    corrected: dict[str, float] = field(default_factory=dict)

    def make(self) -> None:
        """All of them."""
        self.reasons |= self.wanted.reasons
        numbers = self.wanted.numbers
        shares = np.array([counted_once(self.spread, number) for number in numbers])
        names = [number.name for number in numbers]
        self.plain = replace(jackknife.leave_out(self.cells, self.result).select(names), counted_once=shares)
        self.share = dict(zip(names, shares, strict=True))
        # order matters: bounds of the EER set reasons that _direct skips, costs need their corrected minima,
        # and primaries need the intervals of their members
        self._correct([name for name in names if _is_minimum(name)])
        self._equal_errors()
        self._direct()
        self._rates_and_costs()
        self._primaries()
        for number, error in zip(numbers, self.plain.standard_error, strict=True):
            if number.name in self.intervals and math.isfinite(error):
                self.errors[number.name] = float(error)
                own = quadratic(self.spread.independent, number.coefficients)
                if own > 0.0:
                    self.effects[number.name] = float(error) ** 2 / own

    def _correct(self, minima: list[str]) -> None:
        """What is fitted to the trials, without what the fit makes it look better."""
        for name in minima:
            one = self.plain.select([name]).on_scales(["rate"])
            if np.isfinite(one.without).all():  # it is not if the minimum is 0 without a speaker
                middle = float(jackknife.from_scale(one.corrected[0], "rate"))
                # the fit can only make a minimum look better, so a correction never lowers it
                self.corrected[name] = max(middle, float(self.plain.select([name]).values[0]))
        if "min_cllr" in self.corrected and math.isfinite(self.result.cllr):
            self.corrected["cllr_cal"] = self.result.cllr - self.corrected["min_cllr"]

    def _direct(self) -> None:
        """Numbers that get their interval on their own scale."""
        own_scale = ("cllr", "min_cllr", "auc", "eer", "eer_roc")
        chosen = [
            number
            for number in self.wanted.numbers
            if (number.name in own_scale or number.name.startswith("primaries"))
            and number.name not in self.reasons
            and not self._has_reason(number)
        ]
        if not chosen:
            return
        scaled = self.plain.select([n.name for n in chosen]).on_scales([n.scale for n in chosen])
        # around the value itself where leaving a speaker out makes the number jump
        keep = np.array([number.name in _UNCORRECTED for number in chosen])
        center = np.where(keep, scaled.values, scaled.corrected)
        lows, highs = scaled.interval(self.level, center=center)
        for number, low, high in zip(chosen, lows, highs, strict=True):
            ends = (float(jackknife.from_scale(end, number.scale)) for end in (low, high))
            self.intervals[number.name] = jackknife.range_around(number.value, *ends)

    def _equal_errors(self) -> None:
        """An upper bound of the equal error rate where few speakers make a handful of errors around it.

        Leaving out a speaker moves such a rate in jumps, or not at all. At any threshold the larger of the
        two error rates is at least the equal error rate, so what bounds both bounds it too.
        """
        total = self.cells.total
        place = [int(np.argmin(np.abs(total.p_miss - total.p_fa)))]
        rates = [ErrorRates.of(self.cells, i, place) for i in (0, 1)]
        kinds = [of_kind.intervals(self.level) for of_kind in rates]
        # many errors move smoothly even if few speakers make them
        few = next((i for i in (0, 1) if kinds[i].few[0] and rates[i].errors[0] < _SMOOTH_ENOUGH), None)
        bound = max(float(one.bound[0]) for one in kinds)
        for name in ("eer", "eer_roc"):
            number = self.wanted[name]
            reason = number.reason
            if not reason and few is not None:
                reason = _few_error_makers(few, kinds[few], 0)
            if reason:
                self.reasons[name] = reason
                self.bounds[name] = max(bound, number.value)

    def _has_reason(self, number: influence.Functional) -> bool:
        column = self.plain.select([number.name])
        reason = number.reason
        if not reason and not np.isfinite(column.without).all():
            # a number without all of a class does not exist, and neither does its spread
            reason = "all trials of a class are of one speaker: without it there is nothing to compare"
        if not reason:
            reason = jackknife.reason_for_no_interval(number, float(column.standard_error[0]) ** 2)
        scaled = column.on_scales([number.scale])
        if not reason and not np.isfinite(scaled.without).all():
            reason = "without one of the speakers it is at an end of its range"
        # one speaker decides the number; an interval would reach over orders of magnitude
        if not reason and scaled.standard_error[0] > _HANGS_ON_ONE:
            other = float(column.without[np.argmax(np.abs(scaled.without - scaled.values)), 0])
            reason = f"it hangs on few speakers: without one of them it is {other:.3g}"
        if reason:
            self.reasons[number.name] = reason
        return bool(reason)

    def _rates_and_costs(self) -> None:
        """Rates at the thresholds of decisions, and costs as sums of two rates."""
        points, fixed = self.result.points, self.result.fixed
        n_fixed = len(influence.decision_thresholds(self.result))
        prefixes = [f"points.{i}" for i in range(len(points))] + (["fixed_threshold"] if fixed else [])
        # only shares of false alarms and minima are needed: misses
        # are mostly within one speaker and count once
        shares = [self.share[f"{prefix}.p_fa"] for prefix in prefixes]
        shares += [self.share[f"points.{i}.min_dcf"] for i in range(len(points))]
        miss, fa = jackknife.rates_looked_at(self.cells, self.result)
        kinds = miss.intervals(self.level), fa.intervals(self.level, counted_once=np.array(shares))
        # held to at least FEWEST_MAKERS, so the factor below is between 0 and 1
        makers = np.maximum(np.minimum(miss.makers, fa.makers), jackknife.FEWEST_MAKERS)
        # correlations of errors that few speakers make are not known
        together = jackknife.correlations(miss.jackknife, fa.jackknife) * (
            1.0 - np.square(jackknife.FEWEST_MAKERS / makers)
        )
        for i, prefix in enumerate(prefixes):
            for class_index, rates in enumerate(kinds):
                name = f"{prefix}.{('p_miss', 'p_fa')[class_index]}"
                reason = self.wanted[name].reason
                if reason or rates.few[i]:
                    self.reasons[name] = reason or _few_error_makers(class_index, rates, i)
                    self.bounds[name] = float(rates.bound[i])
                else:
                    self.intervals[name] = (float(rates.low[i]), float(rates.high[i]))
            name, weights = f"{prefix}.hter", (0.5, 0.5)
            if prefix != "fixed_threshold":
                name, weights = f"{prefix}.act_dcf", influence.error_costs(points[i].point)
            self._put_cost(name, weights, kinds, i, float(together[i]))
        for i, threshold in enumerate(jackknife.best_thresholds(self.result)):
            name, actual, k = f"points.{i}.min_dcf", f"points.{i}.act_dcf", n_fixed + i
            if math.isinf(threshold):
                self.reasons[name] = (
                    "the best threshold rejects all trials: it is 1, what saying nothing costs"
                )
            else:
                self._put_cost(name, influence.error_costs(points[i].point), kinds, k, float(together[k]))
            if name in self.bounds:  # no decision costs less than the best one
                # the bound of an actual cost bounds the best one too
                at_most = self.bounds[actual] if actual in self.bounds else self.intervals[actual][1]
                self.bounds[name] = max(min(self.bounds[name], at_most), self.wanted[name].value)

    def _put_cost(
        self, name: str, weights: tuple[float, float], kinds: tuple[RateIntervals, RateIntervals], i: int,
        together: float,
    ) -> None:  # fmt: skip
        """A weighted sum of two rates: the distances to the ends of their intervals are added as errors are.

        This keeps the interval of a cost as skewed as those of its rates (Zou & Donner 2008). The logarithm
        of the cost, left out by speaker, gives another interval; it has the say in the upper end, and in
        both ends of a minimum.
        """
        number = self.wanted[name]
        value = number.value
        center = self.corrected.get(name, value)
        most = 1.0 if number.scale == "rate" else math.inf
        few = next((one for one in (0, 1) if kinds[one].few[i]), None)
        if number.reason or few is not None:
            self.reasons[name] = number.reason or _few_error_makers(few or 0, kinds[few or 0], i)
            # a kind may be made by many speakers and yet be a handful of errors
            # an upper end that few speakers leave open is replaced by the binomial bound
            ends = [one.bound[i] if one.few[i] else max(one.bound[i], one.high[i]) for one in kinds]
            up = _reach_of_sum(
                weights, [end - one.rate[i] for end, one in zip(ends, kinds, strict=True)], together
            )
            self.bounds[name] = min(center + up, most)
            return
        down = _reach_of_sum(weights, [one.rate[i] - one.low[i] for one in kinds], together)
        up = _reach_of_sum(weights, [one.high[i] - one.rate[i] for one in kinds], together)
        makers = min(float(one.makers[i]) for one in kinds)
        # with few makers both rates have long intervals, and their sum would reach too low
        if makers < _WIDE_RATES:
            down *= _SHORTER
        low, high = max(value - down, 0.0), center + up
        logs = self.plain.select([name]).on_scales(["cost"])
        if np.isfinite(logs.without).all():
            (lower,), (upper,) = (jackknife.from_scale(end, "cost") for end in logs.interval(self.level))
            # the logarithm of a cost does not see what errors of few speakers leave open
            # weight 24 / m, tried against 8, 12 and 16 / m on six designs
            # (docs/notes/decisions-statistics.md)
            rare = min(1.0, jackknife.COST_MAKERS / makers)
            high = float(high**rare * upper ** (1.0 - rare))
            # the best threshold follows the trials, which rates at one threshold do not show
            low = float(lower) if _is_minimum(name) else low
        low, high = jackknife.range_around(value, low, high)
        self.intervals[name] = (low, min(high, most))

    def _primaries(self) -> None:
        for i, primary in enumerate(self.result.primaries):
            for kind in ("min", "act"):
                name = f"primaries.{i}.{kind}"
                members = [f"points.{member}.{kind}_dcf" for member in primary.members]
                without = [member for member in members if member not in self.intervals]
                # a primary cost is the mean of its members: if one has no interval, neither has the mean
                if name in self.intervals and without:
                    del self.intervals[name]
                    self.reasons[name] = self.reasons[without[0]]
                if name not in self.intervals and all(
                    member in self.intervals or member in self.bounds for member in members
                ):
                    ends = [self.bounds.get(m, self.intervals.get(m, (0.0, 0.0))[1]) for m in members]
                    self.bounds[name] = float(np.mean(ends))


def _is_minimum(name: str) -> bool:
    return name == "min_cllr" or name.endswith((".min_dcf", ".min"))


def _reach_of_sum(weights: tuple[float, float], distances: list[float], together: float) -> float:
    """How far a sum of two may lie from its value, by the distances of its parts and their correlation."""
    # distances are added as standard errors are, each side by itself (Zou & Donner 2008)
    a, b = (max(weight * float(distance), 0.0) for weight, distance in zip(weights, distances, strict=True))
    return math.sqrt(max(a * a + b * b + 2.0 * together * a * b, 0.0))


def _few_error_makers(class_index: int, rates: RateIntervals, i: int) -> str:
    reason = jackknife.few_makers(jackknife.KINDS[class_index], float(rates.rate[i]), float(rates.makers[i]))
    return f"{reason}: only an upper bound can be given"


IF_INDEPENDENT = "hold if trials are independent; where these share speakers they are too short"
"""What is said of intervals of the kind ``trial``."""


def trial_intervals(source: ScoreSource, result: Measurements, level: float) -> Uncertainty:
    """Intervals as if trials were independent."""
    wanted = influence.functionals(result, influence.trial_numbers(source))
    spread, width = covariance(source, wanted.influences.contributions), quantile(level)
    intervals: dict[str, Range] = {}
    errors, reasons = {}, dict(wanted.reasons)
    for number in wanted.numbers:
        # weights make counts that are not whole numbers, which have no binomial interval
        if source.roles.weight is None and number.name.endswith((".p_miss", ".p_fa")):
            n = result.n_target if number.name.endswith("p_miss") else result.n_nontarget
            intervals[number.name] = clopper_pearson(round(number.value * n), n, level)
            continue
        variance = spread.variance(number.coefficients)
        reason = number.reason or jackknife.reason_for_no_interval(number, variance)
        if reason:
            reasons[number.name] = reason
            continue
        errors[number.name] = math.sqrt(variance)
        on_scale = on_logit_scale if number.scale == "rate" else on_log_scale
        intervals[number.name] = on_scale(number.value, width * errors[number.name])
    fitted = "min Cllr is fitted to these trials and too low for others; speaker intervals correct for that"
    return Uncertainty(
        kind="trial",
        level=level,
        intervals=MappingProxyType(intervals),
        standard_error=MappingProxyType(errors),
        no_interval=MappingProxyType(reasons),
        notes=(f"they {IF_INDEPENDENT}", *([fitted] if "min_cllr" in intervals else [])),
    )


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
        # as a rule, misses are within one speaker and only false alarms between two
        once = float(self.counted_once[at]) if class_index == 1 else 1.0
        variance = float(self.by_speaker[class_index].standard_error[at]) ** 2 * once
        return max(1.0, variance * self.n[class_index] / (rate * (1.0 - rate)))

    def along_roc(self, slope: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Ends for Pmiss at a fixed Pfa: the threshold moves with Pfa, and Pmiss by the slope of the ROC.

        ``nan`` where few errors of a kind were seen, or few speakers made them.
        """
        p_miss, p_fa = self.miss.rate, self.fa.rate
        few = np.minimum(p_miss, 1.0 - p_miss) * self.n[0] < influence.FEWEST_ERRORS
        few |= (p_fa * self.n[1] < influence.FEWEST_ERRORS) | self.miss.few | self.fa.few
        # derivative of the rate by its logit; where errors are few the ends become nan anyway
        steep = np.where(few, 1.0, p_miss * (1.0 - p_miss))
        middle = logit(np.where(few, 0.5, p_miss))
        if self.by_speaker is None:
            variance = p_miss * (1.0 - p_miss) / self.n[0] + slope**2 * p_fa * (1.0 - p_fa) / self.n[1]
            step = quantile(self.level) * np.sqrt(variance) / steep
            low, high = middle - step, middle + step
        else:
            miss, fa = self.by_speaker
            # to first order: Pmiss at a fixed Pfa moves by its own change and, along the ROC, by that of Pfa
            without = middle + (miss.without - p_miss + slope * (fa.without - p_fa)) / steep
            moved = replace(miss, values=middle, without=without)
            # the part of the variance that is due to false alarms between pairs, and counted twice
            part = np.square(slope * fa.standard_error / steep) * (1.0 - self.counted_once)
            whole = np.maximum(np.square(moved.standard_error), 1e-300)
            # both variances are estimates; their difference must leave something
            kept = replace(moved, counted_once=np.clip(1.0 - part / whole, 0.1, 1.0))
            low, high = kept.interval(self.level, center=middle)
        ends = [np.where(few, np.nan, np.asarray(sigmoid(end))) for end in (low, high)]
        return ends[0], ends[1]


def curve_rates(
    source: ScoreSource,
    thresholds: ArrayLike,
    speakers: Speakers | None,
    level: float,
    *,
    along: ArrayLike | None = None,
) -> CurveRates:
    """Rates at some thresholds; one pass for independent trials, two for those that share speakers.

    Rates with few errors borrow the effective number of trials from the whole curve. With ``along``,
    thresholds that follow from the trials, intervals do not depend on which others are asked for.
    """
    cuts = np.unique(np.asarray(thresholds, dtype=np.float64))
    if speakers is None:
        counts = source.reduce(LossSums.at(thresholds=cuts))
        n = float(counts.n_target), float(counts.n_nontarget)
        intervals = []
        for errors, size in zip((counts.n_miss, counts.n_fa), n, strict=True):
            rate = np.asarray(errors, dtype=np.float64) / size
            k = rate * size
            # few errors, or few that are none: either end of a rate is as uncertain
            few = np.minimum(k, size - k) < influence.FEWEST_ERRORS
            intervals.append(RateIntervals(rate, *exact_limits(k, size, level), few, k))
        return CurveRates(cuts, intervals[0], intervals[1], level, n, None, np.ones(len(cuts)))
    groups = speakers.grouped()
    # cells that follow from the trials alone: no answer depends on the other questions
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


def _share_of_false_alarms(
    source: ScoreSource, groups: Speakers, cuts: FloatArray, rates: FloatArray
) -> FloatArray:
    """At each threshold, the share of the variance of Pfa that is left when no pair counts twice."""
    seen = np.flatnonzero((rates > 0.0) & (rates < 1.0))
    # with one column no trial has a second speaker
    if len(groups.columns) == 1 or len(seen) == 0:
        return np.ones(len(cuts))
    place = seen
    if len(seen) > _FEW:
        # evenly along the logit of Pfa: the share changes slowly there, and lies between in interpolation
        along = -np.asarray(logit(rates[seen]))
        wanted = np.linspace(float(along[0]), float(along[-1]), _LOOKED_AT)
        place = np.unique(seen[np.clip(np.searchsorted(along, wanted), 0, len(seen) - 1)])

    def false_alarms(values: Array, class_index: int) -> list[FloatArray]:
        """Whether each non-target is one at some thresholds, less the rate of them."""
        if class_index == 0:
            return []
        return [(values >= cuts[i]) - rates[i] for i in place]

    size = len(place)
    terms = Contributions(size, false_alarms, ((), tuple(range(size))))
    found = covariance(source, terms, groups, diagonal=True)
    shares = [found.share_without_pairs(unit) for unit in np.eye(len(place))]
    return np.interp(np.arange(len(cuts)), place, shares)


# exp(20) is a vertical ROC; infinite PAV LLRs at the ends would give nan
_STEEPEST = 20.0


class MissAtFa(NamedTuple):
    """Rates at ascending thresholds, and the ends of Pmiss at the Pfa that each threshold has."""

    rates: CurveRates
    low: FloatArray
    high: FloatArray

    def interval(self, threshold: float) -> tuple[float, float] | None:
        """The ends at one of the thresholds; None where errors, or those who make them, are too few."""
        at = int(np.searchsorted(self.rates.thresholds, threshold))
        return None if np.isnan(self.low[at]) else (float(self.low[at]), float(self.high[at]))


def miss_at_fa(
    source: ScoreSource, result: Measurements, thresholds: ArrayLike, speakers: Speakers | None, level: float
) -> MissAtFa:
    """Intervals that take into account that finite thresholds were found on these trials."""
    rates = curve_rates(source, thresholds, speakers, level, along=influence.score_cuts(result))
    return MissAtFa(rates, *rates.along_roc(roc_slopes(result, rates.thresholds)))


def roc_slopes(result: Measurements, thresholds: FloatArray) -> FloatArray:
    """The slope of the ROC, which is the likelihood ratio."""
    blocks = result.summaries.blocks
    block = np.maximum(np.searchsorted(blocks.low, thresholds, side="right") - 1, 0)
    return np.asarray(np.exp(np.clip(blocks.llr[block], -_STEEPEST, _STEEPEST)))
