"""scikit-learn estimators for several classes; :mod:`llrkit.sklearn` hands them out.

``X`` holds one column of log-likelihoods (or logits) per class, in the order of ``classes_``, or vectors;
``transform(X)`` gives log-likelihoods of shape (n, K), ``predict_proba`` posteriors at the constructor's
``prior``. Calibrations of scores that are given another number of columns first make log-likelihoods of them
by the affine fit. Classes that do not overlap are fitted with a little regularization.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from llrkit._arrays import Array, FloatArray, IntArray
from llrkit._warn import warn_caller
from llrkit.errors import ConstantScoreError, LlrkitWarning, TooFewTrialsError
from llrkit.multiclass.class_maps import ClassMap, posteriors
from llrkit.multiclass.fits import fit_affine, fit_scale_offset, fit_temperature, fit_vector
from llrkit.multiclass.gaussian_backend import fit_gaussian
from llrkit.multiclass.priors import ClassCounts, Prior, class_prior
from llrkit.scores.class_weights import WeightedClasses
from llrkit.scores.classes import ClassScores, ClassSource, ClassVectors
from llrkit.sklearn.estimator_base import SAFEGUARD, with_safeguard
from llrkit.sklearn.target_class import WEIGHT

_MOST_COPIES = 100_000
"""Weights that are whole numbers are so many copies, up to this many trials."""
_FEW = 10
"""Trials for each dimension, up to which their order must not choose among the best fits."""

Fit = Callable[..., ClassMap]


class _ClassCalibrator(TransformerMixin, ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """What the estimators share; a subclass says which fit it is."""

    prior: Any

    @abstractmethod
    def _fit_map(self, trials: ClassVectors, prior: Prior) -> ClassMap:
        """Fit trials that are scores or vectors."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the calibration.

        Parameters
        ----------
        X
            Log-likelihoods or logits, one column per class in the order of ``classes_``, or vectors.
        y
            The label of each trial.
        sample_weight
            How often each trial counts; at most 1,000 different weights.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) == 1:
            raise ValueError("Only one class is present in y; at least two classes are needed.")
        X, codes, columns = _sorted_if_few(*_weighted(X, codes, sample_weight))
        names = tuple(map(str, range(len(self.classes_))))
        n = np.bincount(codes, columns.get(WEIGHT), len(names))
        if not n.all():
            empty = self.classes_[int(n.argmin())]
            raise ValueError(f"All trials of class {empty.item()!r} have weight 0; every class needs some.")
        prior = class_prior(self.prior, ClassCounts(names, n))
        self.log_prior_ = np.log(prior)
        self.map_ = self._fit_map(ClassVectors(X, codes, names, columns=columns), prior.tolist())
        return self

    def _as_scores(self, trials: ClassVectors, prior: Prior) -> tuple[ClassScores, ClassMap | None]:
        if trials.values.shape[1] == len(trials.classes):
            return ClassScores.part(trials.values, trials.codes, trials.classes, trials.columns), None
        first = with_safeguard(fit_affine, _counted(trials), prior=prior)
        loglik = np.asarray(first(trials.values))
        return ClassScores.part(loglik, trials.codes, trials.classes, trials.columns), first

    def transform(self, X: Any) -> Array:
        """Log-likelihoods, shape (n, K)."""
        check_is_fitted(self)
        return np.asarray(self.map_(validate_data(self, X, dtype=np.float64, reset=False)))

    def predict_proba(self, X: Any) -> Array:
        """Posterior probabilities at ``prior``."""
        return posteriors(self.transform(X), self.log_prior_)

    def predict(self, X: Any) -> Array:
        """The class with the highest posterior at ``prior``."""
        loglik = self.transform(X)
        return np.asarray(self.classes_[(loglik + self.log_prior_).argmax(axis=1)])

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the columns that ``transform`` gives."""
        check_is_fitted(self)
        return np.array([f"loglik_{name}" for name in self.classes_], dtype=object)


def _weighted(X: Array, codes: IntArray, weights: Any) -> tuple[Array, IntArray, dict[str, FloatArray]]:
    """The trials that count, and the column with their weights if they are not repeated as often."""
    if weights is None:
        return X, codes, {}
    weights = _check_sample_weight(weights, X, dtype=np.float64, ensure_non_negative=True)
    if weights.sum() <= max(len(weights), _MOST_COPIES) and (weights == np.floor(weights)).all():
        times = weights.astype(np.int64)
        return X.repeat(times, axis=0), codes.repeat(times), {}
    counted = weights > 0.0
    return X[counted], codes[counted], {WEIGHT: weights[counted]}


def _sorted_if_few(
    X: Array, codes: IntArray, columns: dict[str, FloatArray]
) -> tuple[Array, IntArray, dict[str, FloatArray]]:
    """Trials too few for their dimensions in an order of their own: one of many best fits is found then."""
    if len(X) > _FEW * X.shape[1]:
        return X, codes, columns
    order = np.lexsort([codes, *X.T])
    return X[order], codes[order], {name: column[order] for name, column in columns.items()}


def _counted(trials: ClassVectors) -> ClassSource:
    """The trials as often as they count."""
    return WeightedClasses(trials, WEIGHT) if WEIGHT in trials.columns else trials


class _ScoreCalibrator(_ClassCalibrator):
    """A calibration of scores: one fit, with the options that all have."""

    _fit_scores: Fit

    def __init__(self, prior: Any = "flat", regularization: float = 0.0) -> None:
        self.prior = prior
        self.regularization = regularization

    def _fit_map(self, trials: ClassVectors, prior: Prior) -> ClassMap:
        scores, first = self._as_scores(trials, prior)
        fit = type(self)._fit_scores
        fitted = with_safeguard(fit, _counted(scores), prior=prior, regularization=self.regularization)
        return fitted if first is None else first.then(fitted)


class TemperatureScaling(_ScoreCalibrator):
    """One scale for all classes; see :func:`llrkit.multiclass.fit_temperature`.

    Parameters
    ----------
    prior
        Prior probabilities of the classes, in the order of ``classes_``; ``"flat"`` for equal ones.
    regularization
        How strongly the fit is drawn to scores that say nothing; 0 for not at all.
    """

    _fit_scores = staticmethod(fit_temperature)


class ScaleOffsetScaling(_ScoreCalibrator):
    """One scale, and an offset for each class; see :func:`llrkit.multiclass.fit_scale_offset`.

    Parameters
    ----------
    prior
        Prior probabilities of the classes, in the order of ``classes_``; ``"flat"`` for equal ones.
    regularization
        How strongly the fit is drawn to scores that say nothing; 0 for not at all.

    Examples
    --------
    >>> X = [[2.0, 0.0, 1.0], [0.0, 1.0, 0.5], [0.1, 0.0, 2.0], [0.0, 1.0, 1.2], [1.0, 1.5, 0.0]]
    >>> ScaleOffsetScaling(regularization=0.1).fit(X, [0, 1, 2, 1, 0]).predict(X).tolist()
    [0, 1, 2, 1, 0]
    """

    _fit_scores = staticmethod(fit_scale_offset)


class VectorScaling(_ScoreCalibrator):
    """A scale and an offset for each class; see :func:`llrkit.multiclass.fit_vector`.

    Parameters
    ----------
    prior
        Prior probabilities of the classes, in the order of ``classes_``; ``"flat"`` for equal ones.
    regularization
        How strongly the fit is drawn to scores that say nothing; 0 for not at all.
    """

    _fit_scores = staticmethod(fit_vector)


class AffineScaling(_ClassCalibrator):
    """Multinomial logistic regression of scores or vectors; see :func:`llrkit.multiclass.fit_affine`.

    Parameters
    ----------
    prior
        Prior probabilities of the classes, in the order of ``classes_``; ``"flat"`` for equal ones.
    regularization
        How strongly the fit is drawn to scores that say nothing; 0 for not at all.
    """

    def __init__(self, prior: Any = "flat", regularization: float = 0.0) -> None:
        self.prior = prior
        self.regularization = regularization

    def _fit_map(self, trials: ClassVectors, prior: Prior) -> ClassMap:
        return with_safeguard(fit_affine, _counted(trials), prior=prior, regularization=self.regularization)


class GaussianBackEnd(_ClassCalibrator):
    """A Gaussian for each class; see :func:`llrkit.multiclass.fit_gaussian`.

    Parameters
    ----------
    prior
        Prior probabilities of the classes, in the order of ``classes_``; ``"flat"`` for equal ones.
    weights
        Weights of the classes in the shared covariance matrix; ``"flat"`` for equal ones.
    shared
        Whether all classes share one covariance matrix.
    shrinkage
        Share of a multiple of the identity in every covariance matrix; raised to 0.01 where one has no
        inverse.
    """

    def __init__(
        self, prior: Any = "flat", weights: Any = "flat", shared: bool = True, shrinkage: float = 0.0
    ) -> None:
        self.prior = prior
        self.weights = weights
        self.shared = shared
        self.shrinkage = shrinkage

    def _fit_map(self, trials: ClassVectors, prior: Prior) -> ClassMap:
        options = {"weights": self.weights, "shared": self.shared}
        try:
            return fit_gaussian(_counted(trials), shrinkage=self.shrinkage, **options)
        except (TooFewTrialsError, ConstantScoreError) as error:
            warn_caller(f"{error}; fitted with shrinkage={SAFEGUARD}", LlrkitWarning)
            return fit_gaussian(_counted(trials), shrinkage=max(self.shrinkage, SAFEGUARD), **options)
