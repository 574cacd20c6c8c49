"""Training scores as a bounded number of weighted points, and as distinct scores while there are few."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.density_grid import CellSums, DensityGrid
from llrkit.core.moments import ClassMoments, Moments
from llrkit.core.score_index import score_indexes
from llrkit.errors import ConstantScoreError
from llrkit.scores import Scores, ScoreSource


@dataclass(frozen=True, eq=False)
class DistinctScores:
    """Distinct scores in ascending order, and how often each class has them; ``None`` if there are too many.

    Examples
    --------
    >>> distinct = Scores([1.0, 2.0], [1.0, 0.0]).reduce(DistinctScores.at(10))
    >>> distinct.values, distinct.target, distinct.nontarget
    (array([0., 1., 2.]), array([0., 1., 1.]), array([1., 1., 0.]))
    """

    limit: int
    values: FloatArray | None
    target: FloatArray
    nontarget: FloatArray

    @classmethod
    def of(cls, chunk: Scores, limit: int) -> DistinctScores:
        """The distinct scores of a chunk."""
        if chunk.n_systems != 1:
            return cls._too_many(limit)
        t, n = (np.unique(index.ascending, return_counts=True) for index in score_indexes(chunk))
        no_t, no_n = np.zeros(len(t[0])), np.zeros(len(n[0]))
        return cls._joined(
            limit, (t[0], t[1].astype(np.float64), no_t), (n[0], no_n, n[1].astype(np.float64))
        )

    @classmethod
    def at(cls, limit: int) -> Callable[[Scores], DistinctScores]:
        """A summarizer that gives up beyond ``limit`` distinct scores."""
        return lambda chunk: cls.of(chunk, limit)

    @classmethod
    def _too_many(cls, limit: int) -> DistinctScores:
        return cls(limit, None, np.empty(0), np.empty(0))

    @classmethod
    def _joined(cls, limit: int, *tables: tuple[FloatArray, ...]) -> DistinctScores:
        if max(len(table[0]) for table in tables) > limit:
            return cls._too_many(limit)
        values, place = np.unique(np.concatenate([table[0] for table in tables]), return_inverse=True)
        if len(values) > limit:
            return cls._too_many(limit)
        target, nontarget = (
            np.bincount(place, np.concatenate([table[column] for table in tables])).astype(np.float64)
            for column in (1, 2)
        )
        return cls(limit, values.astype(np.float64), target, nontarget)

    def __add__(self, other: DistinctScores) -> DistinctScores:
        if self.values is None or other.values is None:
            return self._too_many(self.limit)
        return self._joined(
            self.limit,
            (self.values, self.target, self.nontarget),
            (other.values, other.target, other.nontarget),
        )

    def __mul__(self, weight: float) -> DistinctScores:
        return DistinctScores(self.limit, self.values, self.target * weight, self.nontarget * weight)


@dataclass(frozen=True, eq=False)
class WeightedPoints:
    """Ascending weighted points that stand for the scores of one class.

    A cell of the density grid becomes two points of half its weight, one standard deviation of the cell
    on either side of the cell's mean: count, mean and variance in the cell are kept, so a sum over the
    points differs from the sum over the scores in the third order of the cell width only. A cell with one
    or two scores gives back exactly those.
    """

    points: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, cells: CellSums, low: float, high: float) -> WeightedPoints:
        """The points of one class on a grid between ``low`` and ``high``."""
        filled = np.flatnonzero(cells.count)
        n = cells.count[filled].astype(np.float64)
        mean = cells.first[filled] / n
        spread = np.sqrt(np.maximum(cells.second[filled] / n - mean**2, 0.0))
        spread[n == 1.0] = 0.0
        size = len(cells.count)
        share = (filled + 0.5 + mean) / size
        middle = low * (1.0 - share) + high * share
        half = spread * (high / size - low / size)
        points = np.stack([middle - half, middle + half], axis=1).ravel()
        weights = np.repeat(0.5 * n, 2)
        single = np.repeat(half == 0.0, 2)
        keep = ~single
        keep[0::2] = True
        weights[single] *= 2.0
        return cls(points[keep], weights[keep])

    @classmethod
    def joined(cls, *several: WeightedPoints) -> WeightedPoints:
        """All points of several, in ascending order."""
        points = np.concatenate([one.points for one in several])
        order = np.argsort(points, kind="stable")
        return cls(points[order], np.concatenate([one.weights for one in several])[order])

    def fewer(self, cells: int = 512) -> WeightedPoints:
        """The same with at most two points in each of some even cells, for a search that need not be exact.

        The cells lie between the outermost thousandths; the points beyond stay as they are. Weight, mean and
        variance in a cell are kept.

        Examples
        --------
        >>> many = WeightedPoints(np.linspace(0.0, 1.0, 10_001), np.ones(10_001))
        >>> few = many.fewer(100)
        >>> len(few.points), few.total, round(few.mean_of(few.points**2) - many.mean_of(many.points**2), 12)
        (220, 10001.0, 0.0)
        """
        if len(self.points) <= 4 * cells:
            return self
        low, high = np.searchsorted(self.points, [self.quantile(0.001), self.quantile(0.999)])
        inner, weights = self.points[low:high], self.weights[low:high]
        if high - low <= 4 * cells or not inner[-1] > inner[0]:
            return self
        cell = ((inner - inner[0]) * (cells / (inner[-1] - inner[0]))).astype(np.intp)
        start = np.flatnonzero(np.diff(np.minimum(cell, cells - 1), prepend=-1))
        in_cell = np.diff(start, append=len(inner))
        total = np.add.reduceat(weights, start)
        mean = np.add.reduceat(weights * inner, start) / total
        deviation = inner - np.repeat(mean, in_cell)
        half = np.sqrt(np.add.reduceat(weights * deviation**2, start) / total)
        points = np.stack([mean - half, mean + half], axis=1).ravel()
        return WeightedPoints(
            np.concatenate([self.points[:low], points, self.points[high:]]),
            np.concatenate([self.weights[:low], np.repeat(0.5 * total, 2), self.weights[high:]]),
        )

    @property
    def total(self) -> float:
        """Number of scores."""
        return float(self.weights.sum())

    def mean_of(self, values: FloatArray) -> float:
        """Weighted mean of values at the points."""
        return float((self.weights * values).sum() / self.total)

    def standardized(self, center: float, scale: float) -> WeightedPoints:
        """The same points as ``(s - center) / scale``; a negative scale turns their order round."""
        points = (self.points - center) / scale
        return (
            WeightedPoints(points, self.weights)
            if scale > 0
            else WeightedPoints(points[::-1], self.weights[::-1])
        )

    def quantile(self, p: float) -> float:
        """The point up to which a share ``p`` of the weight lies, half of its own weight included."""
        share = (np.cumsum(self.weights) - 0.5 * self.weights) / self.total
        return float(np.interp(p, share, self.points))


@dataclass(frozen=True, eq=False)
class TrainingPoints:
    """What every fit on the density grid starts from."""

    moments: Moments
    target: WeightedPoints
    nontarget: WeightedPoints

    @property
    def center(self) -> float:
        """Midpoint of the class means."""
        return 0.5 * float(self.moments.target.mean[0] + self.moments.nontarget.mean[0])

    @property
    def scale(self) -> float:
        """Root of the mean within-class variance; negative when targets score below non-targets."""
        v = 0.5 * float(self.moments.target.variance[0] + self.moments.nontarget.variance[0])
        if v == 0.0:
            raise ConstantScoreError("each class is constant: the slope would be infinite")
        down = self.moments.target.mean[0] < self.moments.nontarget.mean[0]
        return -float(np.sqrt(v)) if down else float(np.sqrt(v))

    def standardized(self) -> tuple[WeightedPoints, WeightedPoints]:
        """Both classes around 0 with standard deviation near 1, targets above non-targets.

        What is fitted there follows the scores through every affine map of them.
        """
        return (
            self.target.standardized(self.center, self.scale),
            self.nontarget.standardized(self.center, self.scale),
        )


def training_points(source: ScoreSource, moments: Moments) -> TrainingPoints:
    """Second pass: the scores on the density grid between the extremes that the moments found."""
    low, high = moments.extremes
    return points_of_grid(source.reduce(DensityGrid.at(low, high)), moments)


def points_of_grid(grid: DensityGrid, moments: Moments) -> TrainingPoints:
    """The points of both classes."""
    return TrainingPoints(
        moments,
        WeightedPoints.of(grid.target, grid.low, grid.high),
        WeightedPoints.of(grid.nontarget, grid.low, grid.high),
    )


def require_spread(moments: Moments) -> None:
    """Refuse a class whose scores are all equal: it has no density."""
    for name, class_moments in (("target", moments.target), ("nontarget", moments.nontarget)):
        if not class_moments.variance[0] > 0.0:
            raise ConstantScoreError(f"the {name} scores are constant: they have no density")


def spread_of(class_moments: ClassMoments) -> tuple[float, float]:
    """Mean and (1/N) standard deviation of a class."""
    return float(class_moments.mean[0]), float(np.sqrt(class_moments.variance[0]))
