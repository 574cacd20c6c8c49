"""Lines with fewer points that look the same, for pages that must stay small.

Only for display: the numbers of a report are never taken from thinned lines. A line is thinned in units of
its axes, so that no point of it moves by more than a share ``tolerance`` of the width or height shown: at
0.0004 a quarter of a pixel in a plot of 640 pixels. Points are dropped by the method of Ramer (1972) and of
Douglas and Peucker (1973); the points that stay are exact.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit.plot.picture import Axis, Band, Line, Mark, Picture

Indices = npt.NDArray[np.int64]

TOLERANCE = 4e-4
LONG = 4096
"""Lines longer than this are first reduced to the places where they enter and leave small cells."""

FAR = 1e6
"""Widths of the picture beyond which it makes no difference how far away a point is."""


def thin_picture(picture: Picture, *, tolerance: float = TOLERANCE, at_least: int = 100) -> Picture:
    """The picture with thinner lines; ``at_least`` so many points of a line stay to be pointed at."""
    wide, high = _shown_range(picture, picture.x, "x"), _shown_range(picture, picture.y, "y")
    marks = tuple(_thin_mark(mark, wide, high, tolerance, at_least) for mark in picture.marks)
    return replace(picture, marks=marks)


def thin_line(x: FloatArray, y: FloatArray, tolerance: float) -> Indices:
    """Which points of a line to keep so that none of the others is further than ``tolerance`` from it.

    Examples
    --------
    >>> thin_line(np.arange(5.0), np.array([0.0, 0.01, 0.0, 3.0, 6.0]), 0.1).tolist()
    [0, 2, 4]
    """
    points = np.column_stack([x, y]).astype(np.float64)
    if len(points) <= 2 or not np.isfinite(points).all():
        return np.arange(len(points), dtype=np.int64)
    points = np.clip(points, -FAR, FAR)  # to choose by; squares of more would overflow
    kept: Indices = np.arange(len(points), dtype=np.int64)
    if len(points) > LONG:
        kept = _ends_of_cells(points, tolerance / 4.0)
        tolerance /= 2.0  # the other half covers what the cells cost: at most their diagonal, 0.36 of it all
        points = points[kept]
    keep = np.zeros(len(points), dtype=bool)
    keep[[0, -1]] = True
    first: Indices = np.array([0])
    last: Indices = np.array([len(points) - 1])
    while True:  # all pieces of the line at once
        long = last - first >= 2
        first, last = first[long], last[long]
        if len(first) == 0:
            return kept[keep]
        middle, first, last = _pieces_cut(points, first, last, tolerance)
        keep[middle] = True


def _pieces_cut(
    points: FloatArray, first: Indices, last: Indices, tolerance: float
) -> tuple[Indices, Indices, Indices]:
    """Pieces of a line, each cut at its furthest point if that is too far: where, and both ends of all."""
    inner = last - first - 1
    start = np.cumsum(inner) - inner
    piece = np.repeat(np.arange(len(first)), inner)
    inside = np.arange(len(piece)) - start[piece] + first[piece] + 1
    away = _distances_to_segment(points[inside], points[first][piece], points[last][piece])
    furthest = np.maximum.reduceat(away, start)
    at_furthest = np.flatnonzero(away == furthest[piece])
    at_furthest = at_furthest[np.unique(piece[at_furthest], return_index=True)[1]]
    cut = furthest > tolerance
    middle = inside[at_furthest][cut]
    return middle, np.concatenate([first[cut], middle]), np.concatenate([middle, last[cut]])


def _ends_of_cells(points: FloatArray, cell: float) -> Indices:
    """The first and the last point of every stay in a cell of an even grid."""
    cells = np.floor(points / cell)
    moved = np.any(cells[1:] != cells[:-1], axis=1)
    return np.flatnonzero(np.append(True, moved) | np.append(moved, True)).astype(np.int64)


def _distances_to_segment(points: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray:
    """From each point to its segment."""
    along, to = end - start, points - start
    square = np.einsum("ij,ij->i", along, along)
    share = np.einsum("ij,ij->i", to, along) / np.where(square > 0.0, square, 1.0)
    off = to - np.clip(share, 0.0, 1.0)[:, None] * along
    return np.asarray(np.hypot(off[:, 0], off[:, 1]))


def _thin_mark(mark: Mark, wide: float, high: float, tolerance: float, at_least: int) -> Mark:
    if isinstance(mark, Band):
        kept = np.union1d(
            *(thin_line(mark.x / wide, limit / high, tolerance) for limit in (mark.low, mark.high))
        )
        return replace(mark, x=mark.x[kept], low=mark.low[kept], high=mark.high[kept])
    if not isinstance(mark, Line):
        return mark
    kept = thin_line(mark.x / wide, mark.y / high, tolerance)
    even = (
        np.linspace(0, len(mark.x) - 1, min(at_least, len(mark.x))).astype(np.int64) if mark.hover else kept
    )
    kept = np.union1d(kept, even)
    hover = tuple(
        replace(line, values=tuple(line.values[i] for i in kept) if isinstance(line.values, tuple)
                else line.values[kept])
        for line in mark.hover
    )  # fmt: skip
    return replace(mark, x=mark.x[kept], y=mark.y[kept], hover=hover)


def _shown_range(picture: Picture, axis: Axis, name: str) -> float:
    if axis.limits is not None:
        return axis.limits[1] - axis.limits[0]
    values = [np.asarray(getattr(mark, name)) for mark in picture.marks if isinstance(mark, Line)]
    finite = [array[np.isfinite(array)] for array in values]
    both = np.concatenate([np.empty(0), *finite])
    return float(np.ptp(both)) or 1.0 if len(both) else 1.0
