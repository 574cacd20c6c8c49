"""More than two classes: metrics, calibration and fusion of log-likelihood vectors.

Everything takes a :class:`llrkit.ClassSource`: :class:`llrkit.ClassScores` in memory, files, a cluster. For
two classes every number equals that of the binary code; the first class is then the target.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from llrkit.multiclass.binary import detection, detection_llrs, only, pair
from llrkit.multiclass.class_evaluation import ClassEvaluation
from llrkit.multiclass.class_idempotence import Idempotence, calibrated_means, idempotence
from llrkit.multiclass.class_map_files import load_map
from llrkit.multiclass.class_maps import ClassMap, posteriors
from llrkit.multiclass.class_metrics import (
    Confusion,
    cllr,
    confusion,
    error_rate,
    expected_cost,
    zero_one_cost,
)
from llrkit.multiclass.class_pictures import class_calibration, class_dets, pair_histograms
from llrkit.multiclass.compare_methods import ClassComparison, compare
from llrkit.multiclass.cross_validation import calibration_loss, cross_calibrate
from llrkit.multiclass.fits import fit_affine, fit_fusion, fit_scale_offset, fit_temperature, fit_vector
from llrkit.multiclass.gaussian_backend import fit_gaussian
from llrkit.multiclass.lre import CavgPreset, cavg, cavg_preset
from llrkit.multiclass.measure_classes import evaluate
from llrkit.multiclass.refined_loss import refine, refined_cllr
from llrkit.trust.calibration.loss_result import CalibrationLoss

if TYPE_CHECKING:
    from llrkit.engine.class_files import scan_classes, scatter_classes
    from llrkit.io.classes.read_classes import read_classes

__all__ = [
    "CalibrationLoss",
    "CavgPreset",
    "ClassComparison",
    "ClassEvaluation",
    "ClassMap",
    "Confusion",
    "Idempotence",
    "calibrated_means",
    "calibration_loss",
    "cavg",
    "cavg_preset",
    "class_calibration",
    "class_dets",
    "cllr",
    "compare",
    "confusion",
    "cross_calibrate",
    "detection",
    "detection_llrs",
    "error_rate",
    "evaluate",
    "expected_cost",
    "fit_affine",
    "fit_fusion",
    "fit_gaussian",
    "fit_scale_offset",
    "fit_temperature",
    "fit_vector",
    "idempotence",
    "load_map",
    "only",
    "pair",
    "pair_histograms",
    "posteriors",
    "read_classes",
    "refine",
    "refined_cllr",
    "scan_classes",
    "scatter_classes",
    "zero_one_cost",
]

# These import polars, which arrays alone do not need.
_FILES = {
    "read_classes": "llrkit.io.classes.read_classes",
    "scan_classes": "llrkit.engine.class_files",
    "scatter_classes": "llrkit.engine.class_files",
}


def __getattr__(name: str) -> object:
    if name in _FILES:
        return getattr(import_module(_FILES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
