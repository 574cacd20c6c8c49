"""Estimators that fuse several columns by their own criterion."""

from __future__ import annotations

from typing import Any

from llrkit.calibrate.affine.cmlg import fit_cmlg
from llrkit.calibrate.affine.linear_fit import fit_linear
from llrkit.calibrate.affine.logistic import fit_logistic, fit_rule
from llrkit.calibrate.composite.fusion import fit_fusion
from llrkit.calibrate.composite.linear_map import LinearMap
from llrkit.calibrate.maps import Map
from llrkit.core.scoring_rules import scoring_rule
from llrkit.errors import SeparationError
from llrkit.scores import Scores
from llrkit.sklearn.estimator_base import Calibrator, with_safeguard


class CMLGCalibrator(Calibrator):
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


class LogisticCalibrator(Calibrator):
    """Prior-weighted logistic regression; see :func:`llrkit.fit_logistic`."""

    def __init__(self, prior: float = 0.5, robust: float = 0.0, regularization: float = 0.0) -> None:
        self.prior = prior
        self.robust = robust
        self.regularization = regularization

    def _fit_map(self, scores: Scores) -> Map:
        return self._fit_columns(scores)

    def _fit_columns(self, scores: Scores) -> Map:
        options = {"prior": self.prior, "robust": self.robust, "regularization": self.regularization}
        fitted: Map = with_safeguard(fit_logistic if scores.n_systems == 1 else fit_fusion, scores, **options)
        return fitted


class RuleCalibrator(Calibrator):
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
