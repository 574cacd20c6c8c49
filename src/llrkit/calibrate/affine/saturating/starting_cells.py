"""Where a saturating fit starts: cells around most of the scores, and their standard units."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.calibrate.densities.weighted_points import WeightedPoints
from llrkit.core.density_grid import DensityGrid
from llrkit.scores import Scores, ScoreSource


def central_points(
    source: ScoreSource, low: float, high: float
) -> tuple[tuple[WeightedPoints, WeightedPoints], int]:
    """Weighted points of targets and non-targets to start from, and how many passes they took.

    When most scores share a few cells because others are far away, the cells are laid again around the
    many, and the few are moved to the ends: they saturate there too.
    """
    grid, passes = source.reduce(DensityGrid.at(low, high)), 1
    while passes < 5:
        share = (
            grid.target.count / grid.target.count.sum() + grid.nontarget.count / grid.nontarget.count.sum()
        )
        first, last = np.searchsorted(np.cumsum(share), [0.002, 1.998])
        if last - first > grid.cells // 32 or low == high:
            break
        margin = last - first + 1
        low = float(grid.edges[max(first - margin, 0)])
        high = float(grid.edges[min(last + 1 + margin, grid.cells)])
        grid, passes = source.reduce(_clipped_grid_at(low, high)), passes + 1
    nodes = [WeightedPoints.of(cells, grid.low, grid.high) for cells in (grid.target, grid.nontarget)]
    return (nodes[0], nodes[1]), passes


def _clipped_grid_at(low: float, high: float) -> Callable[[Scores], DensityGrid]:
    return lambda chunk: DensityGrid.of(
        Scores.part(np.clip(chunk.target, low, high), np.clip(chunk.nontarget, low, high)), low, high
    )


def location_scale_gap(nodes: tuple[WeightedPoints, WeightedPoints]) -> tuple[float, float, float]:
    """Where the scores lie, how wide, and how far apart the classes: by quartiles, blind to outliers."""
    quartiles = np.array([_quartiles(weighted) for weighted in nodes])
    low, middle, high = quartiles.T
    gap = float(middle[0] - middle[1])
    scale = float(high.max() - low.min())
    points = np.concatenate([weighted.points for weighted in nodes])
    return float(middle.mean()), scale if scale > 0 else float(np.ptp(points)), gap


def _quartiles(nodes: WeightedPoints) -> FloatArray:
    share = np.cumsum(nodes.weights) / nodes.total
    return nodes.points[np.searchsorted(share, [0.25, 0.5, 0.75])]
