"""More than two classes: metrics, calibration and fusion of log-likelihood vectors.

Everything takes a :class:`ClassSource`: :class:`llrkit.ClassScores` in memory, files, a cluster. For two classes
every number equals that of the binary code; the first class is then the target.
"""

from llrkit.multiclass.detection import detection, detection_llrs, only, pair
from llrkit.multiclass.fits import fit_affine, fit_fusion, fit_scale_offset, fit_temperature, fit_vector
from llrkit.multiclass.metrics import (
    Confusion,
    cllr,
    confusion,
    error_rate,
    expected_cost,
    zero_one_cost,
)

__all__ = [
    "Confusion",
    "cllr",
    "confusion",
    "detection",
    "detection_llrs",
    "error_rate",
    "expected_cost",
    "fit_affine",
    "fit_fusion",
    "fit_scale_offset",
    "fit_temperature",
    "fit_vector",
    "only",
    "pair",
    "zero_one_cost",
]
