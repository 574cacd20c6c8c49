"""Covariance of sums over trials: independent trials, or trials that share speakers, in one pass.

With ``phi_i`` what trial ``i`` adds to an estimate (its influence), independent trials give the variance
``sum_i phi_i^2``. Trials that share a speaker are not independent; the dyadic-robust variance is

    sum_p (sum of phi over the trials of speaker p)^2 - sum_{p<q} (sum over the trials between p and q)^2

where the second sum takes out what the first one counts twice. No resampling is needed. Many speakers are put
into groups first, which makes the pairs few.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from llrkit._arrays import Array, FloatArray, IntArray
from llrkit.core.elementary_functions import BLOCK, blocks
from llrkit.core.summary_algebra import SummaryBase
from llrkit.scores import Scores, ScoreSource
from llrkit.trust.intervals.compared_speakers import centered, centered_pairs
from llrkit.trust.intervals.speakers import Speakers


class Contributions(Protocol):
    """What each trial adds to several sums: one array for each sum, for the scores of one class."""

    @property
    def size(self) -> int:
        """Number of sums."""
        ...

    def columns(self, class_index: int) -> tuple[int, ...]:
        """The sums to which trials of a class add anything; class 0 are the targets, 1 the non-targets."""
        ...

    def of(self, values: Array, class_index: int) -> list[FloatArray]:
        """What each score of a class adds to each of those sums."""
        ...


@dataclass(frozen=True, eq=False)
class Covariance:
    """Covariance matrices of sums over trials."""

    independent: FloatArray
    """If trials were independent."""
    by_speaker: FloatArray | None
    """Trials that share a speaker depend on each other; None where no speakers were given."""
    without_pairs: FloatArray | None
    """The same without taking out the pairs of speakers: too large, never too small."""
    n_compared: float
    """Speakers, or groups of them, that are compared with each other; 0 where none were given."""

    def variance(self, coefficients: FloatArray) -> float:
        """Variance of a linear combination of the sums."""
        own = quadratic(self.independent, coefficients)
        if self.by_speaker is None or self.without_pairs is None:
            return own
        by_speaker = quadratic(self.by_speaker, coefficients)
        # in very small sets taking the pairs out may leave nothing or less: then they stay in
        return by_speaker if by_speaker > 0.1 * own else quadratic(self.without_pairs, coefficients)

    def variance_if_independent(self, coefficients: FloatArray) -> float:
        """The same if trials were independent."""
        return quadratic(self.independent, coefficients)

    def share_without_pairs(self, coefficients: FloatArray) -> float:
        """What is left of the sum of squares over speakers when no pair of them counts twice."""
        if self.without_pairs is None:
            return 1.0
        whole = quadratic(self.without_pairs, coefficients)
        return self.variance(coefficients) / whole if whole > 0.0 else 1.0


def quadratic(matrix: FloatArray, c: FloatArray) -> float:
    """``c^T matrix c``."""
    return float(c @ matrix @ c)


def covariance(
    source: ScoreSource,
    contributions: Contributions,
    speakers: Speakers | None = None,
    *,
    diagonal: bool = False,
) -> Covariance:
    """Covariance of sums over trials, from one pass.

    The speaker variances are multiplied by S / (S - 1), S being the number of speakers, or of groups of
    them. ``diagonal`` leaves out the covariances between sums over independent trials, which many sums would
    make costly.
    """
    if speakers is None:
        return covariance_of(
            source.reduce(InfluenceSums.at(contributions, None, diagonal)), contributions, None
        )
    groups = speakers.grouped()
    wide = source.with_columns(*groups.columns)
    return covariance_of(
        wide.reduce(InfluenceSums.at(contributions, groups, diagonal)), contributions, groups
    )


def covariance_of(sums: InfluenceSums, contributions: Contributions, speakers: Speakers | None) -> Covariance:
    """The covariance that sums of one pass give."""
    if speakers is None:
        return Covariance(sums.trials, None, None, 0)
    n = speakers.n
    factor = n / (n - 1.0)
    kept = pair_columns(contributions, speakers)
    table = sums.pairs.reshape(len(kept), n, n)
    within = np.einsum("kpp->kp", table)
    by_speaker = sums.speakers.copy()
    by_speaker[kept] += table.sum(axis=1) + table.sum(axis=2) - within
    either = table + table.transpose(0, 2, 1)
    if speakers.blocks:
        by_speaker = centered(by_speaker.T, speakers.blocks).T
        either = centered_pairs(either, speakers.blocks)
    without = (by_speaker @ by_speaker.T) * factor
    # a pair in either order; what is within a speaker does not count twice
    either = either.reshape(len(kept), n * n)
    pairs = 0.5 * (either @ either.T) - 2.0 * (within @ within.T)
    less = without.copy()
    less[np.ix_(kept, kept)] -= pairs * factor
    return Covariance(sums.trials, less, without, speakers.n_compared)


def pair_columns(contributions: Contributions, speakers: Speakers) -> list[int]:
    """The sums for which pairs must be kept: targets are between a speaker and itself, nearly always."""
    classes = (0, 1) if speakers.targets_cross else (1,)
    return sorted({column for i in classes for column in contributions.columns(i)})


@dataclass(frozen=True, eq=False)
class InfluenceSums(SummaryBase):
    """Sums of products over trials, and sums for each speaker or, where trials are between two, each pair."""

    trials: FloatArray
    speakers: FloatArray
    """By number of the sum and speaker, of the class whose trials are within one speaker."""
    pairs: FloatArray
    """By number of the sum and pair ``first * n + second``, equal for trials within a speaker."""

    @classmethod
    def at(
        cls, contributions: Contributions, speakers: Speakers | None, diagonal: bool = False
    ) -> Callable[[Scores], InfluenceSums]:
        """A summarizer; without speakers only the sums over trials are made."""

        def make(chunk: Scores) -> InfluenceSums:
            target, nontarget = (
                _influence_sums_of_class(chunk, i, contributions, speakers, diagonal) for i in (0, 1)
            )
            return target + nontarget

        return make

    def __add__(self, other: InfluenceSums) -> InfluenceSums:
        return InfluenceSums(
            self.trials + other.trials, self.speakers + other.speakers, self.pairs + other.pairs
        )

    def __mul__(self, weight: float) -> InfluenceSums:
        return InfluenceSums(self.trials * weight**2, self.speakers * weight, self.pairs * weight)


def _influence_sums_of_class(
    chunk: Scores, class_index: int, contributions: Contributions, speakers: Speakers | None, diagonal: bool
) -> InfluenceSums:
    values, columns = (chunk.target, chunk.nontarget)[class_index], contributions.columns(class_index)
    size, n = contributions.size, speakers.n if speakers is not None else 0
    trials, sums = np.zeros((size, size)), np.zeros((size, n))
    if speakers is None:
        for block in blocks(len(values)):
            _add_products_of_sums(trials, columns, contributions.of(values[block], class_index), diagonal)
        return InfluenceSums(trials, sums, np.zeros((0, 0)))
    kept = pair_columns(contributions, speakers)
    pairs = np.zeros((len(kept), n * n))
    first, second = speakers.of(chunk, class_index)
    crossed = class_index == 1 or speakers.targets_cross
    # blocks no smaller than the table, which is added up for each
    for block in blocks(len(values), max(BLOCK, n * n if crossed else 0)):
        arrays = contributions.of(values[block], class_index)
        _add_products_of_sums(trials, columns, arrays, diagonal)
        if not crossed:
            for column, array in zip(columns, arrays, strict=True):
                sums[column] += np.bincount(first[block], array, minlength=n)
            continue
        keys = pair_keys(first[block], second[block], n)
        for column, array in zip(columns, arrays, strict=True):
            pairs[kept.index(column)] += np.bincount(keys, array, minlength=n * n)
    return InfluenceSums(trials, sums, pairs)


def pair_keys(first: IntArray, second: IntArray, n: int) -> IntArray:
    """The number ``first * n + second`` of each pair of speakers; ``second`` is n within one speaker.

    Examples
    --------
    >>> pair_keys(np.array([1, 2, 1]), np.array([0, 3, 2]), 3)
    array([3, 8, 5])
    """
    return np.asarray(first * n + np.where(second == n, first, second))


def _add_products_of_sums(
    total: FloatArray, columns: tuple[int, ...], arrays: list[FloatArray], diagonal: bool
) -> None:
    # einsum, not dot: BLAS would start threads of its own inside our pool
    for k, (i, a) in enumerate(zip(columns, arrays, strict=True)):
        total[i, i] += float(np.einsum("n,n->", a, a))
        for j, b in () if diagonal else zip(columns[:k], arrays[:k], strict=True):
            product = float(np.einsum("n,n->", a, b))
            total[i, j] += product
            total[j, i] += product
