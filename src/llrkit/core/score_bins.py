"""ScoreBins: counts of both classes in ascending runs of scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import Array, Counts, FloatArray, IntArray
from llrkit._cached import cached_property
from llrkit.core.elementary_functions import blocks
from llrkit.core.pav_pooling import pooled_starts
from llrkit.core.summary_algebra import ReadOnlyArrays

_BINS_AT_A_TIME = 1 << 14
"""Bins of which temporary arrays are made together: small enough for the allocator to reuse them."""


@dataclass(frozen=True, eq=False)
class ScoreBins(ReadOnlyArrays):
    """Counts of both classes in ascending bins; a bin is one score, or a run of scores of one class."""

    target: Counts
    nontarget: Counts
    low: FloatArray
    high: FloatArray

    @property
    def n_target(self) -> float:
        """Number (or total weight) of targets."""
        return total(self.target)

    @property
    def n_nontarget(self) -> float:
        """Number (or total weight) of non-targets."""
        return total(self.nontarget)

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return sum(array.nbytes for array in (self.target, self.nontarget, self.low, self.high))

    @cached_property
    def block_starts(self) -> IntArray:
        """The first bin of each PAV block; found once, as most metrics need it."""
        return pooled_starts(self.target, self.nontarget)


def total(counts: Counts) -> float:
    """The sum of counts, an int as long as nothing was weighted."""
    number: float = counts.sum().item()
    return number


def doubled_wins(bins: ScoreBins) -> float:
    """Twice the pairs in which the target scores above the non-target, and once those that tie.

    Examples
    --------
    >>> doubled_wins(ScoreBins(np.array([0, 1, 1]), np.array([1, 1, 0]), *np.array([[0.0, 1.0, 2.0]] * 2)))
    7.0
    """
    wins, below = 0.0, bins.nontarget.dtype.type(0)
    for part in blocks(len(bins.low), _BINS_AT_A_TIME):
        nontarget = bins.nontarget[part]
        sums = below + np.cumsum(nontarget)
        # 2 * below + nontarget keeps whole numbers whole; one row of the sum may exceed 2^63, hence floats
        wins += float((bins.target[part].astype(np.float64) * (2 * sums - nontarget)).sum())
        below = sums[-1]
    return wins


def tie_sum(bins: ScoreBins) -> float:
    """The sum of ``m^3 - m`` over the bins that hold both classes, ``m`` trials each.

    Examples
    --------
    >>> tie_sum(ScoreBins(np.array([0, 2]), np.array([1, 1]), *np.array([[0.0, 1.0]] * 2)))
    24.0
    """
    shared = np.flatnonzero((bins.target > 0) & (bins.nontarget > 0))
    tied = bins.target[shared].astype(np.float64) + bins.nontarget[shared]
    return float((tied**3 - tied).sum())


def joined_bins(ranges: Iterable[ScoreBins]) -> ScoreBins:
    """The bins of ascending ranges as one; a run that goes over a border becomes one run again."""
    columns: list[Sequence[Array]] = []
    for bins in ranges:
        if not len(bins.low):
            continue
        here = [bins.target, bins.nontarget, bins.low, bins.high]
        if columns and _same_class(columns[-1], here):
            before = columns[-1]
            for i in (0, 1):
                here[i] = np.append(here[i][0] + before[i][-1], here[i][1:])
            here[2] = np.append(before[2][-1], here[2][1:])
            columns[-1] = [array[:-1] for array in before]
        columns.append(here)
    if len(columns) == 1:
        return ScoreBins(*columns[0])
    return ScoreBins(*(np.concatenate(arrays) for arrays in zip(*columns, strict=True)))


def _same_class(before: Sequence[Array], after: Sequence[Array]) -> bool:
    """Whether the last bin before a border and the first after it are runs of one class."""
    return bool((before[0][-1] == 0 and after[0][0] == 0) or (before[1][-1] == 0 and after[1][0] == 0))
