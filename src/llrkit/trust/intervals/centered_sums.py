"""Sums over trials whose class means are found first: the sums, and their covariance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit.core.grid import require_both_classes
from llrkit.core.special import blocks
from llrkit.core.summary import SummaryBase
from llrkit.scores import Scores, ScoreSource
from llrkit.trust.intervals.dyadic import Contributions, Covariance, covariance
from llrkit.trust.intervals.speakers import Speakers


@dataclass(frozen=True, eq=False)
class TermMeans(SummaryBase):
    """Sums of contributions, by class and number of the sum, and the numbers of trials."""

    sums: FloatArray
    n: FloatArray

    @classmethod
    def of(cls, contributions: Contributions) -> Callable[[Scores], TermMeans]:
        """A summarizer."""

        def make(chunk: Scores) -> TermMeans:
            sums = np.zeros((2, contributions.size))
            for side, values in enumerate((chunk.target, chunk.nontarget)):
                for block in blocks(len(values)):
                    for column, array in zip(
                        contributions.columns(side), contributions.of(values[block], side), strict=True
                    ):
                        sums[side, column] += array.sum()
            return cls(sums, np.array([chunk.n_target, chunk.n_nontarget], dtype=np.float64))

        return make

    def __add__(self, other: TermMeans) -> TermMeans:
        return TermMeans(self.sums + other.sums, self.n + other.n)

    def __mul__(self, weight: float) -> TermMeans:
        return TermMeans(self.sums * weight, self.n * weight)

    @property
    def means(self) -> FloatArray:
        """Mean contribution of the trials of each class to each sum."""
        return np.asarray(self.sums / self.n[:, None])


@dataclass(frozen=True, eq=False)
class _Centered:
    """Contributions less the mean of their class, divided by the number of its trials."""

    inner: Contributions
    means: FloatArray
    n: FloatArray

    @property
    def size(self) -> int:
        return self.inner.size

    def columns(self, side: int) -> tuple[int, ...]:
        return self.inner.columns(side)

    def of(self, values: npt.NDArray[Any], side: int) -> list[FloatArray]:
        return [
            (array - self.means[side, column]) / self.n[side]
            for column, array in zip(self.inner.columns(side), self.inner.of(values, side), strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Estimated:
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
        found = self.covariance
        return found.independent if found.by_speaker is None else found.by_speaker

    def standard_error(self, i: int) -> float:
        """Standard error of one of the values."""
        unit = np.zeros(len(self.values))
        unit[i] = 1.0
        return float(np.sqrt(self.covariance.variance(unit)))


def estimate(
    source: ScoreSource,
    contributions: Contributions,
    speakers: Speakers | None = None,
    *,
    diagonal: bool = False,
) -> Estimated:
    """Class means of what trials contribute, and the covariance of their sums; two passes."""
    found = source.reduce(TermMeans.of(contributions))
    require_both_classes(float(found.n[0]), float(found.n[1]))
    centered = _Centered(contributions, found.means, found.n)
    return Estimated(found.means, covariance(source, centered, speakers, diagonal=diagonal))
