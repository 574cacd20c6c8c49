"""Is the LLR of the LLR the LLR? The straight-line answer: a factor, an offset, and a test of both."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc, fdtrc, ndtr, stdtr

from llrkit._arrays import FloatArray
from llrkit.calibrate.affine.logistic import fit_logistic
from llrkit.core.newton_sums import NewtonSums
from llrkit.core.special import logit, sigmoid
from llrkit.scores import ScoreSource
from llrkit.trust.calibration.null_distribution import CalibratedCells
from llrkit.trust.intervals.centered_sums import EstimatedSums, estimate_sums
from llrkit.trust.intervals.speakers import Speakers


class LineErrors:
    """Standard errors of the slope and the offset of a line, from their covariance."""

    covariance: tuple[tuple[float, float], tuple[float, float]]

    @property
    def se_a(self) -> float:
        """Standard error of the slope."""
        return math.sqrt(self.covariance[0][0])

    @property
    def se_b(self) -> float:
        """Standard error of the offset."""
        return math.sqrt(self.covariance[1][1])


@dataclass(frozen=True)
class Recalibration(LineErrors):
    """The line ``a x + b`` that logistic regression makes of LLRs x, and how far it is from x itself.

    If the given LLR is ``factor`` times the right one plus ``bias``, then ``a = 1 / factor`` and
    ``b = -bias / factor``.
    """

    a: float
    b: float
    covariance: tuple[tuple[float, float], tuple[float, float]]
    statistic: float
    """Of the test of a = 1 and b = 0 together; chi-square with 2 degrees of freedom if calibrated."""
    p_value: float
    df: float
    """Degrees of freedom of the standard errors: speakers - 1, or infinite."""

    @property
    def factor(self) -> float:
        """By how much the LLRs are too large; below 1 they are too small."""
        return 1.0 / self.a

    @property
    def bias(self) -> float:
        """By how much the LLRs are too high, in nats; below 0 they are too low."""
        return -self.b / self.a

    @property
    def se_bias(self) -> float:
        """Standard error of the bias, by the delta method."""
        slope = np.array([self.b / self.a**2, -1.0 / self.a])
        return math.sqrt(float(slope @ np.array(self.covariance) @ slope))

    @property
    def p_factor(self) -> float:
        """Two-sided test that the factor is 1 (of its logarithm)."""
        return self._p(math.log(self.a) / (self.se_a / self.a)) if self.a > 0.0 else 0.0

    @property
    def p_bias(self) -> float:
        """Two-sided test that the bias is 0."""
        return self._p(self.bias / self.se_bias)

    def _p(self, z: float) -> float:
        return 2.0 * float(ndtr(-abs(z)) if math.isinf(self.df) else stdtr(self.df, -abs(z)))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        names = ("a", "b", "se_a", "se_b", "factor", "bias", "se_bias", "statistic", "p_value")
        return {name: getattr(self, name) for name in (*names, "p_factor", "p_bias")}


@dataclass(frozen=True)
class IdentityTest:
    """A score test of a = 1 and b = 0, which needs no fitted line."""

    statistic: float
    p_value: float
    df: float
    gradient: tuple[float, float]
    """Of the cross-entropy by slope and offset, in standard errors: negative where more of it would help."""


def identity_test(
    source: ScoreSource, cells: CalibratedCells, speakers: Speakers | None = None
) -> IdentityTest:
    """Is the gradient of the cross-entropy at a = 1, b = 0 what chance makes of zero?

    Its variance is that of LLRs of the same distribution which are calibrated (``cells``), so that the
    test keeps its level also with few errors; what shared speakers add to the variance is added.
    """
    at_identity = estimate_sums(source, LineGradients(1.0, 0.0), speakers)
    null = null_covariance(cells, *_sizes(source))
    if speakers is not None:
        together = null + at_identity.matrix - at_identity.covariance.independent
        positive = np.linalg.eigvalsh(together)[0] > 0.1 * np.linalg.eigvalsh(null)[0]
        null = together if positive else positive_covariance(at_identity)
    gradient = at_identity.values
    statistic = _distance(gradient, null)
    df = speakers.n - 1.0 if speakers is not None else math.inf
    if math.isinf(df) or df < 2.0:
        p_value = float(chdtrc(2.0, statistic))
    else:  # Hotelling's correction for an estimated covariance matrix
        p_value = float(fdtrc(2.0, df - 1.0, statistic * (df - 1.0) / (2.0 * df)))
    z = gradient / np.maximum(np.sqrt(np.diag(null)), 1e-300)
    return IdentityTest(statistic, p_value, df, (float(z[0]), float(z[1])))


def recalibrate(source: ScoreSource, test: IdentityTest, speakers: Speakers | None = None) -> Recalibration:
    """Fit the line, with its covariance; ``test`` says whether it differs from the identity."""
    fitted = fit_logistic(source)
    terms = estimate_sums(source, LineGradients(fitted.a, fitted.b), speakers)
    inverse = np.linalg.inv(line_hessian(source, fitted.a, fitted.b))
    spread = inverse @ positive_covariance(terms) @ inverse
    rows = ((float(spread[0, 0]), float(spread[0, 1])), (float(spread[1, 0]), float(spread[1, 1])))
    return Recalibration(fitted.a, fitted.b, rows, test.statistic, test.p_value, test.df)


def _distance(gradient: FloatArray, covariance: FloatArray) -> float:
    """``gradient' covariance^-1 gradient``; infinite where LLRs so strong would make no error at all."""
    errors = np.sqrt(np.diag(covariance))
    if not (errors > 0.0).all():
        return math.inf if gradient.any() else 0.0
    scaled = gradient / errors
    return float(scaled @ np.linalg.pinv(covariance / np.outer(errors, errors), hermitian=True) @ scaled)


def _sizes(source: ScoreSource) -> tuple[float, float]:
    sums = source.reduce(NewtonSums.at([0.0, 0.0]))
    return float(sums.target.n), float(sums.nontarget.n)


def line_hessian(source: ScoreSource, a: float, b: float, prior: float = 0.5) -> FloatArray:
    """Second derivatives of the prior-weighted cross-entropy by slope and offset; one pass."""
    sums = source.reduce(NewtonSums.at([a, b], float(logit(prior))))
    target, nontarget = sums.target, sums.nontarget
    return np.asarray(prior * target.hessian / target.n + (1.0 - prior) * nontarget.hessian / nontarget.n)


def positive_covariance(terms: EstimatedSums) -> FloatArray:
    """The covariance matrix, without taking the pairs of speakers out where that leaves nothing."""
    single = terms.covariance.independent
    if np.linalg.eigvalsh(terms.matrix)[0] > 0.01 * np.linalg.eigvalsh(single)[0]:
        return terms.matrix
    without = terms.covariance.without_pairs
    return single if without is None else without


def null_covariance(cells: CalibratedCells, n_target: float, n_nontarget: float) -> FloatArray:
    """Covariance of the gradient at a = 1, b = 0 of so many calibrated trials."""
    total = np.zeros((2, 2))
    for sign, mass, n in ((-1.0, cells.target, n_target), (1.0, cells.nontarget, n_nontarget)):
        residual = 0.5 * sign * np.asarray(sigmoid(sign * cells.llr))
        terms = np.array([residual * cells.llr, residual])
        terms -= (terms * mass).sum(axis=1, keepdims=True)
        total += np.einsum("ik,jk,k->ij", terms, terms, mass) / n
    return total


@dataclass(frozen=True)
class LineGradients:
    """Gradient of the prior-weighted cross-entropy of ``a x + b`` by slope and offset, trial by trial."""

    a: float
    b: float
    prior: float = 0.5
    size: int = 2

    def columns(self, class_index: int) -> tuple[int, ...]:
        """Both."""
        return (0, 1)

    def of(self, values: npt.NDArray[Any], class_index: int) -> list[FloatArray]:
        """What each score adds."""
        x = values.astype(np.float64, copy=False)
        sign, weight = (-1.0, self.prior) if class_index == 0 else (1.0, 1.0 - self.prior)
        residual = (
            weight * sign * np.asarray(sigmoid(sign * (self.a * x + self.b + float(logit(self.prior)))))
        )
        return [residual * x, residual]
