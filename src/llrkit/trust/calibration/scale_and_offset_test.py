"""The test of scale and offset with what it rests on: counts alone, or each speaker left out in turn.

With speakers: theta = (a, b) is the line fitted to all trials and theta_p the one without speaker p; the
jackknife gives theta corrected for bias and its covariance V; ``(theta - (1, 0))' V^-1 (theta - (1, 0))``
is compared with Hotelling's distribution. Its degrees of freedom are fewer than speakers - 1 where few
speakers make most of V: with h_p the part of speaker p in V^-1 V (they add up to 2), ``1.5 x 4 / sum h_p^2
- 1``. Equal normal deviations would have the factor 2; the smaller one makes up for heavier tails
(benchmarks/sizes.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._cached import cached_property
from llrkit.core.elementary_functions import sigmoid
from llrkit.errors import TooFewTrialsError
from llrkit.metrics.identity_test import (
    IdentityTest,
    NullMoments,
    distance,
    hotelling_p_value,
    identity_test,
    null_moments,
)
from llrkit.metrics.llr_cells import LlrCells
from llrkit.metrics.loss_split import BestLine, best_line
from llrkit.metrics.measurements import Measurements
from llrkit.scores import ScoreSource
from llrkit.trust.calibration.calibrated_cells import JUDGED_CELLS, JudgedCells, judged_range
from llrkit.trust.calibration.recalibration_line import Recalibration, as_rows, fit_line
from llrkit.trust.intervals.dyadic_covariance import Contributions
from llrkit.trust.intervals.jackknife import Jackknife
from llrkit.trust.intervals.speaker_cells import CellSet, SpeakerCells, speaker_cells
from llrkit.trust.intervals.speakers import Speakers

_FACTOR = 1.5
_FEWEST_DF = 2.0


def judged_edges(result: Measurements) -> FloatArray:
    """Even cells of the LLR, between whose ends LLRs are judged; narrow ones where all scores are equal."""
    low, high = judged_range(result.moments.extremes, result.summaries.blocks)
    edges = np.linspace(low, high, JUDGED_CELLS + 1)
    if (edges[1:] > edges[:-1]).all():
        return edges
    reach = 1e-6 * max(1.0, abs(low), abs(high))
    return np.linspace(low - reach, high + reach, JUDGED_CELLS + 1)


@dataclass(frozen=True, eq=False)
class SpeakersInCells:
    """Trials counted by speaker in even cells of the LLR."""

    edges: FloatArray
    cells: SpeakerCells

    @classmethod
    def of(
        cls,
        source: ScoreSource,
        result: Measurements,
        speakers: Speakers,
        contributions: Contributions | None = None,
    ) -> SpeakersInCells:
        """Count the trials; one pass. Many speakers are put into groups."""
        edges = judged_edges(result)
        return cls(edges, speaker_cells(source, speakers.grouped(), edges[1:-1], contributions))

    @property
    def judged(self) -> JudgedCells:
        """The trials of all speakers together."""
        target, nontarget = (np.asarray(counts, dtype=np.float64) for counts in self.cells.total.counts)
        return JudgedCells(self.edges, target, nontarget)


def line_without_each(counted: SpeakersInCells, start: tuple[float, float]) -> Jackknife:
    """Slope and offset of the best line without each speaker; ``start`` is about that of all."""
    x = counted.judged.llr

    def fit(kept: CellSet) -> tuple[float, float]:
        n = kept.n
        return fit_line(x, kept.counts[0] / n[0], kept.counts[1] / n[1], n[0], start)

    return _complete_jackknife(Jackknife.of(counted.cells, fit, ("a", "b")))


def gradient_without_each(counted: SpeakersInCells) -> Jackknife:
    """Gradient of the cross-entropy by slope and offset at 1 and 0, without each speaker."""
    x = counted.judged.llr
    miss, alarm = 0.5 * np.asarray(sigmoid(-x)), 0.5 * np.asarray(sigmoid(x))

    def gradient(kept: CellSet) -> tuple[float, float]:
        residual = kept.counts[1] / kept.n[1] * alarm - kept.counts[0] / kept.n[0] * miss
        return float((residual * x).sum()), float(residual.sum())

    return _complete_jackknife(Jackknife.of(counted.cells, gradient, ("a", "b")))


def _complete_jackknife(jackknife: Jackknife) -> Jackknife:
    if not np.isfinite(jackknife.without).all():
        raise TooFewTrialsError(
            "leaving out one of the speakers leaves a class without trials; "
            "a test with speakers needs targets and non-targets of several"
        )
    return jackknife


def effective_df(deviations: FloatArray) -> float:
    """Degrees of freedom of a covariance of two numbers, from the deviations of the speakers.

    Examples
    --------
    >>> around = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    >>> effective_df(np.tile(around, (5, 1)))  # 20 speakers, all alike: no more than 19
    19.0
    >>> round(effective_df(np.vstack([np.tile(around, (4, 1)), 3.0 * around])), 1)
    10.9
    """
    n = len(deviations)
    products = deviations.T @ deviations
    shares = np.einsum("pi,ij,pj->p", deviations, np.linalg.pinv(products), deviations)
    squares = float(np.square(shares).sum())
    rank = float(shares.sum())
    terms = _FACTOR * rank**2 / squares if squares > 0.0 else 0.0
    return max(_FEWEST_DF, min(n - 1.0, terms - 1.0))


def speaker_test(
    counted: SpeakersInCells, null: NullMoments, line: BestLine | None
) -> tuple[IdentityTest, NullMoments, Jackknife | None]:
    """The test, the moments that say what it would find, and the lines without each speaker.

    Trials that share speakers say no more than independent ones: the p-value is never below theirs, which
    rests on the variance calibration implies and so holds where hardly a trial went wrong.
    """
    if line is None:
        jackknife = gradient_without_each(counted)
        gap, spread = jackknife.values, jackknife.covariance
        covariance = spread
    else:
        jackknife = line_without_each(counted, (line.a, line.b))
        gap, spread = jackknife.corrected - np.array([1.0, 0.0]), jackknife.covariance
        covariance = null.curvature @ spread @ null.curvature
    df = effective_df(jackknife.deviations)
    statistic = distance(gap, spread)
    independent = identity_test(null)
    p = max(hotelling_p_value(statistic, df), independent.p_value)
    test = replace(independent, statistic=statistic, p_value=p, df=df)
    moments = replace(null, covariance=np.asarray(covariance))
    return test, moments, None if line is None else jackknife


def loss_without_own(counted: SpeakersInCells, lines: Jackknife) -> float:
    """What lines fitted to the trials of the others gain in Cllr on those of each speaker, in bits."""
    x = counted.judged.llr
    gain = 0.0
    for sign, by_speaker in zip((-1.0, 1.0), counted.cells.counts, strict=True):
        mapped = lines.without[:, :1] * x + lines.without[:, 1:]
        saved = np.logaddexp(0.0, sign * x) - np.logaddexp(0.0, sign * mapped)
        gain += float((by_speaker * saved).sum() / by_speaker.sum())
    return gain / (2.0 * math.log(2.0))


@dataclass(frozen=True, eq=False)
class CalibrationTest:
    """A test of a = 1 and b = 0 for the map ``a x + b`` of LLRs x, and the line that is best."""

    test: IdentityTest
    null: NullMoments
    fit: Callable[[], Recalibration | None]
    by_speaker: bool = False
    """Whether trials that share speakers were taken into account."""
    lines: Jackknife | None = None
    """The best line without each speaker, where there are any."""

    @cached_property
    def line(self) -> Recalibration | None:
        """The best line, fitted when first asked for; None where the classes do not overlap."""
        return self.fit()


def check_cells(result: Measurements, weights: tuple[float, float] = (1.0, 1.0)) -> CalibrationTest:
    """The test from the counts of an evaluation, without another look at the trials.

    Parameters
    ----------
    weights
        Independent trials that say as much as one target, and as one non-target, where trials are weighted.
    """
    cells = result.summaries.cells.weighted(*weights)
    null = null_moments(cells)
    test = identity_test(null)
    return CalibrationTest(test, null, partial(_line_of_cells, result, test, cells))


def judged_line(result: Measurements) -> BestLine | None:
    """The best line; if LLRs that stand for certainty leave none, with these no further away than others."""
    if result.best_line is not None:
        return result.best_line
    cells = result.summaries.cells
    within = judged_range(result.moments.extremes, result.summaries.blocks)
    return best_line(replace(cells, llr=np.clip(cells.llr, *within)))


def check_trials(source: ScoreSource, result: Measurements, speakers: Speakers) -> CalibrationTest:
    """The test for trials that share speakers; one pass."""
    return check_speakers(result, SpeakersInCells.of(source, result, speakers))


def check_speakers(result: Measurements, counted: SpeakersInCells) -> CalibrationTest:
    """The same from trials that are counted already."""
    line = judged_line(result)
    test, null, lines = speaker_test(counted, null_moments(result.summaries.cells), line)
    fit = partial(_line_of_speakers, line, lines, test)
    return CalibrationTest(test, null, fit, by_speaker=True, lines=lines)


def _recalibration_of_line(a: float, b: float, spread: FloatArray, test: IdentityTest) -> Recalibration:
    return Recalibration(a, b, as_rows(spread), test.statistic, test.p_value, test.df)


def _line_of_speakers(
    line: BestLine | None, lines: Jackknife | None, test: IdentityTest
) -> Recalibration | None:
    if line is None or lines is None:
        return None
    return _recalibration_of_line(line.a, line.b, lines.covariance, test)


def _line_of_cells(result: Measurements, test: IdentityTest, cells: LlrCells) -> Recalibration | None:
    line = judged_line(result)
    if line is None:
        return None
    # what one trial says less, the errors are larger
    lost = max((result.n_target + result.n_nontarget) / (cells.n_target + cells.n_nontarget), 1.0)
    return _recalibration_of_line(line.a, line.b, lost * np.array(line.covariance), test)
