"""Normal inverse Gaussian scores: skewed and heavy-tailed, a separate shape for each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, overload

import numpy as np

from llrkit._arguments import yes_or_no
from llrkit._arrays import ComplexArray, FloatArray
from llrkit.calibrate.densities.density_ratio import DensityRatioMap, fit_ratio
from llrkit.calibrate.densities.likelihood_maximizer import Objective, maximize
from llrkit.calibrate.densities.training_points import (
    TrainingPoints,
    WeightedPoints,
    require_spread,
    spread_of,
    training_points,
)
from llrkit.calibrate.fit_decorator import fits_map
from llrkit.calibrate.training_checks import training_moments
from llrkit.core.moments import ClassMoments
from llrkit.scores import ScoreSource

TAIL, BEND = (1e-4, 30.0), (-20.0, 20.0)
_ROUND = 0.025
_LOG_ROOT_TWO_PI = 0.5 * float(np.log(2.0 * np.pi))
_BESSEL_SERIES_ABOVE = 300.0  # from here on the asymptotic series of Bessel functions are exact


def log_nig(s: FloatArray, alpha: float, beta: float, delta: float, loc: float) -> FloatArray:
    """Logarithm of the normal inverse Gaussian density.

    ``alpha delta K_1(alpha q) / (pi q) exp(delta gamma + beta y)`` with ``y = s - loc``,
    ``q^2 = delta^2 + y^2`` and ``gamma^2 = alpha^2 - beta^2``. With the exponential of K_1 taken out, the
    exponent is ``-(gamma y - delta beta)^2 / (alpha q + delta gamma + beta y)``: nothing cancels, also not
    near the Gaussian limit.

    Examples
    --------
    >>> from scipy.stats import norminvgauss
    >>> x = np.array([-3.0, 0.5])
    >>> bool(np.allclose(log_nig(x, 2.0, 0.5, 1.5, 0.1), norminvgauss(3.0, 0.75, 0.1, 1.5).logpdf(x)))
    True
    """
    from scipy.special import k1e

    gamma = np.sqrt((alpha - beta) * (alpha + beta))
    y = s - loc
    q = np.hypot(delta, y)
    exponent = (gamma * y - delta * beta) ** 2 / (alpha * q + delta * gamma + beta * y)
    return np.asarray(np.log(alpha * delta / np.pi) + np.log(k1e(alpha * q)) - np.log(q) - exponent)


def nig_slope(s: FloatArray, alpha: float, beta: float, delta: float, loc: float) -> FloatArray:
    """Derivative of :func:`log_nig` by the score."""
    y = s - loc
    q = np.hypot(delta, y)
    return np.asarray(beta - y / q * (alpha * _bessel_ratio(alpha * q) + 2.0 / q))


def standard_nig(t: FloatArray, p: float, e: float) -> tuple[FloatArray, FloatArray]:
    """Log density of the NIG with mean 0 and variance 1, and its derivatives by ``t``, ``p`` and ``e``.

    ``p`` bends it (skewness ``3 p``) and ``e`` fattens its tails; both 0 is the Gaussian. With
    ``Q^2 = (1 + p t)^2 + e^2 t^2`` the log density is

    ``-log(2 pi)/2 + log[sqrt(2 z/pi) e^z K_1(z)] - 3/2 log Q - t^2 / (1 + p t + Q)``, ``z = Q / e^2``:

    smooth up to the Gaussian limit, with nothing that cancels. In the usual parameters
    ``1/e = gamma sd``, ``p = beta e^2 sd`` and ``1/(p^2 + e^2) = delta gamma``.

    Examples
    --------
    >>> near, _ = standard_nig(np.array([0.0, 1.0]), 0.0, 1e-5)
    >>> np.round(near - near[0], 9)
    array([ 0. , -0.5])
    """
    x = 1.0 + p * t
    q = np.hypot(x, e * t)
    z = q / e**2
    # 1 + p t + Q, also where its terms cancel
    w = np.where(x > 0.0, x + q, (e * t) ** 2 / np.where(x > 0.0, 1.0, q - x))
    fall = t * t / w
    level, u = _bessel_level(z)
    value = level - _LOG_ROOT_TWO_PI - 1.5 * np.log(q) - fall
    q_t, q_p, q_e = (p * x + e * e * t) / q, t * x / q, e * t * t / q
    pull, steep = (u - 1.5) / q, fall / w
    return value, np.stack(
        [
            pull * q_t - 2.0 * t / w + steep * (q_t + p),
            pull * q_p + steep * (q_p + t),
            pull * q_e - 2.0 * u / e + steep * q_e,
        ]
    )


def _bessel_level(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``log[sqrt(2 z/pi) e^z K_1(z)]`` and ``z`` times its derivative; both vanish like ``3/(8 z)``."""
    from scipy.special import k0e, k1e

    near = np.minimum(z, _BESSEL_SERIES_ABOVE)
    r = 1.0 / np.maximum(z, _BESSEL_SERIES_ABOVE)
    k1 = k1e(near)
    far = z > _BESSEL_SERIES_ABOVE
    level = np.where(
        far,
        np.log1p(r * (3.0 / 8.0 - r * (15.0 / 128.0 - r * (105.0 / 1024.0 - r * (4725.0 / 32768.0))))),
        np.log(k1 * np.sqrt(2.0 / np.pi * near)),
    )
    slope = np.where(
        far,
        -r * (3.0 / 8.0 - r * (3.0 / 8.0 - r * (63.0 / 128.0 - r * (27.0 / 32.0)))),
        near * (1.0 - k0e(near) / k1) - 0.5,
    )
    return level, slope


def _bessel_ratio(z: FloatArray) -> FloatArray:
    """``K_0(z) / K_1(z)``."""
    from scipy.special import k0e, k1e

    return np.asarray(k0e(z) / k1e(z))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class NIGRatioMap(DensityRatioMap):
    """Log-ratio of two normal inverse Gaussian densities; each is (alpha, beta, delta, location)."""

    kind: ClassVar[str] = "nig ratio"

    log_density = staticmethod(log_nig)
    density_slope = staticmethod(nig_slope)

    def limit(self, sign: float) -> float:
        """Infinite: each log density ends as a straight line of slope ``beta - sign alpha``."""
        alpha_e, beta_e, *_ = self.target.tolist()
        alpha_d, beta_d, *_ = self.nontarget.tolist()
        rise = sign * (beta_e - beta_d) - (alpha_e - alpha_d)
        if rise == 0.0:  # straight lines next to each other: their distance
            return float(self.log_ratio(np.array([self.anchor()[0] + sign * 1e8 * self.anchor()[1]]))[0])
        return float(np.copysign(np.inf, rise))

    def anchor(self) -> tuple[float, float]:
        """Midpoint of the means and the larger standard deviation."""
        spots = [_mean_sd_of_nig(*parameters.tolist()) for parameters in (self.target, self.nontarget)]
        return 0.5 * (spots[0][0] + spots[1][0]), max(spots[0][1], spots[1][1])


def _mean_sd_of_nig(alpha: float, beta: float, delta: float, loc: float) -> tuple[float, float]:
    gamma = float(np.sqrt((alpha - beta) * (alpha + beta)))
    return loc + delta * beta / gamma, float(np.sqrt(delta * alpha**2 / gamma**3))


@fits_map
def fit_nig(source: ScoreSource, *, monotone: bool = True) -> NIGRatioMap:
    """Calibration with a normal inverse Gaussian density for each class, by maximum likelihood.

    ``llr = log NIG(s | alpha_e, beta_e, delta_e, m_e) - log NIG(s | alpha_d, beta_d, delta_d, m_d)``.
    The family holds the Gaussian as a limit; ``|beta|/alpha`` is kept below 0.988, where one end of the
    density would become hard. Two passes.

    The map's ``details`` hold the interval, the share of the training scores outside it, the
    log-likelihood (classes weighted equally) and what is left of its gradient.

    Without ``bound`` a :class:`ShapeWarning` is given if a class has fewer than 30 trials, which do not show
    the shape of a density.

    Parameters
    ----------
    monotone
        Hold the LLR constant in the tails where the ratio turns back, as described in ``RatioMap``.

    References
    ----------
    Brümmer, Swart & van Leeuwen, "A comparison of linear and non-linear calibrations for speaker
    recognition", Odyssey 2014.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.calibrate.densities.nig import fit_nig
    >>> rng = np.random.default_rng(1)
    >>> pair = lk.theory.HyperbolicLLR.from_nig(alpha=1.0, beta=-0.3, delta=2.0)
    >>> scores = lk.Scores(pair.target.rvs(20_000, rng), pair.nontarget.rvs(20_000, rng))
    >>> fit_nig(scores)([-1.0, 0.0, 1.0]).round(1)
    array([-1.,  0.,  1.])
    """
    monotone = yes_or_no(monotone, "monotone")
    moments = training_moments(source, at_least=4)
    require_spread(moments)
    return nig_from_training(training_points(source, moments), monotone)


def nig_from_training(training: TrainingPoints, monotone: bool) -> NIGRatioMap:
    """The fit, from points that stand for the scores."""
    return fit_ratio(NIGRatioMap, _fit_nig_class, training, monotone, "nig")


@overload
def shape_of(f: float, p: float) -> float: ...
@overload
def shape_of(f: ComplexArray, p: ComplexArray) -> ComplexArray: ...
def shape_of(f: float | ComplexArray, p: float | ComplexArray) -> float | ComplexArray:
    """``e`` for given ``f`` and ``p``: at least a sixth of ``|p|``, so that no class gets a hard end."""
    return np.sqrt(f * f + _ROUND * p * p)


def natural_parameters(mean: float, sd: float, p: float, e: float) -> tuple[float, float, float, float]:
    """``alpha, beta, delta, loc`` of the density that ``standard_nig`` describes."""
    tail = p * p + e * e
    return (
        float(np.sqrt(tail)) / (e * e * sd),
        p / (e * e * sd),
        sd * e / tail,
        mean - sd * p / tail,
    )


def _fit_nig_class(nodes: WeightedPoints, class_moments: ClassMoments) -> tuple[FloatArray, float, float]:
    """``alpha, beta, delta, loc`` of one class; its mean log-likelihood; the gradient left."""
    mean, sd = spread_of(class_moments)
    t = nodes.standardized(mean, sd)
    kurtosis = min(max(float(class_moments.excess_kurtosis[0]), 0.1), 20.0)
    bend = float(np.clip(class_moments.skewness[0], -2.0, 2.0)) / 3.0
    width = max((t.quantile(0.75) - t.quantile(0.25)) / 1.35, 1e-2)
    starts = [
        [0.0, 0.0, float(np.sqrt(max(kurtosis / 3.0 - 5.0 * bend**2, 0.02))), bend],
        [t.quantile(0.5), float(np.log(width)), 0.6, 0.0],
    ]
    bounds = [(-20.0, 20.0), (-12.0, 8.0), TAIL, BEND]
    best = maximize(_nig_likelihood(t), starts, bounds, rough=_nig_likelihood(t.fewer()))
    loc, log_sd, f, p = best.x.tolist()
    parameters = natural_parameters(mean + sd * loc, sd * float(np.exp(log_sd)), p, shape_of(f, p))
    return np.array(parameters), best.value - float(np.log(sd)), best.gradient


def _nig_likelihood(t: WeightedPoints) -> Objective:
    """Mean log-likelihood, and its gradient, of points around 0 given location, log sd, tail and bend."""
    weight = t.weights / t.total

    def objective(x: FloatArray) -> tuple[float, FloatArray]:
        loc, log_sd, f, p = x.tolist()
        e = shape_of(f, p)
        size = float(np.exp(log_sd))
        z = (t.points - loc) / size
        value, by = standard_nig(z, p, e)
        by_t, by_p, by_e = (weight * by).sum(axis=1).tolist()
        scaled = float((weight * by[0] * z).sum())
        gradient = [-by_t / size, -scaled - 1.0, by_e * f / e, by_p + by_e * _ROUND * p / e]
        return float((weight * value).sum()) - log_sd, np.array(gradient)

    return objective
