"""threshold_for(): where to cut scores, how sure that is, and what it will cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from llrkit._arguments import whole_number
from llrkit._arrays import FloatArray
from llrkit._random import RNG, seed_of
from llrkit._warn import warn_caller
from llrkit.core.elementary_functions import probability
from llrkit.core.pav_and_hull import error_path
from llrkit.errors import InputError, ScaleWarning
from llrkit.evaluation.threshold_result import Threshold, rate_in_words
from llrkit.metrics.eer_threshold_and_hter import eer_threshold
from llrkit.metrics.measure import measure
from llrkit.metrics.measurements import Measurements
from llrkit.metrics.threshold_choice import (
    Range,
    equal_rates,
    same_cost,
    same_rate,
    threshold_for_cost,
    threshold_for_false_alarms,
    threshold_for_misses,
)
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived_sources import DerivedSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.scores.source import as_source
from llrkit.theory.operating_points import OperatingPoint
from llrkit.theory.presets import operating_point
from llrkit.trust.intervals.bootstrap import bootstrap
from llrkit.trust.intervals.curve_rates import curve_rates
from llrkit.trust.intervals.evaluation_numbers import score_cuts
from llrkit.trust.intervals.few_speakers_or_errors import KINDS as KINDS_OF_ERROR
from llrkit.trust.intervals.few_speakers_or_errors import few_makers
from llrkit.trust.intervals.interval_formulas import quantile
from llrkit.trust.intervals.number_functionals import FEWEST_ERRORS, trial_numbers
from llrkit.trust.intervals.resampling import speaker_resampling
from llrkit.trust.intervals.speakers import Columns, find_speakers, kind_asked_for, require_columns
from llrkit.trust.intervals.trial_intervals import IF_INDEPENDENT, closed_form
from llrkit.trust.intervals.uncertainty_result import Uncertainty

KINDS = ("none", "trial", "speaker", "bootstrap")
_EVEN = OperatingPoint(0.5)
INDEPENDENT = f"intervals {IF_INDEPENDENT}"
OTHER_SCALE = (
    "one of the two sets holds LLRs that a calibration wrote, the other does not: "
    "is the threshold of the one on the scale of the other?"
)
SAME_TRIALS = (
    "errors are counted on the trials that chose the threshold, which on average fits other trials less well"
)


@takes_labels
def threshold_for(
    source: ScoreSource,
    *,
    point: OperatingPoint | str | float | None = None,
    false_alarm_rate: float | None = None,
    miss_rate: float | None = None,
    calibrated: bool | None = None,
    on: ScoreSource | None = None,
    ci: str | None = None,
    speakers: Columns | None = None,
    recordings: Columns | None = None,
    level: float = 0.95,
    replicates: int = 1000,
    rng: RNG = 0,
    allow_unconfirmed: bool = False,
) -> Threshold:
    """The threshold for an operating point, for a false-alarm rate, for a miss rate, or for the EER.

    Parameters
    ----------
    source
        Scores, trials, or arrays of scores and labels.
    point
        A prior and costs: the threshold with the lowest cost on these trials or, for calibrated LLRs, the
        Bayes threshold ``log(c_fa (1 - p) / (c_miss p))``, which needs no trials.
    false_alarm_rate
        The lowest threshold with at most this false-alarm rate on these trials.
    miss_rate
        The highest threshold with at most this miss rate. With none of the three: where the rates are equal.
    calibrated
        Whether the scores are LLRs to be cut at the Bayes threshold. By default if a calibration wrote them.
    on
        Other trials, on which errors and cost are counted; by default the same.
    ci, speakers, recordings, level, replicates, rng
        Intervals as in :func:`evaluate`, by default as if trials were independent.
    allow_unconfirmed
        Accept presets whose definition could not be confirmed.

    Returns
    -------
    Threshold
        With ``threshold``, ``interval``, ``p_miss``, ``p_fa``, ``cost``, ``intervals`` and a ``sentence``.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])
    >>> chosen = lk.threshold_for(scores, false_alarm_rate=0.2)
    >>> chosen.threshold, chosen.p_miss, chosen.p_fa
    (0.5, 0.25, 0.2)
    >>> lk.threshold_for(scores, point=0.01, calibrated=True, ci="none")
    P=0.01: accept when the score is at least 4.59512; the miss rate is 100.00 %, the false-alarm rate 0.00 %;
    the cost is 1.0000 times that of deciding without scores, 0.01 per trial.
    """
    seed = seed_of(rng)
    asked = [name for name in (point, false_alarm_rate, miss_rate) if name is not None]
    if len(asked) > 1:
        raise InputError("give only one of point, false_alarm_rate and miss_rate for each threshold")
    ci = kind_asked_for(ci, speakers, "trial")
    require_columns(ci, KINDS, speakers, recordings)
    probability(level, "level")
    whole_number(replicates, 1, "replicates")
    for rate, name in ((false_alarm_rate, "false_alarm_rate"), (miss_rate, "miss_rate")):
        if rate is not None and not 0.0 <= float(rate) <= 1.0:
            raise InputError(f"{name} must be between 0 and 1, got {rate!r}")
    source = as_source(source)
    given = None if point is None else operating_point(point, allow_unconfirmed=allow_unconfirmed)
    bayes = given is not None and (source.roles.calibrated if calibrated is None else calibrated)
    if calibrated is not None and given is None:
        raise InputError("calibrated=True needs an operating point (point=)")
    result = measure(source, [] if given is None else [given])
    chosen, criterion = _chosen_threshold(source, result, given, false_alarm_rate, miss_rate, bayes=bayes)
    counted_on = source if on is None else as_source(on)
    if calibrated is None and counted_on.roles.calibrated != source.roles.calibrated:
        warn_caller(OTHER_SCALE, ScaleWarning)
    at_point = given or _EVEN
    decided = DerivedSource(counted_on, _Decisions(chosen, at_point.threshold))
    errors = measure(decided, [at_point])
    uncertain = _uncertainty_of_decisions(
        decided, errors, ci, speakers=speakers, recordings=recordings, level=level, n=replicates, seed=seed
    )
    interval, reasons, intervals = None, _reasons_of_rates(uncertain, given), _renamed_rates(uncertain, given)
    effects = _effects_of_decisions(uncertain)
    if given is None and ci in ("trial", "speaker") and source.roles.weight is None:
        # the very intervals of FNMR and FMR at this threshold (evaluate --fmr)
        found = _rates_at(counted_on, chosen, speakers, level)
        intervals, told = found.intervals, found.reasons
        reasons = {name: why for name, why in reasons.items() if name not in ("p_miss", "p_fa")} | told
        effects = found.effects
    if ci != "none":
        if bayes:
            reasons["threshold"] = "given by the operating point, not estimated"
        elif source.roles.weight is not None:
            reasons["threshold"] = "trials are weighted"
        else:
            if given is None and on is not None and ci == "speaker":  # the trials that gave the threshold
                effects = _rates_at(source, chosen, speakers, level).effects
            interval = _interval_of_threshold(
                source, result, chosen, given, false_alarm_rate, miss_rate, effects, level
            )
    cost = errors.points[0].act_dcf
    return Threshold(
        criterion, chosen, errors.points[0].p_miss, errors.points[0].p_fa, errors.n_target,
        errors.n_nontarget, given, None if given is None else cost,
        None if given is None else _lowest_cost(result, counted_on, given, on), source.roles.factor,
        interval, intervals, reasons, ci, level,
        (*(() if on is not None or bayes else (SAME_TRIALS,)), *(() if ci != "trial" else (INDEPENDENT,))),
    )  # fmt: skip


def _chosen_threshold(
    source: ScoreSource,
    result: Measurements,
    point: OperatingPoint | None,
    false_alarm_rate: float | None,
    miss_rate: float | None,
    *,
    bayes: bool,
) -> tuple[float, str]:
    """The threshold, and what it was chosen for."""
    bins, blocks = result.summaries.bins, result.summaries.blocks
    if point is not None:
        return (point.threshold if bayes else threshold_for_cost(blocks, point)), point.name
    if false_alarm_rate is not None:
        words = f"Pfa at most {rate_in_words(false_alarm_rate)}"
        return threshold_for_false_alarms(source, bins, false_alarm_rate), words
    if miss_rate is not None:
        return threshold_for_misses(source, bins, miss_rate), f"Pmiss at most {rate_in_words(miss_rate)}"
    return eer_threshold(source), "EER"


@dataclass(frozen=True)
class _Decisions:
    """Scores as decisions: above or below the threshold of an operating point, whose errors are counted."""

    threshold: float
    to: float

    def __call__(self, chunk: Scores) -> Scores:
        return Scores.part(self._of(chunk.target), self._of(chunk.nontarget), chunk.columns, chunk.categories)

    def _of(self, scores: FloatArray) -> FloatArray:
        return np.where(scores >= self.threshold, self.to + 1.0, self.to - 1.0)


def _uncertainty_of_decisions(
    source: ScoreSource,
    result: Measurements,
    ci: str,
    *,
    speakers: Columns | None,
    recordings: Columns | None,
    level: float,
    n: int,
    seed: int,
) -> Uncertainty | None:
    """Intervals of the errors of decisions."""
    if ci == "none":
        return None
    if ci == "trial":
        return closed_form(source, result, None, level)
    assert speakers is not None
    if ci == "bootstrap":
        return bootstrap(source, result, speaker_resampling(source, speakers, recordings, seed), level, n)
    return closed_form(source, result, find_speakers(source, speakers), level)


_NAMES = {"p_miss": "points.0.p_miss", "p_fa": "points.0.p_fa", "cost": "points.0.act_dcf"}


def _effects_of_decisions(uncertain: Uncertainty | None) -> tuple[float, float]:
    effects = {} if uncertain is None else uncertain.design_effect
    miss, fa = (max(effects.get(_NAMES[name], 1.0), 1.0) for name in ("p_miss", "p_fa"))
    return miss, fa


class _RatesAt(NamedTuple):
    intervals: dict[str, Range]
    reasons: dict[str, str]
    effects: tuple[float, float]


def _rates_at(source: ScoreSource, threshold: float, speakers: Columns | None, level: float) -> _RatesAt:
    """Both error rates at a threshold: intervals, why there are none, and design effects."""
    people = None if speakers is None else find_speakers(source, speakers)
    measured = measure(source, [])
    highest = measured.moments.extremes[1]  # of the finite scores, -inf if there are none
    above_all = float(np.nextafter(highest, np.inf)) if np.isfinite(highest) else 0.0
    cut = min(threshold, above_all)
    rates = curve_rates(source, [cut], people, level, along=score_cuts(measured))
    sizes = rates.n if people is None else trial_numbers(source) or rates.n
    intervals, reasons = {}, {}
    for name, kind, one, n in zip(
        ("p_miss", "p_fa"), KINDS_OF_ERROR, (rates.miss, rates.fa), sizes, strict=True
    ):
        errors = round(float(one.rate[0]) * n)
        if people is not None and (one.few[0] or errors < FEWEST_ERRORS):
            few = few_makers(kind, float(one.rate[0]), float(one.makers[0]))
            if not one.few[0]:
                few = f"there are only {errors} {kind}"
            reasons[name] = f"{few}: at most {rate_in_words(float(one.bound[0]))}"
        else:
            intervals[name] = (float(one.low[0]), float(one.high[0]))
    return _RatesAt(intervals, reasons, (rates.design_effect(0, 0), rates.design_effect(1, 0)))


def _renamed_rates(uncertain: Uncertainty | None, point: OperatingPoint | None) -> dict[str, Range]:
    there = {} if uncertain is None else uncertain.intervals
    return {name: there[long] for name, long in _names_of_rates(point).items() if long in there}


def _reasons_of_rates(uncertain: Uncertainty | None, point: OperatingPoint | None) -> dict[str, str]:
    there = {} if uncertain is None else uncertain.no_interval
    return {name: there[long] for name, long in _names_of_rates(point).items() if long in there}


def _names_of_rates(point: OperatingPoint | None) -> dict[str, str]:
    return {name: long for name, long in _NAMES.items() if point is not None or name != "cost"}


def _interval_of_threshold(
    source: ScoreSource,
    result: Measurements,
    threshold: float,
    point: OperatingPoint | None,
    false_alarm_rate: float | None,
    miss_rate: float | None,
    pair: tuple[float, float],
    level: float,
) -> Range:
    """Thresholds that the trials cannot tell from the chosen one; a pair of design effects."""
    bins, width = result.summaries.bins, quantile(level)
    if point is not None:
        return same_cost(error_path(bins), point, threshold, width, pair)
    if false_alarm_rate is not None:
        return same_rate(source, bins, "p_fa", false_alarm_rate, width, pair[1])
    if miss_rate is not None:
        return same_rate(source, bins, "p_miss", miss_rate, width, pair[0])
    return equal_rates(error_path(bins), result.eer, width, pair)


def _lowest_cost(
    result: Measurements, source: ScoreSource, point: OperatingPoint, on: ScoreSource | None
) -> float:
    return (result if on is None else measure(source, [point])).points[0].min_dcf
