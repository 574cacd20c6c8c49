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
    from llrkit.calibrate.bayes import fit_bayes
    from llrkit.calibrate.bigaussian import fit_bigaussian
    from llrkit.calibrate.bounds import bound_elub, bound_fixed, bound_invariance, bound_sources
    from llrkit.calibrate.cmlg import fit_cmlg
    from llrkit.calibrate.conditional import fit_by
    from llrkit.calibrate.expectation import fit_expectation
    from llrkit.calibrate.files import load_map
    from llrkit.calibrate.fusion import LinearMap, fit_fusion, fit_quality
    from llrkit.calibrate.gamma import fit_gamma
    from llrkit.calibrate.gaussian import fit_gaussian
    from llrkit.calibrate.kde import fit_kde
    from llrkit.calibrate.lineup import fit_lineup
    from llrkit.calibrate.logistic import fit_logistic, fit_rule
    from llrkit.calibrate.maps import AffineMap, Map
    from llrkit.calibrate.mixture import fit_mixture
    from llrkit.calibrate.nig import fit_nig
    from llrkit.calibrate.pav import fit_pav
    from llrkit.calibrate.saturating import fit_saturating
    from llrkit.calibrate.student import fit_student_t
    from llrkit.calibrate.tied import fit_tied_nig
    from llrkit.calibrate.unsupervised import fit_unsupervised
    from llrkit.choose.best import CrossCalibration, cross_calibrate, fit_best
    from llrkit.choose.compare import Comparison, compare
    from llrkit.choose.diagnose import Diagnosis, diagnose
    from llrkit.engine.cluster import cluster
    from llrkit.engine.dask import DaskSource
    from llrkit.engine.files import scan_trials
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
    from llrkit.io import read_trials
    from llrkit.io.write import write_trials
    from llrkit.metrics.calibration_loss import CalibrationLoss
    from llrkit.metrics.detection import auc, eer, eer_roc, min_cllr, min_dcf, prbep
    from llrkit.metrics.evaluation import Evaluation
    from llrkit.metrics.llrs import act_dcf, cllr, cllr_cal, cross_entropy, eer_threshold, hter, rule_cost
    from llrkit.metrics.primary import c_primary, compound_llr
    from llrkit.metrics.slope import det_slope
    from llrkit.report.page import write_report
    from llrkit.report.tables import format_table
    from llrkit.scores.arrays import Scores
    from llrkit.scores.classes import ClassScores
    from llrkit.scores.source import ScoreSource
    from llrkit.scores.trials import Trials
    from llrkit.scores.vectors import ClassSource, ClassVectors
    from llrkit.scores.weights import weigh
    from llrkit.simulate.pairs import simulate_trials
    from llrkit.theory.points import OperatingPoint, operating_point, preset
    from llrkit.trust.bands import CurveBands, curve_bands
    from llrkit.trust.calibration import CalibrationCheck, check_calibration
    from llrkit.trust.conditions import ConditionTable, condition_table
    from llrkit.trust.criteria import Criteria, read_criteria
    from llrkit.trust.delong import DeLong, delong_test
    from llrkit.trust.devpav import dev_pav
    from llrkit.trust.evaluate import evaluate
    from llrkit.trust.loss import calibration_loss
    from llrkit.trust.map_errors import MapUncertainty, llr_band, map_uncertainty
    from llrkit.trust.misleading import MisleadingTrial, misleading_trials
    from llrkit.trust.null import CalibrationNull, calibration_null
    from llrkit.trust.paired import SystemComparison, compare_systems
    from llrkit.trust.precision import LlrPrecision, llr_precision
    from llrkit.trust.validation import Validation, validate
    from llrkit.trust.verbal import verbal_scale

# Where each public name lives. Names are imported when first used, so that `llrkit --help` stays quick.
_HOME = {
    "llrkit.calibrate.bayes": ("fit_bayes",),
    "llrkit.calibrate.bigaussian": ("fit_bigaussian",),
    "llrkit.calibrate.bounds": ("bound_elub", "bound_fixed", "bound_invariance", "bound_sources"),
    "llrkit.calibrate.cmlg": ("fit_cmlg",),
    "llrkit.calibrate.conditional": ("fit_by",),
    "llrkit.calibrate.expectation": ("fit_expectation",),
    "llrkit.calibrate.files": ("load_map",),
    "llrkit.calibrate.fusion": ("LinearMap", "fit_fusion", "fit_quality"),
    "llrkit.calibrate.gamma": ("fit_gamma",),
    "llrkit.calibrate.gaussian": ("fit_gaussian",),
    "llrkit.calibrate.kde": ("fit_kde",),
    "llrkit.calibrate.lineup": ("fit_lineup",),
    "llrkit.calibrate.logistic": ("fit_logistic", "fit_rule"),
    "llrkit.calibrate.maps": ("AffineMap", "Map"),
    "llrkit.calibrate.mixture": ("fit_mixture",),
    "llrkit.calibrate.nig": ("fit_nig",),
    "llrkit.calibrate.pav": ("fit_pav",),
    "llrkit.calibrate.saturating": ("fit_saturating",),
    "llrkit.calibrate.student": ("fit_student_t",),
    "llrkit.calibrate.tied": ("fit_tied_nig",),
    "llrkit.calibrate.unsupervised": ("fit_unsupervised",),
    "llrkit.choose.best": ("CrossCalibration", "cross_calibrate", "fit_best"),
    "llrkit.choose.compare": ("Comparison", "compare"),
    "llrkit.choose.diagnose": ("Diagnosis", "diagnose"),
    "llrkit.engine.cluster": ("cluster",),
    "llrkit.engine.dask": ("DaskSource",),
    "llrkit.engine.files": ("scan_trials",),
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
    "llrkit.io": ("read_trials",),
    "llrkit.io.write": ("write_trials",),
    "llrkit.metrics.calibration_loss": ("CalibrationLoss",),
    "llrkit.metrics.detection": ("auc", "eer", "eer_roc", "min_cllr", "min_dcf", "prbep"),
    "llrkit.metrics.evaluation": ("Evaluation",),
    "llrkit.metrics.llrs": (
        "act_dcf",
        "cllr",
        "cllr_cal",
        "cross_entropy",
        "eer_threshold",
        "hter",
        "rule_cost",
    ),
    "llrkit.metrics.primary": ("c_primary", "compound_llr"),
    "llrkit.metrics.slope": ("det_slope",),
    "llrkit.report.page": ("write_report",),
    "llrkit.report.tables": ("format_table",),
    "llrkit.scores.arrays": ("Scores",),
    "llrkit.scores.classes": ("ClassScores",),
    "llrkit.scores.source": ("ScoreSource",),
    "llrkit.scores.trials": ("Trials",),
    "llrkit.scores.vectors": ("ClassSource", "ClassVectors"),
    "llrkit.scores.weights": ("weigh",),
    "llrkit.simulate.pairs": ("simulate_trials",),
    "llrkit.theory.points": ("OperatingPoint", "operating_point", "preset"),
    "llrkit.trust.bands": ("CurveBands", "curve_bands"),
    "llrkit.trust.calibration": ("CalibrationCheck", "check_calibration"),
    "llrkit.trust.conditions": ("ConditionTable", "condition_table"),
    "llrkit.trust.criteria": ("Criteria", "read_criteria"),
    "llrkit.trust.delong": ("DeLong", "delong_test"),
    "llrkit.trust.devpav": ("dev_pav",),
    "llrkit.trust.evaluate": ("evaluate",),
    "llrkit.trust.loss": ("calibration_loss",),
    "llrkit.trust.map_errors": ("MapUncertainty", "llr_band", "map_uncertainty"),
    "llrkit.trust.misleading": ("MisleadingTrial", "misleading_trials"),
    "llrkit.trust.null": ("CalibrationNull", "calibration_null"),
    "llrkit.trust.paired": ("SystemComparison", "compare_systems"),
    "llrkit.trust.precision": ("LlrPrecision", "llr_precision"),
    "llrkit.trust.validation": ("Validation", "validate"),
    "llrkit.trust.verbal": ("verbal_scale",),
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
