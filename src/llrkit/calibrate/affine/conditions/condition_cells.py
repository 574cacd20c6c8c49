"""Training trials by their conditions: the moments of the scores of each cell of the range, in two passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from llrkit._arrays import Array, FloatArray, IntArray
from llrkit._cached import cached_property
from llrkit.calibrate.affine.conditions.condition_terms import (
    ConditionTerms,
    condition_values,
    quadratic_powers,
)
from llrkit.calibrate.training_checks import check_moments
from llrkit.core.column_values import decoded, positions_by_code
from llrkit.core.moments import ClassMoments, Moments
from llrkit.core.summary_algebra import Grouped, SummaryBase, both
from llrkit.errors import InputError, SystemCountError
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.source import as_source

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
            empty = np.full((1, len(names)), np.inf)
            return cls(np.vstack([values, empty]).min(axis=0), np.vstack([values, -empty]).max(axis=0))

        return of

    def __add__(self, other: ConditionRange) -> ConditionRange:
        return ConditionRange(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def __mul__(self, weight: float) -> ConditionRange:
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
    cuts = min(256, int(_CELLS ** (1.0 / n) + 1e-9))
    places = np.minimum((0.5 * (units + 1.0) * cuts).astype(np.int64), cuts - 1)
    return np.asarray(places @ cuts ** np.arange(n))


def condition_cells(source: ScoreSource, names: Sequence[str], basis: str) -> ConditionCells:
    """Two passes: ranges and moments of all trials, then the moments of each cell.

    A cell stands for its trials at the mean of their conditions; where conditions have few values, as when
    recordings were cut to a few durations, nothing is lost.
    """
    trials = as_source(source).with_columns(*names)
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
        empty = ClassMoments.of(np.empty((0, 1 + len(names))))
        keys = sorted({*groups[0], *groups[1]})
        return Grouped({key: Moments(*(group.get(key, empty) for group in groups)) for key in keys})

    return ConditionCells(terms, moments, trials.reduce(of))


def _decoded_conditions(chunk: Scores, names: Sequence[str], class_index: int) -> dict[str, Array]:
    return {name: decoded(chunk, name, class_index) for name in names}
