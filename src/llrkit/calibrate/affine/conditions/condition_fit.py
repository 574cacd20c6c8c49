"""CMLG given conditions: each class moment is fitted as a smooth function, then the closed form follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._plain import Json
from llrkit._warn import warn_caller
from llrkit.calibrate.affine.conditions.condition_cells import ClassCells, ConditionCells
from llrkit.calibrate.affine.conditions.condition_map import ConditionedMap
from llrkit.calibrate.affine.conditions.condition_terms import ConditionTerms, Powers
from llrkit.calibrate.training_checks import provenance
from llrkit.core.moments import ClassMoments, Moments
from llrkit.core.newton_minimizer import newton
from llrkit.errors import ConstantScoreError, InputError, ReversedScoresWarning, TooFewTrialsError
from llrkit.theory.gaussian_cllr import cllr_from_sigma

_INDEPENDENT = 1e-6
"""A term is kept if more than this share of its size cannot be made of the terms before it."""


@dataclass(frozen=True, eq=False)
class SmoothMoments:
    """Coefficients of the mean and of the log-variance of one class, and their covariance matrix."""

    mean: FloatArray
    log_variance: FloatArray
    covariance: FloatArray

    @property
    def standard_errors(self) -> tuple[FloatArray, FloatArray]:
        """Of the coefficients of the mean, and of the log-variance."""
        errors = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return errors[: len(self.mean)], errors[len(self.mean) :]


def conditioned_from_cells(cells: ConditionCells, alpha: float) -> ConditionedMap:
    """The map, from training trials in cells of their conditions."""
    terms = _usable_terms(cells)
    fits = {
        name: smooth_moments(one, terms.at(one.units), name)
        for name, one in (("target", cells.target), ("nontarget", cells.nontarget))
    }
    target, nontarget = fits["target"], fits["nontarget"]
    fitted = ConditionedMap(
        columns=list(terms.columns),
        basis=terms.basis,
        low=terms.low,
        high=terms.high,
        powers=[list(powers) for powers in terms.powers],
        alpha=alpha,
        mean_target=target.mean,
        mean_nontarget=nontarget.mean,
        log_variance_target=target.log_variance,
        log_variance_nontarget=nontarget.log_variance,
        covariance_target=target.covariance,
        covariance_nontarget=nontarget.covariance,
        method="cmlg",
        options={"alpha": alpha, "conditions": list(terms.columns), "basis": terms.basis},
        details=_details_of_fit(cells, terms, fits, alpha),
        provenance=provenance(cells.moments),
    )
    _warn_of_reversed(cells, terms, fits)
    return fitted


def smooth_moments(cells: ClassCells, design: FloatArray, name: str = "target") -> SmoothMoments:
    """Least squares for the mean, gamma quasi-likelihood for the variance around it.

    The mean is ``f'beta``. The variance ``exp(f'gamma)`` minimizes the sum of ``r^2 / v + log v`` over the
    squared residuals: a convex problem, consistent whatever the shape of the scores, and never negative. With
    a constant term only it is the 1/N variance. The covariance is the sandwich of both estimating equations.
    """
    n = cells.n
    gram = design.T @ (n[:, None] * design)
    beta: FloatArray = np.linalg.solve(gram, design.T @ (n * cells.mean)).astype(np.float64)
    off = cells.mean - design @ beta
    squares = cells.m2 + n * off**2  # sum of squared residuals of each cell
    if squares.sum() == 0.0:
        raise ConstantScoreError(
            f"the {name} scores do not vary around their mean: the slope would be infinite"
        )
    total, level = n.sum(), np.log(squares.sum() / n.sum())

    def cost(gamma: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        log_ratio = design @ gamma
        ratio = squares * np.exp(-level - log_ratio)
        gradient = design.T @ (n - ratio)
        hessian = design.T @ (ratio[:, None] * design)
        return float(ratio.sum() + n @ log_ratio) / total, gradient / total, hessian / total

    minimum = newton(cost, np.zeros(design.shape[1]), tolerance=1e-10, max_evaluations=200)
    if not minimum.converged:
        raise ConstantScoreError(
            f"the {name} scores do not vary around their mean in some conditions: the slope would be infinite"
        )
    gamma = minimum.x.copy()
    gamma[0] += level
    return SmoothMoments(beta, gamma, _sandwich_of_moments(cells, design, off, np.exp(design @ gamma)))


def _sandwich_of_moments(
    cells: ClassCells, design: FloatArray, off: FloatArray, variance: FloatArray
) -> FloatArray:
    """Covariance of both sets of coefficients, from the third and fourth moments of the residuals."""
    n, m2, m3, m4 = cells.n, cells.m2, cells.m3, cells.m4
    first, second = n * off, m2 + n * off**2
    third = m3 + 3.0 * off * m2 + n * off**3
    fourth = m4 + 4.0 * off * m3 + 6.0 * off**2 * m2 + n * off**4

    def outer(weights: FloatArray) -> FloatArray:
        return np.asarray(design.T @ (weights[:, None] * design))

    nothing = np.zeros((design.shape[1],) * 2)
    slope = np.block([[outer(n), nothing], [outer(2.0 * first / variance), outer(second / variance)]])
    crossed = outer(third / variance - first)
    spread = np.block(
        [[outer(second), crossed], [crossed, outer(fourth / variance**2 - 2.0 * second / variance + n)]]
    )
    inverse = np.linalg.inv(slope)
    return np.asarray(inverse @ spread @ inverse.T)


def _usable_terms(cells: ConditionCells) -> ConditionTerms:
    """The terms that the training conditions can tell apart in both classes, in their order."""
    terms = cells.terms
    columns = [(np.sqrt(one.n)[:, None] * terms.at(one.units)).T for one in (cells.target, cells.nontarget)]
    kept: list[int] = []
    for i, powers in enumerate(terms.powers):
        if all(_independent_terms(matrix[i], matrix[kept]) for matrix in columns):
            kept.append(i)
        elif sum(powers) == 1:
            name = terms.columns[powers.index(1)]
            raise InputError(
                f"condition {name!r} has no effect that can be estimated: in one class it is constant or "
                "follows from the others"
            )
    for name, one in (("target", cells.target), ("nontarget", cells.nontarget)):
        if one.n.sum() < 2 * len(kept):
            raise TooFewTrialsError(
                f"{one.n.sum():.0f} {name} trials; {len(kept)} terms of the conditions need {2 * len(kept)}"
            )
    powers_kept: Powers = tuple(terms.powers[i] for i in kept)
    return ConditionTerms(terms.columns, terms.basis, terms.low, terms.high, powers_kept)


def _independent_terms(column: FloatArray, others: FloatArray) -> bool:
    rest = column
    if len(others):
        rest = column - others.T @ np.linalg.lstsq(others.T, column, rcond=None)[0]
    return float(np.linalg.norm(rest)) > _INDEPENDENT * float(np.linalg.norm(column))


def _details_of_fit(
    cells: ConditionCells, terms: ConditionTerms, fits: dict[str, SmoothMoments], alpha: float
) -> dict[str, Json]:
    """The coefficients' errors, and the Cllr that Gaussian classes with these moments would have."""
    errors = {
        f"se_{what}_{name}": error.tolist()
        for name, fit in fits.items()
        for what, error in zip(("mean", "log_variance"), fit.standard_errors, strict=True)
    }
    design = terms.at(cells.target.units)
    gap = design @ (fits["target"].mean - fits["nontarget"].mean)
    v_e, v_d = (np.exp(design @ fits[name].log_variance) for name in ("target", "nontarget"))
    sigma = gap / np.sqrt(alpha * v_e + (1.0 - alpha) * v_d)
    return {
        "terms": terms.names,
        "ranges": terms.ranges,
        "cells": len(cells.cells.groups),
        **errors,
        "cllr": float(np.average(cllr_from_sigma(np.maximum(sigma, 0.0)), weights=cells.target.n)),
    }


def _warn_of_reversed(cells: ConditionCells, terms: ConditionTerms, fits: dict[str, SmoothMoments]) -> None:
    design = terms.at(cells.target.units)
    gap = design @ (fits["target"].mean - fits["nontarget"].mean)
    if (gap <= 0.0).any():
        warn_caller(
            f"in {int((gap <= 0.0).sum())} of {len(gap)} cells of the conditions targets do not score higher "
            "than non-targets: the slope is negative there",
            ReversedScoresWarning,
        )


def residual_moments(cells: ConditionCells, fitted: ConditionedMap) -> Moments:
    """Moments of (score - its smooth mean) / smooth spread: what the shape of the scores is judged by."""
    terms = fitted.terms
    means = {"target": fitted.mean_target, "nontarget": fitted.mean_nontarget}
    residuals = []
    for name, one in (("target", cells.target), ("nontarget", cells.nontarget)):
        design = terms.at(one.units)
        v_e, v_d = (
            np.exp(design @ each) for each in (fitted.log_variance_target, fitted.log_variance_nontarget)
        )
        sd = np.sqrt(fitted.alpha * v_e + (1.0 - fitted.alpha) * v_d)
        off = (one.mean - design @ means[name]) / sd
        residuals.append(_merged_cells(one, off, sd))
    return Moments(residuals[0], residuals[1])


def _merged_cells(cells: ClassCells, off: FloatArray, sd: FloatArray) -> ClassMoments:
    """Cells whose scores were divided by ``sd`` and moved so that their means are ``off``, as one class."""
    total = cells.n.sum()
    mean = float(cells.n @ off) / total
    m2, m3, m4 = cells.m2 / sd**2, cells.m3 / sd**3, cells.m4 / sd**4
    d = off - mean
    second, third, fourth = (
        m2 + cells.n * d**2,
        m3 + 3.0 * d * m2 + cells.n * d**3,
        m4 + 4.0 * d * m3 + 6.0 * d**2 * m2 + cells.n * d**4,
    )
    one = np.ones(1)
    return ClassMoments(
        n=float(total), mean=mean * one, m2=second.sum() * one[:, None], m3=third.sum() * one,
        m4=fourth.sum() * one, low=-np.inf * one, high=np.inf * one,
    )  # fmt: skip
