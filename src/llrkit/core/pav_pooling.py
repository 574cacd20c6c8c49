"""Pooling of adjacent violators in whole numbers: the same blocks however the bins are cut into ranges."""

from __future__ import annotations

import numpy as np

from llrkit._arrays import BoolArray, Counts, IntArray
from llrkit.core.elementary_functions import blocks
from llrkit.scores.source import each_in_threads

AT_A_TIME = 1 << 16
FEW = 1 << 7
"""So few bins are pooled one by one; passes over arrays would cost more."""
_WORTH_THREADS = 1 << 20
_LARGEST_PRODUCT = float(1 << 62)


def pooled_starts(
    target: Counts, nontarget: Counts, *, at_a_time: int = AT_A_TIME, few: int = FEW
) -> IntArray:
    """The first bin of each block, after pooling until the share of targets increases from block to block.

    Shares are compared by products of whole numbers, so equal ones are recognized as equal. Blocks of ranges
    of bins, put in order and pooled again, are therefore the blocks of all bins: ranges of ``at_a_time`` bins
    are pooled first, each in the cache, and ``few`` bins one by one.

    Examples
    --------
    >>> pooled_starts(np.array([0, 1, 0, 1]), np.array([1, 0, 1, 0]))
    array([0, 1, 3])
    """
    if float(target.sum()) * float(nontarget.sum()) >= _LARGEST_PRODUCT:
        target, nontarget = target.astype(np.float64), nontarget.astype(np.float64)
    if len(target) <= at_a_time:
        return _pooled(target, nontarget, few)

    def starts_in(part: slice) -> IntArray:
        return np.asarray(_pooled(target[part], nontarget[part], few) + part.start)

    threads = 1 if len(target) < _WORTH_THREADS else None
    start = np.concatenate(each_in_threads(starts_in, blocks(len(target), at_a_time), threads=threads))
    return start[_pooled(np.add.reduceat(target, start), np.add.reduceat(nontarget, start), few)]


def _pooled(target: Counts, nontarget: Counts, few: int) -> IntArray:
    start = np.arange(len(target))
    while len(start) > few:
        rises = _rises(target, nontarget)
        first = np.flatnonzero(np.append(True, rises))
        hardly = len(first) > 0.9 * len(start)
        start = start[first]
        target, nontarget = np.add.reduceat(target, first), np.add.reduceat(nontarget, first)
        if hardly:
            break  # a chain that pools one block after another would take as many passes
    if len(start) > 1 and not _rises(target, nontarget).all():
        start = start[_one_by_one(target, nontarget)]
    return start


def _rises(target: Counts, nontarget: Counts) -> BoolArray:
    """Where the share of targets of a bin is above that of the one before."""
    return np.asarray(target[:-1] * nontarget[1:] < target[1:] * nontarget[:-1])


def _one_by_one(target: Counts, nontarget: Counts) -> list[int]:
    starts: list[int] = []
    ts: list[float] = []
    ns: list[float] = []
    for i, (t, n) in enumerate(zip(target.tolist(), nontarget.tolist(), strict=True)):
        start = i
        while starts and ts[-1] * n >= t * ns[-1]:
            t, n, start = t + ts.pop(), n + ns.pop(), starts.pop()
        starts.append(start)
        ts.append(t)
        ns.append(n)
    return starts
