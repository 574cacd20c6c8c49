"""Adaptive Gauss-Legendre quadrature on panels, vectorized over the panels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import FloatArray

NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)
_MOST = 4096
Integrand = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Panels:
    """Intervals in ascending order, narrow enough for 16 nodes each, and the integral over each."""

    left: FloatArray
    right: FloatArray
    mass: FloatArray


def gauss_legendre(f: Integrand, left: FloatArray, right: FloatArray) -> FloatArray:
    """Integral of ``f`` over every interval ``[left, right]`` with 16 nodes."""
    half = 0.5 * (right - left)
    x = (0.5 * (left + right))[:, None] + half[:, None] * NODES
    return np.asarray(half * np.einsum("ij,j->i", f(x.ravel()).reshape(x.shape), WEIGHTS))


def refine(
    f: Integrand, edges: FloatArray, *, tolerance: float = 1e-13, relative: float = 1.0, rounds: int = 40
) -> Panels:
    """Halve panels until each agrees with its two halves.

    ``tolerance`` is relative to the whole integral, ``relative`` to the panel itself. The halves are kept,
    whose error is smaller than the difference tested by some 2**32, so the result is far better than asked.
    """
    left, right = edges[:-1], edges[1:]
    mass = gauss_legendre(f, left, right)
    done: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    settled = 0.0
    for _ in range(rounds):
        middle = 0.5 * (left + right)
        low, high = gauss_legendre(f, left, middle), gauss_legendre(f, middle, right)
        both = low + high
        error = np.abs(both - mass)
        total = settled + float(np.sum(np.abs(both)))
        bad = (error > tolerance * total) | (error > relative * np.abs(both))
        if np.count_nonzero(bad) > _MOST:  # rounding noise in f, which halving does not cure
            bad = np.zeros_like(bad)
        good = ~bad
        done += [(left[good], middle[good], low[good]), (middle[good], right[good], high[good])]
        settled += float(np.sum(np.abs(both[good])))
        left, right, mass = (
            np.concatenate(pair)
            for pair in ((left[bad], middle[bad]), (middle[bad], right[bad]), (low[bad], high[bad]))
        )
        if left.size == 0:
            break
    done.append((left, right, mass))
    starts, ends, masses = (np.concatenate(column) for column in zip(*done, strict=True))
    order = np.argsort(starts, kind="stable")
    return Panels(starts[order], ends[order], masses[order])


def integrate(f: Integrand, edges: FloatArray) -> float:
    """Integral of ``f`` from the first to the last edge; kinks and jumps belong at edges.

    Examples
    --------
    >>> round(integrate(np.exp, np.array([0.0, 1.0])), 12)
    1.718281828459
    """
    return float(np.sum(refine(f, edges).mass))


def merge_below(
    weights: FloatArray, values: FloatArray, floor: float = 1e-26
) -> tuple[FloatArray, FloatArray]:
    """Replace all components with a value below ``floor`` by one of the same weight and mean.

    A variance below 1e-26 is a point mass to double precision, however many nodes describe it.

    Examples
    --------
    >>> merge_below(np.array([0.25, 0.25, 0.5]), np.array([1e-30, 3e-30, 1.0]))
    (array([0.5, 0.5]), array([2.e-30, 1.e+00]))
    """
    tiny = values < floor
    share = float(np.sum(weights[tiny]))
    if share == 0.0:
        return weights[~tiny], values[~tiny]
    mean = float(weights[tiny] @ values[tiny]) / share
    return np.append(share, weights[~tiny]), np.append(mean, values[~tiny])
