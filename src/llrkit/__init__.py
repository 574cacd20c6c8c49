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
    from llrkit.engine.dask import DaskSource, cluster
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
    from llrkit.metrics.detection import auc, eer, eer_roc, min_cllr, min_dcf, prbep
    from llrkit.metrics.evaluation import Evaluation
    from llrkit.metrics.llrs import act_dcf, cllr, cllr_cal, cross_entropy, eer_threshold, hter, rule_cost
    from llrkit.metrics.measure import evaluate
    from llrkit.metrics.primary import c_primary, compound_llr
    from llrkit.metrics.slope import det_slope
    from llrkit.report.page import write_report
    from llrkit.report.tables import format_table
    from llrkit.scores.arrays import Scores
    from llrkit.scores.classes import ClassScores
    from llrkit.scores.source import ScoreSource
    from llrkit.scores.trials import Trials
    from llrkit.scores.vectors import ClassSource, ClassVectors
    from llrkit.simulate.pairs import simulate_trials
    from llrkit.theory.points import OperatingPoint, operating_point, preset

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
    "llrkit.engine.dask": ("DaskSource", "cluster"),
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
    "llrkit.metrics.measure": ("evaluate",),
    "llrkit.metrics.primary": ("c_primary", "compound_llr"),
    "llrkit.metrics.slope": ("det_slope",),
    "llrkit.report.page": ("write_report",),
    "llrkit.report.tables": ("format_table",),
    "llrkit.scores.arrays": ("Scores",),
    "llrkit.scores.classes": ("ClassScores",),
    "llrkit.scores.source": ("ScoreSource",),
    "llrkit.scores.trials": ("Trials",),
    "llrkit.scores.vectors": ("ClassSource", "ClassVectors"),
    "llrkit.simulate.pairs": ("simulate_trials",),
    "llrkit.theory.points": ("OperatingPoint", "operating_point", "preset"),
}
# used as they are: lk.theory.GaussianLLR, lk.plot.det
_ROOMS = ("multiclass", "plot", "recognize", "simulate", "theory")
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "AffineMap",
    "ClassScores",
    "ClassSource",
    "ClassVectors",
    "ClusterError",
    "Comparison",
    "ConstantScoreError",
    "CrossCalibration",
    "DaskSource",
    "Diagnosis",
    "EmptyClassError",
    "Evaluation",
    "FileFormatError",
    "InfiniteScoreError",
    "InputError",
    "LabelError",
    "LinearMap",
    "LlrkitError",
    "LlrkitWarning",
    "Map",
    "MapFileError",
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
    "SystemCountError",
    "TooFewTrialsError",
    "Trials",
    "UnconfirmedPresetError",
    "UnknownNameError",
    "UnreadableWarning",
    "__version__",
    "act_dcf",
    "auc",
    "bound_elub",
    "bound_fixed",
    "bound_invariance",
    "bound_sources",
    "c_primary",
    "cllr",
    "cllr_cal",
    "cluster",
    "compare",
    "compound_llr",
    "cross_calibrate",
    "cross_entropy",
    "det_slope",
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
    "load_map",
    "min_cllr",
    "min_dcf",
    "multiclass",
    "operating_point",
    "plot",
    "prbep",
    "preset",
    "read_trials",
    "recognize",
    "rule_cost",
    "scan_trials",
    "simulate",
    "simulate_trials",
    "theory",
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
