"""The calibrators of several classes by name, as users type them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from llrkit.choose.methods import fit_of, method_name
from llrkit.multiclass.class_counts_and_priors import Prior
from llrkit.multiclass.class_map_base import ClassMap
from llrkit.multiclass.gaussian_backend import fit_gaussian
from llrkit.multiclass.softmax_fits import (
    fit_affine,
    fit_fusion,
    fit_scale_offset,
    fit_temperature,
    fit_vector,
)
from llrkit.scores.class_scores import ClassSource

METHODS: Mapping[str, Callable[..., ClassMap]] = MappingProxyType(
    {
        "temperature": fit_temperature,
        "scale-offset": fit_scale_offset,
        "vector": fit_vector,
        "affine": fit_affine,
        "gaussian": fit_gaussian,
        "free-gaussian": partial(fit_gaussian, shared=False),
        "fusion": fit_fusion,
    }
)
CANDIDATES = ("temperature", "scale-offset", "vector", "gaussian")
_NO_PRIOR = ("gaussian", "free-gaussian")


def fit_named(method: str, source: ClassSource, *, prior: Prior = "flat", **options: object) -> ClassMap:
    """Fit a calibrator by name; the prior goes to those that have one.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.ClassScores([[3.0, 0, 0], [0, 2.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> fit_named("temperature", scores).method
    'temperature'
    """
    return fit_of(method, METHODS)(source, **options, **prior_option(method, prior))


def prior_option(method: str | Callable[..., ClassMap], prior: Prior) -> dict[str, Prior]:
    """The prior as an option of a method, if it is one of those that have it.

    Examples
    --------
    >>> prior_option("vector", "counts"), prior_option("gaussian", "counts")
    ({'prior': 'counts'}, {})
    """
    return {} if method_name(method, METHODS) in _NO_PRIOR else {"prior": prior}
