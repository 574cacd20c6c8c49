"""TrialCounts: both classes counted in cells between distinct scores; BelowCounts: below given thresholds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Counts, FloatArray, IntArray
from llrkit.core.score_bins import ScoreBins, total
from llrkit.core.score_index import score_indexes
from llrkit.core.summary_algebra import SummaryBase
from llrkit.core.threshold_grid import ClassName, Grid, collect_again, require_both_classes
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.source import as_source


@dataclass(frozen=True, eq=False)
class TrialCounts(SummaryBase):
    """How the scores of both classes lie on a grid t1 < t2 < ... < tK.

    ``at`` counts the class that made the grid at each of its K points. ``cells`` counts the other class in
    the 2K + 1 cells: below t1, at t1, between t1 and t2, at t2, ..., above tK. ``low`` and ``high`` are the
    smallest and largest of its scores in the K + 1 open cells (inf and -inf where there are none).
    From these every ROC-based number follows exactly, ties included.
    """

    grid: FloatArray
    grid_class: ClassName
    at: Counts
    cells: Counts
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, scores: Scores, grid: FloatArray, grid_class: ClassName) -> TrialCounts:
        """Count a chunk; every score of ``grid_class`` must be a grid point."""
        if grid_class == "target":
            own, other = score_indexes(scores)
        else:
            other, own = score_indexes(scores)
        at = _count_points(own.ascending, grid)
        left, right, low, high = other.between(grid)
        cells = np.empty(2 * len(grid) + 1, dtype=np.int64)
        cells[1::2] = right - left
        cells[0::2] = np.append(left, len(other)) - np.append(0, right)
        return cls(grid, grid_class, at, cells, low, high)

    def __add__(self, other: TrialCounts) -> TrialCounts:
        return TrialCounts(
            self.grid,
            self.grid_class,
            self.at + other.at,
            self.cells + other.cells,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    def __mul__(self, weight: float) -> TrialCounts:
        return self.weighted(weight, weight)

    def weighted(self, target: float, nontarget: float) -> TrialCounts:
        """Count every target ``target`` times and every non-target ``nontarget`` times."""
        own, other = (target, nontarget) if self.grid_class == "target" else (nontarget, target)
        return TrialCounts(self.grid, self.grid_class, self.at * own, self.cells * other, self.low, self.high)

    @property
    def n_target(self) -> float:
        """Number (or total weight) of targets."""
        return total(self.at if self.grid_class == "target" else self.cells)

    @property
    def n_nontarget(self) -> float:
        """Number (or total weight) of non-targets."""
        return total(self.cells if self.grid_class == "target" else self.at)

    def bins(self) -> ScoreBins:
        """The same counts as bins in ascending order, empty ones left out, runs of one class joined."""
        k = len(self.grid)
        own = np.zeros(2 * k + 1, dtype=self.at.dtype)
        own[1::2] = self.at
        low, high = np.empty(2 * k + 1), np.empty(2 * k + 1)
        low[1::2] = high[1::2] = self.grid
        low[0::2], high[0::2] = self.low, self.high
        target, nontarget = (own, self.cells) if self.grid_class == "target" else (self.cells, own)
        # Pure bins next to each other are one run: no threshold inside it can matter.
        has_target, has_nontarget = target > 0, nontarget > 0
        filled = np.flatnonzero(has_target | has_nontarget)
        has_target, has_nontarget = has_target[filled], has_nontarget[filled]
        first = np.ones(len(filled), dtype=bool)
        first[1:] = (has_target[1:] != has_target[:-1]) | (has_target[1:] & has_nontarget[1:])
        first[1:] |= has_nontarget[1:] != has_nontarget[:-1]
        start = np.flatnonzero(first)
        stop = np.append(start[1:], len(filled)) - 1
        return ScoreBins(
            target=np.add.reduceat(target[filled], start),
            nontarget=np.add.reduceat(nontarget[filled], start),
            low=low[filled[start]],
            high=high[filled[stop]],
        )


def count_on(grid: Grid) -> Callable[[Scores], TrialCounts]:
    """A summarizer that counts on a grid."""
    points, smaller = grid.points, grid.smaller
    if points is None:
        raise ValueError("the grid has lost the points of its smaller class; call collect_again first")
    return lambda chunk: TrialCounts.of(chunk, points, smaller)


def count_trials(source: ScoreSource, grid: Grid | None = None) -> TrialCounts:
    """Count all trials of a source in cells: one pass for the grid, unless it is known, one for the counts.

    Examples
    --------
    >>> counts = count_trials(Scores([1.0, 2.0, 2.0], [0.0, 1.0]))
    >>> counts.grid, counts.at, counts.cells
    (array([0., 1.]), array([1, 1]), array([0, 0, 0, 1, 2]))
    """
    grid = as_source(source).reduce(Grid.of) if grid is None else grid
    counts = source.reduce(count_on(collect_again(source, grid)))
    require_both_classes(counts.n_target, counts.n_nontarget)
    return counts


def _count_points(ascending: FloatArray, grid: FloatArray) -> IntArray:
    counts = np.zeros(len(grid), dtype=np.int64)
    if len(ascending):
        first = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))
        where = np.searchsorted(grid, ascending[first])
        counts[where] = np.diff(np.append(first, len(ascending)))
    return counts


@dataclass(frozen=True, eq=False)
class BelowCounts(SummaryBase):
    """``target[j]`` and ``nontarget[j]`` count the trials below ``thresholds[j]``.

    Examples
    --------
    >>> below = Scores([2.0, -1.0], [-3.0]).reduce(BelowCounts.at([0.0, -2.0]))
    >>> below.target, below.nontarget
    (array([1, 0]), array([1, 1]))
    """

    thresholds: FloatArray
    target: Counts
    nontarget: Counts

    @classmethod
    def of(cls, scores: Scores, thresholds: npt.ArrayLike) -> Self:
        """The counts of a chunk; thresholds may be in any order."""
        cuts = np.atleast_1d(np.asarray(thresholds, dtype=np.float64))
        indexes = score_indexes(scores)
        if not len(cuts):
            none = np.zeros(0, dtype=np.int64)
            return cls(cuts, none, none)
        order = np.argsort(cuts)
        below = []
        for index in indexes:
            counts = np.empty(len(cuts), dtype=np.int64)
            counts[order] = index.count_below(cuts[order])[0]
            below.append(counts)
        return cls(cuts, *below)

    @classmethod
    def at(cls, thresholds: npt.ArrayLike) -> Callable[[Scores], Self]:
        """A summarizer for given thresholds."""
        return lambda chunk: cls.of(chunk, thresholds)

    def __add__(self, other: Self) -> Self:
        return replace(self, target=self.target + other.target, nontarget=self.nontarget + other.nontarget)

    def __mul__(self, weight: float) -> Self:
        return replace(self, target=self.target * weight, nontarget=self.nontarget * weight)
