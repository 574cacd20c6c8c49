"""The estimators: those that fuse several columns, and those that describe one score."""

from __future__ import annotations

from llrkit._warn import warn_caller
from llrkit.calibrate.affine.bayesian import fit_bayes
from llrkit.calibrate.affine.cmlg import fit_cmlg
from llrkit.calibrate.affine.expectation import fit_expectation
from llrkit.calibrate.affine.linear_fit import fit_linear
from llrkit.calibrate.affine.logistic_and_rules import fit_logistic, fit_rule
from llrkit.calibrate.affine.saturating_map import fit_saturating
from llrkit.calibrate.affine.unsupervised import fit_unsupervised
from llrkit.calibrate.composite.fusion import fit_fusion
from llrkit.calibrate.composite.linear_map import LinearMap
from llrkit.calibrate.densities.gamma_ratio import fit_gamma
from llrkit.calibrate.densities.kde import fit_kde
from llrkit.calibrate.densities.mixture import fit_mixture
from llrkit.calibrate.densities.nig import fit_nig
from llrkit.calibrate.densities.student_t import fit_student_t
from llrkit.calibrate.densities.tied_nig import fit_tied_nig
from llrkit.calibrate.densities.two_gaussians import fit_gaussian
from llrkit.calibrate.maps import Map
from llrkit.calibrate.monotone.bigaussian import fit_bigaussian
from llrkit.calibrate.monotone.pav import fit_pav
from llrkit.core.scoring_rules import ScoringRule, scoring_rule
from llrkit.errors import InputError, LlrkitWarning, SeparationError
from llrkit.scores import ScoreSource
from llrkit.sklearn.estimator_base import Calibrator, n_systems, with_safeguard
from llrkit.sklearn.estimators_from_fits import calibrator_of


class CMLGCalibrator(Calibrator):
    """CMLG: closed form from means and (co)variances; see :func:`llrkit.fit_cmlg`.

    Parameters
    ----------
    alpha
        Weight of the targets in the common variance, from 0 to 1; the non-targets have ``1 - alpha``.
    prior
        Prior probability of the target; ``predict`` and ``predict_proba`` apply it.
    pos_label
        The label of the targets; by default that which comes last in sorted order.

    Examples
    --------
    >>> CMLGCalibrator().fit([[2.0], [4.0], [0.0], [2.0]], [1, 1, 0, 0]).decision_function([[3.0]])
    array([2.])
    """

    def __init__(self, alpha: float = 0.5, prior: float = 0.5, pos_label: object = None) -> None:
        self.alpha = alpha
        self.prior = prior
        self.pos_label = pos_label

    def _fit_map(self, scores: ScoreSource) -> Map:
        return fit_cmlg(scores, alpha=self.alpha)

    def _fit_columns(self, scores: ScoreSource) -> Map:
        if n_systems(scores) == 1:
            return self._fit_map(scores)
        try:
            return fit_fusion(scores, method="gaussian", alpha=self.alpha)
        except InputError as error:  # columns that are functions of each other
            warn_caller(f"{error}; the columns are fused by logistic regression first", LlrkitWarning)
            return super()._fit_columns(scores)


class LogisticCalibrator(Calibrator):
    """Prior-weighted logistic regression; see :func:`llrkit.fit_logistic`.

    Parameters
    ----------
    prior
        Prior probability of the target, in the fit too; ``predict`` and ``predict_proba`` apply it.
    robust
        Weight of a mislabeled copy of every trial, for instance 0.001; 0 for none.
    regularization
        How strongly LLRs are drawn to 0: not at all by default; 0.01 is a numerical safeguard.
    pos_label
        The label of the targets; by default that which comes last in sorted order.
    """

    def __init__(
        self, prior: float = 0.5, robust: float = 0.0, regularization: float = 0.0, pos_label: object = None
    ) -> None:
        self.prior = prior
        self.robust = robust
        self.regularization = regularization
        self.pos_label = pos_label

    def _fit_map(self, scores: ScoreSource) -> Map:
        return self._fit_columns(scores)

    def _fit_columns(self, scores: ScoreSource) -> Map:
        options = {"prior": self.prior, "robust": self.robust, "regularization": self.regularization}
        fitted: Map = with_safeguard(
            fit_logistic if n_systems(scores) == 1 else fit_fusion, scores, **options
        )
        return fitted


class RuleCalibrator(Calibrator):
    """Affine calibration by another scoring rule; see :func:`llrkit.fit_rule`.

    Parameters
    ----------
    rule
        A proper scoring rule: ``"brier"``, ``"boosting"`` or another that :func:`llrkit.fit_rule` takes.
    prior
        Prior probability of the target, in the fit too; ``predict`` and ``predict_proba`` apply it.
    pos_label
        The label of the targets; by default that which comes last in sorted order.
    """

    def __init__(
        self,
        rule: ScoringRule | str | tuple[float, float] = "brier",
        prior: float = 0.5,
        pos_label: object = None,
    ) -> None:
        self.rule = rule
        self.prior = prior
        self.pos_label = pos_label

    def _fit_map(self, scores: ScoreSource) -> Map:
        return fit_rule(scores, rule=self.rule, prior=self.prior)

    def _fit_columns(self, scores: ScoreSource) -> Map:
        if n_systems(scores) == 1:
            return self._fit_safely(scores)
        try:
            fit = fit_linear(scores, prior=self.prior, rule=scoring_rule(self.rule))
        except SeparationError:
            return super()._fit_columns(scores)
        names = list(scores.roles.score)
        return LinearMap(weights=fit.slopes, offset=fit.offset, systems=names, method="rule")


PAVCalibrator = calibrator_of("PAVCalibrator", fit_pav, "Pool adjacent violators")
SaturatingCalibrator = calibrator_of(
    "SaturatingCalibrator", fit_saturating, "Logistic regression with saturating ends"
)
ExpectationCalibrator = calibrator_of(
    "ExpectationCalibrator", fit_expectation, "Solves <r> = 1 and <1/r> = 1"
)
GaussianCalibrator = calibrator_of("GaussianCalibrator", fit_gaussian, "Two Gaussians with free variances")
StudentTCalibrator = calibrator_of("StudentTCalibrator", fit_student_t, "Two Student t densities")
NIGCalibrator = calibrator_of("NIGCalibrator", fit_nig, "Two normal-inverse-Gaussian densities")
TiedNIGCalibrator = calibrator_of(
    "TiedNIGCalibrator", fit_tied_nig, "Tied normal-inverse-Gaussian densities, affine"
)
MixtureCalibrator = calibrator_of(
    "MixtureCalibrator", fit_mixture, "A mixture of calibrated Gaussian pairs, affine"
)
GammaCalibrator = calibrator_of("GammaCalibrator", fit_gamma, "The gamma pair, affine")
KDECalibrator = calibrator_of("KDECalibrator", fit_kde, "Kernel density estimates")
BayesCalibrator = calibrator_of(
    "BayesCalibrator", fit_bayes, "Gaussian scores with the parameters integrated out"
)
BiGaussianCalibrator = calibrator_of("BiGaussianCalibrator", fit_bigaussian, "Bi-Gaussianized calibration")
UnsupervisedCalibrator = calibrator_of(
    "UnsupervisedCalibrator",
    fit_unsupervised,
    "Two Gaussians fitted without the labels",
    without=("supervised",),  # a column of a table
)
