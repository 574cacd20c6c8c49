"""Two classes in ascending order, merged straight into PAV blocks: bins would take most of the time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from llrkit._arrays import Array, Counts, IntArray
from llrkit.core.merged_runs import (
    RANGE,
    bins_at_once,
    groups_among,
    ranges_of_sorted,
    threads_for,
    with_ends,
)
from llrkit.core.pav_pooling import block_edges, from_zero, pool_edges
from llrkit.core.score_bins import doubled_wins, tie_sum
from llrkit.scores.source import each_in_threads

_LEFT_FOR_LAST = 1 << 10
"""Edges of a range that are pooled with those of all others: short calls of two threads would wait."""


class MergedClasses(NamedTuple):
    """What the order of two sorted classes comes to, in positions among their scores."""

    blocks: tuple[IntArray, IntArray]
    """How many targets and how many non-targets lie below each edge of the PAV blocks."""
    doubled_wins: float
    """Twice the pairs in which the target scores above the non-target, and once those that tie."""
    tie_sum: float
    """The sum of ``m^3 - m`` over the scores that both classes have, ``m`` trials each."""
    borders: tuple[IntArray, IntArray]
    """How many targets and how many non-targets lie below each border of the ranges."""


class _MergedRange(NamedTuple):
    """What a range comes to: edges that may be those of blocks, and wins within the range."""

    target: IntArray
    nontarget: IntArray
    doubled_wins: int
    tie_sum: float = 0.0


def merge_sorted(
    target: Array, nontarget: Array, *, threads: int | None = None, range_size: int = RANGE
) -> MergedClasses:
    """Merge the sorted scores of two classes by ranges, in a pool of threads.

    The runs of a range are pooled while they are in the cache. Pooled again, the blocks of all ranges are
    those of the whole, so nothing that is kept grows with the number of runs.

    Examples
    --------
    >>> merged = merge_sorted(np.array([1.0, 2.0, 2.0]), np.array([0.0, 0.5, 2.0]))
    >>> merged.blocks, merged.doubled_wins
    ((array([0, 0, 3]), array([0, 2, 3])), 14.0)
    """
    if target.dtype != nontarget.dtype:
        target, nontarget = target.astype(np.float64), nontarget.astype(np.float64)
    borders, looked_up = ranges_of_sorted(target, nontarget, range_size)

    def merge_at(i: int) -> _MergedRange:
        (t, n), (t_stop, n_stop) = borders[i : i + 2]
        merged = _merge_range(target[t:t_stop], nontarget[n:n_stop])
        wins = merged.doubled_wins + 2 * n * (t_stop - t)  # those over all ranges before
        # the first edge is the last one of the range before
        return _MergedRange(merged.target[1:] + t, merged.nontarget[1:] + n, wins, merged.tie_sum)

    ranges = each_in_threads(merge_at, range(len(borders) - 1), threads=threads_for(looked_up, threads))
    t_borders, n_borders = np.array(borders).T
    return MergedClasses(
        block_edges(
            np.concatenate([[0], *(merged.target for merged in ranges)]),
            np.concatenate([[0], *(merged.nontarget for merged in ranges)]),
        ),
        float(sum(merged.doubled_wins for merged in ranges)),
        sum(merged.tie_sum for merged in ranges),
        (t_borders, n_borders),
    )


def _merge_range(target: Array, nontarget: Array) -> _MergedRange:
    """The edges of a range from (0, 0) to its numbers of trials."""
    swapped = len(target) > len(nontarget)
    few, many = (nontarget, target) if swapped else (target, nontarget)
    if not len(few):
        return _MergedRange(np.array([0, len(target)]), np.array([0, len(nontarget)]), 0)
    edges, at, total_below, tie = groups_among(few, many)
    if tie:
        bins = bins_at_once(target, nontarget)
        pooled = _pooled_in_part(from_zero(bins.target), from_zero(bins.nontarget))
        return _MergedRange(*pooled, int(doubled_wins(bins)), tie_sum(bins))
    # A run of targets is pooled with the non-targets that follow it, whatever their numbers. Edges of such
    # pairs of runs lie before each group if the groups are of targets, and behind it if of non-targets.
    of_many = with_ends(0, at, len(many))
    if swapped:
        pooled = _pooled_in_part(of_many, with_ends(0, edges[1:], len(few)))
        return _MergedRange(*pooled, 2 * (len(few) * len(many) - total_below))
    pooled = _pooled_in_part(with_ends(0, edges[:-1], len(few)), of_many)
    return _MergedRange(*pooled, 2 * total_below)


def _pooled_in_part(t_sums: Counts, n_sums: Counts) -> tuple[Counts, Counts]:
    target, nontarget, _ = pool_edges(t_sums, n_sums, few=_LEFT_FOR_LAST)
    return target, nontarget
