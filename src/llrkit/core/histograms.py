"""Scores in even cells: with moments between known ends, or counted by themselves, and smooth densities.

``DensityGrid`` needs a first pass for the extremes and is for fits. ``ScoreHistogram`` is made in one pass
and merged to the bit: its cells, at most 1,024, are as wide as the finest power of two at which the scores
fit. What is merged goes to the coarser of the two widths first, cells in pairs becoming one, so the cells of
a whole set depend neither on how it was cut into pieces nor on the order in which these were merged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from llrkit.base.arguments import Array, FloatArray, IntArray
from llrkit.base.text import Json, as_number, as_text
from llrkit.core.summaries import FieldwiseSums, ReadOnlyArrays, SummaryBase
from llrkit.errors import InputError
from llrkit.scores import Scores

CELLS = 1 << 14  # of a grid between known extremes


@dataclass(frozen=True, eq=False)
class CellSums(FieldwiseSums):
    """One class in even cells: counts, sums of deviations from the cell center and of their squares.

    Deviations are in units of the cell width, so they lie between -1/2 and 1/2.
    """

    count: Array
    first: FloatArray
    second: FloatArray
    n_neg_inf: float
    n_pos_inf: float

    @classmethod
    def of(cls, values: Array, low: float, high: float, cells: int) -> CellSums:
        """Sort scores into ``cells`` even cells between ``low`` and ``high``."""
        n_neg_inf, n_pos_inf = int((values == -np.inf).sum()), int((values == np.inf).sum())
        if n_neg_inf or n_pos_inf:
            values = values[np.isfinite(values)]
        # divided before subtracted: high - low itself may overflow
        width = high / cells - low / cells
        if width <= 0:  # all scores equal
            position = np.full(len(values), cells / 2)
        else:
            position = values.astype(np.float64) / width
            position -= low / width
        cell = position.astype(np.intp)
        # the largest score is at the upper edge, which belongs to the last cell
        np.clip(cell, 0, cells - 1, out=cell)
        position -= cell
        position -= 0.5
        count = np.bincount(cell, minlength=cells)
        first = _weighted_counts(cell, position, cells)
        np.multiply(position, position, out=position)  # in place: deviations are not needed any more
        return cls(count, first, _weighted_counts(cell, position, cells), n_neg_inf, n_pos_inf)


@dataclass(frozen=True, eq=False)
class DensityGrid(FieldwiseSums):
    """Both classes on the same even cells between the extremes of the scores.

    Examples
    --------
    >>> grid = DensityGrid.of(Scores([2.0, 4.0], [0.0, np.inf]), 0.0, 4.0, cells=4)
    >>> grid.target.count, grid.nontarget.count, grid.nontarget.n_pos_inf
    (array([0, 0, 1, 1]), array([1, 0, 0, 0]), 1)
    """

    low: float
    high: float
    target: CellSums
    nontarget: CellSums
    _alike: ClassVar[tuple[str, ...]] = ("low", "high")

    @classmethod
    def of(cls, scores: Scores, low: float, high: float, cells: int = CELLS) -> DensityGrid:
        """The cells of a chunk."""
        if scores.n_systems != 1:
            raise InputError(f"one system expected, got {scores.n_systems}")
        return cls(
            low,
            high,
            CellSums.of(scores.target, low, high, cells),
            CellSums.of(scores.nontarget, low, high, cells),
        )

    @classmethod
    def at(cls, low: float, high: float, cells: int = CELLS) -> Callable[[Scores], DensityGrid]:
        """A summarizer for given extremes."""
        return lambda chunk: cls.of(chunk, low, high, cells)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return len(self.target.count)

    @property
    def edges(self) -> FloatArray:
        """The ``cells + 1`` borders of the cells."""
        share = np.arange(self.cells + 1) / self.cells
        # not low + share * (high - low), which may overflow
        return self.low * (1.0 - share) + self.high * share

    @property
    def centers(self) -> FloatArray:
        """The middle of each cell."""
        share = (np.arange(self.cells) + 0.5) / self.cells
        return self.low * (1.0 - share) + self.high * share


def _weighted_counts(cell: IntArray, weight: FloatArray, cells: int) -> FloatArray:
    return np.bincount(cell, weight, minlength=cells).astype(np.float64, copy=False)


HISTOGRAM_CELLS = 1024
_DIGITS = 40  # binary digits of the largest score that the number of a cell may have
_FINEST = -1000  # 2^-1000 is still a normal number, so widths keep all their digits


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
        # scaling by a power of two is exact, so equal scores share a cell in every chunk
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
        # a shift rounds down for negative cells too; int64 has no more than 63 bits
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
        # pairs of cells become one until both fit; the result does not depend on the order of merging
        while True:
            first, last = min(a.first, b.first), max(a.first + len(a.count), b.first + len(b.count))
            if last - first <= HISTOGRAM_CELLS:
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
        if not (len(count) <= HISTOGRAM_CELLS and np.isfinite(count).all() and (count >= 0.0).all()):
            raise ValueError(
                f"the counts of a class must be at most {HISTOGRAM_CELLS} finite numbers of at least 0"
            )
        # counts of unweighted trials are whole again, to the type
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
    spread = (
        high / HISTOGRAM_CELLS - low / HISTOGRAM_CELLS
    )  # divided first: the difference itself may overflow
    if spread > 0.0:
        # at most four times too fine; the loop below does the rest
        exponent = max(exponent, math.frexp(spread)[1] - 2)
    while math.floor(math.ldexp(high, -exponent)) - math.floor(math.ldexp(low, -exponent)) >= HISTOGRAM_CELLS:
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


_POINTS = 4096
_TAIL = 0.003
"""Share of a wide Student density that is mixed in: no score is impossible, however far out."""


@dataclass(frozen=True, eq=False)
class ClassDensity(ReadOnlyArrays):
    """The logarithm of a density on an even grid, with the mean and standard deviation of the class.

    Examples
    --------
    >>> counts = ClassHistogram.of(np.random.default_rng(0).normal(3.0, 2.0, 100_000))
    >>> density = ClassDensity.of(counts)
    >>> round(density.mean, 1), round(density.sd, 1)
    (3.0, 2.0)
    >>> np.exp(density.log_pdf(np.array([3.0]))[0]).round(2)  # 1 / sqrt(2 pi 4)
    array([0.2])
    """

    start: float
    step: float
    log_density: FloatArray
    slope: FloatArray
    mean: float
    sd: float

    @classmethod
    def of(cls, counts: ClassHistogram) -> ClassDensity:
        """A kernel density with Silverman's width, and thin tails beyond all scores."""
        at, weight = counts.centers, counts.count / counts.total
        mean = float(weight @ at)
        # at least that of an even spread over one cell
        sd = math.sqrt(max(float(weight @ (at - mean) ** 2), counts.width**2 / 12.0))
        below = np.cumsum(weight)
        quarter, three = (float(at[np.searchsorted(below, q)]) for q in (0.25, 0.75))
        # 1.349: quartiles of a Gaussian are so many standard deviations apart
        spread = min(sd, (three - quarter) / 1.349) if three > quarter else sd
        bandwidth = max(0.9 * spread * counts.total**-0.2, counts.width)
        # outliers far away must not make the grid too coarse for the rest
        low = max(float(at[0]), mean - 40.0 * sd) - 6.0 * sd
        high = min(float(at[-1]), mean + 40.0 * sd) + 6.0 * sd
        step = (high - low) / (_POINTS - 1)
        place = np.clip(np.rint((at - low) / step).astype(np.intp), 0, _POINTS - 1)
        cells = np.bincount(place, weight, _POINTS)
        # beyond 5 bandwidths a Gaussian kernel is below 4e-6 of its peak
        reach = min(max(math.ceil(5.0 * bandwidth / step), 1), _POINTS // 2)
        kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * step / bandwidth) ** 2)
        # normalized on the grid, so no mass is lost to rounding the kernel
        density = np.convolve(cells, kernel / kernel.sum(), "same") / step
        grid = low + step * np.arange(_POINTS)
        wide = 1.5 * sd
        tail = 0.375 / wide * (1.0 + ((grid - mean) / wide) ** 2 / 4.0) ** -2.5  # Student, four degrees
        log_density = np.log((1.0 - _TAIL) * np.maximum(density, 0.0) + _TAIL * tail)
        return cls(low, step, log_density, np.gradient(log_density, step), mean, sd)

    def log_pdf(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The logarithm of the density at scores, and its derivative there."""
        last = self.start + self.step * (len(self.log_density) - 1)
        held = np.clip(scores, self.start, last)  # interpolation inside the grid, a power law beyond
        place = (held - self.start) / self.step
        cell = np.minimum(place.astype(np.intp), len(self.log_density) - 2)
        part = place - cell
        log_pdf = self.log_density[cell] * (1.0 - part) + self.log_density[cell + 1] * part
        slope = self.slope[cell] * (1.0 - part) + self.slope[cell + 1] * part
        beyond = scores - held
        if beyond.any():  # as a power of the distance, like the tails inside
            far = np.abs(beyond) / self.sd
            log_pdf = log_pdf - 5.0 * np.log1p(far)  # Student with four degrees falls as x^-5
            slope = np.where(beyond == 0.0, slope, -5.0 * np.sign(beyond) / (self.sd * (1.0 + far)))
        return log_pdf, slope
