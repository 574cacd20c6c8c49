"""How well a calibration is known: errors of slope and offset, of a single LLR, and bands of any map."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
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
from llrkit.core.special import logit, probability, sigmoid
from llrkit.errors import InputError, LlrkitWarning, TooFewTrialsError, UnknownNameError
from llrkit.metrics.curve import Curve
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived import DerivedSource
from llrkit.scores.labeled import takes_labels
from llrkit.scores.source import as_source
from llrkit.trust.calibration.recalibration import (
    LineErrors,
    LineGradients,
    inverse_of_hessian,
    line_hessian,
    positive_covariance,
)
from llrkit.trust.intervals.centered_sums import estimate_sums
from llrkit.trust.intervals.interval import quantile
from llrkit.trust.intervals.jackknife import Jackknife
from llrkit.trust.intervals.resample import FEWEST_SPEAKERS
from llrkit.trust.intervals.speaker_cells import CellSet, speaker_cells
from llrkit.trust.intervals.speakers import GROUPS, Speakers, find_speakers

METHODS = ("logistic", "cmlg")


@dataclass(frozen=True)
class MapUncertainty(LineErrors):
    """An affine calibration ``llr = a score + b`` and the covariance of a and b."""

    a: float
    b: float
    covariance: tuple[tuple[float, float], tuple[float, float]]
    df: float
    """Effective degrees of freedom, at most speakers - 1; infinite for independent trials."""
    by_speaker: Jackknife | None = field(default=None, repr=False, compare=False)
    """Slope and offset without each speaker; None for independent trials."""

    def interval(self, score: float, level: float = 0.95) -> tuple[float, float, float]:
        """LLR of a score, and the ends of its interval: what the training trials leave open."""
        (aa, ab), (_, bb) = self.covariance
        error = math.sqrt(max(score * score * aa + 2.0 * score * ab + bb, 0.0))
        llr = self.a * score + self.b
        if self.by_speaker is None:
            reach = quantile(level, self.df) * error
            return llr, llr - reach, llr + reach
        without = self.by_speaker.without @ np.array([[score], [1.0]])
        single = Jackknife(("llr",), np.array([llr]), without)
        whole = float(single.standard_error[0])
        share = min((error / whole) ** 2, 1.0) if whole > 0.0 else 1.0
        low, high = replace(single, counted_once=share).interval(level, center=single.values)
        return llr, float(low[0]), float(high[0])


@takes_labels
def map_uncertainty(
    source: ScoreSource,
    method: str = "logistic",
    *,
    speakers: str | Sequence[str] | None = None,
    **options: Any,
) -> MapUncertainty:
    """Standard errors of an affine calibration, and with them of every LLR it gives.

    For independent trials the sandwich covariance ``H^-1 V H^-1`` of logistic regression, the delta method
    for CMLG. When speakers are given the map is fitted again without each of them (a Newton step from the fit
    to all trials; CMLG exactly), and trials between two speakers are not counted twice.

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
    groups = find_speakers(source, speakers).grouped() if speakers else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LlrkitWarning)
        fitted = fit_logistic(source, **options) if method == "logistic" else fit_cmlg(source, **options)
    prior, alpha = float(options.get("prior", 0.5)), float(options.get("alpha", 0.5))
    if method == "logistic":
        terms = estimate_sums(source, LineGradients(fitted.a, fitted.b, prior), groups)
        inverse = inverse_of_hessian(line_hessian(source, fitted.a, fitted.b, prior))
    else:
        terms = estimate_sums(source, _MomentTerms.from_source(source, alpha), groups)
        inverse = np.eye(2)
    if groups is None:
        spread = inverse @ positive_covariance(terms) @ inverse
        return MapUncertainty(fitted.a, fitted.b, _rows(spread), math.inf)
    line = (fitted.a, fitted.b)
    refitted = (
        _logistic_without(source, groups, line, prior)
        if method == "logistic"
        else _cmlg_without(source, groups, line, alpha)
    )
    shares = np.array([terms.covariance.share_without_pairs(row) for row in inverse])
    refitted = replace(refitted, counted_once=np.minimum(1.0, shares * (1.0 + 2.0 / groups.n)))
    df = float(refitted.df.min())
    return MapUncertainty(fitted.a, fitted.b, _rows(refitted.covariance), df, refitted)


def _rows(matrix: FloatArray) -> tuple[tuple[float, float], tuple[float, float]]:
    (aa, ab), (ba, bb) = matrix.tolist()
    return (aa, ab), (ba, bb)


def _logistic_without(
    source: ScoreSource, groups: Speakers, line: tuple[float, float], prior: float
) -> Jackknife:
    """Slope and offset without each speaker: one Newton step from the fit to all trials."""
    cells = speaker_cells(source, groups, contributions=_NewtonTerms(*line, prior))
    at_all = cells.total.means.sum(axis=0)[:2]  # not zero where the fit is regularized

    def step(kept: CellSet) -> FloatArray:
        terms = kept.means.sum(axis=0)
        hessian = np.array([[terms[2], terms[3]], [terms[3], terms[4]]])
        return np.asarray(np.array(line) - np.linalg.solve(hessian, terms[:2] - at_all))

    return Jackknife.of(cells, step, ("a", "b"))


def _cmlg_without(
    source: ScoreSource, groups: Speakers, line: tuple[float, float], alpha: float
) -> Jackknife:
    """Slope and offset without each speaker, from means and variances."""
    centers = _MomentTerms.from_source(source, alpha).mean
    cells = speaker_cells(source, groups, contributions=_Powers(centers))

    def fit(kept: CellSet) -> tuple[float, float]:
        first, second = kept.means[:, 0], kept.means[:, 1]
        mean, variance = first + np.array(centers), second - first**2
        a = (mean[0] - mean[1]) / (alpha * variance[0] + (1.0 - alpha) * variance[1])
        return a, -a * (mean[0] + mean[1]) / 2.0

    found = Jackknife.of(cells, fit, ("a", "b"))
    # variances may be divided by n - 1 in the fit to all trials
    return Jackknife(found.names, np.array(line), found.without + np.array(line) - found.values)


@dataclass(frozen=True)
class _NewtonTerms(LineGradients):
    """Gradient and second derivatives of the cross-entropy of a line, trial by trial."""

    size: int = 5

    def columns(self, class_index: int) -> tuple[int, ...]:
        return (0, 1, 2, 3, 4)

    def of(self, values: npt.NDArray[Any], class_index: int) -> list[FloatArray]:
        x = values.astype(np.float64, copy=False)
        weight = self.prior if class_index == 0 else 1.0 - self.prior
        p = np.asarray(sigmoid(self.a * x + self.b + float(logit(self.prior))))
        curvature = weight * p * (1.0 - p)
        return [*super().of(values, class_index), curvature * x * x, curvature * x, curvature]


@dataclass(frozen=True)
class _Powers:
    """Score and its square, less the mean of the class."""

    centers: tuple[float, float]
    size: int = 2

    def columns(self, class_index: int) -> tuple[int, ...]:
        return (0, 1)

    def of(self, values: npt.NDArray[Any], class_index: int) -> list[FloatArray]:
        x = values.astype(np.float64, copy=False) - self.centers[class_index]
        return [x, x * x]


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
    """The LLR a calibrator gives to scores, and between which values leaving speakers out says it lies."""

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
    at: npt.ArrayLike | None = None,
    level: float = 0.95,
    **options: Any,
) -> LlrBand:
    """Band around the score-to-LLR curve of any calibrator, fitted again without each speaker.

    More than 100 speakers are left out in 100 groups. The band lies around the curve; ``nan`` where an LLR is
    infinite.

    Parameters
    ----------
    method
        Name of a calibrator, fitted with ``options``, or a function that makes a map of a source.
    speakers
        The column, or the two columns, with the speakers of the two sides, as in :func:`evaluate`.
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
    >>> band = lk.llr_band(trials, "cmlg", speakers=("left", "right"), at=[2.0])
    >>> bool(band.lower[0] < band.llr[0] < band.upper[0])
    True
    """
    source = as_source(source)
    probability(level, "level")
    fit = (lambda trials: fit_named(method, trials, **options)) if isinstance(method, str) else method
    if at is None:
        low, high = source.reduce(Moments.of).extremes
        at = np.linspace(low, high, 101)
    scores = np.atleast_1d(np.asarray(at, dtype=np.float64))
    groups = find_speakers(source, speakers).grouped(most=GROUPS)
    if groups.n < FEWEST_SPEAKERS:
        raise TooFewTrialsError(
            f"there are only {groups.n} speakers in {' and '.join(groups.columns)}; "
            f"a band needs at least {FEWEST_SPEAKERS}"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LlrkitWarning)
        llr = np.asarray(fit(source)(scores))
        without = []
        for group in tracked(range(groups.n), "fitting again", groups.n, "fits"):
            try:
                without.append(np.asarray(fit(_trials_without(source, groups, group))(scores)))
            except InputError as error:  # a class is gone, or the classes do not overlap
                raise TooFewTrialsError(
                    f"without one of the speakers no map can be fitted: {error}"
                ) from None
    curve = Jackknife(tuple(map(str, range(len(scores)))), llr, np.array(without))
    lower, upper = curve.interval(level, center=llr)
    name = method if isinstance(method, str) else getattr(method, "__name__", "a function")
    return LlrBand(name, level, scores, llr, lower, upper)


def _trials_without(source: ScoreSource, groups: Speakers, group: int) -> DerivedSource:
    """The trials that do not involve one speaker, or a group of them."""

    def kept(chunk: Scores) -> Scores:
        sides = (groups.of(chunk, i) for i in (0, 1))
        return chunk.select(*((first != group) & (second != group) for first, second in sides))

    return DerivedSource(source, kept, groups.columns)
