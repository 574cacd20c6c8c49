"""LlrCells: both classes counted in narrow cells of the LLR, from the thresholds an evaluation counts at."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.loss_sums import LossSums
from llrkit.core.moments import Moments
from llrkit.core.ranking import Ranking
from llrkit.core.summary_algebra import ReadOnlyArrays

FAR = np.concatenate([np.arange(-60.0, -10.0, 0.25), np.arange(10.25, 60.25, 0.25)])
"""Cuts beyond the prior log-odds of Bayes error plots: a calibrated LLR is never wrong by more than 60."""
_ENOUGH = 1 << 14
"""Scores that tell whether scores are rounded."""
_MANY_TRIALS, _MANY_BLOCKS = 1 << 16, 64
"""From so many trials and blocks on, the ends of blocks tell it: bins may not have been made."""


@dataclass(frozen=True, eq=False)
class LlrCells(ReadOnlyArrays):
    """Numbers of target and non-target trials by score, finite scores only, with the numbers of all trials.

    Between -10 and 10 a cell is at most 0.01 wide, to 60 at most 0.25, and never wider than 1/1024 of the
    range of the scores. An infinite score on the right side adds nothing to any loss and is left out.
    """

    llr: FloatArray
    target: FloatArray
    nontarget: FloatArray
    n_target: float
    n_nontarget: float

    @classmethod
    def of(cls, target: FloatArray, nontarget: FloatArray) -> LlrCells:
        """Every trial in a cell of its own.

        Examples
        --------
        >>> LlrCells.of(np.array([1.0]), np.array([-1.0, 0.0])).llr
        array([ 1., -1.,  0.])
        """
        n = len(target), len(nontarget)
        is_target = np.repeat([1.0, 0.0], n)
        return cls(np.concatenate([target, nontarget]), is_target, 1.0 - is_target, *map(float, n))

    @classmethod
    def from_counts(cls, losses: LossSums, moments: Moments, ranking: Ranking) -> LlrCells:
        """The cells between the thresholds at which errors were counted."""
        cuts, first = np.unique(losses.thresholds, return_index=True)
        below = (losses.n_miss[first], losses.n_nontarget - losses.n_fa[first])
        sizes = (float(losses.n_target), float(losses.n_nontarget))
        counts = []
        for under, n, one in zip(below, sizes, (moments.target, moments.nontarget), strict=True):
            in_cells = np.diff(np.concatenate([[one.n_neg_inf], under, [n - one.n_pos_inf]]))
            counts.append(np.maximum(in_cells, 0.0))  # weighted counts are not whole
        ends = np.clip(moments.extremes, cuts[0], cuts[-1]) if np.isfinite(moments.extremes).all() else (0, 0)
        inside = cuts[:-1] + _place_in_cell(cuts, _some_scores(ranking)) * np.diff(cuts)
        llr = np.concatenate([[ends[0]], inside, [ends[1]]])
        filled = np.flatnonzero(counts[0] + counts[1])
        return cls(llr[filled], counts[0][filled], counts[1][filled], *sizes)

    @property
    def trials(self) -> FloatArray:
        """Trials of either class by cell."""
        return self.target + self.nontarget

    def weighted(self, target: float, nontarget: float) -> LlrCells:
        """Count every target ``target`` times and every non-target ``nontarget`` times."""
        return LlrCells(
            self.llr, self.target * target, self.nontarget * nontarget,
            self.n_target * target, self.n_nontarget * nontarget,
        )  # fmt: skip

    def mapped(self, a: float, b: float) -> LlrCells:
        """The same trials with LLRs ``a x + b``."""
        return replace(self, llr=a * self.llr + b)


def _some_scores(ranking: Ranking) -> FloatArray:
    """Scores by which rounding shows: those at the ends of blocks where these are many, else of bins."""
    blocks = ranking.blocks
    if ranking.n_target + ranking.n_nontarget > _MANY_TRIALS and len(blocks.low) >= _MANY_BLOCKS:
        return np.concatenate([blocks.low, blocks.high])
    bins = ranking.bins
    return bins.low[:: 1 + len(bins.low) // _ENOUGH]


def _place_in_cell(cuts: FloatArray, some: FloatArray) -> float:
    """Where scores are in their cells on average: half-way, but at the start if scores are rounded."""
    known = some[(some >= cuts[0]) & (some < cuts[-1])]
    if not len(known):
        return 0.5
    cell = np.searchsorted(cuts, known, side="right") - 1
    return float(np.mean((known - cuts[cell]) / (cuts[cell + 1] - cuts[cell])))
