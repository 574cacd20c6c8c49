"""PairSums: sums over the trials of each pair of speakers, of which there may be millions."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray, IntArray
from llrkit.core.summary import SummaryBase
from llrkit.scores.source import thread_count

Singles = npt.NDArray[np.float32]

MOST_PAIRS = 50_000_000
MOST_SUMS = 10 * MOST_PAIRS
"""Pairs times columns; more than ten columns leave room for fewer pairs."""
_DENSE_BITS = 18
"""Keys are dealt with in ranges of this many bits, whose sums stay in the cache."""
_MOST_RANGES = 1 << 10
_TIDY_ABOVE = 3 << 22


@dataclass(frozen=True, eq=False)
class Run(SummaryBase):
    """Trials or pairs, sorted by range of keys; ``bounds`` says where each range starts."""

    keys: IntArray
    columns: Singles
    bounds: npt.NDArray[np.intp]

    def key_range(self, i: int) -> tuple[IntArray, Singles]:
        """The entries of one range of keys."""
        place = slice(self.bounds[i], self.bounds[i + 1])
        return self.keys[place], self.columns[:, place]


@dataclass(frozen=True, eq=False)
class PairSums(SummaryBase):
    """Sums of some columns for each pair of speakers that occurs, as runs that are merged now and then.

    A pair is known by a key below ``n_keys``. ``too_many`` says that more pairs occur than can be kept
    (:func:`most_pairs`); nothing is kept then.
    """

    n_keys: int
    runs: tuple[Run, ...] = ()
    settled: int = 0
    too_many: bool = False

    @classmethod
    def of(cls, n_keys: int, keys: IntArray, columns: Singles) -> PairSums:
        """The sums of some trials: a key of the pair of each, and its columns (columns, trials).

        Examples
        --------
        >>> sums = PairSums.of(9, np.array([7, 5, 7]), np.array([[1.0, 2.0, 4.0]], dtype=np.float32))
        >>> sums.squares(1)  # 2^2 + 5^2, of two pairs
        (array([[29.]]), 2)
        """
        shift, n_ranges = _ranges(n_keys)
        # a stable sort of 16-bit numbers is a radix sort
        which = (keys >> shift).astype(np.uint16)
        order = np.argsort(which, kind="stable")
        bounds = np.concatenate([[0], np.cumsum(np.bincount(which, minlength=n_ranges))])
        sorted_columns = np.empty_like(columns)
        for column, out in zip(columns, sorted_columns, strict=True):
            out[:] = column[order]
        return cls(n_keys, (Run(keys[order], sorted_columns, bounds),) if len(keys) else ())

    def __add__(self, other: PairSums) -> PairSums:
        if self.too_many or other.too_many:
            return PairSums(self.n_keys, too_many=True)
        total = PairSums(self.n_keys, self.runs + other.runs, max(self.settled, other.settled))
        return total if total.entries <= 2 * total.settled + _TIDY_ABOVE else total._tidied()

    def __mul__(self, weight: float) -> PairSums:
        runs = tuple(Run(run.keys, run.columns * np.float32(weight), run.bounds) for run in self.runs)
        return PairSums(self.n_keys, runs, self.settled, self.too_many)

    @property
    def entries(self) -> int:
        """How many sums are kept, pairs that occur in several runs counted in each."""
        return sum(len(run.keys) for run in self.runs)

    def _tidied(self) -> PairSums:
        keys, columns = zip(*((keys, sums.astype(np.float32)) for keys, sums in self._merged()), strict=True)
        bounds = np.concatenate([[0], np.cumsum([len(range_keys) for range_keys in keys])])
        if bounds[-1] > most_pairs(len(columns[0])):
            return PairSums(self.n_keys, too_many=True)
        run = Run(np.concatenate(keys), np.hstack(columns), bounds)
        return PairSums(self.n_keys, (run,), len(run.keys))

    def squares(self, size: int) -> tuple[FloatArray, int]:
        """``sum over pairs of h h^T`` with h the sums of a pair, and the number of pairs."""
        total, pairs = np.zeros((size, size)), 0
        for keys, sums in self._merged():
            total += sums @ sums.T
            pairs += len(keys)
        return total, pairs

    def _merged(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """Keys without repeats and their sums, range after range, by a pool of threads."""
        shift, n_ranges = _ranges(self.n_keys)

        def merge_range(i: int) -> tuple[IntArray, FloatArray]:
            entries = [run.key_range(i) for run in self.runs]
            keys = np.concatenate([keys for keys, _ in entries])
            return _grouped(keys, np.hstack([columns for _, columns in entries]), shift)

        if self.runs:
            with ThreadPoolExecutor(thread_count()) as pool:
                yield from pool.map(merge_range, range(n_ranges))


def most_pairs(columns: int) -> int:
    """How many pairs can be kept with so many columns."""
    return min(MOST_PAIRS, MOST_SUMS // max(columns, 1))


def _ranges(n_keys: int) -> tuple[int, int]:
    """By how many bits keys are shifted to give their range, and how many ranges there are."""
    shift = max(_DENSE_BITS, (n_keys - 1).bit_length() - _MOST_RANGES.bit_length() + 1)
    return shift, ((n_keys - 1) >> shift) + 1


def _grouped(keys: IntArray, columns: npt.NDArray[Any], shift: int) -> tuple[IntArray, FloatArray]:
    """The keys of one range without repeats, and the sums of the columns of each."""
    if len(keys) == 0:
        return keys, np.zeros((len(columns), 0))
    low = keys[0] >> shift << shift
    if shift == _DENSE_BITS and 16 * len(keys) > 1 << shift:
        place, n = keys - low, 1 << shift
        distinct = np.flatnonzero(np.bincount(place, minlength=n))
    else:
        distinct, place = np.unique(keys, return_inverse=True)
        low, n = 0, len(distinct)
    sums = np.empty((len(columns), len(distinct)))
    for column, out in zip(columns, sums, strict=True):
        added = np.bincount(place, column, minlength=n)
        out[:] = added[distinct] if len(added) > len(distinct) else added
    return distinct + low, sums
