"""Estimators made from the fits of the library: their parameters are the options of the fit, in its words."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from textwrap import dedent, indent

from llrkit.calibrate.maps import Map
from llrkit.multiclass.class_counts_and_priors import Prior
from llrkit.multiclass.class_map_base import ClassMap
from llrkit.scores import ScoreSource
from llrkit.scores.class_scores import ClassVectors
from llrkit.sklearn.class_estimator_base import ClassCalibrator, counted
from llrkit.sklearn.estimator_base import Calibrator, with_safeguard

PRIOR = "Prior probability of the target{}; ``predict`` and ``predict_proba`` apply it."
POS_LABEL = "The label of the targets; by default that which comes last in sorted order."
CLASS_PRIOR = """\
Prior probabilities of the classes{}: ``"flat"``, ``"counts"`` or one for each, in the order of ``classes_``;
``predict`` and ``predict_proba`` apply it."""


def calibrator_of(
    name: str, fit: Callable[..., Map], summary: str, *, without: tuple[str, ...] = ()
) -> type[Calibrator]:
    """The estimator of a fit of one score.

    Parameters
    ----------
    summary
        What it is, in a few words.
    without
        Options of the fit that an array of scores cannot serve: columns of a table, say.

    A fit that is made for a prior of the target gets that of the estimator.
    """
    prior = inspect.signature(inspect.unwrap(fit)).parameters.get("prior")
    at_prior = prior is not None and prior.annotation in ("float", float)
    options = _options_of(fit, without)

    def _fit_map(self: Calibrator, scores: ScoreSource) -> Map:
        return fit(scores, **_options_asked(self, options), **({"prior": self.prior} if at_prior else {}))

    shared: dict[str, tuple[str, object, str]] = {
        "prior": ("float", 0.5, PRIOR.format(", in the fit too" if at_prior else "")),
        "pos_label": ("object", None, POS_LABEL),
    }
    body = _estimator_body(fit, f"{summary}; see :func:`llrkit.{fit.__name__}`.", options, shared)
    body |= {"_fit_map": _fit_map, "__module__": "llrkit.sklearn.estimators"}
    return type(name, (Calibrator,), body)


def class_calibrator_of(
    name: str, fit: Callable[..., ClassMap], summary: str, *, of_vectors: bool = False
) -> type[ClassCalibrator]:
    """The estimator of a fit of several classes.

    Parameters
    ----------
    summary
        What it is, in a few words.
    of_vectors
        Whether the fit takes vectors as they are; for others they become scores first.

    Examples
    --------
    >>> from llrkit.multiclass.softmax_fits import fit_scale_offset
    >>> Scaling = class_calibrator_of("Scaling", fit_scale_offset, "One scale, and an offset for each class")
    >>> X = [[2.0, 0.0, 1.0], [0.0, 1.0, 0.5], [0.1, 0.0, 2.0], [0.0, 1.0, 1.2], [1.0, 1.5, 0.0]]
    >>> Scaling(regularization=0.1).fit(X, [0, 1, 2, 1, 0]).predict(X).tolist()
    [0, 1, 2, 1, 0]
    """
    at_prior = "prior" in inspect.signature(fit).parameters
    options = _options_of(fit)

    def _fit_map(self: ClassCalibrator, trials: ClassVectors, prior: Prior) -> ClassMap:
        asked = {**_options_asked(self, options), **({"prior": prior} if at_prior else {})}
        scores, first = (trials, None) if of_vectors else self.as_scores(trials, prior)
        fitted = with_safeguard(fit, counted(scores), **asked)
        return fitted if first is None else first.then(fitted)

    shared: dict[str, tuple[str, object, str]] = {
        "prior": ("Prior", "flat", CLASS_PRIOR.format(", in the fit too" if at_prior else ""))
    }
    body = _estimator_body(fit, f"{summary}; see :func:`llrkit.multiclass.{fit.__name__}`.", options, shared)
    body |= {"_fit_map": _fit_map, "__module__": "llrkit.sklearn.class_estimators"}
    return type(name, (ClassCalibrator,), body)


def _options_of(fit: Callable[..., object], without: tuple[str, ...] = ()) -> dict[str, inspect.Parameter]:
    """The options of a fit that its estimator has, too."""
    return {
        key: one
        for key, one in inspect.signature(inspect.unwrap(fit)).parameters.items()
        if one.kind is inspect.Parameter.KEYWORD_ONLY and key not in ("prior", *without)
    }


def _options_asked(estimator: object, options: Iterable[str]) -> dict[str, object]:
    return {key: getattr(estimator, key) for key in options}


def _estimator_body(
    fit: Callable[..., object],
    first_line: str,
    options: dict[str, inspect.Parameter],
    shared: dict[str, tuple[str, object, str]],
) -> dict[str, object]:
    """Constructor and docstring: the options, then those of every estimator (annotation, default, text)."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    ours = [
        inspect.Parameter(key, kind, default=default, annotation=annotation)
        for key, (annotation, default, _) in shared.items()
    ]
    theirs = [one.replace(kind=kind) for one in options.values()]
    signature = inspect.Signature([inspect.Parameter("self", kind), *theirs, *ours], return_annotation=None)

    def take_options(self: object, *given: object, **named: object) -> None:
        bound = signature.bind(self, *given, **named)
        bound.apply_defaults()
        for key, value in list(bound.arguments.items())[1:]:
            setattr(self, key, value)

    setattr(take_options, "__signature__", signature)  # noqa: B010 - mypy knows no such attribute of functions
    entries = [(key, option_text(fit, key)) for key in options]
    entries += [(key, text) for key, (_, _, text) in shared.items()]
    listed = "\n".join(f"{key}\n{indent(text, '    ')}" for key, text in entries)
    return {"__init__": take_options, "__doc__": f"{first_line}\n\nParameters\n----------\n{listed}\n"}


def option_text(fit: Callable[..., object], key: str) -> str:
    """What the docstring of a fit says of an option.

    Examples
    --------
    >>> from llrkit.calibrate.densities.tied_nig import fit_tied_nig
    >>> option_text(fit_tied_nig, "alpha")
    'Weight of the targets (:term:`alpha`), strictly between 0 and 1.'
    """
    text = inspect.getdoc(inspect.unwrap(fit)) or ""
    entry = re.search(rf"^(?:\w+, )*{key}(?:, \w+)*\n((?:(?: {{4}}.*)?\n)+)", text + "\n", re.MULTILINE)
    return dedent(entry.group(1)).strip() if entry else ""
