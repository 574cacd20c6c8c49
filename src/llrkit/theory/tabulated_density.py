"""A distribution known by its density alone, tabulated once by adaptive quadrature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llrkit._arguments import positive
from llrkit._arrays import FloatArray
from llrkit._cached import cached_property
from llrkit.errors import InputError
from llrkit.theory._quadrature import NODES, WEIGHTS, Panels, gauss_legendre, refine
from llrkit.theory.distribution import Distribution

LogDensity = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Axis:
    """A smooth map of ``u`` in ``[start, stop]`` to the support, stretched where densities need it.

    ``sinh`` on the line, ``exp`` on a half-line and the sigmoid on an interval: power-law behavior at an
    end point and tails of any weight become smooth and fast-decaying in ``u``.

    Examples
    --------
    >>> Axis((0.0, np.inf)).x(np.array([0.0]))
    array([1.])
    """

    support: tuple[float, float] = (-np.inf, np.inf)
    """Where the density is not zero."""
    center: float = 0.0
    """Where most of the mass is."""
    scale: float = 1.0
    """How wide most of the mass is."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        low, high = self.support
        if not low < high:
            raise InputError(f"support must be two ascending numbers, got {self.support!r}")
        positive(self.scale, "scale")

    @property
    def kind(self) -> tuple[bool, bool]:
        """Whether the lower and the upper end are finite."""
        return bool(np.isfinite(self.support[0])), bool(np.isfinite(self.support[1]))

    @property
    def edges(self) -> FloatArray:
        """First panels in ``u``; a finite end other than 0 cannot be approached closer than rounding."""
        low, high = self.support
        start = (-700.0 if low == 0.0 else -36.0) if self.kind[0] else -30.0
        stop = (700.0 if high == 0.0 else 36.0) if self.kind[1] else 30.0
        return np.linspace(start, stop, int(2 * (stop - start)) + 1)

    def x(self, u: FloatArray) -> FloatArray:
        """The point of the support.

        Parameters
        ----------
        u
            Points of the unbounded axis.
        """
        from scipy.special import expit

        low, high = self.support
        match self.kind:
            case (True, True):
                return np.where(u < 0, low + (high - low) * expit(u), high - (high - low) * expit(-u))
            case (True, False):
                return low + self.scale * np.exp(u)
            case (False, True):
                return high - self.scale * np.exp(-u)
        return self.center + self.scale * np.sinh(u)

    def log_slope(self, u: FloatArray) -> FloatArray:
        """``log dx/du``.

        Parameters
        ----------
        u
            Points of the unbounded axis.
        """
        low, high = self.support
        match self.kind:
            case (True, True):
                return np.asarray(np.log(high - low) - np.logaddexp(0.0, u) - np.logaddexp(0.0, -u))
            case (True, False):
                return np.asarray(np.log(self.scale) + u)
            case (False, True):
                return np.asarray(np.log(self.scale) - u)
        return np.asarray(np.log(self.scale) + np.logaddexp(u, -u) - np.log(2.0))

    def u(self, x: FloatArray) -> FloatArray:
        """The inverse map, for points inside the support.

        Parameters
        ----------
        x
            Points at which the function is evaluated.
        """
        low, high = self.support
        match self.kind:
            case (True, True):
                return np.asarray(np.log(x - low) - np.log(high - x))
            case (True, False):
                return np.asarray(np.log((x - low) / self.scale))
            case (False, True):
                return np.asarray(-np.log((high - x) / self.scale))
        return np.asarray(np.arcsinh((x - self.center) / self.scale))

    def weighted(self, log_density: LogDensity) -> LogDensity:
        """``log density(x(u)) dx/du`` as a function of ``u``, checked for NaN.

        Parameters
        ----------
        log_density
            The logarithm of a density.
        """

        def function(u: FloatArray) -> FloatArray:
            # somebody else's density, asked far outside its bulk: an overflow there is minus infinity
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                values = np.asarray(log_density(self.x(u)), dtype=np.float64) + self.log_slope(u)
            if np.isnan(values).any() or (values == np.inf).any():
                bad = self.x(u)[np.isnan(values) | (values == np.inf)][0]
                raise InputError(f"the log density is NaN or infinite at x={bad!r}, inside its support")
            return values

        return function


@dataclass(frozen=True, eq=False)
class DensityDistribution(Distribution):
    """Distribution given by a vectorized log density on an :class:`Axis`; everything else by quadrature.

    The density must integrate to 1; a mass that is off by more than 1e-6 is an error, because then either
    the density is not one or the axis does not resolve it (give its ``center`` and ``scale``).

    Examples
    --------
    >>> laplace = DensityDistribution(lambda x: -np.abs(x) - np.log(2.0))
    >>> round(laplace.cdf(-np.log(5.0)), 10), round(laplace.var(), 10)
    (0.1, 2.0)
    """

    log_density: LogDensity
    """Takes an array of x and returns the logarithm of the density at each."""
    axis: Axis = Axis()
    """Where the density is, and at what scale it varies."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        mass = float(np.sum(self._panels.mass))
        if not abs(mass - 1.0) < 1e-6:
            raise InputError(
                f"the density integrates to {mass:.6g}, not 1: it is not normalized, or it is too narrow "
                f"to be found around center={self.axis.center:g} with scale={self.axis.scale:g}"
            )

    def support(self) -> tuple[float, float]:
        """The support of the axis."""
        return self.axis.support

    def mean(self) -> float:
        """``∫ x p(x) dx``."""
        x, weight = self._nodes
        return float(np.sum(weight * x))

    def var(self) -> float:
        """``∫ (x - mean)^2 p(x) dx``."""
        x, weight = self._nodes
        return float(np.sum(weight * (x - self.mean()) ** 2))

    @cached_property
    def _panels(self) -> Panels:
        panels = refine(self._mass_density, self.axis.edges, relative=1e-10, rounds=25)
        keep = panels.mass > 0.0
        return Panels(panels.left[keep], panels.right[keep], panels.mass[keep])

    @cached_property
    def _nodes(self) -> tuple[FloatArray, FloatArray]:
        half = 0.5 * (self._panels.right - self._panels.left)[:, None]
        u = (self._panels.left[:, None] + half * (1.0 + NODES)).ravel()
        return self.axis.x(u), (half * WEIGHTS).ravel() * self._mass_density(u)

    def _mass_density(self, u: FloatArray) -> FloatArray:
        return np.exp(self.axis.weighted(self.log_density)(u))

    def _logpdf(self, x: FloatArray) -> FloatArray:
        out = np.full(x.shape, -np.inf)
        inside = (x > self.axis.support[0]) & (x < self.axis.support[1])
        out[inside] = self.log_density(x[inside])
        return out

    def _cdf(self, x: FloatArray) -> FloatArray:
        return self._tail(x, upper=False)

    def _sf(self, x: FloatArray) -> FloatArray:
        return self._tail(x, upper=True)

    def _tail(self, x: FloatArray, *, upper: bool) -> FloatArray:
        low, high = self.axis.support
        panels = self._panels
        out = np.where(x >= high, float(not upper), np.where(x <= low, float(upper), 0.0))
        inside = (x > low) & (x < high)
        u = self.axis.u(x[inside])
        at = np.clip(np.searchsorted(panels.left, u, side="right") - 1, 0, panels.left.size - 1)
        u = np.clip(u, panels.left[at], panels.right[at])
        if upper:
            whole = np.append(np.cumsum(panels.mass[::-1])[::-1], 0.0)[at + 1]
            in_panel = gauss_legendre(self._mass_density, u, panels.right[at])
        else:
            whole = np.insert(np.cumsum(panels.mass), 0, 0.0)[at]
            in_panel = gauss_legendre(self._mass_density, panels.left[at], u)
        out[inside] = np.minimum(whole + in_panel, 1.0)
        return out
