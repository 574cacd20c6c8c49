"""CellFinder: between which of many cuts each score lies, mostly by looking it up."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array, FloatArray, IntArray
from llrkit.core.special import blocks

_BUCKETS_PER_CUT = 16
_FEWEST, _MOST = 1 << 10, 1 << 18


class CellFinder:
    """Numbers the cells between ascending cuts: cell ``i`` holds the scores with ``i`` cuts at or below them.

    The same as ``np.searchsorted(cuts, scores, side="right")``. Scores and cuts are dropped into even
    buckets by a non-decreasing function; a score that shares its bucket with no cut is looked up, only
    the others are searched for.

    Examples
    --------
    >>> CellFinder(np.array([0.0, 1.0]))(np.array([-1.0, 0.0, 0.5, 1.0, np.inf]))
    array([0, 1, 1, 2, 2])
    """

    def __init__(self, cuts: npt.ArrayLike) -> None:
        self.cuts: FloatArray = np.asarray(cuts, dtype=np.float64)
        self._first: IntArray | None = None
        finite = self.cuts[np.isfinite(self.cuts)]
        spread = float(finite[-1]) - float(finite[0]) if len(finite) > 1 else 0.0
        count = int(np.clip(_BUCKETS_PER_CUT * len(finite), _FEWEST, _MOST))
        if not (0.0 < spread < np.inf and count / spread < np.inf):
            return  # nothing to divide evenly
        self._scale = count / spread
        # one bucket more on either side, for everything beyond the cuts
        self._low, self._high = float(finite[0]) - 1.5 / self._scale, float(finite[-1]) + 1.5 / self._scale
        bucket = self._bucket(finite)
        held = np.bincount(bucket, minlength=count + 4)
        first = np.cumsum(held) - held + int((self.cuts == -np.inf).sum())
        # -1 where a cut lies in the bucket, so that one look says both
        self._first = np.where(held > 0, -1, first)

    @property
    def n_cells(self) -> int:
        """Number of cells: one more than cuts."""
        return len(self.cuts) + 1

    def _bucket(self, values: Array) -> IntArray:
        position = np.clip(values, self._low, self._high, dtype=np.float64)
        position -= self._low
        position *= self._scale
        return np.asarray(position, dtype=np.intp)

    def __call__(self, values: Array) -> IntArray:
        """The cell of each score."""
        if self._first is None:
            return np.searchsorted(self.cuts, values.astype(np.float64, copy=False), side="right")
        cell = np.empty(len(values), dtype=np.intp)
        for block in blocks(len(values)):
            block_values = values[block]
            block_cells = self._first[self._bucket(block_values)]
            near = np.flatnonzero(block_cells < 0)
            if len(near):
                close = block_values[near].astype(np.float64, copy=False)
                block_cells[near] = np.searchsorted(self.cuts, close, side="right")
            infinite = self.cuts[-1] == np.inf and block_values.max() == np.inf
            if infinite:
                block_cells[block_values == np.inf] = len(self.cuts)
            cell[block] = block_cells
        return cell
