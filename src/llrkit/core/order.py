"""Counting by order: two sorted classes are merged by ranges, into PAV blocks or into bins."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from llrkit.base.arguments import Array, Counts, FloatArray, IntArray
from llrkit.base.process import at_once, cached_property, each_in_threads
from llrkit.core import pav

# Tuned for speed (docs/notes/decisions-speed.md); benchmarks/bench_shapes.py times sets of every shape.
RANGE = 1 << 14
"""Scores of a class from one possible border of ranges to the next."""
_BORDERS_IN_RANGE = 2
"""Times as many scores of the smaller class are in a range: what is made of them stays in the cache."""
_WORTH_THREADS = 1 << 18
"""So many scores to look up are worth a pool of threads: short calls of two would wait for each other."""
_LEFT_FOR_LAST = 1 << 10
"""Edges of a range that are pooled with those of all others: short calls of two threads would wait."""
_MUCH_SMALLER = 8
"""From this ratio of the classes on, bins take no more memory than sorted scores, and little time."""
KEEP_BYTES = 128 << 20
"""A ranking that a source in memory keeps for the next metric has at most so many bytes."""


class Ranking:
    """The order of all trials, from which every number that does not read scores as LLRs follows.

    It holds bins, or two large sorted classes, whose bins are made only when a curve asks for them: pooling
    the runs of a range while they are in the cache takes a third of the time of writing them all down first.
    Both give the same to the last bit.

    Parameters
    ----------
    bins
        The bins of all trials.
    classes
        In place of them the scores of targets and of non-targets, both in ascending order.
    range_size
        Scores of a class from one possible border of the merged ranges to the next.

    Examples
    --------
    >>> ranking = Ranking(classes=(np.array([1.0, 2.0, 2.0]), np.array([0.0, 0.5, 2.0])))
    >>> ranking.blocks.low, ranking.blocks.high
    (array([0., 1.]), array([0.5, 2. ]))
    >>> ranking.bins.target
    array([0, 1, 2])
    """

    def __init__(
        self,
        bins: pav.ScoreBins | None = None,
        *,
        classes: tuple[Array, Array] | None = None,
        range_size: int = RANGE,
    ) -> None:
        self._bins, self._classes, self._range_size = bins, classes, range_size

    @classmethod
    def of_sorted(cls, target: Array, nontarget: Array) -> Ranking:
        """The order of two sorted classes, held in the way that suits their sizes."""
        smaller, larger = sorted((len(target), len(nontarget)))
        few_bins = _merged_at_once(target, nontarget, RANGE) or _MUCH_SMALLER * smaller <= larger
        # merging by ranges compares shares in whole numbers only
        if few_bins or not pav.products_are_exact(smaller, larger):
            return cls(bins_of_sorted(target, nontarget))
        return cls(classes=(target, nontarget))

    def __reduce__(self) -> tuple[type[Ranking], tuple[pav.ScoreBins]]:
        """What travels to another process or into a file are the counts, not the scores of the trials."""
        return Ranking, (self.bins,)

    @property
    def bins(self) -> pav.ScoreBins:
        """The bins of all trials, made anew each time if they are too large to be kept."""
        if self._bins is not None:
            return self._bins
        assert self._classes is not None
        bins = bins_of_sorted(*self._classes)
        if bins.nbytes <= at_once(KEEP_BYTES):
            self._bins = bins
        return bins

    @cached_property
    def _merged(self) -> MergedClasses | None:
        return None if self._classes is None else merge_sorted(*self._classes, range_size=self._range_size)

    @cached_property
    def blocks(self) -> pav.PavBlocks:
        """The PAV blocks."""
        return pav.pav_blocks(self.bins) if self._merged is None else self._merged.blocks

    @cached_property
    def n_target(self) -> float:
        """Number (or total weight) of targets."""
        return self.bins.n_target if self._classes is None else len(self._classes[0])

    @cached_property
    def n_nontarget(self) -> float:
        """Number (or total weight) of non-targets."""
        return self.bins.n_nontarget if self._classes is None else len(self._classes[1])

    @cached_property
    def doubled_wins(self) -> float:
        """Twice the pairs in which the target scores above the non-target, and once those that tie."""
        return pav.doubled_wins(self.bins) if self._merged is None else self._merged.doubled_wins

    @cached_property
    def tie_sum(self) -> float:
        """The sum of ``m^3 - m`` over the scores that both classes have, ``m`` trials each."""
        return pav.tie_sum(self.bins) if self._merged is None else self._merged.tie_sum

    @property
    def rejected_around_eer(self) -> tuple[Counts, Counts]:
        """Targets and non-targets below the thresholds around the equal error rate; all of them last."""
        if self._classes is None or self._merged is None:
            return pav.from_zero(self.bins.target), pav.from_zero(self.bins.nontarget)
        # one range is enough: that in which the error rates cross
        t, n = self._merged.borders
        after = t / self.n_target >= (self.n_nontarget - n) / self.n_nontarget
        # at the last border everything is rejected, so the rates have crossed by then
        stop = int(np.argmax(after))  # never the first border, below which there is nothing
        target, nontarget = self._classes
        here = target[t[stop - 1] : t[stop]], nontarget[n[stop - 1] : n[stop]]
        bins = _bins_at_once(*(scores.astype(np.float64, copy=False) for scores in here))
        return (
            np.append(t[stop - 1] + pav.from_zero(bins.target), self.n_target),
            np.append(n[stop - 1] + pav.from_zero(bins.nontarget), self.n_nontarget),
        )

    @property
    def nbytes(self) -> int:
        """Memory of the sorted scores, and of the bins if they are kept."""
        held = (self._bins, *(self._classes or ()))
        return sum(one.nbytes for one in held if one is not None)


class MergedClasses(NamedTuple):
    """What the order of two sorted classes comes to."""

    blocks: pav.PavBlocks
    doubled_wins: float
    """Twice the pairs in which the target scores above the non-target, and once those that tie."""
    tie_sum: float
    """The sum of ``m^3 - m`` over the scores that both classes have, ``m`` trials each."""
    borders: tuple[IntArray, IntArray]
    """How many targets and how many non-targets lie below each border of the ranges."""


def merge_sorted(
    target: Array, nontarget: Array, *, threads: int | None = None, range_size: int = RANGE
) -> MergedClasses:
    """Merge the sorted scores of two classes by ranges, in a pool of threads.

    The runs of a range are pooled while they are in the cache. Pooled again, the blocks of all ranges are
    those of the whole, so nothing that is kept grows with the number of runs.

    Examples
    --------
    >>> merged = merge_sorted(np.array([1.0, 2.0, 2.0]), np.array([0.0, 0.5, 2.0]))
    >>> merged.blocks.target, merged.blocks.nontarget, merged.doubled_wins
    (array([0, 3]), array([2, 1]), 14.0)
    """
    # np.searchsorted converts arrays of two types at every call
    same_type = _of_one_type(target, nontarget)
    borders, looked_up = _ranges_of_sorted(*same_type, range_size)

    def merge_at(i: int) -> tuple[Counts, Counts, int, float]:
        (t, n), (t_stop, n_stop) = borders[i : i + 2]
        t_edges, n_edges, wins, ties = _merge_range(same_type[0][t:t_stop], same_type[1][n:n_stop])
        wins += 2 * n * (t_stop - t)  # those over all ranges before
        # the first edge is the last one of the range before
        return t_edges[1:] + t, n_edges[1:] + n, wins, ties  # from counts in the range to counts in all

    # results are in the order of ranges, whatever the threads
    threads = 1 if looked_up < _WORTH_THREADS else threads
    t_edges, n_edges, wins, ties = zip(
        *each_in_threads(merge_at, range(len(borders) - 1), threads=threads), strict=True
    )
    t, n = pav.block_edges(np.concatenate([[0], *t_edges]), np.concatenate([[0], *n_edges]))
    t_borders, n_borders = np.array(borders).T
    return MergedClasses(
        pav.PavBlocks(
            t[1:] - t[:-1],
            n[1:] - n[:-1],
            # a block begins with whichever class has the lower score in it
            np.minimum(*(_scores_at(x, at[:-1], at, np.inf) for x, at in ((target, t), (nontarget, n)))),
            np.maximum(*(_scores_at(x, at[1:] - 1, at, -np.inf) for x, at in ((target, t), (nontarget, n)))),
        ),
        float(sum(wins)),
        sum(ties),
        (t_borders, n_borders),
    )


def _scores_at(ascending: Array, at: IntArray, edges: IntArray, otherwise: float) -> FloatArray:
    """The first or last scores of one class in blocks with these edges, where a block has any."""
    # an index past the end belongs to a block without scores of this class
    scores = ascending.take(at, mode="clip").astype(np.float64, copy=False)
    return np.where(edges[1:] > edges[:-1], scores, otherwise)


def _merge_range(target: Array, nontarget: Array) -> tuple[Counts, Counts, int, float]:
    """Edges that may be those of blocks, from (0, 0) to the numbers of trials; wins and ties in the range."""
    swapped = len(target) > len(nontarget)
    few, many = (nontarget, target) if swapped else (target, nontarget)
    if not len(few):
        return np.array([0, len(target)]), np.array([0, len(nontarget)]), 0, 0.0
    edges, at, total_below, tie = groups_among(few, many)
    # few are looked up among many: swapped, the pairs found are those that the targets lose
    wins, ties = 2 * (len(few) * len(many) - total_below if swapped else total_below), 0.0
    # A run of targets is pooled with the non-targets that follow it, whatever their numbers. Edges of such
    # pairs of runs lie before each group if the groups are of targets, and behind it if of non-targets.
    # ties are rare among floats; only ranges that have some pay for bins
    if tie:
        bins = _bins_at_once(target, nontarget)
        t_sums, n_sums = pav.from_zero(bins.target), pav.from_zero(bins.nontarget)
        wins, ties = int(pav.doubled_wins(bins)), pav.tie_sum(bins)
    elif swapped:
        t_sums, n_sums = _with_ends(at, len(many)), _with_ends(edges[1:], len(few))
    else:
        t_sums, n_sums = _with_ends(edges[:-1], len(few)), _with_ends(at, len(many))
    t_edges, n_edges = pav.pool_edges(t_sums, n_sums, few=_LEFT_FOR_LAST)
    return t_edges, n_edges, wins, ties


def bins_of_sorted(
    target: Array, nontarget: Array, *, threads: int | None = None, range_size: int = RANGE
) -> pav.ScoreBins:
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
    target, nontarget = _of_one_type(target, nontarget)
    if _merged_at_once(target, nontarget, range_size):
        return _bins_at_once(target, nontarget)
    borders, looked_up = _ranges_of_sorted(target, nontarget, range_size)

    def runs_at(i: int) -> _Runs:
        (t, n), (t_stop, n_stop) = borders[i : i + 2]
        return _runs(target[t:t_stop], nontarget[n:n_stop])

    threads = 1 if looked_up < _WORTH_THREADS else threads
    runs = each_in_threads(runs_at, range(len(borders) - 1), threads=threads)
    # where the bins of each range go, so that threads write without waiting and nothing is copied
    starts = np.cumsum([0, *(size for size, _ in runs)]).tolist()
    columns = _empty_columns(starts[-1])

    def write_at(i: int) -> None:
        here = slice(starts[i], starts[i + 1])
        runs[i][1](_Columns(*(column[here] for column in columns)))

    each_in_threads(write_at, range(len(runs)), threads=threads)
    return pav.ScoreBins(*columns)


def _of_one_type(target: Array, nontarget: Array) -> tuple[Array, Array]:
    if target.dtype == nontarget.dtype:
        return target, nontarget
    return target.astype(np.float64), nontarget.astype(np.float64)


def _merged_at_once(target: Array, nontarget: Array, range_size: int) -> bool:
    """Whether ranges of two classes save nothing: they are small, or nothing is looked up as one is empty."""
    sizes = len(target), len(nontarget)
    return min(sizes) == 0 or max(sizes) <= 2 * range_size


def _ranges_of_sorted(target: Array, nontarget: Array, size: int) -> tuple[list[tuple[int, int]], int]:
    """Where ranges begin and end in both classes, and how many scores are looked up in all of them.

    Neighbors in which the same class has few scores are one range: it is the few that take the time.
    """
    # between two cuts neither class has more than about `size` scores
    cuts = np.unique(np.concatenate([target[size::size], nontarget[size::size]]))
    t, n = _between_runs(target, nontarget, *(x.searchsorted(cuts) for x in (target, nontarget)))
    t, n = _with_ends(t, len(target)), _with_ends(n, len(nontarget))
    borders, looked_up, here, of_targets = [(0, 0)], 0, 0, None
    for t_start, n_start, targets, nontargets in zip(
        t.tolist(), n.tolist(), np.diff(t).tolist(), np.diff(n).tolist(), strict=False
    ):
        few, fewer_targets = min(targets, nontargets), targets <= nontargets
        # one class is looked up in a range, so a range ends where the other becomes the smaller
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
    # A border inside a run has scores of one class on both sides. It moves to where the other class goes on,
    # or to the end.
    for own, other, at, x in ((0, 1, t, target), (1, 0, n, nontarget)):
        last = ~starts[own] & (starts[other] | (before[own] > before[other]))
        first = ~ends[own] & (ends[other] | (after[own] < after[other]))
        cut = np.flatnonzero(last & first)
        to = np.where(ends[other][cut], len(x), x.searchsorted(after[other][cut]))
        moved.append(at.copy())
        moved[own][cut] = to
    return moved[0], moved[1]


def groups_among(few: Array, many: Array) -> tuple[IntArray, IntArray, int, bool]:
    """Look up every one of some ascending scores among those of the other class.

    Scores with as many of the other class below them are a group. Returned are the edges of the groups, how
    many scores of the other class are below each group, how many are below each score, summed, and whether a
    score is one of the other class too: only the last of a group may be.

    Examples
    --------
    >>> groups_among(np.array([1.0, 1.5, 3.0]), np.array([0.0, 2.0]))
    (array([0, 2, 3]), array([1, 2]), 4, False)
    """
    below = np.searchsorted(many, few)
    edges = _with_ends(np.flatnonzero(below[1:] != below[:-1]) + 1, len(few))
    at = below[edges[:-1]]
    # equal scores of the other class are not below, so a tie ends its group
    tie = bool((many.take(at, mode="clip") == few[edges[1:] - 1]).any())
    return edges, at, int(below.sum()), tie


def _with_ends(between: IntArray, stop: int) -> IntArray:
    """One array of 0, the numbers between, and a last one."""
    whole = np.empty(len(between) + 2, dtype=np.intp)
    whole[0], whole[1:-1], whole[-1] = 0, between, stop
    return whole


class _Columns(NamedTuple):
    """Where the bins of a range are written to."""

    target: Counts
    nontarget: Counts
    low: FloatArray
    high: FloatArray


_Runs = tuple[int, Callable[[_Columns], None]]
"""How many bins a range has, and what writes them."""


def _empty_columns(size: int) -> _Columns:
    target, nontarget = (np.empty(size, dtype=np.int64) for _ in range(2))
    low, high = (np.empty(size, dtype=np.float64) for _ in range(2))
    return _Columns(target, nontarget, low, high)


def _bins_at_once(target: Array, nontarget: Array) -> pav.ScoreBins:
    """The bins of two sorted classes of one type, as one range."""
    size, write = _runs(target, nontarget)
    columns = _empty_columns(size)
    write(columns)
    return pav.ScoreBins(*columns)


def _runs(target: Array, nontarget: Array) -> _Runs:
    """The runs of the sorted scores of two classes, at once."""
    swapped = len(target) > len(nontarget)
    few, many = (nontarget, target) if swapped else (target, nontarget)

    def fewer_first(out: _Columns) -> _Columns:
        return _Columns(out.nontarget, out.target, out.low, out.high) if swapped else out

    if not len(few):  # one run, or none at all

        def write_one(out: _Columns) -> None:
            of_few, of_many, low, high = fewer_first(out)
            of_few[:], of_many[:], low[:], high[:] = 0, len(many), many[:1], many[-1:]

        return int(len(many) > 0), write_one
    edges, at, _, tie = groups_among(few, many)
    if tie:
        columns = _runs_with_ties(few, many, edges, at)

        def copy(out: _Columns) -> None:
            for column, values in zip(fewer_first(out), columns, strict=True):
                column[:] = values

        return len(columns[0]), copy
    others = _with_ends(at, len(many))
    if at[0] == 0:  # only at the two ends may there be none of the others
        others = others[1:]
    if at[-1] == len(many):
        others = others[:-1]

    def write(out: _Columns) -> None:
        of_few, of_many, low, high = fewer_first(out)
        # without ties the bins alternate between the classes
        own, other = slice(int(at[0] > 0), None, 2), slice(int(at[0] == 0), None, 2)
        np.subtract(edges[1:], edges[:-1], out=of_few[own])
        np.subtract(others[1:], others[:-1], out=of_many[other])
        of_few[other] = of_many[own] = 0
        low[own], high[own] = few[edges[:-1]], few[edges[1:] - 1]
        low[other], high[other] = many[others[:-1]], many[others[1:] - 1]

    return len(edges) + len(others) - 2, write


def _runs_with_ties(few: Array, many: Array, edges: IntArray, at: IntArray) -> list[Array]:
    """The columns of the bins, that of the class with fewer scores first."""
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
    # indices out of place belong to empty bins, which are dropped at the end
    low[0::3], high[0::3] = many.take(begin, mode="clip"), many[end - 1]
    of_few[1::3] = tie - first
    low[1::3], high[1::3] = few[first], few[tie - 1]
    of_few[2::3], of_many[2::3] = stop - tie, after - at
    low[2::3] = high[2::3] = top
    filled = np.flatnonzero(of_few + of_many)
    return [column[filled] for column in (of_few, of_many, low, high)]
