"""Intervals of all numbers of an evaluation without resampling; delta method for independent trials."""

from __future__ import annotations

import math
from types import MappingProxyType

from llrkit.metrics.measurements import Measurements
from llrkit.scores import ScoreSource
from llrkit.trust.intervals.dyadic_covariance import covariance
from llrkit.trust.intervals.interval_formulas import clopper_pearson, on_log_scale, on_logit_scale, quantile
from llrkit.trust.intervals.number_functionals import Functional, functionals, trial_numbers
from llrkit.trust.intervals.speaker_intervals import speaker_intervals
from llrkit.trust.intervals.speakers import Speakers
from llrkit.trust.intervals.uncertainty_result import Range, Uncertainty, reason_for_no_interval

IF_INDEPENDENT = "hold if trials are independent; where these share speakers they are too short"
"""What is said of intervals of the kind ``trial``."""


def closed_form(
    source: ScoreSource, result: Measurements, speakers: Speakers | None, level: float
) -> Uncertainty:
    """Intervals of all numbers of an evaluation, from one more pass over its trials."""
    return trial_intervals(source, result, level) if speakers is None else speaker_intervals(
        source, result, speakers, level
    )  # fmt: skip


def trial_intervals(source: ScoreSource, result: Measurements, level: float) -> Uncertainty:
    """Intervals as if trials were independent."""
    wanted = functionals(result, trial_numbers(source))
    spread, width = covariance(source, wanted.influences), quantile(level)
    intervals: dict[str, Range] = {}
    errors, reasons = {}, dict(wanted.reasons)
    for number in wanted.numbers:
        if source.roles.weight is None and number.name.endswith((".p_miss", ".p_fa")):
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
    return Uncertainty(
        kind="trial",
        level=level,
        intervals=MappingProxyType(intervals),
        standard_error=MappingProxyType(errors),
        no_interval=MappingProxyType(reasons),
        notes=(
            f"they {IF_INDEPENDENT}",
            *_note_on_bias(intervals),
        ),
    )


def scaled_interval(number: Functional, error: float) -> Range:
    """The interval of a number on its scale."""
    return (on_logit_scale if number.scale == "rate" else on_log_scale)(number.value, error)


def _note_on_bias(intervals: dict[str, Range]) -> list[str]:
    if "min_cllr" not in intervals:
        return []
    return ["min Cllr is fitted to these trials and too low for others; speaker intervals correct for that"]
