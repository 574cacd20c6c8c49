"""Numerically safe elementary functions: log-odds, softplus; :func:`probit` is found here as well."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from llrkit.core.probit import probit as probit
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


def probability(value: Any, name: str = "probability") -> float:
    """Check that ``value`` is a number strictly between 0 and 1.

    Examples
    --------
    >>> probability(0.01)
    0.01
    >>> probability(1.0, "prior")
    Traceback (most recent call last):
    llrkit.errors.InputError: prior must be strictly between 0 and 1, got 1.0
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number strictly between 0 and 1, got {value!r}") from None
    if not 0.0 < number < 1.0:
        raise InputError(f"{name} must be strictly between 0 and 1, got {number!r}")
    return number


def logit(p: npt.ArrayLike) -> Any:
    """Log-odds ``log(p / (1 - p))``, natural logarithm.

    Examples
    --------
    >>> float(logit(0.5))
    0.0
    """
    p = np.asarray(p, dtype=np.float64)
    with np.errstate(divide="ignore"):  # the exact answers at 0 and 1 are -inf and inf
        return np.log(p) - np.log1p(-p)


def sigmoid(x: npt.ArrayLike) -> Any:
    """Inverse of :func:`logit`: ``1 / (1 + exp(-x))`` without overflow.

    Examples
    --------
    >>> float(sigmoid(-1000.0)), float(sigmoid(0.0))
    (0.0, 0.5)
    """
    x = np.asarray(x, dtype=np.float64)
    small = np.exp(-np.abs(x))
    return np.where(x >= 0.0, 1.0, small) / (1.0 + small)


def softplus(x: npt.ArrayLike) -> Any:
    """``log(1 + exp(x))`` without overflow; exact at both infinities.

    Examples
    --------
    >>> float(softplus(800.0)), float(softplus(-float("inf")))
    (800.0, 0.0)
    """
    return np.logaddexp(0.0, np.asarray(x, dtype=np.float64))


def binary_entropy(p: npt.ArrayLike) -> Any:
    """Entropy of a yes/no event in nats, ``-p log p - (1 - p) log(1 - p)``.

    Examples
    --------
    >>> round(float(binary_entropy(0.5)) / LN2, 12)
    1.0
    """
    p = np.asarray(p, dtype=np.float64)
    z = logit(p)
    return p * softplus(-z) + (1.0 - p) * softplus(z)
