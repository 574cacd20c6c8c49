"""Covariance of sums over trials: independent trials, or trials that share speakers, in one pass.

With ``phi_i`` what trial ``i`` adds to an estimate (its influence), independent trials give the variance
``sum_i phi_i^2``. Trials that share a speaker are not independent; the dyadic-robust variance is

    sum_p (sum of phi over the trials of speaker p)^2 - sum_{p<q} (sum over the trials between p and q)^2

where the second sum takes out what the first one counts twice. No resampling is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit.core.special import blocks
from llrkit.core.summary import SummaryBase
from llrkit.scores import Scores, ScoreSource
from llrkit.trust.intervals.pair_sums import PairSums, most_pairs
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

    def of(self, values: npt.NDArray[Any], class_index: int) -> list[FloatArray]:
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
    n_speakers: int
    n_pairs: int
    pairs_left_out: bool
    """Whether more pairs occur than can be kept, so that the pair term is left out."""

    def variance(self, coefficients: FloatArray) -> float:
        """Variance of a linear combination of the sums."""
        own = quadratic(self.independent, coefficients)
        if self.by_speaker is None or self.without_pairs is None:
            return own
        by_speaker = quadratic(self.by_speaker, coefficients)
        # in very small sets taking the pairs out may leave nothing or less: then they stay in
        return by_speaker if by_speaker > 0.1 * own else quadratic(self.without_pairs, coefficients)

    def design_effect(self, coefficients: FloatArray) -> float:
        """How many times larger the variance is than with as many independent trials."""
        own = quadratic(self.independent, coefficients)
        return self.variance(coefficients) / own if own > 0.0 else float("nan")


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

    The speaker variances are multiplied by S / (S - 1), S being the number of speakers. ``diagonal``
    leaves out the covariances between sums over independent trials, which many sums would make costly.
    """
    wide = source.with_columns(*speakers.columns) if speakers is not None else source
    sums = wide.reduce(InfluenceSums.at(contributions, speakers, diagonal))
    if speakers is None:
        return Covariance(sums.trials, None, None, 0, 0, False)
    factor = speakers.n / (speakers.n - 1.0)
    without = (sums.speakers @ sums.speakers.T) * factor
    kept = _pair_columns(contributions, speakers)
    taken, n_pairs = sums.pairs.squares(len(kept))
    left_out = sums.pairs.too_many or n_pairs > most_pairs(len(kept))
    by_speaker = without.copy()
    if not left_out:
        by_speaker[np.ix_(kept, kept)] -= taken * factor
    return Covariance(sums.trials, by_speaker, without, speakers.n, n_pairs, left_out)


def _pair_columns(contributions: Contributions, speakers: Speakers) -> list[int]:
    """The sums for which pairs must be kept: targets are between a speaker and itself, nearly always."""
    classes = (0, 1) if speakers.targets_cross else (1,)
    return sorted({column for i in classes for column in contributions.columns(i)})


@dataclass(frozen=True, eq=False)
class InfluenceSums(SummaryBase):
    """Sums of products over trials, and sums for each speaker and each pair of speakers."""

    trials: FloatArray
    speakers: FloatArray
    pairs: PairSums

    @classmethod
    def at(
        cls, contributions: Contributions, speakers: Speakers | None, diagonal: bool = False
    ) -> Callable[[Scores], InfluenceSums]:
        """A summarizer; without speakers only the sums over trials are made."""

        def make(chunk: Scores) -> InfluenceSums:
            target, nontarget = (_sums_of_class(chunk, i, contributions, speakers, diagonal) for i in (0, 1))
            return target + nontarget

        return make

    def __add__(self, other: InfluenceSums) -> InfluenceSums:
        return InfluenceSums(
            self.trials + other.trials, self.speakers + other.speakers, self.pairs + other.pairs
        )

    def __mul__(self, weight: float) -> InfluenceSums:
        return InfluenceSums(self.trials * weight**2, self.speakers * weight, self.pairs * weight)


def _sums_of_class(
    chunk: Scores, class_index: int, contributions: Contributions, speakers: Speakers | None, diagonal: bool
) -> InfluenceSums:
    values, columns = (chunk.target, chunk.nontarget)[class_index], contributions.columns(class_index)
    size, n_speakers = contributions.size, speakers.n if speakers is not None else 0
    trials, sums = np.zeros((size, size)), np.zeros((size, n_speakers))
    if speakers is None:
        for block in blocks(len(values)):
            _add_products(trials, columns, contributions.of(values[block], class_index), diagonal)
        return InfluenceSums(trials, sums, PairSums(1))
    first, second = speakers.of(chunk, class_index)
    n_keys = n_speakers**2
    crossed = class_index == 1 or speakers.targets_cross
    kept = _pair_columns(contributions, speakers) if crossed else []
    wide = np.zeros((len(kept), len(values)), dtype=np.float32)
    for block in blocks(len(values)):
        arrays = contributions.of(values[block], class_index)
        _add_products(trials, columns, arrays, diagonal)
        for column, array in zip(columns, arrays, strict=True):
            sums[column] += np.bincount(first[block], array, minlength=n_speakers)
            sums[column] += np.bincount(second[block], array, minlength=n_speakers + 1)[:n_speakers]
            if crossed:
                wide[kept.index(column), block] = array
    if not crossed:
        return InfluenceSums(trials, sums, PairSums(n_keys))
    between = second < n_speakers
    if not between.all():
        first, second, wide = first[between], second[between], wide[:, between]
    keys = np.minimum(first, second) * n_speakers + np.maximum(first, second)
    return InfluenceSums(trials, sums, PairSums.of(n_keys, keys, wide))


def _add_products(
    total: FloatArray, columns: tuple[int, ...], arrays: list[FloatArray], diagonal: bool
) -> None:
    # einsum, not dot: BLAS would start threads of its own inside our pool
    for k, (i, a) in enumerate(zip(columns, arrays, strict=True)):
        total[i, i] += float(np.einsum("n,n->", a, a))
        for j, b in () if diagonal else zip(columns[:k], arrays[:k], strict=True):
            product = float(np.einsum("n,n->", a, b))
            total[i, j] += product
            total[j, i] += product
