"""The calibrators of one score by name, as users type them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from llrkit._format import not_among
from llrkit.calibrate.affine.bayesian import fit_bayes
from llrkit.calibrate.affine.cmlg import fit_cmlg
from llrkit.calibrate.affine.expectation import fit_expectation
from llrkit.calibrate.affine.logistic_and_rules import fit_logistic, fit_rule
from llrkit.calibrate.affine.saturating_map import fit_saturating
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
from llrkit.calibrate.saved_map import SavedMap
from llrkit.errors import InputError, LlrkitWarning, UnknownNameError
from llrkit.scores import ScoreSource

M = TypeVar("M", bound=SavedMap)
Fit: TypeAlias = Callable[..., M]
Methods: TypeAlias = str | Sequence[str | Callable[..., M]]
"""Methods to try: their names, separated by commas, or a list of names and of functions."""

METHODS: dict[str, Callable[..., Map]] = {
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


def fit_quietly(method: str | Callable[..., Map], source: ScoreSource, options: Mapping[str, object]) -> Map:
    """Fit without warnings about the shape of the scores: where methods are compared one sees what fits."""
    return quietly(fit_of(method, METHODS), source, options)


def quietly(fit: Callable[..., M], source: object, options: Mapping[str, object]) -> M:
    """What a fit of any kind gives, without warnings about the shape of the scores."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LlrkitWarning)
        return fit(source, **options)


def fit_of(method: str | Callable[..., M], known: Mapping[str, Callable[..., M]]) -> Callable[..., M]:
    """The function behind a method, which is given by name or is that function already.

    Examples
    --------
    >>> fit_of("CMLG", METHODS) is fit_of(fit_cmlg, METHODS) is fit_cmlg
    True
    """
    return method if callable(method) else known[method_name(method, known)]


def method_name(method: str | Fit[SavedMap], known: Mapping[str, Fit[SavedMap]] = METHODS) -> str:
    """The name of a known method, underscores and case aside; that of a function is what follows ``fit_``.

    Examples
    --------
    >>> method_name("Student_T"), method_name(fit_cmlg), method_name(lambda source: None)
    ('student-t', 'cmlg', '<lambda>')
    """
    if callable(method):
        plain = getattr(method, "__name__", type(method).__name__).removeprefix("fit_").replace("_", "-")
        return next((name for name, fit in known.items() if fit is method), plain)
    normalized = str(method).strip().lower().replace("_", "-")
    if normalized not in known:
        raise UnknownNameError(f"unknown calibration method {not_among(method, known)}")
    return normalized


def named_fits(methods: Methods[M], known: Mapping[str, Fit[M]]) -> dict[str, Fit[M]]:
    """Methods by name: names separated by commas, or a list of names and of functions.

    Examples
    --------
    >>> list(named_fits(["logistic", fit_cmlg], METHODS))
    ['logistic', 'cmlg']
    """
    if callable(methods):
        raise InputError(f"methods are names or a list of names and functions, got {methods!r}")
    typed = methods.split(",") if isinstance(methods, str) else methods
    if not isinstance(typed, Iterable) or not all(isinstance(one, str) or callable(one) for one in typed):
        raise InputError(f"methods are names or a list of names and functions, got {methods!r}")
    asked = [one for one in typed if callable(one) or one.strip()]
    if not asked:
        raise InputError(f"no method is given; known are {', '.join(known)}")
    return {method_name(one, known): fit_of(one, known) for one in asked}
