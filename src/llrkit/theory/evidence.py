"""How large a calibrated likelihood ratio gets: its moments, and how often it misleads."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from llrkit.errors import InputError
from llrkit.theory.gaussian_pair import GaussianLLR


def lr_moment(pair: GaussianLLR, order: float, *, given: str = "nontarget") -> float:
    """Moment ``<r^n>`` of the likelihood ratio of the Gaussian pair.

    ``<r^n>_nontarget = <r^(n-1)>_target = exp(mu n (n - 1))``; in particular ``<r>_nontarget = 1`` and
    ``<1/r>_target = 1``. The first equation (Turing's) holds for every calibrated pair. Infinity is
    returned where the value overflows.

    Examples
    --------
    >>> pair = GaussianLLR(2.0)
    >>> lr_moment(pair, 1), lr_moment(pair, -1, given="target")
    (1.0, 1.0)
    >>> lr_moment(pair, 2) == lr_moment(pair, 1, given="target")
    True
    """
    if given not in ("nontarget", "target"):
        raise InputError(f'given must be "nontarget" or "target", got {given!r}')
    n = order if given == "nontarget" else order + 1
    exponent = pair.mu * n * (n - 1)
    return float(np.exp(exponent)) if exponent < 709.0 else float("inf")


def lr_variance(pair: GaussianLLR, *, given: str = "nontarget") -> float:
    """Variance of the likelihood ratio (nontarget) or of its inverse (target): ``e^(sigma^2) - 1``.

    It is why the sample mean of ``r`` is useless for good systems: with perfectly calibrated scores at
    2 % EER half of all sets of 1000 non-targets have a mean below 0.28, although its expectation is 1.

    Examples
    --------
    >>> round(lr_variance(GaussianLLR(1.0)), 6)
    1.718282
    """
    if given not in ("nontarget", "target"):
        raise InputError(f'given must be "nontarget" or "target", got {given!r}')
    exponent = pair.sigma**2
    return float(np.expm1(exponent)) if exponent < 709.0 else float("inf")


def misleading_bound(ratio: npt.ArrayLike) -> Any:
    """Largest possible ``P(r >= k | nontarget)`` of any calibrated pair, ``1/k`` for ``k >= 1``.

    Markov's inequality with ``<r>_nontarget = 1``.

    Examples
    --------
    >>> misleading_bound(100.0)
    0.01
    """
    return _plain(1.0 / _ratios(ratio))


def misleading_bound_gaussian(ratio: npt.ArrayLike) -> Any:
    """Largest ``P(r >= k | nontarget)`` over all Gaussian pairs, ``Phi(-sqrt(2 ln k))`` for ``k >= 1``.

    It is reached at ``sigma = sqrt(2 ln k)``.

    References
    ----------
    Royall, "On the probability of observing misleading statistical evidence", JASA 95 (2000).

    Examples
    --------
    >>> round(misleading_bound_gaussian(8.0), 4)
    0.0207
    """
    return _plain(ndtr(-np.sqrt(2.0 * np.log(_ratios(ratio)))))


def _ratios(ratio: npt.ArrayLike) -> Any:
    values = np.asarray(ratio, dtype=np.float64)
    if not np.all(values >= 1.0):
        raise InputError(f"the likelihood ratio must be at least 1, got {ratio!r}")
    return values


def _plain(values: Any) -> Any:
    return float(values) if np.ndim(values) == 0 else values
