"""Exponentially weighted sums of scores, each scaled by its largest term."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import Array, FloatArray
from llrkit.core.summary import SummaryBase
from llrkit.scores import Scores


@dataclass(frozen=True, eq=False)
class ExponentialSums(SummaryBase):
    """Sums of ``w = e^(c z - top)``, ``w z``, ``w z^2`` and ``w^2``; ``top`` is the largest exponent.

    Examples
    --------
    >>> sums = ExponentialSums.of(np.array([1000.0, 1000.0]), None, 1.0)
    >>> sums.log_mean, sums.effective
    (1000.0, 2.0)
    """

    n: float
    top: float
    zero: float
    first: float
    second: float
    square: float

    @classmethod
    def of(cls, z: FloatArray, weight: FloatArray | None, c: float) -> ExponentialSums:
        """The sums of some scores, each counted ``weight`` times."""
        if len(z) == 0:
            return cls(0.0, -math.inf, 0.0, 0.0, 0.0, 0.0)
        exponent = c * z
        top = float(exponent.max())
        w = np.exp(exponent - top)
        count = np.ones(len(z)) if weight is None else weight
        counted = w * count
        return cls(
            float(count.sum()), top, float(counted.sum()), float((counted * z).sum()),
            float((counted * z * z).sum()), float((counted * w).sum()),
        )  # fmt: skip

    def __add__(self, other: ExponentialSums) -> ExponentialSums:
        top = max(self.top, other.top)
        if top == -math.inf:
            return self
        a, b = math.exp(self.top - top), math.exp(other.top - top)
        return ExponentialSums(
            self.n + other.n, top, a * self.zero + b * other.zero, a * self.first + b * other.first,
            a * self.second + b * other.second, a * a * self.square + b * b * other.square,
        )  # fmt: skip

    def __mul__(self, weight: float) -> ExponentialSums:
        return ExponentialSums(
            self.n * weight, self.top, self.zero * weight, self.first * weight, self.second * weight,
            self.square * weight,
        )  # fmt: skip

    @property
    def log_mean(self) -> float:
        """``log mean e^(c z)``."""
        return self.top + math.log(self.zero) - math.log(self.n)

    @property
    def mean(self) -> float:
        """Mean of z under the weights, the derivative of ``log_mean`` with respect to c."""
        return self.first / self.zero

    @property
    def variance(self) -> float:
        """Variance of z under the weights, its second derivative."""
        return max(self.second / self.zero - self.mean**2, 0.0)

    @property
    def effective(self) -> float:
        """How many trials of equal weight would be as good: ``(sum w)^2 / sum w^2``."""
        return self.zero**2 / self.square

    @property
    def largest_share(self) -> float:
        """The share of the trial with the largest weight."""
        return 1.0 / self.zero


@dataclass(frozen=True, eq=False)
class ExponentialSumsPair(SummaryBase):
    """Targets weighted by ``e^(-a z)``, non-targets by ``e^(a z)``."""

    target: ExponentialSums
    nontarget: ExponentialSums

    @classmethod
    def at(cls, a: float, center: float, scale: float) -> Callable[[Scores], ExponentialSumsPair]:
        """A summarizer of the scores ``(score - center) / scale``."""

        def one(values: Array, c: float) -> ExponentialSums:
            return ExponentialSums.of((values.astype(np.float64, copy=False) - center) / scale, None, c)

        return lambda chunk: cls(one(chunk.target, -a), one(chunk.nontarget, a))

    def __add__(self, other: ExponentialSumsPair) -> ExponentialSumsPair:
        return ExponentialSumsPair(self.target + other.target, self.nontarget + other.nontarget)

    def __mul__(self, weight: float) -> ExponentialSumsPair:
        return ExponentialSumsPair(self.target * weight, self.nontarget * weight)
