"""Foils counted against the trials of their line-up, as mergeable summaries."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import Array, FloatArray, IntArray
from llrkit.core.column_values import decoded, positions_by_value
from llrkit.core.summary_algebra import FieldwiseSums, SummaryBase
from llrkit.scores import Scores


@dataclass(frozen=True, eq=False)
class Foils(SummaryBase):
    """The scores of one class for each value of a column, in ascending order.

    Examples
    --------
    >>> chunk = Scores([3.0], [2.0, 1.0], {"test": (["x"], ["x", "x"])})
    >>> Foils.of(chunk, "test").by_value
    {'x': array([1., 2.])}
    """

    by_value: dict[Hashable, FloatArray]

    @classmethod
    def of(cls, chunk: Scores, by: str, targets: bool = False) -> Foils:
        """The non-targets of a chunk, or its targets."""
        scores = chunk.target if targets else chunk.nontarget
        positions = positions_by_value(decoded(chunk, by, 0 if targets else 1))
        return cls({key: np.sort(scores[where]).astype(np.float64) for key, where in positions.items()})

    def __add__(self, other: Foils) -> Foils:
        merged = dict(self.by_value)
        for key, scores in other.by_value.items():
            merged[key] = np.sort(np.concatenate([merged[key], scores])) if key in merged else scores
        return Foils(merged)

    def __mul__(self, weight: float) -> Foils:
        return self  # a rank does not count a foil by halves

    def counter(self, by: str) -> Callable[[Scores], RankCounts]:
        """A summarizer that counts the non-targets of a chunk against these scores."""
        starts = np.cumsum([0, *(len(scores) for scores in self.by_value.values())])
        first = dict(zip(self.by_value, starts, strict=False))

        def count(chunk: Scores) -> RankCounts:
            counts = [np.zeros(starts[-1], dtype=np.int64) for _ in range(3)]
            for key, where in positions_by_value(decoded(chunk, by, 1)).items():
                if key in self.by_value:
                    mine = slice(first[key], first[key] + len(self.by_value[key]))
                    ranks = _count_foils(
                        self.by_value[key], np.sort(chunk.nontarget[where]).astype(np.float64)
                    )
                    for out, values in zip(counts, ranks, strict=True):
                        out[mine] = values
            return RankCounts(*counts)

        return count


@dataclass(frozen=True, eq=False)
class RankCounts(FieldwiseSums):
    """For each target: how many foils score more, how many the same, and how many there are."""

    above: Array
    tied: Array
    cohort: Array

    @property
    def arrays(self) -> tuple[Array, Array, Array]:
        """The three counts."""
        return self.above, self.tied, self.cohort


def foil_counts(
    scores: FloatArray, values: Array, foils: Mapping[Hashable, FloatArray]
) -> tuple[IntArray, IntArray, IntArray]:
    """For each score how many foils of its value score more, how many the same, how many there are.

    Examples
    --------
    >>> foil_counts(np.array([2.0, 0.0]), np.array(["x", "y"]), {"x": np.array([1.0, 2.0, 3.0])})
    (array([1, 0]), array([1, 0]), array([3, 0]))
    """
    counts = tuple(np.zeros(len(scores), dtype=np.int64) for _ in range(3))
    for key, where in positions_by_value(values).items():
        if key in foils:
            for out, numbers in zip(counts, _count_foils(scores[where], foils[key]), strict=True):
                out[where] = numbers
    return counts[0], counts[1], counts[2]


def _count_foils(scores: FloatArray, foils: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
    left = np.searchsorted(foils, scores, side="left").astype(np.int64)
    right = np.searchsorted(foils, scores, side="right").astype(np.int64)
    return len(foils) - right, right - left, np.full(len(scores), len(foils), dtype=np.int64)
