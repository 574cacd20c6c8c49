"""E-processes against a mixture of two classes whose share may change with every batch.

With counts ``c_b`` of batch b in cells, the e-process is ``q(c) / sup L(c)``: the probability that a
predictor (Krichevsky and Trofimov's) gives the cells of all scores, which knows nothing of the null
hypothesis, over the largest likelihood under it. For whatever share of targets each batch has, it is at
most a martingale that starts at 1, so that Ville's inequality bounds how often it ever gets large (universal
inference). The cells of the training classes are not known exactly either: the supremum is over all that
their own likelihood leaves, by Lagrange's bound ``sup {f : l >= l_max - c} <= sup {f + l} - l_max + c``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri, gammaln

from llrkit._arrays import FloatArray
from llrkit.core.summary_algebra import ReadOnlyArrays

_FEW, _MANY = 60, 4_000
"""Steps of the maximization: to begin with, and where an alarm depends on it."""


@dataclass(frozen=True, eq=False)
class TrainedCells(ReadOnlyArrays):
    """Counts of both training classes in cells, as many as independent trials would be; rows are classes."""

    counts: FloatArray
    slack: float
    """How far below its maximum the likelihood of the training cells may be."""

    @classmethod
    def of(cls, counts: FloatArray, miss: float) -> TrainedCells:
        """With the probability ``miss`` that the true cells are not among those that are allowed for."""
        df = float((counts > 0.0).sum()) - 2.0
        return cls(counts, 0.5 * float(chdtri(max(df, 1.0), miss)))

    @property
    def maximum(self) -> float:
        """The largest log-likelihood of the training counts."""
        return sum(_log_likelihood_of_cells(row, row / row.sum()) for row in self.counts)

    def log_e(self, batches: FloatArray, enough: float = math.inf) -> float:
        """Log of the e-process after batches (rows of counts).

        Too few steps of the maximization make it too large, never too small; so they are few if it is below
        ``enough`` anyway.
        """
        top = log_predicted(batches.sum(axis=0)) + self.maximum - self.slack
        classes = (self.counts + 0.25) / (self.counts + 0.25).sum(axis=1, keepdims=True)
        share = np.full(len(batches), 0.5)
        value, classes, share = self._climbed(batches, classes, share, _FEW)
        if top - value >= enough:
            value, *_ = self._climbed(batches, classes, share, _MANY)
        return top - value

    def _climbed(
        self, batches: FloatArray, classes: FloatArray, share: FloatArray, steps: int
    ) -> tuple[float, FloatArray, FloatArray]:
        """Expectation-maximization of the likelihood of batches and training together."""
        n, value = np.maximum(batches.sum(axis=1), 1.0), -math.inf
        for _ in range(steps):
            own = share[:, None] * classes[0]
            mixed = np.maximum(own + (1.0 - share[:, None]) * classes[1], 1e-300)
            before, value = (
                value,
                float((batches * np.log(mixed)).sum())
                + sum(
                    _log_likelihood_of_cells(row, cells)
                    for row, cells in zip(self.counts, classes, strict=True)
                ),
            )
            if value - before < 1e-6:
                break
            targets = batches * (own / mixed)
            share = targets.sum(axis=1) / n
            full = self.counts + np.stack([targets.sum(axis=0), (batches - targets).sum(axis=0)])
            classes = full / full.sum(axis=1, keepdims=True)
        return value, classes, share


def _log_likelihood_of_cells(counts: FloatArray, cells: FloatArray) -> float:
    seen = counts > 0.0
    return float(counts[seen] @ np.log(np.maximum(cells[seen], 1e-300)))


def log_predicted(counts: FloatArray) -> float:
    """Log-probability that Krichevsky and Trofimov's predictor gives a sequence with these counts.

    Examples
    --------
    >>> round(math.exp(log_predicted(np.array([1.0, 1.0]))), 3)  # 1/2 for the first, 1/4 for the other one
    0.125
    """
    k = len(counts)
    return float(
        gammaln(0.5 * k) - gammaln(counts.sum() + 0.5 * k) + (gammaln(counts + 0.5) - gammaln(0.5)).sum()
    )
