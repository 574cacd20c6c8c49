"""Is the LLR of the LLR the LLR? The straight-line answer: a factor, an offset, and a test of both."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import Array, FloatArray
from llrkit._plain import Json
from llrkit.core.elementary_functions import LN2, logit, sigmoid, softplus
from llrkit.core.newton_sums import NewtonSums
from llrkit.scores import ScoreSource
from llrkit.trust.intervals.centered_sums import EstimatedSums


class LineErrors:
    """Standard errors of the slope and the offset of a line, from their covariance."""

    covariance: tuple[tuple[float, float], tuple[float, float]]

    @property
    def se_a(self) -> float:
        """Standard error of the slope."""
        return math.sqrt(max(self.covariance[0][0], 0.0))

    @property
    def se_b(self) -> float:
        """Standard error of the offset."""
        return math.sqrt(max(self.covariance[1][1], 0.0))


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
    """Of the test of a = 1 and b = 0 together; about chi-square with 2 degrees of freedom if calibrated."""
    p_value: float
    df: float
    """Degrees of freedom: those of the speakers, or twice the effective trials."""

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
        """Standard error of the bias, by the delta method.

        Far from zero, slope and offset of the line are nearly proportional and large terms cancel; what is
        left is then no smaller than their rounding errors.
        """
        slope = np.array([self.b / self.a**2, -1.0 / self.a])
        terms = np.outer(slope, slope) * np.array(self.covariance)
        return math.sqrt(max(float(terms.sum()), np.finfo(float).eps * float(np.abs(terms).sum())))

    @property
    def p_factor(self) -> float:
        """Two-sided test that the factor is 1 (of its logarithm)."""
        return self._p(math.log(self.a), self.se_a / self.a) if self.a > 0.0 else 0.0

    @property
    def p_bias(self) -> float:
        """Two-sided test that the bias is 0."""
        return self._p(self.bias, self.se_bias)

    def _p(self, value: float, error: float) -> float:
        from scipy.special import ndtr, stdtr

        if error == 0.0:
            return 1.0 if value == 0.0 else 0.0
        z = value / error
        return 2.0 * float(ndtr(-abs(z)) if math.isinf(self.df) else stdtr(self.df, -abs(z)))

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers."""
        names = ("a", "b", "se_a", "se_b", "factor", "bias", "se_bias", "statistic", "p_value")
        return {name: getattr(self, name) for name in (*names, "p_factor", "p_bias")}


def as_rows(matrix: FloatArray) -> tuple[tuple[float, float], tuple[float, float]]:
    """A covariance matrix of slope and offset as plain numbers."""
    return (float(matrix[0, 0]), float(matrix[0, 1])), (float(matrix[1, 0]), float(matrix[1, 1]))


def inverse_of_hessian(hessian: FloatArray) -> FloatArray:
    """The inverse; of LLRs so far from zero that slope and offset cannot be told apart, a pseudo-inverse."""
    try:
        return np.asarray(np.linalg.inv(hessian), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(hessian, hermitian=True), dtype=np.float64)


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

    def of(self, values: Array, class_index: int) -> list[FloatArray]:
        """What each score adds."""
        x = values.astype(np.float64, copy=False)
        sign, weight = (-1.0, self.prior) if class_index == 0 else (1.0, 1.0 - self.prior)
        residual = (
            weight * sign * np.asarray(sigmoid(sign * (self.a * x + self.b + float(logit(self.prior)))))
        )
        return [residual * x, residual]


SAFEGUARD = 0.01
"""``regularization`` of :func:`llrkit.fit_logistic`, which keeps the slope finite without overlap."""
FOLDS = 5
_MOST_CELLS = 256


def cross_validated_loss(
    llr: FloatArray,
    target: FloatArray,
    nontarget: FloatArray,
    rng: np.random.Generator,
    *,
    folds: int = FOLDS,
    start: tuple[float, float] = (1.0, 0.0),
) -> float:
    """What straight lines, each fitted to the other of several random parts, gain in Cllr, in bits."""
    every = -(-len(llr) // _MOST_CELLS)  # a line needs no finer cells
    if every > 1:
        first = np.arange(0, len(llr), every)
        llr = np.add.reduceat(llr, first) / np.diff(np.append(first, len(llr)))
        target, nontarget = np.add.reduceat(target, first), np.add.reduceat(nontarget, first)
    parts = [
        rng.multinomial(np.round(counts).astype(np.int64), [1.0 / folds] * folds).T
        for counts in (target, nontarget)
    ]
    n, gain = (parts[0].sum(), parts[1].sum()), 0.0
    saved = softplus(-llr), softplus(llr)
    start = fit_line(llr, parts[0].sum(axis=0) / n[0], parts[1].sum(axis=0) / n[1], float(n[0]), start)
    for held in zip(*parts, strict=True):
        t, d = (one.sum(axis=0) - own for one, own in zip(parts, held, strict=True))
        if not (t.any() and d.any()):
            return math.nan
        a, b = fit_line(llr, t / t.sum(), d / d.sum(), float(t.sum()), start)
        mapped = a * llr + b
        for own, before, after, size in zip(
            held, saved, (softplus(-mapped), softplus(mapped)), n, strict=True
        ):
            gain += float((own * (before - after)).sum() / size)
    return gain / (2.0 * LN2)


def fit_line(
    x: FloatArray,
    target: FloatArray,
    nontarget: FloatArray,
    df: float,
    start: tuple[float, float] = (1.0, 0.0),
) -> tuple[float, float]:
    """Logistic regression at prior 1/2 of weighted LLRs (weights of a class add up to 1).

    Careful Newton steps from ``start``; ``SAFEGUARD / df`` is the weight of copies of the trials with
    either label.

    Examples
    --------
    >>> x = np.array([-2.0, 2.0])
    >>> a, b = fit_line(x, np.array([0.25, 0.75]), np.array([0.75, 0.25]), 1e9)
    >>> round(2.0 * a, 6) == round(float(np.log(3.0)), 6), round(b, 6)
    (True, 0.0)
    """
    a, b = start
    pull = 0.5 * SAFEGUARD / df
    filled = np.flatnonzero(target + nontarget)
    if len(filled) < len(x):
        x, target, nontarget = x[filled], target[filled], nontarget[filled]
    both = pull * (target + nontarget)
    t, n = target + both, nontarget + both
    for _ in range(40):
        p = np.asarray(sigmoid(a * x + b))
        residual, weight = n * p - t * (1.0 - p), (t + n) * p * (1.0 - p)
        slope, offset = float((residual * x).sum()), float(residual.sum())
        weighted = weight * x
        aa, ab, bb = float((weighted * x).sum()) + 1e-9, float(weighted.sum()), float(weight.sum()) + 1e-9
        # Newton's step by hand: LAPACK takes longer to be called than two equations to be solved
        scale = aa * bb - ab * ab
        steps = (bb * slope - ab * offset) / scale, (aa * offset - ab * slope) / scale
        largest = max(abs(steps[0]), abs(steps[1]))
        short = min(1.0, 1.0 / max(largest, 1e-12))
        a, b = a - short * steps[0], b - short * steps[1]
        if largest < 1e-8:
            break
    return a, b
