"""The calibrators of one score by name, as users type them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llrkit.calibrate.affine.bayesian import fit_bayes
from llrkit.calibrate.affine.cmlg import fit_cmlg
from llrkit.calibrate.affine.expectation import fit_expectation
from llrkit.calibrate.affine.logistic import fit_logistic, fit_rule
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
from llrkit.calibrate.option_checks import names_of
from llrkit.errors import InputError, LlrkitWarning, UnknownNameError
from llrkit.scores import ScoreSource

Fit = Callable[..., Map]


METHODS: dict[str, Fit] = {
    "cmlg": fit_cmlg,
    "logistic": fit_logistic,
    "rule": fit_rule,
    "saturating": fit_saturating,
    "tied-nig": fit_tied_nig,
    "gaussian": fit_gaussian,
    "bayes": fit_bayes,
    "student-t": fit_student_t,
    "nig": fit_nig,
    "mixture": fit_mixture,
    "gamma": fit_gamma,
    "kde": fit_kde,
    "bigaussian": fit_bigaussian,
    "pav": fit_pav,
    "expectation": fit_expectation,
    "unsupervised": fit_unsupervised,
}

CANDIDATES = ("cmlg", "logistic", "saturating", "tied-nig", "gaussian", "nig", "kde", "bigaussian", "pav")
"""What :func:`llrkit.fit_best` tries unless told otherwise."""

NOT_SMOOTH = frozenset({"pav"})
"""Methods whose maps do not change smoothly with the shares of the training trials.

Burman's correction follows from a Taylor series in these shares. PAV follows every trial, its loss on its own
trials falls faster than the series allows, and the correction would make it look better than it is.
"""


def fit_named(name: str, source: ScoreSource, **options: Any) -> Map:
    """Fit a calibrator by name.

    Examples
    --------
    >>> import llrkit as lk
    >>> fit_named("cmlg", lk.Scores([2.0, 4.0], [0.0, 2.0])).method
    'cmlg'
    """
    return METHODS[method_name(name)](source, **options)


def fit_quietly(
    name: str, source: ScoreSource, options: Mapping[str, Any], known: Mapping[str, Fit] = METHODS
) -> Map:
    """Fit without warnings about the shape of the scores: where methods are compared one sees what fits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LlrkitWarning)
        return known[method_name(name, known)](source, **options)


def method_name(name: str, known: Mapping[str, Fit] = METHODS) -> str:
    """The name of a known method, underscores and case aside."""
    normalized = name.strip().lower().replace("_", "-")
    if normalized not in known:
        raise UnknownNameError(f"unknown calibration method {name!r}; known are {', '.join(known)}")
    return normalized


def method_names(names: str | Sequence[str], known: Mapping[str, Fit] = METHODS) -> list[str]:
    """Names of known methods, given as a list or separated by commas."""
    typed = names.split(",") if isinstance(names, str) else names_of(names, "methods")
    chosen = [method_name(name, known) for name in typed if name.strip()]
    if not chosen:
        raise InputError(f"no method is named; known are {', '.join(known)}")
    return list(dict.fromkeys(chosen))
