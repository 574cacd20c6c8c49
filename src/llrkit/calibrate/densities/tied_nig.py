"""Tied normal inverse Gaussian scores: non-Gaussian classes, and yet an affine LLR."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from llrkit._arrays import Array, ComplexArray, FloatArray
from llrkit._plain import Json
from llrkit.calibrate.affine.cmlg import cmlg_from_moments
from llrkit.calibrate.densities.likelihood_maximizer import Objective, maximize
from llrkit.calibrate.densities.nig import BEND, TAIL, natural_parameters, shape_of, standard_nig
from llrkit.calibrate.densities.training_points import TrainingPoints, WeightedPoints, training_points
from llrkit.calibrate.fit_decorator import fits_map
from llrkit.calibrate.maps import AffineMap
from llrkit.calibrate.training_checks import provenance, training_moments
from llrkit.core.elementary_functions import probability
from llrkit.scores import ScoreSource

_STEEPEST = 100.0
"""Half the slope at which the search ends, for classes with a standard deviation near 1."""


@fits_map
def fit_tied_nig(source: ScoreSource, *, alpha: float = 0.5) -> AffineMap:
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
    alpha
        Weight of the targets (:term:`alpha`), strictly between 0 and 1.

    References
    ----------
    Cumani & Laface, "Tied normal variance-mean mixtures for linear score calibration", ICASSP 2019.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.calibrate.densities.tied_nig import fit_tied_nig
    >>> rng = np.random.default_rng(1)
    >>> pair = lk.theory.HyperbolicLLR.from_nig(alpha=1.2, beta=-0.4, delta=4.0)
    >>> scores = lk.Scores(pair.target.rvs(50_000, rng), pair.nontarget.rvs(50_000, rng))
    >>> calibrate = fit_tied_nig(scores)
    >>> round(calibrate.a, 1), round(calibrate.b, 1)
    (1.0, 0.0)
    """
    share = probability(alpha, "alpha")
    moments = training_moments(source, at_least=2)
    return tied_from_training(training_points(source, moments), share)


def tied_from_training(training: TrainingPoints, alpha: float) -> AffineMap:
    """The fit, from points that stand for the scores."""
    target, nontarget = training.standardized()
    gaussian = cmlg_from_moments(training.moments, alpha)
    center, scale = training.center, training.scale
    half = 0.5 * gaussian.a * scale  # half the slope, in units of the standardized scores
    if abs(half) > _STEEPEST:
        likelihood = gaussian.detail("log_likelihood")
        return _affine_map_of_tied_nig(training, alpha, gaussian.a, gaussian.b, {
            "log_likelihood": likelihood, "log_likelihood_cmlg": likelihood, "gaussian_limit": True,
            "shape": np.inf, "delta": np.inf,
        })  # fmt: skip

    spread = 0.5 * np.log(gaussian.detail("variance") / scale**2)
    starts = [[0.0, spread, tail, 0.0, half] for tail in (0.1, 0.5)]
    bounds = [(-20.0, 20.0), (-12.0, 8.0), TAIL, BEND, (-_STEEPEST, _STEEPEST)]
    exact, rough = (
        _tied_nig_likelihood(target, nontarget, alpha),
        _tied_nig_likelihood(target.fewer(), nontarget.fewer(), alpha),
    )
    best = maximize(exact, starts, bounds, rough=rough)
    likelihood = best.value - float(np.log(abs(scale)))
    details: dict[str, Json] = {
        "log_likelihood": likelihood,
        "log_likelihood_cmlg": gaussian.detail("log_likelihood"),
        "gaussian_limit": likelihood <= gaussian.detail("log_likelihood"),
        "gradient_left": best.gradient,
    }
    (mean_e, log_sd_e, p_e, e_e), (mean_d, log_sd_d, p_d, e_d) = np.real(
        np.array(_tied_nig_classes(best.x))
    ).tolist()
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
    if details["gaussian_limit"]:
        a, b, details["log_likelihood"] = gaussian.a, gaussian.b, gaussian.detail("log_likelihood")
        shape = delta = np.inf
    details |= {"shape": shape / abs(scale), "delta": delta * abs(scale), "location": center + scale * loc}
    details |= {"beta_target": beta_e / scale, "beta_nontarget": beta_d / scale}
    return _affine_map_of_tied_nig(training, alpha, a, b, details)


def _affine_map_of_tied_nig(
    training: TrainingPoints, alpha: float, a: float, b: float, details: Mapping[str, object]
) -> AffineMap:
    return AffineMap(
        a=a, b=b, method="tied_nig", options={"alpha": alpha}, details=details,
        provenance=provenance(training.moments),
    )  # fmt: skip


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
    sinh, cosh, coshm1 = np.sinh(half * eps), np.cosh(half * eps), 2.0 * np.sinh(0.5 * half * eps) ** 2
    classes = []
    for sign in (1.0, -1.0):
        ratio = cosh + sign * p * sinh / eps  # cosh(bend) over that halfway
        classes.append(
            [
                middle + np.exp(log_sd) * (p * coshm1 / eps**2 + sign * sinh / eps),
                log_sd + 1.5 * np.log(ratio),
                (p * cosh + sign * eps * sinh) / np.sqrt(ratio),
                e / np.sqrt(ratio),
            ]
        )
    return classes


def jacobian(function: Callable[[Array], list[list[Array]]], x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Values and derivatives of an analytic function, by complex steps, exact to rounding.

    The function must take arrays for the numbers in ``x``. Last axis of the derivatives: by ``x[i]``.
    """
    moved: ComplexArray = np.array(function(x[:, None] + 1e-30j * np.eye(len(x))))
    return np.real(moved[..., 0]), np.imag(moved) / 1e-30
