"""Cross-validation over trials of several classes, and what it says about calibration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from llrkit.choose.folds import deal_folds
from llrkit.core.column_values import plain_value
from llrkit.core.summary import SummaryBase
from llrkit.errors import InputError
from llrkit.multiclass.class_maps import ClassMap
from llrkit.multiclass.class_metrics import cllr
from llrkit.multiclass.fits import fit_scale_offset
from llrkit.multiclass.priors import Prior
from llrkit.scores.checked_arrays import read_only
from llrkit.scores.classes import ClassScores, ClassSource, ClassVectors
from llrkit.scores.roles import POSITION
from llrkit.scores.source import S
from llrkit.trust.calibration.loss_result import CalibrationLoss as CalibrationLoss

Fit = Callable[..., ClassMap]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ClassFolds:
    """Which fold each trial is in: by its place within its class, or by the value of a column."""

    n: int
    column: str = POSITION
    fold_of: Mapping[Any, int] | None = None
    seed: int = 0

    def of(self, chunk: ClassVectors) -> npt.NDArray[np.int64]:
        """The fold of each trial."""
        values = chunk.columns[self.column]
        if self.fold_of is None:
            return deal_folds(values, self.n, self.seed) % self.n
        distinct, inverse = np.unique(values, return_inverse=True)
        return np.array([self.fold_of[plain_value(value)] for value in distinct], dtype=np.int64)[inverse]


def make_class_folds(
    source: ClassSource, n: int = 5, *, groups: str | None = None, folds: str | None = None, seed: int = 0
) -> ClassFolds:
    """``n`` folds of each class, folds of whole groups, or the folds that a column names."""
    if groups is not None and folds is not None:
        raise InputError("give either groups or folds, not both")
    if not isinstance(n, int) or n < 2:
        raise InputError(f"cross-validation needs at least 2 folds, got {n!r}")
    name = groups or folds
    if name is None:
        return ClassFolds(n, seed=seed)
    values = sorted(source.with_columns(name).reduce(_DistinctValues.at(name)).values, key=str)
    if folds is not None:
        if len(values) < 2:
            raise InputError(f"column {name!r} names fewer than 2 folds")
        return ClassFolds(len(values), name, {value: i for i, value in enumerate(values)})
    if len(values) < n:
        raise InputError(f"{len(values)} groups in {name!r} are too few for {n} folds")
    order = np.random.default_rng(seed).permutation(len(values))
    return ClassFolds(n, name, {values[i]: place % n for place, i in enumerate(order)})


@dataclass(frozen=True)
class CrossedClasses:
    """Trials, each mapped by the map that has not seen its fold."""

    source: ClassSource
    folds: ClassFolds
    maps: tuple[ClassMap, ...]
    carried: tuple[str, ...] = ()

    def reduce(self, summarize: Callable[[ClassVectors], S]) -> S:
        """Map every chunk, then summarize it."""

        def crossed(chunk: ClassVectors) -> S:
            fold = self.folds.of(chunk)
            loglik = np.empty((len(chunk.values), len(chunk.classes)))
            for f, fitted in enumerate(self.maps):
                loglik[fold == f] = fitted(chunk.values[fold == f])
            columns = {name: chunk.columns[name] for name in self.carried}
            return summarize(ClassScores.part(read_only(loglik), chunk.codes, chunk.classes, columns))

        names = dict.fromkeys((*self.carried, self.folds.column))
        return self.source.with_columns(*names).reduce(crossed)

    def with_columns(self, *names: str) -> CrossedClasses:
        """The same trials carrying these columns."""
        return CrossedClasses(self.source, self.folds, self.maps, names)


@dataclass(frozen=True)
class _OutsideFold:
    """The trials outside one fold."""

    source: ClassSource
    folds: ClassFolds
    left_out: int

    def reduce(self, summarize: Callable[[ClassVectors], S]) -> S:
        return self.source.with_columns(self.folds.column).reduce(
            lambda chunk: summarize(chunk.take(self.folds.of(chunk) != self.left_out))
        )

    def with_columns(self, *names: str) -> ClassSource:
        raise InputError("the training part of a fold carries no columns")


def cross_calibrate(
    source: ClassSource,
    fit: Fit = fit_scale_offset,
    *,
    n_folds: int = 5,
    groups: str | None = None,
    folds: str | None = None,
    seed: int = 0,
    **options: Any,
) -> ClassSource:
    """Log-likelihoods for reporting: each trial is calibrated by a map that has not seen its fold.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.ClassScores`.
    fit
        A calibrator of this room; ``options`` go to it.
    n_folds, seed
        How many folds each class is dealt into, and the seed of the dealing.
    groups
        A column whose values never share two folds: the source or the speaker of a trial.
    folds
        A column that names the fold of each trial, instead.
    **options
        Further keywords of the method.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(3)
    >>> labels = np.arange(600) % 3
    >>> scores = lk.ClassScores(9.0 * (rng.normal(size=(600, 3)) + 2.0 * np.eye(3)[labels]), labels)
    >>> crossed = lk.multiclass.cross_calibrate(scores)
    >>> round(lk.multiclass.cllr(scores), 2), round(lk.multiclass.cllr(crossed), 2)
    (1.11, 0.49)
    """
    assigned = make_class_folds(source, n_folds, groups=groups, folds=folds, seed=seed)
    maps = tuple(fit(_OutsideFold(source, assigned, f), **options) for f in range(assigned.n))
    return CrossedClasses(source, assigned, maps)


def calibration_loss(
    source: ClassSource,
    fit: Fit = fit_scale_offset,
    *,
    prior: Prior = "flat",
    metric: Callable[..., float] = cllr,
    n_folds: int = 5,
    groups: str | None = None,
    folds: str | None = None,
    seed: int = 0,
    **options: Any,
) -> CalibrationLoss:
    """How much of a metric is lost to calibration, by cross-validation (Ferrer & Ramos 2025).

    The trials are calibrated by maps that have not seen them. Unlike the difference to a calibration on
    the same trials it is not biased upwards: for perfectly calibrated scores it is slightly below 0 on
    average, the price of estimating the calibration.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.ClassScores`.
    fit, prior, **options
        The calibrator, the prior it and the metric get, and its other options.
    metric
        Called as ``metric(source, prior=prior)``; lower must be better.
    n_folds, groups, folds, seed
        As for :func:`cross_calibrate`; trials of the same source must share a fold (``groups``).

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(3)
    >>> labels = np.arange(600) % 3
    >>> scores = lk.ClassScores(9.0 * (rng.normal(size=(600, 3)) + 2.0 * np.eye(3)[labels]), labels)
    >>> round(lk.multiclass.calibration_loss(scores).relative, 2)
    0.56
    """
    crossed = cross_calibrate(
        source, fit, n_folds=n_folds, groups=groups, folds=folds, seed=seed, prior=prior, **options
    )
    return CalibrationLoss(metric(source, prior=prior), metric(crossed, prior=prior))


@dataclass(frozen=True, eq=False)
class _DistinctValues(SummaryBase):
    """The distinct values of a column."""

    values: frozenset[Any]

    @classmethod
    def at(cls, column: str) -> Callable[[ClassVectors], _DistinctValues]:
        return lambda chunk: cls(frozenset(plain_value(v) for v in np.unique(chunk.columns[column])))

    def __add__(self, other: _DistinctValues) -> _DistinctValues:
        return _DistinctValues(self.values | other.values)

    def __mul__(self, weight: float) -> _DistinctValues:
        return self
