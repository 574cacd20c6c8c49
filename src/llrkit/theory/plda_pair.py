"""Exact distribution of the LLRs of a two-covariance (PLDA) model whose data follow the model.

In each latent dimension the two embeddings of a target trial have correlation ``rho = b / (b + w)``
(between- and within-class variance), and the LLR is a quadratic form: a difference of two independent
chi-squares. The distributions follow from their cumulant generating function by one contour integral.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit._cached import cached_property
from llrkit.core.bracketed_root import bracketed_root
from llrkit.errors import InputError
from llrkit.theory.calibrated_pair import CalibratedPair
from llrkit.theory.distribution import Distribution, Size

ComplexArray = npt.NDArray[np.complex128]
_ANGLE = 0.35  # how far the contour bends towards the side where exp(-s x) falls; well below pi/4, beyond
# which the integrand of a nearly normal variable grows instead
_STEP = 0.06


@dataclass(frozen=True, eq=False)
class ChiSquareDifference(Distribution):
    """Distribution of ``loc + 1/2 sum_j (up_j chi2 - down_j chi2')``, ``counts_j`` degrees of freedom each.

    Cumulant generating function
    ``K(s) = loc s - 1/2 sum_j counts_j [log(1 - up_j s) + log(1 + down_j s)]``. Density and tails are
    ``1/(2 pi i) ∫ exp(K(s) - s x) ds`` (divided by ``±s`` for the tails) along a hyperbola through the saddle
    point, parametrized by a hyperbolic sine; the trapezoid rule then converges exponentially, and
    small tails keep their relative accuracy.

    Examples
    --------
    >>> one = ChiSquareDifference(0.0, np.array([2]), np.array([1.0]), np.array([1.0]))  # Laplace
    >>> round(one.pdf(np.log(5.0)), 10), round(1e30 * one.sf(30.0 * np.log(10.0)), 10)
    (0.1, 0.5)
    """

    loc: float
    """Added to the sum."""
    counts: FloatArray
    """Degrees of freedom of each term."""
    up: FloatArray
    """Weight of each chi-square that is added."""
    down: FloatArray
    """Weight of each chi-square that is subtracted."""

    def cumulant(self, order: int) -> float:
        """Cumulant of a given order: mean, variance, third central moment, ...

        Parameters
        ----------
        order
            Order of the cumulant, from 1.
        """
        if order < 1:
            raise InputError(f"the order of a cumulant must be at least 1, got {order!r}")
        powers = self.up**order + (-self.down) ** order
        return (self.loc if order == 1 else 0.0) + 0.5 * factorial(order - 1) * float(self.counts @ powers)

    def mean(self) -> float:
        """First cumulant."""
        return self.cumulant(1)

    def var(self) -> float:
        """Second cumulant."""
        return self.cumulant(2)

    def characteristic_function(self, t: FloatArray) -> ComplexArray:
        """``E exp(i t x)``.

        Parameters
        ----------
        t
            Frequencies.
        """
        return np.exp(self._cgf(np.asarray(1j * np.asarray(t), dtype=np.complex128)))

    def _cgf(self, s: ComplexArray) -> ComplexArray:
        out = self.loc * s
        for count, up, down in zip(self.counts, self.up, self.down, strict=True):
            # the arguments of the two factors have opposite signs, so one logarithm of the product is enough
            out = out - 0.5 * count * np.log1p(s * ((down - up) - up * down * s))
        return out

    def _derivatives(self, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``K'(s)`` and ``K''(s)`` for real ``s`` between the singularities."""
        right = self.up / (1.0 - self.up * s[:, None])
        left = self.down / (1.0 + self.down * s[:, None])
        return self.loc + 0.5 * (right - left) @ self.counts, 0.5 * (right**2 + left**2) @ self.counts

    @property
    def _strip(self) -> tuple[float, float]:
        return -1.0 / float(np.max(self.down)), 1.0 / float(np.max(self.up))

    def _saddle(self, x: FloatArray) -> FloatArray:
        """Root of ``K'(s) = x``; precision does not matter, only that it is near."""
        first, last = self._strip
        low, high = (np.full(x.shape, end) for end in (first, last))
        for step in range(45):
            s = 0.5 * (low + high)
            above = self._derivatives(s)[0] > x
            low, high = np.where(above, low, s), np.where(above, s, high)
            if step % 6 == 5 and np.all(high - low <= 1e-4 * np.minimum(high - first, last - low)):
                break
        return np.asarray(0.5 * (low + high))

    @cached_property
    def _frequency_reach(self) -> float:
        """Log of the frequency beyond which the characteristic function is below e^-42."""

        def decay(log_t: float) -> float:
            t = np.exp(log_t)
            return 0.25 * float(self.counts @ (np.log1p((t * self.up) ** 2) + np.log1p((t * self.down) ** 2)))

        return bracketed_root(lambda v: decay(v) - 42.0, -50.0, 150.0, within=1e-12)

    def _invert(self, x: FloatArray, crossing: FloatArray, pole: bool) -> FloatArray:
        """``1/(2 pi i) ∫ exp(K(s) - s x) [1/s] ds`` on a hyperbola through ``crossing`` on the real axis."""
        low, high = self._strip
        gap = np.minimum(crossing - low, high - crossing)
        if pole:
            gap = np.minimum(gap, np.abs(crossing))
        radius = np.minimum(gap, 1.0 / np.sqrt(self._derivatives(crossing)[1]))
        bend = np.where(x >= self.loc, _ANGLE, -_ANGLE)
        start = crossing - radius * np.sin(bend)
        reach = max(1.0, self._frequency_reach - float(np.log(np.min(radius))) + 1.0)
        y = np.arange(int(reach / _STEP) + 2) * _STEP
        weight = np.where(y == 0.0, 0.5, 1.0) * _STEP / np.pi
        out = np.empty(x.shape)
        for i in range(0, x.size, 256):
            rows = slice(i, i + 256)
            angle = y - 1j * bend[rows, None]
            s = start[rows, None] + radius[rows, None] * 1j * np.sinh(angle)
            exponent = self._cgf(s) - s * x[rows, None]
            slope = radius[rows, None] * np.cosh(angle)
            out[rows] = np.real(np.exp(exponent) * slope / (s if pole else 1.0)) @ weight
        return out

    def _logpdf(self, x: FloatArray) -> FloatArray:
        # near the location of a low-dimensional form the density is singular; it stays a finite large number
        return np.log(np.maximum(self._invert(x, self._saddle(x), pole=False), 1e-300))

    def _cdf(self, x: FloatArray) -> FloatArray:
        return self._tails(x)[0]

    def _sf(self, x: FloatArray) -> FloatArray:
        return self._tails(x)[1]

    def _tails(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        low, high = self._strip
        # the pole at 0 must keep its distance: nearer than this the saddle point is given up for it
        away = min(0.5 / self.std(), 0.3 * high, -0.3 * low)
        saddle = self._saddle(x)
        upper = saddle >= 0.0
        crossing = np.where(upper, np.maximum(saddle, away), np.minimum(saddle, -away))
        tail = np.clip(np.where(upper, 1.0, -1.0) * self._invert(x, crossing, pole=True), 0.0, 1.0)
        return np.where(upper, 1.0 - tail, tail), np.where(upper, tail, 1.0 - tail)

    def _rvs(self, size: Size, rng: np.random.Generator) -> FloatArray:
        shape = np.zeros(size).shape
        out = np.full(shape, self.loc)
        for count, up, down in zip(self.counts, self.up, self.down, strict=True):
            out += 0.5 * (up * rng.chisquare(count, shape) - down * rng.chisquare(count, shape))
        return out


@dataclass(frozen=True)
class PLDALLR(CalibratedPair):
    """LLRs of a PLDA model on data that follow it, one correlation ``rho_j`` per latent dimension.

    Targets: ``x = c + 1/2 sum_j rho_j (chi2 - chi2')``, symmetric about ``c = -1/2 sum_j log(1 - rho_j^2)``;
    non-targets: ``x = c + 1/2 sum_j [rho_j/(1 + rho_j) chi2 - rho_j/(1 - rho_j) chi2']``; all chi-squares
    independent with one degree of freedom. Non-targets spread wider, with a negative skew; the DET is
    steeper than -1. Many dimensions with ``sum rho_j^2`` fixed give the Gaussian pair with that variance.

    Examples
    --------
    >>> pair = PLDALLR.isotropic(rho=0.4, dim=20)
    >>> round(pair.target.var(), 6), round(pair.nontarget.var() / pair.target.var(), 4)
    (3.2, 1.644)
    >>> round(pair.eer, 4), round(pair.cllr, 4)
    (0.1706, 0.5413)
    """

    rho: tuple[float, ...]
    """Correlation of two sessions of a speaker, in each dimension."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        try:
            rho = tuple(float(value) for value in self.rho)
        except (TypeError, ValueError):
            raise InputError(f"rho must be a sequence of numbers, got {self.rho!r}") from None
        if not rho or not all(0.0 < value < 1.0 for value in rho):
            raise InputError("rho needs at least one dimension, every value strictly between 0 and 1")
        object.__setattr__(self, "rho", rho)

    @classmethod
    def isotropic(cls, rho: float, dim: int) -> PLDALLR:
        """The same correlation in ``dim`` dimensions.

        Parameters
        ----------
        rho
            Correlation of two recordings of one source.
        dim
            Number of dimensions.

        Examples
        --------
        >>> PLDALLR.isotropic(0.5, 2)
        PLDALLR(rho=(0.5, 0.5))
        """
        if int(dim) != dim or dim < 1:
            raise InputError(f"dim must be a whole number of at least 1, got {dim!r}")
        return cls((rho,) * int(dim))

    @classmethod
    def from_variances(cls, between: Sequence[float], within: Sequence[float]) -> PLDALLR:
        """From the variances between and within sources, dimension by dimension: ``rho = b / (b + w)``.

        Parameters
        ----------
        between
            Variances between sources.
        within
            Variances within sources.

        Examples
        --------
        >>> PLDALLR.from_variances([1.0, 3.0], [1.0, 1.0])
        PLDALLR(rho=(0.5, 0.75))
        """
        if len(between) != len(within):
            raise InputError(
                f"as many variances between as within are needed, got {len(between)}, {len(within)}"
            )
        return cls(tuple(b / (b + w) for b, w in zip(between, within, strict=True)))

    @property
    def offset(self) -> float:
        """``c = -1/2 sum_j log(1 - rho_j^2)``, the mean of the target LLRs."""
        return float(-0.5 * np.sum(np.log1p(-np.square(self.rho))))

    @property
    def limit_sigma(self) -> float:
        """``sqrt(sum_j rho_j^2)``, the sigma of the Gaussian pair that many weak dimensions tend to."""
        return float(np.sqrt(np.sum(np.square(self.rho))))

    @cached_property
    def target(self) -> ChiSquareDifference:
        """Difference of chi-squares with weights ``rho_j`` and ``rho_j``."""
        rho, counts = self._groups
        return ChiSquareDifference(self.offset, counts, rho, rho)

    @cached_property
    def nontarget(self) -> ChiSquareDifference:
        """Difference of chi-squares with weights ``rho_j / (1 + rho_j)`` and ``rho_j / (1 - rho_j)``."""
        rho, counts = self._groups
        return ChiSquareDifference(self.offset, counts, rho / (1.0 + rho), rho / (1.0 - rho))

    @property
    def _groups(self) -> tuple[FloatArray, FloatArray]:
        rho, counts = np.unique(np.array(self.rho), return_counts=True)
        return rho, counts.astype(np.float64)
