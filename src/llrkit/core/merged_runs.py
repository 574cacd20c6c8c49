"""The bins of two classes in ascending order, merged by ranges of score."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from llrkit._arrays import Array, Counts, FloatArray, IntArray
from llrkit.core.score_bins import ScoreBins
from llrkit.scores.source import each_in_threads

RANGE = 1 << 14
"""Scores of a class from one possible border of ranges to the next."""
_BORDERS_IN_RANGE = 2
"""Times as many scores of the smaller class are in a range: what is made of them stays in the cache."""
_WORTH_THREADS = 1 << 18
"""So many scores to look up are worth a pool of threads."""


class _Columns(NamedTuple):
    """Where the bins of a range are written to."""

    target: Counts
    nontarget: Counts
    low: FloatArray
    high: FloatArray

    @classmethod
    def empty(cls, size: int) -> _Columns:
        target, nontarget = (np.empty(size, dtype=np.int64) for _ in range(2))
        low, high = (np.empty(size, dtype=np.float64) for _ in range(2))
        return cls(target, nontarget, low, high)

    def part(self, start: int, stop: int) -> _Columns:
        return _Columns(*(column[start:stop] for column in self))


class _Runs(NamedTuple):
    """How many bins a range has, and what writes them."""

    size: int
    write: Callable[[_Columns], None]


def bins_of_sorted(
    target: Array, nontarget: Array, *, threads: int | None = None, range_size: int = RANGE
) -> ScoreBins:
    """Merge the sorted scores of two classes into runs.

    The scores are cut into ranges where a run ends, and the ranges are merged by a pool of threads, which
    finds how many bins each has before any is written. In a range only the scores of the class that has
    fewer are looked up among the others.

    Examples
    --------
    >>> bins = bins_of_sorted(np.array([1.0, 2.0, 2.0]), np.array([0.0, 0.5, 2.0]))
    >>> bins.target, bins.nontarget, bins.low, bins.high
    (array([0, 1, 2]), array([2, 0, 1]), array([0., 1., 2.]), array([0.5, 1. , 2. ]))
    """
    if target.dtype != nontarget.dtype:
        target, nontarget = target.astype(np.float64), nontarget.astype(np.float64)
    if merged_at_once(target, nontarget, range_size):
        return bins_at_once(target, nontarget)
    borders, looked_up = ranges_of_sorted(target, nontarget, range_size)

    def runs_at(i: int) -> _Runs:
        (t, n), (t_stop, n_stop) = borders[i : i + 2]
        return _runs(target[t:t_stop], nontarget[n:n_stop])

    threads = threads_for(looked_up, threads)
    runs = each_in_threads(runs_at, range(len(borders) - 1), threads=threads)
    starts = np.cumsum([0, *(part.size for part in runs)]).tolist()
    columns = _Columns.empty(starts[-1])

    def write_at(i: int) -> None:
        runs[i].write(columns.part(starts[i], starts[i + 1]))

    each_in_threads(write_at, range(len(runs)), threads=threads)
    return ScoreBins(*columns)


def merged_at_once(target: Array, nontarget: Array, range_size: int = RANGE) -> bool:
    """Whether ranges of two classes save nothing: they are small, or nothing is looked up as one is empty."""
    sizes = len(target), len(nontarget)
    return min(sizes) == 0 or max(sizes) <= 2 * range_size


def bins_at_once(target: Array, nontarget: Array) -> ScoreBins:
    """The bins of two sorted classes of one type, as one range."""
    size, write = _runs(target, nontarget)
    columns = _Columns.empty(size)
    write(columns)
    return ScoreBins(*columns)


def threads_for(looked_up: int, threads: int | None) -> int | None:
    """How many threads merge ranges: short calls of two would wait for each other."""
    return 1 if looked_up < _WORTH_THREADS else threads


def ranges_of_sorted(target: Array, nontarget: Array, size: int) -> tuple[list[tuple[int, int]], int]:
    """Where ranges begin and end in both classes, and how many scores are looked up in all of them.

    Neighbors in which the same class has few scores are one range: it is the few that take the time.
    """
    cuts = np.unique(np.concatenate([target[size::size], nontarget[size::size]]))
    t, n = _between_runs(target, nontarget, *(x.searchsorted(cuts) for x in (target, nontarget)))
    t, n = (with_ends(0, at, len(x)) for at, x in ((t, target), (n, nontarget)))
    borders, looked_up, here, of_targets = [(0, 0)], 0, 0, None
    for t_start, n_start, targets, nontargets in zip(
        t.tolist(), n.tolist(), np.diff(t).tolist(), np.diff(n).tolist(), strict=False
    ):
        few, fewer_targets = min(targets, nontargets), targets <= nontargets
        if (t_start or n_start) and (fewer_targets != of_targets or here + few > _BORDERS_IN_RANGE * size):
            borders.append((t_start, n_start))
            here = 0
        of_targets, here, looked_up = fewer_targets, here + few, looked_up + few
    return [*borders, (len(target), len(nontarget))], looked_up


def _between_runs(target: Array, nontarget: Array, t: IntArray, n: IntArray) -> tuple[IntArray, IntArray]:
    """The same borders, or later ones where a border would cut a run of one class in two."""
    low, high = np.array([-np.inf, np.inf], dtype=target.dtype)
    before = [np.where(at > 0, x[np.maximum(at, 1) - 1], low) for x, at in ((target, t), (nontarget, n))]
    after = [np.where(at < len(x), x.take(at, mode="clip"), high) for x, at in ((target, t), (nontarget, n))]
    ends = [at == len(x) for x, at in ((target, t), (nontarget, n))]
    starts = [at == 0 for at in (t, n)]
    moved = []
    for own, other, at, x in ((0, 1, t, target), (1, 0, n, nontarget)):
        last = ~starts[own] & (starts[other] | (before[own] > before[other]))
        first = ~ends[own] & (ends[other] | (after[own] < after[other]))
        cut = np.flatnonzero(last & first)
        to = np.where(ends[other][cut], len(x), x.searchsorted(after[other][cut]))
        moved.append(at.copy())
        moved[own][cut] = to
    return moved[0], moved[1]


class Groups(NamedTuple):
    """Scores of one class with as many of the other class below them, group by group."""

    edges: IntArray
    """Where groups begin and end."""
    below: IntArray
    """How many scores of the other class are below each group."""
    total_below: int
    """How many scores of the other class are below each score, summed."""
    tie: bool
    """Whether a score is one of the other class too: only the last of a group may be."""


def groups_among(few: Array, many: Array) -> Groups:
    """Look up every one of some ascending scores among those of the other class.

    Examples
    --------
    >>> groups_among(np.array([1.0, 1.5, 3.0]), np.array([0.0, 2.0]))
    Groups(edges=array([0, 2, 3]), below=array([1, 2]), total_below=4, tie=False)
    """
    below = np.searchsorted(many, few)
    edges = with_ends(0, np.flatnonzero(below[1:] != below[:-1]) + 1, len(few))
    at = below[edges[:-1]]
    tie = bool((many.take(at, mode="clip") == few[edges[1:] - 1]).any())
    return Groups(edges, at, int(below.sum()), tie)


def _runs(target: Array, nontarget: Array) -> _Runs:
    """The runs of the sorted scores of two classes, at once."""
    swapped = len(target) > len(nontarget)
    few, many = (nontarget, target) if swapped else (target, nontarget)
    if not len(few):
        return _Runs(int(len(many) > 0), lambda out: _write_one(_of(swapped, out), many))
    edges, at, _, tie = groups_among(few, many)
    if tie:
        return _runs_with_ties(swapped, few, many, edges, at)
    others = with_ends(0, at, len(many))
    if at[0] == 0:  # only at the two ends may there be none of the others
        others = others[1:]
    if at[-1] == len(many):
        others = others[:-1]

    def write(out: _Columns) -> None:
        of_few, of_many, low, high = _of(swapped, out)
        own, other = slice(int(at[0] > 0), None, 2), slice(int(at[0] == 0), None, 2)
        np.subtract(edges[1:], edges[:-1], out=of_few[own])
        np.subtract(others[1:], others[:-1], out=of_many[other])
        of_few[other] = of_many[own] = 0
        low[own], high[own] = few[edges[:-1]], few[edges[1:] - 1]
        low[other], high[other] = many[others[:-1]], many[others[1:] - 1]

    return _Runs(len(edges) + len(others) - 2, write)


def _runs_with_ties(swapped: bool, few: Array, many: Array, edges: IntArray, at: IntArray) -> _Runs:
    first, stop, top = edges[:-1], edges[1:], few[edges[1:] - 1]
    # where the scores equal to the last begin, and where the other ones end
    tied = many.take(at, mode="clip") == top
    tie, after = stop.copy(), at.copy()
    tie[tied] = np.searchsorted(few, top[tied])
    after[tied] = np.searchsorted(many, top[tied], side="right")
    # In this order: scores of the other class, the group, what ties with its last; others at the very end.
    size = 3 * len(first) + 1
    of_few, of_many = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    low, high = np.empty(size, dtype=few.dtype), np.empty(size, dtype=few.dtype)
    begin, end = np.append(0, after), np.append(at, len(many))
    of_many[0::3] = end - begin
    low[0::3], high[0::3] = many.take(begin, mode="clip"), many[end - 1]
    of_few[1::3] = tie - first
    low[1::3], high[1::3] = few[first], few[tie - 1]
    of_few[2::3], of_many[2::3] = stop - tie, after - at
    low[2::3] = high[2::3] = top
    filled = np.flatnonzero(of_few + of_many)

    def write(out: _Columns) -> None:
        for column, values in zip(_of(swapped, out), (of_few, of_many, low, high), strict=True):
            column[:] = values[filled]

    return _Runs(len(filled), write)


def _write_one(out: _Columns, many: Array) -> None:
    """A range with scores of one class only, or with none."""
    out[0][:], out[1][:], out[2][:], out[3][:] = 0, len(many), many[:1], many[-1:]


def _of(swapped: bool, out: _Columns) -> _Columns:
    """The columns with that of the class that has fewer scores first."""
    return _Columns(out.nontarget, out.target, out.low, out.high) if swapped else out


def with_ends(start: int, between: IntArray, stop: int) -> IntArray:
    """One array of a first number, those between, and a last one."""
    whole = np.empty(len(between) + 2, dtype=np.intp)
    whole[0], whole[1:-1], whole[-1] = start, between, stop
    return whole
