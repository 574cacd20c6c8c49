"""Pool adjacent violators: bins of scores, pooled blocks and the ROC convex hull."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from llrkit.base.arguments import Array, BoolArray, Counts, FloatArray, IntArray
from llrkit.base.process import cached_property, each_in_threads
from llrkit.core.numerics import blocks
from llrkit.core.summaries import ReadOnlyArrays

# Tuned for speed (docs/notes/decisions-speed.md); benchmarks/bench_shapes.py times sets of every shape.
AT_A_TIME = 24_000
"""Bins pooled together: their temporary arrays are small enough for the allocator to reuse them."""
FEW = 1 << 5
"""So few bins are pooled one by one; passes over arrays would cost more."""
_HARDLY_FEWER = 0.9
"""A pass that leaves more of the bins is the last: a chain that pools one by one would take too many."""
_FIRST_REACH = 1 << 4
"""Bins on either side of one that does not rise, which are pooled with it first."""
_WORTH_THREADS = 1 << 18  # fewer bins are pooled in the calling thread
_LARGEST_PRODUCT = float(1 << 62)  # of int64, with a factor of two to spare
_BINS_AT_A_TIME = 1 << 14
"""Bins of which temporary arrays are made together: small enough for the allocator to reuse them."""
_FEW = 1 << 12
"""Error rates at so few points are computed at all of them: halving would cost more."""


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


def doubled_wins(bins: ScoreBins) -> float:
    """Twice the pairs in which the target scores above the non-target, and once those that tie.

    Examples
    --------
    >>> doubled_wins(ScoreBins(np.array([0, 1, 1]), np.array([1, 1, 0]), *np.array([[0.0, 1.0, 2.0]] * 2)))
    7.0
    """
    # in the type of the counts: whole numbers are summed as such
    wins, below = 0.0, bins.nontarget.dtype.type(0)
    for part in blocks(len(bins.low), _BINS_AT_A_TIME):
        nontarget = bins.nontarget[part]
        sums = below + np.cumsum(nontarget)
        # 2 * below + nontarget keeps whole numbers whole; one row of the sum may exceed 2^63, hence floats
        wins += float((bins.target[part].astype(np.float64) * (2 * sums - nontarget)).sum())
        below = sums[-1]
    return wins


def tie_sum(bins: ScoreBins) -> float:
    """The sum of ``m^3 - m`` over the bins that hold both classes, ``m`` trials each.

    Examples
    --------
    >>> tie_sum(ScoreBins(np.array([0, 2]), np.array([1, 1]), *np.array([[0.0, 1.0]] * 2)))
    24.0
    """
    # a bin of one class is a run of different scores, so its size says nothing about ties
    shared = np.flatnonzero((bins.target > 0) & (bins.nontarget > 0))
    tied = bins.target[shared].astype(np.float64) + bins.nontarget[shared]
    return float((tied**3 - tied).sum())


def joined_bins(ranges: Iterable[ScoreBins]) -> ScoreBins:
    """The bins of ascending ranges as one; a run that goes over a border becomes one run again."""
    columns: list[Sequence[Array]] = []
    for bins in ranges:
        if not len(bins.low):
            continue
        here = [bins.target, bins.nontarget, bins.low, bins.high]
        before = columns[-1] if columns else None
        # whether the last bin before the border and the first after it are runs of one class
        # a tie at the border stays a bin of its own
        if before and any(before[i][-1] == 0 == here[i][0] for i in (0, 1)):
            for i in (0, 1):
                here[i] = np.append(here[i][0] + before[i][-1], here[i][1:])
            here[2] = np.append(before[2][-1], here[2][1:])
            columns[-1] = [array[:-1] for array in before]
        columns.append(here)
    if len(columns) == 1:
        return ScoreBins(*columns[0])
    return ScoreBins(*(np.concatenate(arrays) for arrays in zip(*columns, strict=True)))


@dataclass(frozen=True, eq=False)
class PavBlocks(ReadOnlyArrays):
    """Bins pooled until the share of targets increases from block to block.

    The LLR of a block is ``log(target / n_target) - log(nontarget / n_nontarget)``: the optimal
    non-decreasing map from score to LLR on these trials. Block ends are the vertices of the ROC convex hull.
    """

    target: Counts
    nontarget: Counts
    low: FloatArray
    high: FloatArray

    @cached_property
    def llr(self) -> FloatArray:
        """The LLR of each block, non-decreasing, -inf and inf where a block has one class only."""
        with np.errstate(divide="ignore"):  # log(0) is the answer here
            llr = np.asarray(
                np.log(self.target) - np.log(self.nontarget)
                - (np.log(self.target.sum()) - np.log(self.nontarget.sum()))
            )  # fmt: skip
        llr.flags.writeable = False
        return llr

    @cached_property
    def hull(self) -> ErrorPath:
        """The ROC convex hull."""
        return error_path(self)


def pav_blocks(bins: ScoreBins) -> PavBlocks:
    """Pool adjacent violators.

    Examples
    --------
    >>> bins = ScoreBins(np.array([0, 1, 0, 1]), np.array([1, 0, 1, 0]), *np.array([[1.0, 2, 3, 4]] * 2))
    >>> blocks = pav_blocks(bins)
    >>> blocks.target, blocks.nontarget
    (array([0, 1, 1]), array([1, 1, 0]))
    """
    start = bins.block_starts
    stop = np.append(start[1:], len(bins.low)) - 1
    return PavBlocks(
        np.add.reduceat(bins.target, start),  # exact, unless trials are weighted
        np.add.reduceat(bins.nontarget, start),
        bins.low[start],
        bins.high[stop],
    )


@dataclass(frozen=True, eq=False)
class ErrorPath(ReadOnlyArrays):
    """A path of error counts from "accept all" to "reject all": a ROC or its convex hull.

    ``n_miss[i]`` and ``n_fa[i]`` are the errors of accepting what scores at least ``threshold[i]``.
    The last threshold is inf and stands for rejecting everything.
    """

    n_miss: Counts
    n_fa: Counts
    threshold: FloatArray
    n_target: float
    n_nontarget: float

    @cached_property
    def p_miss(self) -> FloatArray:
        """Miss rate of each vertex."""
        with np.errstate(invalid="ignore", divide="ignore"):  # without targets there is no rate
            return self.n_miss / self.n_target

    @cached_property
    def p_fa(self) -> FloatArray:
        """False-alarm rate of each vertex."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.n_fa / self.n_nontarget


def error_path(bins: ScoreBins | PavBlocks) -> ErrorPath:
    """The ROC of bins, or the ROC convex hull of PAV blocks.

    Examples
    --------
    >>> path = error_path(ScoreBins(np.array([0, 1]), np.array([2, 0]), *np.array([[1.0, 3.0]] * 2)))
    >>> path.n_miss, path.n_fa, path.threshold
    (array([0, 0, 1]), array([2, 0, 0]), array([ 1.,  3., inf]))
    """
    n_miss, rejected = from_zero(bins.target), from_zero(bins.nontarget)
    # subtracting from the last sum ends at an exact zero also for weighted counts
    return ErrorPath(
        n_miss, rejected[-1] - rejected, np.append(bins.low, np.inf), n_miss[-1].item(), rejected[-1].item()
    )


def crossing_of_rejected(missed: Counts, others: Sequence[Counts]) -> float:
    """Where misses and false alarms of all others together are equal, from running sums of the rejected.

    The same as :func:`crossing` of both rates, whose difference never falls: the place is found by halving.

    Examples
    --------
    >>> crossing_of_rejected(np.array([0, 0, 1, 2]), [np.array([0, 2, 4, 4])])
    0.25
    """

    n_target, n = missed[-1].item(), sum(sums[-1].item() for sums in others)
    if not n_target or not n:
        return math.nan
    if len(missed) <= _FEW:
        return crossing(missed / n_target, np.asarray((n - sum(others)) / n))

    def rates(i: int) -> tuple[float, float]:
        return missed[i].item() / n_target, (n - sum(sums[i].item() for sums in others)) / n

    # running sums of millions of trials are looked at in a few places instead of being divided
    i = bisect_left(range(len(missed)), True, key=lambda i: rates(i)[0] >= rates(i)[1])
    around = np.array([rates(j) for j in range(max(i - 1, 0), i + 1)])
    return crossing(around[:, 0], around[:, 1])


def crossing(rising: FloatArray, falling: FloatArray) -> float:
    """The common value where a non-decreasing and a non-increasing polyline meet.

    Examples
    --------
    >>> crossing(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    0.5
    """
    gap = rising - falling
    i = int(np.argmax(gap >= 0))
    if gap[i] == 0 or i == 0:  # with nothing before the first point, there is nothing to interpolate
        return float(rising[i])
    before, after = -gap[i - 1], gap[i]
    share = before / (before + after)
    return float(rising[i - 1] + share * (rising[i] - rising[i - 1]))


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
    # beyond 64 bits products would wrap around; those of floats are only rounded
    if exact and not products_are_exact(target.sum(), nontarget.sum()):
        target, nontarget, exact = target.astype(np.float64), nontarget.astype(np.float64), False
    pooled = _pooled_whole if exact else _pooled
    if len(target) <= at_a_time:
        return pooled(target, nontarget, few)

    def starts_in(part: slice) -> IntArray:
        return np.asarray(pooled(target[part], nontarget[part], few) + part.start)

    threads = 1 if len(target) < _WORTH_THREADS else None
    start = np.concatenate(each_in_threads(starts_in, blocks(len(target), at_a_time), threads=threads))
    # blocks at the borders of ranges may still have to be pooled with their neighbors
    return start[pooled(np.add.reduceat(target, start), np.add.reduceat(nontarget, start), few)]


def products_are_exact(n_target: float, n_nontarget: float) -> bool:
    """Whether products of counts of so many trials fit into 64 bits."""
    return float(n_target) * float(n_nontarget) < _LARGEST_PRODUCT


def pool_edges(t_sums: Counts, n_sums: Counts, *others: Array, few: int = FEW) -> tuple[Array, ...]:
    """Drop the edges of bins that are pooled, by passes over arrays; what would take many passes is left.

    The sums say how many trials of each class lie below each edge, in whole numbers, whose differences are
    exact. ``others`` are arrays with a value for each edge, dropped likewise.

    Examples
    --------
    >>> pool_edges(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1, 2, 2]), np.arange(5), few=1)
    (array([0, 0, 1, 2]), array([0, 1, 2, 2]), array([0, 1, 3, 4]))
    """
    hardly = False
    while len(t_sums) > few + 1 and not hardly:
        target, nontarget = t_sums[1:] - t_sums[:-1], n_sums[1:] - n_sums[:-1]
        # every edge that does not rise goes in one pass: pooling order does not change the blocks
        rises = np.flatnonzero(_rises(target, nontarget))
        kept = np.empty(len(rises) + 2, dtype=np.intp)
        kept[0], kept[1:-1], kept[-1] = 0, rises + 1, len(target)
        hardly = len(kept) > _HARDLY_FEWER * len(t_sums)
        t_sums, n_sums = t_sums[kept], n_sums[kept]
        others = tuple(other[kept] for other in others)
    return t_sums, n_sums, *others


def block_edges(t_sums: IntArray, n_sums: IntArray) -> tuple[IntArray, IntArray]:
    """The trials of each class below the edges of PAV blocks, from those below the edges of bins.

    Examples
    --------
    >>> block_edges(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1, 2, 2]))
    (array([0, 0, 1, 2]), array([0, 1, 2, 2]))
    """
    t_sums, n_sums = pool_edges(t_sums, n_sums)
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
        first = np.flatnonzero(np.append(True, _rises(target, nontarget)))
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
        # windows could cover half of the bins: one pass over all of them is simpler
        if 4 * reach * len(falls) > len(start):
            return start[_one_by_one(target, nontarget)]
        kept = _pooled_around(falls, reach, target, nontarget)
        start = start[kept]
        target, nontarget = np.add.reduceat(target, kept), np.add.reduceat(nontarget, kept)
        reach *= 2  # a window that was too short is twice as long next time
    return start


def _pooled_around(falls: IntArray, reach: int, target: Counts, nontarget: Counts) -> IntArray:
    """The first bins of the blocks after pooling as far as ``reach`` bins from those that do not rise."""
    kept = np.ones(len(target), dtype=bool)
    # neighbors whose windows overlap share one
    windows = np.split(falls, np.flatnonzero(np.diff(falls) > 2 * reach) + 1)
    for window in windows:
        low, high = max(int(window[0]) + 1 - reach, 0), int(window[-1]) + 1 + reach
        kept[low:high] = False
        kept[low + np.array(_one_by_one(target[low:high], nontarget[low:high]))] = True
    return np.flatnonzero(kept)


def _rises(target: Counts, nontarget: Counts) -> BoolArray:
    """Where the share of targets of a bin is above that of the one before."""
    # products instead of quotients: no division by an empty class, and equal shares stay equal
    return np.asarray(target[:-1] * nontarget[1:] < target[1:] * nontarget[:-1])


def _one_by_one(target: Counts, nontarget: Counts) -> list[int]:
    starts: list[int] = []
    ts: list[float] = []
    ns: list[float] = []
    for i, (t, n) in enumerate(zip(target.tolist(), nontarget.tolist(), strict=True)):
        start = i
        # equal shares are one block: the hull has no vertex between them
        while starts and ts[-1] * n >= t * ns[-1]:
            t, n, start = t + ts.pop(), n + ns.pop(), starts.pop()
        starts.append(start)
        ts.append(t)
        ns.append(n)
    return starts
