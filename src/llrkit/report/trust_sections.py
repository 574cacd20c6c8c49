"""Sections of a report on how far the numbers can be trusted: intervals, and a validation."""

from __future__ import annotations

from collections.abc import Mapping

from llrkit.metrics.evaluation import Evaluation
from llrkit.metrics.wording import rows
from llrkit.report.section import Section, Words
from llrkit.trust.criteria import REPORT_FIELDS
from llrkit.trust.validation import Validation
from llrkit.trust.validation_report import HEADER, how_intervals, matrix_cells, misleading_rows, outcome


def intervals(systems: Mapping[str, Evaluation]) -> list[Section]:
    """The numbers of the systems that have intervals, with them, and how they were made."""
    known = {name: result for name, result in systems.items() if result.uncertainty is not None}
    if not known:
        return []
    tables = []
    for name, result in known.items():
        told = tuple((what, value, note) for what, value, note in rows(result) if note.startswith("["))
        tables.append(Words(("", "value", "interval"), told, f"{name}: {how_intervals(result)}"))
    said = "What chance does to the numbers; a number that is not listed has no interval."
    return [Section("Intervals", (said,), tables)]


def validation(found: Validation, *, verbal: bool = False) -> list[Section]:
    """What was validated, the validation matrix, the calibration check and the most misleading trials."""
    stated = tuple((name, found.report.get(name, "not stated")) for name in REPORT_FIELDS)
    matrix = Words(HEADER, tuple(tuple(matrix_cells(row)) for row in found.rows))
    header, cells = misleading_rows(found, verbal)
    low, high = found.evaluation.moments.extremes
    worst = [Words(header, cells)] if cells else []
    reach = f"The LLRs lie between {low:.2f} and {high:.2f} nats."
    told = Words(("", "stated"), stated, "What was validated")
    none = () if cells else ("No LLR points the wrong way.",)
    return [
        Section("Validation", (outcome(found),), [matrix, told]),
        Section("Calibration check", tuple(repr(found.check).splitlines())),
        Section("Most misleading trials", (reach, *none), worst),
    ]
