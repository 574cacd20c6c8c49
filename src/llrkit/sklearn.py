"""scikit-learn estimators: every calibrator of scores as a binary classifier and transformer.

``X`` holds the scores, one column per system; ``transform(X)`` gives LLRs of shape (n, 1),
``decision_function(X)`` of shape (n,), and ``predict_proba`` posteriors at the constructor's ``prior``.
Methods whose criterion is one for a linear function of K scores fuse several columns themselves: CMLG (the
Gaussian likelihood of K scores), logistic regression and the other scoring rules. All others describe one
score, and several are fused first by logistic regression. Classes that do not overlap, where an unregularised
fit has no answer, are fitted with a little regularisation.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from llrkit._sklearn_classes import (  # noqa: F401
    AffineScaling,
    GaussianBackEnd,
    ScaleOffsetScaling,
    TemperatureScaling,
    VectorScaling,
)
from llrkit.calibrate.bayes import fit_bayes
from llrkit.calibrate.bigaussian import fit_bigaussian
from llrkit.calibrate.cmlg import fit_cmlg
from llrkit.calibrate.expectation import fit_expectation
from llrkit.calibrate.fusion import LinearMap, fit_fusion
from llrkit.calibrate.gamma import fit_gamma
from llrkit.calibrate.gaussian import fit_gaussian
from llrkit.calibrate.kde import fit_kde
from llrkit.calibrate.linear import fit_linear
from llrkit.calibrate.logistic import fit_logistic, fit_rule
from llrkit.calibrate.maps import Map
from llrkit.calibrate.mixture import fit_mixture
from llrkit.calibrate.nig import fit_nig
from llrkit.calibrate.pav import fit_pav
from llrkit.calibrate.saturating import fit_saturating
from llrkit.calibrate.student import fit_student_t
from llrkit.calibrate.tied import fit_tied_nig
from llrkit.calibrate.unsupervised import fit_unsupervised
from llrkit.core.rules import scoring_rule
from llrkit.core.special import logit, probability, sigmoid
from llrkit.errors import LabelError, LlrkitWarning, SeparationError, ShapeWarning, TooFewTrialsError
from llrkit.scores import Scores
from llrkit.scores.labels import classify_words

_SAFEGUARD = 0.01  # regularisation where the classes do not overlap

Array = npt.NDArray[Any]


class _Calibrator(TransformerMixin, ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
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
            self.map_ = self._fit_columns(Scores(X[is_target], X[~is_target]))
        return self

    def _fit_columns(self, scores: Scores) -> Map:
        if scores.n_systems == 1:
            return self._fit_safely(scores)
        fusion = with_safeguard(fit_fusion, scores)
        made: Map = fusion.then(self._fit_safely(fusion(scores)))
        return made

    def _fit_safely(self, scores: Scores) -> Map:
        try:
            return self._fit_map(scores)
        except (SeparationError, TooFewTrialsError) as error:
            warnings.warn(
                f"{error}; regularised logistic regression is used instead", LlrkitWarning, stacklevel=2
            )
            return fit_logistic(scores, prior=self.prior, regularisation=_SAFEGUARD)

    def decision_function(self, X: Any) -> Array:
        """LLRs, shape (n,)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(self.map_(X if X.shape[1] > 1 else X[:, 0]))

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
    """Fit, with a little regularisation if the classes do not overlap."""
    try:
        return fit(scores, **options)
    except SeparationError as error:
        warnings.warn(f"{error}; fitted with regularisation={_SAFEGUARD}", LlrkitWarning, stacklevel=2)
        return fit(scores, **{**options, "regularisation": _SAFEGUARD})


class CMLGCalibrator(_Calibrator):
    """CMLG: closed form from means and (co)variances; see :func:`llrkit.fit_cmlg`.

    Examples
    --------
    >>> CMLGCalibrator().fit([[2.0], [4.0], [0.0], [2.0]], [1, 1, 0, 0]).decision_function([[3.0]])
    array([2.])
    """

    def __init__(self, alpha: float = 0.5, prior: float = 0.5) -> None:
        self.alpha = alpha
        self.prior = prior

    def _fit_map(self, scores: Scores) -> Map:
        return fit_cmlg(scores, alpha=self.alpha)

    def _fit_columns(self, scores: Scores) -> Map:
        if scores.n_systems == 1:
            return self._fit_map(scores)
        return fit_fusion(scores, method="gaussian", alpha=self.alpha)


class LogisticCalibrator(_Calibrator):
    """Prior-weighted logistic regression; see :func:`llrkit.fit_logistic`."""

    def __init__(self, prior: float = 0.5, robust: float = 0.0, regularisation: float = 0.0) -> None:
        self.prior = prior
        self.robust = robust
        self.regularisation = regularisation

    def _fit_map(self, scores: Scores) -> Map:
        return self._fit_columns(scores)

    def _fit_columns(self, scores: Scores) -> Map:
        options = {"prior": self.prior, "robust": self.robust, "regularisation": self.regularisation}
        made: Map = with_safeguard(fit_logistic if scores.n_systems == 1 else fit_fusion, scores, **options)
        return made


class RuleCalibrator(_Calibrator):
    """Affine calibration by another scoring rule; see :func:`llrkit.fit_rule`."""

    def __init__(self, rule: Any = "brier", prior: float = 0.5) -> None:
        self.rule = rule
        self.prior = prior

    def _fit_map(self, scores: Scores) -> Map:
        return fit_rule(scores, rule=self.rule, prior=self.prior)

    def _fit_columns(self, scores: Scores) -> Map:
        if scores.n_systems == 1:
            return self._fit_safely(scores)
        try:
            fit = fit_linear(scores, prior=self.prior, rule=scoring_rule(self.rule))
        except SeparationError:
            return super()._fit_columns(scores)
        names = [f"system{i + 1}" for i in range(scores.n_systems)]
        return LinearMap(weights=fit.slopes, offset=fit.offset, systems=names, method="rule")


class PAVCalibrator(_Calibrator):
    """Pool adjacent violators; see :func:`llrkit.fit_pav`."""

    def __init__(self, laplace: str = "misleading", prior: float = 0.5) -> None:
        self.laplace = laplace
        self.prior = prior

    def _fit_map(self, scores: Scores) -> Map:
        return fit_pav(scores, laplace=self.laplace)


class SaturatingCalibrator(_Calibrator):
    """Logistic regression with saturating ends; see :func:`llrkit.fit_saturating`."""

    def __init__(self, prior: float = 0.5) -> None:
        self.prior = prior

    def _fit_map(self, scores: Scores) -> Map:
        return fit_saturating(scores, prior=self.prior)


class ExpectationCalibrator(_Calibrator):
    """Solves <r> = 1 and <1/r> = 1; see :func:`llrkit.fit_expectation`."""

    def __init__(self, regularisation: float = 1.0, prior: float = 0.5) -> None:
        self.regularisation = regularisation
        self.prior = prior

    def _fit_map(self, scores: Scores) -> Map:
        return fit_expectation(scores, regularisation=self.regularisation)


class GaussianCalibrator(_Calibrator):
    """Two Gaussians with free variances; see :func:`llrkit.fit_gaussian`."""

    def __init__(self, prior: float = 0.5) -> None:
        self.prior = prior

    def _fit_map(self, scores: Scores) -> Map:
        return fit_gaussian(scores)


class StudentTCalibrator(_Calibrator):
    """Two Student t densities; see :func:`llrkit.fit_student_t`."""

    def __init__(self, monotone: bool = True, prior: float = 0.5) -> None:
        self.monotone = monotone
        self.prior = prior

    def _fit_map(self, scores: Scores) -> Map:
        return fit_student_t(scores, monotone=self.monotone)


class NIGCalibrator(_Calibrator):
    """Two normal-inverse-Gaussian densities; see :func:`llrkit.fit_nig`."""

    def __init__(self, monotone: bool = True, prior: float = 0.5) -> None:
        self.monotone = monotone
        self.prior = prior

    def _fit_map(self, scores: Scores) -> Map:
        return fit_nig(scores, monotone=self.monotone)


class TiedNIGCalibrator(_Calibrator):
    """Tied normal-inverse-Gaussian densities, affine; see :func:`llrkit.fit_tied_nig`."""

    def __init__(self, alpha: float = 0.5, prior: float = 0.5) -> None:
        self.alpha = alpha
        self.prior = prior

    def _fit_map(self, scores: Scores) -> Map:
        return fit_tied_nig(scores, alpha=self.alpha)


class MixtureCalibrator(_Calibrator):
    """A mixture of calibrated Gaussian pairs, affine; see :func:`llrkit.fit_mixture`."""

    def __init__(self, alpha: float = 0.5, prior: float = 0.5) -> None:
        self.alpha = alpha
        self.prior = prior

    def _fit_map(self, scores: Scores) -> Map:
        return fit_mixture(scores, alpha=self.alpha)


class GammaCalibrator(_Calibrator):
    """The gamma pair, affine; see :func:`llrkit.fit_gamma`."""

    def __init__(self, mirror: bool | None = None, prior: float = 0.5) -> None:
        self.mirror = mirror
        self.prior = prior

    def _fit_map(self, scores: Scores) -> Map:
        return fit_gamma(scores, mirror=self.mirror)


class KDECalibrator(_Calibrator):
    """Kernel density estimates; see :func:`llrkit.fit_kde`."""

    def __init__(self, bandwidth: Any = "silverman", prior: float = 0.5) -> None:
        self.bandwidth = bandwidth
        self.prior = prior

    def _fit_map(self, scores: Scores) -> Map:
        return fit_kde(scores, bandwidth=self.bandwidth)


class BayesCalibrator(_Calibrator):
    """Gaussian scores with the parameters integrated out; see :func:`llrkit.fit_bayes`."""

    def __init__(self, shared_variance: bool = True, prior: float = 0.5) -> None:
        self.shared_variance = shared_variance
        self.prior = prior

    def _fit_map(self, scores: Scores) -> Map:
        return fit_bayes(scores, shared_variance=self.shared_variance)


class BiGaussianCalibrator(_Calibrator):
    """Bi-Gaussianized calibration; see :func:`llrkit.fit_bigaussian`."""

    def __init__(self, sigma_from: str = "cllr", prior: float = 0.5) -> None:
        self.sigma_from = sigma_from
        self.prior = prior

    def _fit_map(self, scores: Scores) -> Map:
        return fit_bigaussian(scores, sigma_from=self.sigma_from)


class UnsupervisedCalibrator(_Calibrator):
    """Two Gaussians fitted without the labels; see :func:`llrkit.fit_unsupervised`."""

    def __init__(self, prior: float = 0.5) -> None:
        self.prior = prior

    def _fit_map(self, scores: Scores) -> Map:
        return fit_unsupervised(scores)
