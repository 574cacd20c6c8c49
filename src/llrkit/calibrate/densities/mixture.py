"""A mixture of calibrated Gaussian pairs behind an affine map."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._plain import Json
from llrkit.calibrate.affine.cmlg import cmlg_from_moments
from llrkit.calibrate.densities.likelihood_maximizer import Objective, maximize
from llrkit.calibrate.densities.mixture_grid import (
    GRID,
    GRID_CELLS,
    FittedMixture,
    mixture_on_grid,
    weighted_trials,
)
from llrkit.calibrate.densities.training_points import TrainingPoints, points_of_grid
from llrkit.calibrate.fit_decorator import fits_map
from llrkit.calibrate.maps import AffineMap
from llrkit.calibrate.training_checks import provenance, training_moments
from llrkit.core.density_grid import DensityGrid
from llrkit.core.elementary_functions import probability
from llrkit.core.moments import Moments
from llrkit.errors import InputError
from llrkit.scores import Scores, ScoreSource
from llrkit.theory import MixtureLLR

MU = (0.02, 1e4)
"""Bounds of mu: a narrower component would only stand for single trials."""


@fits_map
def fit_mixture(
    source: ScoreSource,
    *,
    components: int | str | Sequence[float] = 2,
    alpha: float = 0.5,
    point_mass: float | None = None,
) -> AffineMap:
    """Affine calibration with LLRs that are a mixture of calibrated Gaussian pairs.

    ``x = a s + b`` with ``x ~ sum_k w_k N(mu_k, 2 mu_k)`` for targets and
    ``x ~ sum_k w_k N(-mu_k, 2 mu_k)`` for non-targets (means and variances): trials of different
    difficulty, every one calibrated. ``a``, ``b``, the weights and the ``mu_k`` maximize the class-weighted
    log-likelihood; one component is CMLG. Two passes.

    The map's ``details`` hold ``weights``, ``mu``, what the mixture promises (EER, Cllr) and the
    log-likelihood (of the trials outside the point mass).

    Parameters
    ----------
    components
        Number of components whose ``mu_k`` (between 0.02 and 1e4) are free, or given values of ``mu_k``
        of which only the weights are free, or "grid": weights on 41 values around that of CMLG, the
        nonparametric maximum-likelihood estimate of w(mu) (``mixture_grid``).
    alpha
        Weight of the targets (:term:`alpha`), strictly between 0 and 1.
    point_mass
        A score at which uninformative trials pile up. They form a component of their own at ``mu = 0``,
        and the map gives them an LLR of exactly 0.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.calibrate.densities.mixture import fit_mixture
    >>> rng = np.random.default_rng(1)
    >>> pair = lk.theory.MixtureLLR([0.4, 0.6], [1.0, 9.0])
    >>> scores = lk.Scores(pair.target.rvs(20_000, rng), pair.nontarget.rvs(20_000, rng))
    >>> calibrate = fit_mixture(scores)
    >>> round(calibrate.a, 1), abs(round(calibrate.b, 1)), round(calibrate.details["eer"], 2)
    (1.0, 0.0, 0.11)
    """
    share = probability(alpha, "alpha")
    on_grid = isinstance(components, str) and components == GRID
    grid = None if on_grid else _fixed_mu_of_mixture(components)
    moments = training_moments(source, at_least=2)
    low, high = moments.extremes
    if point_mass is not None and not (isinstance(point_mass, (int, float)) and np.isfinite(point_mass)):
        raise InputError(f"point_mass must be a finite score, got {point_mass!r}")
    make = DensityGrid.at(low, high, GRID_CELLS) if on_grid else DensityGrid.at(low, high)
    cells = source.reduce(make if point_mass is None else _grid_without_point_mass(float(point_mass), make))
    training = points_of_grid(cells, moments)
    if on_grid:
        return _mixture_map_from_grid(training, share, point_mass)
    return mixture_from_training(training, components, grid, share, point_mass)  # type: ignore[arg-type]


def _mixture_map_from_grid(training: TrainingPoints, alpha: float, point_mass: float | None) -> AffineMap:
    """The nonparametric estimate as a map."""
    gaussian = cmlg_from_moments(training.moments, alpha)
    found = mixture_on_grid(training, alpha, gaussian, MU, point_mass)
    return _map_of_mixture(training, alpha, point_mass, found, gaussian, {"components": GRID})


def _fixed_mu_of_mixture(components: int | str | Sequence[float]) -> FloatArray | None:
    if isinstance(components, (int, np.integer)) and not isinstance(components, bool):
        if components < 1:
            raise InputError(f"components must be at least 1, got {components}")
        return None
    try:
        mu = np.unique(np.array([float(value) for value in components]))  # type: ignore[union-attr]
    except (TypeError, ValueError):
        raise InputError(
            f"components must be a number, values of mu, or 'grid'; got {components!r}"
        ) from None
    if len(mu) == 0 or not np.all((mu >= MU[0]) & (mu <= MU[1])):
        raise InputError(f"values of mu must lie between {MU[0]} and {MU[1]:g}, got {components!r}")
    return mu


def _grid_without_point_mass(
    score: float, make: Callable[[Scores], DensityGrid]
) -> Callable[[Scores], DensityGrid]:
    def cells(chunk: Scores) -> DensityGrid:
        return make(
            Scores.part(chunk.target[chunk.target != score], chunk.nontarget[chunk.nontarget != score])
        )

    return cells


def mixture_from_training(
    training: TrainingPoints,
    components: int | Sequence[float],
    grid: FloatArray | None,
    alpha: float,
    point_mass: float | None,
) -> AffineMap:
    """The fit, from points that stand for the scores."""
    from scipy.special import logsumexp

    center, scale = training.center, training.scale
    gaussian = cmlg_from_moments(training.moments, alpha)
    pile = None if point_mass is None else (float(point_mass) - center) / scale
    k = len(grid) if grid is not None else int(components)  # type: ignore[arg-type]
    objective = _mixture_objective(training, alpha, k, grid, pile)
    mu0 = float(np.clip(gaussian.detail("mu"), 2.0 * MU[0], 0.5 * MU[1]))
    log_a = float(np.log(max(gaussian.a * scale, 1e-3)))
    starts, bounds = [], [(-12.0, 12.0), (-1e3, 1e3)] + [(-40.0, 40.0)] * (k - 1)
    for spread in (1.5, 3.0, 8.0) if k > 1 and grid is None else (1.0,):
        spots = np.log(mu0) + np.log(spread) * np.linspace(-1.0, 1.0, k) if k > 1 else [np.log(mu0)]
        starts.append([log_a, 0.0, *[0.0] * (k - 1), *(spots if grid is None else [])])
    if grid is None:
        bounds += [(float(np.log(MU[0])), float(np.log(MU[1])))] * k
    best = maximize(objective, starts, bounds)
    log_w = np.append(best.x[2 : k + 1], 0.0)
    weights, mu = np.exp(log_w - logsumexp(log_w)), grid if grid is not None else np.exp(best.x[k + 1 :])
    found = FittedMixture(
        float(np.exp(best.x[0])), float(best.x[1]), weights, mu, best.value, {"gradient_left": best.gradient}
    )
    options: dict[str, Json] = {"components": k if grid is None else grid.tolist()}
    return _map_of_mixture(training, alpha, point_mass, found, gaussian, options)


def _map_of_mixture(
    training: TrainingPoints,
    alpha: float,
    point_mass: float | None,
    found: FittedMixture,
    gaussian: AffineMap,
    options: dict[str, Json],
) -> AffineMap:
    """The map of scores as they are, from what was fitted to standardized ones."""
    moments, center, scale = training.moments, training.center, training.scale
    a = found.a / scale
    b = -a * float(point_mass) if point_mass is not None else found.b - a * center
    weights, mu = found.weights, found.mu
    rest = _mass_left(training, moments, alpha)
    if point_mass is not None:
        weights, mu = np.append(1.0 - rest, rest * weights), np.append(0.0, mu)
    order = np.argsort(mu)
    pair = MixtureLLR(tuple(weights[order] / weights.sum()), tuple(mu[order]))
    details: dict[str, Json] = {
        "weights": list(pair.weights),
        "mu": list(pair.mu),
        "eer": pair.eer,
        "cllr": pair.cllr,
        "log_likelihood": found.value - rest * float(np.log(abs(scale))),
        "log_likelihood_cmlg": gaussian.detail("log_likelihood"),
        **found.accuracy,
    }
    options |= {"alpha": alpha, "point_mass": point_mass}
    return AffineMap(
        a=a, b=b, method="mixture", options=options, details=details, provenance=provenance(moments)
    )


def _mass_left(training: TrainingPoints, moments: Moments, alpha: float) -> float:
    """Class-weighted share of the trials that are not in the point mass."""
    return alpha * training.target.total / float(moments.target.n) + (
        1.0 - alpha
    ) * training.nontarget.total / float(moments.nontarget.n)


def _mixture_objective(
    training: TrainingPoints, alpha: float, k: int, grid: FloatArray | None, pile: float | None
) -> Objective:
    """Log-likelihood and gradient by log a, b, the log-odds of the weights, and log mu.

    With ``c = 1`` for targets and -1 for non-targets, ``log N(x | c mu, 2 mu)`` is
    ``c x/2 - x^2/(4 mu) - mu/4 - log(4 pi mu)/2``: the class enters one term only.
    """
    from scipy.special import logsumexp

    t, w, sign = weighted_trials(training, alpha)
    mass = float(w.sum())

    def objective(theta: FloatArray) -> tuple[float, FloatArray]:
        a = np.exp(theta[0])
        b = float(theta[1]) if pile is None else -a * pile
        log_w = np.append(theta[2 : k + 1], 0.0)
        log_w = log_w - logsumexp(log_w)
        log_mu = np.log(grid) if grid is not None else theta[k + 1 :]
        mu = np.exp(log_mu)
        x = a * t + b
        quarter = 0.25 * x * x
        terms = (log_w - 0.5 * np.log(4.0 * np.pi) - 0.5 * log_mu - 0.25 * mu)[:, None] - quarter / mu[
            :, None
        ]
        top = terms.max(axis=0)
        np.exp(terms - top, out=terms)
        total = terms.sum(axis=0)
        value = mass * theta[0] + float((w * (0.5 * sign * x + top + np.log(total))).sum())
        terms *= w / total  # what each component takes of each point
        taken = terms.sum(axis=1)
        by_x = 0.5 * sign * w - 0.5 * x * (terms / mu[:, None]).sum(axis=0)
        by_b = float(by_x.sum())
        by_log_a = mass + a * float((by_x * t).sum()) + (0.0 if pile is None else by_b * b)
        by_weights = (taken - mass * np.exp(log_w))[: k - 1]
        by_mu = taken * (-0.5 - 0.25 * mu) + (terms * quarter).sum(axis=1) / mu
        gradients = [[by_log_a, by_b if pile is None else 0.0], by_weights, [] if grid is not None else by_mu]
        return value, np.concatenate(gradients)

    return objective
