"""Rows that look like probabilities of the classes, where log-likelihoods are expected."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llrkit.core.summary_algebra import SummaryBase
from llrkit.scores.class_scores import ClassVectors

ROUNDED = 1e-3
"""How far from 1 the sum of probabilities may be that were written with few digits."""


@dataclass(frozen=True, eq=False)
class ProbabilityRows(SummaryBase):
    """Whether every row holds numbers between 0 and 1 that sum to 1.

    Examples
    --------
    >>> from llrkit.scores.class_scores import ClassScores
    >>> ProbabilityRows.of(ClassScores([[0.9, 0.1], [0.2, 0.8]], [0, 1])).all
    True
    >>> ProbabilityRows.of(ClassScores([[-0.1, -2.3], [-1.6, -0.2]], [0, 1])).all
    False
    """

    all: bool

    @classmethod
    def of(cls, chunk: ClassVectors) -> ProbabilityRows:
        """Look at the rows of a chunk; one number outside settles it."""
        values = chunk.values
        if values.size and (values.min() < 0.0 or values.max() > 1.0):
            return cls(False)
        sums = values.reshape(len(values), values.shape[1], -1).sum(axis=1)
        return cls(bool(np.all(np.abs(sums - 1.0) <= ROUNDED)))

    def __add__(self, other: ProbabilityRows) -> ProbabilityRows:
        return ProbabilityRows(self.all and other.all)

    def __mul__(self, weight: float) -> ProbabilityRows:
        return self
