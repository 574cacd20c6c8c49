"""The inverse of a monotone map that has no formula for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, cast

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.calibrate.maps import Columns, Map


class Monotone(Protocol):
    """A map that :class:`InverseMap` can turn round."""

    @property
    def low(self) -> float:
        """The LLR is constant below this score."""
        ...

    @property
    def high(self) -> float:
        """The LLR is constant above this score."""
        ...

    @property
    def direction(self) -> int:
        """1 when the LLR goes up in between, -1 when it goes down."""
        ...

    def anchor(self) -> tuple[float, float]:
        """A score in the bulk and the size of the bulk."""
        ...

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """LLRs of scores."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class InverseMap(Map):
    """The inverse of a monotone map, by bisection to the last bit."""

    of: Monotone

    kind: ClassVar[str] = "inverse ratio"

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """The scores that have these LLRs."""
        of, up = self.of, float(self.of.direction)
        wanted = up * scores
        center, scale = of.anchor()
        center = min(max(center, of.low), of.high)

        def at(s: FloatArray) -> FloatArray:
            return up * of.llr(s, columns)

        left, right = np.full(len(scores), center), np.full(len(scores), center)
        reach = scale
        for _ in range(250):  # 4^250 is where floating point ends
            far_left, far_right = at(left) > wanted, at(right) < wanted
            far_left &= left > of.low
            far_right &= right < of.high
            if not (far_left.any() or far_right.any()):
                break
            left = np.where(far_left, max(center - reach, of.low), left)
            right = np.where(far_right, min(center + reach, of.high), right)
            reach *= 4.0
        out = np.where(at(left) >= wanted, left, right)
        inside = (at(left) < wanted) & (at(right) > wanted)
        a, b, goal = left[inside], right[inside], wanted[inside]
        for _ in range(1100):
            middle = 0.5 * (a + b)
            if np.all((middle == a) | (middle == b)):
                break
            below = at(middle) < goal
            a, b = np.where(below, middle, a), np.where(below, b, middle)
        out[inside] = 0.5 * (a + b)
        edge = at(np.array([of.low, of.high]))
        out[wanted <= edge[0]] = of.low
        out[wanted >= edge[1]] = of.high
        return out

    def back_to_scores(self) -> Map:
        """The map this one turns round."""
        return cast(Map, self.of)
