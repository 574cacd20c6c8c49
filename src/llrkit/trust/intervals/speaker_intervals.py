"""Intervals for trials that share speakers: all numbers of an evaluation without each speaker in turn."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.metrics.measurements import Measurements
from llrkit.scores import ScoreSource
from llrkit.trust.intervals.dyadic_covariance import Covariance
from llrkit.trust.intervals.error_rate_intervals import (
    COST_MAKERS,
    FEWEST_MAKERS,
    ErrorRates,
    RateIntervals,
)
from llrkit.trust.intervals.evaluation_numbers import decision_thresholds, score_cuts
from llrkit.trust.intervals.few_speakers_or_errors import (
    KINDS,
    few_makers,
    few_speakers_note,
    rates_looked_at,
    thresholds_looked_at,
)
from llrkit.trust.intervals.jackknife import correlations, from_scale, leave_out
from llrkit.trust.intervals.number_functionals import (
    FEWEST_ERRORS,
    Functional,
    Functionals,
    error_costs,
    functionals,
    trial_numbers,
)
from llrkit.trust.intervals.speaker_cells import SpeakerCells
from llrkit.trust.intervals.speaker_pass import speaker_pass
from llrkit.trust.intervals.speakers import Speakers
from llrkit.trust.intervals.uncertainty_result import (
    Range,
    Uncertainty,
    effect_note,
    range_around,
    reason_for_no_interval,
)

_UNCORRECTED = ("eer_roc",)
"""Numbers that jump when a speaker is left out, so that the jackknife says nothing about their bias."""
_HANGS_ON_ONE = 1.5
"""Standard error of a logarithm, or of log-odds, from which on an interval would say nothing."""
_SMOOTH_ENOUGH = 4 * FEWEST_ERRORS
"""So many errors move an equal error rate smoothly when a speaker is left out, however few make them."""
_WIDE_RATES, _SHORTER = 3.0 * FEWEST_MAKERS, 0.9
"""With fewer speakers who make errors, both rates have long intervals, and the lower end of a cost that adds
them up would lie too low: with 30 Gaussian speakers 98.4 % of the intervals held, with this
factor 95.5 and 97.1 %."""


def speaker_intervals(
    source: ScoreSource, result: Measurements, speakers: Speakers, level: float, seed: int = 0
) -> Uncertainty:
    """Intervals of all numbers of an evaluation, from one more pass over its trials."""
    return intervals_and_cells(source, result, speakers, level, np.empty(0), seed)[0]


def intervals_and_cells(
    source: ScoreSource,
    result: Measurements,
    speakers: Speakers,
    level: float,
    cuts: FloatArray,
    seed: int = 0,
) -> tuple[Uncertainty, SpeakerCells]:
    """The same, and the trials of every speaker (or group) counted between other cuts in the same pass."""
    groups = speakers.grouped()
    wanted = functionals(result, trial_numbers(source), score_cuts(result))
    counted, spread = speaker_pass(source, wanted.influences.cut_also(cuts), groups)
    cells = counted.joined(wanted.influences.finder.cuts)
    made = _SpeakerIntervals(result, wanted, cells, spread, level, seed)
    made.make()
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
            *effect_note(made.effects, speakers.n_speakers),
            *_note_on_groups(groups),
            *_note_on_few_speakers(cells.effective_speakers),
        ),
    )
    return used, counted.joined(np.unique(cuts))


def counted_once(spread: Covariance, number: Functional) -> float:
    """Share of the jackknife variance of a number that is left when no pair of speakers counts twice.

    Trials between two speakers are left out with either. What S speakers compared all with all have
    counted twice, some 2/S of the variance, stays in: with few speakers variances are rather too small. In
    rates of false alarms single pairs count for more, and nothing stays in.
    """
    share = spread.share_without_pairs(number.coefficients)
    if number.name.endswith(("p_fa", "min_dcf")):
        return share
    return min(1.0, share * (1.0 + 2.0 / spread.n_compared))


@dataclass
class _SpeakerIntervals:
    """Fills in the intervals of all numbers."""

    result: Measurements
    wanted: Functionals
    cells: SpeakerCells
    spread: Covariance
    level: float
    seed: int
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
        self.plain = replace(leave_out(self.cells, self.result).select(names), counted_once=shares)
        self.share = dict(zip(names, shares, strict=True))
        self._correct()
        self._direct()
        self._rates_and_costs()
        self._primaries()
        self._errors()

    def _correct(self) -> None:
        """What is fitted to the trials, without what the fit makes it look better."""
        for name in (number.name for number in self.wanted.numbers if _is_minimum(number.name)):
            one = self.plain.select([name]).on_scales(["rate"])
            if np.isfinite(one.without).all():  # it is not if the minimum is 0 without a speaker
                middle = float(from_scale(one.corrected[0], "rate"))
                self.corrected[name] = max(middle, float(self.plain.select([name]).values[0]))
        if "min_cllr" in self.corrected and math.isfinite(self.result.cllr):
            self.corrected["cllr_cal"] = self.result.cllr - self.corrected["min_cllr"]

    def _direct(self) -> None:
        """Numbers that get their interval on their own scale."""
        chosen = [
            number for number in self.wanted.numbers
            if number.name in ("cllr", "min_cllr", "auc", "eer", "eer_roc") or number.name.startswith("prim")
        ]  # fmt: skip
        self._equal_errors()
        chosen = [
            number for number in chosen if number.name not in self.reasons and not self._has_reason(number)
        ]
        if not chosen:
            return
        scaled = self.plain.select([n.name for n in chosen]).on_scales([n.scale for n in chosen])
        keep = np.array([number.name in _UNCORRECTED for number in chosen])
        center = np.where(keep, scaled.values, scaled.corrected)
        lows, highs = scaled.interval(self.level, center=center, seed=self.seed)
        for number, low, high in zip(chosen, lows, highs, strict=True):
            ends = (float(from_scale(end, number.scale)) for end in (low, high))
            self.intervals[number.name] = range_around(number.value, *ends)

    def _equal_errors(self) -> None:
        """An upper bound of the equal error rate where few speakers make a handful of errors around it.

        Leaving out a speaker moves such a rate in jumps, or not at all. At any threshold the larger of the
        two error rates is at least the equal error rate, so what bounds both bounds it too.
        """
        total = self.cells.total
        place = [int(np.argmin(np.abs(total.p_miss - total.p_fa)))]
        rates = [ErrorRates.of(self.cells, i, place) for i in (0, 1)]
        kinds = [of_kind.intervals(self.level, seed=self.seed) for of_kind in rates]
        few = next((i for i in (0, 1) if kinds[i].few[0] and rates[i].errors[0] < _SMOOTH_ENOUGH), None)
        bound = max(float(one.bound[0]) for one in kinds)
        for name in ("eer", "eer_roc"):
            number = self.wanted[name]
            reason = number.reason
            if not reason and few is not None:
                reason = _few_error_makers(("p_miss", "p_fa")[few], kinds[few], 0)
            if reason:
                self.reasons[name] = reason
                self.bounds[name] = max(bound, number.value)

    def _has_reason(self, number: Functional) -> bool:
        column = self.plain.select([number.name])
        reason = number.reason
        if not reason and not np.isfinite(column.without).all():
            reason = "all trials of a class are of one speaker: without it there is nothing to compare"
        if not reason:
            reason = reason_for_no_interval(number, float(column.standard_error[0]) ** 2)
        scaled = column.on_scales([number.scale])
        if not reason and not np.isfinite(scaled.without).all():
            reason = "without one of the speakers it is at an end of its range"
        if not reason and scaled.standard_error[0] > _HANGS_ON_ONE:
            other = float(column.without[np.argmax(np.abs(scaled.without - scaled.values)), 0])
            reason = f"it hangs on few speakers: without one of them it is {other:.3g}"
        if reason:
            self.reasons[number.name] = reason
        return bool(reason)

    def _rates_and_costs(self) -> None:
        """Rates at the thresholds of decisions, and costs as sums of two rates."""
        points, fixed = self.result.points, self.result.fixed
        n_fixed, best = len(decision_thresholds(self.result)), thresholds_looked_at(self.result)
        prefixes = [f"points.{i}" for i in range(len(points))] + (["fixed_threshold"] if fixed else [])
        shares = [self.share[f"{prefix}.p_fa"] for prefix in prefixes]
        shares += [self.share[f"points.{i}.min_dcf"] for i in range(len(points))]
        miss, fa = rates_looked_at(self.cells, self.result)
        kinds = (
            miss.intervals(self.level, seed=self.seed),
            fa.intervals(self.level, counted_once=np.array(shares), seed=self.seed),
        )
        makers = np.maximum(np.minimum(miss.makers, fa.makers), FEWEST_MAKERS)
        # correlations of errors that few speakers make are not known
        together = correlations(miss.jackknife, fa.jackknife) * (1.0 - np.square(FEWEST_MAKERS / makers))
        for i, prefix in enumerate(prefixes):
            for name, rates in zip(("p_miss", "p_fa"), kinds, strict=True):
                self._put_rate(f"{prefix}.{name}", rates, i)
            name, weights = f"{prefix}.hter", (0.5, 0.5)
            if prefix != "fixed_threshold":
                name, weights = f"{prefix}.act_dcf", error_costs(points[i].point)
            self._put_cost(name, weights, kinds, i, float(together[i]))
        for i, threshold in enumerate(best[n_fixed:]):
            name, k = f"points.{i}.min_dcf", n_fixed + i
            actual = f"points.{i}.act_dcf"
            if math.isinf(threshold):
                self.reasons[name] = (
                    "the best threshold rejects all trials: it is 1, what saying nothing costs"
                )
            else:
                self._put_cost(name, error_costs(points[i].point), kinds, k, float(together[k]))
            if name in self.bounds:  # no decision costs less than the best one
                at_most = self.bounds[actual] if actual in self.bounds else self.intervals[actual][1]
                self.bounds[name] = max(min(self.bounds[name], at_most), self.wanted[name].value)

    def _put_rate(self, name: str, rates: RateIntervals, i: int) -> None:
        number = self.wanted[name]
        if number.reason or rates.few[i]:
            self.reasons[name] = number.reason or _few_error_makers(name, rates, i)
            self.bounds[name] = float(rates.bound[i])
        else:
            self.intervals[name] = (float(rates.low[i]), float(rates.high[i]))

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
            self.reasons[name] = number.reason or _few_error_makers(
                ("p_miss", "p_fa")[few or 0], kinds[few or 0], i
            )
            # a kind may be made by many speakers and yet be a handful of errors
            ends = [one.bound[i] if one.few[i] else max(one.bound[i], one.high[i]) for one in kinds]
            up = _reach_of_sum(
                weights, [end - one.rate[i] for end, one in zip(ends, kinds, strict=True)], together
            )
            self.bounds[name] = min(center + up, most)
            return
        down = _reach_of_sum(weights, [one.rate[i] - one.low[i] for one in kinds], together)
        up = _reach_of_sum(weights, [one.high[i] - one.rate[i] for one in kinds], together)
        makers = min(float(one.makers[i]) for one in kinds)
        if makers < _WIDE_RATES:
            down *= _SHORTER
        low, high = max(value - down, 0.0), center + up
        logs = self.plain.select([name]).on_scales(["cost"])
        if np.isfinite(logs.without).all():
            (lower,), (upper,) = (
                from_scale(end, "cost") for end in logs.interval(self.level, seed=self.seed)
            )
            # the logarithm of a cost does not see what errors of few speakers leave open
            rare = min(1.0, COST_MAKERS / makers)
            high = float(high**rare * upper ** (1.0 - rare))
            # the best threshold follows the trials, which rates at one threshold do not show
            low = float(lower) if _is_minimum(name) else low
        low, high = range_around(value, low, high)
        self.intervals[name] = (low, min(high, most))

    def _primaries(self) -> None:
        for i, primary in enumerate(self.result.primaries):
            for kind in ("min", "act"):
                name = f"primaries.{i}.{kind}"
                members = [f"points.{member}.{kind}_dcf" for member in primary.members]
                without = [member for member in members if member not in self.intervals]
                if name in self.intervals and without:
                    del self.intervals[name]
                    self.reasons[name] = self.reasons[without[0]]
                if name not in self.intervals and all(
                    member in self.intervals or member in self.bounds for member in members
                ):
                    ends = [self.bounds.get(m, self.intervals.get(m, (0.0, 0.0))[1]) for m in members]
                    self.bounds[name] = float(np.mean(ends))

    def _errors(self) -> None:
        errors = self.plain.standard_error
        for number, error in zip(self.wanted.numbers, errors, strict=True):
            if number.name in self.intervals and math.isfinite(error):
                self.errors[number.name] = float(error)
                own = self.spread.variance_if_independent(number.coefficients)
                if own > 0.0:
                    self.effects[number.name] = float(error) ** 2 / own


def _is_minimum(name: str) -> bool:
    return name == "min_cllr" or name.endswith((".min_dcf", ".min"))


def _reach_of_sum(weights: tuple[float, float], distances: list[float], together: float) -> float:
    """How far a sum of two may lie from its value, by the distances of its parts and their correlation."""
    a, b = (max(weight * float(distance), 0.0) for weight, distance in zip(weights, distances, strict=True))
    return math.sqrt(max(a * a + b * b + 2.0 * together * a * b, 0.0))


def _few_error_makers(name: str, rates: RateIntervals, i: int) -> str:
    kind = KINDS[0 if name.endswith("p_miss") else 1]
    reason = few_makers(kind, float(rates.rate[i]), float(rates.makers[i]))
    return f"{reason}: only an upper bound can be given"


def _note_on_groups(groups: Speakers) -> list[str]:
    if groups.n_groups is None:
        return []
    return [f"speakers are left out in {groups.n} random groups"]


def _note_on_few_speakers(effective: tuple[float, float]) -> list[str]:
    return few_speakers_note(dict(zip(("target", "nontarget"), effective, strict=True)))
