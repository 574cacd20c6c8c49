"""PAV and the ROC convex hull: two views of the same pooling of bins."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import Counts, FloatArray
from llrkit._cached import cached_property
from llrkit.core.pav_pooling import from_zero
from llrkit.core.score_bins import ScoreBins
from llrkit.core.summary_algebra import ReadOnlyArrays

_FEW = 1 << 12
"""Error rates at so few points are computed at all of them: halving would cost more."""


@dataclass(frozen=True, eq=False)
class PavBlocks(ReadOnlyArrays):
    """Bins pooled until the share of targets increases from block to block.

    The LLR of a block is ``log(target / n_target) - log(nontarget / n_nontarget)``: the optimal
    non-decreasing map from score to LLR on these trials. Block ends are the vertices of the ROC convex hull.
    """

    target: Counts
    nontarget: Counts
    low: FloatArray
    high: FloatArray

    @cached_property
    def llr(self) -> FloatArray:
        """The LLR of each block, non-decreasing, -inf and inf where a block has one class only."""
        with np.errstate(divide="ignore"):  # log(0) is the answer here
            llr = np.asarray(
                np.log(self.target) - np.log(self.nontarget)
                - (np.log(self.target.sum()) - np.log(self.nontarget.sum()))
            )  # fmt: skip
        llr.flags.writeable = False
        return llr

    @cached_property
    def hull(self) -> ErrorPath:
        """The ROC convex hull."""
        return error_path(self)


def pav_blocks(bins: ScoreBins) -> PavBlocks:
    """Pool adjacent violators.

    Examples
    --------
    >>> bins = ScoreBins(np.array([0, 1, 0, 1]), np.array([1, 0, 1, 0]), *np.array([[1.0, 2, 3, 4]] * 2))
    >>> blocks = pav_blocks(bins)
    >>> blocks.target, blocks.nontarget
    (array([0, 1, 1]), array([1, 1, 0]))
    """
    start = bins.block_starts
    stop = np.append(start[1:], len(bins.low)) - 1
    return PavBlocks(
        np.add.reduceat(bins.target, start),
        np.add.reduceat(bins.nontarget, start),
        bins.low[start],
        bins.high[stop],
    )


@dataclass(frozen=True, eq=False)
class ErrorPath(ReadOnlyArrays):
    """A path of error counts from "accept all" to "reject all": a ROC or its convex hull.

    ``n_miss[i]`` and ``n_fa[i]`` are the errors of accepting what scores at least ``threshold[i]``.
    The last threshold is inf and stands for rejecting everything.
    """

    n_miss: Counts
    n_fa: Counts
    threshold: FloatArray
    n_target: float
    n_nontarget: float

    @cached_property
    def p_miss(self) -> FloatArray:
        """Miss rate of each vertex."""
        with np.errstate(invalid="ignore", divide="ignore"):  # without targets there is no rate
            return self.n_miss / self.n_target

    @cached_property
    def p_fa(self) -> FloatArray:
        """False-alarm rate of each vertex."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.n_fa / self.n_nontarget


def error_path(bins: ScoreBins | PavBlocks) -> ErrorPath:
    """The ROC of bins, or the ROC convex hull of PAV blocks.

    Examples
    --------
    >>> path = error_path(ScoreBins(np.array([0, 1]), np.array([2, 0]), *np.array([[1.0, 3.0]] * 2)))
    >>> path.n_miss, path.n_fa, path.threshold
    (array([0, 0, 1]), array([2, 0, 0]), array([ 1.,  3., inf]))
    """
    n_miss, rejected = from_zero(bins.target), from_zero(bins.nontarget)
    # subtracting from the last sum ends at an exact zero also for weighted counts
    return ErrorPath(
        n_miss,
        rejected[-1] - rejected,
        np.append(bins.low, np.inf),
        n_miss[-1].item(),
        rejected[-1].item(),
    )


def crossing_of_rejected(missed: Counts, others: Sequence[Counts]) -> float:
    """Where misses and false alarms of all others together are equal, from running sums of the rejected.

    The same as :func:`crossing` of both rates, whose difference never falls: the place is found by halving.

    Examples
    --------
    >>> crossing_of_rejected(np.array([0, 0, 1, 2]), [np.array([0, 2, 4, 4])])
    0.25
    """

    n_target, n = missed[-1].item(), sum(sums[-1].item() for sums in others)
    if not n_target or not n:
        return math.nan
    if len(missed) <= _FEW:
        return crossing(missed / n_target, np.asarray((n - sum(others)) / n))

    def rates(i: int) -> tuple[float, float]:
        return missed[i].item() / n_target, (n - sum(sums[i].item() for sums in others)) / n

    i = bisect_left(range(len(missed)), True, key=lambda i: rates(i)[0] >= rates(i)[1])
    around = np.array([rates(j) for j in range(max(i - 1, 0), i + 1)])
    return crossing(around[:, 0], around[:, 1])


def crossing(rising: FloatArray, falling: FloatArray) -> float:
    """The common value where a non-decreasing and a non-increasing polyline meet.

    Examples
    --------
    >>> crossing(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    0.5
    """
    gap = rising - falling
    i = int(np.argmax(gap >= 0))
    if gap[i] == 0 or i == 0:
        return float(rising[i])
    before, after = -gap[i - 1], gap[i]
    share = before / (before + after)
    return float(rising[i - 1] + share * (rising[i] - rising[i - 1]))
