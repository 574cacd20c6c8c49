"""compare(): train several calibrators of several classes on one set, evaluate them on another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from llrkit._format import number
from llrkit._progress import tracked
from llrkit._results import Result, flat, text_table
from llrkit.choose.methods import Methods, named_fits, quietly
from llrkit.errors import InputError
from llrkit.multiclass.class_evaluation import ClassEvaluation
from llrkit.multiclass.class_maps import ClassMap
from llrkit.multiclass.class_methods import CANDIDATES, METHODS, prior_option
from llrkit.multiclass.measure_classes import evaluate
from llrkit.multiclass.priors import Prior
from llrkit.scores.classes import ClassSource


@dataclass(frozen=True, eq=False, repr=False)
class ClassComparison(Result):
    """What each calibrator gives on the evaluation set; the raw scores come first."""

    evaluations: Mapping[str, ClassEvaluation]
    """Evaluation by method; ``raw`` is that of the scores as they are."""
    maps: Mapping[str, ClassMap]
    """The trained maps by method."""
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
    methods: Methods = CANDIDATES,
    *,
    prior: Prior = "flat",
    options: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> ClassComparison:
    """Train calibrators on one set of trials and evaluate them on another, raw scores first.

    Parameters
    ----------
    train
        Trials that the calibrators are trained on.
    test
        Trials that they are evaluated on.
    methods
        Names of calibrators, separated by commas, or a list of names and of functions.
    prior
        Prior probabilities of the classes, for the fits that have one and for the metrics.
    options
        Options of single methods: name -> options.

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
    fits = named_fits(methods, METHODS)
    evaluations = {"raw": evaluate(test, prior=prior, detection=False)}
    maps, failed = {}, {}
    for name, fit in tracked(fits.items(), "comparing", len(fits), "methods"):
        try:
            maps[name] = quietly(fit, train, {**prior_option(name, prior), **options.get(name, {})})
        except InputError as error:
            failed[name] = str(error)
            continue
        evaluations[name] = evaluate(maps[name].on(test), prior=prior, detection=False)
    return ClassComparison(MappingProxyType(evaluations), MappingProxyType(maps), MappingProxyType(failed))
