"""Are scale and offset of LLRs right? A score test of the identity, with the variance calibration implies.

The map ``a x + b`` of LLRs x has, at prior 1/2, the cross-entropy

    C(a, b) = 1/2 mean_tar log(1 + e^-(a x + b)) + 1/2 mean_non log(1 + e^(a x + b)).

If the LLRs are calibrated, its gradient at a = 1, b = 0 has expectation 0, because the densities of the
classes obey f_tar(x) = e^x f_non(x). The same equation gives its variance from all trials: a trial of
either class with LLR x stands for e^x / (n_tar e^x + n_non) of the distribution of targets and for
1 / (n_tar e^x + n_non) of that of non-targets. With these weights and g = (x, 1), s = sigmoid, the second
moments of both classes add up to

    sum over all trials of s(x) s(-x) g g' / (4 n_tar n_non)

and both classes have the mean m = sum of e^x s(-x) g / (n_tar e^x + n_non), of which
m m' (1/n_tar + 1/n_non) / 4 is subtracted. The variance within each class would be far too small where hardly
any trial went wrong.

How many trials say something is ``n_effective``: a trial with LLR 0 counts as one, a certain one as nothing
(4 s(x) s(-x)), all times 4 n_tar n_non / (n_tar + n_non)^2 because the smaller class limits. The statistic
is compared with Hotelling's distribution with twice as many degrees of freedom; below 4 there is no test.
Both numbers were found by simulation (benchmarks/verdicts.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.elementary_functions import sigmoid
from llrkit.metrics.llr_cells import LlrCells

FEWEST = 4.0
"""Effective trials below which the distribution of the statistic is not known well enough."""


@dataclass(frozen=True)
class IdentityTest:
    """A score test of a = 1 and b = 0, which needs no fitted line."""

    statistic: float
    p_value: float
    df: float
    gradient: tuple[float, float]
    """Of the cross-entropy by slope and offset, in standard errors: negative where more of it would help."""
    n_effective: float = math.inf
    """Trials in doubt: as many with LLR 0 would say as much."""


@dataclass(frozen=True, eq=False)
class NullMoments:
    """Gradient at the identity, and what calibration implies for it."""

    gradient: FloatArray
    covariance: FloatArray
    curvature: FloatArray
    """Expected second derivatives of the cross-entropy."""
    n_effective: float


def null_moments(cells: LlrCells) -> NullMoments:
    """Sums over the cells of both classes.

    Examples
    --------
    >>> moments = null_moments(LlrCells.of(np.array([0.0, 0.0]), np.array([0.0, 0.0])))
    >>> moments.n_effective
    4.0
    """
    x, n_t, n_n = cells.llr, cells.n_target, cells.n_nontarget
    p = np.asarray(sigmoid(x))
    q = np.asarray(sigmoid(-x))
    ones = np.ones_like(x)
    g = np.stack([x, ones])
    gradient = 0.5 * (g @ (cells.nontarget * p / n_n) - g @ (cells.target * q / n_t))
    doubt = cells.trials * p * q
    share = np.asarray(sigmoid(x + math.log(n_t / n_n)))  # of targets among the trials of a cell
    covariance = np.zeros((2, 2))
    for weight, residual, n in ((share / n_t, q, n_t), ((1.0 - share) / n_n, p, n_n)):
        weight = cells.trials * weight
        terms = g * residual
        # about the mean, instead of subtracting its square: digits would be lost where all LLRs are near 0
        terms = terms - ((terms @ weight) / weight.sum())[:, None] if weight.any() else terms
        covariance += 0.25 * _products_of_gradients(terms, weight) / n
    # (e^x + 1) / (n_t e^x + n_n), both classes' share of the expected curvature
    curvature = 0.5 * _products_of_gradients(g, doubt * (share / n_t + (1.0 - share) / n_n))
    balance = 4.0 * n_t * n_n / (n_t + n_n) ** 2
    return NullMoments(gradient, covariance, curvature, 4.0 * float(doubt.sum()) * balance)


def identity_test(moments: NullMoments, df: float = math.inf) -> IdentityTest:
    """Test the gradient; ``df`` are the degrees of freedom of a covariance that was estimated from speakers.

    Examples
    --------
    >>> import llrkit as lk
    >>> llrs = lk.theory.GaussianLLR.from_eer(0.05).rvs(1000, 1000, np.random.default_rng(1))
    >>> round(identity_test(null_moments(LlrCells.of(*llrs))).p_value, 2)
    0.39
    >>> identity_test(null_moments(LlrCells.of(*llrs).mapped(1.3, 0.0))).p_value < 0.001
    True
    """
    statistic = distance(moments.gradient, moments.covariance)
    df = max(min(df, 2.0 * moments.n_effective), 2.0)
    z = moments.gradient / np.maximum(np.sqrt(np.maximum(np.diag(moments.covariance), 0.0)), 1e-200)
    slope, offset = float(z[0]), float(z[1])
    return IdentityTest(statistic, hotelling_p_value(statistic, df), df, (slope, offset), moments.n_effective)


def misleading_p_value(
    highest_nontarget: float, lowest_target: float, n_target: int, n_nontarget: int
) -> float:
    """Bound on the chance of so misleading an LLR: at most e^-t of non-targets reach t if calibrated.

    Examples
    --------
    >>> round(misleading_p_value(10.0, -1.0, 30, 300), 4)
    0.0272
    """
    # weights below one may round a class to no trial at all
    wrong = max(
        highest_nontarget - math.log(max(n_nontarget, 1)), -lowest_target - math.log(max(n_target, 1))
    )
    return min(1.0, 2.0 * math.exp(-max(wrong, 0.0)))


def detectable(
    moments: NullMoments, test: IdentityTest, level: float, power: float = 0.8
) -> tuple[float, float]:
    """The smallest factor (above 1) and offset in nats that the test finds with a given power.

    Examples
    --------
    >>> import llrkit as lk
    >>> llrs = lk.theory.GaussianLLR.from_eer(0.05).rvs(1000, 10000, np.random.default_rng(1))
    >>> moments = null_moments(LlrCells.of(*llrs))
    >>> [round(value, 2) for value in detectable(moments, identity_test(moments), 0.03)]
    [1.13, 0.23]
    """
    df = test.df
    bound = -2.0 * math.log(level) if df > 1e6 else df * math.expm1(-2.0 / (df - 1.0) * math.log(level))
    needed = noncentrality(bound, power)
    sizes = []
    for column in moments.curvature.T:
        effect = distance(column, moments.covariance)
        sizes.append(math.sqrt(needed / effect) if effect > 0.0 else math.inf)
    # LLRs f times too large have the slope 1 / f
    return (1.0 / (1.0 - sizes[0]) if sizes[0] < 1.0 else math.inf), sizes[1]


def noncentrality(bound: float, power: float) -> float:
    """Where a noncentral chi-square with two degrees of freedom exceeds a bound with a given probability.

    It exceeds the bound b as often as a Poisson number of mean b/2 does not exceed one of half the
    noncentrality; Newton's method in the root of the noncentrality.

    Examples
    --------
    >>> from scipy.special import chndtrinc
    >>> bool(abs(noncentrality(7.0, 0.8) / chndtrinc(7.0, 2.0, 0.2) - 1.0) < 1e-12)
    True
    """
    half = bound / 2.0
    n = int(half + 40.0 * math.sqrt(half) + 60.0)
    numbers = np.arange(n)
    log_factorial = np.concatenate([[0.0], np.log(numbers[1:])]).cumsum()
    first = np.exp(numbers * math.log(half) - half - log_factorial)
    above = np.append(first[::-1].cumsum()[::-1][1:], 0.0)  # chance of more than each number
    root = math.sqrt(bound) + 0.84
    for _ in range(50):
        mean = root * root / 2.0
        second = np.exp(numbers * math.log(mean) - mean - log_factorial)
        step = (float(second @ above) - (1.0 - power)) / (root * float(second[:-1] @ first[1:]))
        root = max(root + step, root / 2.0)
        if abs(step) <= 1e-13 * root:
            break
    return root * root


def distance(gradient: FloatArray, covariance: FloatArray) -> float:
    """``gradient' covariance^-1 gradient``; infinite where LLRs so strong would make no error at all."""
    first, second = math.sqrt(max(covariance[0, 0], 0.0)), math.sqrt(max(covariance[1, 1], 0.0))
    if not (first > 0.0 and second > 0.0):
        return math.inf if gradient.any() else 0.0
    correlation = float(covariance[0, 1]) / first / second
    x, y = float(gradient[0]) / first, math.copysign(1.0, correlation) * float(gradient[1]) / second
    # along the two axes of the ellipse; by hand, because LAPACK takes longer to be called
    along, across = 1.0 + abs(correlation), 1.0 - abs(correlation)
    # products of Python's numbers become infinite where powers are an error
    sum_squared, difference_squared = (x + y) * (x + y), (x - y) * (x - y)
    return sum_squared / (2.0 * along) + (difference_squared / (2.0 * across) if across > 1e-13 else 0.0)


def hotelling_p_value(statistic: float, df: float) -> float:
    """Chance of so large a squared distance of two numbers from 0, by Hotelling's distribution.

    Chi-square with two degrees of freedom and F with two in the numerator have closed forms.

    Examples
    --------
    >>> from scipy.special import chdtrc, fdtrc
    >>> bool(abs(hotelling_p_value(3.0, math.inf) / chdtrc(2.0, 3.0) - 1.0) < 1e-14)
    True
    >>> bool(abs(hotelling_p_value(3.0, 10.0) / fdtrc(2.0, 9.0, 3.0 * 9.0 / 20.0) - 1.0) < 1e-14)
    True
    """
    if math.isinf(statistic):
        return 0.0
    if df > 1e6:
        return math.exp(-statistic / 2.0)
    # Hotelling's correction, as for an estimated covariance matrix
    return math.exp(-(df - 1.0) / 2.0 * math.log1p(statistic / df))


def _products_of_gradients(g: FloatArray, weight: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ik,jk,k->ij", g, g, weight))
