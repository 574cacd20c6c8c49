"""CalibratedCells: two distributions of LLRs that are calibrated exactly, and sets drawn from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.bracketed_root import bracketed_root
from llrkit.core.elementary_functions import LN2, sigmoid, softplus
from llrkit.core.pav_and_hull import PavBlocks
from llrkit.core.summary_algebra import ReadOnlyArrays
from llrkit.theory.calibrated_pair import CalibratedPair

CELLS = 1 << 15
"""Cells of a pair of distributions that is given: fine enough for trials not to tie."""
JUDGED_CELLS = 1 << 11
"""Cells of a set of trials: fine beside what its best map can be told from others."""
_REACH = 9.0
"""Standard deviations around the means within which a pair of distributions is cut into cells."""
_CERTAIN = 60.0
"""A calibrated LLR this far from the threshold is never wrong, however many trials there are."""


def judged_range(extremes: tuple[float, float], blocks: PavBlocks) -> tuple[float, float]:
    """Where LLRs are looked at closely: between their extremes, and no further than 60 nats from the
    threshold where both classes are as likely. LLRs such as 1e10, which stand for certainty, are beyond.

    Examples
    --------
    >>> blocks = PavBlocks(np.array([1, 3]), np.array([3, 1]), *np.array([[-1e10, 4.0], [2.0, 1e10]]))
    >>> judged_range((-1e10, 1e10), blocks)
    (-56.0, 64.0)
    """
    at = min(int(np.searchsorted(blocks.llr, 0.0)), len(blocks.llr) - 1)
    center = float(blocks.low[at])
    return max(extremes[0], center - _CERTAIN), min(extremes[1], center + _CERTAIN)


@dataclass(frozen=True, eq=False)
class JudgedCells(ReadOnlyArrays):
    """A set of trials counted in even cells: what a null distribution is compared with."""

    edges: FloatArray
    target: FloatArray
    nontarget: FloatArray

    @property
    def llr(self) -> FloatArray:
        """The middle of each cell."""
        return np.asarray(0.5 * (self.edges[:-1] + self.edges[1:]))

    @property
    def size(self) -> tuple[int, int]:
        """Numbers of targets and of non-targets."""
        return round(float(self.target.sum())), round(float(self.nontarget.sum()))


@dataclass(frozen=True, eq=False)
class CalibratedCells(ReadOnlyArrays):
    """Two distributions on cells of LLRs whose log-ratio is the LLR of each cell: calibrated exactly."""

    llr: FloatArray
    target: FloatArray
    nontarget: FloatArray

    @classmethod
    def from_pair(cls, pair: CalibratedPair) -> CalibratedCells:
        """A calibrated pair cut into cells.

        Examples
        --------
        >>> from llrkit.theory import GaussianLLR
        >>> cells = CalibratedCells.from_pair(GaussianLLR.from_eer(0.05))
        >>> round(float(cells.target.sum()), 9), round(cells.cllr, 4)
        (1.0, 0.1836)
        """
        low = pair.nontarget.mean() - _REACH * pair.nontarget.std()
        high = pair.target.mean() + _REACH * pair.target.std()
        edges = np.linspace(low, high, CELLS + 1)
        masses = [np.diff(np.asarray(one.cdf(edges))) for one in (pair.target, pair.nontarget)]
        return cls._calibrated((edges[1:] + edges[:-1]) / 2.0, (masses[0] + masses[1]) / 2.0)

    @classmethod
    def relabeled(cls, cells: JudgedCells) -> CalibratedCells:
        """The scores of a set, read as LLRs and with labels drawn anew by what the LLRs say.

        Every score is spread half-way to its neighbors: scores drawn from a few values would tie, and what
        ties cannot be fitted too well.
        """
        pooled = 0.5 * (cells.target / cells.target.sum() + cells.nontarget / cells.nontarget.sum())
        at = np.flatnonzero(pooled)
        borders = np.concatenate([[at[0]], 0.5 * (at[1:] + at[:-1] + 1), [at[-1] + 1]])
        below = np.concatenate([[0.0], np.cumsum(pooled[at])])
        spread = np.diff(np.interp(np.arange(len(pooled) + 1), borders, below))
        filled = spread > 0.0
        return cls._calibrated(cells.llr[filled], spread[filled])

    @classmethod
    def _calibrated(cls, llr: FloatArray, pooled: FloatArray) -> CalibratedCells:
        """Share every cell between the classes by its LLR, shifted so that both classes get one half."""
        half = 0.5 * float(pooled.sum())

        def excess(shift: float) -> float:
            return float((pooled * np.asarray(sigmoid(llr + shift))).sum()) - half

        shift = bracketed_root(excess, -float(llr.max()) - 1.0, 1.0 - float(llr.min()), within=1e-13)
        share = np.asarray(sigmoid(llr + shift))
        target, nontarget = pooled * share, pooled * (1.0 - share)
        return cls(llr + shift, target / target.sum(), nontarget / nontarget.sum())

    @property
    def cllr(self) -> float:
        """Cllr of the two distributions, in bits."""
        return cllr_of_counts(self.llr, self.target, self.nontarget)

    def draw(self, sizes: tuple[int, int], rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """How many of so many targets and non-targets fall into each cell.

        Examples
        --------
        >>> cells = CalibratedCells(np.array([-1.0, 1.0]), *np.array([[0.27, 0.73], [0.73, 0.27]]))
        >>> target, nontarget = cells.draw((7, 3), np.random.default_rng(1))
        >>> target.sum(), nontarget.sum()
        (np.float64(7.0), np.float64(3.0))
        """
        return _draw_counts(self.target, sizes[0], rng), _draw_counts(self.nontarget, sizes[1], rng)


def _draw_counts(masses: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    if n >= len(masses):
        return rng.multinomial(n, masses).astype(np.float64)
    levels = np.cumsum(masses)  # one by one is quicker for few
    place = np.searchsorted(levels, rng.random(n) * levels[-1], side="right")
    return np.bincount(np.minimum(place, len(masses) - 1), minlength=len(masses)).astype(np.float64)


def cllr_of_counts(llr: FloatArray, target: FloatArray, nontarget: FloatArray) -> float:
    """Cllr in bits of weighted LLRs."""
    t = float((target * softplus(-llr)).sum() / target.sum())
    n = float((nontarget * softplus(llr)).sum() / nontarget.sum())
    return (t + n) / (2.0 * LN2)
