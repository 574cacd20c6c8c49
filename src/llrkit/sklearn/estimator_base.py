"""What the estimators share: the scikit-learn contract around a map from scores to LLRs."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from llrkit._arrays import Array
from llrkit._warn import warn_caller
from llrkit.calibrate.affine.logistic import fit_logistic
from llrkit.calibrate.composite.fusion import fit_fusion
from llrkit.calibrate.maps import Map
from llrkit.core.special import logit, probability, sigmoid
from llrkit.errors import LabelError, LlrkitWarning, SeparationError, ShapeWarning, TooFewTrialsError
from llrkit.scores import Scores
from llrkit.scores.labels import classify_words

_SAFEGUARD = 0.01  # regularization where the classes do not overlap


class Calibrator(TransformerMixin, ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """What the estimators share; a subclass says how one score is calibrated and what its options are."""

    prior: float

    @abstractmethod
    def _fit_map(self, scores: Scores) -> Map:
        """Calibrate the scores of one system."""

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the calibration of scores ``X`` with labels ``y``.

        The target is ``classes_[1]``: the label that comes last in sorted order.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        if len(self.classes_) == 1:
            raise ValueError("Only one class is present in y; two classes are needed.")
        probability(self.prior, "prior")
        if classify_words([str(label) for label in self.classes_]) == [True, False]:
            # classes_ must be sorted, so the order of the words cannot be followed
            raise LabelError(
                f"classes_[1] is the target, but {self.classes_[1]!r} means a non-target and "
                f"{self.classes_[0]!r} a target; use 0 and 1, or words that sort the other way"
            )
        is_target = y == self.classes_[1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ShapeWarning)
            self.map_ = self._fit_columns(Scores.from_classes(X[is_target], X[~is_target]))
        return self

    def _fit_columns(self, scores: Scores) -> Map:
        if scores.n_systems == 1:
            return self._fit_safely(scores)
        fusion = with_safeguard(fit_fusion, scores)
        fused: Map = fusion.then(self._fit_safely(fusion(scores)))
        return fused

    def _fit_safely(self, scores: Scores) -> Map:
        try:
            return self._fit_map(scores)
        except (SeparationError, TooFewTrialsError) as error:
            warn_caller(f"{error}; regularized logistic regression is used instead", LlrkitWarning)
            return fit_logistic(scores, prior=self.prior, regularization=_SAFEGUARD)

    def decision_function(self, X: Any) -> Array:
        """LLRs, shape (n,)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(self.map_(X if X.shape[1] > 1 else X[:, 0], outside="ignore"))

    def transform(self, X: Any) -> Array:
        """LLRs, shape (n, 1)."""
        return self.decision_function(X)[:, None]

    def predict_proba(self, X: Any) -> Array:
        """Posterior probabilities of the two classes at ``prior``."""
        target = sigmoid(self.decision_function(X) + logit(self.prior))
        return np.column_stack([1.0 - target, target])

    def predict(self, X: Any) -> Array:
        """The class with the higher posterior at ``prior``."""
        accept = self.decision_function(X) >= -logit(self.prior)
        return np.asarray(self.classes_[accept.astype(int)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The name of the one column that ``transform`` gives."""
        check_is_fitted(self)
        return np.array(["llr"], dtype=object)


def with_safeguard(fit: Callable[..., Any], scores: Scores, **options: Any) -> Any:
    """Fit, with a little regularization if the classes do not overlap."""
    try:
        return fit(scores, **options)
    except SeparationError as error:
        warn_caller(f"{error}; fitted with regularization={_SAFEGUARD}", LlrkitWarning)
        return fit(scores, **{**options, "regularization": _SAFEGUARD})
