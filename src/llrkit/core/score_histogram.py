"""ScoreHistogram: each class as counts in at most 1,024 even cells, made in one pass and merged to the bit.

The width of the cells is a power of two, the finest at which the scores fit into so many cells. What is
merged goes to the coarser of the two widths first, cells in pairs becoming one: the cells of a whole set
depend neither on how it was cut into pieces nor on the order in which these were merged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from llrkit._arrays import Array, FloatArray
from llrkit._plain import Json, as_number, as_text
from llrkit.core.summary_algebra import FieldwiseSums, SummaryBase
from llrkit.errors import InputError
from llrkit.scores import Scores

CELLS = 1024
_DIGITS = 40  # binary digits of the largest score that the number of a cell may have
_FINEST = -1000


@dataclass(frozen=True, eq=False)
class ClassHistogram(SummaryBase):
    """Counts of one class; cell i holds the scores s with ``floor(s / 2**exponent) == first + i``.

    Examples
    --------
    >>> low, high = ClassHistogram.of(np.array([0.0, 0.5, 0.5])), ClassHistogram.of(np.array([4000.0]))
    >>> merged = low + high
    >>> merged.width, merged.total, merged.count[[0, -1]].tolist()
    (4.0, 4, [3, 1])
    """

    exponent: int
    first: int
    count: Array
    n_neg_inf: float = 0
    n_pos_inf: float = 0

    @classmethod
    def of(cls, values: Array) -> ClassHistogram:
        """Count the scores of an array."""
        if len(values) == 0:
            return cls(_FINEST, 0, np.zeros(0, dtype=np.int64))
        low, high = float(values.min()), float(values.max())
        if not (math.isfinite(low) and math.isfinite(high)):
            if math.isnan(low):
                raise InputError("a score is NaN")
            n_neg, n_pos = int((values == -np.inf).sum()), int((values == np.inf).sum())
            return replace(cls.of(values[np.isfinite(values)]), n_neg_inf=n_neg, n_pos_inf=n_pos)
        exponent = _exponent(low, high)
        first, last = (math.floor(math.ldexp(end, -exponent)) for end in (low, high))
        cell = np.floor(np.ldexp(values.astype(np.float64, copy=False), -exponent))
        cell -= first
        return cls(exponent, first, np.bincount(cell.astype(np.intp), minlength=last - first + 1))

    @property
    def width(self) -> float:
        """Of a cell."""
        return math.ldexp(1.0, self.exponent)

    @property
    def total(self) -> float:
        """Finite scores."""
        return self.count.sum().item() if len(self.count) else 0

    @property
    def centers(self) -> FloatArray:
        """The middle of each cell."""
        return np.asarray((np.arange(len(self.count)) + (self.first + 0.5)) * self.width, dtype=np.float64)

    def coarser(self, exponent: int) -> ClassHistogram:
        """The same scores in cells of the width ``2**exponent``."""
        steps = exponent - self.exponent
        if steps == 0 or len(self.count) == 0:
            return replace(self, exponent=exponent)
        cell = (np.arange(len(self.count)) + self.first) >> min(steps, 62)
        edges = np.flatnonzero(np.append(True, np.diff(cell) > 0))
        return replace(self, exponent=exponent, first=int(cell[0]), count=np.add.reduceat(self.count, edges))

    def __add__(self, other: ClassHistogram) -> ClassHistogram:
        n_neg_inf, n_pos_inf = self.n_neg_inf + other.n_neg_inf, self.n_pos_inf + other.n_pos_inf
        if not (len(self.count) and len(other.count)):
            filled = self if len(self.count) else other
            return replace(filled, n_neg_inf=n_neg_inf, n_pos_inf=n_pos_inf)
        a, b = self, other
        exponent = max(a.exponent, b.exponent)
        a, b = a.coarser(exponent), b.coarser(exponent)
        while True:
            first, last = min(a.first, b.first), max(a.first + len(a.count), b.first + len(b.count))
            if last - first <= CELLS:
                break
            a, b = a.coarser(a.exponent + 1), b.coarser(b.exponent + 1)
        count = np.zeros(last - first, dtype=np.result_type(a.count, b.count))
        for part in (a, b):
            count[part.first - first : part.first - first + len(part.count)] += part.count
        return ClassHistogram(a.exponent, first, count, n_neg_inf, n_pos_inf)

    def __mul__(self, weight: float) -> ClassHistogram:
        return replace(
            self,
            count=self.count * weight,
            n_neg_inf=self.n_neg_inf * weight,
            n_pos_inf=self.n_pos_inf * weight,
        )

    def to_text(self) -> dict[str, Json]:
        """Plain values for a calibration file: the counts on one line."""
        return {
            "exponent": self.exponent,
            "first": self.first,
            "count": " ".join(map(repr, self.count.tolist())),
            "n_neg_inf": self.n_neg_inf,
            "n_pos_inf": self.n_pos_inf,
        }

    @classmethod
    def from_text(cls, plain: Mapping[str, Json]) -> ClassHistogram:
        """What :meth:`to_text` wrote; anything else is a ``ValueError``."""
        words = as_text(plain["count"]).split()
        count = np.array([float(word) for word in words])
        if not (len(count) <= CELLS and np.isfinite(count).all() and (count >= 0.0).all()):
            raise ValueError(f"the counts of a class must be at most {CELLS} finite numbers of at least 0")
        whole = (
            count.astype(np.int64) if all("." not in word and "e" not in word for word in words) else count
        )
        exponent, first = int(as_number(plain["exponent"])), int(as_number(plain["first"]))
        if not (-1100 < exponent < 1100 and abs(first) < 1 << 62):
            raise ValueError("the cells of a class are out of range")
        n_neg_inf, n_pos_inf = float(as_number(plain["n_neg_inf"])), float(as_number(plain["n_pos_inf"]))
        return cls(exponent, first, whole, n_neg_inf, n_pos_inf)


def _exponent(low: float, high: float) -> int:
    """The finest width, as a power of two, at which the scores between these ends fit into the cells."""
    largest = max(abs(low), abs(high))
    exponent = max(math.frexp(largest)[1] - _DIGITS, _FINEST) if largest else _FINEST
    spread = high / CELLS - low / CELLS  # divided first: the difference itself may overflow
    if spread > 0.0:
        exponent = max(exponent, math.frexp(spread)[1] - 2)
    while math.floor(math.ldexp(high, -exponent)) - math.floor(math.ldexp(low, -exponent)) >= CELLS:
        exponent += 1
    return exponent


@dataclass(frozen=True, eq=False)
class ScoreHistogram(FieldwiseSums):
    """Both classes, each in cells of its own.

    Examples
    --------
    >>> histogram = Scores([2.0, 4.0], [0.0, 1.0]).reduce(ScoreHistogram.of)
    >>> histogram.target.total, histogram.pooled.total
    (2, 4)
    """

    target: ClassHistogram
    nontarget: ClassHistogram

    @classmethod
    def of(cls, chunk: Scores) -> ScoreHistogram:
        """Of a chunk with the scores of one system."""
        if chunk.n_systems != 1:
            raise InputError(f"one system expected, got {chunk.n_systems}")
        return cls(ClassHistogram.of(chunk.target), ClassHistogram.of(chunk.nontarget))

    @property
    def pooled(self) -> ClassHistogram:
        """All trials, whatever their labels say."""
        return self.target + self.nontarget
