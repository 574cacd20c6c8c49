"""Maps by distributions with heavy tails: normal-inverse Gaussian and gamma."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, overload

import numpy as np

from llrkit.base.arguments import Array, ComplexArray, FloatArray, yes_or_no
from llrkit.base.text import Json
from llrkit.core.numerics import probability
from llrkit.core.summaries import ClassMoments
from llrkit.errors import InputError
from llrkit.fits.cmlg import cmlg_from_moments
from llrkit.fits.ratio import DensityRatioMap, Objective, Optimum, fit_ratio, maximize
from llrkit.fits.training_checks import (
    TrainingPoints,
    WeightedPoints,
    provenance,
    spread_of,
    training_moments,
    training_points,
)
from llrkit.maps.map import AffineMap
from llrkit.scores.derived import AnyTrials, Labels, as_source
from llrkit.theory import GammaLLR

# ranges of the search for tail and bend in standardized units; 0 is the
# Gaussian limit of the tail, excluded because 1 / e^2 appears
TAIL, BEND = (1e-4, 30.0), (-20.0, 20.0)
# e >= sqrt(0.025) |p| keeps |beta| / alpha below 1 / sqrt(1.025) = 0.988
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

    # a product of sum and difference: alpha^2 - beta^2 would cancel for strong skewness
    gamma = np.sqrt((alpha - beta) * (alpha + beta))
    y = s - loc
    # hypot neither overflows far out nor underflows near the center
    q = np.hypot(delta, y)
    exponent = (gamma * y - delta * beta) ** 2 / (alpha * q + delta * gamma + beta * y)
    # k1e is K_1 with its exponential taken out, which would underflow from about 700 on
    return np.asarray(np.log(alpha * delta / np.pi) + np.log(k1e(alpha * q)) - np.log(q) - exponent)


def nig_slope(s: FloatArray, alpha: float, beta: float, delta: float, loc: float) -> FloatArray:
    """Derivative of :func:`log_nig` by the score."""
    from scipy.special import k0e, k1e

    y = s - loc
    q = np.hypot(delta, y)
    return np.asarray(beta - y / q * (alpha * (k0e(alpha * q) / k1e(alpha * q)) + 2.0 / q))


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
    # for x < 0 the sum x + q cancels; q^2 - x^2 = (e t)^2 gives the same without
    w = np.where(x > 0.0, x + q, (e * t) ** 2 / np.where(x > 0.0, 1.0, q - x))
    fall = t * t / w
    level, u = _bessel_level(z)
    value = level - _LOG_ROOT_TWO_PI - 1.5 * np.log(q) - fall
    q_t, q_p, q_e = (p * x + e * e * t) / q, t * x / q, e * t * t / q
    pull, steep = (u - 1.5) / q, fall / w
    by_t = pull * q_t - 2.0 * t / w + steep * (q_t + p)
    by_e = pull * q_e - 2.0 * u / e + steep * q_e
    return value, np.stack([by_t, pull * q_p + steep * (q_p + t), by_e])


def _bessel_level(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``log[sqrt(2 z/pi) e^z K_1(z)]`` and ``z`` times its derivative; both vanish like ``3/(8 z)``."""
    from scipy.special import k0e, k1e

    # both branches of np.where are evaluated, so each gets arguments that it can bear
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
        means, spreads = [], []
        for alpha, beta, delta, loc in (self.target.tolist(), self.nontarget.tolist()):
            gamma = float(np.sqrt((alpha - beta) * (alpha + beta)))
            means.append(loc + delta * beta / gamma)
            spreads.append(float(np.sqrt(delta * alpha**2 / gamma**3)))
        return 0.5 * (means[0] + means[1]), max(spreads)


def fit_nig(source: AnyTrials, labels: Labels | None = None, *, monotone: bool = True) -> NIGRatioMap:
    """Calibration with a normal inverse Gaussian density for each class, by maximum likelihood.

    ``llr = log NIG(s | alpha_e, beta_e, delta_e, m_e) - log NIG(s | alpha_d, beta_d, delta_d, m_d)``.
    The family holds the Gaussian as a limit; ``|beta|/alpha`` is kept below 0.988, where one end of the
    density would become hard. Two passes.

    The map's ``details`` hold the interval, the share of the training scores outside it, the
    log-likelihood (classes weighted equally) and what is left of its gradient.

    Fewer than 30 trials of a class do not show the shape of a density: :func:`llrkit.calibrate` warns of them
    if nothing bounds the LLRs.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    monotone
        Hold the LLR constant in the tails where the ratio turns back, as described in ``RatioMap``.

    References
    ----------
    Brümmer, Swart & van Leeuwen, "A comparison of linear and non-linear calibrations for speaker
    recognition", Odyssey 2014.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.fits.heavy_tails import fit_nig
    >>> rng = np.random.default_rng(1)
    >>> pair = lk.theory.HyperbolicLLR.from_nig(alpha=1.0, beta=-0.3, delta=2.0)
    >>> scores = lk.Scores(pair.target.rvs(20_000, rng), pair.nontarget.rvs(20_000, rng))
    >>> fit_nig(scores)([-1.0, 0.0, 1.0]).round(1)
    array([-1.,  0.,  1.])
    """
    source = as_source(source, labels)
    monotone = yes_or_no(monotone, "monotone")
    moments = training_moments(source, at_least=4, spread=True)
    fitted = fit_ratio(NIGRatioMap, nig_of_class, training_points(source, moments), monotone, "nig")
    return fitted.with_reading(source.roles)


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
    return float(np.sqrt(tail)) / (e * e * sd), p / (e * e * sd), sd * e / tail, mean - sd * p / tail


def nig_of_class(nodes: WeightedPoints, class_moments: ClassMoments) -> tuple[FloatArray, float, float]:
    """``alpha, beta, delta, loc`` of one class; its mean log-likelihood; the gradient left."""
    mean, sd = spread_of(class_moments)
    t = nodes.standardized(mean, sd)
    # moments of heavy-tailed samples are noisy; clipped, they are still a start
    kurtosis = min(max(float(class_moments.excess_kurtosis[0]), 0.1), 20.0)
    bend = float(np.clip(class_moments.skewness[0], -2.0, 2.0)) / 3.0
    width = max((t.quantile(0.75) - t.quantile(0.25)) / 1.35, 1e-2)
    starts = [
        # method of moments: the skewness is 3 p and the excess kurtosis 3 (e^2 + 5 p^2)
        [0.0, 0.0, float(np.sqrt(max(kurtosis / 3.0 - 5.0 * bend**2, 0.02))), bend],
        [t.quantile(0.5), float(np.log(width)), 0.6, 0.0],
    ]
    bounds = [(-20.0, 20.0), (-12.0, 8.0), TAIL, BEND]
    # the search starts on fewer points and is finished on all of them
    best = maximize(_nig_likelihood(t), starts, bounds, rough=_nig_likelihood(t.fewer()))
    loc, log_sd, f, p = best.x.tolist()
    # the search ran on standardized scores; location and scale are put back here
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


_STEEPEST = 100.0
"""Half the slope at which the search ends, for classes with a standard deviation near 1."""


def fit_tied_nig(source: AnyTrials, labels: Labels | None = None, *, alpha: float = 0.5) -> AffineMap:
    """Affine calibration with normal inverse Gaussian classes that differ in ``beta`` only.

    Non-targets ``NIG(A, beta_d, delta, m)`` and targets ``NIG(A, beta_e, delta, m)`` have the LLR
    ``(beta_e - beta_d) s + delta (gamma_e - gamma_d) - (beta_e - beta_d) m``,
    ``gamma^2 = A^2 - beta^2``. The five parameters maximize the class-weighted log-likelihood. CMLG is the
    limit of Gaussian classes, and what is returned when nothing else is more likely, or when the classes are
    so far apart (200 standard deviations) that nothing is known of where they would meet. Two passes.

    The map's ``details`` hold the parameters (``shape`` is A), the weighted log-likelihood, that of CMLG,
    and whether the Gaussian limit was taken (the parameters are infinite then).

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    alpha
        Weight of the targets (:term:`alpha`), strictly between 0 and 1.

    References
    ----------
    Cumani & Laface, "Tied normal variance-mean mixtures for linear score calibration", ICASSP 2019.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.fits.heavy_tails import fit_tied_nig
    >>> rng = np.random.default_rng(1)
    >>> pair = lk.theory.HyperbolicLLR.from_nig(alpha=1.2, beta=-0.4, delta=4.0)
    >>> scores = lk.Scores(pair.target.rvs(50_000, rng), pair.nontarget.rvs(50_000, rng))
    >>> calibrate = fit_tied_nig(scores)
    >>> round(calibrate.a, 1), round(calibrate.b, 1)
    (1.0, 0.0)
    """
    source = as_source(source, labels)
    share = probability(alpha, "alpha")
    moments = training_moments(source, at_least=2)
    return tied_from_training(training_points(source, moments), share).with_reading(source.roles)


def tied_from_training(training: TrainingPoints, alpha: float) -> AffineMap:
    """The fit, from points that stand for the scores."""
    target, nontarget = training.standardized()
    gaussian = cmlg_from_moments(training.moments, alpha)
    center, scale = training.center, training.scale
    half = 0.5 * gaussian.a * scale  # half the slope, in units of the standardized scores
    # classes this far apart have no scores where they meet: the Gaussian limit is taken unseen
    if abs(half) > _STEEPEST:
        likelihood = gaussian.detail("log_likelihood")
        details = {"log_likelihood": likelihood, "log_likelihood_cmlg": likelihood, "gaussian_limit": True}
        return replace(gaussian, method="tied_nig", details={**details, "shape": np.inf, "delta": np.inf})

    spread = 0.5 * np.log(gaussian.detail("variance") / scale**2)
    # both starts have the slope of CMLG, with light and with heavier tails: CMLG is the limit of the family
    starts = [[0.0, spread, tail, 0.0, half] for tail in (0.1, 0.5)]
    bounds = [(-20.0, 20.0), (-12.0, 8.0), TAIL, BEND, (-_STEEPEST, _STEEPEST)]
    rough = _tied_nig_likelihood(target.fewer(), nontarget.fewer(), alpha)
    best = maximize(_tied_nig_likelihood(target, nontarget, alpha), starts, bounds, rough=rough)
    # the density of scores is that of standardized ones divided by the scale
    likelihood = best.value - float(np.log(abs(scale)))
    details = {
        "log_likelihood": likelihood,
        "log_likelihood_cmlg": gaussian.detail("log_likelihood"),
        "gaussian_limit": likelihood <= gaussian.detail("log_likelihood"),
        "gradient_left": best.gradient,
    }
    of_target, of_nontarget = np.real(np.array(_tied_nig_classes(best.x))).tolist()
    (mean_e, log_sd_e, p_e, e_e), (mean_d, log_sd_d, p_d, e_d) = of_target, of_nontarget
    shape, beta_e, delta, loc = natural_parameters(mean_e, float(np.exp(log_sd_e)), p_e, e_e)
    _, beta_d, _, _ = natural_parameters(mean_d, float(np.exp(log_sd_d)), p_d, e_d)
    # next to the Gaussian limit shape and beta may be equal but for rounding
    gamma_e, gamma_d = (np.sqrt(max((shape - beta) * (shape + beta), 0.0)) for beta in (beta_e, beta_d))
    a = (beta_e - beta_d) / scale
    if not gamma_e + gamma_d > 0.0:
        details["gaussian_limit"], gamma_e = True, 1.0
    # gamma_e - gamma_d without cancellation
    level = -delta * (beta_e - beta_d) * (beta_e + beta_d) / (gamma_e + gamma_d) - (beta_e - beta_d) * loc
    b = float(level) - a * center
    # a limit that cannot be represented, or a search that ended below it, gives CMLG itself
    if details["gaussian_limit"]:
        a, b, details["log_likelihood"] = gaussian.a, gaussian.b, gaussian.detail("log_likelihood")
        shape = delta = np.inf
    details |= {"shape": shape / abs(scale), "delta": delta * abs(scale), "location": center + scale * loc}
    details |= {"beta_target": beta_e / scale, "beta_nontarget": beta_d / scale}
    return replace(gaussian, a=a, b=b, method="tied_nig", details=details)


def _tied_nig_likelihood(target: WeightedPoints, nontarget: WeightedPoints, alpha: float) -> Objective:
    """Class-weighted mean log-likelihood and gradient, given the parameters of :func:`_tied_nig_classes`."""
    shares = [
        (nodes, share * nodes.weights / nodes.total)
        for nodes, share in ((target, alpha), (nontarget, 1.0 - alpha))
    ]

    def objective(x: FloatArray) -> tuple[float, FloatArray]:
        classes, moved = jacobian(_tied_nig_classes, x)
        value, gradient = 0.0, np.zeros(5)
        for class_index, (nodes, w) in enumerate(shares):
            mean, log_sd, p, e = classes[class_index].tolist()
            size = float(np.exp(log_sd))
            z = (nodes.points - mean) / size
            log_density, by = standard_nig(z, p, e)
            by_t, by_p, by_e = (w * by).sum(axis=1).tolist()
            by_log_sd = -float((w * by[0] * z).sum() + w.sum())
            value += float((w * (log_density - log_sd)).sum())
            gradient += np.array([-by_t / size, by_log_sd, by_p, by_e]) @ moved[class_index]
        return value, gradient

    return objective


def _tied_nig_classes(x: Array) -> list[list[Array]]:
    """Mean, log sd, p and e of targets and of non-targets, from the five parameters of the search.

    These are mean, log sd, tail and bend of the density halfway between the classes, and half the slope in
    units of its sd. A class has ``beta = shape tanh(bend)``; the bends of the classes lie ``half eps`` on
    either side of the one halfway, ``eps^2 = p^2 + e^2``. Everything below is even in ``eps``, and so
    smooth up to the Gaussian limit ``eps = 0``.
    """
    middle, log_sd, f, p, half = x
    e = shape_of(f, p)
    eps = np.sqrt(p * p + e * e)
    # cosh - 1 as 2 sinh^2 of the half: near the Gaussian limit cosh - 1 would cancel
    sinh, cosh, coshm1 = np.sinh(half * eps), np.cosh(half * eps), 2.0 * np.sinh(0.5 * half * eps) ** 2
    classes = []
    for sign in (1.0, -1.0):
        ratio = cosh + sign * p * sinh / eps  # cosh(bend) over that halfway
        mean = middle + np.exp(log_sd) * (p * coshm1 / eps**2 + sign * sinh / eps)
        bend = (p * cosh + sign * eps * sinh) / np.sqrt(ratio)
        classes.append([mean, log_sd + 1.5 * np.log(ratio), bend, e / np.sqrt(ratio)])
    return classes


def jacobian(function: Callable[[Array], list[list[Array]]], x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Values and derivatives of an analytic function, by complex steps, exact to rounding.

    The function must take arrays for the numbers in ``x``. Last axis of the derivatives: by ``x[i]``.
    """
    # the imaginary step is so small that its square vanishes, and no difference of values is taken: no digits
    # are lost as with finite differences
    moved: ComplexArray = np.array(function(x[:, None] + 1e-30j * np.eye(len(x))))
    return np.real(moved[..., 0]), np.imag(moved) / 1e-30


SHAPE = (1e-3, 1e4)


def fit_gamma(
    source: AnyTrials, labels: Labels | None = None, *, alpha: float = 0.5, mirror: bool | None = None
) -> AffineMap:
    """Affine calibration with likelihood ratios that are gamma distributed.

    ``x = a s + b`` with ``e^x ~ Gamma(k, rate k)`` for non-targets and ``Gamma(k + 1, rate k)`` for targets:
    skewed to the left in both classes. In the mirrored model the same holds for ``e^-x`` with the classes
    exchanged: skewed to the right. ``a``, ``b`` and ``k`` (between 0.001 and 1e4) maximize the
    class-weighted log-likelihood; ``b`` has a closed form. Two passes.

    The map's ``details`` hold ``shape`` (k), ``mirror``, what the pair promises (EER, Cllr) and the
    log-likelihood.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    alpha
        Weight of the targets (:term:`alpha`), strictly between 0 and 1.
    mirror
        Which of the two models; ``None`` takes the more likely one.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.fits.heavy_tails import fit_gamma
    >>> rng = np.random.default_rng(1)
    >>> pair = lk.theory.GammaLLR(0.3)
    >>> scores = lk.Scores(pair.target.rvs(20_000, rng), pair.nontarget.rvs(20_000, rng))
    >>> calibrate = fit_gamma(scores)
    >>> round(calibrate.a, 1), calibrate.details["mirror"], round(calibrate.details["shape"], 1)
    (1.0, False, 0.3)
    """
    source = as_source(source, labels)
    share = probability(alpha, "alpha")
    if mirror not in (None, True, False):
        raise InputError(f"mirror must be True, False or None, got {mirror!r}")
    moments = training_moments(source, at_least=2)
    return gamma_from_training(training_points(source, moments), share, mirror).with_reading(source.roles)


def gamma_from_training(training: TrainingPoints, alpha: float, mirror: bool | None) -> AffineMap:
    """The fit, from points that stand for the scores."""
    target, nontarget = training.standardized()
    optima: dict[bool, tuple[Optimum, float]] = {}
    if mirror is not True:
        optima[False] = _fit_gamma_ratio(target, nontarget, alpha)
    if mirror is not False:
        # the mirrored model is the plain one on negated scores with the classes exchanged
        optima[True] = _fit_gamma_ratio(
            nontarget.standardized(0.0, -1.0), target.standardized(0.0, -1.0), 1.0 - alpha
        )
    chosen = max(optima, key=lambda key: optima[key][0].value)
    best, level = optima[chosen]
    a = float(np.exp(best.x[0])) / training.scale
    b = (-level if chosen else level) - a * training.center
    shape = float(np.exp(best.x[1]))
    pair = GammaLLR(shape)
    details: dict[str, Json] = {
        "shape": shape,
        "mirror": chosen,
        "eer": pair.eer,
        "cllr": pair.cllr,
        "log_likelihood": best.value - float(np.log(abs(training.scale))),
        "gradient_left": best.gradient,
    }
    return AffineMap(
        a=a, b=b, method="gamma", options={"alpha": alpha, "mirror": mirror}, details=details,
        provenance=provenance(training.moments),
    )  # fmt: skip


def _fit_gamma_ratio(
    target: WeightedPoints, nontarget: WeightedPoints, alpha: float
) -> tuple[Optimum, float]:
    """Log a and log k at the largest likelihood, and the b that goes with them.

    The log-likelihood is ``log a + k log k - log Gamma(k) + k mean(x) + alpha mean_e(x) - k mean(e^x)``
    with class-weighted means; its maximum over b is at ``mean(e^x) = (k + alpha) / k``.
    """
    from scipy.special import gammaln, logsumexp, psi, softmax

    t = np.concatenate([target.points, nontarget.points])
    w_e, w_d = alpha * target.weights / target.total, (1.0 - alpha) * nontarget.weights / nontarget.total
    w = np.concatenate([w_e, w_d])
    log_w, mean, mean_e = np.log(w), float((w * t).sum()), target.mean_of(target.points)
    gap = mean_e - nontarget.mean_of(nontarget.points)

    def objective(theta: FloatArray) -> tuple[float, FloatArray]:
        a, k = float(np.exp(theta[0])), float(np.exp(theta[1]))
        # logsumexp, because the search reaches slopes at which exp(a t) overflows
        tilted = log_w + a * t
        log_mean = float(logsumexp(tilted))
        # the likelihood of a point as shape goes up or down, b being at its best
        level = np.log1p(alpha / k) - log_mean
        value = theta[0] + k * theta[1] - gammaln(k) + a * (k * mean + alpha * mean_e)
        value += (k + alpha) * (level - 1.0)
        by_a = 1.0 / a + k * mean + alpha * mean_e - (k + alpha) * float((softmax(tilted) * t).sum())
        by_k = np.log(k + alpha) - psi(k) + a * mean - log_mean - alpha / k
        return float(value), np.array([a * by_a, k * by_k])

    # 1/k is the distance of the class means in LLRs
    # several starts, because k ranges over decades, each with the
    # slope that puts the class means that far apart
    starts = [[float(np.log(1.0 / (k * max(gap, 0.05)))), float(np.log(k))] for k in (0.03, 0.3, 3.0, 30.0)]
    # logarithms keep both parameters positive without constraints
    best = maximize(objective, starts, [(-12.0, 12.0), (float(np.log(SHAPE[0])), float(np.log(SHAPE[1])))])
    a, k = np.exp(best.x).tolist()
    return best, float(np.log1p(alpha / k) - logsumexp(log_w + a * t))
