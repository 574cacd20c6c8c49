"""Sums over trials whose class means are found first: the sums, and their covariance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import Array, FloatArray
from llrkit.core.elementary_functions import blocks
from llrkit.core.summary_algebra import FieldwiseSums
from llrkit.core.threshold_grid import require_both_classes
from llrkit.scores import Scores, ScoreSource
from llrkit.trust.intervals.dyadic_covariance import Contributions, Covariance, covariance
from llrkit.trust.intervals.speakers import Speakers


@dataclass(frozen=True, eq=False)
class ContributionSums(FieldwiseSums):
    """Sums of contributions, by class and number of the sum, and the numbers of trials."""

    sums: FloatArray
    n: FloatArray

    @classmethod
    def at(cls, contributions: Contributions) -> Callable[[Scores], ContributionSums]:
        """A summarizer."""

        def make(chunk: Scores) -> ContributionSums:
            sums = np.zeros((2, contributions.size))
            for class_index, values in enumerate((chunk.target, chunk.nontarget)):
                for block in blocks(len(values)):
                    for column, array in zip(
                        contributions.columns(class_index),
                        contributions.of(values[block], class_index),
                        strict=True,
                    ):
                        sums[class_index, column] += array.sum()
            return cls(sums, np.array([chunk.n_target, chunk.n_nontarget], dtype=np.float64))

        return make

    @property
    def means(self) -> FloatArray:
        """Mean contribution of the trials of each class to each sum."""
        return np.asarray(self.sums / self.n[:, None])


@dataclass(frozen=True, eq=False)
class _CenteredContributions:
    """Contributions less the mean of their class, divided by the number of its trials."""

    inner: Contributions
    means: FloatArray
    n: FloatArray

    @property
    def size(self) -> int:
        return self.inner.size

    def columns(self, class_index: int) -> tuple[int, ...]:
        return self.inner.columns(class_index)

    def of(self, values: Array, class_index: int) -> list[FloatArray]:
        return [
            (array - self.means[class_index, column]) / self.n[class_index]
            for column, array in zip(
                self.inner.columns(class_index), self.inner.of(values, class_index), strict=True
            )
        ]


@dataclass(frozen=True, eq=False)
class EstimatedSums:
    """Sums of the two class means of some quantities, and their covariance."""

    means: FloatArray
    """By class and quantity."""
    covariance: Covariance

    @property
    def values(self) -> FloatArray:
        """Mean of the targets plus mean of the non-targets."""
        return np.asarray(self.means.sum(axis=0))

    @property
    def matrix(self) -> FloatArray:
        """The covariance matrix that fits: with speakers where they are known."""
        matrices = self.covariance
        return matrices.independent if matrices.by_speaker is None else matrices.by_speaker

    def standard_error(self, i: int) -> float:
        """Standard error of one of the values."""
        unit = np.zeros(len(self.values))
        unit[i] = 1.0
        return float(np.sqrt(self.covariance.variance(unit)))


def estimate_sums(
    source: ScoreSource,
    contributions: Contributions,
    speakers: Speakers | None = None,
    *,
    diagonal: bool = False,
) -> EstimatedSums:
    """Class means of what trials contribute, and the covariance of their sums; two passes."""
    sums = source.reduce(ContributionSums.at(contributions))
    require_both_classes(float(sums.n[0]), float(sums.n[1]))
    centered = _CenteredContributions(contributions, sums.means, sums.n)
    return EstimatedSums(sums.means, covariance(source, centered, speakers, diagonal=diagonal))
