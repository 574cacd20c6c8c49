"""Counting by order: two sorted classes merged into runs and blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from llrkit.base.arguments import Array, Counts, FloatArray, IntArray
from llrkit.base.process import at_once, cached_property
from llrkit.core.pav import (
    PavBlocks,
    ScoreBins,
    block_edges,
    doubled_wins,
    from_zero,
    pav_blocks,
    pool_edges,
    products_are_exact,
    tie_sum,
)
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


_MUCH_SMALLER = 8
"""From this ratio of the classes on, bins take no more memory than sorted scores, and little time."""
KEEP_BYTES = 128 << 20
"""A ranking that a source in memory keeps for the next metric has at most so many bytes."""


class Ranking(ABC):
    """The order of trials, from their bins or from sorted classes; both give the same to the last bit."""

    @property
    @abstractmethod
    def bins(self) -> ScoreBins:
        """The bins of all trials."""

    @property
    @abstractmethod
    def blocks(self) -> PavBlocks:
        """The PAV blocks."""

    @property
    @abstractmethod
    def n_target(self) -> float:
        """Number (or total weight) of targets."""

    @property
    @abstractmethod
    def n_nontarget(self) -> float:
        """Number (or total weight) of non-targets."""

    @property
    @abstractmethod
    def doubled_wins(self) -> float:
        """Twice the pairs in which the target scores above the non-target, and once those that tie."""

    @property
    @abstractmethod
    def tie_sum(self) -> float:
        """The sum of ``m^3 - m`` over the scores that both classes have, ``m`` trials each."""

    @property
    @abstractmethod
    def rejected_around_eer(self) -> tuple[Counts, Counts]:
        """Targets and non-targets below the thresholds around the equal error rate; all of them last."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Memory that is held."""


class RankedBins(Ranking):
    """The order of trials that were counted in bins.

    Parameters
    ----------
    bins
        The bins of all trials.
    """

    def __init__(self, bins: ScoreBins) -> None:
        self._bins = bins

    @property
    def bins(self) -> ScoreBins:
        """The bins of all trials."""
        return self._bins

    @cached_property
    def blocks(self) -> PavBlocks:
        """The PAV blocks."""
        return pav_blocks(self._bins)

    @cached_property
    def n_target(self) -> float:
        """Number (or total weight) of targets."""
        return self._bins.n_target

    @cached_property
    def n_nontarget(self) -> float:
        """Number (or total weight) of non-targets."""
        return self._bins.n_nontarget

    @cached_property
    def doubled_wins(self) -> float:
        """Twice the pairs in which the target scores above the non-target, and once those that tie."""
        return doubled_wins(self._bins)

    @cached_property
    def tie_sum(self) -> float:
        """The sum of ``m^3 - m`` over the scores that both classes have, ``m`` trials each."""
        return tie_sum(self._bins)

    @property
    def rejected_around_eer(self) -> tuple[Counts, Counts]:
        """Targets and non-targets below all thresholds."""
        return from_zero(self._bins.target), from_zero(self._bins.nontarget)

    @property
    def nbytes(self) -> int:
        """Memory of the bins."""
        return self._bins.nbytes


class RankedClasses(Ranking):
    """The order of two large classes that were sorted: bins are made only when a curve asks for them.

    Parameters
    ----------
    target, nontarget
        Scores in ascending order.
    range_size
        Scores of a class from one possible border of the merged ranges to the next.

    Examples
    --------
    >>> ranking = RankedClasses(np.array([1.0, 2.0, 2.0]), np.array([0.0, 0.5, 2.0]))
    >>> ranking.blocks.low, ranking.blocks.high
    (array([0., 1.]), array([0.5, 2. ]))
    >>> ranking.bins.target
    array([0, 1, 2])
    """

    def __init__(self, target: Array, nontarget: Array, *, range_size: int = RANGE) -> None:
        self._target, self._nontarget, self._range_size = target, nontarget, range_size
        self._bins: ScoreBins | None = None

    def __reduce__(self) -> tuple[type[RankedBins], tuple[ScoreBins]]:
        """What travels to another process or into a file are the counts, not the scores of the trials."""
        return RankedBins, (self.bins,)

    @cached_property
    def _merged(self) -> MergedClasses:
        return merge_sorted(self._target, self._nontarget, range_size=self._range_size)

    @property
    def bins(self) -> ScoreBins:
        """The bins of all trials, made anew each time if they are too large to be kept."""
        if self._bins is not None:
            return self._bins
        bins = bins_of_sorted(self._target, self._nontarget)
        if bins.nbytes <= at_once(KEEP_BYTES):
            self._bins = bins
        return bins

    @cached_property
    def blocks(self) -> PavBlocks:
        """The PAV blocks."""
        t, n = self._merged.blocks
        first = _scores_at(self._target, t[:-1], t[1:] > t[:-1], np.inf)
        others = _scores_at(self._nontarget, n[:-1], n[1:] > n[:-1], np.inf)
        last = _scores_at(self._target, t[1:] - 1, t[1:] > t[:-1], -np.inf)
        last_others = _scores_at(self._nontarget, n[1:] - 1, n[1:] > n[:-1], -np.inf)
        return PavBlocks(
            t[1:] - t[:-1], n[1:] - n[:-1], np.minimum(first, others), np.maximum(last, last_others)
        )

    @property
    def n_target(self) -> int:
        """Number of targets."""
        return len(self._target)

    @property
    def n_nontarget(self) -> int:
        """Number of non-targets."""
        return len(self._nontarget)

    @property
    def doubled_wins(self) -> float:
        """Twice the pairs in which the target scores above the non-target, and once those that tie."""
        return self._merged.doubled_wins

    @property
    def tie_sum(self) -> float:
        """The sum of ``m^3 - m`` over the scores that both classes have, ``m`` trials each."""
        return self._merged.tie_sum

    @property
    def rejected_around_eer(self) -> tuple[Counts, Counts]:
        """Targets and non-targets below the thresholds of the range in which the error rates cross."""
        t, n = self._merged.borders
        after = t / self.n_target >= (self.n_nontarget - n) / self.n_nontarget
        stop = int(np.argmax(after))  # never the first border, below which there is nothing
        here = self._target[t[stop - 1] : t[stop]], self._nontarget[n[stop - 1] : n[stop]]
        bins = bins_at_once(*(scores.astype(np.float64, copy=False) for scores in here))
        return (
            np.append(t[stop - 1] + from_zero(bins.target), self.n_target),
            np.append(n[stop - 1] + from_zero(bins.nontarget), self.n_nontarget),
        )

    @property
    def nbytes(self) -> int:
        """Memory of the sorted scores, and of the bins if they are kept."""
        bins = 0 if self._bins is None else self._bins.nbytes
        return self._target.nbytes + self._nontarget.nbytes + bins


def ranking_of_sorted(target: Array, nontarget: Array) -> Ranking:
    """The order of two sorted classes, in the way that suits their sizes."""
    smaller, larger = sorted((len(target), len(nontarget)))
    few_bins = merged_at_once(target, nontarget) or _MUCH_SMALLER * smaller <= larger
    if few_bins or not products_are_exact(smaller, larger):
        return RankedBins(bins_of_sorted(target, nontarget))
    return RankedClasses(target, nontarget)


def _scores_at(ascending: Array, at: IntArray, there: Array, otherwise: float) -> FloatArray:
    """The scores at some positions, where a block has any of this class."""
    return np.where(there, ascending.take(at, mode="clip").astype(np.float64, copy=False), otherwise)
