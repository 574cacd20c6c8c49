"""Counting all trials of a source, in the one of two ways that suits their numbers.

Cells: where one class is much the smaller, the other is counted between its distinct scores, mostly without
sorting. Order: where both are large, or all trials are few, each class is sorted once and the two are merged.
What is too much to be sorted at a time is cut into ranges of score, which one pass writes to temporary files;
a cluster, whose scores are not at hand, takes a pass for each range. All ways give the same to the last bit.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import IO, NamedTuple

import numpy as np

from llrkit.base.arguments import Array, ArrayLike, Counts, FloatArray, IntArray
from llrkit.base.process import at_once, each_in_threads
from llrkit.core import cells
from llrkit.core.order import KEEP_BYTES, Ranking, bins_of_sorted
from llrkit.core.pav import PavBlocks, ScoreBins, joined_bins
from llrkit.core.summaries import Sample, both
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived import GatheredChunks

# Tuned for speed; benchmarks/bench_shapes.py times sets in memory, benchmarks/out_of_core.py large files.
ALWAYS_SORTED = 1 << 16
"""So few trials are sorted whatever their classes."""
MUCH_SMALLER = 16
"""From this ratio of the classes on, cells cost less than sorting."""
MOST_PASSES = 4
"""A set of more ranges is counted in cells, unless the cells are too many."""
MOST_CELLS = 1 << 24  # a smaller class with more distinct scores is sorted whatever the passes cost
COLLECT_BYTES = 256 << 20
"""Memory of the scores that are sorted at a time, at 8 bytes each; a larger set is cut into ranges."""
RANGES_OF_FILES = 4
"""Ranges of scores in files for one that would be collected: every thread holds one at a time."""
_WORTH_A_THREAD = 1 << 18  # fewer scores of a class are sorted in the calling thread
_MORE_ROOM = 1.25
"""Free space of the disk over what the scores take, at least."""


def count_bins(source: ScoreSource) -> ScoreBins:
    """The bins of all trials of a source.

    Examples
    --------
    >>> bins = count_bins(Scores([1.0, 2.0, 2.0], [0.0, 1.0]))
    >>> bins.target, bins.nontarget, bins.low
    (array([0, 1, 2]), array([1, 1, 0]), array([0., 1., 2.]))
    """
    return rank(source).bins


def count_blocks(source: ScoreSource) -> PavBlocks:
    """The PAV blocks of all trials of a source.

    Examples
    --------
    >>> blocks = count_blocks(Scores([1.0, 2.0, 2.0], [0.0, 1.0]))
    >>> blocks.target, blocks.nontarget
    (array([0, 1, 2]), array([1, 1, 0]))
    """
    return rank(source).blocks


def rank(source: ScoreSource) -> Ranking:
    """The order of all trials of a source; a source in memory keeps it for the next metric."""
    already = (source.kept_counts or {}).get("ranking")
    return already if isinstance(already, Ranking) else count(in_order_if_kept(source))[0]


def in_order_if_kept(source: ScoreSource) -> ScoreSource:
    """A source whose classes counting sorts in ascending order, if that is kept for the next metric."""
    sizes = source.sizes
    return source.in_order(if_small=True) if sizes is not None and FirstLook(*sizes).sorts else source


@dataclass(frozen=True, eq=False)
class FirstLook:
    """What the way of counting is chosen from: the numbers of trials, and what a first pass found."""

    n_target: int
    n_nontarget: int
    grid: cells.Grid | None = None
    sample: Sample | None = None

    @classmethod
    def of(cls, grid: cells.Grid, sample: Sample) -> FirstLook:
        """What a pass over the trials found."""
        return cls(grid.n_target, grid.n_nontarget, grid, sample)

    @property
    def ranges(self) -> int:
        """How many ranges the trials are cut into to be sorted."""
        return -(-8 * (self.n_target + self.n_nontarget) // at_once(COLLECT_BYTES))  # rounded up

    @property
    def sorts(self) -> bool:
        """Whether the classes are sorted and merged, not counted in cells."""
        # sorted scores have no multiplicities
        if self.grid is not None and self.grid.weighted:
            return False
        smaller, larger = sorted((self.n_target, self.n_nontarget))
        if smaller + larger <= ALWAYS_SORTED:
            return True
        if self.grid is not None and self.grid.points is not None:
            # few distinct scores make few cells, however many trials have them
            smaller = len(self.grid.points)
        few_cells = MUCH_SMALLER * smaller < larger
        return smaller > MOST_CELLS or not (few_cells or self.ranges > MOST_PASSES)


def count(
    source: ScoreSource, look: FirstLook | None = None, thresholds: ArrayLike = ()
) -> tuple[Ranking, Counts, Counts]:
    """The order of all trials, and how many of each class are below thresholds.

    ``look`` is what is known of the trials beforehand; by default their sizes if the source knows them, and
    otherwise what one more pass finds. A source in memory keeps the order for the next metric.
    """
    if look is None and source.sizes is not None:
        look = FirstLook(*source.sizes)
    elif look is None:
        look = FirstLook.of(*source.reduce(both(cells.Grid.of, Sample.of)).summaries)
    cells.require_both_classes(look.n_target, look.n_nontarget)
    cuts = np.atleast_1d(np.asarray(thresholds, dtype=np.float64))
    ordered = source.in_order() if look.sorts else source
    if isinstance(ordered, Scores) and ordered.ascending:
        counted = _in_order(ordered.target, ordered.nontarget, cuts)
    else:
        counted = (_by_sorting if look.sorts else _in_cells)(source, look, cuts)
    kept = source.kept_counts  # asked for afterwards: files are kept in memory once they have been read
    if kept is not None and counted[0].nbytes <= at_once(KEEP_BYTES):
        kept["ranking"] = counted[0]
    return counted


def _in_order(target: Array, nontarget: Array, cuts: FloatArray) -> tuple[Ranking, Counts, Counts]:
    return Ranking.of_sorted(target, nontarget), count_below(target, cuts), count_below(nontarget, cuts)


def count_below(ascending: Array, thresholds: FloatArray) -> IntArray:
    """How many scores of one class, in ascending order, are below each threshold.

    Examples
    --------
    >>> count_below(np.array([0.1, 0.2], dtype=np.float32), np.array([0.2, 0.3]))  # 0.2 is rounded up there
    array([1, 2])
    """
    if ascending.dtype == np.float32:
        # as many are below the smallest 32-bit number at or above a threshold; thresholds of 64 bits would
        # have all scores converted
        with np.errstate(over="ignore"):
            rounded = thresholds.astype(np.float32)
        above = np.nextafter(rounded, np.float32(np.inf))
        return np.searchsorted(ascending, np.where(rounded < thresholds, above, rounded))
    return np.searchsorted(ascending, thresholds)


def _in_cells(source: ScoreSource, look: FirstLook, cuts: FloatArray) -> tuple[Ranking, Counts, Counts]:
    if look.grid is None:
        smaller: cells.ClassName = "target" if look.n_target <= look.n_nontarget else "nontarget"
        # sizes are known, so no first pass has collected the scores of the smaller class yet
        grid = source.reduce(partial(cells.Grid.of, only=smaller))
    else:
        grid = cells.collect_again(source, look.grid)
    counts, below = source.reduce(cells.count_beside(grid, cuts, cells.BelowCounts.at(cuts))).summaries
    cells.require_both_classes(counts.n_target, counts.n_nontarget)
    return Ranking(counts.bins()), below.target, below.nontarget


def _by_sorting(source: ScoreSource, look: FirstLook, cuts: FloatArray) -> tuple[Ranking, Counts, Counts]:
    if look.ranges <= 1:
        return _in_order(*_collected(source, -np.inf, None), cuts)
    sample = source.reduce(Sample.of) if look.sample is None else look.sample
    counted = None
    needed = _MORE_ROOM * 8 * (look.n_target + look.n_nontarget)
    # a cluster does its passes elsewhere and cannot write to these files
    if source.reads_again and shutil.disk_usage(tempfile.gettempdir()).free > needed:
        try:
            with SpilledScores(score_ranges(look, sample, RANGES_OF_FILES * look.ranges)) as spilled:
                source.reduce(spilled.take)
                counted = spilled.counted(cuts)
        except OSError:  # a disk that is full after all; what cannot be read is told by the next pass
            pass
    if counted is None:
        counted = list(_by_passes(source, look, score_ranges(look, sample, look.ranges), cuts))
    bins, target, nontarget = zip(*counted, strict=True)
    return Ranking(joined_bins(bins)), np.sum(target, axis=0), np.sum(nontarget, axis=0)


RangeCounts = tuple[ScoreBins, Counts, Counts]
"""The bins of a range, and how many of its trials of each class are below thresholds."""


class ScoreRange(NamedTuple):
    """The scores from ``low`` to below ``high``, or to the largest."""

    low: float
    high: float | None
    single: bool
    """Whether they are one score, which so many trials have that they are counted, not collected."""


def score_ranges(look: FirstLook, sample: Sample, n: int) -> list[ScoreRange]:
    """Ascending ranges with about as many scores each, by a sample of them.

    A score that fills half a range by itself is a range of its own, since no cut can divide it.
    """
    classes = (sample.target.values, look.n_target), (sample.nontarget.values, look.n_nontarget)
    values = np.concatenate([sampled for sampled, _ in classes])
    # each sampled trial stands for as many as were passed over
    times = np.concatenate([np.full(len(sampled), size / max(len(sampled), 1)) for sampled, size in classes])
    distinct, where = np.unique(values, return_inverse=True)
    mass = np.bincount(where, times)
    heavy = mass > mass.sum() / (2 * n)
    # without the heavy scores, which are ranges of their own, the rest is cut evenly
    before = np.cumsum(np.where(heavy, 0.0, mass))
    even = distinct[np.searchsorted(before, before[-1] * np.arange(1, n) / n)]
    single = distinct[heavy]
    # between a score and the next float there is no other score
    borders = np.concatenate([[-np.inf], even, single, np.nextafter(single, np.inf)])
    lows, alone = np.unique(borders).tolist(), set(single.tolist())
    return [ScoreRange(low, high, low in alone) for low, high in zip(lows, [*lows[1:], None], strict=True)]


def _count_sorted(target: Array, nontarget: Array, cuts: FloatArray, threads: int | None) -> RangeCounts:
    bins = bins_of_sorted(target, nontarget, threads=threads)
    return bins, count_below(target, cuts), count_below(nontarget, cuts)


def _count_single(score: float, n_target: int, n_nontarget: int, cuts: FloatArray) -> RangeCounts:
    filled = slice(None if n_target + n_nontarget else 0)
    columns = (np.array([value])[filled] for value in (n_target, n_nontarget, score, score))
    return ScoreBins(*columns), n_target * (cuts > score), n_nontarget * (cuts > score)


class SpilledScores:
    """The scores of each class in each of some ascending ranges, in temporary files that have no name.

    Nothing is left of them when the process ends, however it ends.
    """

    def __init__(self, ranges: Sequence[ScoreRange]) -> None:
        self.ranges = ranges
        self._counts = np.zeros((2, len(ranges)), dtype=np.int64)
        # a lock for each file: threads that write to different ranges do not wait
        self._locks = [[Lock() for _ in ranges] for _ in range(2)]
        self._open = ExitStack()
        self._files = [[None if one.single else self._new_file() for one in ranges] for _ in range(2)]

    def _new_file(self) -> IO[bytes]:
        return self._open.enter_context(tempfile.TemporaryFile())

    def __enter__(self) -> SpilledScores:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def take(self, chunk: Scores) -> float:
        """Write the scores of a chunk; a summarizer for sources that work in this process."""
        cuts = [one.low for one in self.ranges[1:]]
        for which, values in enumerate((chunk.target, chunk.nontarget)):
            cells.require_one_system(values)
            # one sort turns what belongs into each file into one slice, written at once
            ascending = np.sort(values).astype(np.float64, copy=False)
            edges = [0, *np.searchsorted(ascending, cuts).tolist(), len(ascending)]
            for i in range(len(self.ranges)):
                if edges[i] < edges[i + 1]:
                    self._write(which, i, ascending[edges[i] : edges[i + 1]])
        return float(chunk.n_target + chunk.n_nontarget)  # a number adds up, as sources expect of summaries

    def _write(self, which: int, i: int, piece: FloatArray) -> None:
        file = self._files[which][i]
        with self._locks[which][i]:
            self._counts[which, i] += len(piece)
            if file is not None:
                file.write(piece.data)

    def counted(self, cuts: FloatArray) -> list[RangeCounts]:
        """What each range comes to."""

        def count_at(i: int) -> RangeCounts:
            if self.ranges[i].single:
                n_target, n_nontarget = self._counts[:, i].tolist()
                return _count_single(self.ranges[i].low, n_target, n_nontarget, cuts)
            # the ranges themselves are spread over threads
            return _count_sorted(self._sorted(0, i), self._sorted(1, i), cuts, threads=1)

        return each_in_threads(count_at, range(len(self.ranges)))

    def _sorted(self, which: int, i: int) -> FloatArray:
        file = self._files[which][i]
        assert file is not None
        file.seek(0)  # which also writes what is still in its buffer
        values = np.fromfile(file, dtype=np.float64)
        values.sort()  # in place: a copy would double the memory of every thread
        return values


def _by_passes(
    source: ScoreSource, look: FirstLook, ranges: Sequence[ScoreRange], cuts: FloatArray
) -> Iterator[RangeCounts]:
    """What each range comes to, by a pass over the trials for each and one for all single scores."""
    target = nontarget = [0] * len(ranges)
    if any(one.single for one in ranges):
        below = source.reduce(cells.BelowCounts.at([one.low for one in ranges[1:]]))
        target = np.diff(below.target, prepend=0, append=look.n_target).tolist()
        nontarget = np.diff(below.nontarget, prepend=0, append=look.n_nontarget).tolist()
    for one, n_target, n_nontarget in zip(ranges, target, nontarget, strict=True):
        if one.single:
            yield _count_single(one.low, n_target, n_nontarget, cuts)
        else:
            yield _count_sorted(*_collected(source, one.low, one.high), cuts, threads=None)


def _collected(source: ScoreSource, low: float, high: float | None) -> tuple[Array, Array]:
    """Both classes in a range in ascending order, each sorted once, by two threads if they are large."""

    def inside(values: Array) -> Array:
        cells.require_one_system(values)
        if low == -np.inf and high is None:
            return values
        # a bare float would be rounded to the type of 32-bit scores
        chosen = values >= np.float64(low)
        if high is not None:
            chosen &= values < np.float64(high)
        return values[chosen]

    def within(chunk: Scores) -> GatheredChunks:
        return GatheredChunks.of(Scores.part(inside(chunk.target), inside(chunk.nontarget)))

    parts = source.reduce(within).parts
    pieces = [part.target for part in parts], [part.nontarget for part in parts]
    small = min(sum(map(len, of)) for of in pieces) < _WORTH_A_THREAD
    target, nontarget = each_in_threads(_ascending, pieces, threads=1 if small else None)
    return target, nontarget


def _ascending(pieces: list[Array]) -> Array:
    if len(pieces) == 1:
        return np.sort(pieces[0])
    together = np.concatenate(pieces)
    together.sort()
    return together
