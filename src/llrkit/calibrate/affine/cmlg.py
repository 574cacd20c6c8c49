"""CMLG: constrained maximum-likelihood Gaussian calibration, the paper's closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import overload

import numpy as np
import numpy.typing as npt

from llrkit._plain import Json
from llrkit._warn import warn_caller
from llrkit.calibrate.affine.choose_cmlg_alpha import choose_alpha
from llrkit.calibrate.affine.cmlg_predicted_cost import PredictedCost, predicted_cost, why_unpredicted
from llrkit.calibrate.affine.conditions.condition_cells import condition_cells
from llrkit.calibrate.affine.conditions.condition_fit import conditioned_from_cells, residual_moments
from llrkit.calibrate.affine.conditions.condition_map import ConditionedMap
from llrkit.calibrate.affine.conditions.condition_terms import BASES, condition_names
from llrkit.calibrate.affine.gaussian_tests import gaussian_tests, shape_problems, shape_statistics
from llrkit.calibrate.fit_decorator import fits_map
from llrkit.calibrate.maps import AffineMap, Map
from llrkit.calibrate.option_checks import class_weight, one_of
from llrkit.calibrate.training_checks import provenance, training_moments
from llrkit.core.moments import ClassMoments, Moments
from llrkit.errors import ConstantScoreError, InputError, ShapeWarning
from llrkit.scores import ScoreSource
from llrkit.theory import GaussianLLR
from llrkit.theory.presets import AnyPoint, cost_of

AUTO = "auto"


@overload
def fit_cmlg(
    source: ScoreSource,
    *,
    alpha: float | str = 0.5,
    point: AnyPoint | None = None,
    groups: str | Sequence[str] | None = None,
    conditions: None = None,
    basis: None = None,
) -> AffineMap: ...
@overload
def fit_cmlg(
    source: ScoreSource, *, alpha: float = 0.5, conditions: Sequence[str] | str, basis: str | None = None
) -> ConditionedMap: ...
@overload
def fit_cmlg(scores: npt.ArrayLike, labels: npt.ArrayLike, /, **options: object) -> AffineMap: ...
@overload
def fit_cmlg(
    source: ScoreSource, *, bound: str, speakers: str | Sequence[str] | None = None, **options: object
) -> Map: ...
@fits_map
def fit_cmlg(
    source: ScoreSource,
    *,
    alpha: float | str = 0.5,
    point: AnyPoint | None = None,
    groups: str | Sequence[str] | None = None,
    conditions: Sequence[str] | str | None = None,
    basis: str | None = None,
) -> AffineMap | ConditionedMap:
    """Affine calibration in closed form from means and variances (van Leeuwen & Brümmer 2013).

    ``a = (m_e - m_d) / v``, ``b = -a (m_e + m_d) / 2`` with the 1/N variance
    ``v = alpha v_e + (1 - alpha) v_d``: the maximum of the class-weighted Gaussian likelihood under the
    constraint that the result is calibrated. One pass, three with ``alpha="auto"``.

    The map's ``details`` hold the standard errors of a and b (for independent trials), the weighted
    log-likelihood, what the Gaussian pair promises (mu, EER, Cllr), the shape of the scores, tests of the
    assumption (``gaussian_tests``), the predicted cost beside logistic regression (``predicted_cost``, or why
    there is none in ``no_predicted_cost``), and with "auto" the cost at every weight (``alpha_choice``). A
    ``ShapeWarning`` says when the scores do not look Gaussian with equal variances: the method is not
    recommended then.

    Parameters
    ----------
    alpha
        Weight of the targets (:term:`alpha`), from 0 to 1, both ends included. It matters only when the
        variances differ.
        "auto" chooses the weight with the lowest cross-validated cost at ``point``, and keeps 1/2 where the
        gain may be chance.
    point
        The operating point of "auto" and of the predicted cost: the name of a preset, an operating point, or
        a prior.
    groups
        For "auto": one column, or the two columns with the speakers of the two sides. No trial is decided by
        a map that has seen its groups. By default the enrollment and test ids of a table; without any,
        trials are taken to be independent.
    conditions
        Columns of numbers that say under which conditions a trial was made, such as ``("enroll_seconds",
        "test_seconds")``. The means and log-variances of the classes are then quadratics of the conditions,
        and every trial is calibrated by the closed form at its own: one map for all durations. Two passes.
        See :meth:`ConditionedMap.at` for the line of one set of conditions.
    basis
        What the quadratics are of: the 'log' of the conditions (the default), their 'inverse', or 'linear',
        the conditions themselves.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.fit_cmlg(lk.Scores([2.0, 4.0], [0.0, 2.0]))
    AffineMap(cmlg: llr = 2 * score -4)
    >>> rng = np.random.default_rng(1)
    >>> wide = lk.Scores(rng.normal(5.0, 1.6, 4000), rng.normal(0.0, 1.0, 40_000))
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     fitted = lk.fit_cmlg(wide, alpha="auto", point="sre12")
    >>> choice = fitted.details["alpha_choice"]
    >>> fitted.options["alpha"] < 0.2, round(choice["cost"], 2), round(choice["cost_at_half"], 2)
    (True, 0.25, 0.4)
    """
    if conditions is None and basis is not None:
        raise InputError("basis needs conditions (conditions=...)")
    if conditions is not None:
        one_of(basis or BASES[0], BASES, "basis of the conditions")
        if isinstance(alpha, str) or point is not None or groups is not None:
            raise InputError("conditions need a number as alpha; alpha='auto', point and groups are refused")
        cells = condition_cells(source, condition_names(conditions), basis or BASES[0])
        conditioned = conditioned_from_cells(cells, class_weight(alpha))
        warn_of_shape(residual_moments(cells, conditioned), fixed_alpha=True)
        return conditioned
    cost = None if point is None else cost_of(point)
    chosen: dict[str, Json] = {}
    if isinstance(alpha, str):
        if alpha != AUTO or cost is None:
            raise InputError(
                f'alpha must be between 0 and 1, or "auto" with an operating point (point=...); got {alpha!r}'
            )
        moments = training_moments(source)
        choice = choose_alpha(source, moments, cost, groups)
        weight, chosen["alpha_choice"] = choice.alpha, choice.to_dict()
    else:
        if groups is not None:
            raise InputError('groups need alpha="auto"')
        weight, moments = class_weight(alpha), training_moments(source)
    fitted = cmlg_from_moments(moments, weight)
    predicted = predicted_cost(moments, fitted.a, fitted.b, cost)
    found: dict[str, Json] = {
        "gaussian_tests": [test.to_dict() for test in gaussian_tests(moments)],
        "predicted_cost": None if predicted is None else predicted.to_dict(),
    }
    if reason := why_unpredicted(moments):
        found["no_predicted_cost"] = reason
    warn_of_shape(moments, predicted, fixed_alpha=bool(chosen))
    return replace(fitted, details={**fitted.details, **found, **chosen})


def cmlg_from_moments(moments: Moments, alpha: float = 0.5) -> AffineMap:
    """The closed form, from moments that were checked."""
    target, nontarget = moments.target, moments.nontarget
    m_e, m_d = float(target.mean[0]), float(nontarget.mean[0])
    v_e, v_d = float(target.variance[0]), float(nontarget.variance[0])
    v = alpha * v_e + (1.0 - alpha) * v_d
    if v == 0.0:
        which = {0.0: "the non-target scores are", 1.0: "the target scores are"}.get(alpha, "each class is")
        raise ConstantScoreError(f"{which} constant: the slope would be infinite")
    a = (m_e - m_d) / v
    b = -a * (m_e + m_d) / 2.0
    mu = a * (m_e - m_d) / 2.0
    pair = GaussianLLR.from_mu(mu) if mu > 0 else None
    se_a, se_b = _cmlg_standard_errors(moments, alpha, a, v)
    details: dict[str, Json] = {
        "mean_target": m_e,
        "mean_nontarget": m_d,
        "variance": v,
        "se_a": se_a,
        "se_b": se_b,
        "log_likelihood": -0.5 * (math.log(2.0 * math.pi * v) + 1.0),
        "mu": mu,
        "eer": pair.eer if pair else 0.5,
        "cllr": pair.cllr if pair else 1.0,
        **shape_statistics(moments),
    }
    return AffineMap(
        a=a, b=b, method="cmlg", options={"alpha": alpha}, details=details, provenance=provenance(moments)
    )


def _cmlg_standard_errors(moments: Moments, alpha: float, a: float, v: float) -> tuple[float, float]:
    """Delta method: a and b are functions of two means and two variances, estimated on independent trials."""
    middle = (float(moments.target.mean[0]) + float(moments.nontarget.mean[0])) / 2.0
    var_a = var_b = 0.0
    for class_moments, sign, weight in ((moments.target, 1.0, alpha), (moments.nontarget, -1.0, 1.0 - alpha)):
        covariance = _moment_covariance(class_moments)
        grad_a = np.array([sign / v, -weight * a / v])
        grad_b = -middle * grad_a - np.array([a / 2.0, 0.0])
        var_a += float(grad_a @ covariance @ grad_a)
        var_b += float(grad_b @ covariance @ grad_b)
    return math.sqrt(max(var_a, 0.0)), math.sqrt(max(var_b, 0.0))


def _moment_covariance(moments: ClassMoments) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Covariance matrix of the sample mean and the sample variance of a class."""
    variance = float(moments.variance[0])
    third, fourth = float(moments.m3[0] / moments.n), float(moments.m4[0] / moments.n)
    return np.array([[variance, third], [third, fourth - variance**2]]) / moments.n


def warn_of_shape(
    moments: Moments, predicted: PredictedCost | None = None, *, fixed_alpha: bool = False
) -> None:
    """Warn when CMLG is not recommended for these scores.

    ``fixed_alpha``: alpha was chosen for a point already, or cannot be, so that nobody is told to do it.
    """
    problems = shape_problems(moments)
    if problems:
        costs = "" if predicted is None else f" Predicted: {predicted}."
        if reason := why_unpredicted(moments):
            costs = f" What that costs is not predicted: {reason}."
        other = "" if fixed_alpha else ', or choose alpha for the operating point: alpha="auto", point=...'
        warn_caller(
            f"CMLG assumes Gaussian scores of equal variance, but {'; '.join(problems)}.{costs} "
            f"Compare with fit_logistic{other}.",
            ShapeWarning,
        )
