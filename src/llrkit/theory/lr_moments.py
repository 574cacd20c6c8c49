"""How large a calibrated likelihood ratio gets: its moments, and how often it misleads."""

from __future__ import annotations

from typing import overload

import numpy as np

from llrkit._arguments import takes
from llrkit._arrays import FloatArray, Numbers, number_or_array
from llrkit.errors import InputError
from llrkit.theory._quadrature import refine
from llrkit.theory.calibrated_pair import CalibratedPair, MirrorLLR
from llrkit.theory.gamma_pair import GammaLLR
from llrkit.theory.gaussian_pair import GaussianLLR
from llrkit.theory.mixtures import MuMixture
from llrkit.theory.plda_pair import PLDALLR
from llrkit.theory.tabulated_density import Axis


@takes(pair=CalibratedPair)
def lr_moment(pair: CalibratedPair, order: float, *, given: str = "nontarget") -> float:
    """Moment ``<r^n>`` of the likelihood ratio of a calibrated pair.

    ``<r^n>_nontarget = <r^(n-1)>_target`` (Turing's equation) holds for every calibrated pair; in particular
    ``<r>_nontarget = 1`` and ``<1/r>_target = 1``. In closed form:

    - Gaussian: ``exp(mu n (n - 1))``, and for a mixture over mu its mean;
    - gamma: ``Gamma(a + n) / (Gamma(a) a^n)``;
    - PLDA: the exponential of the cumulant generating function at n.

    Other pairs are integrated. Infinity is returned where the moment does not exist or overflows.

    Parameters
    ----------
    pair
        A calibrated pair of distributions.
    order
        Power of the likelihood ratio.
    given
        The class under which the expectation is taken: ``"nontarget"`` or ``"target"``.

    Examples
    --------
    >>> pair = GaussianLLR(2.0)
    >>> lr_moment(pair, 1), lr_moment(pair, -1, given="target")
    (1.0, 1.0)
    >>> lr_moment(pair, 2) == lr_moment(pair, 1, given="target")
    True
    >>> from llrkit.theory import GammaLLR
    >>> round(lr_moment(GammaLLR(0.5), 2), 10), lr_moment(GammaLLR(0.5), -0.5)
    (3.0, inf)
    """
    if given not in ("nontarget", "target"):
        raise InputError(f'given must be "nontarget" or "target", got {given!r}')
    if isinstance(order, bool) or not isinstance(order, (int, float)) or not np.isfinite(order):
        raise InputError(f"the order of a moment must be a finite number, got {order!r}")
    if not isinstance(pair, CalibratedPair):
        raise InputError(f"a calibrated pair such as GaussianLLR(2.0) is needed, got {type(pair).__name__}")
    exponent = _log_moment(pair, float(order) if given == "nontarget" else float(order) + 1.0)
    return float(np.exp(exponent)) if exponent < 709.0 else float("inf")


def _log_moment(pair: CalibratedPair, n: float) -> float:
    """Logarithm of ``<r^n>`` for non-targets."""
    from scipy.special import gammaln, logsumexp

    if n in (0.0, 1.0):
        return 0.0
    if isinstance(pair, MirrorLLR):
        return _log_moment(pair.of, 1.0 - n)
    if isinstance(pair, GaussianLLR):
        return pair.mu * n * (n - 1.0)
    if isinstance(pair, MuMixture):
        weights, mu = pair.components
        return float(logsumexp(mu * n * (n - 1.0), b=weights))
    if isinstance(pair, GammaLLR):
        a = pair.shape
        return float(gammaln(a + n) - gammaln(a) - n * np.log(a)) if a + n > 0.0 else float("inf")
    if isinstance(pair, PLDALLR):
        d = pair.nontarget
        up, down = 1.0 - d.up * n, 1.0 + d.down * n
        if up.min() <= 0.0 or down.min() <= 0.0:
            return float("inf")
        return float(d.loc * n - 0.5 * d.counts @ (np.log(up) + np.log(down)))
    return _moment_integrated(pair, n)


def _moment_integrated(pair: CalibratedPair, n: float) -> float:
    """By quadrature of ``e^(n x) d(x)``, on an axis where its tails fall fast if the moment exists."""
    d = pair.nontarget
    axis = Axis(d.support(), d.mean(), d.std())
    exponent = axis.weighted(lambda x: np.asarray(d.logpdf(x)) + n * x)
    grid = exponent(np.linspace(axis.edges[0], axis.edges[-1], 16 * axis.edges.size))
    peak = float(np.max(grid))
    for end, finite in ((grid[0], axis.kind[0]), (grid[-1], axis.kind[1])):
        if not finite and not end < peak - 60.0:
            return float("inf")
    panels = refine(lambda u: np.exp(np.minimum(exponent(u) - peak, 700.0)), axis.edges)
    return peak + float(np.log(np.sum(panels.mass)))


@takes(pair=CalibratedPair)
def lr_variance(pair: CalibratedPair, *, given: str = "nontarget") -> float:
    """Variance of the likelihood ratio (nontarget) or of its inverse (target).

    ``<r^2>_nontarget - 1`` and ``<1/r^2>_target - 1``; of the Gaussian pair both are ``e^(sigma^2) - 1``. It
    is why the sample mean of ``r`` is useless for good systems: with perfectly calibrated scores at 2 % EER
    half of all sets of 1000 non-targets have a mean below 0.28, although its expectation is 1.

    Parameters
    ----------
    pair
        A calibrated pair of distributions.
    given
        The class under which the expectation is taken: ``"nontarget"`` or ``"target"``.

    Examples
    --------
    >>> round(lr_variance(GaussianLLR(1.0)), 6)
    1.718282
    """
    if given not in ("nontarget", "target"):
        raise InputError(f'given must be "nontarget" or "target", got {given!r}')
    exponent = _log_moment(pair, 2.0 if given == "nontarget" else -1.0)
    return float(np.expm1(exponent)) if exponent < 709.0 else float("inf")


@overload
def misleading_bound(ratio: float) -> float: ...
@overload
def misleading_bound(ratio: Numbers) -> FloatArray: ...
def misleading_bound(ratio: float | Numbers) -> float | FloatArray:
    """Largest possible ``P(r >= k | nontarget)`` of any calibrated pair, ``1/k`` for ``k >= 1``.

    Markov's inequality with ``<r>_nontarget = 1``.

    Parameters
    ----------
    ratio
        Likelihood ratio, at least 1.

    Examples
    --------
    >>> misleading_bound(100.0)
    0.01
    """
    return number_or_array(1.0 / _likelihood_ratios(ratio))


@overload
def misleading_bound_gaussian(ratio: float) -> float: ...
@overload
def misleading_bound_gaussian(ratio: Numbers) -> FloatArray: ...
def misleading_bound_gaussian(ratio: float | Numbers) -> float | FloatArray:
    """Largest ``P(r >= k | nontarget)`` over all Gaussian pairs, ``Phi(-sqrt(2 ln k))`` for ``k >= 1``.

    It is reached at ``sigma = sqrt(2 ln k)``.

    Parameters
    ----------
    ratio
        Likelihood ratio, at least 1.

    References
    ----------
    Royall, "On the probability of observing misleading statistical evidence", JASA 95 (2000).

    Examples
    --------
    >>> round(misleading_bound_gaussian(8.0), 4)
    0.0207
    """
    from scipy.special import ndtr

    return number_or_array(ndtr(-np.sqrt(2.0 * np.log(_likelihood_ratios(ratio)))))


def _likelihood_ratios(ratio: float | Numbers) -> FloatArray:
    values = np.asarray(ratio, dtype=np.float64)
    if not np.all(values >= 1.0):
        raise InputError(f"the likelihood ratio must be at least 1, got {ratio!r}")
    return values
