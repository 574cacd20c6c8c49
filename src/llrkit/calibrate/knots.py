"""Maps given by points: straight lines between knots, constant beyond the outermost ones."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.calibrate.maps import Columns, Map
from llrkit.errors import InputError, NotInvertibleError

MAX_KNOTS = 4096


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class KnotMap(Map):
    """Straight lines between the points ``(score[i], llr_at[i])``, constant beyond them.

    ``score`` does not decrease. Two equal scores make a step, and the score itself gets the upper knot.

    Examples
    --------
    >>> bend = KnotMap(score=np.array([0.0, 1.0, 3.0]), llr_at=np.array([-1.0, 0.0, 1.0]))
    >>> bend([-9.0, 0.5, 2.0, np.inf])
    array([-1. , -0.5,  0.5,  1. ])
    >>> bend.inverse(0.5)
    2.0
    """

    score: FloatArray
    llr_at: FloatArray

    kind: ClassVar[str] = "knots"

    def __post_init__(self) -> None:
        """Check the knots."""
        score, llr = np.asarray(self.score, dtype=np.float64), np.asarray(self.llr_at, dtype=np.float64)
        if score.ndim != 1 or score.shape != llr.shape or len(score) == 0:
            raise InputError(f"as many scores as LLRs are needed, got shapes {score.shape} and {llr.shape}")
        if not (np.isfinite(score).all() and np.isfinite(llr).all() and np.all(np.diff(score) >= 0)):
            raise InputError("knots must be finite and their scores ascending")
        for name, values in (("score", score), ("llr_at", llr)):
            frozen = values.copy()
            frozen.flags.writeable = False
            object.__setattr__(self, name, frozen)

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """Linear interpolation."""
        return np.asarray(np.interp(scores, self.score, self.llr_at))

    def back_to_scores(self) -> KnotMap:
        """The knots the other way round; from a level part one comes back to its upper end."""
        steps = np.diff(self.llr_at)
        name = f"inverse of {self.method}"
        if np.all(steps >= 0) and self.llr_at[-1] > self.llr_at[0]:
            return KnotMap(score=self.llr_at, llr_at=self.score, method=name)
        if np.all(steps <= 0) and self.llr_at[-1] < self.llr_at[0]:
            return KnotMap(score=self.llr_at[::-1], llr_at=self.score[::-1], method=name)
        raise NotInvertibleError("the LLR goes up and down, or is constant: there is no inverse")

    def __repr__(self) -> str:
        return f"KnotMap({self.method}: {len(self.score)} knots, {self.score[0]:.6g} to {self.score[-1]:.6g})"


def thin(x: FloatArray, y: FloatArray, limit: int = MAX_KNOTS) -> tuple[FloatArray, FloatArray, float]:
    """At most ``limit`` of the points of a curve, and the largest error of the lines between them.

    Points are added one at a time where the lines are furthest off, as Ramer and Douglas & Peucker do.

    Examples
    --------
    >>> thin(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0, 0.0]), 3)
    (array([0., 2., 3.]), array([0., 2., 0.]), 0.0)
    """
    if len(x) <= limit:
        return x, y, 0.0
    kept = [0, len(x) - 1]
    waiting = [_worst(x, y, 0, len(x) - 1)]
    while len(kept) < limit and waiting[0][0] < 0.0:
        _, worst, start, stop = heapq.heappop(waiting)
        kept.append(worst)
        heapq.heappush(waiting, _worst(x, y, start, worst))
        heapq.heappush(waiting, _worst(x, y, worst, stop))
    order = np.array(sorted(kept))
    return x[order], y[order], -waiting[0][0]


def _worst(x: FloatArray, y: FloatArray, start: int, stop: int) -> tuple[float, int, int, int]:
    """Minus the largest error of the line from one point to another, and where it is."""
    if stop - start < 2:
        return (0.0, start, start, stop)
    run = x[stop] - x[start]
    slope = (y[stop] - y[start]) / run if run > 0 else 0.0
    error = np.abs(y[start + 1 : stop] - (y[start] + slope * (x[start + 1 : stop] - x[start])))
    worst = int(error.argmax())
    return (-float(error[worst]), start + 1 + worst, start, stop)
