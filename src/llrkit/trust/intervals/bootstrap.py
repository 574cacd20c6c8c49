"""Bootstrap intervals: all numbers of an evaluation again, speakers or trials drawn with replacement."""

from __future__ import annotations

import math
from types import MappingProxyType

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._format import counted
from llrkit.core.elementary_functions import logit, sigmoid
from llrkit.core.threshold_grid import Grid, collect_again
from llrkit.errors import InputError, TooFewTrialsError
from llrkit.metrics.measurements import Measurements
from llrkit.scores import ScoreSource
from llrkit.trust.intervals.dyadic_covariance import covariance, quadratic
from llrkit.trust.intervals.evaluation_numbers import decision_thresholds, evaluation_numbers
from llrkit.trust.intervals.interval_formulas import quantile
from llrkit.trust.intervals.number_functionals import Functional, functionals, trial_numbers
from llrkit.trust.intervals.replicate_counts import Resampling, replicates
from llrkit.trust.intervals.uncertainty_result import (
    Range,
    Uncertainty,
    effect_note,
    range_around,
    reason_for_no_interval,
)

FEWEST_REPLICATES = 100
MOST_REPLICATES = 1_000_000
"""More would not change a digit that is shown, and keep a computer busy for days."""


def bootstrap_numbers(
    source: ScoreSource,
    result: Measurements,
    resampling: Resampling,
    n: int,
    *,
    slope: bool = True,
) -> dict[str, FloatArray]:
    """The numbers of an evaluation in each of ``n`` replicates, by name."""
    thresholds = decision_thresholds(result)
    place = np.argsort(np.argsort(thresholds))
    grid = collect_again(source, source.reduce(Grid.of))
    rows = [
        evaluation_numbers(
            replicate.counts.bins(), replicate.loss, (replicate.p_miss[place], replicate.p_fa[place]), result,
            slope=slope,
        )
        for replicate in replicates(source, grid, resampling, n, thresholds=thresholds)
    ]  # fmt: skip
    if not rows:
        raise TooFewTrialsError("no replicate holds trials of both classes: too few speakers or trials")
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def bootstrap(
    source: ScoreSource,
    result: Measurements,
    resampling: Resampling,
    level: float,
    n: int,
) -> Uncertainty:
    """Intervals of all numbers of an evaluation, see :func:`percentile_interval`."""
    drawn = bootstrap_numbers(source, result, resampling, checked_replicates(n))
    wanted = functionals(result, trial_numbers(source))
    single = covariance(source, wanted.influences).independent
    units = resampling.units
    intervals, errors, effects, reasons = {}, {}, {}, dict(wanted.reasons)
    for number in wanted.numbers:
        variance = float(np.var(drawn[number.name])) if np.isfinite(drawn[number.name]).all() else 0.0
        reason = number.reason or reason_for_no_interval(number, variance)
        if reason:
            reasons[number.name] = reason
            continue
        ends = percentile_interval(number, drawn[number.name], units, level)
        intervals[number.name] = range_around(number.value, *ends)
        errors[number.name] = math.sqrt(variance)
        own = quadratic(single, number.coefficients)
        if own > 0.0:
            effects[number.name] = variance / own
    if np.isfinite(drawn["det_slope"]).all() and math.isfinite(result.det_slope.slope):
        low, high = np.quantile(drawn["det_slope"], tail_probabilities(units, level))
        intervals["det_slope"] = (float(low), float(high))
        del reasons["det_slope"]
    else:
        reasons["det_slope"] = "too few errors: some replicates have no slope"
    used = len(drawn["cllr"])
    notes = [f"{counted(n, 'replicate')}, seed {resampling.seed}; bias-corrected percentile intervals"]
    if resampling.n_speakers is None:
        notes.append("trials drawn within each class, as if they were independent")
    if used < n:
        notes.append(f"{n - used:,} replicates without trials of both classes were left out")
    return Uncertainty(
        kind="bootstrap",
        level=level,
        intervals=MappingProxyType(intervals),
        standard_error=MappingProxyType(errors),
        design_effect=MappingProxyType(effects),
        no_interval=MappingProxyType(reasons),
        n_speakers=resampling.n_speakers,
        notes=(*notes, *effect_note(effects, resampling.n_speakers or 0)),
    )


def percentile_interval(number: Functional, drawn: FloatArray, n_speakers: int, level: float) -> Range:
    """Percentiles of the replicates, corrected for bias and for the small number of speakers.

    What is fitted to the trials (a threshold, a PAV map) looks better than it is, and in a replicate once
    more by as much; so the percentiles are moved, on the scale of the number, by twice the difference
    between the estimate and the mean of the replicates. They are taken further out than the level says,
    at ``Phi(-sqrt(S / (S - 1)) t)`` with t the Student quantile (Hesterberg 2015).
    """
    to, back = (logit, sigmoid) if number.scale == "rate" else (np.log, np.exp)
    with np.errstate(divide="ignore"):  # a replicate without errors: the end of the scale
        ends = to(np.quantile(drawn, tail_probabilities(n_speakers, level)))
    low, high = back(ends + 2.0 * (to(number.value) - to(float(drawn.mean()))))
    return float(low), float(high)


def checked_replicates(n: int, fewest: int | None = None) -> int:
    """A number of replicates that percentiles can be taken of, in a time that somebody would wait."""
    fewest = FEWEST_REPLICATES if fewest is None else fewest
    if isinstance(n, bool) or not isinstance(n, int) or not fewest <= n <= MOST_REPLICATES:
        raise InputError(
            f"replicates must be a whole number of at least {fewest} and at most {MOST_REPLICATES:,}, "
            f"got {str(n)[:40]}"
        )
    return n


def tail_probabilities(n_speakers: int, level: float) -> list[float]:
    """Where percentiles are taken: a little further out than the level says when speakers are few."""
    from scipy.special import ndtr

    reach = math.sqrt(n_speakers / (n_speakers - 1.0)) * quantile(level, n_speakers - 1)
    return [float(ndtr(-reach)), float(ndtr(reach))]
