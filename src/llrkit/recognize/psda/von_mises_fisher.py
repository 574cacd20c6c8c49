"""The von Mises-Fisher distribution on the sphere in many dimensions, without overflow."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln, ive

from llrkit._arrays import FloatArray
from llrkit.errors import InputError

_DEBYE_FROM = 30.0
"""Orders from which the uniform expansion is used: its error is below 1e-12 there."""


def log_bessel_over_power(order: float, k: Any) -> FloatArray:
    """``log(I_v(k) / k^v)``, smooth down to ``k = 0``, where it is ``-v log 2 - log Gamma(v + 1)``.

    By the scaled Bessel function for small orders, and the uniform expansion of Debye for large ones
    (DLMF 10.41.3).

    Examples
    --------
    >>> from scipy.special import iv
    >>> round(float(log_bessel_over_power(0.5, 2.0) - np.log(iv(0.5, 2.0) / 2.0**0.5)), 12) + 0.0
    0.0
    """
    x = np.asarray(k, dtype=np.float64)
    if order < _DEBYE_FROM:
        small = x < 1e-3
        safe = np.where(small, 1.0, x)
        large = np.log(ive(order, safe)) + safe - order * np.log(safe)
        series = -order * np.log(2.0) - gammaln(order + 1.0) + x * x / (4.0 * (order + 1.0))
        return np.where(small, series, large)
    z = x / order
    root = np.sqrt(1.0 + z * z)
    t = 1.0 / root
    t2 = t * t
    terms = (
        t * (3.0 - 5.0 * t2) / 24.0,
        t2 * (81.0 - 462.0 * t2 + 385.0 * t2**2) / 1152.0,
        t * t2 * (30375.0 - 369603.0 * t2 + 765765.0 * t2**2 - 425425.0 * t2**3) / 414720.0,
        t2**2
        * (4465125.0 - 94121676.0 * t2 + 349922430.0 * t2**2 - 446185740.0 * t2**3 + 185910725.0 * t2**4)
        / 39813120.0,
    )
    correction = sum(term / order ** (i + 1) for i, term in enumerate(terms))
    # log z of the exponent and log k of the power cancel, so that nothing is lost at zero
    exponent = order * (root - np.log1p(root) - np.log(order))
    return np.asarray(
        exponent - 0.5 * np.log(2.0 * np.pi * order) - 0.5 * np.log(root) + np.log1p(correction)
    )


def log_normalizer(dim: int, k: Any) -> FloatArray:
    """``log C_d(k)``: the density is ``C_d(k) exp(k m'x)`` on the sphere in ``dim`` dimensions.

    Examples
    --------
    >>> round(float(np.exp(-log_normalizer(3, 0.0)) / np.pi), 12)   # the surface of the sphere
    4.0
    """
    return np.asarray(-0.5 * dim * np.log(2.0 * np.pi) - log_bessel_over_power(dim / 2.0 - 1.0, k))


def mean_length(dim: int, k: Any) -> FloatArray:
    """The length of the mean, ``I_{d/2}(k) / I_{d/2-1}(k)``.

    Examples
    --------
    >>> round(float(mean_length(3, 2.0) - (1 / np.tanh(2.0) - 0.5)), 12) + 0.0
    0.0
    """
    x = np.asarray(k, dtype=np.float64)
    order = dim / 2.0 - 1.0
    log_ratio = log_bessel_over_power(order + 1.0, x) - log_bessel_over_power(order, x)
    return np.asarray(x * np.exp(log_ratio))


def concentration(dim: int, length: float) -> float:
    """The concentration whose mean has this length: Newton steps from what Banerjee et al. 2005 propose.

    Examples
    --------
    >>> round(concentration(10, float(mean_length(10, 25.0))), 9)
    25.0
    """
    if not 0.0 <= length < 1.0:
        raise InputError(f"the length of a mean on the sphere must be from 0 to 1, got {length!r}")
    k = length * (dim - length**2) / (1.0 - length**2)
    for _ in range(50):
        if k == 0.0:
            break
        a = float(mean_length(dim, k))
        step = (a - length) / (1.0 - a * a - (dim - 1.0) / k * a)
        k = max(k - step, 0.5 * k)
        if abs(step) <= 1e-12 * k:
            break
    return float(k)
