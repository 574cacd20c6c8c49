"""Estimators that describe one score; several columns are fused by logistic regression first."""

from __future__ import annotations

from typing import Any

from llrkit.calibrate.affine.bayesian import fit_bayes
from llrkit.calibrate.affine.expectation import fit_expectation
from llrkit.calibrate.affine.saturating.saturating_fit import fit_saturating
from llrkit.calibrate.affine.unsupervised import fit_unsupervised
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
from llrkit.scores import ScoreSource
from llrkit.sklearn.estimator_base import Calibrator


class PAVCalibrator(Calibrator):
    """Pool adjacent violators; see :func:`llrkit.fit_pav`.

    Parameters
    ----------
    laplace
        What keeps the ends finite: ``"misleading"`` or ``"pairs"``; with ``"none"`` they are infinite.
    prior
        Prior probability of the target; ``predict`` and ``predict_proba`` apply it.
    pos_label
        The label of the targets; by default that which comes last in sorted order.
    """

    def __init__(self, laplace: str = "misleading", prior: float = 0.5, pos_label: Any = None) -> None:
        self.laplace = laplace
        self.prior = prior
        self.pos_label = pos_label

    def _fit_map(self, scores: ScoreSource) -> Map:
        return fit_pav(scores, laplace=self.laplace)


class SaturatingCalibrator(Calibrator):
    """Logistic regression with saturating ends; see :func:`llrkit.fit_saturating`.

    Parameters
    ----------
    prior
        Prior probability of the target, in the fit too; ``predict`` and ``predict_proba`` apply it.
    pos_label
        The label of the targets; by default that which comes last in sorted order.
    """

    def __init__(self, prior: float = 0.5, pos_label: Any = None) -> None:
        self.prior = prior
        self.pos_label = pos_label

    def _fit_map(self, scores: ScoreSource) -> Map:
        return fit_saturating(scores, prior=self.prior)


class ExpectationCalibrator(Calibrator):
    """Solves <r> = 1 and <1/r> = 1; see :func:`llrkit.fit_expectation`.

    Parameters
    ----------
    regularization
        How strongly the map is drawn to that of CMLG.
    prior
        Prior probability of the target; ``predict`` and ``predict_proba`` apply it.
    pos_label
        The label of the targets; by default that which comes last in sorted order.
    """

    def __init__(self, regularization: float = 1.0, prior: float = 0.5, pos_label: Any = None) -> None:
        self.regularization = regularization
        self.prior = prior
        self.pos_label = pos_label

    def _fit_map(self, scores: ScoreSource) -> Map:
        return fit_expectation(scores, regularization=self.regularization)


class GaussianCalibrator(Calibrator):
    """Two Gaussians with free variances; see :func:`llrkit.fit_gaussian`.

    Parameters
    ----------
    prior
        Prior probability of the target; ``predict`` and ``predict_proba`` apply it.
    pos_label
        The label of the targets; by default that which comes last in sorted order.
    """

    def __init__(self, prior: float = 0.5, pos_label: Any = None) -> None:
        self.prior = prior
        self.pos_label = pos_label

    def _fit_map(self, scores: ScoreSource) -> Map:
        return fit_gaussian(scores)


class StudentTCalibrator(Calibrator):
    """Two Student t densities; see :func:`llrkit.fit_student_t`.

    Parameters
    ----------
    monotone
        Whether the LLR is held constant in the tails, where the ratio of the densities turns back.
    prior
        Prior probability of the target; ``predict`` and ``predict_proba`` apply it.
    pos_label
        The label of the targets; by default that which comes last in sorted order.
    """

    def __init__(self, monotone: bool = True, prior: float = 0.5, pos_label: Any = None) -> None:
        self.monotone = monotone
        self.prior = prior
        self.pos_label = pos_label

    def _fit_map(self, scores: ScoreSource) -> Map:
        return fit_student_t(scores, monotone=self.monotone)


class NIGCalibrator(Calibrator):
    """Two normal-inverse-Gaussian densities; see :func:`llrkit.fit_nig`.

    Parameters
    ----------
    monotone
        Whether the LLR is held constant in the tails, where the ratio of the densities turns back.
    prior
        Prior probability of the target; ``predict`` and ``predict_proba`` apply it.
    pos_label
        The label of the targets; by default that which comes last in sorted order.
    """

    def __init__(self, monotone: bool = True, prior: float = 0.5, pos_label: Any = None) -> None:
        self.monotone = monotone
        self.prior = prior
        self.pos_label = pos_label

    def _fit_map(self, scores: ScoreSource) -> Map:
        return fit_nig(scores, monotone=self.monotone)


class TiedNIGCalibrator(Calibrator):
    """Tied normal-inverse-Gaussian densities, affine; see :func:`llrkit.fit_tied_nig`.

    Parameters
    ----------
    alpha
        Weight of the targets in the likelihood, strictly between 0 and 1.
    prior
        Prior probability of the target; ``predict`` and ``predict_proba`` apply it.
    pos_label
        The label of the targets; by default that which comes last in sorted order.
    """

    def __init__(self, alpha: float = 0.5, prior: float = 0.5, pos_label: Any = None) -> None:
        self.alpha = alpha
        self.prior = prior
        self.pos_label = pos_label

    def _fit_map(self, scores: ScoreSource) -> Map:
        return fit_tied_nig(scores, alpha=self.alpha)


class MixtureCalibrator(Calibrator):
    """A mixture of calibrated Gaussian pairs, affine; see :func:`llrkit.fit_mixture`.

    Parameters
    ----------
    alpha
        Weight of the targets in the likelihood, strictly between 0 and 1.
    prior
        Prior probability of the target; ``predict`` and ``predict_proba`` apply it.
    pos_label
        The label of the targets; by default that which comes last in sorted order.
    """

    def __init__(self, alpha: float = 0.5, prior: float = 0.5, pos_label: Any = None) -> None:
        self.alpha = alpha
        self.prior = prior
        self.pos_label = pos_label

    def _fit_map(self, scores: ScoreSource) -> Map:
        return fit_mixture(scores, alpha=self.alpha)


class GammaCalibrator(Calibrator):
    """The gamma pair, affine; see :func:`llrkit.fit_gamma`.

    Parameters
    ----------
    mirror
        Which of the two models, the mirrored one or the other; ``None`` takes the more likely one.
    prior
        Prior probability of the target; ``predict`` and ``predict_proba`` apply it.
    pos_label
        The label of the targets; by default that which comes last in sorted order.
    """

    def __init__(self, mirror: bool | None = None, prior: float = 0.5, pos_label: Any = None) -> None:
        self.mirror = mirror
        self.prior = prior
        self.pos_label = pos_label

    def _fit_map(self, scores: ScoreSource) -> Map:
        return fit_gamma(scores, mirror=self.mirror)


class KDECalibrator(Calibrator):
    """Kernel density estimates; see :func:`llrkit.fit_kde`.

    Parameters
    ----------
    bandwidth
        Standard deviation of the kernel, in units of the score, or ``"silverman"``.
    prior
        Prior probability of the target; ``predict`` and ``predict_proba`` apply it.
    pos_label
        The label of the targets; by default that which comes last in sorted order.
    """

    def __init__(self, bandwidth: Any = "silverman", prior: float = 0.5, pos_label: Any = None) -> None:
        self.bandwidth = bandwidth
        self.prior = prior
        self.pos_label = pos_label

    def _fit_map(self, scores: ScoreSource) -> Map:
        return fit_kde(scores, bandwidth=self.bandwidth)


class BayesCalibrator(Calibrator):
    """Gaussian scores with the parameters integrated out; see :func:`llrkit.fit_bayes`.

    Parameters
    ----------
    shared_variance
        Whether both classes have the same variance.
    prior
        Prior probability of the target; ``predict`` and ``predict_proba`` apply it.
    pos_label
        The label of the targets; by default that which comes last in sorted order.
    """

    def __init__(self, shared_variance: bool = True, prior: float = 0.5, pos_label: Any = None) -> None:
        self.shared_variance = shared_variance
        self.prior = prior
        self.pos_label = pos_label

    def _fit_map(self, scores: ScoreSource) -> Map:
        return fit_bayes(scores, shared_variance=self.shared_variance)


class BiGaussianCalibrator(Calibrator):
    """Bi-Gaussianized calibration; see :func:`llrkit.fit_bigaussian`.

    Parameters
    ----------
    sigma_from
        Where sigma of the calibrated pair comes from: ``"cllr"``, ``"eer"`` or ``"min_cllr"``.
    prior
        Prior probability of the target; ``predict`` and ``predict_proba`` apply it.
    pos_label
        The label of the targets; by default that which comes last in sorted order.
    """

    def __init__(self, sigma_from: str = "cllr", prior: float = 0.5, pos_label: Any = None) -> None:
        self.sigma_from = sigma_from
        self.prior = prior
        self.pos_label = pos_label

    def _fit_map(self, scores: ScoreSource) -> Map:
        return fit_bigaussian(scores, sigma_from=self.sigma_from)


class UnsupervisedCalibrator(Calibrator):
    """Two Gaussians fitted without the labels; see :func:`llrkit.fit_unsupervised`.

    Parameters
    ----------
    prior
        Prior probability of the target; ``predict`` and ``predict_proba`` apply it.
    pos_label
        The label of the targets; by default that which comes last in sorted order.
    """

    def __init__(self, prior: float = 0.5, pos_label: Any = None) -> None:
        self.prior = prior
        self.pos_label = pos_label

    def _fit_map(self, scores: ScoreSource) -> Map:
        return fit_unsupervised(scores)
