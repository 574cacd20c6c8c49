"""Mixtures of calibrated pairs, the pair of a PLDA model, and moments of the likelihood ratio.

The LLRs of a two-covariance (PLDA) model whose data follow it have an exact distribution. In each latent
dimension the two embeddings of a target trial have correlation ``rho = b / (b + w)`` (between- and
within-class variance), and the LLR is a quadratic form: a difference of two independent chi-squares. The
distributions follow from their cumulant generating function by one contour integral.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial
from typing import cast, overload

import numpy as np
import numpy.typing as npt

from llrkit.base.arguments import FloatArray, Numbers, number_or_array, of_kind
from llrkit.base.process import cached_property
from llrkit.core.numerics import bracketed_root
from llrkit.errors import InputError
from llrkit.theory import distributions
from llrkit.theory.calibrated_pairs import CalibratedPair, GammaLLR, HasLogpdf, MirrorLLR, nontarget_is_given
from llrkit.theory.gaussian import GaussianLLR, cllr_from_sigma


class MuMixture(CalibratedPair):
    """What finite and continuous mixtures share: ``∫ w(mu) N(x | ±mu, sqrt(2 mu)) dmu``.

    EER and Cllr are the means of those of the components, because all have their EER at 0:
    ``EER = ∫ w Phi(-sqrt(mu/2)) dmu``, ``Cllr = ∫ w Cllr(mu) dmu``.

    Examples
    --------
    >>> MixtureLLR((1.0,), (2.0,)).symmetric
    True
    """

    @property
    @abstractmethod
    def components(self) -> tuple[FloatArray, FloatArray]:
        """Weights and values of mu: those given, or the nodes that stand for a density; they sum to 1."""

    @property
    def symmetric(self) -> bool:
        """True."""
        return True

    @cached_property
    def target(self) -> distributions.NormalMixture:
        """``∫ w(mu) N(x | mu, sqrt(2 mu)) dmu``."""
        weights, mu = self.components
        return distributions.NormalMixture(weights, mu, np.sqrt(2.0 * mu))

    @cached_property
    def nontarget(self) -> distributions.NormalMixture:
        """``∫ w(mu) N(x | -mu, sqrt(2 mu)) dmu``."""
        weights, mu = self.components
        return distributions.NormalMixture(weights, -mu, np.sqrt(2.0 * mu))

    @cached_property
    def eer(self) -> float:
        """Mean EER of the components; an uninformative one counts 1/2."""
        from scipy.special import ndtr

        weights, mu = self.components
        return float(weights @ ndtr(-np.sqrt(0.5 * mu)))

    @cached_property
    def cllr(self) -> float:
        """Mean Cllr of the components; an uninformative one counts 1."""
        weights, mu = self.components
        return float(weights @ np.asarray(cllr_from_sigma(np.sqrt(2.0 * mu))))


@dataclass(frozen=True)
class MixtureLLR(MuMixture):
    """Finite mixture of calibrated Gaussian pairs, ``sum_i weights_i N(x | ±mu_i, sqrt(2 mu_i))``.

    ``mu = 0`` is allowed: a share of trials that carry no information and get LLR 0. This point mass is
    not part of ``pdf``, which then integrates to the share of the other trials; it is part of all else.

    Examples
    --------
    >>> pair = MixtureLLR(weights=(0.2, 0.5, 0.3), mu=(0.5, 3.0, 9.0))
    >>> round(pair.eer, 14)
    0.12195957625386
    >>> blank = MixtureLLR(weights=(0.5, 0.5), mu=(0.0, 3.0))
    >>> round(blank.p_fa(0.0) - blank.p_fa(1e-12), 6), blank.point_mass
    (0.5, 0.5)
    """

    weights: tuple[float, ...]
    """Share of each part among the trials."""
    mu: tuple[float, ...]
    """Mean target LLR of each part."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        weights, mu = _finite_tuple(self.weights, "weights"), _finite_tuple(self.mu, "mu")
        if len(weights) != len(mu) or not weights:
            raise InputError(f"as many weights as values of mu are needed, got {len(weights)} and {len(mu)}")
        if min(mu) < 0.0 or min(weights) < 0.0:
            raise InputError("weights and mu must not be negative")
        if not abs(sum(weights) - 1.0) < 1e-9:
            raise InputError(f"weights must sum to 1, got {sum(weights)!r}")
        # tuples, so that pairs can be compared and hashed
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "mu", mu)

    @property
    def point_mass(self) -> float:
        """Share of trials whose LLR is exactly 0."""
        return sum(weight for weight, mu in zip(self.weights, self.mu, strict=True) if mu == 0.0)

    @property
    def components(self) -> tuple[FloatArray, FloatArray]:
        """Weights and values of mu."""
        return np.array(self.weights), np.array(self.mu)


@dataclass(frozen=True, eq=False)
class DensityMixtureLLR(MuMixture):
    """Mixture of calibrated Gaussian pairs over a density of mu, ``∫ w(mu) N(x | ±mu, sqrt(2 mu)) dmu``.

    ``log_weight`` is the vectorized logarithm of ``w``, normalized, on ``support`` within ``[0, inf)``; or a
    frozen ``scipy.stats`` distribution, whose support is then its own. The integral becomes a sum over some
    thousand values of ``log mu``, close enough together that the sum over normals is smooth; ``rvs`` draws
    from that sum.

    Examples
    --------
    >>> exponential = DensityMixtureLLR(lambda mu: -mu)
    >>> round(exponential.eer, 10)  # ∫ e^-mu Phi(-sqrt(mu/2)) dmu = (1 - 1/sqrt 5)/2
    0.2763932023
    >>> from scipy import stats
    >>> round(DensityMixtureLLR(stats.expon()).eer, 10)
    0.2763932023
    """

    log_weight: distributions.LogDensity | HasLogpdf
    """``log w(mu)``, or a frozen distribution of mu."""
    support: tuple[float, float] | None = None
    """The values of mu; by default those of the distribution, or all from 0 to infinity."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        given = self.log_weight
        if isinstance(given, HasLogpdf):
            if hasattr(given, "freeze"):  # stats.gamma, not stats.gamma(3)
                raise InputError("the distribution must be frozen: give its parameters, as in stats.gamma(3)")
            object.__setattr__(self, "log_weight", given.logpdf)
            if self.support is None:
                object.__setattr__(self, "support", tuple(float(end) for end in given.support()))
        elif not callable(given):
            raise InputError(
                f"a frozen distribution with a density or a log density is needed, got {type(given).__name__}"
            )
        if self.support is None:
            object.__setattr__(self, "support", (0.0, np.inf))
        low, high = self._ends
        if not 0.0 <= low < high:
            raise InputError(
                f"the support of mu must be two ascending numbers of at least 0, got {self.support!r}"
            )
        # a density that is cut off or not normalized would pass for a calibrated pair
        mass = float(np.sum(self.components[0]))
        if not abs(mass - 1.0) < 1e-6:
            raise InputError(f"w(mu) integrates to {mass:.6g}, not 1, over the support {self.support!r}")

    @property
    def _ends(self) -> tuple[float, float]:
        assert self.support is not None  # set when it was made
        return self.support

    @cached_property
    def components(self) -> tuple[FloatArray, FloatArray]:
        """Weights and values of mu at the nodes that stand for the density."""
        # log mu as the variable: power laws at 0 are smooth in it, and so are the normals
        low, high = self._ends
        # exp(-700) is still a normal number
        start, stop = np.log(low) if low > 0.0 else -700.0, np.log(high) if high < np.inf else 30.0
        log_weight = cast(distributions.LogDensity, self.log_weight)
        log_density = distributions.Axis((0.0, np.inf)).weighted(log_weight)

        def density(s: FloatArray) -> FloatArray:
            return np.exp(log_density(s))

        # panels of half a unit of log mu to begin with
        edges = np.linspace(start, stop, int(np.ceil(2.0 * (stop - start))) + 1)
        panels = distributions.refine(density, edges)
        s, weights = panels.heavier_than(1e-18).nodes  # lighter panels vanish beside a total of 1
        return distributions.merge_below(weights * density(s), np.exp(s))


def _finite_tuple(values: Sequence[float], name: str) -> tuple[float, ...]:
    try:
        out = tuple(float(value) for value in values)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a sequence of numbers, got {values!r}") from None
    if not np.all(np.isfinite(out)):
        raise InputError(f"{name} must be finite, got {values!r}")
    return out


ComplexArray = npt.NDArray[np.complex128]
_ANGLE = 0.35  # how far the contour bends towards the side where exp(-s x) falls; well below pi/4, beyond
# which the integrand of a nearly normal variable grows instead
_STEP = 0.06


@dataclass(frozen=True, eq=False)
class ChiSquareDifference(distributions.Distribution):
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
        # the sign of a subtracted term stays in odd orders only
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
        # real and inside the strip, where both denominators are positive
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
            # near enough measured by the distance to the singularities, where K' changes fastest
            if step % 6 == 5 and np.all(high - low <= 1e-4 * np.minimum(high - first, last - low)):
                break
        return np.asarray(0.5 * (low + high))

    @cached_property
    def _frequency_reach(self) -> float:
        """Log of the frequency beyond which the characteristic function is below e^-42."""

        def decay(log_t: float) -> float:
            t = np.exp(log_t)
            # minus the logarithm of the modulus of the characteristic function
            return 0.25 * float(self.counts @ (np.log1p((t * self.up) ** 2) + np.log1p((t * self.down) ** 2)))

        # e^-42 is below rounding beside 1
        return bracketed_root(lambda v: decay(v) - 42.0, -50.0, 150.0, within=1e-12)

    def _invert(self, x: FloatArray, crossing: FloatArray, pole: bool) -> FloatArray:
        """``1/(2 pi i) ∫ exp(K(s) - s x) [1/s] ds`` on a hyperbola through ``crossing`` on the real axis."""
        low, high = self._strip
        gap = np.minimum(crossing - low, high - crossing)
        if pole:  # the contour must pass 0 at a distance as well
            gap = np.minimum(gap, np.abs(crossing))
        # no wider than the saddle: the integrand falls off over 1 / sqrt(K'') there
        radius = np.minimum(gap, 1.0 / np.sqrt(self._derivatives(crossing)[1]))
        bend = np.where(x >= self.loc, _ANGLE, -_ANGLE)
        start = crossing - radius * np.sin(bend)
        # sinh(y) grows like e^y / 2, so the contour reaches that frequency at about this y
        reach = max(1.0, self._frequency_reach - float(np.log(np.min(radius))) + 1.0)
        y = np.arange(int(reach / _STEP) + 2) * _STEP
        # the lower half of the contour is the conjugate of the upper, which is summed alone; y = 0 is in both
        weight = np.where(y == 0.0, 0.5, 1.0) * _STEP / np.pi
        out = np.empty(x.shape)
        for i in range(0, x.size, 256):  # bounds the memory of points times nodes
            rows = slice(i, i + 256)
            angle = y - 1j * bend[rows, None]
            s = start[rows, None] + radius[rows, None] * 1j * np.sinh(angle)
            exponent = self._cgf(s) - s * x[rows, None]
            slope = radius[rows, None] * np.cosh(angle)
            # the imaginary parts of the two halves cancel
            out[rows] = np.real(np.exp(exponent) * slope / (s if pole else 1.0)) @ weight
        return out

    def _logpdf(self, x: FloatArray) -> FloatArray:
        # near the location of a low-dimensional form the density is singular; it stays a finite large number
        return np.log(np.maximum(self._invert(x, self._saddle(x), pole=False), 1e-300))

    def _tail(self, x: FloatArray, *, upper: bool, strict: bool) -> FloatArray:
        low, high = self._strip
        # the pole at 0 must keep its distance: nearer than this the saddle point is given up for it
        away = min(0.5 / self.std(), 0.3 * high, -0.3 * low)
        saddle = self._saddle(x)
        above = saddle >= 0.0
        # the smaller tail is integrated and the other is its complement, so that small tails keep their
        # digits
        crossing = np.where(above, np.maximum(saddle, away), np.minimum(saddle, -away))
        # rounding may leave [0, 1]
        tail = np.clip(np.where(above, 1.0, -1.0) * self._invert(x, crossing, pole=True), 0.0, 1.0)
        return np.where(above == upper, tail, 1.0 - tail)

    def _rvs(self, size: distributions.Size, rng: np.random.Generator) -> FloatArray:
        shape = np.zeros(size).shape  # size may be a number or a shape
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
        rho = _finite_tuple(self.rho, "rho")
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
        # equal dimensions are one term with more degrees of freedom
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


def lr_moment(pair: CalibratedPair, order: float, *, given: str = "nontarget") -> float:
    """Moment ``<r^n>`` of the likelihood ratio of a calibrated pair.

    ``<r^n>_nontarget = <r^(n-1)>_target`` (Turing's equation) holds for every calibrated pair; in particular
    ``<r>_nontarget = 1`` and ``<1/r>_target = 1``. In closed form:

    - Gaussian: ``exp(mu n (n - 1))``, and for a mixture over mu its mean;
    - gamma: ``Gamma(a + n) / (Gamma(a) a^n)``;
    - PLDA: the exponential of the cumulant generating function at n.

    Other pairs are integrated. Infinity is returned where the moment does not exist or overflows.

    Parameters
    ----------
    pair
        A calibrated pair of distributions.
    order
        Power of the likelihood ratio.
    given
        The class under which the expectation is taken: ``"nontarget"`` or ``"target"``.

    Examples
    --------
    >>> pair = GaussianLLR(2.0)
    >>> lr_moment(pair, 1), lr_moment(pair, -1, given="target")
    (1.0, 1.0)
    >>> lr_moment(pair, 2) == lr_moment(pair, 1, given="target")
    True
    >>> from llrkit.theory import GammaLLR
    >>> round(lr_moment(GammaLLR(0.5), 2), 10), lr_moment(GammaLLR(0.5), -0.5)
    (3.0, inf)
    """
    of_kind(pair, CalibratedPair, "pair")
    nontarget = nontarget_is_given(given)
    if isinstance(order, bool) or not isinstance(order, (int, float)) or not np.isfinite(order):
        raise InputError(f"the order of a moment must be a finite number, got {order!r}")
    exponent = _log_moment(pair, float(order) if nontarget else float(order) + 1.0)
    # exp(709) is finite, exp(710) is not
    return float(np.exp(exponent)) if exponent < 709.0 else float("inf")


def _log_moment(pair: CalibratedPair, n: float) -> float:
    """Logarithm of ``<r^n>`` for non-targets."""
    from scipy.special import gammaln, logsumexp

    if n in (0.0, 1.0):  # 1 for every calibrated pair, exactly
        return 0.0
    if isinstance(pair, MirrorLLR):
        return _log_moment(pair.of, 1.0 - n)  # 1 / r with the classes swapped, then Turing's equation
    if isinstance(pair, GaussianLLR):
        return pair.mu * n * (n - 1.0)
    if isinstance(pair, MuMixture):
        weights, mu = pair.components
        return float(logsumexp(mu * n * (n - 1.0), b=weights))  # exponents of strong components overflow
    if isinstance(pair, GammaLLR):
        a = pair.shape
        return float(gammaln(a + n) - gammaln(a) - n * np.log(a)) if a + n > 0.0 else float("inf")
    if isinstance(pair, PLDALLR):
        d = pair.nontarget
        up, down = 1.0 - d.up * n, 1.0 + d.down * n
        if up.min() <= 0.0 or down.min() <= 0.0:  # beyond a singularity of the generating function
            return float("inf")
        return float(d.loc * n - 0.5 * d.counts @ (np.log(up) + np.log(down)))
    return _moment_integrated(pair, n)


def _moment_integrated(pair: CalibratedPair, n: float) -> float:
    """By quadrature of ``e^(n x) d(x)``, on an axis where its tails fall fast if the moment exists."""
    d = pair.nontarget
    axis = distributions.Axis(d.support(), d.mean(), d.std())
    return axis.log_integral(lambda x: np.asarray(d.logpdf(x)) + n * x)


def lr_variance(pair: CalibratedPair, *, given: str = "nontarget") -> float:
    """Variance of the likelihood ratio (nontarget) or of its inverse (target).

    ``<r^2>_nontarget - 1`` and ``<1/r^2>_target - 1``; of the Gaussian pair both are ``e^(sigma^2) - 1``. It
    is why the sample mean of ``r`` is useless for good systems: with perfectly calibrated scores at 2 % EER
    half of all sets of 1000 non-targets have a mean below 0.28, although its expectation is 1.

    Parameters
    ----------
    pair
        A calibrated pair of distributions.
    given
        The class under which the expectation is taken: ``"nontarget"`` or ``"target"``.

    Examples
    --------
    >>> round(lr_variance(GaussianLLR(1.0)), 6)
    1.718282
    """
    of_kind(pair, CalibratedPair, "pair")
    exponent = _log_moment(pair, 2.0 if nontarget_is_given(given) else -1.0)
    # the variance of a weak pair is tiny beside 1
    return float(np.expm1(exponent)) if exponent < 709.0 else float("inf")


@overload
def misleading_bound(ratio: float) -> float: ...
@overload
def misleading_bound(ratio: Numbers) -> FloatArray: ...
def misleading_bound(ratio: float | Numbers) -> float | FloatArray:
    """Largest possible ``P(r >= k | nontarget)`` of any calibrated pair, ``1/k`` for ``k >= 1``.

    Markov's inequality with ``<r>_nontarget = 1``.

    Parameters
    ----------
    ratio
        Likelihood ratio, at least 1.

    Examples
    --------
    >>> misleading_bound(100.0)
    0.01
    """
    return number_or_array(1.0 / _likelihood_ratios(ratio))


@overload
def misleading_bound_gaussian(ratio: float) -> float: ...
@overload
def misleading_bound_gaussian(ratio: Numbers) -> FloatArray: ...
def misleading_bound_gaussian(ratio: float | Numbers) -> float | FloatArray:
    """Largest ``P(r >= k | nontarget)`` over all Gaussian pairs, ``Phi(-sqrt(2 ln k))`` for ``k >= 1``.

    It is reached at ``sigma = sqrt(2 ln k)``.

    Parameters
    ----------
    ratio
        Likelihood ratio, at least 1.

    References
    ----------
    Royall, "On the probability of observing misleading statistical evidence", JASA 95 (2000).

    Examples
    --------
    >>> round(misleading_bound_gaussian(8.0), 4)
    0.0207
    """
    from scipy.special import ndtr

    return number_or_array(ndtr(-np.sqrt(2.0 * np.log(_likelihood_ratios(ratio)))))


def _likelihood_ratios(ratio: float | Numbers) -> FloatArray:
    values = np.asarray(ratio, dtype=np.float64)
    if not np.all(values >= 1.0):
        raise InputError(f"the likelihood ratio must be at least 1, got {ratio!r}")
    return values
