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
    from llrkit import theory
    from llrkit.calibrate.cmlg import fit_cmlg
    from llrkit.calibrate.files import load_map
    from llrkit.calibrate.fusion import LinearMap, fit_fusion, fit_quality
    from llrkit.calibrate.logistic import fit_logistic, fit_rule
    from llrkit.calibrate.maps import AffineMap, Map
    from llrkit.errors import (
        ConstantScoreError,
        EmptyClassError,
        FileFormatError,
        InfiniteScoreError,
        InputError,
        LabelError,
        LlrkitError,
        LlrkitWarning,
        MapFileError,
        NaNScoreError,
        NotInvertibleError,
        ReversedScoresWarning,
        SeparationError,
        ShapeWarning,
        SystemCountError,
        TooFewTrialsError,
        UnconfirmedPresetError,
        UnknownNameError,
    )
    from llrkit.io import read_trials
    from llrkit.metrics.detection import auc, eer, eer_roc, min_cllr, min_dcf, prbep
    from llrkit.metrics.evaluation import Evaluation
    from llrkit.metrics.llrs import act_dcf, cllr, cllr_cal, cross_entropy, eer_threshold, hter, rule_cost
    from llrkit.metrics.measure import evaluate
    from llrkit.metrics.primary import c_primary, compound_llr
    from llrkit.metrics.slope import det_slope
    from llrkit.scores.arrays import Scores
    from llrkit.scores.source import ScoreSource
    from llrkit.scores.trials import Trials
    from llrkit.theory.points import OperatingPoint, operating_point, preset

# Where each public name lives. Names are imported when first used, so that `llrkit --help` stays quick.
_HOME = {
    "llrkit.calibrate.cmlg": ("fit_cmlg",),
    "llrkit.calibrate.files": ("load_map",),
    "llrkit.calibrate.fusion": ("LinearMap", "fit_fusion", "fit_quality"),
    "llrkit.calibrate.logistic": ("fit_logistic", "fit_rule"),
    "llrkit.calibrate.maps": ("AffineMap", "Map"),
    "llrkit.errors": (
        "ConstantScoreError", "EmptyClassError", "FileFormatError", "InfiniteScoreError", "InputError",
        "LabelError", "LlrkitError", "LlrkitWarning", "MapFileError", "NaNScoreError", "NotInvertibleError",
        "ReversedScoresWarning", "SeparationError", "ShapeWarning", "SystemCountError", "TooFewTrialsError",
        "UnconfirmedPresetError", "UnknownNameError",
    ),
    "llrkit.io": ("read_trials",),
    "llrkit.metrics.detection": ("auc", "eer", "eer_roc", "min_cllr", "min_dcf", "prbep"),
    "llrkit.metrics.evaluation": ("Evaluation",),
    "llrkit.metrics.llrs": (
        "act_dcf", "cllr", "cllr_cal", "cross_entropy", "eer_threshold", "hter", "rule_cost",
    ),
    "llrkit.metrics.measure": ("evaluate",),
    "llrkit.metrics.primary": ("c_primary", "compound_llr"),
    "llrkit.metrics.slope": ("det_slope",),
    "llrkit.scores.arrays": ("Scores",),
    "llrkit.scores.source": ("ScoreSource",),
    "llrkit.scores.trials": ("Trials",),
    "llrkit.theory.points": ("OperatingPoint", "operating_point", "preset"),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "AffineMap",
    "ConstantScoreError",
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
    "NaNScoreError",
    "NotInvertibleError",
    "OperatingPoint",
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
    "__version__",
    "act_dcf",
    "auc",
    "c_primary",
    "cllr",
    "cllr_cal",
    "compound_llr",
    "cross_entropy",
    "det_slope",
    "eer",
    "eer_roc",
    "eer_threshold",
    "evaluate",
    "fit_cmlg",
    "fit_fusion",
    "fit_logistic",
    "fit_quality",
    "fit_rule",
    "hter",
    "load_map",
    "min_cllr",
    "min_dcf",
    "operating_point",
    "prbep",
    "preset",
    "read_trials",
    "rule_cost",
    "theory",
]


def __getattr__(name: str) -> object:
    if name in _MODULE_OF:
        value = getattr(import_module(_MODULE_OF[name]), name)
    elif name == "theory":
        value = import_module("llrkit.theory")
    else:
        raise AttributeError(f"module 'llrkit' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
