"""CollectedScores: the scores of a range as they are, to be sorted and merged when all of them are there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from llrkit._arrays import Array, FloatArray, IntArray
from llrkit.core.score_bins import ScoreBins, bins_of_sorted, joined_bins
from llrkit.core.score_ranges import ScoreRange
from llrkit.scores import Scores
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
    small = min(map(_size, pieces)) < _WORTH_A_THREAD
    target, nontarget = each_in_threads(_ascending, pieces, threads=1 if small else None)
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


def _at_or_above(thresholds: FloatArray, kind: np.dtype[Any]) -> Array:
    """The smallest numbers of a type that are at or above thresholds; as many scores of it are below them."""
    if kind != np.float32:
        return thresholds
    with np.errstate(over="ignore"):
        rounded = thresholds.astype(np.float32)
    return np.where(rounded < thresholds, np.nextafter(rounded, np.float32(np.inf)), rounded)


def _size(pieces: Sequence[Array]) -> int:
    return sum(map(len, pieces))


def _ascending(pieces: tuple[Array, ...]) -> Array:
    if len(pieces) == 1:
        return np.sort(pieces[0])
    together = np.concatenate(pieces)
    together.sort()
    return together
