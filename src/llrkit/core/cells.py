"""Counting in cells: an index of scores, a grid of thresholds, and the trials in its cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal, Self

import numpy as np

from llrkit.base.arguments import Array, ArrayLike, BoolArray, Counts, FloatArray, IntArray
from llrkit.base.process import at_once, cached_property
from llrkit.core.numerics import blocks
from llrkit.core.pav import ScoreBins, total
from llrkit.core.summaries import Both, FieldwiseSums, Summarizer, SummaryBase, both
from llrkit.errors import EmptyClassError, SystemCountError
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.source import S

ClassName = Literal["target", "nontarget"]
# Both classes are collected until one is clearly the larger; small sets keep both.
_CLEARLY_LARGER, _KEEP_BOTH_BELOW = 4, 1 << 16
MOST_POINTS = 1 << 21
"""A class with more distinct scores is dropped too: where both have more, they are sorted instead."""
# Tuned for speed; benchmarks/bench_shapes.py times the sets on which they matter.
SORT_BELOW = 1 << 19  # sorting so few is faster than anything else
_SCORES_PER_CUT = 3  # with fewer, sorting all of them is faster
_SCORES_PER_BUCKET = 16
_BLOCK = 1 << 15  # temporary arrays of this length stay in the inner caches
_BUCKETS_PER_CUT = 16
_FEWEST, _MOST = 1 << 10, 1 << 18


@dataclass(frozen=True, eq=False)
class Grid(SummaryBase):
    """Distinct scores of each class, in ascending order; ``None`` for a class that was dropped.

    Between two neighboring scores of one class lie only scores of the other, so no threshold in between
    can be better than one at the ends: the smaller class has all the thresholds there are.
    """

    n_target: int
    n_nontarget: int
    target: FloatArray | None
    nontarget: FloatArray | None
    only: ClassName | None = None
    """Set when one class was asked for: that class is kept however large it is."""
    weighted: bool = False
    """Whether trials may count more or less than once."""

    @classmethod
    def of(cls, scores: Scores, only: ClassName | None = None) -> Grid:
        """The distinct scores of a chunk, of both classes or of one."""
        n_t, n_n = scores.n_target, scores.n_nontarget
        # a class that is clearly larger in a chunk may be the smaller of the whole set; collect_again() then
        # reads its scores in another pass
        keep_target = only == "target" or (only is None and not _clearly_larger(n_t, n_n))
        keep_nontarget = only == "nontarget" or (only is None and not _clearly_larger(n_n, n_t))
        target, nontarget = score_indexes(scores)
        return cls(
            n_t,
            n_n,
            _within_bounds(distinct_ascending(target.ascending), only) if keep_target else None,
            _within_bounds(distinct_ascending(nontarget.ascending), only) if keep_nontarget else None,
            only,
        )

    def __add__(self, other: Grid) -> Grid:
        n_t, n_n = self.n_target + other.n_target, self.n_nontarget + other.n_nontarget
        drop_target = self.only is None and _clearly_larger(n_t, n_n)
        drop_nontarget = self.only is None and _clearly_larger(n_n, n_t)
        target = None if drop_target else _merge_grids(self.target, other.target)
        nontarget = None if drop_nontarget else _merge_grids(self.nontarget, other.nontarget)
        bounded = _within_bounds(target, self.only), _within_bounds(nontarget, self.only)
        return Grid(n_t, n_n, *bounded, self.only, self.weighted or other.weighted)

    def __mul__(self, weight: float) -> Grid:
        return replace(self, weighted=True)  # how often a score counts changes, not which scores there are

    @property
    def smaller(self) -> ClassName:
        """Which class is the smaller one."""
        return "target" if self.n_target <= self.n_nontarget else "nontarget"

    @property
    def points(self) -> FloatArray | None:
        """The distinct scores of the smaller class, unless they were dropped on the way."""
        return self.target if self.smaller == "target" else self.nontarget


def require_both_classes(n_target: float, n_nontarget: float) -> None:
    """Refuse a set in which one class has no trials."""
    for name, n in (("target", n_target), ("nontarget", n_nontarget)):
        if n == 0:
            raise EmptyClassError(f"there are no {name} trials; both classes need at least one")


def require_one_system(values: Array) -> None:
    """Refuse scores of several systems, which cannot be put in order."""
    if values.ndim != 1:
        raise SystemCountError(
            f"one system expected, got {values.shape[1]}: choose one, scores[:, 1] say, or fuse them first"
        )


def collect_again(source: ScoreSource, grid: Grid | None = None) -> Grid:
    """The grid with the points of the smaller class, by another pass if a first one has dropped them."""
    grid = source.reduce(Grid.of) if grid is None else grid
    require_both_classes(grid.n_target, grid.n_nontarget)
    if grid.points is not None:
        return grid
    return source.reduce(partial(Grid.of, only=grid.smaller))


@dataclass(frozen=True, eq=False)
class TrialCounts(SummaryBase):
    """How the scores of both classes lie on a grid t1 < t2 < ... < tK.

    ``at`` counts the class that made the grid at each of its K points. ``cells`` counts the other class in
    the 2K + 1 cells: below t1, at t1, between t1 and t2, at t2, ..., above tK. ``low`` and ``high`` are the
    smallest and largest of its scores in the K + 1 open cells (inf and -inf where there are none).
    From these every ROC-based number follows exactly, ties included.
    """

    grid: FloatArray
    grid_class: ClassName
    at: Counts
    cells: Counts
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, scores: Scores, grid: FloatArray, grid_class: ClassName) -> TrialCounts:
        """Count a chunk; every score of ``grid_class`` must be a grid point."""
        if grid_class == "target":
            own, other = score_indexes(scores)
        else:
            other, own = score_indexes(scores)
        at = np.zeros(len(grid), dtype=np.int64)
        if len(own):
            # equal scores are neighbors: where each begins tells how often it occurs
            first = np.flatnonzero(np.append(True, own.ascending[1:] != own.ascending[:-1]))
            at[np.searchsorted(grid, own.ascending[first])] = np.diff(np.append(first, len(own)))
        left, right, low, high = other.between(grid)
        cells = np.empty(2 * len(grid) + 1, dtype=np.int64)
        # Scores equal to a grid point have cells of their own, so that ties are counted as ties: put in some
        # order, one target and one non-target with the same score would seem separable.
        cells[1::2] = right - left
        cells[0::2] = np.append(left, len(other)) - np.append(0, right)
        return cls(grid, grid_class, at, cells, low, high)

    def __add__(self, other: TrialCounts) -> TrialCounts:
        return TrialCounts(
            self.grid,
            self.grid_class,
            self.at + other.at,
            self.cells + other.cells,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    def __mul__(self, weight: float) -> TrialCounts:
        return self.weighted(weight, weight)

    def weighted(self, target: float, nontarget: float) -> TrialCounts:
        """Count every target ``target`` times and every non-target ``nontarget`` times."""
        own, other = (target, nontarget) if self.grid_class == "target" else (nontarget, target)
        return TrialCounts(self.grid, self.grid_class, self.at * own, self.cells * other, self.low, self.high)

    @property
    def n_target(self) -> float:
        """Number (or total weight) of targets."""
        return total(self.at if self.grid_class == "target" else self.cells)

    @property
    def n_nontarget(self) -> float:
        """Number (or total weight) of non-targets."""
        return total(self.cells if self.grid_class == "target" else self.at)

    def bins(self) -> ScoreBins:
        """The same counts as bins in ascending order, empty ones left out, runs of one class joined."""
        k = len(self.grid)
        own = np.zeros(2 * k + 1, dtype=self.at.dtype)
        own[1::2] = self.at
        low, high = np.empty(2 * k + 1), np.empty(2 * k + 1)
        low[1::2] = high[1::2] = self.grid
        low[0::2], high[0::2] = self.low, self.high
        target, nontarget = (own, self.cells) if self.grid_class == "target" else (self.cells, own)
        # Pure bins next to each other are one run: no threshold inside it can matter.
        has_target, has_nontarget = target > 0, nontarget > 0
        filled = np.flatnonzero(has_target | has_nontarget)
        has_target, has_nontarget = has_target[filled], has_nontarget[filled]
        first = np.ones(len(filled), dtype=bool)
        # a bin of both classes is a tie and is joined with nothing
        first[1:] = (has_target[1:] != has_target[:-1]) | (has_target[1:] & has_nontarget[1:])
        first[1:] |= has_nontarget[1:] != has_nontarget[:-1]
        start = np.flatnonzero(first)
        stop = np.append(start[1:], len(filled)) - 1
        return ScoreBins(
            target=np.add.reduceat(target[filled], start),
            nontarget=np.add.reduceat(nontarget[filled], start),
            low=low[filled[start]],
            high=high[filled[stop]],
        )


def count_on(grid: Grid) -> Callable[[Scores], TrialCounts]:
    """A summarizer that counts on a grid."""
    points, smaller = grid.points, grid.smaller
    if points is None:
        raise ValueError("the grid has lost the points of its smaller class; call collect_again first")
    return lambda chunk: TrialCounts.of(chunk, points, smaller)


def count_beside(
    grid: Grid, cuts: FloatArray, other: Summarizer[S]
) -> Summarizer[Both[tuple[TrialCounts, S]]]:
    """A summarizer that counts on a grid, and makes another summary that counts the trials below cuts."""
    summarize, points, ascending = both(count_on(grid), other), grid.points, np.sort(cuts)

    def prepared(chunk: Scores) -> Both[tuple[TrialCounts, S]]:
        larger = score_indexes(chunk)[1 if grid.smaller == "target" else 0]
        if points is not None and len(ascending):
            larger.prepare(points, ascending)  # one look at the scores for both summaries
        return summarize(chunk)

    return prepared


def count_trials(source: ScoreSource, grid: Grid | None = None) -> TrialCounts:
    """Count all trials of a source in cells: one pass for the grid, unless it is known, one for the counts.

    Examples
    --------
    >>> counts = count_trials(Scores([1.0, 2.0, 2.0], [0.0, 1.0]))
    >>> counts.grid, counts.at, counts.cells
    (array([0., 1.]), array([1, 1]), array([0, 0, 0, 1, 2]))
    """
    counts = source.reduce(count_on(collect_again(source, grid)))
    require_both_classes(counts.n_target, counts.n_nontarget)
    return counts


@dataclass(frozen=True, eq=False)
class BelowCounts(FieldwiseSums):
    """``target[j]`` and ``nontarget[j]`` count the trials below ``thresholds[j]``.

    Examples
    --------
    >>> below = Scores([2.0, -1.0], [-3.0]).reduce(BelowCounts.at([0.0, -2.0]))
    >>> below.target, below.nontarget
    (array([1, 0]), array([1, 1]))
    """

    thresholds: FloatArray
    target: Counts
    nontarget: Counts
    _alike: ClassVar[tuple[str, ...]] = ("thresholds",)

    @classmethod
    def of(cls, scores: Scores, thresholds: ArrayLike) -> Self:
        """The counts of a chunk; thresholds may be in any order."""
        cuts = np.atleast_1d(np.asarray(thresholds, dtype=np.float64))
        indexes = score_indexes(scores)
        if not len(cuts):
            none = np.zeros(0, dtype=np.int64)
            return cls(cuts, none, none)
        order = np.argsort(cuts)  # buckets and searches take cuts in order
        below = []
        for index in indexes:
            counts = np.empty(len(cuts), dtype=np.int64)
            counts[order] = index.count_below(cuts[order])[0]
            below.append(counts)
        return cls(cuts, *below)

    @classmethod
    def at(cls, thresholds: ArrayLike) -> Callable[[Scores], Self]:
        """A summarizer for given thresholds."""
        return lambda chunk: cls.of(chunk, thresholds)


def _clearly_larger(n: int, than: int) -> bool:
    return n > _CLEARLY_LARGER * than + at_once(_KEEP_BOTH_BELOW, unit=8)


def _within_bounds(points: FloatArray | None, only: ClassName | None) -> FloatArray | None:
    too_many = only is None and points is not None and len(points) > at_once(MOST_POINTS, unit=8)
    return None if too_many else points


def distinct_ascending(ascending: FloatArray) -> FloatArray:
    """Each value of an ascending array once."""
    if len(ascending) < 2:
        return ascending
    first = np.empty(len(ascending), dtype=bool)
    first[0] = True
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return ascending if first.all() else ascending[first]


def _merge_grids(a: FloatArray | None, b: FloatArray | None) -> FloatArray | None:
    if a is None or b is None:
        return None
    if len(a) == 0 or len(b) == 0:
        return b if len(a) == 0 else a
    # the stable sort recognizes the two sorted runs and merges them
    return distinct_ascending(np.sort(np.concatenate([a, b]), kind="stable"))


def score_indexes(chunk: Scores) -> tuple[ScoreIndex, ScoreIndex]:
    """The target and the non-target scores of a chunk prepared for counting, once for all its summaries."""
    return chunk.prepared(_sorted_index if chunk.ascending else ScoreIndex)


def _sorted_index(ascending: Array) -> ScoreIndex:
    return ScoreIndex(ascending, ascending=True)


class ScoreIndex:
    """One array of scores, prepared for counting.

    Scores are dropped into even buckets by a non-decreasing function of the score, so that scores in
    another bucket than a cut are known to lie below or above it. Only scores that share a bucket with a
    cut are sorted and compared, which is a small part when there are many more scores than cuts.

    Examples
    --------
    >>> index = ScoreIndex(np.array([3.0, 1.0, 2.0, 2.0]))
    >>> index.count_below(np.array([2.0]))
    (array([1]), array([3]))
    """

    def __init__(self, values: Array, *, ascending: bool = False, sort_below: int = SORT_BELOW) -> None:
        require_one_system(values)
        self.values = values
        self._is_ascending = ascending
        self._sort_below = sort_below
        self._near: _Near | None = None

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def ascending(self) -> FloatArray:
        """All scores in ascending order, as float64."""
        # float32 sorts twice as fast and its order survives the conversion
        ordered = self.values if self._is_ascending else np.sort(self.values)
        return ordered.astype(np.float64, copy=False)

    @property
    def summands(self) -> Array:
        """The scores to be summed over: in ascending order where sorting is cheap.

        A sum of rounded numbers depends on their order by its last bit; this one does not depend on the order
        in which the trials came, as long as there are fewer than about half a million.
        """
        return self.ascending if len(self.values) < self._sort_below else self.values

    @cached_property
    def extremes(self) -> tuple[float, float]:
        """Smallest and largest score."""
        return float(self.values.min()), float(self.values.max())

    @cached_property
    def _buckets(self) -> _Buckets | None:
        """The scores in buckets, or None where sorting them all is the better way."""
        n = len(self.values)
        if n < self._sort_below or self._is_ascending:
            return None
        # Even buckets between the extremes: there are none if a score is infinite.
        low, high = self.extremes
        count = n // _SCORES_PER_BUCKET
        scale = count / (high - low) if high - low > 0 else np.inf  # inf: all scores are equal
        if not (np.isfinite(scale) and np.isfinite(high - low)):
            return None  # infinite scores, or all of them equal
        return _Buckets(self.values, low, high, scale, count + 1)

    def count_below(self, cuts: FloatArray) -> tuple[IntArray, IntArray]:
        """For each of some ascending cuts, how many scores are below it and how many at or below it."""
        ordered, skipped = self._around(cuts, neighbors=False)
        left, right = _ranks_of_cuts(ordered, cuts)
        return left + skipped, right + skipped

    def between(self, cuts: FloatArray) -> tuple[IntArray, IntArray, Array, Array]:
        """Like :meth:`count_below`, and the smallest and largest score in each open interval.

        There are ``len(cuts) + 1`` intervals: below the first cut, between the cuts, above the last.
        An empty one has inf as its smallest and -inf as its largest score. Extremes of 32-bit scores
        have 32 bits.
        """
        ordered, skipped = self._around(cuts, neighbors=True)
        left, right = _ranks_of_cuts(ordered, cuts)
        # extremes of 32-bit scores are such scores
        kind = self.values.dtype if self.values.dtype == np.float32 else np.float64  # these arrays are long
        low, high = (np.full(len(cuts) + 1, end, dtype=kind) for end in (np.inf, -np.inf))
        # An interval begins after the scores at one cut and ends before those at the next.
        for start in range(1, len(cuts), _BLOCK):
            here = slice(start, min(start + _BLOCK, len(cuts)))
            before = slice(here.start - 1, here.stop - 1)
            filled = np.flatnonzero(left[here] + skipped[here] > right[before] + skipped[before])
            low[start + filled] = ordered[right[before][filled]]
            high[start + filled] = ordered[left[here][filled] - 1]
        left += skipped
        right += skipped
        # Scores outside all cuts have only their inner ends among those that were sorted; the outer ones are
        # the extremes.
        if len(self) and len(cuts):
            smallest, largest = self.extremes
            if left[0] > 0:
                low[0], high[0] = smallest, ordered[left[0] - skipped[0] - 1]
            if right[-1] < len(self):
                low[-1], high[-1] = ordered[right[-1] - skipped[-1]], largest
        elif len(self):
            low[0], high[0] = self.extremes
        return left, right, low, high

    def prepare(self, cuts: FloatArray, more: FloatArray) -> None:
        """Look once for what :meth:`between` the cuts and :meth:`count_below` of some more will need."""
        buckets = self._buckets_for(len(cuts) + len(more))
        if buckets is not None:
            # extremes between cuts are needed for the grid only; the other cuts just count
            wanted = buckets.around(cuts, neighbors=True) | buckets.around(more, neighbors=False)
            self._near = _Near(self.values, buckets, wanted, cuts)

    def _buckets_for(self, n_cuts: int) -> _Buckets | None:
        # with many cuts nearly every bucket holds one, and sorting all scores is the shorter way
        return None if _SCORES_PER_CUT * n_cuts > len(self.values) else self._buckets

    def _around(self, cuts: FloatArray, *, neighbors: bool) -> tuple[FloatArray, IntArray]:
        """The sorted scores near the cuts, and for each cut how many scores below it were left out."""
        if len(cuts) == 0:
            return np.empty(0), np.empty(0, dtype=np.intp)
        buckets = self._buckets_for(len(cuts))
        if buckets is None:
            return self.ascending, np.zeros(len(cuts), dtype=np.intp)
        near, where = self._near, buckets.of_cuts(cuts)
        # by identity, which is certain and free: it was prepared for this very array, or not
        ready = near is not None and (near.around is cuts if neighbors else bool(near.wanted[where].all()))
        if near is None or not ready:
            wanted = buckets.around(cuts, neighbors=neighbors)
            near = self._near = _Near(self.values, buckets, wanted, cuts if neighbors else None)
        # a cut beyond all scores is put into an end bucket, which tells the same
        return near.ascending, near.left_out[where]


class _Near:
    """The scores of some buckets in ascending order, and how many were left out up to each bucket.

    ``around`` are the cuts whose nearest filled buckets are among them.
    """

    def __init__(
        self, values: Array, buckets: _Buckets, wanted: BoolArray, around: FloatArray | None
    ) -> None:
        self.wanted, self.around = wanted, around
        near = values[np.flatnonzero(wanted[buckets.bucket])]  # faster than the mask itself: few are wanted
        # sorted in the type they have, which is faster for 32 bits, then converted
        self.ascending: FloatArray = np.sort(near).astype(np.float64, copy=False)
        # up to and including the bucket of a cut, which is wanted and leaves out nothing
        self.left_out = np.cumsum(np.where(wanted, 0, buckets.counts))


class _Buckets:
    """Scores in even buckets between their extremes."""

    def __init__(self, values: Array, low: float, high: float, scale: float, n: int) -> None:
        self.low, self.high, self.scale, self.n = low, high, scale, n
        self.bucket: IntArray = np.empty(len(values), dtype=np.intp)
        position = np.empty(min(len(values), _BLOCK))
        for start in range(0, len(values), _BLOCK):
            part = values[start : start + _BLOCK]
            # Subtraction and multiplication are monotone in floating-point arithmetic too, so a score in
            # another bucket than a cut is surely on that side of it.
            out = np.subtract(part, low, out=position[: len(part)], dtype=np.float64)
            out *= scale
            self.bucket[start : start + _BLOCK] = out  # truncation is floor: nothing is negative
        self.counts = np.bincount(self.bucket, minlength=n)
        # rounding may put the largest score one bucket further
        self.n = len(self.counts)

    def of_cuts(self, cuts: FloatArray) -> IntArray:
        """The bucket of each cut, by the same arithmetic as for the scores; the end ones for cuts outside."""
        inside = np.clip(cuts, self.low, self.high)
        return ((inside - self.low) * self.scale).astype(np.intp)

    def around(self, cuts: FloatArray, *, neighbors: bool) -> BoolArray:
        """Which buckets hold a cut or, if asked for, are the nearest filled ones on either side of one."""
        where = self.of_cuts(cuts)
        wanted = np.zeros(self.n, dtype=bool)
        wanted[where] = True
        if neighbors:
            # the smallest and largest score between two cuts may lie in buckets without a cut
            filled = np.flatnonzero(self.counts)
            above = np.searchsorted(filled, where, side="right")
            below = np.searchsorted(filled, where, side="left") - 1
            wanted[filled[above[above < len(filled)]]] = True
            wanted[filled[below[below >= 0]]] = True
        return wanted


def _ranks_of_cuts(ascending: FloatArray, cuts: FloatArray) -> tuple[IntArray, IntArray]:
    left = np.searchsorted(ascending, cuts, side="left")
    # few cuts tie with a score as a rule; only those are searched for a second time
    right = left.copy()
    for start in range(0, len(cuts), _BLOCK):  # large temporary arrays cost more than what is done with them
        here, block = left[start : start + _BLOCK], cuts[start : start + _BLOCK]
        inside = np.flatnonzero(here < len(ascending))
        tied = inside[ascending[here[inside]] == block[inside]]
        right[start + tied] = np.searchsorted(ascending, block[tied], side="right")
    return left, right


class CellFinder:
    """Numbers the cells between ascending cuts: cell ``i`` holds the scores with ``i`` cuts at or below them.

    The same as ``np.searchsorted(cuts, scores, side="right")``. Scores and cuts are dropped into even
    buckets by a non-decreasing function; a score that shares its bucket with no cut is looked up, only
    the others are searched for.

    Examples
    --------
    >>> CellFinder(np.array([0.0, 1.0]))(np.array([-1.0, 0.0, 0.5, 1.0, np.inf]))
    array([0, 1, 1, 2, 2])
    """

    def __init__(self, cuts: ArrayLike) -> None:
        self.cuts: FloatArray = np.asarray(cuts, dtype=np.float64)
        self._first: IntArray | None = None
        finite = self.cuts[np.isfinite(self.cuts)]
        spread = float(finite[-1]) - float(finite[0]) if len(finite) > 1 else 0.0
        count = int(np.clip(_BUCKETS_PER_CUT * len(finite), _FEWEST, _MOST))
        if not (0.0 < spread < np.inf and count / spread < np.inf):
            return  # nothing to divide evenly
        self._scale = count / spread
        # one bucket more on either side, for everything beyond the cuts
        self._low, self._high = float(finite[0]) - 1.5 / self._scale, float(finite[-1]) + 1.5 / self._scale
        bucket = self._bucket(finite)
        held = np.bincount(bucket, minlength=count + 4)
        # cuts at -inf are in no bucket but below all of them
        first = np.cumsum(held) - held + int((self.cuts == -np.inf).sum())
        # A bucket with a cut says nothing about the order of its scores.
        # -1 where a cut lies in the bucket, so that one look says both
        self._first = np.where(held > 0, -1, first)

    @property
    def n_cells(self) -> int:
        """Number of cells: one more than cuts."""
        return len(self.cuts) + 1

    def _bucket(self, values: Array) -> IntArray:
        # clipped first: infinite scores have no place among even buckets
        position = np.clip(values, self._low, self._high, dtype=np.float64)
        position -= self._low
        position *= self._scale
        return np.asarray(position, dtype=np.intp)

    def __call__(self, values: Array) -> IntArray:
        """The cell of each score."""
        if self._first is None:
            return np.searchsorted(self.cuts, values.astype(np.float64, copy=False), side="right")
        cell = np.empty(len(values), dtype=np.intp)
        for block in blocks(len(values)):
            block_values = values[block]
            block_cells = self._first[self._bucket(block_values)]
            near = np.flatnonzero(block_cells < 0)
            if len(near):
                close = block_values[near].astype(np.float64, copy=False)
                block_cells[near] = np.searchsorted(self.cuts, close, side="right")
            # clipping has put inf below a cut at inf, which it reaches
            infinite = self.cuts[-1] == np.inf and block_values.max() == np.inf
            if infinite:
                block_cells[block_values == np.inf] = len(self.cuts)
            cell[block] = block_cells
        return cell
