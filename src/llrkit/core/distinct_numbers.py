"""Distinct whole numbers: how many there are, and which of them belong together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from llrkit._arrays import IntArray
from llrkit.core.summary_algebra import SummaryBase

EXACT_UP_TO = 1 << 20
"""Distinct numbers that are counted one by one, at 8 bytes each; beyond, their number is an estimate."""


@dataclass(frozen=True, eq=False)
class DistinctNumbers(SummaryBase):
    """How many distinct whole numbers occur: exact up to ``limit``, an estimate beyond, in bounded memory.

    Numbers are scattered over all 64-bit words by a map that is one to one, and the ``limit`` smallest
    words are kept. As long as no word was dropped, the words are the numbers. Afterwards ``(limit - 1) / u``
    estimates how many there are, with ``u`` the largest word kept as a share of all words; its relative
    standard error is ``1 / sqrt(limit)``, 0.1 % by default.

    References
    ----------
    Bar-Yossef, Jayram, Kumar, Sivakumar & Trevisan, "Counting distinct elements in a data stream",
    RANDOM 2002; Beyer et al., "On synopses for distinct-value estimation", SIGMOD 2007.

    Examples
    --------
    >>> both = DistinctNumbers.of(np.array([3, 5, 3])) + DistinctNumbers.of(np.array([5, 9]))
    >>> both.count, both.exact
    (3, True)
    >>> many = DistinctNumbers.of(np.arange(100_000), limit=10_000)
    >>> many.count, many.exact
    (100166, False)
    """

    words: npt.NDArray[np.uint64]
    exact: bool = True
    limit: int = EXACT_UP_TO

    @classmethod
    def of(cls, numbers: IntArray, limit: int = EXACT_UP_TO) -> DistinctNumbers:
        """Those of an array."""
        return cls._smallest(_scattered(numbers), True, limit)

    @classmethod
    def _smallest(cls, words: npt.NDArray[np.uint64], exact: bool, limit: int) -> DistinctNumbers:
        words = np.sort(words)  # np.unique would fill a hash table, which takes fifty times as long
        words = words[np.flatnonzero(np.diff(words, prepend=~words[:1]))]
        return cls(words[:limit], exact and len(words) <= limit, limit)

    def __add__(self, other: DistinctNumbers) -> DistinctNumbers:
        words = np.concatenate([self.words, other.words])
        return self._smallest(words, self.exact and other.exact, min(self.limit, other.limit))

    def __mul__(self, weight: float) -> DistinctNumbers:
        return self

    @property
    def count(self) -> int:
        """How many distinct numbers there are, or about how many if not ``exact``."""
        if self.exact:
            return len(self.words)
        return round((len(self.words) - 1) / ((int(self.words[-1]) + 1) / 2.0**64))


def _scattered(numbers: IntArray) -> npt.NDArray[np.uint64]:
    """Other 64-bit words, one for each number, that look drawn at random (the last steps of splitmix64)."""
    with np.errstate(over="ignore"):  # the arithmetic is meant to wrap around
        words = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(words ^ (words >> np.uint64(31)))


@dataclass(frozen=True, eq=False)
class JoinedNumbers(SummaryBase):
    """Which of the numbers below n belong together, as pairs of them say: connected components.

    Examples
    --------
    >>> joined = JoinedNumbers.of(5, np.array([0, 3]), np.array([2, 3])) + JoinedNumbers.of(
    ...     5, np.array([2]), np.array([4])
    ... )
    >>> joined.lowest  # 0, 2 and 4 are one
    array([0, 1, 0, 3, 0])
    """

    lowest: IntArray
    """For each number the lowest of those it belongs to."""

    @classmethod
    def of(cls, n: int, left: IntArray, right: IntArray) -> JoinedNumbers:
        """Join the two numbers of each pair."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        edges = coo_array((np.ones(len(left), dtype=np.int8), (left, right)), shape=(n, n))
        _, group = connected_components(edges, directed=False)
        lowest_of_group = np.full(n, n, dtype=np.int64)
        np.minimum.at(lowest_of_group, group, np.arange(n))
        return cls(lowest_of_group[group])

    def __add__(self, other: JoinedNumbers) -> JoinedNumbers:
        n = len(self.lowest)
        own = np.arange(n)
        return self.of(n, np.concatenate([own, own]), np.concatenate([self.lowest, other.lowest]))

    def __mul__(self, weight: float) -> JoinedNumbers:
        return self

    @property
    def any_joined(self) -> bool:
        """Whether some number belongs to another one."""
        return bool((self.lowest != np.arange(len(self.lowest))).any())
