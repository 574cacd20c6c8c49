"""Estimators that describe one score; several columns are fused by logistic regression first."""

from __future__ import annotations

from llrkit.calibrate.affine.bayesian import fit_bayes
from llrkit.calibrate.affine.expectation import fit_expectation
from llrkit.calibrate.affine.saturating.saturating_map import fit_saturating
from llrkit.calibrate.affine.unsupervised import fit_unsupervised
from llrkit.calibrate.densities.gamma_ratio import fit_gamma
from llrkit.calibrate.densities.kde import fit_kde
from llrkit.calibrate.densities.mixture import fit_mixture
from llrkit.calibrate.densities.nig import fit_nig
from llrkit.calibrate.densities.student_t import fit_student_t
from llrkit.calibrate.densities.tied_nig import fit_tied_nig
from llrkit.calibrate.densities.two_gaussians import fit_gaussian
from llrkit.calibrate.monotone.bigaussian import fit_bigaussian
from llrkit.calibrate.monotone.pav import fit_pav
from llrkit.sklearn.estimators_from_fits import calibrator_of

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
