"""ScoreBins: counts of both classes in ascending runs of scores, made of two sorted arrays by ranges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from llrkit._arrays import Array, Counts, FloatArray, IntArray
from llrkit.core.pav_pooling import pooled_starts
from llrkit.core.summary import ReadOnlyArrays
from llrkit.scores.source import each_in_threads

_RANGE = 1 << 17
"""Scores of a class in a range, about: what is made of them stays in the cache."""
_LOOKED_UP = 1 << 15
"""Scores of the smaller class in ranges that are put together."""
_WORTH_THREADS = 1 << 19
"""So many scores to look up are worth a pool of threads."""


@dataclass(frozen=True, eq=False)
class ScoreBins(ReadOnlyArrays):
    """Counts of both classes in ascending bins; a bin is one score, or a run of scores of one class."""

    target: Counts
    nontarget: Counts
    low: FloatArray
    high: FloatArray

    @property
    def n_target(self) -> float:
        """Number (or total weight) of targets."""
        return total(self.target)

    @property
    def n_nontarget(self) -> float:
        """Number (or total weight) of non-targets."""
        return total(self.nontarget)

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return sum(array.nbytes for array in (self.target, self.nontarget, self.low, self.high))

    @cached_property
    def block_starts(self) -> IntArray:
        """The first bin of each PAV block; found once, as most metrics need it."""
        return pooled_starts(self.target, self.nontarget)


def total(counts: Counts) -> float:
    """The sum of counts, an int as long as nothing was weighted."""
    number: float = counts.sum().item()
    return number


def bins_of_sorted(target: Array, nontarget: Array, *, threads: int | None = None) -> ScoreBins:
    """Merge the sorted scores of two classes into runs.

    The scores are cut into ranges that hold all scores of the same value, and the ranges are merged by a pool
    of threads. Where a range has few scores of one class, only these are looked up among the others.

    Examples
    --------
    >>> bins = bins_of_sorted(np.array([1.0, 2.0, 2.0]), np.array([0.0, 0.5, 2.0]))
    >>> bins.target, bins.nontarget, bins.low, bins.high
    (array([0, 1, 2]), array([2, 0, 1]), array([0., 1., 2.]), array([0.5, 1. , 2. ]))
    """
    if max(len(target), len(nontarget)) <= _RANGE:
        return runs_of_range(target, nontarget)
    borders, looked_up = _ranges(target, nontarget)

    def runs_at(i: int) -> ScoreBins:
        (t, n), (t_stop, n_stop) = borders[i : i + 2]
        return runs_of_range(target[t:t_stop], nontarget[n:n_stop])

    few = looked_up < _WORTH_THREADS  # short calls of two threads would wait for each other
    return joined_bins(each_in_threads(runs_at, range(len(borders) - 1), threads=1 if few else threads))


def _ranges(target: Array, nontarget: Array) -> tuple[list[tuple[int, int]], int]:
    """Where ranges begin and end in both classes, and how many scores are looked up in all of them.

    Neighbors in which the same class has few scores are one range: it is the few that take the time.
    """
    cuts = np.unique(np.concatenate([target[_RANGE::_RANGE], nontarget[_RANGE::_RANGE]]))
    t, n = (
        np.concatenate([[0], np.searchsorted(ascending, cuts), [len(ascending)]])
        for ascending in (target, nontarget)
    )
    borders, looked_up, here, of_targets = [(0, 0)], 0, 0, None
    for t_start, n_start, targets, nontargets in zip(
        t.tolist(), n.tolist(), np.diff(t).tolist(), np.diff(n).tolist(), strict=False
    ):
        few, fewer_targets = min(targets, nontargets), targets <= nontargets
        if (t_start or n_start) and (fewer_targets != of_targets or here + few > _LOOKED_UP):
            borders.append((t_start, n_start))
            here = 0
        of_targets, here, looked_up = fewer_targets, here + few, looked_up + few
    return [*borders, (len(target), len(nontarget))], looked_up


def runs_of_range(target: Array, nontarget: Array) -> ScoreBins:
    """The runs of the sorted scores of two classes, at once."""
    swapped = len(target) > len(nontarget)
    few, many = (nontarget, target) if swapped else (target, nontarget)
    if few.dtype != many.dtype:
        few, many = few.astype(np.float64), many.astype(np.float64)
    if not len(few):
        low, high = many[:1], many[-1:]
        return _bins(swapped, np.zeros(len(low), dtype=np.int64), np.full(len(low), len(many)), low, high)
    # Scores of the smaller class with as many of the other below them are a group, and only its last may tie.
    below = np.searchsorted(many, few)
    breaks = np.flatnonzero(below[1:] != below[:-1])
    first, stop = np.empty(len(breaks) + 1, dtype=np.intp), np.empty(len(breaks) + 1, dtype=np.intp)
    first[0], first[1:], stop[:-1], stop[-1] = 0, breaks + 1, breaks + 1, len(few)
    at, top = below[first], few[stop - 1]
    tied = many[np.minimum(at, len(many) - 1)] == top
    tie, after = stop, at  # where the scores equal to the last begin, and where the other ones end
    slots = 2
    if tied.any():
        slots, tie, after = 3, stop.copy(), at.copy()
        tie[tied] = np.searchsorted(few, top[tied])
        after[tied] = np.searchsorted(many, top[tied], side="right")
    # In this order: scores of the other class, the group, what ties with its last; others at the very end.
    size = slots * len(first) + 1
    of_few, of_many = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    low, high = np.empty(size, dtype=few.dtype), np.empty(size, dtype=few.dtype)
    begin, end = np.empty(len(at) + 1, dtype=np.intp), np.empty(len(at) + 1, dtype=np.intp)
    begin[0], begin[1:], end[:-1], end[-1] = 0, after, at, len(many)
    of_many[0::slots] = end - begin
    low[0::slots], high[0::slots] = many[np.minimum(begin, len(many) - 1)], many[end - 1]
    of_few[1::slots] = tie - first
    low[1::slots], high[1::slots] = few[first], few[tie - 1]
    if slots == 3:
        of_few[2::3], of_many[2::3] = stop - tie, after - at
        low[2::3] = high[2::3] = top
        filled = np.flatnonzero(of_few + of_many)
        return _bins(swapped, of_few[filled], of_many[filled], low[filled], high[filled])
    # without ties only the two ends may be empty
    ends = slice(int(of_many[0] == 0), size - int(of_many[-1] == 0))
    return _bins(swapped, of_few[ends], of_many[ends], low[ends], high[ends])


def _bins(swapped: bool, of_few: Counts, of_many: Counts, low: Array, high: Array) -> ScoreBins:
    target, nontarget = (of_many, of_few) if swapped else (of_few, of_many)
    return ScoreBins(
        target, nontarget, low.astype(np.float64, copy=False), high.astype(np.float64, copy=False)
    )


def joined_bins(ranges: Iterable[ScoreBins]) -> ScoreBins:
    """The bins of ascending ranges as one; a run that goes over a border becomes one run again."""
    columns: list[Sequence[Array]] = []
    for bins in ranges:
        if not len(bins.low):
            continue
        here = [bins.target, bins.nontarget, bins.low, bins.high]
        if columns and _same_class(columns[-1], here):
            before = columns[-1]
            for i in (0, 1):
                here[i] = np.append(here[i][0] + before[i][-1], here[i][1:])
            here[2] = np.append(before[2][-1], here[2][1:])
            columns[-1] = [array[:-1] for array in before]
        columns.append(here)
    if len(columns) == 1:
        return ScoreBins(*columns[0])
    return ScoreBins(*(np.concatenate(arrays) for arrays in zip(*columns, strict=True)))


def _same_class(before: Sequence[Array], after: Sequence[Array]) -> bool:
    """Whether the last bin before a border and the first after it are runs of one class."""
    return bool((before[0][-1] == 0 and after[0][0] == 0) or (before[1][-1] == 0 and after[1][0] == 0))
