"""evaluate() for more than two classes: all numbers, actual and refined."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from llrkit._arguments import takes
from llrkit._arrays import FloatArray
from llrkit._progress import stage
from llrkit._warn import warn_caller
from llrkit.core.elementary_functions import LN2
from llrkit.errors import ScaleWarning
from llrkit.metrics.measure import measure
from llrkit.metrics.measurements import Measurements
from llrkit.multiclass.cavg_costs import CavgPreset, cavg_from_losses, cavg_preset, detections_of
from llrkit.multiclass.class_counts_and_priors import ClassCounts, Prior, class_prior, count_classes
from llrkit.multiclass.class_evaluation_result import ActualRefined, ClassEvaluation, ClassResult
from llrkit.multiclass.class_losses import ClassLosses
from llrkit.multiclass.class_metrics import (
    Confusion,
    cllr_from_losses,
    cost_from_decisions,
    cost_matrix,
    error_rate_from_losses,
)
from llrkit.multiclass.one_against_others import detection_of
from llrkit.multiclass.probability_rows import ProbabilityRows
from llrkit.multiclass.refined_loss import Refinement, blind_or_missing, refine
from llrkit.scores.class_scores import ClassSource
from llrkit.theory.presets import Points

DETECT_UP_TO = 50
"""With more classes, detection is evaluated only when asked for."""


@takes(costs=Mapping)
def evaluate(
    source: ClassSource,
    *,
    prior: Prior = "flat",
    costs: Mapping[str, npt.ArrayLike] = MappingProxyType({}),
    cavg: str | CavgPreset | Sequence[str | CavgPreset] = ("lre07", "lre22"),
    refine_by: str | None = "scale-offset",
    detection: bool | None = None,
    points: Points = (0.5, 0.1),
    allow_unconfirmed: bool = False,
) -> ClassEvaluation:
    """Evaluate log-likelihoods of several classes: all metrics, actual and refined.

    Parameters
    ----------
    source
        Trials of several classes, such as :class:`llrkit.ClassScores`.
    prior
        "flat", "counts" or a probability for each class; for Cllr, decisions and costs.
    costs
        Cost matrices by name, as for :func:`expected_cost`.
    cavg
        Presets of :func:`cavg` that average over all classes.
    refine_by
        The calibration whose fit to these very trials shows what calibration could give at best; None
        leaves it out, and with it several passes.
    detection
        Also evaluate each class against the others, two passes each; by default up to 50 classes.
    points
        Operating points of these detections.
    allow_unconfirmed
        Accept presets whose definition could not be confirmed.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(3)
    >>> labels = np.arange(600) % 3
    >>> scores = lk.ClassScores(9.0 * (rng.normal(size=(600, 3)) + 2.0 * np.eye(3)[labels]), labels)
    >>> result = lk.multiclass.evaluate(scores)
    >>> print(f"Cllr {result.cllr:.3f} bits, refined {result.refined_cllr:.3f}, {result.n} trials")
    Cllr 1.107 bits, refined 0.481, 600 trials
    """
    counts = count_classes(source)
    share = class_prior(prior, counts)
    matrices = {name: cost_matrix(cost, counts) for name, cost in costs.items()}
    plan = _ClassEvaluationPlan(counts, share, matrices, _cavg_presets(cavg, allow_unconfirmed))
    k = len(counts.classes)
    detect = k <= DETECT_UP_TO if detection is None else detection
    if source.reduce(ProbabilityRows.of).all:
        text = "all rows are between 0 and 1 and sum to 1: are they probabilities? Take their logarithms"
        warn_caller(text, ScaleWarning)
    with stage("evaluating several classes", 1 + bool(refine_by) + detect * k, "steps") as advance:
        actual = plan.count(source)
        advance(1)
        refinement = refined = None
        if refine_by:
            refinement = refine(source, prior=prior, method=refine_by)
            refined = plan.count(refinement.on(source)) if refinement.map else None
            advance(1)
        detections = []
        for t in range(k if detect else 0):
            detections.append(measure(detection_of(source, t, np.ones(k)), points))
            advance(1)
    return plan.finish(actual, refined, refinement, detections)


def _cavg_presets(
    cavg: str | CavgPreset | Sequence[str | CavgPreset], allow_unconfirmed: bool
) -> tuple[CavgPreset, ...]:
    names = (cavg,) if isinstance(cavg, (str, CavgPreset)) else cavg
    presets = tuple(cavg_preset(name, allow_unconfirmed=allow_unconfirmed) for name in names)
    for preset in presets:
        preset.require_plain()
    return presets


@dataclass(frozen=True)
class _ClassNumbers:
    """The numbers that exist both for scores as they are and for refined ones."""

    cllr: float
    error_rate: float
    costs: tuple[float, ...]
    cavgs: tuple[float, ...]
    class_cllr: tuple[float, ...]
    class_errors: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class _ClassEvaluationPlan:
    """What an evaluation counts, and how the counts become its numbers."""

    counts: ClassCounts
    prior: FloatArray
    costs: Mapping[str, FloatArray]
    presets: tuple[CavgPreset, ...]

    def count(self, source: ClassSource) -> ClassLosses:
        k = len(self.counts.classes)
        detections = [one for preset in self.presets for one in detections_of(preset, k, None)]
        return source.reduce(ClassLosses.at(np.log(self.prior), list(self.costs.values()), detections))

    def numbers(self, losses: ClassLosses) -> _ClassNumbers:
        ends = np.cumsum([len(preset.p_target) for preset in self.presets])
        return _ClassNumbers(
            cllr=cllr_from_losses(losses, self.prior),
            error_rate=error_rate_from_losses(losses, self.prior),
            costs=tuple(
                cost_from_decisions(decided, matrix, self.prior)
                for decided, matrix in zip(losses.decided, self.costs.values(), strict=True)
            ),
            cavgs=tuple(
                cavg_from_losses(preset, losses, slice(int(end) - len(preset.p_target), int(end)), None)
                for preset, end in zip(self.presets, ends, strict=True)
            ),
            class_cllr=tuple((losses.loss / losses.n / LN2).tolist()),
            class_errors=tuple((1.0 - np.diag(losses.confused) / losses.n).tolist()),
        )

    def without_refinement(self, refinement: Refinement | None) -> _ClassNumbers:
        nowhere = (math.nan,) * len(self.counts.classes)
        best = math.nan if refinement is None else blind_or_missing(refinement, self.prior)
        return _ClassNumbers(
            best, math.nan, (math.nan,) * len(self.costs), (math.nan,) * len(self.presets), nowhere, nowhere
        )

    def finish(
        self,
        counted: ClassLosses,
        refined_counts: ClassLosses | None,
        refinement: Refinement | None,
        detections: Sequence[Measurements],
    ) -> ClassEvaluation:
        actual = self.numbers(counted)
        refined = (
            self.without_refinement(refinement) if refined_counts is None else self.numbers(refined_counts)
        )
        per_class = tuple(
            ClassResult(
                name,
                int(counted.n[i]),
                float(self.prior[i]),
                ActualRefined("cllr", actual.class_cllr[i], refined.class_cllr[i]),
                ActualRefined("error_rate", actual.class_errors[i], refined.class_errors[i]),
                detections[i] if detections else None,
            )
            for i, name in enumerate(self.counts.classes)
        )
        return ClassEvaluation(
            classes=self.counts.classes,
            prior=self.prior,
            n=int(counted.n.sum()),
            cllr=actual.cllr,
            cllr_normalized=cllr_from_losses(counted, self.prior, normalized=True),
            refined_cllr=refined.cllr,
            error_rate=ActualRefined("error_rate", actual.error_rate, refined.error_rate),
            costs=_actual_and_refined(list(self.costs), actual.costs, refined.costs),
            cavgs=_actual_and_refined([preset.name for preset in self.presets], actual.cavgs, refined.cavgs),
            confusion=Confusion(self.counts.classes, counted.confused),
            per_class=per_class,
            refinement=refinement,
        )


def _actual_and_refined(
    names: Sequence[str], actual: Sequence[float], refined: Sequence[float]
) -> tuple[ActualRefined, ...]:
    return tuple(ActualRefined(*item) for item in zip(names, actual, refined, strict=True))
