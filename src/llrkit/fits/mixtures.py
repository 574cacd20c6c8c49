"""Mixtures of calibrated pairs, their mixing curves, and fits without labels.

Without a given number of components, the distribution of mu is estimated on a grid by nonparametric maximum
likelihood. For a given map ``x = a s + b`` the log-likelihood is concave in the weights, so a convex solver
finds their maximum and says how far from it they are at most (Lindsay 1983: no exchange of weight promises
more). Around it goes an ascent in a and b, whose slopes at the best weights are those of the profile
likelihood.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from llrkit import errors
from llrkit.base.arguments import Array, BoolArray, FloatArray, of_kind
from llrkit.base.process import warn_caller
from llrkit.base.text import Json
from llrkit.core.groups import truth_of
from llrkit.core.histograms import DensityGrid
from llrkit.core.numerics import SHARES, Minimum, logit, newton, probability, sigmoid
from llrkit.core.summaries import Both, Moments, Summarizer
from llrkit.fits.cmlg import cmlg_from_moments
from llrkit.fits.ratio import Objective, maximize
from llrkit.fits.training_checks import (
    TrainingPoints,
    WeightedPoints,
    check_moments,
    points_of_grid,
    provenance,
    training_moments,
)
from llrkit.maps.bounds import BoundedMap
from llrkit.maps.map import AffineMap, Map, reading_of
from llrkit.metrics.discrimination import Curve, as_floats, same_length
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.arrays import score_array
from llrkit.scores.derived import AnyTrials, Labels, as_source
from llrkit.theory import GaussianLLR, MixtureLLR

GRID = "grid"
GRID_CELLS = 2048
"""Cells of scores: fewer than other fits take, because every cell meets every value of mu many times."""
MU = (0.02, 1e4)
"""Bounds of mu: a narrower component would only stand for single trials."""
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
    of_target = alpha * target.weights / float(moments.target.n)
    of_nontarget = (1.0 - alpha) * nontarget.weights / float(moments.nontarget.n)
    sign = np.repeat([1.0, -1.0], [len(target.points), len(nontarget.points)])
    points = np.concatenate([target.points, nontarget.points])
    return points, np.concatenate([of_target, of_nontarget]), sign


def mixture_on_grid(
    training: TrainingPoints, alpha: float, gaussian: AffineMap, pile: float | None = None
) -> FittedMixture:
    """Weights on a grid around the mu of CMLG, with the map that suits them best."""
    # kept off the ends of the range, so that the grid reaches to both sides of the mu of CMLG
    mu0 = float(np.clip(gaussian.detail("mu"), 2.0 * MU[0], 0.5 * MU[1]))
    mu = np.geomspace(max(mu0 / BELOW, MU[0]), min(mu0 * ABOVE, MU[1]), SIZE)
    t, w, sign = weighted_trials(training, alpha)
    mass = float(w.sum())
    # the inner solver starts from the weights of the last look: neighboring maps have similar weights
    last: list[Minimum] = []

    def objective(theta: FloatArray) -> tuple[float, FloatArray]:
        a = float(np.exp(theta[0]))
        # a point mass stands for LLR 0, which ties the offset to the slope
        b = float(theta[1]) if pile is None else -a * pile
        x = a * t + b
        # log N(x | c mu, 2 mu) without c x / 2, which no weight changes
        terms = -0.25 * x * x / mu[:, None] + (-0.5 * np.log(4.0 * np.pi * mu) - 0.25 * mu)[:, None]
        # the largest term of each point is taken out before exp, so none of the sums underflows to 0
        top = terms.max(axis=0)
        likelihood = np.exp(terms - top)
        found = best_weights(likelihood, w, last[-1].x if last else None)
        last[:] = [found]
        taken = likelihood * found.x[:, None]
        # responsibilities: by the envelope theorem the slopes in a and b hold the weights fixed
        taken *= w / taken.sum(axis=0)
        by_x = 0.5 * sign * w - 0.5 * x * (taken / mu[:, None]).sum(axis=0)
        by_b = float(by_x.sum())
        by_log_a = mass + a * float((by_x * t).sum()) + (0.0 if pile is None else by_b * b)
        # log a for each trial is the Jacobian of the map from scores to LLRs
        value = mass * theta[0] + float((w * (0.5 * sign * x + top)).sum()) - found.value
        return value, np.array([by_log_a, by_b if pile is None else 0.0])

    start = [float(np.log(max(gaussian.a * training.scale, 1e-3))), 0.0]
    best = maximize(objective, [start], [(-12.0, 12.0), (-1e3, 1e3)])
    # evaluated once more at the end, so that `last` holds the weights of the best map
    value, _ = objective(best.x)
    # Lindsay's bound: the gain that moving all weight to the best component promises at most
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
        # the Hessian is a Gram matrix of these rows, positive semidefinite by construction
        scaled = likelihood * (np.sqrt(w) / total)
        gradient = -(scaled * np.sqrt(w)).sum(axis=1)
        return -float((w * np.log(total)).sum()), gradient, scaled @ scaled.T

    return newton(objective, first, over=SHARES, tolerance=1e-9)


def fit_mixture(
    source: AnyTrials,
    labels: Labels | None = None,
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
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
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
    >>> from llrkit.fits.mixtures import fit_mixture
    >>> rng = np.random.default_rng(1)
    >>> pair = lk.theory.MixtureLLR([0.4, 0.6], [1.0, 9.0])
    >>> scores = lk.Scores(pair.target.rvs(20_000, rng), pair.nontarget.rvs(20_000, rng))
    >>> calibrate = fit_mixture(scores)
    >>> round(calibrate.a, 1), abs(round(calibrate.b, 1)), round(calibrate.details["eer"], 2)
    (1.0, 0.0, 0.11)
    """
    source = as_source(source, labels)
    share = probability(alpha, "alpha")
    chosen = _chosen_components(components)
    moments = training_moments(source, at_least=2)
    low, high = moments.extremes
    if point_mass is not None and not (isinstance(point_mass, (int, float)) and np.isfinite(point_mass)):
        raise errors.InputError(f"point_mass must be a finite score, got {point_mass!r}")
    make = DensityGrid.at(low, high, GRID_CELLS) if chosen is None else DensityGrid.at(low, high)

    def without_point_mass(chunk: Scores) -> DensityGrid:
        target, nontarget = (side[side != point_mass] for side in (chunk.target, chunk.nontarget))
        return make(Scores.part(target, nontarget))

    cells = source.reduce(make if point_mass is None else without_point_mass)
    training = points_of_grid(cells, moments)
    return mixture_from_training(training, chosen, share, point_mass).with_reading(source.roles)


def mixture_from_training(
    training: TrainingPoints, chosen: int | FloatArray | None, alpha: float, point_mass: float | None
) -> AffineMap:
    """The fit, from points that stand for the scores; ``chosen`` is what :func:`_chosen_components` gives."""
    moments, center, scale = training.moments, training.center, training.scale
    gaussian = cmlg_from_moments(moments, alpha)
    pile = None if point_mass is None else (float(point_mass) - center) / scale
    if chosen is None:
        found = mixture_on_grid(training, alpha, gaussian, pile)
    else:
        found = mixture_of_few(training, alpha, gaussian, chosen, pile)
    # the map of scores as they are, from what was fitted to standardized ones
    a = found.a / scale
    # with a point mass b follows from a exactly; the value of the search was not used
    b = -a * float(point_mass) if point_mass is not None else found.b - a * center
    weights, mu = found.weights, found.mu
    # class-weighted share of the trials that are not in the point mass
    rest = alpha * training.target.total / float(moments.target.n)
    rest += (1.0 - alpha) * training.nontarget.total / float(moments.nontarget.n)
    if point_mass is not None:
        # the point mass is a component with mu = 0: trials whose LLR is 0
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
    asked = GRID if chosen is None else chosen.tolist() if isinstance(chosen, np.ndarray) else chosen
    options = {"components": asked, "alpha": alpha, "point_mass": point_mass}
    return replace(gaussian, a=a, b=b, method="mixture", options=options, details=details)


def _chosen_components(components: int | str | Sequence[float]) -> int | FloatArray | None:
    """Their number, or the values of mu that were given; None for weights on a grid."""
    if isinstance(components, str) and components == GRID:
        return None
    if isinstance(components, (int, np.integer)) and not isinstance(components, bool):
        if components < 1:
            raise errors.InputError(f"components must be at least 1, got {components}")
        return int(components)
    try:
        mu = np.unique(np.array([float(value) for value in components]))  # type: ignore[union-attr]
    except (TypeError, ValueError):
        raise errors.InputError(
            f"components must be a number, values of mu, or 'grid'; got {components!r}"
        ) from None
    if len(mu) == 0 or not np.all((mu >= MU[0]) & (mu <= MU[1])):
        raise errors.InputError(f"values of mu must lie between {MU[0]} and {MU[1]:g}, got {components!r}")
    return mu


def mixture_of_few(
    training: TrainingPoints, alpha: float, gaussian: AffineMap, chosen: int | FloatArray, pile: float | None
) -> FittedMixture:
    """So many components whose mu are free, or the weights of given mu, with the map that suits them best."""
    from scipy.special import logsumexp

    k, grid = (len(chosen), chosen) if isinstance(chosen, np.ndarray) else (chosen, None)
    t, w, sign = weighted_trials(training, alpha)
    mass = float(w.sum())

    # By log a, b, the log-odds of the weights, and log mu. With c = 1 for targets and -1 for non-targets,
    # log N(x | c mu, 2 mu) is c x/2 - x^2/(4 mu) - mu/4 - log(4 pi mu)/2: the class enters one term only.
    def objective(theta: FloatArray) -> tuple[float, FloatArray]:
        a = np.exp(theta[0])
        b = float(theta[1]) if pile is None else -a * pile
        log_w = np.append(theta[2 : k + 1], 0.0)
        log_w = log_w - logsumexp(log_w)
        log_mu = np.log(grid) if grid is not None else theta[k + 1 :]
        mu = np.exp(log_mu)
        x = a * t + b
        quarter = 0.25 * x * x
        level = log_w - 0.5 * np.log(4.0 * np.pi) - 0.5 * log_mu - 0.25 * mu
        terms = level[:, None] - quarter / mu[:, None]
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

    mu0 = float(np.clip(gaussian.detail("mu"), 2.0 * MU[0], 0.5 * MU[1]))
    log_a = float(np.log(max(gaussian.a * training.scale, 1e-3)))
    starts, bounds = [], [(-12.0, 12.0), (-1e3, 1e3)] + [(-40.0, 40.0)] * (k - 1)
    # mixtures have local maxima: one start for each spread of the components around CMLG's mu
    for spread in (1.5, 3.0, 8.0) if k > 1 and grid is None else (1.0,):
        spots = np.log(mu0) + np.log(spread) * np.linspace(-1.0, 1.0, k) if k > 1 else [np.log(mu0)]
        starts.append([log_a, 0.0, *[0.0] * (k - 1), *(spots if grid is None else [])])
    if grid is None:
        bounds += [(float(np.log(MU[0])), float(np.log(MU[1])))] * k
    best = maximize(objective, starts, bounds)
    # the last log-weight is fixed at 0; the others are log-odds to it
    log_w = np.append(best.x[2 : k + 1], 0.0)
    weights, mu = np.exp(log_w - logsumexp(log_w)), grid if grid is not None else np.exp(best.x[k + 1 :])
    return FittedMixture(
        float(np.exp(best.x[0])), float(best.x[1]), weights, mu, best.value, {"gradient_left": best.gradient}
    )


@dataclass(frozen=True, eq=False)
class MixingCurve(Curve):
    """Shares of trials whose LLRs have mean ±mu and variance 2 mu.

    Examples
    --------
    >>> curve = MixingCurve([1.0, 9.0], [0.4, 0.6])
    >>> curve.eer.round(3), round(curve.mean_eer, 3), curve.cumulative
    (array([0.24 , 0.017]), 0.106, array([0.4, 1. ]))
    """

    mu: FloatArray
    """In ascending order; 0 is a share of trials that say nothing."""
    weights: FloatArray

    def __post_init__(self) -> None:
        as_floats(self, "mu", "weights")
        same_length(self, "mu", "weights")
        if len(self.mu) == 0 or np.any(np.diff(self.mu) <= 0.0) or self.mu[0] < 0.0:
            raise errors.InputError("values of mu must be ascending and at least 0")
        if np.any(self.weights < 0.0) or not abs(float(self.weights.sum()) - 1.0) < 1e-6:
            raise errors.InputError("weights of mu must not be negative, and sum to 1")
        super().__post_init__()

    @property
    def eer(self) -> FloatArray:
        """The EER of trials of each difficulty, ``Phi(-sqrt(mu/2))``."""
        from scipy.special import ndtr

        return np.asarray(ndtr(-np.sqrt(0.5 * self.mu)))

    @property
    def mean_eer(self) -> float:
        """The EER of all trials together, which is the mean of those of the parts."""
        return float(self.weights @ self.eer)

    @property
    def cumulative(self) -> FloatArray:
        """The share of trials up to each mu."""
        return np.asarray(np.cumsum(self.weights))


def mixing_curve(fitted: Map) -> MixingCurve:
    """Weights w(mu) of a map that ``fit_mixture`` made, bounded or not.

    Parameters
    ----------
    fitted
        A map of :func:`llrkit.fits.fit_mixture`.

    Examples
    --------
    >>> import llrkit as lk
    >>> pair = lk.theory.MixtureLLR([0.4, 0.6], [1.0, 9.0])
    >>> scores = lk.Scores(*pair.rvs(5000, 5000, np.random.default_rng(1)))
    >>> curve = lk.fits.mixing_curve(lk.fits.fit_mixture(scores, components="grid"))
    >>> len(curve.mu), round(curve.mean_eer, 2)
    (41, 0.11)
    """
    of_kind(fitted, Map, "fitted")
    inner = fitted.map if isinstance(fitted, BoundedMap) else fitted
    if inner.method != "mixture" or "mu" not in inner.details:
        raise errors.InputError(f"w(mu) comes from fit_mixture; this map is of {fitted.method}")
    mu, weights = (np.asarray(inner.details[name], dtype=np.float64) for name in ("mu", "weights"))
    return MixingCurve(mu, weights)


TwoGrids: TypeAlias = Both[tuple[DensityGrid, DensityGrid]]
FEWEST = 4
_LOG_TWO_PI = float(np.log(2.0 * np.pi))
# the lower end is where the two Gaussians become spikes, which is refused below
_LOG_SD = (-9.0, 1.0)


def fit_unsupervised(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    prior: float | None = None,
    supervised: str | None = None,
) -> AffineMap:
    """Affine calibration from scores without labels: two Gaussians of one variance in their mixture.

    ``p(s) = P N(s | m1, v) + (1 - P) N(s | m0, v)`` with ``m1 > m0`` is fitted to the pooled scores by
    maximum likelihood, and ``a = (m1 - m0)/v``, ``b = -a (m1 + m0)/2``. The fit does not look at the labels
    of the source: any split into two classes gives the same map, and an array of scores alone is enough. Two
    passes.

    The map's ``details`` hold means, variance, prior, the log-likelihood per trial, and the EER and Cllr that
    two such Gaussians promise. Whether the scores *are* two Gaussians the fit cannot tell. If all labels are
    given, :func:`llrkit.calibrate` judges the map by them, and a :class:`llrkit.errors.PoorFitWarning` says
    if it does badly; from scores alone, or with ``supervised``, nothing is checked.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores, with or without ``labels``.
    labels
        The label of each score, where the first argument is an array.
    prior
        Share ``P`` of targets among the trials, if known; ``None`` estimates it. It is no
        :term:`training prior`.
    supervised
        Name of a column of true/false values: where it is true, the label of the trial may be used.
        Such trials enter with the Gaussian of their class (and, when the prior is free, count for it).

    References
    ----------
    Brümmer & Garcia-Romero, "Generative modelling for unsupervised score calibration", ICASSP 2014.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.fits.mixtures import fit_unsupervised
    >>> rng = np.random.default_rng(1)
    >>> pair = lk.theory.GaussianLLR.from_eer(0.02)
    >>> pooled = np.append(pair.target.rvs(5_000, rng), pair.nontarget.rvs(45_000, rng))
    >>> calibrate = fit_unsupervised(pooled)
    >>> round(calibrate.a, 1), round(calibrate.details["prior"], 2)
    (1.0, 0.1)
    """
    source = as_source(source, labels) if labels is not None else _trials_or_scores(source)
    prior = None if prior is None else probability(prior, "prior")
    moments = source.reduce(Moments.of)
    with warnings.catch_warnings():  # labels that may be anything can also be reversed
        warnings.simplefilter("ignore", errors.ReversedScoresWarning)
        check_moments(source, moments)
    if moments.target.n + moments.nontarget.n < FEWEST:
        raise errors.TooFewTrialsError(f"this method needs at least {FEWEST} trials")
    low, high = moments.extremes
    wide = source.with_columns(supervised) if supervised is not None else source
    free, labeled = wide.reduce(_grids_by_label(DensityGrid.at(low, high), supervised)).summaries
    cells = (free.target + free.nontarget, labeled.target, labeled.nontarget)
    by_label = tuple(WeightedPoints.of(each, low, high) for each in cells)
    pooled = moments.target + moments.nontarget
    center, scale = float(pooled.mean[0]), float(np.sqrt(pooled.variance[0]))
    t = tuple(
        weighted.standardized(center, scale) if len(weighted.points) else weighted for weighted in by_label
    )
    everything = WeightedPoints.joined(*t)
    starts = []
    # starts with equal and with rare targets: the likelihood has a hill for each
    for share in (0.5, 0.1, 0.01) if prior is None else (prior,):
        # the medians of the two parts, if the targets are the uppermost share of the scores
        m0, m1 = everything.quantile(0.5 * (1.0 - share)), everything.quantile(1.0 - 0.5 * share)
        gap = max(m1 - m0, 0.1)
        # the total variance is 1 here, and what the distance of the means explains is not in the classes
        sd = np.sqrt(max(1.0 - share * (1.0 - share) * gap**2, 0.05))
        starts.append([0.5 * (m0 + m1), float(np.log(gap)), float(np.log(sd)), float(logit(share))])
    # a known prior is a parameter whose two bounds coincide
    low, high = (-20.0, 20.0) if prior is None else (float(logit(prior)), float(logit(prior)))
    bounds = [(-50.0, 50.0), (-12.0, 5.0), _LOG_SD, (low, high)]
    best = maximize(_unlabeled_objective(t, prior is None), starts, bounds)
    middle, log_gap, log_sd, log_odds = best.x.tolist()
    # with labeled trials, or a better fit than one Gaussian gives, there are two
    # a Gaussian of variance 1 has the log-likelihood -(1 + log 2 pi) / 2 per trial
    two = by_label[1].total + by_label[2].total > 0.0 or best.value + 0.5 * (1.0 + _LOG_TWO_PI) > 1e-9
    if not two:
        warn_caller("one Gaussian describes the scores as well as two: every LLR is 0", errors.ShapeWarning)
    if log_sd <= _LOG_SD[0] + 0.1:
        raise errors.ConstantScoreError("the scores pile up at two values: the slope would be infinite")
    gap, v = float(np.exp(log_gap)) * scale if two else 0.0, float(np.exp(2.0 * log_sd)) * scale**2
    a, mid = gap / v, center + scale * middle
    pair = GaussianLLR.from_mu(0.5 * a * gap) if two else None
    details = {
        "mean_target": mid + 0.5 * gap,
        "mean_nontarget": mid - 0.5 * gap,
        "variance": v,
        "prior": float(sigmoid(log_odds)),
        "n_labeled": by_label[1].total + by_label[2].total,
        "log_likelihood": best.value - float(np.log(scale)),
        "gradient_left": best.gradient,
        "eer": pair.eer if pair else 0.5,
        "cllr": pair.cllr if pair else 1.0,
    }
    # class means by labels that were not looked at do not belong into the file
    of_labels = ("mean", "std", "skewness", "kurtosis", "gap")  # the fit has not seen what they tell
    known = {key: value for key, value in provenance(moments).items() if not key.startswith(of_labels)}
    fitted = AffineMap(a=a, b=-a * mid, method="unsupervised", details=details, provenance=known)
    options = {"prior": prior, "supervised": supervised}
    return replace(fitted, options=options, reading=reading_of(source.roles))


def _trials_or_scores(given: AnyTrials) -> ScoreSource:
    """Trials, or an array of scores without labels: any two classes do if the labels are not looked at."""
    table = isinstance(given, (ScoreSource, str, tuple, Mapping)) or hasattr(given, "columns")
    if table or not hasattr(given, "__len__"):
        return as_source(given)
    values = score_array(given, "scores")
    if len(values) < FEWEST:
        raise errors.TooFewTrialsError(f"this method needs at least {FEWEST} trials")
    # any split will do, because the fit pools the classes; alternate trials give both of them some
    return Scores.from_classes(values[::2], values[1::2])


def _grids_by_label(make: Callable[[Scores], DensityGrid], name: str | None) -> Summarizer[TwoGrids]:
    """Trials whose labels are not to be used, and those whose labels are."""

    def split(chunk: Scores) -> TwoGrids:
        none = Scores.part(chunk.target[:0], chunk.nontarget[:0])
        if name is None:
            return Both((make(chunk), make(none)))
        t, n = (_which_are_labeled(values, chunk, name) for values in chunk.columns[name])
        unlabeled = Scores.part(chunk.target[~t], chunk.nontarget[~n])
        return Both((make(unlabeled), make(Scores.part(chunk.target[t], chunk.nontarget[n]))))

    return split


def _which_are_labeled(values: Array, chunk: Scores, name: str) -> BoolArray:
    if name in chunk.categories:  # codes, for true and false of a table, or for words of a text file
        meant = [truth_of(value) for value in chunk.categories[name]]
        if None in meant:
            shown = ", ".join(map(str, chunk.categories[name][:5]))
            raise errors.InputError(f"column {name!r} must hold true and false, or 0 and 1, got {shown}")
        return np.asarray(np.asarray(meant, dtype=bool)[values])
    if values.dtype.kind not in "bui" or not np.isin(values, (0, 1)).all():
        raise errors.InputError(f"column {name!r} must hold true and false, or 0 and 1")
    return values.astype(bool)


def _unlabeled_objective(by_label: tuple[WeightedPoints, ...], free_prior: bool) -> Objective:
    """Mean log-likelihood and gradient by middle, log gap, log sd and log-odds of the prior."""
    points = np.concatenate([weighted.points for weighted in by_label])
    weights = np.concatenate([weighted.weights for weighted in by_label])
    weights = weights / weights.sum()
    ends = np.cumsum([len(weighted.points) for weighted in by_label])

    def objective(x: FloatArray) -> tuple[float, FloatArray]:
        gap, sd, odds = float(np.exp(x[1])), float(np.exp(x[2])), float(x[3])
        z = (points - x[0]) / sd
        half = 0.5 * gap / sd
        up, down = z - half, z + half
        log_e, log_d = -0.5 * up * up + odds, -0.5 * down * down
        share = sigmoid(log_e - log_d)
        # labels that are known replace the responsibilities of the mixture
        share[ends[0] : ends[1]], share[ends[1] :] = 1.0, 0.0
        top = np.logaddexp(log_e, log_d)
        top[ends[0] : ends[1]], top[ends[1] :] = log_e[ends[0] : ends[1]], log_d[ends[1] :]
        norm = np.logaddexp(0.0, odds) + 0.5 * _LOG_TWO_PI + x[2]
        toward = share * up + (1.0 - share) * down
        apart = share * up - (1.0 - share) * down
        square = share * up * up + (1.0 - share) * down * down
        gradient = np.array(
            [
                (weights * toward).sum() / sd,
                (weights * apart).sum() * half,
                (weights * square).sum() - 1.0,
                (weights * share).sum() - float(sigmoid(odds)) if free_prior else 0.0,
            ]
        )
        return float((weights * top).sum() - norm), gradient

    return objective
