"""How well a calibration is known: errors of slope and offset, of a single LLR, and bands of any map."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit._progress import tracked
from llrkit.calibrate.affine.cmlg import fit_cmlg
from llrkit.calibrate.affine.logistic import fit_logistic
from llrkit.calibrate.maps import Map
from llrkit.choose.methods import fit_named
from llrkit.core.moments import Moments
from llrkit.core.special import probability
from llrkit.errors import InputError, LlrkitWarning, TooFewTrialsError, UnknownNameError
from llrkit.metrics.curve import Curve
from llrkit.scores import ScoreSource
from llrkit.scores.labeled import takes_labels
from llrkit.scores.source import as_source
from llrkit.trust.calibration.recalibration import (
    LineErrors,
    LineGradients,
    line_hessian,
    positive_covariance,
)
from llrkit.trust.intervals.bootstrap import tail_probabilities
from llrkit.trust.intervals.centered_sums import estimate_sums
from llrkit.trust.intervals.interval import quantile
from llrkit.trust.intervals.resample import resampled, speaker_resampling
from llrkit.trust.intervals.speakers import find_speakers

METHODS = ("logistic", "cmlg")
_FEWEST = 20


@dataclass(frozen=True)
class MapUncertainty(LineErrors):
    """An affine calibration ``llr = a score + b`` and the covariance of a and b."""

    a: float
    b: float
    covariance: tuple[tuple[float, float], tuple[float, float]]
    df: float
    """Degrees of freedom: speakers - 1, or infinite for independent trials."""

    def interval(self, score: float, level: float = 0.95) -> tuple[float, float, float]:
        """LLR of a score, and the ends of its interval: what the training trials leave open."""
        (aa, ab), (_, bb) = self.covariance
        error = math.sqrt(max(score * score * aa + 2.0 * score * ab + bb, 0.0))
        llr, reach = self.a * score + self.b, quantile(level, self.df) * error
        return llr, llr - reach, llr + reach


@takes_labels
def map_uncertainty(
    source: ScoreSource,
    method: str = "logistic",
    *,
    speakers: str | Sequence[str] | None = None,
    **options: Any,
) -> MapUncertainty:
    """Standard errors of an affine calibration, and with them of every LLR it gives.

    Sandwich covariance ``H^-1 V H^-1`` for logistic regression, the delta method for CMLG; V is that of
    independent trials, or the dyadic-robust one when speakers are given.

    Parameters
    ----------
    method
        ``"logistic"`` or ``"cmlg"``, fitted here with ``options``: ``prior``, or ``alpha``.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> scores = lk.Scores(*lk.theory.GaussianLLR.from_eer(0.1).rvs(200, 2000, np.random.default_rng(3)))
    >>> uncertainty = lk.map_uncertainty(scores, "cmlg")
    >>> abs(uncertainty.a - 1.0) < 4 * uncertainty.se_a
    True
    >>> [round(value, 2) for value in uncertainty.interval(3.0)]
    [2.86, 2.52, 3.2]
    """
    if method not in METHODS:
        raise UnknownNameError(f"unknown method {method!r}; known are {', '.join(METHODS)}")
    speaker_set = find_speakers(source, speakers) if speakers else None
    df = speaker_set.n - 1.0 if speaker_set is not None else math.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LlrkitWarning)
        fitted = fit_logistic(source, **options) if method == "logistic" else fit_cmlg(source, **options)
    if method == "logistic":
        prior = float(options.get("prior", 0.5))
        terms = estimate_sums(source, LineGradients(fitted.a, fitted.b, prior), speaker_set)
        inverse = np.linalg.inv(line_hessian(source, fitted.a, fitted.b, prior))
        spread = inverse @ positive_covariance(terms) @ inverse
    else:
        terms = estimate_sums(
            source, _MomentTerms.from_source(source, float(options.get("alpha", 0.5))), speaker_set
        )
        spread = positive_covariance(terms)
    rows = ((float(spread[0, 0]), float(spread[0, 1])), (float(spread[1, 0]), float(spread[1, 1])))
    return MapUncertainty(fitted.a, fitted.b, rows, df)


@dataclass(frozen=True)
class _MomentTerms:
    """Influence of each score on slope and offset of CMLG, through the means and variances."""

    mean: tuple[float, float]
    variance: tuple[float, float]
    alpha: float
    size: int = 2

    @classmethod
    def from_source(cls, source: ScoreSource, alpha: float) -> _MomentTerms:
        moments = source.reduce(Moments.of)
        mean = float(moments.target.mean[0]), float(moments.nontarget.mean[0])
        return cls(mean, (float(moments.target.variance[0]), float(moments.nontarget.variance[0])), alpha)

    def columns(self, class_index: int) -> tuple[int, ...]:
        return (0, 1)

    def of(self, values: npt.NDArray[Any], class_index: int) -> list[FloatArray]:
        m_e, m_d = self.mean
        v = self.alpha * self.variance[0] + (1.0 - self.alpha) * self.variance[1]
        a = (m_e - m_d) / v
        sign, weight = (1.0, self.alpha) if class_index == 0 else (-1.0, 1.0 - self.alpha)
        centered = values.astype(np.float64, copy=False) - self.mean[class_index]
        slope = sign * centered / v - a / v * weight * (centered**2 - self.variance[class_index])
        return [slope, -slope * (m_e + m_d) / 2.0 - a * centered / 2.0]


@dataclass(frozen=True, eq=False)
class LlrBand(Curve):
    """The LLR a calibrator gives to scores, and between which values resampling the speakers moves it."""

    method: str
    level: float
    score: FloatArray
    llr: FloatArray
    lower: FloatArray
    upper: FloatArray


@takes_labels
def llr_band(
    source: ScoreSource,
    method: str | Callable[[ScoreSource], Map] = "logistic",
    *,
    speakers: str | Sequence[str],
    recordings: str | Sequence[str] | None = None,
    at: npt.ArrayLike | None = None,
    level: float = 0.95,
    replicates: int = 200,
    seed: int = 0,
    **options: Any,
) -> LlrBand:
    """Band around the score-to-LLR curve of any calibrator, by resampling speakers and fitting again.

    Parameters
    ----------
    method
        Name of a calibrator, fitted with ``options``, or a function that makes a map of a source.
    speakers, recordings
        The columns with the speakers (and recordings) of the two sides, as in :func:`evaluate`.
    at
        Scores at which the curve is wanted; by default 101 even ones between the extremes.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> left, right = rng.integers(0, 30, 4000), rng.integers(0, 30, 4000)
    >>> trials = lk.Trials({"score": np.where(left == right, 2, -2) + 2 * rng.normal(size=4000),
    ...                     "label": left == right, "left": left, "right": right})
    >>> band = lk.llr_band(trials, "cmlg", speakers=("left", "right"), at=[2.0], replicates=50)
    >>> bool(band.lower[0] < band.llr[0] < band.upper[0])
    True
    """
    source = as_source(source)
    probability(level, "level")
    if isinstance(replicates, bool) or not isinstance(replicates, int) or replicates < _FEWEST:
        raise InputError(f"replicates must be a whole number of at least {_FEWEST}, got {replicates!r}")
    fit = (lambda trials: fit_named(method, trials, **options)) if isinstance(method, str) else method
    if at is None:
        low, high = source.reduce(Moments.of).extremes
        at = np.linspace(low, high, 101)
    scores = np.atleast_1d(np.asarray(at, dtype=np.float64))
    resampling = speaker_resampling(source, speakers, recordings, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LlrkitWarning)
        llr = np.asarray(fit(source)(scores))
        curves = []
        for i in tracked(range(replicates), "fitting again", replicates, "fits"):
            try:
                curves.append(np.asarray(fit(resampled(source, resampling, i))(scores)))
            except InputError:  # a class was not drawn, or the classes do not overlap
                continue
    if len(curves) < replicates // 2:
        raise TooFewTrialsError("most replicates cannot be fitted: too few speakers, or too little overlap")
    ordered = np.sort(curves, axis=0)
    share = tail_probabilities(resampling.speakers.n, level)
    ends = int(share[0] * len(ordered)), min(math.ceil(share[1] * len(ordered)), len(ordered)) - 1
    name = method if isinstance(method, str) else getattr(method, "__name__", "a function")
    return LlrBand(name, level, scores, llr, ordered[ends[0]], ordered[ends[1]])
