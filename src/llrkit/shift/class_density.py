"""A smooth density of one class from its counts in cells, cheap to evaluate anywhere."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.score_histogram import ClassHistogram
from llrkit.core.summary_algebra import ReadOnlyArrays

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
        sd = math.sqrt(max(float(weight @ (at - mean) ** 2), counts.width**2 / 12.0))
        below = np.cumsum(weight)
        quarter, three = (float(at[np.searchsorted(below, q)]) for q in (0.25, 0.75))
        spread = min(sd, (three - quarter) / 1.349) if three > quarter else sd
        bandwidth = max(0.9 * spread * counts.total**-0.2, counts.width)
        # outliers far away must not make the grid too coarse for the rest
        low = max(float(at[0]), mean - 40.0 * sd) - 6.0 * sd
        high = min(float(at[-1]), mean + 40.0 * sd) + 6.0 * sd
        step = (high - low) / (_POINTS - 1)
        place = np.clip(np.rint((at - low) / step).astype(np.intp), 0, _POINTS - 1)
        cells = np.bincount(place, weight, _POINTS)
        reach = min(max(math.ceil(5.0 * bandwidth / step), 1), _POINTS // 2)
        kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * step / bandwidth) ** 2)
        density = np.convolve(cells, kernel / kernel.sum(), "same") / step
        grid = low + step * np.arange(_POINTS)
        wide = 1.5 * sd
        tail = 0.375 / wide * (1.0 + ((grid - mean) / wide) ** 2 / 4.0) ** -2.5  # Student, four degrees
        log_density = np.log((1.0 - _TAIL) * np.maximum(density, 0.0) + _TAIL * tail)
        return cls(low, step, log_density, np.gradient(log_density, step), mean, sd)

    def log_pdf(self, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The logarithm of the density at scores, and its derivative there."""
        last = self.start + self.step * (len(self.log_density) - 1)
        held = np.clip(scores, self.start, last)
        place = (held - self.start) / self.step
        cell = np.minimum(place.astype(np.intp), len(self.log_density) - 2)
        part = place - cell
        log_pdf = self.log_density[cell] * (1.0 - part) + self.log_density[cell + 1] * part
        slope = self.slope[cell] * (1.0 - part) + self.slope[cell + 1] * part
        beyond = scores - held
        if beyond.any():  # as a power of the distance, like the tails inside
            far = np.abs(beyond) / self.sd
            log_pdf = log_pdf - 5.0 * np.log1p(far)
            slope = np.where(beyond == 0.0, slope, -5.0 * np.sign(beyond) / (self.sd * (1.0 + far)))
        return log_pdf, slope
