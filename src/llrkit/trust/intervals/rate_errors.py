"""Standard errors of error rates at many thresholds at once, for trials that share speakers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit.core.cell_finder import CellFinder
from llrkit.core.summary import ReadOnlyArrays, SummaryBase
from llrkit.scores import Scores, ScoreSource
from llrkit.trust.intervals.speakers import Speakers

MOST_COUNTS = 50_000_000
"""Counts of cells and speakers, or of cells and pairs of speakers, that are kept."""


@dataclass(frozen=True, eq=False)
class RateErrors(ReadOnlyArrays):
    """Rates at ascending thresholds, their variances, and the covariance of Pmiss and Pfa."""

    thresholds: FloatArray
    p_miss: FloatArray
    p_fa: FloatArray
    var_miss: FloatArray
    var_fa: FloatArray
    covariance: FloatArray
    n: tuple[float, float]
    pairs_left_out: bool

    def variance(self, miss: npt.ArrayLike, fa: npt.ArrayLike) -> FloatArray:
        """Variance of ``miss * Pmiss + fa * Pfa`` at each threshold."""
        a, b = np.asarray(miss, dtype=np.float64), np.asarray(fa, dtype=np.float64)
        return np.asarray(a * a * self.var_miss + b * b * self.var_fa + 2.0 * a * b * self.covariance)

    def effective(self, class_index: int) -> float:
        """How many independent trials of a class would know its rates as well, in the middle of the curve."""
        rate = self.p_miss if class_index == 0 else self.p_fa
        variance = self.var_miss if class_index == 0 else self.var_fa
        known = (
            (rate * self.n[class_index] >= 5) & ((1.0 - rate) * self.n[class_index] >= 5) & (variance > 0.0)
        )
        if not known.any():
            return self.n[class_index]
        return min(self.n[class_index], float(np.median(rate[known] * (1.0 - rate[known]) / variance[known])))


def rate_errors(source: ScoreSource, thresholds: npt.ArrayLike, speakers: Speakers | None) -> RateErrors:
    """Rates at some thresholds with their variances, from one pass.

    The pair term of the dyadic variance needs a count for each pair and threshold; where those are too
    many it is left out, which makes the variances larger, never smaller.
    """
    cuts = np.unique(np.asarray(thresholds, dtype=np.float64))
    finder = CellFinder(cuts)
    if speakers is None:
        counts = source.reduce(CellCounts.at(finder, None, False))
        total = [by_cell.sum(axis=0) for by_cell in counts.by_group]
        rates, n = _rates(total)
        variances = [rate * (1.0 - rate) / size for rate, size in zip(rates, n, strict=True)]
        zero = np.zeros(len(cuts))
        return RateErrors(cuts, rates[0], rates[1], variances[0], variances[1], zero, n, False)
    n_pairs = speakers.n * (speakers.n - 1) // 2
    keep = len(speakers.columns) == 2 and n_pairs * finder.n_cells <= MOST_COUNTS
    counts = source.with_columns(*speakers.columns).reduce(CellCounts.at(finder, speakers, keep))
    rates, n = _rates(list(counts.total))
    miss, fa = (_deviations(cells, rate, size, class_index) for class_index, (cells, rate, size) in
                enumerate(zip(counts.by_group, rates, n, strict=True)))  # fmt: skip
    sums = [np.einsum("st,st->t", a, b) for a, b in ((miss, miss), (fa, fa), (miss, fa))]
    if keep:
        miss, fa = (_deviations(cells, rate, size, class_index) for class_index, (cells, rate, size) in
                    enumerate(zip(counts.by_pair, rates, n, strict=True)))  # fmt: skip
        inner = [np.einsum("st,st->t", a, b) for a, b in ((miss, miss), (fa, fa), (miss, fa))]
        sums = [by_speaker - by_pair for by_speaker, by_pair in zip(sums, inner, strict=True)]
    factor = speakers.n / (speakers.n - 1.0)
    # in very small sets taking the pairs out may leave nothing: never less than independent trials
    floor = [rate * (1.0 - rate) / size for rate, size in zip(rates, n, strict=True)]
    left_out = len(speakers.columns) == 2 and not keep
    return RateErrors(
        cuts, rates[0], rates[1], np.maximum(sums[0] * factor, 0.1 * floor[0]),
        np.maximum(sums[1] * factor, 0.1 * floor[1]), sums[2] * factor, n, left_out,
    )  # fmt: skip


def _rates(total: list[FloatArray]) -> tuple[list[FloatArray], tuple[float, float]]:
    """Miss and false-alarm rates at the thresholds, and the numbers of trials, from counts in cells."""
    n = float(total[0].sum()), float(total[1].sum())
    below = [np.cumsum(cells)[:-1] / size for cells, size in zip(total, n, strict=True)]
    return [below[0], 1.0 - below[1]], n


def _deviations(counts: FloatArray, rate: FloatArray, n: float, class_index: int) -> FloatArray:
    """For each group and threshold, its errors less those expected at the common rate, over all trials."""
    below = np.cumsum(counts, axis=1)
    size, errors = below[:, -1:], below[:, :-1]
    if class_index == 1:
        errors = size - errors
    return np.asarray((errors - size * rate) / n)


@dataclass(frozen=True, eq=False)
class CellCounts(SummaryBase):
    """For each class, how many trials of each speaker, and of each pair, lie in each cell."""

    total: tuple[FloatArray, FloatArray]
    by_group: tuple[FloatArray, FloatArray]
    by_pair: tuple[FloatArray, FloatArray]

    @classmethod
    def at(cls, finder: CellFinder, speakers: Speakers | None, pairs: bool) -> Callable[[Scores], CellCounts]:
        """A summarizer; ``pairs`` says whether pairs of speakers are counted too."""

        def make(chunk: Scores) -> CellCounts:
            target, nontarget = (_count_class(chunk, i, finder, speakers, pairs) for i in (0, 1))
            return cls(*zip(target, nontarget, strict=True))

        return make

    def _with(self, other: CellCounts | float) -> CellCounts:
        def one(name: str) -> tuple[Any, Any]:
            mine = getattr(self, name)
            if isinstance(other, CellCounts):
                theirs = getattr(other, name)
                return mine[0] + theirs[0], mine[1] + theirs[1]
            return mine[0] * other, mine[1] * other

        return CellCounts(one("total"), one("by_group"), one("by_pair"))

    def __add__(self, other: CellCounts) -> CellCounts:
        return self._with(other)

    def __mul__(self, weight: float) -> CellCounts:
        return self._with(float(weight))


def _count_class(
    chunk: Scores, class_index: int, finder: CellFinder, speakers: Speakers | None, pairs: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    cell, width = finder((chunk.target, chunk.nontarget)[class_index]), finder.n_cells
    total = np.bincount(cell, minlength=width).astype(np.float64)
    if speakers is None:
        return total, total[None, :], np.zeros((0, width))
    first, second = speakers.of(chunk, class_index)
    n = speakers.n
    by_group = np.bincount(first * width + cell, minlength=n * width)
    crossed = second < n
    by_group += np.bincount(second[crossed] * width + cell[crossed], minlength=n * width)
    by_pair: FloatArray = np.zeros((0, width))
    if pairs:
        low, high = np.minimum(first, second)[crossed], np.maximum(first, second)[crossed]
        key = high * (high - 1) // 2 + low  # pairs in a triangle
        size = n * (n - 1) // 2
        counts = np.bincount(key * width + cell[crossed], minlength=size * width)
        by_pair = counts.reshape(size, width).astype(np.float64)
    return total, by_group.reshape(n, width).astype(np.float64), by_pair
