"""ClassEvaluation: the result of evaluate() for several classes, as data, as tables and in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from llrkit._arrays import FloatArray
from llrkit._format import counted, number, percent
from llrkit._plain import Json
from llrkit._results import Result, flat, html_table, text_table
from llrkit.metrics.measurements import Measurements
from llrkit.multiclass.class_metrics import Confusion
from llrkit.multiclass.refined_loss import Refinement

CONVENTIONS: Mapping[str, str] = MappingProxyType(
    {
        "loglik": "natural logarithm, up to a constant per trial",
        "cllr": "bits; each class weighted by its prior",
        "cllr_normalized": "cllr over the entropy of the prior",
        "refined_cllr": "after scale and offsets fitted to the same trials",
        "decision": "the most probable class; the first of several",
        "detection": "accept when the LLR against the other classes >= threshold",
        "cavg": "at the Bayes thresholds",
    }
)


MOST_SHOWN = 20
"""Classes that are shown one by one."""


@dataclass(frozen=True)
class ActualRefined:
    """A number of the scores as they are, and after refinement (nan where that was left out)."""

    name: str
    actual: float
    refined: float = math.nan


@dataclass(frozen=True)
class ClassResult:
    """The numbers of one class."""

    name: str
    n: int
    prior: float
    cllr: ActualRefined
    """Mean loss of its trials in bits: -log2 of the posterior of the class."""
    error_rate: ActualRefined
    detection: Measurements | None = None
    """The class against the others."""

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        plain: dict[str, Json] = {
            "class": self.name,
            "n": self.n,
            "prior": self.prior,
            "cllr": self.cllr.actual,
            "refined_cllr": self.cllr.refined,
            "error_rate": self.error_rate.actual,
            "refined_error_rate": self.error_rate.refined,
        }
        if self.detection is not None:
            plain["detection"] = {
                name: getattr(self.detection, name) for name in ("eer", "auc", "cllr", "min_cllr", "cllr_cal")
            }
        return plain


@dataclass(frozen=True, eq=False, repr=False)
class ClassEvaluation(Result):
    """The result of :func:`evaluate` for several classes; immutable."""

    classes: tuple[str, ...]
    """Names of the classes."""
    prior: FloatArray
    """Prior of each class."""
    n: int
    """Number of trials."""
    cllr: float
    """Cross-entropy of the posteriors, in bits."""
    cllr_normalized: float
    """Cllr divided by the entropy of the prior."""
    refined_cllr: float
    """Cllr after the best recalibration of the chosen family."""
    error_rate: ActualRefined
    """Rate of wrong decisions, actual and refined."""
    costs: tuple[ActualRefined, ...]
    """Normalized expected costs of the cost matrices that were given."""
    cavgs: tuple[ActualRefined, ...]
    """Average detection costs, actual and refined."""
    confusion: Confusion
    """How often each class was decided for each."""
    per_class: tuple[ClassResult, ...]
    """Numbers of each class against the others."""
    refinement: Refinement | None = None
    """The recalibration behind the refined numbers."""
    conventions: Mapping[str, str] = field(default_factory=lambda: CONVENTIONS)
    """The conventions behind the numbers, by name."""

    @property
    def cllr_cal(self) -> float:
        """What is lost to calibration, in bits: ``cllr - refined_cllr``."""
        return self.cllr - self.refined_cllr

    @property
    def cavg(self) -> float:
        """The first C_avg that was asked for."""
        return self.cavgs[0].actual if self.cavgs else math.nan

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        return {
            "classes": list(self.classes),
            "n": self.n,
            "prior": dict(zip(self.classes, self.prior.tolist(), strict=True)),
            "cllr": self.cllr,
            "cllr_normalized": self.cllr_normalized,
            "refined_cllr": self.refined_cllr,
            "refinement": "" if self.refinement is None else self.refinement.note or self.refinement.method,
            "error_rate": self.error_rate.actual,
            "refined_error_rate": self.error_rate.refined,
            "costs": [_named_cost(cost) for cost in self.costs],
            "cavg": self.cavg,
            "cavgs": [_named_cost(cost) for cost in self.cavgs],
            "confusion": self.confusion.counts.tolist(),
            "per_class": [one.to_dict() for one in self.per_class],
            "conventions": dict(self.conventions),
        }

    def _frame_rows(self) -> Sequence[Mapping[str, object]]:
        whole = {
            "class": "all", "n": self.n, "cllr": self.cllr, "refined_cllr": self.refined_cllr,
            "error_rate": self.error_rate.actual, "refined_error_rate": self.error_rate.refined,
        }  # fmt: skip
        return [whole, *(flat(one.to_dict()) for one in self.per_class)]

    def _overview(self) -> list[list[str]]:
        """Name and value of each number, then the classes, of which the first few are shown."""
        refined = "" if self.refinement is None else f" ({number(self.refined_cllr)} refined)"
        rows = [
            ["trials", f"{self.n:,} of {counted(len(self.classes), 'class', 'classes')}"],
            ["Cllr", f"{number(self.cllr)} bits{refined}, normalized {number(self.cllr_normalized)}"],
            ["error rate", percent(self.error_rate.actual)],
        ]
        rows += [[f"Cavg {one.name}".rstrip(), number(one.actual)] for one in self.cavgs]
        return rows + [[f"cost {one.name}", number(one.actual)] for one in self.costs]

    def _classes(self) -> tuple[list[str], list[list[str]]]:
        header = ["class", "trials", "Cllr", "errors"]
        rows = [
            [one.name, f"{one.n:,}", number(one.cllr.actual), percent(one.error_rate.actual)]
            for one in self.per_class[:MOST_SHOWN]
        ]
        if len(self.per_class) > MOST_SHOWN:
            rows.append([f"... and {len(self.per_class) - MOST_SHOWN:,} more", "", "", ""])
        return header, rows

    def __repr__(self) -> str:
        lines = [f"{name:<12}{value}" for name, value in self._overview()]
        return "\n".join([*lines, text_table(*self._classes())])

    def _repr_html_(self) -> str:
        return html_table(["", ""], self._overview(), left=(0, 1)) + html_table(*self._classes())


def _named_cost(cost: ActualRefined) -> dict[str, Json]:
    return {"name": cost.name, "act": cost.actual, "refined": cost.refined}


def rows(result: ClassEvaluation) -> list[tuple[str, str, str]]:
    """The table: name, value, and what it is."""
    blind = percent(1.0 - float(result.prior.max()))
    table = [
        ("trials", f"{result.n:,}", f"of {len(result.classes)} classes"),
        ("Cllr", number(result.cllr), "bits"),
        ("Cllr, normalized", number(result.cllr_normalized), "1 for scores that say nothing"),
        ("refined Cllr", number(result.refined_cllr), _refinement_in_words(result)),
        ("Cllr - refined", number(result.cllr_cal), "calibration loss"),
        ("error rate", percent(result.error_rate.actual), f"most probable class; {blind} when guessing"),
        ("refined error rate", percent(result.error_rate.refined), ""),
    ]
    for cost in result.costs:
        table.append((f"cost {cost.name}", number(cost.actual), f"refined {number(cost.refined)}"))
    for cost in result.cavgs:
        table.append((f"Cavg {cost.name}", number(cost.actual), f"refined {number(cost.refined)}"))
    return [row for row in table if row[1] not in ("-", "nan %")]


def _refinement_in_words(result: ClassEvaluation) -> str:
    if result.refinement is None:
        return ""
    return result.refinement.note or f"after {result.refinement.method} fitted to the same trials"


def class_rows(result: ClassEvaluation) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a table with one line per class."""
    header = ["class", "trials", "prior", "Cllr", "refined", "error rate"]
    detected = all(one.detection is not None for one in result.per_class)
    header += ["EER", "det. Cllr", "det. min Cllr"] if detected else []
    table = []
    for one in result.per_class:
        row = [one.name, f"{one.n:,}", number(one.prior), number(one.cllr.actual), number(one.cllr.refined)]
        row.append(percent(one.error_rate.actual))
        if one.detection is not None and detected:
            detection = one.detection
            row += [percent(detection.eer), number(detection.cllr), number(detection.min_cllr)]
        table.append(row)
    return header, table


def class_sentence(result: ClassEvaluation) -> str:
    """What the numbers mean: how much is lost to discrimination, how much to calibration.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.ClassScores([[9.0, 0, 0], [0, 5.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> print(class_sentence(lk.multiclass.evaluate(scores, detection=False)))
    Of Cllr = 0.8418 bits, 0.0148 remain after calibration on the same trials and 0.8269 (98 %) are lost to
    calibration: calibrate these scores.
    """
    if math.isinf(result.cllr):
        return (
            "Cllr is infinite: at least one trial has log-likelihood -inf for its own class, which no amount "
            "of good scores can make up for."
        )
    if math.isnan(result.refined_cllr) or result.cllr <= 0.0:
        return f"Cllr is {number(result.cllr)} bits; guessing costs {number(math.log2(len(result.classes)))}."
    share = result.cllr_cal / result.cllr
    advice = (
        "the scores can be read as log-likelihoods as they are" if share <= 0.05 else "calibrate these scores"
    )
    return (
        f"Of Cllr = {number(result.cllr)} bits, {number(result.refined_cllr)} remain after calibration "
        f"on the same trials and {number(result.cllr_cal)} ({100 * share:.0f} %) are lost to "
        f"calibration: {advice}."
    )
