"""What the estimators of several classes share.

``X`` holds one column of log-likelihoods (or logits) per class, in the order of ``classes_``, or vectors;
``transform(X)`` gives log-likelihoods of shape (n, K), ``predict_proba`` posteriors at the constructor's
``prior``. Calibrations of scores that are given another number of columns first make log-likelihoods of them
by the affine fit. Classes that do not overlap are fitted with a little regularization.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from llrkit._arrays import Array, FloatArray, IntArray
from llrkit.multiclass.class_counts_and_priors import ClassCounts, Prior, class_prior
from llrkit.multiclass.class_map_base import ClassMap, posteriors
from llrkit.multiclass.softmax_fits import fit_affine
from llrkit.scores.class_scores import ClassScores, ClassSource, ClassVectors
from llrkit.scores.weights import WeightedClasses
from llrkit.sklearn.estimator_base import with_safeguard
from llrkit.sklearn.target_class import WEIGHT
from llrkit.sklearn.untyped import Weights, validate_data

_MOST_COPIES = 100_000
"""Weights that are whole numbers are so many copies, up to this many trials."""
_FEW = 10
"""Trials for each dimension, up to which their order must not choose among the best fits."""


class ClassCalibrator(TransformerMixin, ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """The scikit-learn contract around a map of several classes; a subclass says which fit it is."""

    prior: Prior

    @abstractmethod
    def _fit_map(self, trials: ClassVectors, prior: Prior) -> ClassMap:
        """Fit trials that are scores or vectors."""

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Weights = None) -> Self:
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
        values, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) == 1:
            raise ValueError("Only one class is present in y; at least two classes are needed.")
        values, codes, columns = _sorted_if_few(*_weighted_class_trials(values, codes, sample_weight))
        names = tuple(map(str, range(len(self.classes_))))
        n = np.bincount(codes, columns.get(WEIGHT), len(names))
        if not n.all():
            empty = self.classes_[int(n.argmin())]
            raise ValueError(f"All trials of class {empty.item()!r} have weight 0; every class needs some.")
        prior = class_prior(self.prior, ClassCounts(names, n))
        self.log_prior_ = np.log(prior)
        self.map_ = self._fit_map(ClassVectors(values, codes, names, columns=columns), prior.tolist())
        return self

    def as_scores(self, trials: ClassVectors, prior: Prior) -> tuple[ClassScores, ClassMap | None]:
        """Vectors as scores of the classes, with the affine map that made them; scores as they are."""
        if trials.values.shape[1] == len(trials.classes):
            return ClassScores.part(trials.values, trials.codes, trials.classes, trials.columns), None
        first = with_safeguard(fit_affine, counted(trials), prior=prior)
        loglik = np.asarray(first(trials.values))
        return ClassScores.part(loglik, trials.codes, trials.classes, trials.columns), first

    def transform(self, X: npt.ArrayLike) -> Array:
        """Log-likelihoods, shape (n, K)."""
        check_is_fitted(self)
        return np.asarray(self.map_(validate_data(self, X, dtype=np.float64, reset=False)))

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Posterior probabilities at ``prior``."""
        return posteriors(self.transform(X), self.log_prior_)

    def predict(self, X: npt.ArrayLike) -> Array:
        """The class with the highest posterior at ``prior``."""
        loglik = self.transform(X)
        return np.asarray(self.classes_[(loglik + self.log_prior_).argmax(axis=1)])

    def get_feature_names_out(self, input_features: npt.ArrayLike | None = None) -> Array:
        """Names of the columns that ``transform`` gives."""
        check_is_fitted(self)
        return np.array([f"loglik_{name}" for name in self.classes_], dtype=object)


def _weighted_class_trials(
    X: Array, codes: IntArray, sample_weight: Weights
) -> tuple[Array, IntArray, dict[str, FloatArray]]:
    """The trials that count, and the column with their weights if they are not repeated as often."""
    if sample_weight is None:
        return X, codes, {}
    weights: FloatArray = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
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


def counted(trials: ClassVectors) -> ClassSource:
    """The trials as often as they count."""
    return WeightedClasses(trials, WEIGHT) if WEIGHT in trials.columns else trials
