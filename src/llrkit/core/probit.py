"""The inverse of the standard normal distribution function, in NumPy.

Wichura (1988), algorithm AS 241, which is exact to about 1 part in 10^16. SciPy has it too, but takes
longer to import than a small set of trials to evaluate.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray

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


def probit(p: npt.ArrayLike) -> Any:
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
        out = np.copysign(_ratio(_SIDE, r - 1.6), q)
        tail = r > 5.0
        if tail.any():
            out[tail] = np.copysign(_ratio(_TAIL, r[tail] - 5.0), q[tail])
            out[np.isinf(r)] = np.copysign(np.inf, q[np.isinf(r)])
        center = np.abs(q) <= 0.425
        if center.any():
            at = q[center]
            out[center] = at * _ratio(_CENTER, 0.180625 - at * at)
    return out.reshape(given.shape)[()]


def _ratio(coefficients: tuple[tuple[float, ...], tuple[float, ...]], r: FloatArray) -> FloatArray:
    above, below = (np.full_like(r, row[0]) for row in coefficients)
    for a, b in zip(coefficients[0][1:], coefficients[1][1:], strict=True):
        above *= r
        above += a
        below *= r
        below += b
    return np.asarray(above / below)
