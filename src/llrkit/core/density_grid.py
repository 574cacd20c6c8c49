"""DensityGrid: each class as counts and two moments in even cells, for everything that needs a density."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import Array, FloatArray, IntArray
from llrkit.core.summary_algebra import FieldwiseSums, SummaryBase
from llrkit.errors import InputError
from llrkit.scores import Scores

CELLS = 1 << 14


@dataclass(frozen=True, eq=False)
class CellSums(FieldwiseSums):
    """One class in even cells: counts, sums of deviations from the cell center and of their squares.

    Deviations are in units of the cell width, so they lie between -1/2 and 1/2.
    """

    count: Array
    first: FloatArray
    second: FloatArray
    n_neg_inf: float
    n_pos_inf: float

    @classmethod
    def of(cls, values: Array, low: float, high: float, cells: int) -> CellSums:
        """Sort scores into ``cells`` even cells between ``low`` and ``high``."""
        n_neg_inf, n_pos_inf = int((values == -np.inf).sum()), int((values == np.inf).sum())
        if n_neg_inf or n_pos_inf:
            values = values[np.isfinite(values)]
        # divided before subtracted: high - low itself may overflow
        width = high / cells - low / cells
        if width <= 0:  # all scores equal
            position = np.full(len(values), cells / 2)
        else:
            position = values.astype(np.float64) / width
            position -= low / width
        cell = position.astype(np.intp)
        np.clip(cell, 0, cells - 1, out=cell)
        position -= cell
        position -= 0.5
        count = np.bincount(cell, minlength=cells)
        first = _weighted_counts(cell, position, cells)
        np.multiply(position, position, out=position)
        return cls(count, first, _weighted_counts(cell, position, cells), n_neg_inf, n_pos_inf)


@dataclass(frozen=True, eq=False)
class DensityGrid(SummaryBase):
    """Both classes on the same even cells between the extremes of the scores.

    Examples
    --------
    >>> grid = DensityGrid.of(Scores([2.0, 4.0], [0.0, np.inf]), 0.0, 4.0, cells=4)
    >>> grid.target.count, grid.nontarget.count, grid.nontarget.n_pos_inf
    (array([0, 0, 1, 1]), array([1, 0, 0, 0]), 1)
    """

    low: float
    high: float
    target: CellSums
    nontarget: CellSums

    @classmethod
    def of(cls, scores: Scores, low: float, high: float, cells: int = CELLS) -> DensityGrid:
        """The cells of a chunk."""
        if scores.n_systems != 1:
            raise InputError(f"one system expected, got {scores.n_systems}")
        return cls(
            low,
            high,
            CellSums.of(scores.target, low, high, cells),
            CellSums.of(scores.nontarget, low, high, cells),
        )

    @classmethod
    def at(cls, low: float, high: float, cells: int = CELLS) -> Callable[[Scores], DensityGrid]:
        """A summarizer for given extremes."""
        return lambda chunk: cls.of(chunk, low, high, cells)

    def __add__(self, other: DensityGrid) -> DensityGrid:
        return DensityGrid(self.low, self.high, self.target + other.target, self.nontarget + other.nontarget)

    def __mul__(self, weight: float) -> DensityGrid:
        return DensityGrid(self.low, self.high, self.target * weight, self.nontarget * weight)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.target.count)

    @property
    def edges(self) -> FloatArray:
        """The ``cells + 1`` borders of the cells."""
        share = np.arange(self.cells + 1) / self.cells
        return self.low * (1.0 - share) + self.high * share

    @property
    def centers(self) -> FloatArray:
        """The middle of each cell."""
        share = (np.arange(self.cells) + 0.5) / self.cells
        return self.low * (1.0 - share) + self.high * share


def _weighted_counts(cell: IntArray, weight: FloatArray, cells: int) -> FloatArray:
    return np.bincount(cell, weight, minlength=cells).astype(np.float64, copy=False)
