"""Pairs of distributions that are calibrated: what all of them can do; tilted, gamma and hyperbolic pairs.

A pair is calibrated when the LLR of the LLR is the LLR: ``log target.pdf(x) - log nontarget.pdf(x) = x``.
That one equation gives more than a definition: the Bayes threshold is optimal, so minimum and actual cost
agree; ``Pmiss(t) <= e^t`` and ``Pfa(t) <= e^-t``, so every integral below lives on a short interval; and

    1 - AUC = 1/2 ∫ e^t Pfa(t)^2 dt

because ``dPmiss = -e^t dPfa``. So Cllr and AUC need the two error rates only, never a density.

Tied generalized hyperbolic pairs: NIG and variance-gamma are two of them. All are normal variance-mean
mixtures, ``x | v ~ N(m + beta v, v)`` with a generalized inverse Gaussian (or gamma) variance ``v``. In ``s =
log v`` that law is analytic and falls off at least exponentially, so the plain trapezoid rule over ``s``
gives both tails to machine precision, and a finite mixture of normals does the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, overload, runtime_checkable

import numpy as np
import numpy.typing as npt

from llrkit.base.arguments import (
    RNG,
    Elementwise,
    FloatArray,
    Numbers,
    number_or_array,
    positive,
    real_number,
)
from llrkit.base.process import cached_property
from llrkit.core.numerics import LN2, bracketed_root, probit, sigmoid
from llrkit.core.summaries import ReadOnlyArrays
from llrkit.errors import InputError
from llrkit.theory import distributions
from llrkit.theory.operating_points import AnyPoint, Point, cost_of, operating_point

# beyond |t| = 45 what is left of the integrals is below e^-45, about 3e-20
_REACH = 45.0
# panels grow with |t|: the error rates change most near 0
_EDGES = np.concatenate((-np.geomspace(_REACH, 0.5, 10), [0.0], np.geomspace(0.5, _REACH, 10)))


class DetLine(NamedTuple):
    """A straight DET curve, ``probit Pmiss = slope * probit Pfa + intercept``.

    Examples
    --------
    >>> DetLine(slope=-1.0, intercept=-3.0).intercept
    -3.0
    """

    slope: float
    """-1 for calibrated Gaussian LLRs."""
    intercept: float
    """The probit of the miss rate where the false-alarm rate is 50 %."""


class CalibratedPair(ABC):
    """Distributions of a calibrated LLR (in nats) under the two hypotheses.

    ``x >= threshold`` accepts, so ``p_miss(t) = P(x < t | target)`` and ``p_fa(t) = P(x >= t | nontarget)``.
    Cllr is in bits, DCFs are normalized. Subclasses give ``target`` and ``nontarget``; the rest follows.

    References
    ----------
    van Leeuwen & Brümmer, "The distribution of calibrated likelihood-ratios in speaker recognition",
    Interspeech 2013.

    Examples
    --------
    >>> from llrkit.theory import GammaLLR
    >>> pair = GammaLLR(shape=1.0)
    >>> round(pair.eer, 6), round(pair.eer_threshold, 4), round(pair.cllr, 6)
    (0.317844, 0.1364, 0.846547)
    """

    @property
    @abstractmethod
    def target(self) -> distributions.Distribution:
        """Distribution of the LLR when the sources are the same."""

    @property
    @abstractmethod
    def nontarget(self) -> distributions.Distribution:
        """Distribution of the LLR when the sources differ."""

    @property
    def symmetric(self) -> bool:
        """Whether ``target.pdf(x) == nontarget.pdf(-x)``, which puts the EER threshold at 0."""
        return False

    @overload
    def p_miss(self, threshold: float) -> float: ...
    @overload
    def p_miss(self, threshold: Numbers) -> FloatArray: ...
    def p_miss(self, threshold: float | Numbers) -> float | FloatArray:
        """``P(x < threshold | target)``.

        Parameters
        ----------
        threshold
            Threshold; a score at or above it is accepted.
        """
        return self.target.below(threshold)

    @overload
    def p_fa(self, threshold: float) -> float: ...
    @overload
    def p_fa(self, threshold: Numbers) -> FloatArray: ...
    def p_fa(self, threshold: float | Numbers) -> float | FloatArray:
        """``P(x >= threshold | nontarget)``.

        Parameters
        ----------
        threshold
            Threshold; a score at or above it is accepted.
        """
        return self.nontarget.at_least(threshold)

    @overload
    def error_rates(self, threshold: float) -> tuple[float, float]: ...
    @overload
    def error_rates(self, threshold: Numbers) -> tuple[FloatArray, FloatArray]: ...
    def error_rates(self, threshold: float | Numbers) -> tuple[float | FloatArray, float | FloatArray]:
        """``(p_miss, p_fa)`` at a threshold.

        Parameters
        ----------
        threshold
            Threshold; a score at or above it is accepted.
        """
        return self.p_miss(threshold), self.p_fa(threshold)

    @overload
    def log_ratio(self, x: float) -> float: ...
    @overload
    def log_ratio(self, x: Numbers) -> FloatArray: ...
    def log_ratio(self, x: float | Numbers) -> float | FloatArray:
        """``log target.pdf(x) - log nontarget.pdf(x)``: ``x`` again, and NaN where both densities are 0.

        Parameters
        ----------
        x
            LLRs in nats.
        """
        above, under = np.asarray(self.target.logpdf(x)), np.asarray(self.nontarget.logpdf(x))
        empty = (above == -np.inf) & (under == -np.inf)
        # inf - inf would be a warning for nothing
        out = np.where(empty, np.nan, above - np.where(empty, 0.0, under))
        return float(out) if out.ndim == 0 else out

    @cached_property
    def eer_threshold(self) -> float:
        """Threshold at which both error rates are equal."""
        if self.symmetric:
            return 0.0
        # Pmiss - Pfa rises from -1 to 1, and both bounds e^t and e^-t are tiny at the ends
        return bracketed_root(lambda t: self.p_miss(t) - self.p_fa(t), -_REACH, _REACH, within=1e-14)

    @cached_property
    def eer(self) -> float:
        """Equal error rate, ``Pmiss = Pfa``, as a fraction."""
        # the mean of both, which differ by the rounding of the threshold
        return 0.5 * float(sum(self.error_rates(self.eer_threshold)))

    @cached_property
    def cllr(self) -> float:
        """Cost of the log-likelihood-ratio in bits.

        ``1/(2 ln 2) ∫ [sigmoid(-t) Pmiss(t) + sigmoid(t) Pfa(t)] dt``, the usual definition by parts.
        """
        from scipy.special import expit

        def loss(t: FloatArray) -> FloatArray:
            return np.asarray(expit(-t) * self.p_miss(t) + expit(t) * self.p_fa(t))

        return distributions.integrate(loss, self._edges()) / (2.0 * LN2)

    @cached_property
    def auc(self) -> float:
        """Area under the ROC, ties counted half: ``1 - 1/2 ∫ e^t Pfa(t)^2 dt``."""

        def area(t: FloatArray) -> FloatArray:
            return np.asarray(np.exp(t) * self.p_fa(t) ** 2)

        return 1.0 - 0.5 * distributions.integrate(area, self._edges())  # the integrand is at most e^-|t|

    @overload
    def bayes_error(self, log_odds: float) -> float: ...
    @overload
    def bayes_error(self, log_odds: Numbers) -> FloatArray: ...
    def bayes_error(self, log_odds: float | Numbers) -> float | FloatArray:
        """Error rate of Bayes decisions at prior log-odds ``log_odds``: ``P Pmiss(-l) + (1 - P) Pfa(-l)``.

        Parameters
        ----------
        log_odds
            Prior log-odds in nats.
        """
        odds = np.asarray(log_odds, dtype=np.float64)
        out = sigmoid(odds) * self.p_miss(-odds) + sigmoid(-odds) * self.p_fa(-odds)
        return float(out) if odds.ndim == 0 else out

    def act_dcf(self, point: Point, *, allow_unconfirmed: bool = False) -> float:
        """Normalized detection cost at the Bayes threshold of an operating point or of a preset's name.

        Parameters
        ----------
        point
            Operating point: a prior, ``(prior, c_miss, c_fa)``, an :class:`llrkit.OperatingPoint`, or the
            name of a preset.
        allow_unconfirmed
            Accept presets whose definition could not be confirmed.
        """
        where = operating_point(point, allow_unconfirmed=allow_unconfirmed)
        return where.cost(*self.error_rates(where.threshold))

    def min_dcf(self, point: Point, *, allow_unconfirmed: bool = False) -> float:
        """Smallest normalized detection cost; equals :meth:`act_dcf`, since the pair is calibrated.

        Parameters
        ----------
        point
            Operating point: a prior, ``(prior, c_miss, c_fa)``, an :class:`llrkit.OperatingPoint`, or the
            name of a preset.
        allow_unconfirmed
            Accept presets whose definition could not be confirmed.
        """
        return self.act_dcf(point, allow_unconfirmed=allow_unconfirmed)

    def c_primary(self, name: AnyPoint, *, allow_unconfirmed: bool = False) -> float:
        """Mean of the normalized costs over the operating points of a preset such as ``"sre12"``.

        There is one kind of non-target here, so a preset that mixes two kinds sees them as equal.

        Parameters
        ----------
        name
            Name of a preset.
        allow_unconfirmed
            Accept presets whose definition could not be confirmed.
        """
        chosen_preset = cost_of(name, allow_unconfirmed=allow_unconfirmed)
        return sum(self.act_dcf(point) for point in chosen_preset.points) / len(chosen_preset.points)

    def det_slope(self, low: float = 0.001, high: float = 0.5) -> float:
        """Slope of the DET by total least squares where both error rates lie in ``[low, high]``.

        The points are the crossings of the DET with the lines ``probit Pmiss - probit Pfa = c`` for ``c``
        on an even grid, so swapping the classes inverts the slope exactly.

        Parameters
        ----------
        low
            Lowest error rate.
        high
            Highest error rate.
        """
        if not 0.0 < low < high < 1.0:
            raise InputError(f"0 < low < high < 1 is needed, got low={low!r}, high={high!r}")

        def solve(level: float, *, miss: bool) -> float:
            rate = self.p_miss if miss else self.p_fa
            return bracketed_root(lambda t: rate(t) - level, -_REACH, _REACH, within=1e-12)

        bottom = max(solve(low, miss=True), solve(high, miss=False))
        top = min(solve(high, miss=True), solve(low, miss=False))
        if not bottom < top:
            raise InputError(f"no threshold has both error rates in [{low:g}, {high:g}] (EER {self.eer:g})")
        t = np.linspace(bottom, top, 501)  # both rates are inside the range, so that no probit is infinite
        miss, fa = probit(self.p_miss(t)), probit(self.p_fa(t))
        even = np.linspace((miss - fa)[0], (miss - fa)[-1], 1001)
        y, x = np.interp(even, miss - fa, miss), np.interp(even, miss - fa, fa)
        values, vectors = np.linalg.eigh(np.cov(x, y))  # total least squares is the main axis of the points
        main = vectors[:, int(np.argmax(values))]
        return float(main[1] / main[0])

    def rvs(
        self, n_target: distributions.Size, n_nontarget: distributions.Size, rng: RNG = None
    ) -> tuple[FloatArray, FloatArray]:
        """Draw target LLRs and non-target LLRs.

        Parameters
        ----------
        n_target
            Number of target trials.
        n_nontarget
            Number of non-target trials.
        rng
            A NumPy generator, or a seed.
        """
        generator = np.random.default_rng(rng)
        return self.target.rvs(n_target, generator), self.nontarget.rvs(n_nontarget, generator)

    def mirror(self) -> CalibratedPair:
        """The calibrated pair with the classes swapped and ``x`` replaced by ``-x``."""
        return self if self.symmetric else MirrorLLR(self)

    def _edges(self) -> FloatArray:
        """Where to start the integrals over thresholds: error rates have kinks at the ends of the support."""
        ends = np.array([*self.target.support(), *self.nontarget.support()])
        # refine() halves panels, but does not find a kink by itself
        return np.unique(np.concatenate((_EDGES, ends[np.abs(ends) < _REACH])))


@dataclass(frozen=True)
class MirrorLLR(CalibratedPair):
    """A calibrated pair with classes swapped and the sign of the LLR changed; calibrated as well.

    ``target(x) = of.nontarget(-x)``, ``nontarget(x) = of.target(-x)``.

    Examples
    --------
    >>> from llrkit.theory import GammaLLR
    >>> pair = GammaLLR(0.3)
    >>> round(pair.mirror().eer_threshold + pair.eer_threshold, 12)
    0.0
    """

    of: CalibratedPair
    """The pair that is mirrored."""

    @property
    def target(self) -> distributions.Distribution:
        """Minus the non-target LLRs of the original."""
        return distributions.Mirrored(self.of.nontarget)

    @property
    def nontarget(self) -> distributions.Distribution:
        """Minus the target LLRs of the original."""
        return distributions.Mirrored(self.of.target)

    def mirror(self) -> CalibratedPair:
        """The original pair."""
        return self.of


@dataclass(frozen=True, eq=False)
class PairCurve(ReadOnlyArrays):
    """Densities of calibrated LLRs under both hypotheses."""

    llr: FloatArray
    target: FloatArray
    nontarget: FloatArray
    mean_target: float
    mean_nontarget: float
    eer: float
    """What the pair implies, as a fraction."""


def pair_curve(pair: CalibratedPair, llr: npt.ArrayLike | None = None) -> PairCurve:
    """The densities of a pair, by default from five standard deviations below to five above.

    Examples
    --------
    >>> from llrkit.theory import GaussianLLR
    >>> curve = pair_curve(GaussianLLR.from_eer(0.05), [-1.0, 0.0, 1.0])
    >>> np.log(curve.target / curve.nontarget).round(12).tolist()
    [-1.0, 0.0, 1.0]
    """
    target, nontarget = pair.target, pair.nontarget
    if llr is None:
        low = float(nontarget.mean()) - 5.0 * float(nontarget.std())
        high = float(target.mean()) + 5.0 * float(target.std())
        llr = np.linspace(low, high, 401)
    x = np.asarray(llr, dtype=np.float64)
    densities = np.asarray(target.pdf(x)), np.asarray(nontarget.pdf(x))
    return PairCurve(x, *densities, float(target.mean()), float(nontarget.mean()), pair.eer)


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

    log_density: distributions.LogDensity
    """``log q``, of an array."""
    axis: distributions.Axis
    """Where ``q`` is, and at what scale it varies."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        distributions.DensityDistribution(self.log_density, self.axis)  # refuses what is not a density
        _ = self.nontarget, self.target  # made now, so that errors come here and not at first use

    @cached_property
    def log_m1(self) -> float:
        """Logarithm of the moment generating function of the given density at 1."""
        log_m1 = self.axis.log_integral(lambda y: np.asarray(self.log_density(y)) + y)
        if log_m1 == np.inf:
            raise InputError(
                "M(1) = ∫ e^x q(x) dx is infinite: the upper tail of the density does not fall faster than "
                "e^-x, so no calibrated pair has it as its non-target side; a lighter upper tail is accepted"
            )
        return log_m1

    @cached_property
    def nontarget(self) -> distributions.DensityDistribution:
        """The given density, shifted by ``-log_m1``."""
        return distributions.DensityDistribution(
            lambda x: np.asarray(self.log_density(x + self.log_m1)), self._shifted
        )

    @cached_property
    def target(self) -> distributions.DensityDistribution:
        """Its exponential tilt, ``e^x`` times the non-target density."""
        return distributions.DensityDistribution(
            lambda x: x + np.asarray(self.log_density(x + self.log_m1)), self._shifted
        )

    @property
    def _shifted(self) -> distributions.Axis:
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
            # quartiles exist also where no variance does
            scale = 0.5 * float(density.ppf(0.75) - density.ppf(0.25))
    elif callable(density):
        log_density = density
    else:
        raise InputError(f"a frozen distribution or a log density is needed, got {type(density).__name__}")
    center = 0.0 if center is None else real_number(center, "center")
    axis = distributions.Axis(support or (-np.inf, np.inf), center, 1.0 if scale is None else scale)
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
    sign = 1.0 if nontarget_is_given(given) else -1.0

    @overload
    def other(x: float) -> float: ...
    @overload
    def other(x: Numbers) -> FloatArray: ...
    def other(x: float | Numbers) -> float | FloatArray:
        values = np.asarray(x, dtype=np.float64)
        return number_or_array(np.asarray(logpdf(values), dtype=np.float64) + sign * values)

    return other


def nontarget_is_given(given: str) -> bool:
    """Whether it is the class of non-targets that is given; any other than the two classes is refused."""
    if given not in ("nontarget", "target"):
        raise InputError(f'given must be "nontarget" or "target", got {given!r}')
    return given == "nontarget"


@dataclass(frozen=True)
class LogGamma(distributions.Distribution):
    """Distribution of ``log r`` for ``r`` gamma distributed with given shape and rate.

    ``p(x) = rate^shape / Gamma(shape) exp(shape x - rate e^x)``.

    Examples
    --------
    >>> round(LogGamma(1.0, 1.0).mean(), 6)  # minus Euler's constant
    -0.577216
    """

    shape: float
    """Shape of the gamma distribution, above 0."""
    rate: float
    """Rate of the gamma distribution, above 0."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        positive(self.shape, "shape")
        positive(self.rate, "rate")

    def mean(self) -> float:
        """``psi(shape) - log(rate)``."""
        from scipy.special import psi

        return float(psi(self.shape) - np.log(self.rate))

    def var(self) -> float:
        """``psi'(shape)``."""
        from scipy.special import polygamma

        return float(polygamma(1, self.shape))

    def _scaled(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """``log(rate r)`` and ``rate r``, the latter kept below overflow, where its tail is 0 anyway."""
        y = x + np.log(self.rate)
        return y, np.exp(np.minimum(y, 700.0))

    def _logpdf(self, x: FloatArray) -> FloatArray:
        from scipy.special import gammaln

        y, z = self._scaled(x)
        return np.asarray(self.shape * y - z - gammaln(self.shape))

    def _tail(self, x: FloatArray, *, upper: bool, strict: bool) -> FloatArray:
        from scipy.special import gammainc, gammaincc, gammaln

        y, z = self._scaled(x)
        # r itself underflows long before its distribution function does when the shape is small; below e^-37
        # the first term of the power series is exact
        far = np.exp(self.shape * np.minimum(y, 0.0) - gammaln(self.shape + 1.0))
        if upper:
            return np.where(y < -37.0, 1.0 - far, gammaincc(self.shape, z))
        return np.where(y < -37.0, far, gammainc(self.shape, z))

    def _ppf(self, q: FloatArray) -> FloatArray:
        from scipy.special import gammainccinv, gammaincinv, gammaln

        far = (np.log(q) + gammaln(self.shape + 1.0)) / self.shape
        # from the smaller tail, which keeps its digits
        z = np.where(q > 0.5, gammainccinv(self.shape, 1.0 - q), gammaincinv(self.shape, q))
        near = np.log(np.maximum(z, 1e-300))  # the other form takes over long before
        return np.asarray(np.where(far < -37.0, far, near) - np.log(self.rate))

    def _rvs(self, size: distributions.Size, rng: np.random.Generator) -> FloatArray:
        # G(a) = G(a + 1) U^(1/a) in distribution; in logarithms small shapes do not underflow
        boost = np.log1p(-rng.random(size)) / self.shape  # 1 - random() is never 0
        return np.asarray(np.log(rng.gamma(self.shape + 1.0, 1.0, size)) + boost - np.log(self.rate))


@dataclass(frozen=True)
class GammaLLR(CalibratedPair):
    """Calibrated pair with gamma distributed likelihood ratio ``r = e^x``.

    Non-targets: ``r ~ Gamma(shape a, rate a)``; targets: ``r ~ Gamma(a + 1, rate a)``. In the LLR,
    ``d(x) = a^a / Gamma(a) exp(a x - a e^x)`` and ``e(x) = e^x d(x)``; ``Pmiss(t) = P(a + 1, a e^t)``,
    ``Pfa(t) = Q(a, a e^t)`` (regularized incomplete gammas). Its Cllr is below that of the Gaussian pair of
    equal EER, so the Gaussian relation is no bound. ``mirror()`` gives the pair with ``1/r`` gamma.

    Examples
    --------
    >>> pair = GammaLLR(shape=0.3)
    >>> round(pair.eer, 6), round(pair.eer_threshold, 4), round(pair.cllr, 6)
    (0.217416, 0.3242, 0.6417)
    """

    shape: float
    """Shape parameter of the gamma distribution."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        object.__setattr__(self, "shape", positive(self.shape, "shape"))

    @property
    def target(self) -> LogGamma:
        """Log of a gamma variable of shape ``a + 1`` and rate ``a``."""
        return LogGamma(self.shape + 1.0, self.shape)

    @property
    def nontarget(self) -> LogGamma:
        """Log of a gamma variable of shape ``a`` and rate ``a``."""
        return LogGamma(self.shape, self.shape)


def log_bessel_k(order: float, z: FloatArray) -> FloatArray:
    """Logarithm of the modified Bessel function ``K_order(z)``, also where it over- or underflows.

    Examples
    --------
    >>> np.round(log_bessel_k(200.0, np.array([1.0, 1e4])), 2)
    array([   995.87, -10002.38])
    """
    from scipy.special import kve

    with np.errstate(over="ignore", divide="ignore"):  # what overflows is computed again below
        out = np.log(kve(order, z)) - z  # kve is e^z K, which does not underflow for large z
    bad = ~np.isfinite(out)
    if bad.any():
        out[bad] = [_log_bessel_k_integral(abs(order), float(value)) for value in z[bad]]
    return out


def _log_bessel_k_integral(order: float, z: float) -> float:
    """``K_v(z) = 1/2 ∫ exp(v t - z cosh t) dt`` around its peak at ``asinh(v/z)`` by the trapezoid rule."""
    peak = float(np.arcsinh(order / z))
    # the exponent has the second derivative -sqrt(v^2 + z^2) at its peak
    width = (order**2 + z**2) ** -0.25
    t = peak + width * np.arange(-40.0, 41.0, 0.25)
    exponent = order * t - z * np.cosh(t)
    # 0.125: the 1/2 of the formula times the step
    return float(np.logaddexp.reduce(exponent) + np.log(0.125 * width))


@dataclass(frozen=True)
class Hyperbolic(distributions.Distribution):
    """Generalized hyperbolic distribution ``GH(lam, alpha, beta, delta, loc)``.

    ``p(x) ~ q^(lam - 1/2) K_{lam - 1/2}(alpha q) e^{beta (x - loc)}`` with
    ``q^2 = delta^2 + (x - loc)^2``; ``delta = 0`` (with ``lam > 0``) is variance-gamma.

    References
    ----------
    Barndorff-Nielsen, "Hyperbolic distributions and distributions on hyperbolae", Scand. J. Stat. 5 (1978).

    Examples
    --------
    >>> nig = Hyperbolic(-0.5, alpha=2.0, beta=0.0, delta=1.0)
    >>> round(nig.cdf(0.0), 12), round(nig.var(), 12)
    (0.5, 0.5)
    """

    lam: float
    """The index, which sets how heavy the tails are."""
    alpha: float
    """How fast the tails fall, above ``|beta|``."""
    beta: float
    """Skewness; 0 is symmetric."""
    delta: float
    """Scale, above 0 (or 0 if ``lam > 0``)."""
    loc: float = 0.0
    """Location."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        if not (np.isfinite([self.lam, self.beta, self.loc]).all() and self.alpha > abs(self.beta)):
            raise InputError(f"finite parameters with alpha > |beta| are needed, got {self!r}")
        if self.delta < 0.0 or (self.delta == 0.0 and self.lam <= 0.0):
            raise InputError(
                f"delta must be above 0 (or 0 with lam > 0), got delta={self.delta}, lam={self.lam}"
            )

    @property
    def psi(self) -> float:
        """``alpha^2 - beta^2``."""
        # the squares would cancel where beta is near alpha
        return (self.alpha - self.beta) * (self.alpha + self.beta)

    @property
    def log_constant(self) -> float:
        """Log of ``∫ v^(lam-1) exp(-(delta^2/v + psi v)/2) dv``, the normalizer of the variance's law."""
        from scipy.special import gammaln

        if self.delta == 0.0:
            return float(gammaln(self.lam) - self.lam * np.log(0.5 * self.psi))
        root = np.sqrt(self.psi)
        bessel = log_bessel_k(self.lam, np.array([self.delta * root]))[0]
        return float(np.log(2.0) + self.lam * np.log(self.delta / root) + bessel)

    @cached_property
    def mixture(self) -> distributions.NormalMixture:
        """The same distribution as a fine finite mixture of normals."""
        chi = self.delta**2

        def log_density(s: FloatArray) -> FloatArray:
            return self.lam * s - 0.5 * (chi * np.exp(-s) + self.psi * np.exp(s)) - self.log_constant

        root = float(np.hypot(self.lam, self.delta * np.sqrt(self.psi)))
        # of the two equal forms the one that adds
        mode = np.log((self.lam + root) / self.psi) if self.lam > 0 else np.log(chi / (root - self.lam))
        # a quarter of the width of the law in s, whose log density has the second derivative -root at its
        # mode
        step = min(0.05, 0.25 / np.sqrt(root)) if root > 0 else 0.05
        # weights down to e^-700 above, for the far tails; below the bulk only the share of mass matters
        below, above = _gh_reach(log_density, mode, -1.0, 42.0), _gh_reach(log_density, mode, 1.0, 700.0)
        s = mode + step * np.arange(-int(below / step), int(above / step) + 1)
        weights = np.exp(log_density(s)) * (s[1] - s[0])
        # divided by their sum: what the ends of the grid leave out is shared
        weights, v = distributions.merge_below(weights / weights.sum(), np.exp(s))
        return distributions.NormalMixture(weights, self.loc + self.beta * v, np.sqrt(v))

    def mean(self) -> float:
        """``loc + beta E[v]``."""
        return self.mixture.mean()

    def var(self) -> float:
        """``E[v] + beta^2 Var[v]``."""
        return self.mixture.var()

    def _logpdf(self, x: FloatArray) -> FloatArray:
        from scipy.special import gammaln

        order = self.lam - 0.5
        q = np.hypot(self.delta, x - self.loc)
        out = np.full(x.shape, np.inf if order <= 0.0 else 0.0)  # a pole at the location
        nonzero = q > 0.0
        out[nonzero] = order * np.log(q[nonzero] / self.alpha) + log_bessel_k(order, self.alpha * q[nonzero])
        if order > 0.0:  # limit of q^v K_v(alpha q) at 0
            out[~nonzero] = gammaln(order) + (order - 1.0) * np.log(2.0) - 2.0 * order * np.log(self.alpha)
        return np.asarray(
            out + np.log(2.0) + self.beta * (x - self.loc) - self.log_constant - distributions.LOG_ROOT_TWO_PI
        )

    def _tail(self, x: FloatArray, *, upper: bool, strict: bool) -> FloatArray:
        return self.mixture._tail(x, upper=upper, strict=strict)

    def _rvs(self, size: distributions.Size, rng: np.random.Generator) -> FloatArray:
        if self.delta == 0.0:
            v = np.asarray(rng.gamma(self.lam, 2.0 / self.psi, size))
        else:
            from scipy.stats import geninvgauss  # half of the time that everything else takes to import

            root = np.sqrt(self.psi)
            law = geninvgauss(self.lam, self.delta * root, scale=self.delta / root)
            v = np.asarray(law.rvs(size, random_state=rng))
        return np.asarray(self.loc + self.beta * v + np.sqrt(v) * rng.standard_normal(size))


def _gh_reach(
    log_density: Callable[[FloatArray], FloatArray], mode: float, sign: float, drop: float
) -> float:
    """Distance from the mode at which a log-concave log density has fallen by ``drop``."""
    top = log_density(np.array([mode]))[0]
    distance = 1.0
    # exp(600) is still finite
    while log_density(np.array([mode + sign * distance]))[0] > top - drop and distance < 600.0:
        distance *= 1.2
    return distance


@dataclass(frozen=True)
class HyperbolicLLR(CalibratedPair):
    """Tied generalized hyperbolic pair: ``GH(lam, alpha, beta, delta, m)`` and the same with ``beta + 1``.

    Tilting the non-targets by ``e^x`` only moves ``beta``, so the pair is calibrated for one location,
    ``m = -log{[psi0/psi1]^(lam/2) K_lam(delta sqrt psi1) / K_lam(delta sqrt psi0)}`` with
    ``psi0 = alpha^2 - beta^2`` and ``psi1 = alpha^2 - (beta + 1)^2``. Needs ``alpha > |beta|`` and
    ``alpha > |beta + 1|``. Symmetric for ``beta = -1/2``.

    References
    ----------
    Cumani, "On the distribution of speaker verification scores: generative models for unsupervised
    calibration", IEEE/ACM TASLP 29 (2021), for the family.

    Examples
    --------
    >>> pair = HyperbolicLLR(lam=1.0, alpha=2.0, beta=-0.3, delta=1.5)
    >>> round(pair.log_ratio(2.5), 12)
    2.5
    """

    lam: float
    """The index of both distributions."""
    alpha: float
    """How fast their tails fall."""
    beta: float
    """Skewness of the non-targets; that of the targets is ``beta + 1``."""
    delta: float
    """Scale of both."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        _ = self.target, self.nontarget  # their parameters are checked there

    @classmethod
    def from_nig(cls, alpha: float, beta: float, delta: float) -> HyperbolicLLR:
        """Tied normal inverse Gaussian pair; ``m = delta (sqrt(psi1) - sqrt(psi0))``.

        Parameters
        ----------
        alpha
            Steepness of the tails.
        beta
            Asymmetry of the non-targets.
        delta
            Scale.

        Examples
        --------
        >>> pair = HyperbolicLLR.from_nig(alpha=1.0, beta=-0.5, delta=3.0)
        >>> pair.location, pair.symmetric
        (0.0, True)
        """
        return cls(-0.5, alpha, beta, positive(delta, "delta"))

    @classmethod
    def from_variance_gamma(cls, shape: float, scale: float) -> HyperbolicLLR:
        """Gaussian pairs mixed over ``mu ~ Gamma(shape k, scale theta)``: a variance-gamma pair.

        ``d(x) = (2 theta)^-k / Gamma(k) sqrt(2/pi) e^{-x/2} (|x|/kappa)^{k-1/2} K_{k-1/2}(kappa |x|)``,
        ``kappa^2 = 1/4 + 1/theta``; ``e(x) = d(-x)``.

        Parameters
        ----------
        shape
            Shape of the gamma distribution of ``mu``.
        scale
            Scale of the gamma distribution of ``mu``.

        Examples
        --------
        >>> pair = HyperbolicLLR.from_variance_gamma(shape=1.0, scale=1.0)
        >>> round(pair.eer, 10)  # (1 - 1/sqrt 5)/2
        0.2763932023
        """
        kappa = np.sqrt(0.25 + 1.0 / positive(scale, "scale"))
        return cls(positive(shape, "shape"), float(kappa), -0.5, 0.0)

    @property
    def location(self) -> float:
        """``m``, common to both classes."""
        log_m1 = Hyperbolic(self.lam, self.alpha, self.beta + 1.0, self.delta).log_constant
        # exactly, not to rounding
        return 0.0 if self.symmetric else self._nontarget_at(0.0).log_constant - log_m1

    @property
    def symmetric(self) -> bool:
        """Whether ``beta = -1/2``."""
        return self.beta == -0.5

    @cached_property
    def target(self) -> Hyperbolic:
        """``GH(lam, alpha, beta + 1, delta, m)``."""
        return Hyperbolic(self.lam, self.alpha, self.beta + 1.0, self.delta, self.location)

    @cached_property
    def nontarget(self) -> Hyperbolic:
        """``GH(lam, alpha, beta, delta, m)``."""
        return self._nontarget_at(self.location)

    def _nontarget_at(self, loc: float) -> Hyperbolic:
        return Hyperbolic(self.lam, self.alpha, self.beta, self.delta, loc)
