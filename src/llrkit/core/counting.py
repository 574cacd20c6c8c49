"""Which way of counting suits a source, and scores that are collected by ranges.

Counting: the order of all trials of a source, in one of two ways that give the same to the last bit. Where
one class is much the smaller, the other is counted in the cells between its distinct scores, mostly without
sorting. Where both are large, or all trials are few, each class is sorted once and the two are merged by
ranges of score. Which way it is follows from the numbers of trials alone.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Lock
from typing import IO

import numpy as np
import numpy.typing as npt

from llrkit.base.arguments import Array, Counts, DType, FloatArray, IntArray
from llrkit.base.process import at_once
from llrkit.core.cells import (
    BelowCounts,
    ClassName,
    Grid,
    TrialCounts,
    collect_again,
    count_on,
    require_both_classes,
    require_one_system,
    score_indexes,
)
from llrkit.core.order import KEEP_BYTES, RankedBins, Ranking, bins_of_sorted, ranking_of_sorted
from llrkit.core.pav import PavBlocks, ScoreBins, joined_bins
from llrkit.core.summaries import Both, Sample, both
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived import as_source
from llrkit.scores.source import each_in_threads

COLLECT_BYTES = 256 << 20
"""Memory of the scores that are collected at a time, at 8 bytes each; a larger set takes several passes."""


@dataclass(frozen=True)
class ScoreRange:
    """The scores from ``low`` to below ``high``, or to the largest, without those that are only counted."""

    low: float = -np.inf
    high: float | None = None
    repeated: tuple[float, ...] = ()
    """Scores in the range that so many trials have that they are counted, not collected."""

    def of(self, values: Array) -> tuple[Array, IntArray]:
        """The scores in the range, and how many have each of the repeated values."""
        require_one_system(values)
        # a bare float would be rounded to the type of 32-bit scores
        if self.low > -np.inf or self.high is not None:
            inside = values >= np.float64(self.low)
            if self.high is not None:
                inside &= values < np.float64(self.high)
            values = values[inside]
        counts = np.zeros(len(self.repeated), dtype=np.int64)
        for i, value in enumerate(self.repeated):
            same = values == np.float64(value)
            counts[i] = np.count_nonzero(same)
            values = values[~same]
        return values, counts


def ranges_needed(n_target: int, n_nontarget: int) -> int:
    """How many ranges a set is cut into."""
    return -(-8 * (n_target + n_nontarget) // at_once(COLLECT_BYTES))


def score_ranges(
    n_target: int, n_nontarget: int, sample: Callable[[], Sample], *, finer: int = 1
) -> list[ScoreRange]:
    """Ascending ranges with about as many scores each; the sample is drawn only if there are several.

    ``finer`` ranges take the place of one that would be collected, where collecting is not what costs.

    A score that fills a good part of a range by itself is counted instead, since no cut can divide it.
    """
    n = ranges_needed(n_target, n_nontarget)
    if n <= 1:
        return [ScoreRange()]
    n *= finer
    drawn = sample()
    classes = (drawn.target.values, n_target), (drawn.nontarget.values, n_nontarget)
    values = np.concatenate([sampled for sampled, _ in classes])
    times = np.concatenate([np.full(len(sampled), size / max(len(sampled), 1)) for sampled, size in classes])
    distinct, where = np.unique(values, return_inverse=True)
    mass = np.bincount(where, times)
    heavy = mass > mass.sum() / (8 * n)
    before = np.cumsum(np.where(heavy, 0.0, mass))
    cuts = np.unique(distinct[np.searchsorted(before, before[-1] * np.arange(1, n) / n)]).tolist()
    lows, highs = [-np.inf, *cuts], [*cuts, None]
    return [
        ScoreRange(
            low, high, tuple(v for v in distinct[heavy].tolist() if low <= v and (high is None or v < high))
        )
        for low, high in zip(lows, highs, strict=True)
    ]


_WORTH_A_THREAD = 1 << 18


@dataclass(frozen=True, eq=False)
class CollectedScores:
    """The scores of each class in a range, in the pieces they came in; merging copies nothing."""

    target: tuple[Array, ...]
    nontarget: tuple[Array, ...]
    repeated: tuple[IntArray, IntArray]

    @classmethod
    def within(cls, chosen: ScoreRange) -> Callable[[Scores], CollectedScores]:
        """A summarizer for a range."""

        def make(chunk: Scores) -> CollectedScores:
            (target, t_counts), (nontarget, n_counts) = map(chosen.of, (chunk.target, chunk.nontarget))
            return cls((target,), (nontarget,), (t_counts, n_counts))

        return make

    def __add__(self, other: CollectedScores) -> CollectedScores:
        return CollectedScores(
            self.target + other.target,
            self.nontarget + other.nontarget,
            (self.repeated[0] + other.repeated[0], self.repeated[1] + other.repeated[1]),
        )

    def __mul__(self, weight: float) -> CollectedScores:
        raise TypeError("weighted trials are counted in cells, not collected")


def sorted_classes(collected: CollectedScores) -> tuple[Array, Array]:
    """Both classes in ascending order, each sorted once, by two threads if they are large."""
    pieces = (collected.target, collected.nontarget)
    small = min(map(_size_of_pieces, pieces)) < _WORTH_A_THREAD
    target, nontarget = each_in_threads(_pieces_ascending, pieces, threads=1 if small else None)
    return target, nontarget


def bins_of_range(
    chosen: ScoreRange,
    target: Array,
    nontarget: Array,
    repeated: tuple[IntArray, IntArray],
    *,
    threads: int | None = None,
) -> ScoreBins:
    """The bins of the sorted scores of a range, with those that were only counted in their places."""
    if not chosen.repeated:
        return bins_of_sorted(target, nontarget, threads=threads)
    values = np.array(chosen.repeated)
    t, n = (np.concatenate([[0], x.searchsorted(values), [len(x)]]) for x in (target, nontarget))
    parts = []
    for i in range(len(values) + 1):
        here = target[t[i] : t[i + 1]], nontarget[n[i] : n[i + 1]]
        parts.append(bins_of_sorted(*here, threads=threads))
        if i < len(values):
            at = slice(i, i + 1)
            parts.append(ScoreBins(repeated[0][at], repeated[1][at], values[at], values[at]))
    return joined_bins(part for part in parts if len(part.low) and (part.target + part.nontarget).any())


def count_below(chosen: ScoreRange, ascending: Array, repeated: IntArray, thresholds: FloatArray) -> IntArray:
    """How many scores of one class in a range are below each threshold."""
    below = np.searchsorted(ascending, _at_or_above(thresholds, ascending.dtype))
    for value, count in zip(chosen.repeated, repeated.tolist(), strict=True):
        below += count * (thresholds > value)
    return below


def _at_or_above(thresholds: FloatArray, kind: DType) -> Array:
    """The smallest numbers of a type that are at or above thresholds; as many scores of it are below them."""
    if kind != np.float32:
        return thresholds
    with np.errstate(over="ignore"):
        rounded = thresholds.astype(np.float32)
    return np.where(rounded < thresholds, np.nextafter(rounded, np.float32(np.inf)), rounded)


def _size_of_pieces(pieces: Sequence[Array]) -> int:
    return sum(map(len, pieces))


def _pieces_ascending(pieces: tuple[Array, ...]) -> Array:
    if len(pieces) == 1:
        return np.sort(pieces[0])
    together = np.concatenate(pieces)
    together.sort()
    return together


_MORE_ROOM = 1.25
"""Free space of the disk over what the scores take, at least."""


def can_spill(source: ScoreSource, n: int) -> bool:
    """Whether another pass costs more than temporary files, and the disk has room for the scores."""
    return source.reads_again and shutil.disk_usage(tempfile.gettempdir()).free > _MORE_ROOM * 8 * n


@dataclass(frozen=True, eq=False)
class RepeatedCounts:
    """How many trials of each class have each of the scores that are only counted, range after range."""

    target: IntArray
    nontarget: IntArray

    def __add__(self, other: RepeatedCounts) -> RepeatedCounts:
        return RepeatedCounts(self.target + other.target, self.nontarget + other.nontarget)

    def __mul__(self, weight: float) -> RepeatedCounts:
        raise TypeError("weighted trials are counted in cells, not collected")


class SpilledScores:
    """The scores of each class in each of some ascending ranges, in temporary files that have no name.

    Nothing is left of them when the process ends, however it ends.
    """

    def __init__(self, ranges: Sequence[ScoreRange]) -> None:
        self.ranges = ranges
        self._cuts = np.array([one.low for one in ranges[1:]])
        self._open = ExitStack()
        self._files = [[self._new_file() for _ in ranges] for _ in range(2)]
        self._locks = [[Lock() for _ in ranges] for _ in range(2)]

    def _new_file(self) -> IO[bytes]:
        return self._open.enter_context(tempfile.TemporaryFile())

    def __enter__(self) -> SpilledScores:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def take(self, chunk: Scores) -> RepeatedCounts:
        """Write the scores of a chunk; a summarizer for sources that work in this process."""
        return RepeatedCounts(*(self._spill(i, of) for i, of in enumerate((chunk.target, chunk.nontarget))))

    def _spill(self, which: int, values: Array) -> IntArray:
        require_one_system(values)
        ascending = np.sort(values).astype(np.float64, copy=False)
        edges = [0, *np.searchsorted(ascending, self._cuts).tolist(), len(ascending)]
        counts = []
        for i, one in enumerate(self.ranges):
            piece = ascending[edges[i] : edges[i + 1]]
            for value in one.repeated:  # in ascending order
                start, stop = (int(piece.searchsorted(value, side=side)) for side in ("left", "right"))
                counts.append(stop - start)
                self._write(which, i, piece[:start])
                piece = piece[stop:]
            self._write(which, i, piece)
        return np.array(counts, dtype=np.int64)

    def _write(self, which: int, i: int, piece: FloatArray) -> None:
        if len(piece):
            with self._locks[which][i]:
                self._files[which][i].write(piece.data)

    def counted(
        self, repeated: RepeatedCounts, thresholds: FloatArray
    ) -> list[tuple[ScoreBins, list[IntArray]]]:
        """For each range its bins, and the trials of each class in it that are below the thresholds."""
        first = np.concatenate([[0], np.cumsum([len(one.repeated) for one in self.ranges])])

        def count_range(i: int) -> tuple[ScoreBins, list[IntArray]]:
            here = slice(first[i], first[i + 1])
            times = repeated.target[here], repeated.nontarget[here]
            classes = self._sorted(0, i), self._sorted(1, i)
            below = [
                count_below(self.ranges[i], ascending, of, thresholds)
                for ascending, of in zip(classes, times, strict=True)
            ]
            return bins_of_range(self.ranges[i], *classes, times, threads=1), below

        return each_in_threads(count_range, range(len(self.ranges)))

    def _sorted(self, which: int, i: int) -> FloatArray:
        file = self._files[which][i]
        file.seek(0)  # which also writes what is still in its buffer
        values = np.fromfile(file, dtype=np.float64)
        values.sort()
        return values


ALWAYS_SORTED = 1 << 16
"""So few trials are sorted whatever their classes."""
MUCH_SMALLER = 16
"""From this ratio of the classes on, cells cost less than sorting (measured)."""
MOST_PASSES = 4
"""A set that takes more passes to collect is counted in cells, unless the cells are too many."""
MOST_CELLS = 1 << 24
RANGES_OF_FILES = 4
"""Ranges of scores in files for one that would be collected: every thread holds one at a time."""


@dataclass(frozen=True, eq=False)
class FirstLook:
    """What the way of counting is chosen from: the numbers of trials, and what a first pass found."""

    n_target: int
    n_nontarget: int
    grid: Grid | None = None
    sample: Sample | None = None

    @classmethod
    def of(cls, grid: Grid, sample: Sample | None = None) -> FirstLook:
        """What a pass over the trials found."""
        return cls(grid.n_target, grid.n_nontarget, grid, sample)

    @classmethod
    def at(cls, source: ScoreSource) -> FirstLook:
        """The sizes of a source that knows them, otherwise what a pass finds."""
        sizes = as_source(source).sizes
        if sizes is not None:
            return cls(*sizes)
        return cls.of(*source.reduce(both(Grid.of, Sample.of)).summaries)

    @property
    def sorts(self) -> bool:
        """Whether the classes are sorted and merged, not counted in cells."""
        if self.grid is not None and self.grid.weighted:
            return False
        smaller, larger = sorted((self.n_target, self.n_nontarget))
        if smaller + larger <= ALWAYS_SORTED:
            return True
        if self.grid is not None and self.grid.points is not None:
            smaller = len(
                self.grid.points
            )  # few distinct scores make few cells, however many trials have them
        few_cells = MUCH_SMALLER * smaller < larger
        many_passes = ranges_needed(self.n_target, self.n_nontarget) > MOST_PASSES
        return smaller > MOST_CELLS or not (few_cells or many_passes)


@dataclass(frozen=True, eq=False)
class Counted:
    """The order of all trials, and how many of each class are below the thresholds that were asked for."""

    ranking: Ranking
    target_below: Counts
    nontarget_below: Counts


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
    kept = as_source(source).kept_counts
    already = None if kept is None else kept.get("ranking")
    if isinstance(already, Ranking):
        return already
    source = in_order_if_kept(source)
    ranking = count(source, FirstLook.at(source)).ranking
    keep_ranking(source, ranking)
    return ranking


def keep_ranking(source: ScoreSource, ranking: Ranking) -> None:
    """Keep the ranking of a source with it, if it is in memory and not too large."""
    kept = source.kept_counts
    if kept is not None and ranking.nbytes <= at_once(KEEP_BYTES):
        kept["ranking"] = ranking


def count(source: ScoreSource, look: FirstLook, thresholds: npt.ArrayLike = ()) -> Counted:
    """The bins of all trials, and the trials below some thresholds, in the way that suits their numbers."""
    require_both_classes(look.n_target, look.n_nontarget)
    cuts = np.atleast_1d(np.asarray(thresholds, dtype=np.float64))
    if isinstance(source, Scores) and source.ascending:
        return _in_order(source, cuts)
    return _by_sorting(source, look, cuts) if look.sorts else _in_cells(source, look, cuts)


def in_order_if_kept(source: ScoreSource) -> ScoreSource:
    """A source whose classes counting sorts in ascending order, if that is kept for the next metric."""
    sizes = as_source(source).sizes
    return source.in_order(if_small=True) if sizes is not None and FirstLook(*sizes).sorts else source


def _in_order(scores: Scores, thresholds: FloatArray) -> Counted:
    ranking = ranking_of_sorted(scores.target, scores.nontarget)
    if not len(thresholds):
        none = np.zeros(0, dtype=np.int64)
        return Counted(ranking, none, none)
    return Counted(ranking, *below_in_order(scores, thresholds))


def below_in_order(scores: Scores, thresholds: FloatArray) -> tuple[Counts, Counts]:
    """How many trials of each class are below thresholds, where both classes are in ascending order."""
    everything, never = ScoreRange(), np.zeros(0, dtype=np.int64)
    target, nontarget = (
        count_below(everything, of, never, thresholds) for of in (scores.target, scores.nontarget)
    )
    return target, nontarget


def _by_sorting(source: ScoreSource, look: FirstLook, thresholds: FloatArray) -> Counted:
    def drawn() -> Sample:
        return source.reduce(Sample.of) if look.sample is None else look.sample

    several = ranges_needed(look.n_target, look.n_nontarget) > 1
    if several and can_spill(source, look.n_target + look.n_nontarget):
        try:
            return _by_spilling(source, look, drawn, thresholds)
        except OSError:  # a disk that is full after all; what cannot be read is told by the next pass
            pass
    parts: list[ScoreBins] = []
    ranking: Ranking | None = None
    below = [np.zeros(len(thresholds), dtype=np.int64) for _ in range(2)]
    for chosen in score_ranges(look.n_target, look.n_nontarget, drawn):
        collected = source.reduce(CollectedScores.within(chosen))
        repeated = collected.repeated
        classes = sorted_classes(collected)
        del collected  # its pieces are as large as what is made of them
        if several or chosen.repeated:
            parts.append(bins_of_range(chosen, *classes, repeated))
        else:
            ranking = ranking_of_sorted(*classes)
        if len(thresholds):
            for counts, ascending, times in zip(below, classes, repeated, strict=True):
                counts += count_below(chosen, ascending, times, thresholds)
    return Counted(RankedBins(joined_bins(parts)) if ranking is None else ranking, *below)


def _by_spilling(
    source: ScoreSource, look: FirstLook, drawn: Callable[[], Sample], thresholds: FloatArray
) -> Counted:
    """One pass that sorts the scores into files by ranges, which are then counted two at a time."""
    ranges = score_ranges(look.n_target, look.n_nontarget, drawn, finer=RANGES_OF_FILES)
    with SpilledScores(ranges) as spilled:
        found = spilled.counted(source.reduce(spilled.take), thresholds)
    target, nontarget = (np.sum([counts[i] for _, counts in found], axis=0) for i in range(2))
    return Counted(RankedBins(joined_bins(bins for bins, _ in found)), target, nontarget)


def _in_cells(source: ScoreSource, look: FirstLook, thresholds: FloatArray) -> Counted:
    if look.grid is None:
        smaller: ClassName = "target" if look.n_target <= look.n_nontarget else "nontarget"
        grid = source.reduce(Grid.of_class(smaller))
    else:
        grid = collect_again(source, look.grid)
    summarize, points = both(count_on(grid), BelowCounts.at(thresholds)), grid.points
    ascending = np.sort(thresholds)

    def prepared(chunk: Scores) -> Both[tuple[TrialCounts, BelowCounts]]:
        larger = score_indexes(chunk)[1 if grid.smaller == "target" else 0]
        if points is not None and len(ascending):
            larger.prepare(points, ascending)  # one look at the scores for both summaries
        return summarize(chunk)

    counts, below = source.reduce(prepared).summaries
    require_both_classes(counts.n_target, counts.n_nontarget)
    return Counted(RankedBins(counts.bins()), below.target, below.nontarget)
