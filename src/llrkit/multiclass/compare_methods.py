"""The calibrators of several classes by name, and compare(): trained on one set, evaluated on another."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from llrkit._format import number
from llrkit._results import Result, flat, text_table
from llrkit.errors import InputError, LlrkitWarning, UnknownNameError
from llrkit.multiclass.class_evaluation import ClassEvaluation
from llrkit.multiclass.class_maps import ClassMap
from llrkit.multiclass.fits import fit_affine, fit_fusion, fit_scale_offset, fit_temperature, fit_vector
from llrkit.multiclass.gaussian_backend import fit_gaussian
from llrkit.multiclass.measure_classes import evaluate
from llrkit.multiclass.priors import Prior
from llrkit.scores.classes import ClassSource

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


def method_name(name: str) -> str:
    """The name of a known method, underscores and case aside.

    Examples
    --------
    >>> method_name("Scale_Offset")
    'scale-offset'
    """
    normalized = name.strip().lower().replace("_", "-")
    if normalized not in METHODS:
        raise UnknownNameError(
            f"unknown calibration method {name!r} for several classes; known are {', '.join(METHODS)}"
        )
    return normalized


def fit_named(name: str, source: ClassSource, *, prior: Prior = "flat", **options: Any) -> ClassMap:
    """Fit a calibrator by name; the prior goes to those that have one.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.ClassScores([[3.0, 0, 0], [0, 2.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> fit_named("temperature", scores).method
    'temperature'
    """
    method = method_name(name)
    return METHODS[method](source, **options, **({} if method in _NO_PRIOR else {"prior": prior}))


@dataclass(frozen=True, eq=False, repr=False)
class ClassComparison(Result):
    """What each calibrator gives on the evaluation set; the raw scores come first."""

    evaluations: Mapping[str, ClassEvaluation]
    maps: Mapping[str, ClassMap]
    failed: Mapping[str, str]
    """Methods that could not be trained, with the reason."""

    @property
    def best(self) -> str:
        """The method with the lowest Cllr."""
        trained = {name: result.cllr for name, result in self.evaluations.items() if name != "raw"}
        if not trained:
            why = "; ".join(f"{name}: {reason}" for name, reason in self.failed.items())
            raise InputError(f"no method could be trained ({why})")
        return min(trained, key=trained.__getitem__)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, as in the JSON of the command line."""
        rows = [
            {
                "method": name,
                "cllr": result.cllr,
                "cllr_normalized": result.cllr_normalized,
                "refined_cllr": result.refined_cllr,
                "calibration_loss": result.calibration_loss,
                "error_rate": result.error_rate.actual,
                "cavgs": {cost.name: cost.actual for cost in result.cavgs},
            }
            for name, result in self.evaluations.items()
        ]
        return {"rows": rows, "best": self.best, "failed": dict(self.failed)}

    def _frame_rows(self) -> list[dict[str, Any]]:
        return [flat(row) for row in self.to_dict()["rows"]]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows for people."""
        first = next(iter(self.evaluations.values()))
        header = ["method", "Cllr", "refined", "Cllr - refined", "error rate"]
        header += [f"Cavg {cost.name}" for cost in first.cavgs]
        rows = []
        for name, result in self.evaluations.items():
            values = [result.cllr, result.refined_cllr, result.calibration_loss, result.error_rate.actual]
            rows.append(
                [name, *(number(value) for value in [*values, *(one.actual for one in result.cavgs)])]
            )
        return header, rows

    def __repr__(self) -> str:
        failed = [f"{name}: {reason}" for name, reason in self.failed.items()]
        return "\n".join([text_table(*self.table()), *failed])


def compare(
    train: ClassSource,
    test: ClassSource,
    methods: str | Sequence[str] = CANDIDATES,
    *,
    prior: Prior = "flat",
) -> ClassComparison:
    """Train calibrators on one set of trials and evaluate them on another, raw scores first.

    Parameters
    ----------
    train
        Trials that the calibrators are trained on.
    test
        Trials that they are evaluated on.
    methods
        Names of calibrators.
    prior
        Prior of the classes: ``"flat"``, or one probability per class.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> def draw(seed, labels=np.arange(900) % 3):
    ...     noise = np.random.default_rng(seed).normal(size=(900, 3))
    ...     return lk.ClassScores(5.0 * (noise + 2.0 * np.eye(3)[labels]), labels)
    >>> lk.multiclass.compare(draw(1), draw(2), "temperature,gaussian").best
    'temperature'
    """
    typed = methods.split(",") if isinstance(methods, str) else methods
    names = [method_name(name) for name in typed if name.strip()]
    evaluations = {"raw": evaluate(test, prior=prior, detection=False)}
    maps, failed = {}, {}
    for name in names:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LlrkitWarning)
                maps[name] = fit_named(name, train, prior=prior)
        except InputError as error:
            failed[name] = str(error)
            continue
        evaluations[name] = evaluate(maps[name].on(test), prior=prior, detection=False)
    return ClassComparison(MappingProxyType(evaluations), MappingProxyType(maps), MappingProxyType(failed))
