"""Cross-validation over trials of several classes, and what it says about calibration."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np

from llrkit._random import RNG, seed_of
from llrkit.choose.fit_best import CrossCalibration
from llrkit.choose.fold_fits import fit_folds
from llrkit.choose.folds import Folds, Pair, apart_from, folds_of_values, group_columns
from llrkit.choose.methods import Fit, fit_of, method_name
from llrkit.core.column_values import plain_value
from llrkit.core.summary_algebra import SummaryBase
from llrkit.errors import InputError
from llrkit.multiclass.class_counts_and_priors import as_classes
from llrkit.multiclass.class_map_base import ClassMap
from llrkit.multiclass.class_methods import METHODS
from llrkit.scores.checked_arrays import read_only
from llrkit.scores.class_scores import ClassScores, ClassSource, ClassVectors
from llrkit.scores.derived_sources import ChangedChunks
from llrkit.trust.calibration.calibration_loss import CalibrationLoss as CalibrationLoss


def make_class_folds(
    source: ClassSource,
    groups: str | Sequence[str] | None = None,
    folds: int | str = 5,
    seed: int = 0,
    *,
    leave_one_out: bool = False,
) -> Folds:
    """Folds of each class by the place of a trial, of whole groups, or those that a column names."""
    columns = group_columns(groups, folds)
    if columns is None:
        return Folds(int(folds), seed=seed)
    if len(columns) != 1:
        raise InputError(f"groups are one column where there are several classes, got {list(columns)}")
    values = source.with_columns(*columns).reduce(_DistinctValues.at(columns[0])).values
    return folds_of_values(columns, values, folds, seed, leave_one_out=leave_one_out)


def _class_training_source(source: ClassSource, folds: Folds, pair: Pair) -> ClassSource:
    """The trials outside a fold."""

    def kept(chunk: ClassVectors) -> ClassVectors:
        return chunk.take(apart_from(folds.of_rows(chunk), folds.n, pair))

    return ChangedChunks(source, kept, folds.carried)


def _crossed_class_chunk(chunk: ClassVectors, folds: Folds, maps: Mapping[Pair, ClassMap]) -> ClassScores:
    """The log-likelihoods of each trial under the map that has not seen its fold."""
    fold = folds.of_rows(chunk)
    loglik = np.empty((len(chunk.values), len(chunk.classes)))
    for (f, g), fitted in maps.items():
        rows = fold == f * folds.n + g
        loglik[rows] = fitted(chunk.values[rows])
    return ClassScores.part(read_only(loglik), chunk.codes, chunk.classes, chunk.columns)


def cross_calibrate(
    source: ClassSource,
    method: str | Fit[ClassMap] = "scale-offset",
    *,
    groups: str | Sequence[str] | None = None,
    leave_out: str | None = None,
    folds: int | str = 5,
    rng: RNG = 0,
    **options: object,
) -> CrossCalibration[ClassSource, ClassMap]:
    """Log-likelihoods for reporting: each trial is calibrated by a map that has not seen its fold.

    The result has the calibrated trials as its ``source``, like that of :func:`llrkit.cross_calibrate`.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.ClassScores`.
    method, **options
        A calibrator of this room, by name or as a function, and its options.
    groups
        A column whose values never share two folds: the source or the speaker of a trial.
    leave_out
        In place of ``groups``: a column whose values are left out one at a time.
    folds
        How many folds each class is dealt into, or the name of a column whose values are the folds.
    rng
        Another seed assigns the folds differently.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(3)
    >>> labels = np.arange(600) % 3
    >>> scores = lk.ClassScores(9.0 * (rng.normal(size=(600, 3)) + 2.0 * np.eye(3)[labels]), labels)
    >>> crossed = lk.multiclass.cross_calibrate(scores)
    >>> round(lk.multiclass.cllr(scores), 2), round(lk.multiclass.cllr(crossed.source), 2)
    (1.11, 0.49)
    """
    seed = seed_of(rng)
    if leave_out is not None and groups is not None:
        raise InputError("give groups or leave_out, not both")
    left = groups if leave_out is None else leave_out
    source = as_classes(source)
    assigned = make_class_folds(source, left, folds, seed, leave_one_out=leave_out is not None)
    training = partial(_class_training_source, source, assigned)
    name = method_name(method, METHODS)
    maps = fit_folds(fit_of(method, METHODS), training, assigned.pairs, options, name)
    crossed = ChangedChunks(
        source, partial(_crossed_class_chunk, folds=assigned, maps=maps), assigned.carried
    )
    return CrossCalibration(crossed, MappingProxyType(maps), assigned)


@dataclass(frozen=True, eq=False)
class _DistinctValues(SummaryBase):
    """The distinct values of a column."""

    values: frozenset[Hashable]

    @classmethod
    def at(cls, column: str) -> Callable[[ClassVectors], _DistinctValues]:
        return lambda chunk: cls(frozenset(plain_value(v) for v in np.unique(chunk.columns[column])))

    def __add__(self, other: _DistinctValues) -> _DistinctValues:
        return _DistinctValues(self.values | other.values)

    def __mul__(self, weight: float) -> _DistinctValues:
        return self
