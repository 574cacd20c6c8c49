"""CMLG with parameters that depend on conditions of a trial."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from llrkit.base.arguments import Array, FloatArray, IntArray
from llrkit.base.process import cached_property, warn_caller
from llrkit.base.text import Json
from llrkit.core.groups import decoded, positions_by_code
from llrkit.core.numerics import newton
from llrkit.core.summaries import ClassMoments, Grouped, Moments, SummaryBase, both
from llrkit.errors import (
    ConstantScoreError,
    InputError,
    ReversedScoresWarning,
    SystemCountError,
    TooFewTrialsError,
)
from llrkit.fits.training_checks import check_moments, provenance
from llrkit.maps.composite import ConditionedMap, ConditionTerms, Powers, condition_values, quadratic_powers
from llrkit.scores import Scores, ScoreSource
from llrkit.theory.gaussian import cllr_from_sigma

_CELLS = 1024
"""About as many cells are made of the range of the conditions, whatever their number."""


@dataclass(frozen=True, eq=False)
class ConditionRange(SummaryBase):
    """Smallest and largest value of each condition."""

    low: FloatArray
    high: FloatArray

    @classmethod
    def at(cls, names: Sequence[str], basis: str) -> Callable[[Scores], ConditionRange]:
        """A summarizer."""

        def of(chunk: Scores) -> ConditionRange:
            values = np.concatenate(
                [condition_values(_decoded_conditions(chunk, names, k), names, basis) for k in (0, 1)]
            )
            # a chunk may have no trials, and the minimum of nothing is an error: an infinite row is neutral
            empty = np.full((1, len(names)), np.inf)
            return cls(np.vstack([values, empty]).min(axis=0), np.vstack([values, -empty]).max(axis=0))

        return of

    def __add__(self, other: ConditionRange) -> ConditionRange:
        return ConditionRange(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def __mul__(self, weight: float) -> ConditionRange:
        # how often a trial counts does not move the range of its conditions
        return self


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
        return cls(
            np.array([cell.n for cell in used], dtype=np.float64),
            np.array([cell.mean[0] for cell in used]),
            np.array([cell.m2[0, 0] for cell in used]),
            np.array([cell.m3[0] for cell in used]),
            np.array([cell.m4[0] for cell in used]),
            np.array([cell.mean[1:] for cell in used]),
        )


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
    moments, ranges = trials.reduce(both(Moments.of, ConditionRange.at(names, basis))).summaries
    check_moments(source, moments)
    if len(moments.target.mean) != 1:
        raise SystemCountError(f"one system expected, got {len(moments.target.mean)}; use fit_fusion")
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
    # checked where targets are, not over the whole range: conditions there need not occur together
    gap = terms.at(cells.target.units) @ (fits["target"].mean - fits["nontarget"].mean)
    if (gap <= 0.0).any():
        warn_caller(
            f"in {int((gap <= 0.0).sum())} of {len(gap)} cells of the conditions targets do not score higher "
            "than non-targets: the slope is negative there",
            ReversedScoresWarning,
        )
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
    # a smooth mean does not go through the mean of each cell; what it misses belongs to the variance
    off = cells.mean - design @ beta
    squares = cells.m2 + n * off**2  # sum of squared residuals of each cell
    if squares.sum() == 0.0:
        raise ConstantScoreError(
            f"the {name} scores do not vary around their mean: the slope would be infinite"
        )
    # the search is for the log-ratio to the pooled variance: 0 is the fit with a constant term only, and a
    # start from which exp() does not overflow
    total, level = n.sum(), np.log(squares.sum() / n.sum())

    def cost(gamma: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        log_ratio = design @ gamma
        ratio = squares * np.exp(-level - log_ratio)
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
    return SmoothMoments(beta, gamma, _sandwich_of_moments(cells, design, off, np.exp(design @ gamma)))


def _sandwich_of_moments(
    cells: ClassCells, design: FloatArray, off: FloatArray, variance: FloatArray
) -> FloatArray:
    """Covariance of both sets of coefficients, from the third and fourth moments of the residuals."""
    n, m2, m3, m4 = cells.n, cells.m2, cells.m3, cells.m4
    first, second = n * off, m2 + n * off**2
    # moments about the smooth mean, from those about the mean of the cell (binomial expansion)
    third = m3 + 3.0 * off * m2 + n * off**3
    fourth = m4 + 4.0 * off * m3 + 6.0 * off**2 * m2 + n * off**4

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
    return np.asarray(inverse @ spread @ inverse.T)


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
        # Gaussian LLRs exist for sigma >= 0 only; cells with reversed means count as useless (1 bit)
        "cllr": float(np.average(cllr_from_sigma(np.maximum(sigma, 0.0)), weights=cells.target.n)),
    }


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
        # both classes are divided by the common spread of the map, so that unequal variances remain visible
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
        # extremes of residuals are not known from cells; the shape is judged by moments alone
        m4=fourth.sum() * one, low=-np.inf * one, high=np.inf * one,
    )  # fmt: skip
