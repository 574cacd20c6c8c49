"""What the estimators share: the scikit-learn contract around a map from scores to LLRs."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self, SupportsFloat

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from llrkit._arrays import Array, FloatArray
from llrkit._warn import warn_caller
from llrkit.calibrate.affine.logistic_and_rules import fit_logistic
from llrkit.calibrate.composite.fusion import fit_fusion
from llrkit.calibrate.maps import Map
from llrkit.choose.methods import M
from llrkit.core.elementary_functions import logit, probability, sigmoid
from llrkit.errors import ConstantScoreError, LlrkitWarning, SeparationError, ShapeWarning, TooFewTrialsError
from llrkit.scores import Scores, ScoreSource
from llrkit.sklearn.target_class import target_label, weighted_scores
from llrkit.sklearn.untyped import SklearnObject, Weights, validate_data

SAFEGUARD = 0.01
"""Regularization where the classes do not overlap."""
CURED_BY = {"regularization": (SeparationError,), "shrinkage": (TooFewTrialsError, ConstantScoreError)}
"""Faults of the trials that a little of an option cures."""


class LLRMethods(TransformerMixin, ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """What follows from LLRs in favor of the target class: decisions, posteriors and their signs."""

    prior: float
    pos_label: object
    classes_: Array
    target_: object

    @abstractmethod
    def _llr(self, X: npt.ArrayLike) -> FloatArray:
        """LLRs in favor of the target class, shape (n,)."""

    @property
    def _target_is_last(self) -> bool:
        return bool(self.target_ == self.classes_[1])

    def decision_function(self, X: npt.ArrayLike) -> Array:
        """LLRs in favor of ``classes_[1]``, shape (n,).

        These are the LLRs of ``transform`` unless ``pos_label`` is ``classes_[0]``: scikit-learn wants
        positive values to speak for ``classes_[1]``, so they change their sign then.
        """
        llr = self._llr(X)
        return llr if self._target_is_last else -llr

    def transform(self, X: npt.ArrayLike) -> Array:
        """LLRs in favor of the target class, shape (n, 1)."""
        return self._llr(X)[:, None]

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Posterior probabilities of the two classes, in the order of ``classes_``, at ``prior``."""
        target = sigmoid(self._llr(X) + logit(self.prior))
        both = [1.0 - target, target]
        return np.column_stack(both if self._target_is_last else both[::-1])

    def predict(self, X: npt.ArrayLike) -> Array:
        """The class with the higher posterior at ``prior``; ``classes_[0]`` where both are equal."""
        for_last = self.decision_function(X)
        threshold = -logit(self.prior) if self._target_is_last else logit(self.prior)
        return np.asarray(self.classes_[(for_last > threshold).astype(int)])

    def __sklearn_tags__(self) -> SklearnObject:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def get_feature_names_out(self, input_features: npt.ArrayLike | None = None) -> Array:
        """The name of the one column that ``transform`` gives."""
        check_is_fitted(self)
        return np.array(["llr"], dtype=object)

    def _learn_classes(self, y: Array) -> None:
        """Set ``classes_`` and ``target_`` of labels that must be of two kinds."""
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(f"Only binary classification is supported. The type of the target is {kind}.")
        if len(self.classes_) < 2:
            raise ValueError("Only one class is present in y; two classes are needed.")
        probability(self.prior, "prior")
        self.target_ = target_label(self.classes_, self.pos_label)


class Calibrator(LLRMethods):
    """What the calibrators share; a subclass says how one score is calibrated and what its options are."""

    @abstractmethod
    def _fit_map(self, scores: ScoreSource) -> Map:
        """Calibrate the scores of one system."""

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike, sample_weight: Weights = None) -> Self:
        """Fit the calibration.

        Parameters
        ----------
        X
            Scores, one column per system; higher means more target-like.
        y
            Labels of two kinds. The target is ``pos_label``, by default ``classes_[1]``, the label that comes
            last in sorted order.
        sample_weight
            How often each trial counts; at most 1,000 different weights.
        """
        scores, labels = validate_data(self, X, y, dtype=np.float64)
        self._learn_classes(labels)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ShapeWarning)
            self.map_ = self._fit_columns(weighted_scores(scores, labels == self.target_, sample_weight))
        return self

    def _fit_columns(self, scores: ScoreSource) -> Map:
        if n_systems(scores) == 1:
            return self._fit_safely(scores)
        try:
            fusion = fit_fusion(scores)
        except SeparationError:
            # the fused scores of classes that do not overlap have no shape that could be learned
            return with_safeguard(fit_fusion, scores)
        first = fusion(scores) if isinstance(scores, Scores) else fusion.on(scores)
        return fusion.then(self._fit_safely(first))

    def _fit_safely(self, scores: ScoreSource) -> Map:
        try:
            return self._fit_map(scores)
        except (SeparationError, TooFewTrialsError, ConstantScoreError) as error:
            warn_caller(f"{error}; regularized logistic regression is used instead", LlrkitWarning)
            return fit_logistic(scores, prior=self.prior, regularization=SAFEGUARD)

    def _llr(self, X: npt.ArrayLike) -> FloatArray:
        check_is_fitted(self)
        scores: FloatArray = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(self.map_(scores if scores.shape[1] > 1 else scores[:, 0], outside="ignore"))


def n_systems(scores: ScoreSource) -> int:
    """How many systems scored each trial."""
    return len(scores.roles.score)


def with_safeguard(fit: Callable[..., M], trials: object, **options: object) -> M:
    """Fit trials of any number of classes, with a little of what cures trials that have no best fit.

    That is regularization if the classes do not overlap, and shrinkage for a fit that has this option if a
    covariance matrix has no inverse.
    """
    cure = "shrinkage" if "shrinkage" in options else "regularization"
    try:
        return fit(trials, **options)
    except CURED_BY[cure] as error:
        warn_caller(f"{error}; fitted with {cure}={SAFEGUARD}", LlrkitWarning)
        asked = options.get(cure, 0.0)
        least = max(float(asked), SAFEGUARD) if isinstance(asked, SupportsFloat) else SAFEGUARD
        return fit(trials, **{**options, cure: least})
