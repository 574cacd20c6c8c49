"""CMLG with parameters that depend on conditions of a trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from llrkit.base.arguments import Array, FloatArray, IntArray
from llrkit.base.process import cached_property, warn_caller
from llrkit.base.text import Json
from llrkit.core.groups import decoded, positions_by_code
from llrkit.core.numerics import newton
from llrkit.core.summaries import ClassMoments, Grouped, Moments, both
from llrkit.errors import ConstantScoreError, InputError, ReversedScoresWarning, TooFewTrialsError
from llrkit.fits.training_checks import check_moments, provenance
from llrkit.maps.composite import ConditionedMap, ConditionTerms, condition_values, quadratic_powers
from llrkit.scores import Scores, ScoreSource
from llrkit.theory.gaussian import cllr_from_sigma

_CELLS = 1024
"""About as many cells are made of the range of the conditions, whatever their number."""


@dataclass(frozen=True, eq=False)
class ClassCells:
    """Moments of one class, one row for each cell that has trials."""

    n: FloatArray
    mean: FloatArray
    m2: FloatArray
    m3: FloatArray
    m4: FloatArray
    units: FloatArray
    """Mean of the conditions of each cell, on -1 ... 1."""

    @classmethod
    def of(cls, cells: Sequence[ClassMoments]) -> ClassCells:
        """From moments of the score (first) and of the conditions."""
        used = [cell for cell in cells if cell.n > 0]
        rows = [(cell.n, cell.mean[0], cell.m2[0, 0], cell.m3[0], cell.m4[0]) for cell in used]
        n, mean, m2, m3, m4 = np.ascontiguousarray(np.array(rows, dtype=np.float64).reshape(-1, 5).T)
        return cls(n, mean, m2, m3, m4, np.array([cell.mean[1:] for cell in used]))

    def about(
        self, off: FloatArray, sd: FloatArray | float = 1.0
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Sums of squares, cubes and fourth powers in each cell, about what is ``off`` below its mean.

        Scores are divided by ``sd`` first. By the binomial expansion.
        """
        n, m2, m3, m4 = self.n, self.m2 / sd**2, self.m3 / sd**3, self.m4 / sd**4
        fourth = m4 + 4.0 * off * m3 + 6.0 * off**2 * m2 + n * off**4
        return m2 + n * off**2, m3 + 3.0 * off * m2 + n * off**3, fourth


@dataclass(frozen=True, eq=False)
class ConditionCells:
    """The training trials of both classes in cells of the range of their conditions."""

    terms: ConditionTerms
    moments: Moments
    """Of all trials together."""
    cells: Grouped[int, Moments]

    @cached_property
    def target(self) -> ClassCells:
        """The targets."""
        return ClassCells.of([cell.target for cell in self.cells.groups.values()])

    @cached_property
    def nontarget(self) -> ClassCells:
        """The non-targets."""
        return ClassCells.of([cell.nontarget for cell in self.cells.groups.values()])

    def without(self, **conditions: float) -> ConditionCells:
        """All cells but the one these conditions are in, on the same range.

        Where conditions have few values this leaves out one combination of them.
        """
        units = self.terms.units({name: np.array([value]) for name, value in conditions.items()})
        left_out = int(cell_numbers(units)[0])
        kept = {key: cell for key, cell in self.cells.groups.items() if key != left_out}
        if len(kept) == len(self.cells.groups):
            raise InputError(f"no training trial has the conditions {conditions}")
        return replace(self, cells=Grouped(kept))


def cell_numbers(units: FloatArray) -> IntArray:
    """The cell of each trial: the range of every condition is cut evenly."""
    n = units.shape[1]
    # 1e-9 in case a root comes out just below a whole number
    cuts = min(256, int(_CELLS ** (1.0 / n) + 1e-9))
    # the upper end of the range belongs to the last cell
    places = np.minimum((0.5 * (units + 1.0) * cuts).astype(np.int64), cuts - 1)
    return np.asarray(places @ cuts ** np.arange(n))


def condition_cells(source: ScoreSource, names: Sequence[str], basis: str) -> ConditionCells:
    """Two passes: ranges and moments of all trials, then the moments of each cell.

    A cell stands for its trials at the mean of their conditions; where conditions have few values, as when
    recordings were cut to a few durations, nothing is lost.
    """
    trials = source.with_columns(*names)

    def moments_of_conditions(chunk: Scores) -> ClassMoments:
        by_class = [_decoded_conditions(chunk, names, k) for k in (0, 1)]
        return ClassMoments.of(np.vstack([condition_values(columns, names, basis) for columns in by_class]))

    moments, ranges = trials.reduce(both(Moments.of, moments_of_conditions)).summaries
    check_moments(source, moments)
    for name, low, high in zip(names, ranges.low, ranges.high, strict=True):
        if not low < high:
            raise InputError(f"column {name!r} has the same value in all trials, so it cannot be a condition")
    terms = ConditionTerms(tuple(names), basis, ranges.low, ranges.high, quadratic_powers(len(names)))

    def of(chunk: Scores) -> Grouped[int, Moments]:
        groups: list[dict[int, ClassMoments]] = []
        for k, scores in enumerate((chunk.target, chunk.nontarget)):
            units = terms.units(_decoded_conditions(chunk, names, k))
            wide = np.concatenate([scores.reshape(-1, 1).astype(np.float64), units], axis=1)
            where = positions_by_code(cell_numbers(units))
            groups.append({key: ClassMoments.of(wide[rows]) for key, rows in where.items()})
        # a class may be missing from a cell that the other one has; the merge needs an empty summary there
        empty = ClassMoments.of(np.empty((0, 1 + len(names))))
        keys = sorted({*groups[0], *groups[1]})
        return Grouped({key: Moments(*(group.get(key, empty) for group in groups)) for key in keys})

    return ConditionCells(terms, moments, trials.reduce(of))


def _decoded_conditions(chunk: Scores, names: Sequence[str], class_index: int) -> dict[str, Array]:
    return {name: decoded(chunk, name, class_index) for name in names}


_INDEPENDENT = 1e-6
"""A term is kept if more than this share of its size cannot be made of the terms before it."""


@dataclass(frozen=True, eq=False)
class SmoothMoments:
    """Coefficients of the mean and of the log-variance of one class, and their covariance matrix."""

    mean: FloatArray
    log_variance: FloatArray
    covariance: FloatArray


def conditioned_from_cells(cells: ConditionCells, alpha: float) -> ConditionedMap:
    """The map, from training trials in cells of their conditions."""
    terms = _usable_terms(cells)
    fits = {
        name: smooth_moments(one, terms.at(one.units), name)
        for name, one in (("target", cells.target), ("nontarget", cells.nontarget))
    }
    target, nontarget = fits["target"], fits["nontarget"]
    # looked at where targets are, not over the whole range: conditions there need not occur together
    design = terms.at(cells.target.units)
    gap = design @ (target.mean - nontarget.mean)
    if (gap <= 0.0).any():
        warn_caller(
            f"in {int((gap <= 0.0).sum())} of {len(gap)} cells of the conditions targets do not score higher "
            "than non-targets: the slope is negative there",
            ReversedScoresWarning,
        )
    v_e, v_d = np.exp(design @ target.log_variance), np.exp(design @ nontarget.log_variance)
    sigma = gap / np.sqrt(alpha * v_e + (1.0 - alpha) * v_d)
    n_cells = len(cells.cells.groups)
    details: dict[str, Json] = {"terms": terms.names, "ranges": terms.ranges, "cells": n_cells}
    for name, fit in fits.items():
        errors, n_terms = np.sqrt(np.maximum(np.diag(fit.covariance), 0.0)).tolist(), len(fit.mean)
        details |= {f"se_mean_{name}": errors[:n_terms], f"se_log_variance_{name}": errors[n_terms:]}
    # What Gaussian classes with these moments would have. Gaussian LLRs exist for sigma >= 0 only; cells with
    # reversed means count as useless (1 bit).
    details["cllr"] = float(np.average(cllr_from_sigma(np.maximum(sigma, 0.0)), weights=cells.target.n))
    return ConditionedMap(
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
        details=details,
        provenance=provenance(cells.moments),
    )


def smooth_moments(cells: ClassCells, design: FloatArray, name: str = "target") -> SmoothMoments:
    """Least squares for the mean, gamma quasi-likelihood for the variance around it.

    The mean is ``f'beta``. The variance ``exp(f'gamma)`` minimizes the sum of ``r^2 / v + log v`` over the
    squared residuals: a convex problem, consistent whatever the shape of the scores, and never negative. With
    a constant term only it is the 1/N variance. The covariance is the sandwich of both estimating equations.
    """
    n = cells.n
    gram = design.T @ (n[:, None] * design)
    beta: FloatArray = np.linalg.solve(gram, design.T @ (n * cells.mean)).astype(np.float64)
    # a smooth mean does not go through the mean of each cell; what it misses belongs to the variance
    off = cells.mean - design @ beta
    second, third, fourth = cells.about(off)
    if second.sum() == 0.0:
        raise ConstantScoreError(
            f"the {name} scores do not vary around their mean: the slope would be infinite"
        )
    # the search is for the log-ratio to the pooled variance: 0 is the fit with a constant term only, and a
    # start from which exp() does not overflow
    total, level = n.sum(), np.log(second.sum() / n.sum())

    def cost(gamma: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        log_ratio = design @ gamma
        ratio = second * np.exp(-level - log_ratio)
        gradient = design.T @ (n - ratio)
        hessian = design.T @ (ratio[:, None] * design)
        # divided by the number of trials, so the tolerance is for the mean, whatever the size of the set
        return float(ratio.sum() + n @ log_ratio) / total, gradient / total, hessian / total

    minimum = newton(cost, np.zeros(design.shape[1]), tolerance=1e-10, max_evaluations=200)
    # where residuals vanish in some conditions, log v has no minimum and the search runs away
    if not minimum.converged:
        raise ConstantScoreError(
            f"the {name} scores do not vary around their mean in some conditions: the slope would be infinite"
        )
    gamma = minimum.x.copy()
    gamma[0] += level
    # the covariance, from the third and fourth moments of the residuals
    first, variance = n * off, np.exp(design @ gamma)

    def outer(weights: FloatArray) -> FloatArray:
        return np.asarray(design.T @ (weights[:, None] * design))

    nothing = np.zeros((design.shape[1],) * 2)
    # the equation of the variance also depends on the mean through the residuals, that of the mean not on the
    # variance: the matrix is block triangular
    slope = np.block([[outer(n), nothing], [outer(2.0 * first / variance), outer(second / variance)]])
    # mean and variance estimates are correlated where scores are skewed
    crossed = outer(third / variance - first)
    spread = np.block(
        [[outer(second), crossed], [crossed, outer(fourth / variance**2 - 2.0 * second / variance + n)]]
    )
    inverse = np.linalg.inv(slope)
    return SmoothMoments(beta, gamma, np.asarray(inverse @ spread @ inverse.T))


def _usable_terms(cells: ConditionCells) -> ConditionTerms:
    """The terms that the training conditions can tell apart in both classes, in their order."""
    terms = cells.terms
    # rows weighted by the root of the count, as least squares sees them:
    # a term that only sparse cells carry counts for little
    columns = [(np.sqrt(one.n)[:, None] * terms.at(one.units)).T for one in (cells.target, cells.nontarget)]
    kept: list[int] = []
    for i, powers in enumerate(terms.powers):
        if all(_independent_terms(matrix[i], matrix[kept]) for matrix in columns):
            kept.append(i)
        # a squared or crossed term that cannot be estimated is
        # dropped; a condition itself was asked for by name
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
    return replace(terms, powers=tuple(terms.powers[i] for i in kept))


def _independent_terms(column: FloatArray, others: FloatArray) -> bool:
    rest = column
    if len(others):
        rest = column - others.T @ np.linalg.lstsq(others.T, column, rcond=None)[0]
    return float(np.linalg.norm(rest)) > _INDEPENDENT * float(np.linalg.norm(column))


def residual_moments(cells: ConditionCells, fitted: ConditionedMap) -> Moments:
    """Moments of (score - its smooth mean) / smooth spread: what the shape of the scores is judged by."""
    terms = fitted.terms
    means = {"target": fitted.mean_target, "nontarget": fitted.mean_nontarget}
    residuals = []
    for name, one in (("target", cells.target), ("nontarget", cells.nontarget)):
        design = terms.at(one.units)
        v_e, v_d = np.exp(design @ fitted.log_variance_target), np.exp(design @ fitted.log_variance_nontarget)
        sd = np.sqrt(fitted.alpha * v_e + (1.0 - fitted.alpha) * v_d)
        # both classes are divided by the common spread of the map, so that unequal variances remain visible
        off = (one.mean - design @ means[name]) / sd
        total, unit = one.n.sum(), np.ones(1)
        mean = float(one.n @ off) / total
        second, third, fourth = (powers.sum() * unit for powers in one.about(off - mean, sd))
        # extremes of residuals are not known from cells; the shape is judged by moments alone
        low, high = -np.inf * unit, np.inf * unit
        residuals.append(ClassMoments(float(total), mean * unit, second[:, None], third, fourth, low, high))
    return Moments(residuals[0], residuals[1])
