"""An evaluation of several classes in words: a table for terminals, one for the classes, one sentence."""

from __future__ import annotations

import math

from llrkit._format import number, percent
from llrkit.multiclass.class_evaluation import ClassEvaluation


def rows(result: ClassEvaluation) -> list[tuple[str, str, str]]:
    """The table: name, value, and what it is."""
    blind = percent(1.0 - float(result.prior.max()))
    table = [
        ("trials", f"{result.n:,}", f"of {len(result.classes)} classes"),
        ("Cllr", number(result.cllr), "bits"),
        ("Cllr, normalized", number(result.cllr_normalized), "1 for scores that say nothing"),
        ("refined Cllr", number(result.refined_cllr), _refinement(result)),
        ("Cllr - refined", number(result.cllr_cal), "calibration loss"),
        ("error rate", percent(result.error_rate.actual), f"most probable class; {blind} when guessing"),
        ("refined error rate", percent(result.error_rate.refined), ""),
    ]
    for cost in result.costs:
        table.append((f"cost {cost.name}", number(cost.actual), f"refined {number(cost.refined)}"))
    for cost in result.cavgs:
        table.append((f"Cavg {cost.name}", number(cost.actual), f"refined {number(cost.refined)}"))
    return [row for row in table if row[1] not in ("-", "nan %")]


def _refinement(result: ClassEvaluation) -> str:
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


def sentence(result: ClassEvaluation) -> str:
    """What the numbers mean: how much is lost to discrimination, how much to calibration.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.ClassScores([[9.0, 0, 0], [0, 5.0, 0], [4.0, 0, 1.0], [1.0, 0, 2.0]], [0, 1, 2, 2])
    >>> print(sentence(lk.multiclass.evaluate(scores, detection=False)))
    Of Cllr = 0.842 bits, 0.015 remain after calibration on the same trials and 0.827 (98 %) are lost to
    calibration: calibrate these scores.
    """
    if math.isinf(result.cllr):
        return (
            "Cllr is infinite: at least one trial has log-likelihood -inf for its own class, which no amount "
            "of good scores can make up for."
        )
    if math.isnan(result.refined_cllr) or result.cllr <= 0.0:
        return f"Cllr is {number(result.cllr, 3)} bits; guessing costs {math.log2(len(result.classes)):.3f}."
    share = result.cllr_cal / result.cllr
    advice = (
        "the scores can be read as log-likelihoods as they are" if share <= 0.05 else "calibrate these scores"
    )
    return (
        f"Of Cllr = {number(result.cllr, 3)} bits, {number(result.refined_cllr, 3)} remain after calibration "
        f"on the same trials and {number(result.cllr_cal, 3)} ({100 * share:.0f} %) are lost to "
        f"calibration: {advice}."
    )
