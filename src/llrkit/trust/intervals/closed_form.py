"""Intervals without resampling: delta method for independent trials, dyadic-robust for shared speakers."""

from __future__ import annotations

import math
from types import MappingProxyType

from llrkit.metrics.measurements import Measurements
from llrkit.scores import ScoreSource
from llrkit.trust.intervals.dyadic import Covariance, covariance
from llrkit.trust.intervals.functionals import Functional, functionals, trial_numbers
from llrkit.trust.intervals.interval import clopper_pearson, on_log_scale, on_logit_scale, quantile
from llrkit.trust.intervals.pair_sums import MOST_PAIRS
from llrkit.trust.intervals.speakers import Speakers
from llrkit.trust.intervals.uncertainty import Range, Uncertainty


def closed_form(
    source: ScoreSource, result: Measurements, speakers: Speakers | None, level: float
) -> Uncertainty:
    """Intervals of all numbers of an evaluation, from one more pass over its trials."""
    wanted = functionals(result, trial_numbers(source))
    spread = covariance(source, wanted.influences, speakers)
    width = quantile(level, speakers.n - 1 if speakers is not None else math.inf)
    intervals: dict[str, Range] = {}
    errors, effects, reasons = {}, {}, dict(wanted.reasons)
    counted = speakers is None and source.roles.weight is None
    for number in wanted.numbers:
        if counted and number.name.endswith((".p_miss", ".p_fa")):
            n = result.n_target if number.name.endswith("p_miss") else result.n_nontarget
            intervals[number.name] = clopper_pearson(round(number.value * n), n, level)
            continue
        variance = spread.variance(number.coefficients)
        reason = number.reason or reason_for_no_interval(number, variance)
        if reason:
            reasons[number.name] = reason
            continue
        errors[number.name] = math.sqrt(variance)
        intervals[number.name] = scaled_interval(number, width * errors[number.name])
        if speakers is not None:
            effects[number.name] = spread.design_effect(number.coefficients)
    return Uncertainty(
        kind="trial" if speakers is None else "speaker",
        level=level,
        intervals=MappingProxyType(intervals),
        standard_error=MappingProxyType(errors),
        design_effect=MappingProxyType(effects),
        no_interval=MappingProxyType(reasons),
        n_speakers=speakers.n if speakers is not None else None,
        notes=(*_notes(spread), *effect_note(effects, spread.n_speakers), *_bias_note(intervals)),
    )


def reason_for_no_interval(number: Functional, variance: float) -> str:
    """Why a number has no interval, if it has none."""
    inside = 0.0 < number.value < (1.0 if number.scale == "rate" else math.inf)
    if not (inside and variance > 0.0):
        return "it is at an end of its range, or does not vary: no standard error can be given"
    return ""


def scaled_interval(number: Functional, error: float) -> Range:
    """The interval of a number on its scale."""
    return (on_logit_scale if number.scale == "rate" else on_log_scale)(number.value, error)


def effect_note(effects: dict[str, float], n_speakers: int) -> list[str]:
    """What sharing speakers costs, in words."""
    if not n_speakers or "cllr" not in effects:
        return []
    effect = effects["cllr"]
    said = f"{n_speakers:,} speakers; design effect of Cllr {effect:.2f}"
    if effect > 1.0:
        said += f": the trials say as much as {100 / effect:.0f} % of them would if they were independent"
    return [said]


def _bias_note(intervals: dict[str, Range]) -> list[str]:
    if "min_cllr" not in intervals:
        return []
    return ["min Cllr is fitted to these trials and too low for others; bootstrap intervals correct for that"]


def _notes(spread: Covariance) -> list[str]:
    if spread.by_speaker is None:
        return ["trials are taken as independent; where they share speakers the intervals are too short"]
    if spread.pairs_left_out:
        return [
            f"more than {MOST_PAIRS:,} pairs of speakers occur: what they are counted twice for is left in, "
            "which makes the intervals wider, never narrower"
        ]
    return []
