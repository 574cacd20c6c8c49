"""Log-likelihood-ratios that can be trusted, and how far they can be trusted.

>>> import llrkit as lk
>>> scores = lk.Scores(target=[2.1, 3.5, 0.4, 1.7], nontarget=[-2.2, -0.3, 0.6, -1.9, -3.1])
>>> round(lk.eer(scores), 4), round(lk.cllr(scores), 4)
(0.1111, 0.4203)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from llrkit._version import __version__

if TYPE_CHECKING:
    from llrkit import multiclass, plot, recognize, simulate, theory
    from llrkit.calibrate.affine.bayesian import fit_bayes
    from llrkit.calibrate.affine.cmlg import fit_cmlg
    from llrkit.calibrate.affine.expectation import fit_expectation
    from llrkit.calibrate.affine.logistic import fit_logistic, fit_rule
    from llrkit.calibrate.affine.saturating import fit_saturating
    from llrkit.calibrate.affine.unsupervised import fit_unsupervised
    from llrkit.calibrate.composite.bounds import bound_elub, bound_fixed, bound_invariance, bound_sources
    from llrkit.calibrate.composite.conditional import fit_by
    from llrkit.calibrate.composite.fusion import LinearMap, fit_fusion, fit_quality
    from llrkit.calibrate.densities.gamma_ratio import fit_gamma
    from llrkit.calibrate.densities.kde import fit_kde
    from llrkit.calibrate.densities.mixture import fit_mixture
    from llrkit.calibrate.densities.nig import fit_nig
    from llrkit.calibrate.densities.student_t import fit_student_t
    from llrkit.calibrate.densities.tied_nig import fit_tied_nig
    from llrkit.calibrate.densities.two_gaussians import fit_gaussian
    from llrkit.calibrate.map_files import load_map
    from llrkit.calibrate.maps import AffineMap, Map
    from llrkit.calibrate.monotone.bigaussian import fit_bigaussian
    from llrkit.calibrate.monotone.lineup import fit_lineup
    from llrkit.calibrate.monotone.pav import fit_pav
    from llrkit.choose.best import CrossCalibration, cross_calibrate, fit_best
    from llrkit.engine.cluster import cluster
    from llrkit.engine.dask_source import DaskSource
    from llrkit.engine.open_trials import read_trials, scan_trials
    from llrkit.errors import (
        ClusterError,
        ConstantScoreError,
        EmptyClassError,
        FileFormatError,
        InfiniteScoreError,
        InputError,
        LabelError,
        LlrkitError,
        LlrkitWarning,
        MapFileError,
        MissingPackageError,
        NaNScoreError,
        NotInvertibleError,
        PooledClassesWarning,
        ReversedScoresWarning,
        SeparationError,
        ShapeWarning,
        SystemCountError,
        TooFewTrialsError,
        UnconfirmedPresetError,
        UnknownNameError,
        UnreadableWarning,
    )
    from llrkit.evaluation.compare import Comparison, compare
    from llrkit.evaluation.condition_table import ConditionTable, condition_table
    from llrkit.evaluation.diagnose import Diagnosis, diagnose
    from llrkit.evaluation.evaluate import evaluate
    from llrkit.evaluation.result import Evaluation
    from llrkit.io.write import write_trials
    from llrkit.metrics.det_slope import det_slope
    from llrkit.metrics.discrimination import auc, eer, eer_roc, min_cllr, min_dcf, prbep
    from llrkit.metrics.llr_costs import (
        act_dcf,
        cllr,
        cllr_cal,
        cross_entropy,
        eer_threshold,
        hter,
        rule_cost,
    )
    from llrkit.metrics.primary import c_primary, compound_llr
    from llrkit.report.page import write_report
    from llrkit.report.paper_tables import format_table
    from llrkit.scores.arrays import Scores
    from llrkit.scores.classes import ClassScores
    from llrkit.scores.source import ScoreSource
    from llrkit.scores.trials import Trials
    from llrkit.scores.vectors import ClassSource, ClassVectors
    from llrkit.scores.weights import weigh
    from llrkit.simulate.independent_trials import simulate_trials
    from llrkit.theory.operating_points import OperatingPoint, operating_point, preset
    from llrkit.trust.calibration.calibration_loss import calibration_loss
    from llrkit.trust.calibration.check import CalibrationCheck, check_calibration
    from llrkit.trust.calibration.devpav import dev_pav
    from llrkit.trust.calibration.loss_result import CalibrationLoss
    from llrkit.trust.calibration.map_errors import MapUncertainty, llr_band, map_uncertainty
    from llrkit.trust.calibration.null_distribution import CalibrationNull, calibration_null
    from llrkit.trust.calibration.precision import LlrPrecision, llr_precision
    from llrkit.trust.differences.delong import DeLong, delong_test
    from llrkit.trust.differences.paired import SystemComparison, compare_systems
    from llrkit.trust.intervals.bands import CurveBands, curve_bands
    from llrkit.validation.criteria import Criteria, read_criteria
    from llrkit.validation.misleading import MisleadingTrial, misleading_trials
    from llrkit.validation.validate import Validation, validate
    from llrkit.validation.verbal_scale import verbal_scale

# Where each public name lives. Names are imported when first used, so that `llrkit --help` stays quick.
_HOME = {
    "llrkit.calibrate.affine.bayesian": ("fit_bayes",),
    "llrkit.calibrate.monotone.bigaussian": ("fit_bigaussian",),
    "llrkit.calibrate.composite.bounds": ("bound_elub", "bound_fixed", "bound_invariance", "bound_sources"),
    "llrkit.calibrate.affine.cmlg": ("fit_cmlg",),
    "llrkit.calibrate.composite.conditional": ("fit_by",),
    "llrkit.calibrate.affine.expectation": ("fit_expectation",),
    "llrkit.calibrate.map_files": ("load_map",),
    "llrkit.calibrate.composite.fusion": ("LinearMap", "fit_fusion", "fit_quality"),
    "llrkit.calibrate.densities.gamma_ratio": ("fit_gamma",),
    "llrkit.calibrate.densities.two_gaussians": ("fit_gaussian",),
    "llrkit.calibrate.densities.kde": ("fit_kde",),
    "llrkit.calibrate.monotone.lineup": ("fit_lineup",),
    "llrkit.calibrate.affine.logistic": ("fit_logistic", "fit_rule"),
    "llrkit.calibrate.maps": ("AffineMap", "Map"),
    "llrkit.calibrate.densities.mixture": ("fit_mixture",),
    "llrkit.calibrate.densities.nig": ("fit_nig",),
    "llrkit.calibrate.monotone.pav": ("fit_pav",),
    "llrkit.calibrate.affine.saturating": ("fit_saturating",),
    "llrkit.calibrate.densities.student_t": ("fit_student_t",),
    "llrkit.calibrate.densities.tied_nig": ("fit_tied_nig",),
    "llrkit.calibrate.affine.unsupervised": ("fit_unsupervised",),
    "llrkit.choose.best": ("CrossCalibration", "cross_calibrate", "fit_best"),
    "llrkit.evaluation.compare": ("Comparison", "compare"),
    "llrkit.evaluation.diagnose": ("Diagnosis", "diagnose"),
    "llrkit.engine.cluster": ("cluster",),
    "llrkit.engine.dask_source": ("DaskSource",),
    "llrkit.engine.open_trials": ("read_trials", "scan_trials"),
    "llrkit.errors": (
        "ClusterError",
        "ConstantScoreError",
        "EmptyClassError",
        "FileFormatError",
        "InfiniteScoreError",
        "InputError",
        "LabelError",
        "LlrkitError",
        "LlrkitWarning",
        "MapFileError",
        "MissingPackageError",
        "NaNScoreError",
        "NotInvertibleError",
        "PooledClassesWarning",
        "ReversedScoresWarning",
        "SeparationError",
        "ShapeWarning",
        "SystemCountError",
        "TooFewTrialsError",
        "UnconfirmedPresetError",
        "UnknownNameError",
        "UnreadableWarning",
    ),
    "llrkit.io.write": ("write_trials",),
    "llrkit.trust.calibration.loss_result": ("CalibrationLoss",),
    "llrkit.metrics.discrimination": ("auc", "eer", "eer_roc", "min_cllr", "min_dcf", "prbep"),
    "llrkit.evaluation.result": ("Evaluation",),
    "llrkit.metrics.llr_costs": (
        "act_dcf",
        "cllr",
        "cllr_cal",
        "cross_entropy",
        "eer_threshold",
        "hter",
        "rule_cost",
    ),
    "llrkit.metrics.primary": ("c_primary", "compound_llr"),
    "llrkit.metrics.det_slope": ("det_slope",),
    "llrkit.report.page": ("write_report",),
    "llrkit.report.paper_tables": ("format_table",),
    "llrkit.scores.arrays": ("Scores",),
    "llrkit.scores.classes": ("ClassScores",),
    "llrkit.scores.source": ("ScoreSource",),
    "llrkit.scores.trials": ("Trials",),
    "llrkit.scores.vectors": ("ClassSource", "ClassVectors"),
    "llrkit.scores.weights": ("weigh",),
    "llrkit.simulate.independent_trials": ("simulate_trials",),
    "llrkit.theory.operating_points": ("OperatingPoint", "operating_point", "preset"),
    "llrkit.trust.intervals.bands": ("CurveBands", "curve_bands"),
    "llrkit.trust.calibration.check": ("CalibrationCheck", "check_calibration"),
    "llrkit.evaluation.condition_table": ("ConditionTable", "condition_table"),
    "llrkit.validation.criteria": ("Criteria", "read_criteria"),
    "llrkit.trust.differences.delong": ("DeLong", "delong_test"),
    "llrkit.trust.calibration.devpav": ("dev_pav",),
    "llrkit.evaluation.evaluate": ("evaluate",),
    "llrkit.trust.calibration.calibration_loss": ("calibration_loss",),
    "llrkit.trust.calibration.map_errors": ("MapUncertainty", "llr_band", "map_uncertainty"),
    "llrkit.validation.misleading": ("MisleadingTrial", "misleading_trials"),
    "llrkit.trust.calibration.null_distribution": ("CalibrationNull", "calibration_null"),
    "llrkit.trust.differences.paired": ("SystemComparison", "compare_systems"),
    "llrkit.trust.calibration.precision": ("LlrPrecision", "llr_precision"),
    "llrkit.validation.validate": ("Validation", "validate"),
    "llrkit.validation.verbal_scale": ("verbal_scale",),
}
# used as they are: lk.theory.GaussianLLR, lk.plot.det
_ROOMS = ("multiclass", "plot", "recognize", "simulate", "theory")
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "AffineMap",
    "CalibrationCheck",
    "CalibrationLoss",
    "CalibrationNull",
    "ClassScores",
    "ClassSource",
    "ClassVectors",
    "ClusterError",
    "Comparison",
    "ConditionTable",
    "ConstantScoreError",
    "Criteria",
    "CrossCalibration",
    "CurveBands",
    "DaskSource",
    "DeLong",
    "Diagnosis",
    "EmptyClassError",
    "Evaluation",
    "FileFormatError",
    "InfiniteScoreError",
    "InputError",
    "LabelError",
    "LinearMap",
    "LlrPrecision",
    "LlrkitError",
    "LlrkitWarning",
    "Map",
    "MapFileError",
    "MapUncertainty",
    "MisleadingTrial",
    "MissingPackageError",
    "NaNScoreError",
    "NotInvertibleError",
    "OperatingPoint",
    "PooledClassesWarning",
    "ReversedScoresWarning",
    "ScoreSource",
    "Scores",
    "SeparationError",
    "ShapeWarning",
    "SystemComparison",
    "SystemCountError",
    "TooFewTrialsError",
    "Trials",
    "UnconfirmedPresetError",
    "UnknownNameError",
    "UnreadableWarning",
    "Validation",
    "__version__",
    "act_dcf",
    "auc",
    "bound_elub",
    "bound_fixed",
    "bound_invariance",
    "bound_sources",
    "c_primary",
    "calibration_loss",
    "calibration_null",
    "check_calibration",
    "cllr",
    "cllr_cal",
    "cluster",
    "compare",
    "compare_systems",
    "compound_llr",
    "condition_table",
    "cross_calibrate",
    "cross_entropy",
    "curve_bands",
    "delong_test",
    "det_slope",
    "dev_pav",
    "diagnose",
    "eer",
    "eer_roc",
    "eer_threshold",
    "evaluate",
    "fit_bayes",
    "fit_best",
    "fit_bigaussian",
    "fit_by",
    "fit_cmlg",
    "fit_expectation",
    "fit_fusion",
    "fit_gamma",
    "fit_gaussian",
    "fit_kde",
    "fit_lineup",
    "fit_logistic",
    "fit_mixture",
    "fit_nig",
    "fit_pav",
    "fit_quality",
    "fit_rule",
    "fit_saturating",
    "fit_student_t",
    "fit_tied_nig",
    "fit_unsupervised",
    "format_table",
    "hter",
    "llr_band",
    "llr_precision",
    "load_map",
    "map_uncertainty",
    "min_cllr",
    "min_dcf",
    "misleading_trials",
    "multiclass",
    "operating_point",
    "plot",
    "prbep",
    "preset",
    "read_criteria",
    "read_trials",
    "recognize",
    "rule_cost",
    "scan_trials",
    "simulate",
    "simulate_trials",
    "theory",
    "validate",
    "verbal_scale",
    "weigh",
    "write_report",
    "write_trials",
]


def __getattr__(name: str) -> object:
    if name in _MODULE_OF:
        value = getattr(import_module(_MODULE_OF[name]), name)
    elif name in _ROOMS:
        value = import_module(f"llrkit.{name}")
    else:
        raise AttributeError(f"module 'llrkit' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
