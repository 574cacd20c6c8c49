"""How well a calibration is known: errors of slope and offset, and of a single LLR."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from llrkit._arrays import Array, FloatArray
from llrkit._format import not_among
from llrkit._plain import as_number
from llrkit._results import Result
from llrkit.calibrate.affine.cmlg import fit_cmlg
from llrkit.calibrate.affine.logistic_and_rules import fit_logistic
from llrkit.calibrate.maps import AffineMap, Map
from llrkit.core.elementary_functions import logit, sigmoid
from llrkit.core.moments import Moments
from llrkit.errors import InputError, LlrkitWarning, UnknownNameError
from llrkit.scores import ScoreSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.trust.calibration.recalibration_line import (
    LineErrors,
    LineGradients,
    as_rows,
    inverse_of_hessian,
    line_hessian,
    positive_covariance,
)
from llrkit.trust.intervals.centered_sums import estimate_sums
from llrkit.trust.intervals.interval_formulas import quantile
from llrkit.trust.intervals.jackknife import Jackknife
from llrkit.trust.intervals.speaker_cells import CellSet, speaker_cells
from llrkit.trust.intervals.speakers import Speakers, find_speakers

METHODS: Mapping[str, Callable[..., Map]] = MappingProxyType({"logistic": fit_logistic, "cmlg": fit_cmlg})


@dataclass(frozen=True)
class MapUncertainty(LineErrors, Result):
    """An affine calibration ``llr = a score + b`` and the covariance of a and b."""

    a: float
    """Slope of the calibration."""
    b: float
    """Offset of the calibration."""
    covariance: tuple[tuple[float, float], tuple[float, float]]
    """Covariance matrix of slope and offset."""
    df: float
    """Effective degrees of freedom, at most speakers - 1; infinite for independent trials."""
    by_speaker: Jackknife | None = field(default=None, repr=False, compare=False)
    """Slope and offset without each speaker; None for independent trials."""

    def interval(self, score: float, level: float = 0.95) -> tuple[float, float, float]:
        """LLR of a score, and the ends of its interval: what the training trials leave open.

        Parameters
        ----------
        score
            The score, as the map was trained on.
        level
            Confidence level, between 0 and 1.
        """
        (aa, ab), (_, bb) = self.covariance
        error = math.sqrt(max(score * score * aa + 2.0 * score * ab + bb, 0.0))
        llr = self.a * score + self.b
        if self.by_speaker is None:
            reach = quantile(level, self.df) * error
            return llr, llr - reach, llr + reach
        without = self.by_speaker.without @ np.array([[score], [1.0]])
        single = Jackknife(("llr",), np.array([llr]), without, blocks=self.by_speaker.blocks)
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
    **options: object,
) -> MapUncertainty:
    """Standard errors of an affine calibration, and with them of every LLR it gives.

    For independent trials the sandwich covariance ``H^-1 V H^-1`` of logistic regression, the delta method
    for CMLG. When speakers are given the map is fitted again without each of them (a Newton step from the fit
    to all trials; CMLG exactly), and trials between two speakers are not counted twice.

    Parameters
    ----------
    method
        ``"logistic"`` or ``"cmlg"``, fitted here with ``options``: ``prior``, or ``alpha``.
    speakers
        The column, or the two columns, with the speakers of a trial.
    **options
        Keywords of the calibrator.

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
        raise UnknownNameError(f"unknown method {not_among(method, METHODS)}")
    groups = find_speakers(source, speakers).grouped() if speakers else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LlrkitWarning)
        fitted = METHODS[method](source, **options)
    if not isinstance(fitted, AffineMap):
        raise InputError(f"standard errors exist for straight lines only: leave out {', '.join(options)}")
    prior, alpha = as_number(options.get("prior", 0.5)), as_number(fitted.options.get("alpha", 0.5))
    if method == "logistic":
        terms = estimate_sums(source, LineGradients(fitted.a, fitted.b, prior), groups)
        inverse = inverse_of_hessian(line_hessian(source, fitted.a, fitted.b, prior))
    else:
        terms = estimate_sums(source, _MomentTerms.from_source(source, alpha), groups)
        inverse = np.eye(2)
    if groups is None:
        spread = inverse @ positive_covariance(terms) @ inverse
        return MapUncertainty(fitted.a, fitted.b, as_rows(spread), math.inf)
    line = (fitted.a, fitted.b)
    refitted = (
        _logistic_without(source, groups, line, prior)
        if method == "logistic"
        else _cmlg_without(source, groups, line, alpha)
    )
    shares = np.array([terms.covariance.share_without_pairs(row) for row in inverse])
    refitted = replace(refitted, counted_once=np.minimum(1.0, shares * (1.0 + 2.0 / groups.n)))
    df = float(refitted.df.min())
    return MapUncertainty(fitted.a, fitted.b, as_rows(refitted.covariance), df, refitted)


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
    cells = speaker_cells(source, groups, contributions=_ScorePowers(centers))

    def fit(kept: CellSet) -> tuple[float, float]:
        first, second = kept.means[:, 0], kept.means[:, 1]
        mean, variance = first + np.array(centers), second - first**2
        a = (mean[0] - mean[1]) / (alpha * variance[0] + (1.0 - alpha) * variance[1])
        return a, -a * (mean[0] + mean[1]) / 2.0

    found = Jackknife.of(cells, fit, ("a", "b"))
    # variances may be divided by n - 1 in the fit to all trials
    return replace(found, values=np.array(line), without=found.without + np.array(line) - found.values)


@dataclass(frozen=True)
class _NewtonTerms(LineGradients):
    """Gradient and second derivatives of the cross-entropy of a line, trial by trial."""

    size: int = 5

    def columns(self, class_index: int) -> tuple[int, ...]:
        return (0, 1, 2, 3, 4)

    def of(self, values: Array, class_index: int) -> list[FloatArray]:
        x = values.astype(np.float64, copy=False)
        weight = self.prior if class_index == 0 else 1.0 - self.prior
        p = np.asarray(sigmoid(self.a * x + self.b + float(logit(self.prior))))
        curvature = weight * p * (1.0 - p)
        return [*super().of(values, class_index), curvature * x * x, curvature * x, curvature]


@dataclass(frozen=True)
class _ScorePowers:
    """Score and its square, less the mean of the class."""

    centers: tuple[float, float]
    size: int = 2

    def columns(self, class_index: int) -> tuple[int, ...]:
        return (0, 1)

    def of(self, values: Array, class_index: int) -> list[FloatArray]:
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

    def of(self, values: Array, class_index: int) -> list[FloatArray]:
        m_e, m_d = self.mean
        v = self.alpha * self.variance[0] + (1.0 - self.alpha) * self.variance[1]
        a = (m_e - m_d) / v
        sign, weight = (1.0, self.alpha) if class_index == 0 else (-1.0, 1.0 - self.alpha)
        centered = values.astype(np.float64, copy=False) - self.mean[class_index]
        slope = sign * centered / v - a / v * weight * (centered**2 - self.variance[class_index])
        return [slope, -slope * (m_e + m_d) / 2.0 - a * centered / 2.0]
