"""A calibrated pair out of any density: shift it, and tilt it by e^x to get that of the other class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, overload, runtime_checkable

import numpy as np
import numpy.typing as npt

from llrkit._arguments import number
from llrkit._arrays import Elementwise, FloatArray, Numbers, number_or_array
from llrkit._cached import cached_property
from llrkit.errors import InputError
from llrkit.theory._quadrature import refine
from llrkit.theory.calibrated_pair import CalibratedPair
from llrkit.theory.tabulated_density import Axis, DensityDistribution, LogDensity


@runtime_checkable
class HasLogpdf(Protocol):
    """What :func:`tilt` needs of a distribution object; frozen ``scipy.stats`` distributions have it.

    Examples
    --------
    >>> from scipy import stats
    >>> isinstance(stats.norm(), HasLogpdf)
    True
    """

    def logpdf(self, x: FloatArray, /) -> npt.ArrayLike:
        """Log density."""
        ...

    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value."""
        ...

    def ppf(self, q: float, /) -> float:
        """Quantile."""
        ...


@dataclass(frozen=True, eq=False)
class TiltedLLR(CalibratedPair):
    """The calibrated pair ``d(x) = q(x + log M)``, ``e(x) = e^x d(x)`` with ``M = ∫ e^y q(y) dy``.

    Made by :func:`tilt`; ``log_m1`` is ``log M``, the shift that calibrates ``q``.

    Examples
    --------
    >>> from scipy import stats
    >>> round(tilt(stats.norm(0.0, 2.0)).log_m1, 10)
    2.0
    """

    log_density: LogDensity
    """``log q``, of an array."""
    axis: Axis
    """Where ``q`` is, and at what scale it varies."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        DensityDistribution(self.log_density, self.axis)  # refuses what is not a density
        _ = self.nontarget, self.target

    @cached_property
    def log_m1(self) -> float:
        """Logarithm of the moment generating function of the given density at 1."""
        exponent = self.axis.weighted(lambda y: np.asarray(self.log_density(y)) + y)
        edges = self.axis.edges
        grid = exponent(np.linspace(edges[0], edges[-1], 16 * edges.size))
        peak = float(np.max(grid))
        if not self.axis.kind[1] and not grid[-1] < peak - 60.0:
            raise InputError(
                "M(1) = ∫ e^x q(x) dx is infinite: the upper tail of the density does not fall faster than "
                "e^-x, so no calibrated pair has it as its non-target side; a lighter upper tail is accepted"
            )
        return peak + float(
            np.log(np.sum(refine(lambda u: np.exp(np.minimum(exponent(u) - peak, 700.0)), edges).mass))
        )

    @cached_property
    def nontarget(self) -> DensityDistribution:
        """The given density, shifted by ``-log_m1``."""
        return DensityDistribution(lambda x: np.asarray(self.log_density(x + self.log_m1)), self._shifted)

    @cached_property
    def target(self) -> DensityDistribution:
        """Its exponential tilt, ``e^x`` times the non-target density."""
        return DensityDistribution(lambda x: x + np.asarray(self.log_density(x + self.log_m1)), self._shifted)

    @property
    def _shifted(self) -> Axis:
        low, high = self.axis.support
        return replace(
            self.axis, support=(low - self.log_m1, high - self.log_m1), center=self.axis.center - self.log_m1
        )


def tilt(
    density: HasLogpdf | Callable[[FloatArray], npt.ArrayLike],
    *,
    support: tuple[float, float] | None = None,
    center: float | None = None,
    scale: float | None = None,
) -> TiltedLLR:
    """Make a calibrated pair whose non-target LLRs have the shape of a given density.

    Every density ``q`` with finite ``M(1) = ∫ e^x q(x) dx`` becomes the non-target density of a calibrated
    LLR after a shift by ``-log M(1)``; its partner is ``e^x`` times it.

    Parameters
    ----------
    density
        A frozen distribution of ``scipy.stats``, or a vectorized log density.
    support
        Two numbers, by default those of the distribution, or the whole line.
    center, scale
        Where and how wide the density is, by default its median and half its interquartile range, or 0 and 1;
        needed for a callable only if it lives far from 0 or is narrow.

    Raises
    ------
    InputError
        If ``M(1)`` is infinite, or the density does not integrate to 1.

    Examples
    --------
    >>> from scipy import stats
    >>> pair = tilt(stats.laplace(scale=0.5))
    >>> round(pair.log_m1, 10)  # log(4/3)
    0.2876820725
    >>> round(pair.log_ratio(1.5), 10)
    1.5
    >>> tilt(stats.t(5))
    Traceback (most recent call last):
    llrkit.errors.InputError: M(1) = ∫ e^x q(x) dx is infinite: the upper tail of the density ...
    """
    if isinstance(density, HasLogpdf):
        log_density: Callable[[FloatArray], npt.ArrayLike] = density.logpdf
        support = support or (float(density.support()[0]), float(density.support()[1]))
        if center is None:
            center = float(density.ppf(0.5))
        if scale is None:
            scale = 0.5 * float(density.ppf(0.75) - density.ppf(0.25))
    elif callable(density):
        log_density = density
    else:
        raise InputError(f"a frozen distribution or a log density is needed, got {type(density).__name__}")
    axis = Axis(
        support or (-np.inf, np.inf),
        0.0 if center is None else number(center, "center"),
        1.0 if scale is None else scale,
    )
    return TiltedLLR(lambda x: np.asarray(log_density(x), dtype=np.float64), axis)


def other_class_density(
    logpdf: Callable[[FloatArray], npt.ArrayLike], *, given: str = "nontarget"
) -> Elementwise:
    """Log density of a calibrated LLR in the other class: ``e(x) = e^x d(x)``.

    Parameters
    ----------
    logpdf
        Log density of the LLR in one class.
    given
        That class: ``"nontarget"`` or ``"target"``.

    Examples
    --------
    >>> from llrkit.theory import GaussianLLR
    >>> pair = GaussianLLR(2.0)
    >>> bool(np.isclose(other_class_density(pair.nontarget.logpdf)(0.7), pair.target.logpdf(0.7)))
    True
    """
    if given not in ("nontarget", "target"):
        raise InputError(f'given must be "nontarget" or "target", got {given!r}')
    sign = 1.0 if given == "nontarget" else -1.0

    @overload
    def other(x: float) -> float: ...
    @overload
    def other(x: Numbers) -> FloatArray: ...
    def other(x: float | Numbers) -> float | FloatArray:
        values = np.asarray(x, dtype=np.float64)
        return number_or_array(np.asarray(logpdf(values), dtype=np.float64) + sign * values)

    return other
