"""Scores of a range, collected to be sorted: in memory, or in temporary files."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Lock
from typing import IO

import numpy as np

from llrkit._arrays import Array, DType, FloatArray, IntArray
from llrkit.core.merged_runs import bins_of_sorted
from llrkit.core.score_bins import ScoreBins, joined_bins
from llrkit.core.score_index import require_one_system
from llrkit.core.score_ranges import ScoreRange
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.source import each_in_threads

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
