"""Bands: how far the curves of an evaluation can be trusted, as data for plots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from llrkit._arrays import FloatArray
from llrkit.core.hull import error_path
from llrkit.core.special import LN2, logit, probability, probit, sigmoid, softplus
from llrkit.metrics.curve import Curve
from llrkit.metrics.curves import ECE_LOG10_ODDS
from llrkit.metrics.measurements import Measurements
from llrkit.scores import ScoreSource
from llrkit.scores.labeled import takes_labels
from llrkit.scores.source import as_source
from llrkit.trust.intervals.centered_sums import estimate_sums
from llrkit.trust.intervals.functionals import FEWEST_ERRORS
from llrkit.trust.intervals.interval import quantile
from llrkit.trust.intervals.rate_errors import RateErrors, rate_errors
from llrkit.trust.intervals.speakers import Speakers, find_speakers

DET_POINTS = 201
_STEEPEST = 20.0


@dataclass(frozen=True, eq=False)
class DetBand(Curve):
    """Pmiss between ``lower`` and ``upper`` at each Pfa, for points along the DET.

    ``nan`` where fewer than 5 misses or false alarms were seen.
    """

    level: float
    p_fa: FloatArray
    p_miss: FloatArray
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, eq=False)
class TippettBand(Curve):
    """Bands of the two curves of ``Evaluation.tippett``, at the same LLRs."""

    level: float
    llr: FloatArray
    target_lower: FloatArray
    target_upper: FloatArray
    nontarget_lower: FloatArray
    nontarget_upper: FloatArray


@dataclass(frozen=True, eq=False)
class EceBand(Curve):
    """Band of the system's empirical cross-entropy in bits, at the priors of ``Evaluation.ece``.

    ``nan`` where an LLR is infinite for the wrong side: no chance makes that finite.
    """

    level: float
    log_odds: FloatArray
    system: FloatArray
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, eq=False)
class CurveBands:
    """What :func:`curve_bands` found; each holds at each point of the curve by itself."""

    det: DetBand
    tippett: TippettBand
    ece: EceBand
    n_speakers: int | None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers."""
        return {
            "det": self.det.to_dict(), "tippett": self.tippett.to_dict(), "ece": self.ece.to_dict(),
            "n_speakers": self.n_speakers, "notes": list(self.notes),
        }  # fmt: skip


@takes_labels
def curve_bands(
    source: ScoreSource,
    result: Measurements,
    *,
    speakers: str | Sequence[str] | None = None,
    level: float = 0.95,
) -> CurveBands:
    """Pointwise bands of the DET, Tippett and ECE curves of an evaluation.

    Parameters
    ----------
    source, result
        Trials, and what :func:`evaluate` found for them.
    speakers
        The column, or the two columns, with the speakers of the two sides of a trial. Without them
        trials are taken as independent.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> scores = lk.Scores(*lk.theory.GaussianLLR.from_eer(0.1).rvs(300, 3000, np.random.default_rng(1)))
    >>> result = lk.evaluate(scores)
    >>> bands = lk.curve_bands(scores, result)
    >>> middle = len(result.tippett.llr) // 2
    >>> at = result.tippett.target_at_or_above[middle]
    >>> bool(bands.tippett.target_lower[middle] < at < bands.tippett.target_upper[middle])
    True
    """
    source = as_source(source)
    probability(level, "level")
    speaker_set = find_speakers(source, speakers) if speakers else None
    width = quantile(level, speaker_set.n - 1) if speaker_set is not None else quantile(level)
    at_llrs = rate_errors(source, result.tippett.llr, speaker_set)
    det, det_errors = _det_band(source, result, speaker_set, width, level)
    notes = []
    if at_llrs.pairs_left_out or det_errors.pairs_left_out:
        notes.append("too many pairs of speakers: what they count twice for is left in, bands are wider")
    tippett = _tippett_band(at_llrs, result.tippett.llr, width, level)
    ece = _ece_band(source, result.cllr, speaker_set, width, level)
    return CurveBands(det, tippett, ece, speaker_set.n if speaker_set is not None else None, tuple(notes))


def _det_band(
    source: ScoreSource, result: Measurements, speakers: Speakers | None, width: float, level: float
) -> tuple[DetBand, RateErrors]:
    roc = error_path(result.summaries.bins)
    inner = np.flatnonzero((roc.p_miss > 0.0) & (roc.p_fa > 0.0) & (roc.p_miss < 1.0) & (roc.p_fa < 1.0))
    if len(inner) > DET_POINTS:  # evenly along the curve on probit axes
        along = probit(roc.p_miss[inner]) - probit(roc.p_fa[inner])
        wanted = np.linspace(along[0], along[-1], DET_POINTS)
        inner = np.unique(inner[np.clip(np.searchsorted(along, wanted), 0, len(inner) - 1)])
    thresholds = roc.threshold[inner]
    if len(thresholds) == 0:
        thresholds = np.array([0.0])
    errors = rate_errors(source, thresholds, speakers)
    blocks = result.summaries.blocks
    # at a fixed Pfa the threshold moves with it, and Pmiss along the ROC by its slope, the likelihood ratio
    block = np.maximum(np.searchsorted(blocks.low, errors.thresholds, side="right") - 1, 0)
    slope = np.exp(np.clip(blocks.llr[block], -_STEEPEST, _STEEPEST))
    rate = errors.p_miss
    error = width * np.sqrt(np.maximum(errors.variance(1.0, slope), 0.0))
    few = (rate * errors.n[0] < FEWEST_ERRORS) | ((1.0 - rate) * errors.n[0] < FEWEST_ERRORS)
    few |= errors.p_fa * errors.n[1] < FEWEST_ERRORS
    lower, upper = _logit_band(rate, error)
    lower[few] = upper[few] = np.nan
    return DetBand(level, errors.p_fa, rate, lower, upper), errors


def _logit_band(rate: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
    inside = (rate > 0.0) & (rate < 1.0)
    safe = np.where(inside, rate, 0.5)
    step = np.minimum(error / (safe * (1.0 - safe)), 700.0)
    middle = logit(safe)
    lower, upper = np.asarray(sigmoid(middle - step)), np.asarray(sigmoid(middle + step))
    return np.where(inside, lower, rate), np.where(inside, upper, rate)


def _tippett_band(errors: RateErrors, llr: FloatArray, width: float, level: float) -> TippettBand:
    place = np.searchsorted(errors.thresholds, llr)  # the LLRs of the curve may repeat
    low, high = _rate_band(errors, 0, width, level)
    fa_low, fa_high = _rate_band(errors, 1, width, level)
    return TippettBand(
        level, llr, (1.0 - high)[place], (1.0 - low)[place], fa_low[place], fa_high[place]
    )  # fmt: skip


def _rate_band(
    errors: RateErrors, class_index: int, width: float, level: float
) -> tuple[FloatArray, FloatArray]:
    """Intervals of a rate at every threshold: on the logit scale, exact ones where errors are few."""
    rate = errors.p_miss if class_index == 0 else errors.p_fa
    variance = errors.var_miss if class_index == 0 else errors.var_fa
    n = errors.n[class_index]
    low, high = _logit_band(rate, width * np.sqrt(variance))
    few = np.minimum(rate, 1.0 - rate) * n < FEWEST_ERRORS
    size = errors.effective(class_index)
    tail, k = 0.5 - 0.5 * level, rate * size
    with np.errstate(invalid="ignore"):
        exact_low = np.where(k > 0.0, betaincinv(np.maximum(k, 1e-9), size - k + 1.0, tail), 0.0)
        exact_high = np.where(k < size, betaincinv(k + 1.0, np.maximum(size - k, 1e-9), 1.0 - tail), 1.0)
    return np.where(few, exact_low, low), np.where(few, exact_high, high)


@dataclass(frozen=True, eq=False)
class _PriorLosses:
    """The cross-entropy in bits at several priors, as sums of class means."""

    log_odds: FloatArray

    @property
    def size(self) -> int:
        return len(self.log_odds)

    def columns(self, class_index: int) -> tuple[int, ...]:
        return tuple(range(self.size))

    def of(self, values: npt.NDArray[Any], class_index: int) -> list[FloatArray]:
        x = values.astype(np.float64, copy=False)
        sign = -1.0 if class_index == 0 else 1.0
        return [
            np.asarray(sigmoid(-sign * odds) * softplus(sign * (x + odds))) / LN2 for odds in self.log_odds
        ]


def _ece_band(
    source: ScoreSource, cllr: float, speakers: Speakers | None, width: float, level: float
) -> EceBand:
    odds = ECE_LOG10_ODDS * np.log(10.0)
    if not math.isfinite(cllr):  # and so is the cross-entropy at every prior
        nowhere = np.full(len(odds), np.nan)
        return EceBand(level, odds, np.full(len(odds), cllr), nowhere, nowhere.copy())
    entropies = estimate_sums(source, _PriorLosses(odds), speakers, diagonal=True)
    value = entropies.values
    error = width * np.array([entropies.standard_error(i) for i in range(len(odds))])
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.exp(np.minimum(error / value, 700.0))
    return EceBand(level, odds, value, value / factor, value * factor)
