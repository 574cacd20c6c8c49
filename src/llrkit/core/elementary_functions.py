"""Numerically safe elementary functions: log-odds, softplus, entropy, and the probit.

The probit is that of Wichura (1988), algorithm AS 241, which is exact to about 1 part in 10^16. SciPy has it
too, but takes longer to import than a small set of trials to evaluate.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import overload

import numpy as np

from llrkit._arrays import FloatArray, Numbers
from llrkit.errors import InputError

LN2 = float(np.log(2.0))


BLOCK = 1 << 17
"""Scores worked on at a time where temporary arrays are needed: they stay in the cache and are reused."""


def blocks(n: int, size: int = BLOCK) -> Iterator[slice]:
    """Consecutive slices that cover ``n`` items in blocks.

    Examples
    --------
    >>> list(blocks(10, 4))
    [slice(0, 4, None), slice(4, 8, None), slice(8, 10, None)]
    """
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def probability(value: float, name: str = "probability") -> float:
    """Check that ``value`` is a number strictly between 0 and 1.

    Examples
    --------
    >>> probability(0.01)
    0.01
    >>> probability(1.0, "prior")
    Traceback (most recent call last):
    llrkit.errors.InputError: prior must be strictly between 0 and 1, got 1.0
    >>> probability(95, "level")
    Traceback (most recent call last):
    llrkit.errors.InputError: level must be strictly between 0 and 1, got 95.0; 95 % is 0.95
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number strictly between 0 and 1, got {value!r}") from None
    if not 0.0 < number < 1.0:
        meant = f"; {number:g} % is {number / 100:g}" if 1.0 < number < 100.0 else ""
        raise InputError(f"{name} must be strictly between 0 and 1, got {number!r}{meant}")
    return number


@overload
def logit(p: float) -> float: ...
@overload
def logit(p: Numbers) -> FloatArray: ...
def logit(p: float | Numbers) -> float | FloatArray:
    """Log-odds ``log(p / (1 - p))``, natural logarithm.

    Examples
    --------
    >>> float(logit(0.5))
    0.0
    """
    p = np.asarray(p, dtype=np.float64)
    with np.errstate(divide="ignore"):  # the exact answers at 0 and 1 are -inf and inf
        log_odds: float | FloatArray = np.log(p) - np.log1p(-p)
    return log_odds


@overload
def sigmoid(x: float) -> float: ...
@overload
def sigmoid(x: Numbers) -> FloatArray: ...
def sigmoid(x: float | Numbers) -> float | FloatArray:
    """Inverse of :func:`logit`: ``1 / (1 + exp(-x))`` without overflow.

    Examples
    --------
    >>> float(sigmoid(-1000.0)), float(sigmoid(0.0))
    (0.0, 0.5)
    """
    x = np.asarray(x, dtype=np.float64)
    small = np.exp(-np.abs(x))
    y: float | FloatArray = np.where(x >= 0.0, 1.0, small) / (1.0 + small)
    return y


def sigmoid_both_ways(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``sigmoid(x)`` and ``sigmoid(-x)``, both to the last digit, for one exponential.

    Examples
    --------
    >>> sigmoid_both_ways(np.array([-1000.0, 0.0, 40.0]))
    (array([0. , 0.5, 1. ]), array([1.00000000e+00, 5.00000000e-01, 4.24835426e-18]))
    """
    small = np.exp(-np.abs(x))
    above = 1.0 / (1.0 + small)
    below = small / (1.0 + small)
    positive = x >= 0.0
    return np.where(positive, above, below), np.where(positive, below, above)


@overload
def softplus(x: float) -> float: ...
@overload
def softplus(x: Numbers) -> FloatArray: ...
def softplus(x: float | Numbers) -> float | FloatArray:
    """``log(1 + exp(x))`` without overflow; exact at both infinities.

    Examples
    --------
    >>> float(softplus(800.0)), float(softplus(-float("inf")))
    (800.0, 0.0)
    """
    return np.logaddexp(0.0, np.asarray(x, dtype=np.float64))


@overload
def binary_entropy(p: float) -> float: ...
@overload
def binary_entropy(p: Numbers) -> FloatArray: ...
def binary_entropy(p: float | Numbers) -> float | FloatArray:
    """Entropy of a yes/no event in nats, ``-p log p - (1 - p) log(1 - p)``.

    Examples
    --------
    >>> round(float(binary_entropy(0.5)) / LN2, 12)
    1.0
    """
    p = np.asarray(p, dtype=np.float64)
    z = logit(p)
    return p * softplus(-z) + (1.0 - p) * softplus(z)


# Numerators and denominators, highest power first: around the median, beside it, and in the tails.
_CENTER = (
    (
        2509.0809287301227,
        33430.57558358813,
        67265.7709270087,
        45921.95393154987,
        13731.69376550946,
        1971.5909503065513,
        133.14166789178438,
        3.3871328727963665,
    ),
    (
        5226.495278852854,
        28729.085735721943,
        39307.89580009271,
        21213.794301586597,
        5394.196021424751,
        687.1870074920579,
        42.31333070160091,
        1.0,
    ),
)
_SIDE = (
    (
        0.0007745450142783414,
        0.022723844989269184,
        0.2417807251774506,
        1.2704582524523684,
        3.6478483247632045,
        5.769497221460691,
        4.630337846156546,
        1.4234371107496835,
    ),
    (
        1.0507500716444169e-09,
        0.0005475938084995345,
        0.015198666563616457,
        0.14810397642748008,
        0.6897673349851,
        1.6763848301838038,
        2.053191626637759,
        1.0,
    ),
)
_TAIL = (
    (
        2.0103343992922881e-07,
        2.7115555687434876e-05,
        0.0012426609473880784,
        0.026532189526576124,
        0.29656057182850487,
        1.7848265399172913,
        5.463784911164114,
        6.657904643501103,
    ),
    (
        2.0442631033899397e-15,
        1.421511758316446e-07,
        1.8463183175100548e-05,
        0.0007868691311456133,
        0.014875361290850615,
        0.1369298809227358,
        0.599832206555888,
        1.0,
    ),
)


@overload
def probit(p: float) -> float: ...
@overload
def probit(p: Numbers) -> FloatArray: ...
def probit(p: float | Numbers) -> float | FloatArray:
    """Inverse of the standard normal distribution function: -inf at 0, inf at 1, nan outside.

    Examples
    --------
    >>> round(float(probit(0.975)), 6)
    1.959964
    >>> from scipy.special import ndtri
    >>> p = np.array([1e-300, 1e-20, 0.01, 0.3, 0.5, 0.9999])
    >>> bool(np.allclose(probit(p), ndtri(p), rtol=1e-14, atol=0.0))
    True
    """
    given = np.asarray(p, dtype=np.float64)
    p = np.atleast_1d(given)
    q = p - 0.5
    with np.errstate(divide="ignore", invalid="ignore"):  # the answers at 0 and 1 are infinite
        r = np.sqrt(-np.log(np.where(q <= 0.0, p, 1.0 - p)))
        out = np.copysign(_ratio_of_polynomials(_SIDE, r - 1.6), q)
        tail = r > 5.0
        if tail.any():
            out[tail] = np.copysign(_ratio_of_polynomials(_TAIL, r[tail] - 5.0), q[tail])
            out[np.isinf(r)] = np.copysign(np.inf, q[np.isinf(r)])
        center = np.abs(q) <= 0.425
        if center.any():
            at = q[center]
            out[center] = at * _ratio_of_polynomials(_CENTER, 0.180625 - at * at)
    return out.reshape(given.shape)[()]


def _ratio_of_polynomials(
    coefficients: tuple[tuple[float, ...], tuple[float, ...]], r: FloatArray
) -> FloatArray:
    above, below = (np.full_like(r, row[0]) for row in coefficients)
    for a, b in zip(coefficients[0][1:], coefficients[1][1:], strict=True):
        above *= r
        above += a
        below *= r
        below += b
    return np.asarray(above / below)
