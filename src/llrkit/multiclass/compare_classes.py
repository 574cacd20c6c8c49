"""compare(): train several calibrators of several classes on one set, evaluate them on another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from llrkit._arguments import takes
from llrkit._format import number
from llrkit._plain import Json
from llrkit.choose.comparison_base import RAW, Compared, cllr_sentence, compared_on
from llrkit.choose.methods import Methods
from llrkit.multiclass.class_counts_and_priors import Prior, as_classes
from llrkit.multiclass.class_evaluation_result import ClassEvaluation
from llrkit.multiclass.class_map_base import ClassMap
from llrkit.multiclass.class_methods import CANDIDATES, METHODS, prior_option
from llrkit.multiclass.evaluate_classes import evaluate
from llrkit.scores.class_scores import ClassSource


@dataclass(frozen=True, eq=False, repr=False)
class ClassComparison(Compared[ClassEvaluation, ClassMap]):
    """The results of each calibrator on the evaluation set; the raw scores come first."""

    @property
    def sentence(self) -> str:
        """The comparison in plain words."""
        best = self.evaluations[self.best]
        return cllr_sentence(self.best, best.cllr, best.cllr_cal, self.evaluations[RAW].cllr)

    def _loss(self, name: str) -> float:
        return self.evaluations[name].cllr

    def _row(self, name: str) -> dict[str, Json]:
        result = self.evaluations[name]
        numbers = {
            key: getattr(result, key) for key in ("cllr", "cllr_normalized", "refined_cllr", "cllr_cal")
        }
        cavgs = {cost.name: cost.actual for cost in result.cavgs}
        return {**numbers, "error_rate": result.error_rate.actual, "cavgs": cavgs}

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows for people."""
        first = next(iter(self.evaluations.values()))
        header = ["method", "Cllr", "refined", "Cllr - refined", "error rate"]
        header += [f"Cavg {cost.name}" for cost in first.cavgs]
        rows = []
        for name, result in self.evaluations.items():
            values = [result.cllr, result.refined_cllr, result.cllr_cal, result.error_rate.actual]
            rows.append(
                [name, *(number(value) for value in [*values, *(one.actual for one in result.cavgs)])]
            )
        return header, rows


@takes(options=Mapping)
def compare(
    train: ClassSource,
    test: ClassSource,
    methods: Methods[ClassMap] = CANDIDATES,
    *,
    prior: Prior = "flat",
    options: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
) -> ClassComparison:
    """Train calibrators of several classes on one set of trials, evaluate them on another, raw scores first.

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
    compared = compared_on(
        as_classes(train),
        methods,
        METHODS,
        lambda name: {**prior_option(name, prior), **options.get(name, {})},
        lambda fitted: evaluate(test if fitted is None else fitted.on(test), prior=prior, detection=False),
    )
    return ClassComparison(*compared)
