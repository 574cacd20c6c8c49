"""The distinct scores of both classes with their counts, as long as there are few of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.score_index import score_indexes
from llrkit.scores import Scores


@dataclass(frozen=True, eq=False)
class DistinctScores:
    """Distinct scores in ascending order, and how often each class has them; ``None`` if there are too many.

    Examples
    --------
    >>> distinct = Scores([1.0, 2.0], [1.0, 0.0]).reduce(DistinctScores.at(10))
    >>> distinct.values, distinct.target, distinct.nontarget
    (array([0., 1., 2.]), array([0., 1., 1.]), array([1., 1., 0.]))
    """

    limit: int
    values: FloatArray | None
    target: FloatArray
    nontarget: FloatArray

    @classmethod
    def of(cls, chunk: Scores, limit: int) -> DistinctScores:
        """The distinct scores of a chunk."""
        if chunk.n_systems != 1:
            return cls._too_many(limit)
        t, n = (np.unique(index.ascending, return_counts=True) for index in score_indexes(chunk))
        no_t, no_n = np.zeros(len(t[0])), np.zeros(len(n[0]))
        return cls._joined(
            limit, (t[0], t[1].astype(np.float64), no_t), (n[0], no_n, n[1].astype(np.float64))
        )

    @classmethod
    def at(cls, limit: int) -> Callable[[Scores], DistinctScores]:
        """A summarizer that gives up beyond ``limit`` distinct scores."""
        return lambda chunk: cls.of(chunk, limit)

    @classmethod
    def _too_many(cls, limit: int) -> DistinctScores:
        return cls(limit, None, np.empty(0), np.empty(0))

    @classmethod
    def _joined(cls, limit: int, *tables: tuple[FloatArray, ...]) -> DistinctScores:
        if max(len(table[0]) for table in tables) > limit:
            return cls._too_many(limit)
        values, place = np.unique(np.concatenate([table[0] for table in tables]), return_inverse=True)
        if len(values) > limit:
            return cls._too_many(limit)
        target, nontarget = (
            np.bincount(place, np.concatenate([table[column] for table in tables])).astype(np.float64)
            for column in (1, 2)
        )
        return cls(limit, values.astype(np.float64), target, nontarget)

    def __add__(self, other: DistinctScores) -> DistinctScores:
        if self.values is None or other.values is None:
            return self._too_many(self.limit)
        return self._joined(
            self.limit,
            (self.values, self.target, self.nontarget),
            (other.values, other.target, other.nontarget),
        )

    def __mul__(self, weight: float) -> DistinctScores:
        return DistinctScores(self.limit, self.values, self.target * weight, self.nontarget * weight)
