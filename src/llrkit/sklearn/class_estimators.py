"""Estimators of several classes; :mod:`llrkit.sklearn` hands them out."""

from __future__ import annotations

from llrkit.multiclass.gaussian_backend import fit_gaussian
from llrkit.multiclass.softmax_fits import fit_affine, fit_scale_offset, fit_temperature, fit_vector
from llrkit.sklearn.estimators_from_fits import class_calibrator_of

TemperatureScaling = class_calibrator_of("TemperatureScaling", fit_temperature, "One scale for all classes")
ScaleOffsetScaling = class_calibrator_of(
    "ScaleOffsetScaling", fit_scale_offset, "One scale, and an offset for each class"
)
VectorScaling = class_calibrator_of("VectorScaling", fit_vector, "A scale and an offset for each class")
AffineScaling = class_calibrator_of(
    "AffineScaling", fit_affine, "Multinomial logistic regression of scores or vectors", of_vectors=True
)
GaussianBackEnd = class_calibrator_of(
    "GaussianBackEnd", fit_gaussian, "A Gaussian for each class", of_vectors=True
)
