"""Cllr of the Gaussian pair as a function of sigma, and its inverse.

``1 - Cllr(sigma)`` is the "J-function" of coding theory: the mutual information, in bits, between a fair
bit and a consistent Gaussian LLR of it.
"""

from __future__ import annotations

from typing import overload

import numpy as np

from llrkit._arrays import FloatArray, Numbers
from llrkit.core.bracketed_root import bracketed_root
from llrkit.core.elementary_functions import LN2
from llrkit.errors import InputError

_H = 0.1
_Z = np.arange(-100, 101) * _H
_PHI = _H * np.exp(-0.5 * _Z**2) / np.sqrt(2.0 * np.pi)
_WIDE = 4.0  # above this sigma log(1 + e^-x) is sharp on the scale of z, and the grid goes over x instead
_X = np.arange(-400, 401) * 0.25
_KERNEL = 0.25 * np.exp(0.5 * _X + np.log(np.logaddexp(0.0, -_X)))  # e^{x/2} log(1 + e^-x), integral 2 pi


@overload
def information_from_sigma(sigma: float) -> float: ...
@overload
def information_from_sigma(sigma: Numbers) -> FloatArray: ...
def information_from_sigma(sigma: float | Numbers) -> float | FloatArray:
    """``1 - Cllr`` in bits, with full relative accuracy also where it is tiny.

    ``[sigma^2/4 - E log cosh(x/2)] / ln 2`` with ``x ~ N(sigma^2/2, sigma)``: ``log(1 + e^-x)`` is
    ``log 2 - x/2 + log cosh(x/2)``, so nothing of size 1 is subtracted. Small sigma:
    ``(sigma^2/8 - sigma^4/64 + ...) / ln 2``. Trapezoid rule in ``z = (x - mu)/sigma``, step 0.1,
    from -10 to 10.

    Parameters
    ----------
    sigma
        Standard deviation of the LLRs in nats.

    Examples
    --------
    >>> round(1e6 * information_from_sigma(1e-3), 6)  # 1/(8 ln 2) = 0.180337
    0.180337
    """
    s = _checked_sigma(sigma)
    half = 0.5 * (0.5 * s[:, None] ** 2 + s[:, None] * _Z)
    small = np.minimum(np.abs(half), 1.0)
    log_cosh = np.where(
        np.abs(half) < 1.0,
        np.log1p(2.0 * np.sinh(0.5 * small) ** 2),
        np.abs(half) + np.log1p(np.exp(-2.0 * np.abs(half))) - LN2,
    )
    narrow = (0.25 * s**2 - np.einsum("ij,j->i", log_cosh, _PHI)) / LN2
    return _shaped_like(np.where(s <= _WIDE, narrow, -np.expm1(_log_cllr_wide(s))), sigma)


@overload
def cllr_from_sigma(sigma: float) -> float: ...
@overload
def cllr_from_sigma(sigma: Numbers) -> FloatArray: ...
def cllr_from_sigma(sigma: float | Numbers) -> float | FloatArray:
    """Cllr in bits of calibrated Gaussian LLRs with standard deviation ``sigma`` (number or array).

    ``1/ln 2 ∫ N(x | sigma^2/2, sigma) log(1 + e^-x) dx`` by the trapezoid rule in ``z``; for wide
    distributions by its other form
    ``e^{-sigma^2/8} / (sqrt(2 pi) sigma ln 2) ∫ e^{-x^2/(2 sigma^2)} e^{x/2} log(1 + e^-x) dx``.

    Parameters
    ----------
    sigma
        Standard deviation of the LLRs in nats.

    Examples
    --------
    >>> cllr_from_sigma(0.0)
    1.0
    >>> round(cllr_from_sigma(4.652695748082), 12)
    0.039463410636
    """
    s = _checked_sigma(sigma)
    loss = np.logaddexp(0.0, -(0.5 * s[:, None] ** 2 + s[:, None] * _Z))
    narrow = np.minimum(np.einsum("ij,j->i", loss, _PHI) / LN2, 1.0)
    return _shaped_like(np.where(s <= _WIDE, narrow, np.exp(_log_cllr_wide(s))), sigma)


@overload
def sigma_from_cllr(cllr: float) -> float: ...
@overload
def sigma_from_cllr(cllr: Numbers) -> FloatArray: ...
def sigma_from_cllr(cllr: float | Numbers) -> float | FloatArray:
    """Standard deviation of calibrated Gaussian LLRs with a given Cllr in bits (number or array).

    Root of :func:`information_from_sigma` ``= 1 - cllr`` where Cllr is near 1, of the logarithm of Cllr
    where it is small, started at :func:`sigma_from_cllr_approx`.

    Parameters
    ----------
    cllr
        Cllr in bits, between 0 and 1.

    Examples
    --------
    >>> round(sigma_from_cllr(cllr_from_sigma(3.0)), 14)
    3.0
    """
    values = _checked_bits(cllr)
    return _shaped_like(np.array([_solve_for_sigma(float(value)) for value in values.ravel()]), cllr)


@overload
def sigma_from_cllr_approx(cllr: float) -> float: ...
@overload
def sigma_from_cllr_approx(cllr: Numbers) -> FloatArray: ...
def sigma_from_cllr_approx(cllr: float | Numbers) -> float | FloatArray:
    """Approximate inverse of :func:`cllr_from_sigma`, good to about 6e-4 in Cllr.

    ``[-(1/0.3073) log2(1 - (1 - cllr)^(1/1.1064))]^(1/1.787)``, from
    ``1 - Cllr = (1 - 2^(-0.3073 sigma^1.787))^1.1064``.

    Parameters
    ----------
    cllr
        Cllr in bits, between 0 and 1.

    References
    ----------
    Brännström, Rasmussen & Grant, "Convergence analysis and optimal scheduling for multiple concatenated
    codes", IEEE Trans. Information Theory 51 (2005).

    Examples
    --------
    >>> round(sigma_from_cllr_approx(0.1835833745691), 2)
    3.29
    """
    remainder = -np.expm1(np.log1p(-_checked_bits(cllr)) / 1.1064)
    return _shaped_like((-np.log2(remainder) / 0.3073) ** (1.0 / 1.787), cllr)


def _checked_bits(cllr: float | Numbers) -> FloatArray:
    values = np.asarray(cllr, dtype=np.float64)
    if not np.all((values > 0.0) & (values < 1.0)):
        raise InputError(f"cllr must be strictly between 0 and 1 bit, got {cllr!r}")
    return values


def _solve_for_sigma(cllr: float) -> float:
    start = float(sigma_from_cllr_approx(cllr))

    def excess(sigma: float) -> float:
        if cllr >= 0.5:  # 1 - cllr is exact in floating point
            return float(information_from_sigma(sigma)) - (1.0 - cllr)
        if sigma > _WIDE:  # the logarithm stays finite where Cllr itself underflows
            return float(np.log(cllr) - _log_cllr_wide(np.array([sigma]))[0])
        return float(np.log(cllr) - np.log(cllr_from_sigma(sigma)))

    low, high = 0.95 * start, 1.05 * start
    while excess(low) > 0.0:
        low *= 0.5
    while excess(high) < 0.0:
        high *= 2.0
    return bracketed_root(excess, low, high)


def _log_cllr_wide(sigma: FloatArray) -> FloatArray:
    s = np.maximum(sigma, _WIDE)
    integral = np.einsum("ij,j->i", np.exp(-0.5 * (_X / s[:, None]) ** 2), _KERNEL)
    return np.asarray(-0.125 * s**2 + np.log(integral / (np.sqrt(2.0 * np.pi) * s * LN2)))


def _checked_sigma(sigma: float | Numbers) -> FloatArray:
    values = np.asarray(sigma, dtype=np.float64)
    if not np.all((values >= 0.0) & np.isfinite(values)):
        raise InputError(f"sigma must be finite and not negative, got {sigma!r}")
    return values.ravel()


def _shaped_like(flat: FloatArray, template: float | Numbers) -> float | FloatArray:
    shape = np.asarray(template).shape
    return float(np.ravel(flat)[0]) if shape == () else np.reshape(flat, shape)
