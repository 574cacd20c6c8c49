"""The distribution of mu without a number of components: nonparametric maximum likelihood on a grid.

For a given map ``x = a s + b`` the log-likelihood is concave in the weights, so a convex solver finds their
maximum and says how far from it they are at most (Lindsay 1983: no exchange of weight promises more). Around
it goes an ascent in a and b, whose slopes at the best weights are those of the profile likelihood.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._plain import Json
from llrkit.calibrate.densities.likelihood_maximizer import maximize
from llrkit.calibrate.densities.training_points import TrainingPoints
from llrkit.calibrate.maps import AffineMap
from llrkit.core.newton_minimizer import SHARES, Minimum, newton

GRID = "grid"
GRID_CELLS = 2048
"""Cells of scores: fewer than other fits take, because every cell meets every value of mu many times."""
SIZE, BELOW, ABOVE = 41, 50.0, 20.0
"""Values of mu, evenly spaced in their logarithm from mu / 50 to 20 mu of CMLG."""


@dataclass(frozen=True, eq=False)
class FittedMixture:
    """A mixture fitted to standardized scores: the map, the weights, and the log-likelihood."""

    a: float
    b: float
    weights: FloatArray
    mu: FloatArray
    value: float
    accuracy: Mapping[str, Json]
    """How close to the maximum it is, by name."""


def weighted_trials(training: TrainingPoints, alpha: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Standardized scores of both classes, the weight of each, and 1 for targets, -1 for non-targets."""
    target, nontarget = training.standardized()
    moments = training.moments
    weights = [
        alpha * target.weights / float(moments.target.n),
        (1.0 - alpha) * nontarget.weights / float(moments.nontarget.n),
    ]
    sign = np.repeat([1.0, -1.0], [len(target.points), len(nontarget.points)])
    return np.concatenate([target.points, nontarget.points]), np.concatenate(weights), sign


def mixture_on_grid(
    training: TrainingPoints,
    alpha: float,
    gaussian: AffineMap,
    limits: tuple[float, float],
    point_mass: float | None = None,
) -> FittedMixture:
    """Weights on a grid around the mu of CMLG, with the map that suits them best."""
    scale = training.scale
    mu0 = float(np.clip(gaussian.detail("mu"), 2.0 * limits[0], 0.5 * limits[1]))
    mu = np.geomspace(max(mu0 / BELOW, limits[0]), min(mu0 * ABOVE, limits[1]), SIZE)
    t, w, sign = weighted_trials(training, alpha)
    mass, pile = float(w.sum()), None if point_mass is None else (point_mass - training.center) / scale
    last: list[Minimum] = []

    def objective(theta: FloatArray) -> tuple[float, FloatArray]:
        a = float(np.exp(theta[0]))
        b = float(theta[1]) if pile is None else -a * pile
        x = a * t + b
        # log N(x | c mu, 2 mu) without c x / 2, which no weight changes
        terms = -0.25 * x * x / mu[:, None] + (-0.5 * np.log(4.0 * np.pi * mu) - 0.25 * mu)[:, None]
        top = terms.max(axis=0)
        likelihood = np.exp(terms - top)
        found = best_weights(likelihood, w, last[-1].x if last else None)
        last[:] = [found]
        taken = likelihood * found.x[:, None]
        taken *= w / taken.sum(axis=0)
        by_x = 0.5 * sign * w - 0.5 * x * (taken / mu[:, None]).sum(axis=0)
        by_b = float(by_x.sum())
        by_log_a = mass + a * float((by_x * t).sum()) + (0.0 if pile is None else by_b * b)
        value = mass * theta[0] + float((w * (0.5 * sign * x + top)).sum()) - found.value
        return value, np.array([by_log_a, by_b if pile is None else 0.0])

    start = [float(np.log(max(gaussian.a * scale, 1e-3))), 0.0]
    best = maximize(objective, [start], [(-12.0, 12.0), (-1e3, 1e3)])
    value, _ = objective(best.x)
    gap = float(last[-1].gradient @ last[-1].x - last[-1].gradient.min())
    accuracy = {"gradient_left": best.gradient, "promised_gain": max(gap, 0.0)}
    return FittedMixture(
        float(np.exp(best.x[0])), float(best.x[1]), last[-1].x / last[-1].x.sum(), mu, value, accuracy
    )


def best_weights(likelihood: FloatArray, w: FloatArray, start: FloatArray | None = None) -> Minimum:
    """The weights of components that maximize ``sum_i w_i log sum_k p_k likelihood_ki``; a convex program.

    Examples
    --------
    >>> likelihood = np.array([[0.9, 0.2, 0.1], [0.1, 0.8, 0.9], [0.3, 0.3, 0.3]])
    >>> best_weights(likelihood, np.full(3, 1 / 3)).x.round(3)
    array([0.322, 0.678, 0.   ])
    """
    size = len(likelihood)
    # every component keeps a little to begin with, so that it can come back
    first = np.full(size, 1.0 / size) if start is None else 0.999 * start / start.sum() + 0.001 / size

    def objective(shares: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        total = np.maximum((likelihood * shares[:, None]).sum(axis=0), 1e-300)
        scaled = likelihood * (np.sqrt(w) / total)
        gradient = -(scaled * np.sqrt(w)).sum(axis=1)
        return -float((w * np.log(total)).sum()), gradient, scaled @ scaled.T

    return newton(objective, first, over=SHARES, tolerance=1e-9)
