"""An evaluation in words: one sentence, a table for terminals, a table for notebooks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from llrkit._format import number, percent

if TYPE_CHECKING:
    from llrkit.evaluation.result import Evaluation


def verdict(result: Evaluation) -> tuple[str, str]:
    """Whether the scores can be read as LLRs: a word and what it means."""
    blind = [point for point in result.points if point.act_dcf > 1.0]
    if math.isinf(result.cllr):
        return "not usable", "at least one trial has an infinite LLR for the wrong side"
    if result.eer >= 0.5:
        words = "the scores do not separate the classes at all (is a higher score more target-like?)"
        return "not usable", words
    if result.cllr >= 1.0:
        words = "read as LLRs these scores are worse than saying nothing (Cllr = 1): calibrate them first"
        return "not calibrated", words
    if result.cllr_cal <= 0.05 * result.cllr + 0.002:
        words = "the scores can be read as LLRs as they are"
        if blind:
            where = ", ".join(point.point.name for point in blind)
            words += f", but decisions at {where} are worse than deciding blindly"
        return "calibrated", words
    if result.cllr_cal <= 0.2 * result.cllr:
        return "nearly calibrated", "calibration would still help a little, unless the difference is chance"
    return "not calibrated", "a good part of the information is lost by the scale or offset: calibrate them"


def sentence(result: Evaluation) -> str:
    """What the numbers mean: how much is lost to discrimination, how much to calibration."""
    if math.isinf(result.cllr):
        return (
            "Cllr is infinite: at least one trial has an infinite LLR for the wrong side, "
            "which no amount of good LLRs can make up for."
        )
    lost = f"Of Cllr = {number(result.cllr, 3)} bits, {result.min_cllr:.3f} are lost to discrimination"
    share = f"{100 * (1.0 - result.min_cllr / result.cllr):.0f} %" if result.cllr > 0 else "0 %"
    lost += f" and {number(result.cllr_cal, 3)} ({share}) to calibration"
    return f"{lost}; {verdict(result)[1]}."


class Row(NamedTuple):
    """A number of the table."""

    name: str
    key: str
    """Its name in the JSON, with the place in a list."""
    value: str
    interval: str
    """Empty where there is none."""
    note: str


def rows(result: Evaluation) -> list[tuple[str, str, str]]:
    """The table: name, value, and what it is."""
    table = [("trials", f"{result.n_target:,} + {result.n_nontarget:,}", "target + non-target")]
    for row in numbers(result):
        table.append((row.name, row.value, "  ".join(filter(None, (row.interval, row.note)))))
    return table


def numbers(result: Evaluation) -> list[Row]:
    """All numbers of the table but the counts."""
    table: list[Row] = []

    def row(name: str, key: str, value: float, note: str, show: Callable[[float], str] = number) -> None:
        interval = ""
        if key in result.intervals:
            low, high = result.intervals[key]
            interval = f"[{show(low).removesuffix(' %')}, {show(high)}]"
        table.append(Row(name, key, show(value), interval, note))

    row("EER", "eer", result.eer, "ROC convex hull", percent)
    row("EER (ROC)", "eer_roc", result.eer_roc, "interpolated ROC", percent)
    row("AUC", "auc", result.auc, "", lambda value: number(value, 5))
    row("Cllr", "cllr", result.cllr, "bits")
    row("min Cllr", "min_cllr", result.min_cllr, "discrimination loss")
    row("Cllr - min", "cllr_cal", result.cllr_cal, "calibration loss")
    slope_note = "-1 for calibrated Gaussian LLRs"
    row("DET slope", "det_slope", result.det_slope.slope, slope_note, lambda value: number(value, 2))
    for i, point in enumerate(result.points):
        threshold = f"threshold {point.point.threshold:.3f}"
        row(f"min DCF {point.point.name}", f"points.{i}.min_dcf", point.min_dcf, "best threshold")
        row(f"act DCF {point.point.name}", f"points.{i}.act_dcf", point.act_dcf, threshold)
    for i, primary in enumerate(result.primaries):
        for kind, value in (("min", primary.min), ("act", primary.act)):
            row(f"{kind} C_primary {primary.name}", f"primaries.{i}.{kind}", value, "mean of its points")
    if result.fixed is not None:
        note = f"threshold {result.fixed.threshold:.4f} from development data"
        row("HTER", "fixed_threshold.hter", result.fixed.hter, note, percent)
    return table


def group_rows(groups: Mapping[str, Evaluation], by: str) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a table with one line per group."""
    header = [by, "target", "nontarget", "EER", "Cllr", "min Cllr", "Cllr - min"]
    points = next(iter(groups.values())).points
    costs = [f"{kind} {point.point.name}" for point in points for kind in ("min", "act")]
    table = []
    for name, group in groups.items():
        row = [name, f"{group.n_target:,}", f"{group.n_nontarget:,}", percent(group.eer)]
        row += [number(value) for value in (group.cllr, group.min_cllr, group.cllr_cal)]
        row += [number(value) for point in group.points for value in (point.min_dcf, point.act_dcf)]
        table.append(row)
    return header + costs, table


def plain_table(result: Evaluation) -> str:
    """The table as aligned text, ending with the sentence."""
    table = rows(result)
    first = max(len(row[0]) for row in table)
    second = max(len(row[1]) for row in table)
    lines = [f"{name:<{first}}  {value:>{second}}  {note}".rstrip() for name, value, note in table]
    return "\n".join([*lines, "", sentence(result)])


def html_table(result: Evaluation) -> str:
    """The table for a notebook."""
    body = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:right'>{escape(value)}</td>"
        f"<td style='text-align:left'>{escape(note)}</td></tr>"
        for name, value, note in rows(result)
    )
    return f"<table>{body}</table><p>{escape(sentence(result))}</p>"
