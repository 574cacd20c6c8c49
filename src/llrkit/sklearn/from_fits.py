"""Estimators made from the fits of the library: their parameters are the options of the fit, in its words."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from textwrap import dedent, indent
from typing import Any

from llrkit.calibrate.maps import Map
from llrkit.scores import ScoreSource
from llrkit.sklearn.estimator_base import Calibrator

PRIOR = "Prior probability of the target{}; ``predict`` and ``predict_proba`` apply it."
POS_LABEL = "The label of the targets; by default that which comes last in sorted order."


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
    parameters = inspect.signature(inspect.unwrap(fit)).parameters
    at_prior = "prior" in parameters and parameters["prior"].annotation in ("float", float)
    options = {
        key: one
        for key, one in parameters.items()
        if one.kind is inspect.Parameter.KEYWORD_ONLY and key not in ("prior", *without)
    }
    signature = _signature(options)

    def take_options(self: Calibrator, *given: Any, **named: Any) -> None:
        bound = signature.bind(self, *given, **named)
        bound.apply_defaults()
        for key, value in list(bound.arguments.items())[1:]:
            setattr(self, key, value)

    def _fit_map(self: Calibrator, scores: ScoreSource) -> Map:
        asked = {key: getattr(self, key) for key in options}
        return fit(scores, **asked, **({"prior": self.prior} if at_prior else {}))

    setattr(take_options, "__signature__", signature)  # noqa: B010 - mypy knows no such attribute of functions
    body = {
        "__init__": take_options,
        "_fit_map": _fit_map,
        "__doc__": _docstring(fit, summary, list(options), at_prior),
        "__module__": "llrkit.sklearn.one_score",
    }
    return type(name, (Calibrator,), body)


def _signature(options: dict[str, inspect.Parameter]) -> inspect.Signature:
    """The options, then those of every estimator."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature(
        [
            inspect.Parameter("self", kind),
            *(one.replace(kind=kind) for one in options.values()),
            inspect.Parameter("prior", kind, default=0.5, annotation="float"),
            inspect.Parameter("pos_label", kind, default=None, annotation="Any"),
        ],
        return_annotation=None,
    )


def _docstring(fit: Callable[..., Map], summary: str, options: list[str], at_prior: bool) -> str:
    entries = [(key, option_text(fit, key)) for key in options]
    entries += [("prior", PRIOR.format(", in the fit too" if at_prior else "")), ("pos_label", POS_LABEL)]
    listed = "\n".join(f"{key}\n{indent(text, '    ')}" for key, text in entries)
    return f"{summary}; see :func:`llrkit.{fit.__name__}`.\n\nParameters\n----------\n{listed}\n"


def option_text(fit: Callable[..., Map], key: str) -> str:
    """What the docstring of a fit says of an option.

    Examples
    --------
    >>> from llrkit.calibrate.densities.tied_nig import fit_tied_nig
    >>> option_text(fit_tied_nig, "alpha")
    'Weight of the targets, strictly between 0 and 1, as in ``fit_cmlg``.'
    """
    text = inspect.getdoc(inspect.unwrap(fit)) or ""
    entry = re.search(rf"^{key}\n((?:(?: {{4}}.*)?\n)+)", text + "\n", re.MULTILINE)
    return dedent(entry.group(1)).strip() if entry else ""
