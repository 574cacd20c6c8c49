"""Blocks of trials with one row per class: what the summaries of several classes work on.

The arrays of a chunk have one row per trial; turned round, every operation runs along long rows of one class.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from llrkit._arrays import Array, FloatArray, IntArray
from llrkit.core.elementary_functions import BLOCK, blocks
from llrkit.errors import SystemCountError
from llrkit.scores.class_scores import ClassVectors


def trial_blocks(n: int, width: int, least: int = 64) -> Iterator[slice]:
    """Slices of at least some trials whose numbers, ``width`` each, stay in the cache."""
    return blocks(n, max(64, least, BLOCK // width))


def by_class(values: Array) -> FloatArray:
    """A float64 copy of an array of shape (m, K) turned round to (K, m)."""
    return np.array(values.T, dtype=np.float64, order="C")


def loglik_blocks(chunk: ClassVectors) -> Iterator[tuple[FloatArray, IntArray]]:
    """Log-likelihoods, shape (K, m), and codes of consecutive trials of one system.

    A ``+inf`` makes its class certain: it is turned into 0 and the rest of the row into ``-inf``, which
    says the same and can be calculated with.
    """
    values = one_system(chunk)
    for block in trial_blocks(len(values), values.shape[1]):
        loglik = by_class(values[block])
        if np.isposinf(loglik.max()):
            certain = np.isposinf(loglik.max(axis=0))
            loglik[:, certain] = np.where(np.isposinf(loglik[:, certain]), 0.0, -np.inf)
        yield loglik, chunk.codes[block]


def one_system(chunk: ClassVectors) -> Array:
    """The log-likelihoods of a chunk, which must be of one system."""
    values = chunk.loglik
    if values.ndim != 2:
        raise SystemCountError(f"one system expected, got {values.shape[2]}; fuse them first or choose one")
    return values


def against_others(loglik: FloatArray, which: int | IntArray, weights: FloatArray) -> FloatArray:
    """LLR of a class against the weighted rest: ``l_t - log sum_{n != t} w_n e^{l_n} / sum_{n != t} w_n``.

    ``loglik`` has shape (K, m); ``which`` is a class, or one class for each trial. The sum leaves the class
    out rather than taking it away again, so that two classes give exactly the difference.

    Examples
    --------
    >>> against_others(np.array([[2.0], [0.5]]), 0, np.ones(2))
    array([1.5])
    """
    trials = np.arange(loglik.shape[1])
    own = loglik[which, trials]
    rest = loglik.copy()
    rest[which, trials] = -np.inf
    top = rest.max(axis=0)
    impossible = np.isneginf(top)
    top[impossible] = 0.0
    rest -= top
    np.exp(rest, out=rest)
    rest *= weights[:, None]
    total = sums_of_others(weights)
    with np.errstate(divide="ignore"):  # log(0) = -inf: nothing but this class is possible
        others = np.log(rest.sum(axis=0)) - np.log(total[which])
    return np.asarray(own - (top + others))


def sums_of_others(weights: FloatArray) -> FloatArray:
    """For each class the sum of the weights of all others, added up rather than taken away.

    Examples
    --------
    >>> sums_of_others(np.array([0.5, 0.3, 0.2]))
    array([0.5, 0.7, 0.8])
    """
    return np.asarray(np.where(np.eye(len(weights), dtype=bool), 0.0, weights).sum(axis=1))


def gram(a: FloatArray, b: FloatArray) -> FloatArray:
    """``a b'``; of a few rows without BLAS, whose threads would fight those of the pool."""
    return np.asarray(np.einsum("im,jm->ij", a, b) if len(a) <= 64 else a @ b.T)
