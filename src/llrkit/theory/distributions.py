"""Distributions of an LLR in one class: normal, mixed, mirrored and by quadrature.

``Distribution`` does the bookkeeping once (numbers or arrays in, the same out; infinities; quantiles by root
finding; sampling by inversion), so a new distribution only says what its density, its two tails and its first
two moments are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import overload

import numpy as np

from llrkit.base.arguments import RNG, FloatArray, Numbers, positive
from llrkit.base.process import cached_property
from llrkit.errors import InputError, NaNScoreError
from llrkit.scores.arrays import first_nan

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
    out = np.where(flat > 0, at_plus, at_minus)  # infinities; the finite ones are overwritten
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
    def _tail(self, x: FloatArray, *, upper: bool, strict: bool) -> FloatArray:
        """Mass above or below each x; a point mass at x is counted unless ``strict``."""

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
        return elementwise(lambda v: self._tail(v, upper=False, strict=False), x, 0.0, 1.0)

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
        return elementwise(lambda v: self._tail(v, upper=True, strict=True), x, 1.0, 0.0)

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
        return elementwise(lambda v: self._tail(v, upper=False, strict=True), x, 0.0, 1.0)

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
        return elementwise(lambda v: self._tail(v, upper=True, strict=False), x, 1.0, 0.0)

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
        # levels 0 and 1 are the ends of the support
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
            # both forms rise with x and vanish at the quantile
            above, below = (self._tail(x, upper=tail, strict=tail) for tail in (True, False))
            return np.where(upper, (1.0 - q) - above, below - q)

        # a bracket around the mean, widened at the end that does not hold the quantile yet
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
            slope = np.exp(np.minimum(self._logpdf(x), 700.0))  # a density may have a pole
            newton = x - f / np.where(slope > 0.0, slope, np.inf)
            # strictly: at an end of the bracket the step would not move
            inside = (newton > low) & (newton < high) & (slope > 0.0)
            new = np.where(inside, newton, 0.5 * (low + high))
            # two units in the last place; 1e-300 for a root at 0
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

    def _tail(self, x: FloatArray, *, upper: bool, strict: bool) -> FloatArray:
        return self.of._tail(-x, upper=not upper, strict=strict)

    def _rvs(self, size: Size, rng: np.random.Generator) -> FloatArray:
        return -self.of.rvs(size, rng)


LOG_ROOT_TWO_PI = 0.5 * float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Normal(Distribution):
    """Normal distribution with location ``loc`` and standard deviation (not variance) ``scale``.

    Examples
    --------
    >>> Normal(loc=-2.0, scale=2.0).cdf(-2.0)
    0.5
    """

    loc: float
    """The mean."""
    scale: float
    """The standard deviation."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        positive(self.scale, "scale")

    def mean(self) -> float:
        """``loc``."""
        return self.loc

    def var(self) -> float:
        """``scale ** 2``."""
        return self.scale**2

    def _logpdf(self, x: FloatArray) -> FloatArray:
        constant = float(np.log(self.scale)) + LOG_ROOT_TWO_PI
        return -0.5 * ((x - self.loc) / self.scale) ** 2 - constant

    def _tail(self, x: FloatArray, *, upper: bool, strict: bool) -> FloatArray:
        from scipy.special import ndtr

        z = (x - self.loc) / self.scale
        return ndtr(-z if upper else z)  # not 1 - cdf, which has no digits left in the tail

    def _ppf(self, q: FloatArray) -> FloatArray:
        from scipy.special import ndtri

        return self.loc + self.scale * ndtri(q)

    def _rvs(self, size: Size, rng: np.random.Generator) -> FloatArray:
        return rng.normal(self.loc, self.scale, size)


@dataclass(frozen=True, eq=False)
class NormalMixture(Distribution):
    """Mixture of normals, ``sum_i weights_i N(x | locs_i, scales_i)``; a scale of 0 is a point mass.

    ``pdf`` and ``logpdf`` give the density of the part without point masses, which integrates to the
    share of that part; ``cdf``, ``sf``, ``below``, ``at_least``, ``ppf``, ``rvs`` and moments include them.

    Examples
    --------
    >>> half = NormalMixture(np.array([0.5, 0.5]), np.array([0.0, 0.0]), np.array([0.0, 1.0]))
    >>> half.below(0.0), half.cdf(0.0)
    (0.25, 0.75)
    """

    weights: FloatArray
    """The share of each part; they sum to one."""
    locs: FloatArray
    """The mean of each part."""
    scales: FloatArray
    """The standard deviation of each part; 0 for a point mass."""

    def mean(self) -> float:
        """Weighted mean of the locations."""
        return float(self.weights @ self.locs)

    def var(self) -> float:
        """Mean variance of the components plus variance of their means."""
        return float(self.weights @ (self.scales**2 + (self.locs - self.mean()) ** 2))

    def _tail(self, x: FloatArray, *, upper: bool, strict: bool) -> FloatArray:
        from scipy.special import ndtr

        sign, atom = -1.0 if upper else 1.0, self.scales == 0.0
        out = np.zeros(x.shape)
        for rows in _chunks_of_pairs(x.size, int(np.sum(~atom))):  # x times components may be many
            z = sign * (x[rows, None] - self.locs[~atom]) / self.scales[~atom]
            out[rows] = ndtr(z) @ self.weights[~atom]
        if atom.any():
            gap = sign * (x[:, None] - self.locs[atom])
            out += (gap > 0.0 if strict else gap >= 0.0) @ self.weights[atom]
        return np.minimum(out, 1.0)  # weights may sum to a rounding more than 1

    def _logpdf(self, x: FloatArray) -> FloatArray:
        from scipy.special import logsumexp

        # point masses have no density, and log(0) would be a warning for nothing
        use = (self.scales > 0.0) & (self.weights > 0.0)
        out = np.full(x.shape, -np.inf)
        if not use.any():
            return out
        # logarithms: far tails underflow otherwise
        constant = np.log(self.weights[use]) - np.log(self.scales[use]) - LOG_ROOT_TWO_PI
        for rows in _chunks_of_pairs(x.size, int(np.sum(use))):
            z = (x[rows, None] - self.locs[use]) / self.scales[use]
            out[rows] = logsumexp(constant - 0.5 * z * z, axis=1)
        return out

    def _rvs(self, size: Size, rng: np.random.Generator) -> FloatArray:
        which = rng.choice(self.weights.size, size=size, p=self.weights / self.weights.sum())
        return rng.normal(self.locs[which], self.scales[which])  # with a scale of 0 it returns the point mass


def _chunks_of_pairs(n: int, width: int) -> list[slice]:
    """Slices of at most about a million pairs, so that memory stays bounded."""
    step = max(1, 1_000_000 // max(width, 1))
    return [slice(start, start + step) for start in range(0, n, step)]


# exact for polynomials up to degree 31 in a panel
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)
_MOST = 4096  # panels halved at a time, at most
Integrand = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Panels:
    """Intervals in ascending order, narrow enough for 16 nodes each, and the integral over each."""

    left: FloatArray
    right: FloatArray
    mass: FloatArray

    def heavier_than(self, mass: float) -> Panels:
        """The panels with more than this mass."""
        keep = self.mass > mass  # nodes without weight cost evaluations
        return Panels(self.left[keep], self.right[keep], self.mass[keep])

    @property
    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """The 16 nodes of every panel, and their weights."""
        half = 0.5 * (self.right - self.left)[:, None]
        return (self.left[:, None] + half * (1.0 + NODES)).ravel(), (half * WEIGHTS).ravel()


def gauss_legendre(f: Integrand, left: FloatArray, right: FloatArray) -> FloatArray:
    """Integral of ``f`` over every interval ``[left, right]`` with 16 nodes."""
    half = 0.5 * (right - left)
    x = (0.5 * (left + right))[:, None] + half[:, None] * NODES
    # one call of f for all panels
    return np.asarray(half * np.einsum("ij,j->i", f(x.ravel()).reshape(x.shape), WEIGHTS))


def refine(
    f: Integrand, edges: FloatArray, *, tolerance: float = 1e-13, relative: float = 1.0, rounds: int = 40
) -> Panels:
    """Halve panels until each agrees with its two halves.

    ``tolerance`` is relative to the whole integral, ``relative`` to the panel itself. The halves are kept,
    whose error is smaller than the difference tested by some 2**32, so the result is far better than asked.
    """
    left, right = edges[:-1], edges[1:]
    mass = gauss_legendre(f, left, right)
    done: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    settled = 0.0  # a relative tolerance needs the whole integral, which grows as panels are finished
    for _ in range(rounds):
        middle = 0.5 * (left + right)
        low, high = gauss_legendre(f, left, middle), gauss_legendre(f, middle, right)
        both = low + high
        error = np.abs(both - mass)
        total = settled + float(np.sum(np.abs(both)))
        bad = (error > tolerance * total) | (error > relative * np.abs(both))
        if np.count_nonzero(bad) > _MOST:  # rounding noise in f, which halving does not cure
            bad = np.zeros_like(bad)
        good = ~bad
        # the halves have been computed already and are the better estimate
        done += [(left[good], middle[good], low[good]), (middle[good], right[good], high[good])]
        settled += float(np.sum(np.abs(both[good])))
        left, right, mass = (
            np.concatenate(pair)
            for pair in ((left[bad], middle[bad]), (middle[bad], right[bad]), (low[bad], high[bad]))
        )
        if left.size == 0:
            break
    done.append((left, right, mass))  # what is left after the last round counts as it is
    starts, ends, masses = (np.concatenate(column) for column in zip(*done, strict=True))
    order = np.argsort(starts, kind="stable")  # finished in the order of their difficulty
    return Panels(starts[order], ends[order], masses[order])


def integrate(f: Integrand, edges: FloatArray) -> float:
    """Integral of ``f`` from the first to the last edge; kinks and jumps belong at edges.

    Examples
    --------
    >>> round(integrate(np.exp, np.array([0.0, 1.0])), 12)
    1.718281828459
    """
    return float(np.sum(refine(f, edges).mass))


def merge_below(
    weights: FloatArray, values: FloatArray, floor: float = 1e-26
) -> tuple[FloatArray, FloatArray]:
    """Replace all components with a value below ``floor`` by one of the same weight and mean.

    A variance below 1e-26 is a point mass to double precision, however many nodes describe it.

    Examples
    --------
    >>> merge_below(np.array([0.25, 0.25, 0.5]), np.array([1e-30, 3e-30, 1.0]))
    (array([0.5, 0.5]), array([2.e-30, 1.e+00]))
    """
    tiny = values < floor
    share = float(np.sum(weights[tiny]))
    if share == 0.0:
        return weights[~tiny], values[~tiny]
    mean = float(weights[tiny] @ values[tiny]) / share
    return np.append(share, weights[~tiny]), np.append(mean, values[~tiny])


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
        # exp(-36) is about the rounding error of 1, exp(-700) still a normal number
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
                # from the nearer end, so that the distance to it keeps its digits
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
                # log of expit(u) expit(-u), without underflow
                return np.asarray(np.log(high - low) - np.logaddexp(0.0, u) - np.logaddexp(0.0, -u))
            case (True, False):
                return np.asarray(np.log(self.scale) + u)
            case (False, True):
                return np.asarray(np.log(self.scale) - u)
        # log cosh(u), which overflows before its logarithm does
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

    def log_integral(self, log_function: LogDensity) -> float:
        """Logarithm of the integral of ``exp(log_function)``; inf if it falls too slowly towards infinity.

        Parameters
        ----------
        log_function
            The logarithm of a function that is not negative.
        """
        exponent, edges = self.weighted(log_function), self.edges
        # coarse, only to find the peak and the ends
        grid = exponent(np.linspace(edges[0], edges[-1], 16 * edges.size))
        peak = float(np.max(grid))
        for end, finite in zip((grid[0], grid[-1]), self.kind, strict=True):
            # an integrand that has not fallen by e^-60 at the end of the axis falls too slowly, or not at all
            if not finite and not end < peak - 60.0:
                return float("inf")
        # the peak between grid points may be a little higher
        panels = refine(lambda u: np.exp(np.minimum(exponent(u) - peak, 700.0)), edges)
        return peak + float(np.log(np.sum(panels.mass)))


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
        # relative to the panel too: probabilities of the far tails are sums of tiny panels
        return refine(self._mass_density, self.axis.edges, relative=1e-10, rounds=25).heavier_than(0.0)

    @cached_property
    def _nodes(self) -> tuple[FloatArray, FloatArray]:
        u, weights = self._panels.nodes
        return self.axis.x(u), weights * self._mass_density(u)

    def _mass_density(self, u: FloatArray) -> FloatArray:
        return np.exp(self.axis.weighted(self.log_density)(u))

    def _logpdf(self, x: FloatArray) -> FloatArray:
        out = np.full(x.shape, -np.inf)
        inside = (x > self.axis.support[0]) & (x < self.axis.support[1])
        out[inside] = self.log_density(x[inside])
        return out

    def _tail(self, x: FloatArray, *, upper: bool, strict: bool) -> FloatArray:
        low, high = self.axis.support
        panels = self._panels
        out = np.where(x >= high, float(not upper), np.where(x <= low, float(upper), 0.0))
        inside = (x > low) & (x < high)
        u = self.axis.u(x[inside])
        # x beyond the kept panels has all of the mass on one side
        at = np.clip(np.searchsorted(panels.left, u, side="right") - 1, 0, panels.left.size - 1)
        u = np.clip(u, panels.left[at], panels.right[at])
        if upper:
            # summed from the small end, to keep its digits
            whole = np.append(np.cumsum(panels.mass[::-1])[::-1], 0.0)[at + 1]
            in_panel = gauss_legendre(self._mass_density, u, panels.right[at])
        else:
            whole = np.insert(np.cumsum(panels.mass), 0, 0.0)[at]
            in_panel = gauss_legendre(self._mass_density, panels.left[at], u)
        out[inside] = np.minimum(whole + in_panel, 1.0)
        return out
