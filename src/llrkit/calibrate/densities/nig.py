"""Normal inverse Gaussian scores: skewed and heavy-tailed, a separate shape for each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from llrkit._arguments import yes_or_no
from llrkit._arrays import FloatArray
from llrkit.calibrate.densities.density_ratio import RatioMap, fit_ratio
from llrkit.calibrate.densities.likelihood_maximizer import Objective, maximize
from llrkit.calibrate.densities.log_densities import log_nig, nig_slope, standard_nig
from llrkit.calibrate.densities.weighted_points import (
    TrainingPoints,
    WeightedPoints,
    require_spread,
    spread_of,
    training_points,
)
from llrkit.calibrate.fitting import fits_map
from llrkit.calibrate.training_checks import training_moments
from llrkit.core.moments import ClassMoments
from llrkit.scores import ScoreSource

TAIL, BEND = (1e-4, 30.0), (-20.0, 20.0)
_ROUND = 0.025


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class NIGRatioMap(RatioMap):
    """Log-ratio of two normal inverse Gaussian densities; each is (alpha, beta, delta, location)."""

    target: FloatArray
    nontarget: FloatArray

    kind: ClassVar[str] = "nig ratio"

    def log_ratio(self, s: FloatArray) -> FloatArray:
        """Difference of the log densities."""
        return log_nig(s, *self.target.tolist()) - log_nig(s, *self.nontarget.tolist())

    def slope(self, s: FloatArray) -> FloatArray:
        """Its derivative."""
        return nig_slope(s, *self.target.tolist()) - nig_slope(s, *self.nontarget.tolist())

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
        spots = [_mean_sd(*parameters.tolist()) for parameters in (self.target, self.nontarget)]
        return 0.5 * (spots[0][0] + spots[1][0]), max(spots[0][1], spots[1][1])


def _mean_sd(alpha: float, beta: float, delta: float, loc: float) -> tuple[float, float]:
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

    Parameters
    ----------
    monotone
        Hold the LLR constant where the ratio turns back in the tails; how is said in ``RatioMap``.

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
    return fit_ratio(NIGRatioMap, _fit_class, training, monotone, "nig")


def shape_of(f: Any, p: Any) -> Any:
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


def _fit_class(nodes: WeightedPoints, class_moments: ClassMoments) -> tuple[FloatArray, float, float]:
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
    best = maximize(_likelihood(t), starts, bounds, rough=_likelihood(t.fewer()))
    loc, log_sd, f, p = best.x.tolist()
    parameters = natural_parameters(mean + sd * loc, sd * float(np.exp(log_sd)), p, float(shape_of(f, p)))
    return np.array(parameters), best.value - float(np.log(sd)), best.gradient


def _likelihood(t: WeightedPoints) -> Objective:
    """Mean log-likelihood, and its gradient, of points around 0 given location, log sd, tail and bend."""
    weight = t.weights / t.total

    def objective(x: FloatArray) -> tuple[float, FloatArray]:
        loc, log_sd, f, p = x.tolist()
        e = float(shape_of(f, p))
        size = float(np.exp(log_sd))
        z = (t.points - loc) / size
        value, by = standard_nig(z, p, e)
        by_t, by_p, by_e = (weight * by).sum(axis=1).tolist()
        scaled = float((weight * by[0] * z).sum())
        gradient = [-by_t / size, -scaled - 1.0, by_e * f / e, by_p + by_e * _ROUND * p / e]
        return float((weight * value).sum()) - log_sd, np.array(gradient)

    return objective
