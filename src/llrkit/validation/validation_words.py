"""A validation in words: lines for a terminal, and a report that states what a reader must know."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from llrkit._format import decimals_beside, number, percent
from llrkit._llr_units import LOG10, NATS, LlrUnit, in_unit
from llrkit._version import __version__
from llrkit.evaluation import evaluation_words as words
from llrkit.validation.calibration_words import HEADER as TESTS_HEADER
from llrkit.validation.calibration_words import LEGEND, rows_of_tests
from llrkit.validation.criteria import REPORT_FIELDS
from llrkit.validation.markdown_tables import clean, markdown_rows, markdown_table

if TYPE_CHECKING:
    from llrkit.evaluation.evaluation_result import Evaluation
    from llrkit.validation.validate import Validation
    from llrkit.validation.validation_matrix import ValidationRow

HEADER = ("characteristic", "metric", "criterion", "result", "decision", "note")
SHOWN = {"passed": "PASS", "failed": "FAIL", "not decided": "NOT DECIDED"}
"""Decisions as they stand in the matrix and above it."""
FULL_HEADER = ("characteristic", "metric", "graph", "criterion", "data", "result", "decision", "note")


def full_cells(row: ValidationRow, unit: LlrUnit = NATS) -> list[str]:
    """One row of the matrix for a report: all columns of Meuwly, Ramos & Haraksim (2017)."""
    characteristic, metric, criterion, *rest = matrix_cells(row, unit)
    return [characteristic, metric, row.graph, criterion, row.data or "these trials", *rest]


def matrix_cells(row: ValidationRow, unit: LlrUnit = NATS) -> list[str]:
    """One row of the matrix for a terminal; rates in percent, LLRs in a unit."""

    def show(value: float) -> str:
        digits = decimals_beside(value, row.limits, 4)
        return percent(value, digits - 2) if row.is_rate else number(value, digits)

    if isinstance(row.result, str):
        result = in_unit(row.result, row.amounts, unit)
    else:
        limits = (unit.of(row.limits[0]), unit.of(row.limits[1]))
        digits = decimals_beside(unit.of(row.result), limits, 3)
        result = unit.said(row.result, f".{digits}f") if row.is_llr else show(row.result)
    if row.interval is not None:
        result += f" [{show(row.interval[0]).removesuffix(' %')}, {show(row.interval[1])}]"
    criterion = in_unit(row.criterion, row.amounts, unit)
    return [row.characteristic, row.metric, criterion, result, SHOWN[row.decision], row.note]


def summary_lines(validation: Validation) -> list[str]:
    """The matrix as aligned text, and the outcome."""
    rows = [list(HEADER), *(matrix_cells(row) for row in validation.rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADER))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [*validation.cautions, *lines, "", outcome(validation)]


def outcome(validation: Validation) -> str:
    """One sentence."""
    n = len(validation.rows)
    failed = [row for row in validation.rows if row.passed is False]
    open_rows = [row for row in validation.rows if row.passed is None]
    if validation.passed:
        if n == 1:
            return "The criterion is met."
        return "Both criteria are met." if n == 2 else f"All {n} criteria are met."
    said = []
    if failed:
        verb = "is" if len(failed) == 1 else "are"
        head = "The criterion" if n == 1 else f"{len(failed)} of {n} criteria"
        said.append(f"{head} {verb} not met: {_criteria_named(failed)}")
    if open_rows:
        head = "the criterion" if n == 1 else f"{len(open_rows)} of {n} criteria"
        these = "these" if failed else "These"
        said.append(f"{these} trials do not decide {head}: {_criteria_named(open_rows)}")
    return "; ".join(said) + "."


def _criteria_named(rows: Sequence[ValidationRow]) -> str:
    return ", ".join(f"{row.characteristic} ({row.metric})" for row in rows)


def markdown(
    validation: Validation,
    *,
    verbal: bool,
    unit: LlrUnit = NATS,
    made_from: Sequence[tuple[str, str]] = (),
) -> str:
    """The report: what was validated and on what, the matrix, the numbers, the most misleading trials."""
    result = validation.evaluation
    matrix = [full_cells(row, unit) for row in validation.rows]
    lines = ["# Validation report", "", *(f"**{clean(caution)}**\n" for caution in validation.cautions)]
    lines += [f"**{SHOWN[validation.outcome]}**", "", outcome(validation), "", "## What was validated", ""]
    lines += [f"- **{name}**: {clean(text)}" for name, text in stated(validation, unit)]
    lines += ["", "## Validation matrix", "", *markdown_table(FULL_HEADER, matrix)]
    lines += ["", "## Numbers", "", "| | | |", "|---|--:|---|", *markdown_rows(words.rows(result, unit))]
    lines += ["", f"Intervals: {how_intervals(result)}", "", "## Calibration", ""]
    lines += [clean(validation.check.verdict.in_unit(unit).sentence), ""]
    lines += [*markdown_table(TESTS_HEADER, rows_of_tests(validation.check, unit)), "", LEGEND]
    lines += [f"- {clean(note)}" for note in validation.check.notes]
    lines += [
        "",
        "## Most misleading trials",
        "",
        misleading_shares(validation),
        "",
        *_misleading_in_words(validation, verbal, unit),
        "",
        "## Provenance",
        "",
        *(f"- **{name}**: {clean(text)}" for name, text in made_from or _made_now_in_words()),
    ]
    return "\n".join(lines) + "\n"


def _made_now_in_words() -> list[tuple[str, str]]:
    now = f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S %z}"
    return [("made", now), ("with", f"llrkit {__version__}")]


def stated(validation: Validation, unit: LlrUnit = NATS) -> list[tuple[str, str]]:
    """What was validated and on what: in the words of its owner, then as counted.

    What a calibration file states of itself is not missing where its owner says nothing.
    """
    counted = validation.setting.words(unit)
    instead = {"calibration": "calibration map", "bounds": "bounds of the map"}
    missing = [name for name in REPORT_FIELDS if instead.get(name) not in counted]
    said = dict.fromkeys(missing, "not stated") | dict(validation.report)
    return [*((name, said[name]) for name in REPORT_FIELDS if name in said), *counted.items()]


def how_intervals(result: Evaluation) -> str:
    """How the intervals of an evaluation were made, as a sentence."""
    used = result.uncertainty
    if used is None:
        return "none were asked for."
    kinds = {
        "trial": "delta method and Clopper-Pearson, trials taken as independent",
        "speaker": "each speaker left out in turn, bootstrap-t",
        "bootstrap": "speakers resampled with replacement",
    }
    return "; ".join([f"{100 * used.level:g} %, {kinds[used.kind]}", *used.notes]) + "."


def misleading_shares(validation: Validation) -> str:
    """How many LLRs point the wrong way, as a sentence."""
    misses, alarms = validation.evaluation.tippett.misleading
    return (
        f"Misleading LLRs (Tippett at 0): {percent(misses)} of same-source trials below 0, "
        f"{percent(alarms)} of different-source trials at or above 0."
    )


def misleading_rows(
    validation: Validation, verbal: bool, unit: LlrUnit = NATS
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Header and rows of the most misleading trials."""
    units = list(dict.fromkeys((unit, LOG10)))
    header = ("truth", *(one.column for one in units), "trial", *(("in words",) if verbal else ()))
    cells = []
    for trial in validation.misleading:
        where = trial.words_of_place
        truth = "same-source" if trial.is_target else "different-source"
        row = (truth, *(f"{one.of(trial.llr):.3f}" for one in units), where)
        cells.append((*row, trial.words) if verbal else row)
    return header, tuple(cells)


def _misleading_in_words(validation: Validation, verbal: bool, unit: LlrUnit) -> list[str]:
    header, cells = misleading_rows(validation, verbal, unit)
    return markdown_table(header, cells) if cells else ["None: no LLR points the wrong way."]
