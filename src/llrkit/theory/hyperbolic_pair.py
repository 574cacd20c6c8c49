"""Tied generalized hyperbolic pairs: NIG and variance-gamma are two of them.

All are normal variance-mean mixtures, ``x | v ~ N(m + beta v, v)`` with a generalized inverse Gaussian
(or gamma) variance ``v``. In ``s = log v`` that law is analytic and falls off at least exponentially, so
the plain trapezoid rule over ``s`` gives both tails to machine precision, and a finite mixture of
normals does the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llrkit._arguments import positive
from llrkit._arrays import FloatArray
from llrkit._cached import cached_property
from llrkit.errors import InputError
from llrkit.theory._quadrature import merge_below
from llrkit.theory.calibrated_pair import CalibratedPair
from llrkit.theory.distribution import Distribution, Size
from llrkit.theory.normal_distributions import NormalMixture

_LOG_ROOT_TWO_PI = 0.5 * float(np.log(2.0 * np.pi))


def log_bessel_k(order: float, z: FloatArray) -> FloatArray:
    """Logarithm of the modified Bessel function ``K_order(z)``, also where it over- or underflows.

    Examples
    --------
    >>> np.round(log_bessel_k(200.0, np.array([1.0, 1e4])), 2)
    array([   995.87, -10002.38])
    """
    from scipy.special import kve

    with np.errstate(over="ignore", divide="ignore"):  # what overflows is computed again below
        out = np.log(kve(order, z)) - z
    bad = ~np.isfinite(out)
    if bad.any():
        out[bad] = [_log_bessel_k_integral(abs(order), float(value)) for value in z[bad]]
    return out


def _log_bessel_k_integral(order: float, z: float) -> float:
    """``K_v(z) = 1/2 ∫ exp(v t - z cosh t) dt`` around its peak at ``asinh(v/z)`` by the trapezoid rule."""
    peak = float(np.arcsinh(order / z))
    width = (order**2 + z**2) ** -0.25
    t = peak + width * np.arange(-40.0, 41.0, 0.25)
    exponent = order * t - z * np.cosh(t)
    return float(np.logaddexp.reduce(exponent) + np.log(0.125 * width))


@dataclass(frozen=True)
class Hyperbolic(Distribution):
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
        return (self.alpha - self.beta) * (self.alpha + self.beta)

    @property
    def log_constant(self) -> float:
        """Log of ``∫ v^(lam-1) exp(-(delta^2/v + psi v)/2) dv``, the normalizer of the variance's law."""
        return _log_gig_constant(self.lam, self.delta, self.psi)

    @cached_property
    def mixture(self) -> NormalMixture:
        """The same distribution as a fine finite mixture of normals."""
        s, log_density = self._log_variance_grid
        weights = np.exp(log_density) * (s[1] - s[0])
        weights, v = merge_below(weights / weights.sum(), np.exp(s))
        return NormalMixture(weights, self.loc + self.beta * v, np.sqrt(v))

    @cached_property
    def _log_variance_grid(self) -> tuple[FloatArray, FloatArray]:
        chi = self.delta**2

        def log_density(s: FloatArray) -> FloatArray:
            return self.lam * s - 0.5 * (chi * np.exp(-s) + self.psi * np.exp(s)) - self.log_constant

        root = float(np.hypot(self.lam, self.delta * np.sqrt(self.psi)))
        mode = np.log((self.lam + root) / self.psi) if self.lam > 0 else np.log(chi / (root - self.lam))
        step = min(0.05, 0.25 / np.sqrt(root)) if root > 0 else 0.05
        # weights down to e^-700 above, for the far tails; below the bulk only the share of mass matters
        s = mode + step * np.arange(-int(_gh_reach(log_density, mode, -1.0, 42.0) / step),
                                    int(_gh_reach(log_density, mode, 1.0, 700.0) / step) + 1)  # fmt: skip
        return s, log_density(s)

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
        out = np.full(x.shape, np.inf if order <= 0.0 else 0.0)
        nonzero = q > 0.0
        out[nonzero] = order * np.log(q[nonzero] / self.alpha) + log_bessel_k(order, self.alpha * q[nonzero])
        if order > 0.0:  # limit of q^v K_v(alpha q) at 0
            out[~nonzero] = gammaln(order) + (order - 1.0) * np.log(2.0) - 2.0 * order * np.log(self.alpha)
        return np.asarray(
            out + np.log(2.0) + self.beta * (x - self.loc) - self.log_constant - _LOG_ROOT_TWO_PI
        )

    def _cdf(self, x: FloatArray) -> FloatArray:
        return np.asarray(self.mixture.cdf(x))

    def _sf(self, x: FloatArray) -> FloatArray:
        return np.asarray(self.mixture.sf(x))

    def _rvs(self, size: Size, rng: np.random.Generator) -> FloatArray:
        if self.delta == 0.0:
            v = np.asarray(rng.gamma(self.lam, 2.0 / self.psi, size))
        else:
            from scipy.stats import geninvgauss  # half of the time that everything else takes to import

            root = np.sqrt(self.psi)
            law = geninvgauss(self.lam, self.delta * root, scale=self.delta / root)
            v = np.asarray(law.rvs(size, random_state=rng))
        return np.asarray(self.loc + self.beta * v + np.sqrt(v) * rng.standard_normal(size))


def _log_gig_constant(lam: float, delta: float, psi: float) -> float:
    from scipy.special import gammaln

    if delta == 0.0:
        return float(gammaln(lam) - lam * np.log(0.5 * psi))
    root = np.sqrt(psi)
    return float(np.log(2.0) + lam * np.log(delta / root) + log_bessel_k(lam, np.array([delta * root]))[0])


def _gh_reach(
    log_density: Callable[[FloatArray], FloatArray], mode: float, sign: float, drop: float
) -> float:
    """Distance from the mode at which a log-concave log density has fallen by ``drop``."""
    top = log_density(np.array([mode]))[0]
    distance = 1.0
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
