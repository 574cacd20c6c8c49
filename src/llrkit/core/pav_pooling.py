"""Pooling of adjacent violators in whole numbers: the same blocks however the bins are cut into ranges."""

from __future__ import annotations

from typing import overload

import numpy as np

from llrkit._arrays import BoolArray, Counts, IntArray
from llrkit.core.elementary_functions import blocks
from llrkit.scores.source import each_in_threads

AT_A_TIME = 24_000
"""Bins pooled together: their temporary arrays are small enough for the allocator to reuse them."""
FEW = 1 << 5
"""So few bins are pooled one by one; passes over arrays would cost more."""
_HARDLY_FEWER = 0.9
"""A pass that leaves more of the bins is the last: a chain that pools one by one would take too many."""
_FIRST_REACH = 1 << 4
"""Bins on either side of one that does not rise, which are pooled with it first."""
_WORTH_THREADS = 1 << 18
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
    exact = target.dtype.kind in "iu" and nontarget.dtype.kind in "iu"
    if exact and not products_are_exact(target.sum(), nontarget.sum()):
        target, nontarget, exact = target.astype(np.float64), nontarget.astype(np.float64), False
    pooled = _pooled_whole if exact else _pooled
    if len(target) <= at_a_time:
        return pooled(target, nontarget, few)

    def starts_in(part: slice) -> IntArray:
        return np.asarray(pooled(target[part], nontarget[part], few) + part.start)

    threads = 1 if len(target) < _WORTH_THREADS else None
    start = np.concatenate(each_in_threads(starts_in, blocks(len(target), at_a_time), threads=threads))
    return start[pooled(np.add.reduceat(target, start), np.add.reduceat(nontarget, start), few)]


def products_are_exact(n_target: float, n_nontarget: float) -> bool:
    """Whether products of counts of so many trials fit into 64 bits."""
    return float(n_target) * float(n_nontarget) < _LARGEST_PRODUCT


def from_zero(counts: Counts) -> Counts:
    """The running sums of counts, beginning with 0.

    Examples
    --------
    >>> from_zero(np.array([2, 1]))
    array([0, 2, 3])
    """
    sums = np.empty(len(counts) + 1, dtype=counts.dtype)
    sums[0] = 0
    np.cumsum(counts, out=sums[1:])
    return sums


@overload
def pool_edges(
    t_sums: Counts, n_sums: Counts, edges: IntArray, *, few: int = FEW
) -> tuple[Counts, Counts, IntArray]: ...
@overload
def pool_edges(t_sums: Counts, n_sums: Counts, *, few: int = FEW) -> tuple[Counts, Counts, None]: ...
def pool_edges(
    t_sums: Counts, n_sums: Counts, edges: IntArray | None = None, *, few: int = FEW
) -> tuple[Counts, Counts, IntArray | None]:
    """Drop the edges of bins that are pooled, by passes over arrays; what would take many passes is left.

    The sums say how many trials of each class lie below each edge, in whole numbers, whose differences are
    exact. Numbers of the edges, if given, are dropped likewise.

    Examples
    --------
    >>> pool_edges(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1, 2, 2]), np.arange(5), few=1)
    (array([0, 0, 1, 2]), array([0, 1, 2, 2]), array([0, 1, 3, 4]))
    """
    hardly = False
    while len(t_sums) > few + 1 and not hardly:
        target, nontarget = t_sums[1:] - t_sums[:-1], n_sums[1:] - n_sums[:-1]
        rises = np.flatnonzero(_rises(target, nontarget))
        kept = np.empty(len(rises) + 2, dtype=np.intp)
        kept[0], kept[1:-1], kept[-1] = 0, rises + 1, len(target)
        hardly = len(kept) > _HARDLY_FEWER * len(t_sums)
        t_sums, n_sums = t_sums[kept], n_sums[kept]
        edges = None if edges is None else edges[kept]
    return t_sums, n_sums, edges


def block_edges(t_sums: IntArray, n_sums: IntArray) -> tuple[IntArray, IntArray]:
    """The trials of each class below the edges of PAV blocks, from those below the edges of bins.

    Examples
    --------
    >>> block_edges(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1, 2, 2]))
    (array([0, 0, 1, 2]), array([0, 1, 2, 2]))
    """
    t_sums, n_sums, _ = pool_edges(t_sums, n_sums)
    starts = _finished(np.arange(len(t_sums) - 1), t_sums[1:] - t_sums[:-1], n_sums[1:] - n_sums[:-1])
    kept = np.append(starts, len(t_sums) - 1)
    return t_sums[kept], n_sums[kept]


def _pooled_whole(target: Counts, nontarget: Counts, few: int) -> IntArray:
    """The same for whole numbers: differences of running sums are exact, and take far less than sums."""
    every = np.arange(len(target) + 1)
    if len(target) <= few:
        return _finished(every[:-1], target, nontarget)
    t_sums, n_sums, edges = pool_edges(from_zero(target), from_zero(nontarget), every, few=few)
    return _finished(edges[:-1], t_sums[1:] - t_sums[:-1], n_sums[1:] - n_sums[:-1])


def _pooled(target: Counts, nontarget: Counts, few: int) -> IntArray:
    start = np.arange(len(target))
    while len(start) > few:
        rises = _rises(target, nontarget)
        first = np.flatnonzero(np.append(True, rises))
        hardly = len(first) > _HARDLY_FEWER * len(start)
        start = start[first]
        target, nontarget = np.add.reduceat(target, first), np.add.reduceat(nontarget, first)
        if hardly:
            break
    return _finished(start, target, nontarget)


def _finished(start: IntArray, target: Counts, nontarget: Counts) -> IntArray:
    """Pool one by one what passes have left: around the bins that do not rise, unless these are many."""
    reach = _FIRST_REACH
    while len(start) > 1:
        falls = np.flatnonzero(~_rises(target, nontarget))
        if not len(falls):
            break
        if 4 * reach * len(falls) > len(start):
            return start[_one_by_one(target, nontarget)]
        kept = _pooled_around(falls, reach, target, nontarget)
        start, target, nontarget = (
            start[kept],
            np.add.reduceat(target, kept),
            np.add.reduceat(nontarget, kept),
        )
        reach *= 2
    return start


def _pooled_around(falls: IntArray, reach: int, target: Counts, nontarget: Counts) -> IntArray:
    """The first bins of the blocks after pooling as far as ``reach`` bins from those that do not rise."""
    kept = np.ones(len(target), dtype=bool)
    windows = np.split(falls, np.flatnonzero(np.diff(falls) > 2 * reach) + 1)
    for window in windows:
        low, high = max(int(window[0]) + 1 - reach, 0), int(window[-1]) + 1 + reach
        kept[low:high] = False
        kept[low + np.array(_one_by_one(target[low:high], nontarget[low:high]))] = True
    return np.flatnonzero(kept)


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
