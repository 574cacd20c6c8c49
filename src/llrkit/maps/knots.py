"""Maps given by points: straight lines between knots, constant beyond the outermost ones."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from llrkit.base.arguments import FloatArray, IntArray
from llrkit.errors import InputError, NotInvertibleError
from llrkit.maps.map import Columns, Map

MAX_KNOTS = 4096
CLOSE = 1e-4
"""Nats between a curve and the lines that are saved of it."""
# generations of breaking lines that are tried at once; curves that need more go one by one
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
        self._own_arrays("score", "llr_at")
        score, llr = self.score, self.llr_at
        if score.ndim != 1 or score.shape != llr.shape or len(score) == 0:
            raise InputError(f"as many scores as LLRs are needed, got shapes {score.shape} and {llr.shape}")
        if not (np.isfinite(score).all() and np.isfinite(llr).all() and np.all(np.diff(score) >= 0)):
            raise InputError("knots must be finite and their scores ascending")

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """Linear interpolation."""
        # np.interp takes the upper of two equal scores, as a step needs
        return np.asarray(np.interp(scores, self.score, self.llr_at))

    def back_to_scores(self) -> KnotMap:
        """The knots the other way round; from a level part one comes back to its upper end."""
        steps = np.diff(self.llr_at)
        name = f"inverse of {self.method}"
        # level parts are allowed as long as the curve moves at all
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
    if len(x) <= 2 or (len(x) <= limit and not enough):
        return x, y, 0.0
    # all lines of a generation at once are vector work; the heap below is one line at a time
    lines = _lines_by_generation(x, y, limit, enough)
    # exact if nothing was cut off by the limit: every line that
    # is too far off then breaks, whatever the order
    if lines.broken_up and np.count_nonzero(lines.error > enough) <= limit - 2:
        bent = lines.error > enough  # these and no others break, in whatever order
        order = np.sort(np.concatenate([[0, len(x) - 1], lines.worst[bent]]))
        return x[order], y[order], float(np.max(lines.error[~bent], initial=0.0))
    return _thin_one_by_one(x, y, limit, enough, lines)


class _Lines(NamedTuple):
    """Lines between two points of a curve: the largest error of each, and where it is."""

    start: IntArray
    stop: IntArray
    error: FloatArray
    worst: IntArray
    broken_up: bool
    """Whether no line that is further off than asked for is left whole."""


def _thin_one_by_one(
    x: FloatArray, y: FloatArray, limit: int, enough: float, lines: _Lines
) -> tuple[FloatArray, FloatArray, float]:
    """Break the line that is furthest off, until there are enough points."""
    keys = zip(lines.start.tolist(), lines.stop.tolist(), strict=True)
    known = dict(zip(keys, zip(lines.error.tolist(), lines.worst.tolist(), strict=True), strict=True))

    def entry(start: int, stop: int) -> tuple[float, int, int, int]:
        # errors that the generations computed are not computed again
        if (start, stop) in known:
            error, worst = known[start, stop]
            return -error, worst, start, stop
        return _worst_error_of_line(x, y, start, stop)

    kept = [0, len(x) - 1]
    waiting = [entry(0, len(x) - 1)]
    while len(kept) < limit and waiting[0][0] < -enough:
        _, worst, start, stop = heapq.heappop(waiting)
        kept.append(worst)
        heapq.heappush(waiting, entry(start, worst))
        heapq.heappush(waiting, entry(worst, stop))
    order = np.array(sorted(kept))
    return x[order], y[order], -waiting[0][0]


def _lines_by_generation(x: FloatArray, y: FloatArray, limit: int, enough: float) -> _Lines:
    """The lines that a curve breaks into, all lines of a generation at once.

    Left out are the halves of lines that ``limit`` others are further off than. A curve that breaks at its
    end again and again has more generations than are looked at.
    """
    generations: list[tuple[IntArray, IntArray, FloatArray, IntArray]] = []
    errors, asked_for = np.zeros(0), enough
    start, stop = np.array([0]), np.array([len(x) - 1])
    for _ in range(_GENERATIONS):
        wide = stop - start >= 2
        start, stop = start[wide], stop[wide]
        if not len(start):
            break
        run = x[stop] - x[start]
        slope = np.divide(y[stop] - y[start], run, out=np.zeros(len(run)), where=run > 0)
        inside = stop - start - 1
        first = np.cumsum(inside) - inside
        # positions strictly inside each line, all lines end to end
        at = np.arange(int(inside.sum())) + np.repeat(start + 1 - first, inside)
        error = np.repeat(y[start], inside) + np.repeat(slope, inside) * (x[at] - np.repeat(x[start], inside))
        error = np.abs(y[at] - error)
        largest = np.maximum.reduceat(error, first)
        # the first of equal errors, as argmax would have it, so both ways give the same knots
        hits = np.flatnonzero(error == np.repeat(largest, inside))
        worst = at[hits[np.searchsorted(hits, first)]]
        generations.append((start, stop, largest, worst))
        errors = np.append(errors, largest)
        # lines below the limit-th largest error can never be among
        # those that break: their halves are left out
        if len(errors) > limit:
            errors = np.partition(errors, -limit)[-limit:]
            enough = max(enough, float(errors[0]))
        bent = largest > enough
        start, worst, stop = start[bent], worst[bent], stop[bent]
        start, stop = np.append(start, worst), np.append(worst, stop)
    starts, stops, largest_errors, where = (
        np.concatenate(arrays) for arrays in zip(*generations, strict=True)
    )
    return _Lines(starts, stops, largest_errors, where, not len(start) and enough == asked_for)


def _worst_error_of_line(x: FloatArray, y: FloatArray, start: int, stop: int) -> tuple[float, int, int, int]:
    """Minus the largest error of the line from one point to another, and where it is."""
    if stop - start < 2:
        return (0.0, start, start, stop)
    run = x[stop] - x[start]
    slope = (y[stop] - y[start]) / run if run > 0 else 0.0
    error = np.abs(y[start + 1 : stop] - (y[start] + slope * (x[start + 1 : stop] - x[start])))
    worst = int(error.argmax())
    return (-float(error[worst]), start + 1 + worst, start, stop)
