"""The distribution of an LLR in one class: the interface, and mirror images.

``Distribution`` does the bookkeeping once (numbers or arrays in, the same out; infinities; quantiles by
root finding; sampling by inversion), so a new distribution only says what its density, its two tails and
its first two moments are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import overload

import numpy as np

from llrkit._arrays import FloatArray, Numbers
from llrkit._random import RNG
from llrkit.errors import InputError, NaNScoreError
from llrkit.scores.checked_arrays import first_nan

Size = int | tuple[int, ...]


def elementwise(
    f: Callable[[FloatArray], FloatArray], x: float | Numbers, at_minus: float, at_plus: float
) -> float | FloatArray:
    """Apply ``f`` to the finite values of ``x``; a number gives a number, an array an array.

    Examples
    --------
    >>> elementwise(np.exp, 0.0, 0.0, np.inf)
    1.0
    """
    values = np.asarray(x, dtype=np.float64)
    flat = values.ravel()
    where = first_nan(flat)
    if where is not None:
        raise NaNScoreError(f"value number {where[0]} is NaN; a number or an infinity is accepted")
    out = np.where(flat > 0, at_plus, at_minus)
    finite = np.isfinite(flat)
    if finite.any():
        out[finite] = f(flat[finite])
    return float(out[0]) if values.ndim == 0 else out.reshape(values.shape)


class Distribution(ABC):
    """Distribution of the LLR in one class, with the methods of a frozen ``scipy.stats`` distribution.

    All methods take a number or an array. ``cdf(x)`` is ``P(X <= x)`` and ``sf(x)`` is ``P(X > x)``;
    ``below(x)`` is ``P(X < x)`` and ``at_least(x)`` is ``P(X >= x)``, which differ from them only
    where there is a point mass.

    Examples
    --------
    >>> from llrkit.theory import Normal
    >>> Normal(0.0, 1.0).ppf([0.0, 0.5])
    array([-inf,   0.])
    """

    @abstractmethod
    def _logpdf(self, x: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _cdf(self, x: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _sf(self, x: FloatArray) -> FloatArray: ...

    def _below(self, x: FloatArray) -> FloatArray:
        return self._cdf(x)

    def _at_least(self, x: FloatArray) -> FloatArray:
        return self._sf(x)

    @abstractmethod
    def mean(self) -> float:
        """Expected value."""

    @abstractmethod
    def var(self) -> float:
        """Variance."""

    def std(self) -> float:
        """Standard deviation."""
        return float(np.sqrt(self.var()))

    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        return -np.inf, np.inf

    @overload
    def logpdf(self, x: float) -> float: ...
    @overload
    def logpdf(self, x: Numbers) -> FloatArray: ...
    def logpdf(self, x: float | Numbers) -> float | FloatArray:
        """Natural logarithm of the density.

        Parameters
        ----------
        x
            Points at which the function is evaluated.
        """
        return elementwise(self._logpdf, x, -np.inf, -np.inf)

    @overload
    def pdf(self, x: float) -> float: ...
    @overload
    def pdf(self, x: Numbers) -> FloatArray: ...
    def pdf(self, x: float | Numbers) -> float | FloatArray:
        """Density; a point mass is not part of it.

        Parameters
        ----------
        x
            Points at which the function is evaluated.
        """
        return elementwise(lambda v: np.exp(self._logpdf(v)), x, 0.0, 0.0)

    @overload
    def cdf(self, x: float) -> float: ...
    @overload
    def cdf(self, x: Numbers) -> FloatArray: ...
    def cdf(self, x: float | Numbers) -> float | FloatArray:
        """``P(X <= x)``.

        Parameters
        ----------
        x
            Points at which the function is evaluated.
        """
        return elementwise(self._cdf, x, 0.0, 1.0)

    @overload
    def sf(self, x: float) -> float: ...
    @overload
    def sf(self, x: Numbers) -> FloatArray: ...
    def sf(self, x: float | Numbers) -> float | FloatArray:
        """``P(X > x)``, accurate also where it is tiny.

        Parameters
        ----------
        x
            Points at which the function is evaluated.
        """
        return elementwise(self._sf, x, 1.0, 0.0)

    @overload
    def below(self, x: float) -> float: ...
    @overload
    def below(self, x: Numbers) -> FloatArray: ...
    def below(self, x: float | Numbers) -> float | FloatArray:
        """``P(X < x)``.

        Parameters
        ----------
        x
            Points at which the function is evaluated.
        """
        return elementwise(self._below, x, 0.0, 1.0)

    @overload
    def at_least(self, x: float) -> float: ...
    @overload
    def at_least(self, x: Numbers) -> FloatArray: ...
    def at_least(self, x: float | Numbers) -> float | FloatArray:
        """``P(X >= x)``, accurate also where it is tiny.

        Parameters
        ----------
        x
            Points at which the function is evaluated.
        """
        return elementwise(self._at_least, x, 1.0, 0.0)

    @overload
    def ppf(self, q: float) -> float: ...
    @overload
    def ppf(self, q: Numbers) -> FloatArray: ...
    def ppf(self, q: float | Numbers) -> float | FloatArray:
        """Quantile: the inverse of :meth:`cdf`.

        Parameters
        ----------
        q
            Probabilities.
        """
        values = np.asarray(q, dtype=np.float64)
        if not np.all((values >= 0.0) & (values <= 1.0)):
            raise InputError("a quantile level must lie between 0 and 1")
        out = np.where(values.ravel() > 0.5, *self.support()[::-1])
        inside = (values.ravel() > 0.0) & (values.ravel() < 1.0)
        if inside.any():
            out[inside] = self._ppf(values.ravel()[inside])
        return float(out[0]) if values.ndim == 0 else out.reshape(values.shape)

    def rvs(self, size: Size = 1, rng: RNG = None) -> FloatArray:
        """Draw an array of ``size`` independent values with the generator (or seed) ``rng``.

        Parameters
        ----------
        size
            Shape of the result.
        rng
            A NumPy generator, or a seed.
        """
        return self._rvs(size, np.random.default_rng(rng))

    def _rvs(self, size: Size, rng: np.random.Generator) -> FloatArray:
        # 1 - random() lies in (0, 1], so no draw is the infinite lower end
        return np.asarray(self.ppf(np.nextafter(1.0 - rng.random(size), 0.0)), dtype=np.float64)

    def _ppf(self, q: FloatArray) -> FloatArray:
        upper = q > 0.5  # the smaller tail is the one that keeps its digits

        def excess(x: FloatArray) -> FloatArray:
            return np.where(upper, (1.0 - q) - self._sf(x), self._cdf(x) - q)

        step = np.full(q.shape, max(self.std(), 1e-8))
        low, high = self.mean() - step, self.mean() + step
        for _ in range(200):
            down, up = excess(low) > 0.0, excess(high) < 0.0
            if not (down.any() or up.any()):
                break
            step *= 1.5
            low, high = np.where(down, low - step, low), np.where(up, high + step, high)
        x = 0.5 * (low + high)
        for _ in range(200):  # Newton where it stays inside the bracket, bisection elsewhere
            f = excess(x)
            low, high = np.where(f <= 0.0, x, low), np.where(f >= 0.0, x, high)
            slope = np.exp(np.minimum(self._logpdf(x), 700.0))
            newton = x - f / np.where(slope > 0.0, slope, np.inf)
            inside = (newton > low) & (newton < high) & (slope > 0.0)
            new = np.where(inside, newton, 0.5 * (low + high))
            moved = np.abs(new - x) > 4e-16 * np.abs(x) + 1e-300
            x = new
            if not (moved & (f != 0.0)).any():
                break
        return x


@dataclass(frozen=True)
class Mirrored(Distribution):
    """Distribution of ``-X`` for ``X`` distributed as ``of``.

    Examples
    --------
    >>> from llrkit.theory import Normal
    >>> Mirrored(Normal(1.0, 2.0)).mean()
    -1.0
    """

    of: Distribution
    """The distribution of ``X``."""

    def mean(self) -> float:
        """Minus the mean of the original."""
        return -self.of.mean()

    def var(self) -> float:
        """Variance of the original."""
        return self.of.var()

    def support(self) -> tuple[float, float]:
        """The mirrored support."""
        low, high = self.of.support()
        return -high, -low

    def _logpdf(self, x: FloatArray) -> FloatArray:
        return self.of.logpdf(-x)

    def _cdf(self, x: FloatArray) -> FloatArray:
        return self.of.at_least(-x)

    def _sf(self, x: FloatArray) -> FloatArray:
        return self.of.below(-x)

    def _below(self, x: FloatArray) -> FloatArray:
        return self.of.sf(-x)

    def _at_least(self, x: FloatArray) -> FloatArray:
        return self.of.cdf(-x)

    def _rvs(self, size: Size, rng: np.random.Generator) -> FloatArray:
        return -self.of.rvs(size, rng)
