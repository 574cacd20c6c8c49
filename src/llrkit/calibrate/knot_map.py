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
_GENERATIONS = 40


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
        raise NotInvertibleError("the LLR is not strictly monotone in the score, so there is no inverse")

    def __repr__(self) -> str:
        return f"KnotMap({self.method}: {len(self.score)} knots, {self.score[0]:.6g} to {self.score[-1]:.6g})"


def thin_knots(
    x: FloatArray, y: FloatArray, limit: int = MAX_KNOTS, *, enough: float = 0.0
) -> tuple[FloatArray, FloatArray, float]:
    """At most ``limit`` of the points of a curve, and the largest error of the lines between them.

    Points are added one at a time where the lines are furthest off, as Ramer and Douglas & Peucker do, until
    there are ``limit`` of them or no line is further off than ``enough``.

    Examples
    --------
    >>> thin_knots(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0, 0.0]), 3)
    (array([0., 2., 3.]), array([0., 2., 0.]), 0.0)
    """
    if len(x) <= limit and not enough:
        return x, y, 0.0
    worst_of = _worst_errors_of_halves(x, y, limit, enough)

    def entry(start: int, stop: int) -> tuple[float, int, int, int]:
        known = worst_of.get((start, stop))
        return (
            _worst_error_of_line(x, y, start, stop) if known is None else (-known[0], known[1], start, stop)
        )

    kept = [0, len(x) - 1]
    waiting = [entry(0, len(x) - 1)]
    while len(kept) < limit and waiting[0][0] < -enough:
        _, worst, start, stop = heapq.heappop(waiting)
        kept.append(worst)
        heapq.heappush(waiting, entry(start, worst))
        heapq.heappush(waiting, entry(worst, stop))
    order = np.array(sorted(kept))
    return x[order], y[order], -waiting[0][0]


def _worst_errors_of_halves(
    x: FloatArray, y: FloatArray, limit: int, enough: float
) -> dict[tuple[int, int], tuple[float, int]]:
    """The largest errors of lines, and where they are, of the halves that lines break into.

    All lines of a generation at once, those left out that ``limit`` others are further off than. What is
    asked for later is mostly there; a curve that breaks at its end again and again has more generations.
    """
    found: dict[tuple[int, int], tuple[float, int]] = {}
    errors = np.zeros(0)
    start, stop = np.array([0]), np.array([len(x) - 1])
    for _ in range(_GENERATIONS):
        wide = stop - start >= 2
        found.update(dict.fromkeys(zip(start[~wide].tolist(), stop[~wide].tolist(), strict=True), (0.0, -1)))
        start, stop = start[wide], stop[wide]
        if not len(start):
            break
        run = x[stop] - x[start]
        slope = np.divide(y[stop] - y[start], run, out=np.zeros(len(run)), where=run > 0)
        inside = stop - start - 1
        first = np.cumsum(inside) - inside
        at = np.arange(int(inside.sum())) + np.repeat(start + 1 - first, inside)
        error = np.repeat(y[start], inside) + np.repeat(slope, inside) * (x[at] - np.repeat(x[start], inside))
        error = np.abs(y[at] - error)
        largest = np.maximum.reduceat(error, first)
        hits = np.flatnonzero(error == np.repeat(largest, inside))
        worst = at[hits[np.searchsorted(hits, first)]]
        keys = zip(start.tolist(), stop.tolist(), strict=True)
        found.update(zip(keys, zip(largest.tolist(), worst.tolist(), strict=True), strict=True))
        errors = np.append(errors, largest)
        if len(errors) > limit:
            errors = np.partition(errors, -limit)[-limit:]
            enough = max(enough, float(errors[0]))
        bent = largest > enough
        start, worst, stop = start[bent], worst[bent], stop[bent]
        start, stop = np.append(start, worst), np.append(worst, stop)
    return found


def _worst_error_of_line(x: FloatArray, y: FloatArray, start: int, stop: int) -> tuple[float, int, int, int]:
    """Minus the largest error of the line from one point to another, and where it is."""
    if stop - start < 2:
        return (0.0, start, start, stop)
    run = x[stop] - x[start]
    slope = (y[stop] - y[start]) / run if run > 0 else 0.0
    error = np.abs(y[start + 1 : stop] - (y[start] + slope * (x[start + 1 : stop] - x[start])))
    worst = int(error.argmax())
    return (-float(error[worst]), start + 1 + worst, start, stop)
