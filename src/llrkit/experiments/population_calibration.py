"""Calibration of a population instead of a sample: Gaussian scores, whose costs are integrals."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from llrkit._arrays import FloatArray
from llrkit.calibrate.affine.cmlg import cmlg_from_moments
from llrkit.calibrate.maps import AffineMap
from llrkit.core.elementary_functions import sigmoid, softplus
from llrkit.core.moments import ClassMoments, Moments
from llrkit.core.newton_minimizer import newton
from llrkit.errors import InputError
from llrkit.theory.normal_distributions import Normal
from llrkit.theory.operating_points import OperatingPoint
from llrkit.theory.presets import preset
from llrkit.theory.unequal_gaussians import UnequalGaussians

# Trapezoid rule in standard deviations: all digits for integrands as smooth as these
_Z = np.linspace(-12.0, 12.0, 2401)
_WEIGHTS = np.exp(-0.5 * _Z**2) * (_Z[1] - _Z[0]) / np.sqrt(2.0 * np.pi)


def population_cmlg(scores: UnequalGaussians, log_odds: float) -> AffineMap:
    """CMLG with weight alpha of given log-odds, from the exact moments.

    Examples
    --------
    >>> fitted = population_cmlg(UnequalGaussians(4.5, 1.0, 0.0, 1.0), log_odds=-3.0)
    >>> round(fitted.a, 9), round(fitted.b, 9)
    (4.5, -10.125)
    """
    moments = Moments(_population_moments(scores.target), _population_moments(scores.nontarget))
    return cmlg_from_moments(moments, float(sigmoid(log_odds)))


def population_logistic(scores: UnequalGaussians, log_odds: float) -> AffineMap:
    """Logistic regression whose training prior has given log-odds, on infinitely many trials.

    Examples
    --------
    >>> fitted = population_logistic(UnequalGaussians(4.5, 1.0, 0.0, 1.0), log_odds=-3.0)
    >>> round(fitted.a, 6), round(fitted.b, 6)
    (4.5, -10.125)
    """
    start = population_cmlg(scores, 0.0)
    prior = float(sigmoid(log_odds))
    # the rarer class has almost all its weight where the other has none: scale the whole cost up
    unit = 1.0 / min(prior, 1.0 - prior)

    def cost(x: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        value, gradient, hessian = 0.0, np.zeros(2), np.zeros((2, 2))
        for distribution, sign, share in ((scores.target, -1.0, prior), (scores.nontarget, 1.0, 1.0 - prior)):
            s = distribution.mean() + distribution.std() * _Z
            z = sign * (x[0] * s + x[1] + log_odds)
            weight = unit * share * _WEIGHTS
            wrong = sigmoid(z)
            terms = np.stack([s, np.ones_like(s)])
            value += float(weight @ softplus(z))
            gradient += sign * terms @ (weight * wrong)
            hessian += (terms * (weight * wrong * (1.0 - wrong))) @ terms.T
        return value, gradient, hessian

    minimum = newton(cost, np.array([start.a, start.b]), tolerance=1e-9, max_evaluations=200)
    if not minimum.converged:
        raise InputError(f"logistic regression at log-odds {log_odds:g} did not settle")
    return AffineMap(a=float(minimum.x[0]), b=float(minimum.x[1]), method="logistic")


def population_c_primary(scores: UnequalGaussians, fitted: AffineMap, evaluation: str = "sre12") -> float:
    """Primary cost of the mapped scores at the Bayes thresholds, with one kind of non-target.

    Examples
    --------
    >>> equal = UnequalGaussians(4.5, 1.0, 0.0, 1.0)
    >>> round(population_c_primary(equal, population_cmlg(equal, 0.0)), 4)
    0.2383
    """
    costs = [
        _population_cost(scores, point, (point.threshold - fitted.b) / fitted.a)
        for point in preset(evaluation).points
    ]
    return float(np.mean(costs))


def population_minimum(scores: UnequalGaussians, evaluation: str = "sre12") -> float:
    """Primary cost at the best threshold of each operating point.

    Examples
    --------
    >>> round(population_minimum(UnequalGaussians(5.0, 1.6, 0.0, 1.0)), 4)
    0.2426
    """
    low, high = scores.mean_nontarget, scores.mean_target + 4.0 * scores.std_target
    best = [
        minimize_scalar(
            lambda t, point=point: _population_cost(scores, point, t), bounds=(low, high), method="bounded"
        ).fun
        for point in preset(evaluation).points
    ]
    return float(np.mean(best))


def _population_cost(scores: UnequalGaussians, point: OperatingPoint, threshold: float) -> float:
    return float(point.cost(scores.target.below(threshold), scores.nontarget.at_least(threshold)))


def _population_moments(distribution: Normal) -> ClassMoments:
    """Moments of a population, as if of one trial."""
    one, sd = np.ones(1), distribution.std()
    return ClassMoments(
        n=1.0, mean=distribution.mean() * one, m2=sd**2 * np.ones((1, 1)), m3=0.0 * one, m4=3.0 * sd**4 * one,
        low=-np.inf * one, high=np.inf * one,
    )  # fmt: skip
