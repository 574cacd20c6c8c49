"""Sections of a report on a validation."""

from __future__ import annotations

from llrkit.metrics.wording import rows
from llrkit.report.section import Section, Words
from llrkit.trust.validation import Validation
from llrkit.trust.validation_report import (
    FULL_HEADER,
    ROWS,
    calibration_lines,
    full_cells,
    how_intervals,
    misleading_rows,
    outcome,
    stated,
)


def validation(found: Validation, *, verbal: bool = False) -> list[Section]:
    """What was validated, the validation matrix, the numbers, the calibration check and the worst trials."""
    matrix = Words(FULL_HEADER, tuple(tuple(full_cells(row)) for row in found.rows))
    header, cells = misleading_rows(found, verbal)
    worst = (ROWS,) if cells else ("None: no LLR points the wrong way.",)
    about = "Whatever is not stated was not given with the criteria; the rest is counted."
    numbers = Words(("", "", ""), tuple(rows(found.evaluation)))
    how = f"Intervals: {how_intervals(found.evaluation)}"
    return [
        Section("Validation", (outcome(found),), [matrix]),
        Section("What was validated", (about,), [Words(("", ""), tuple(stated(found)))]),
        Section("The numbers of the validation", (how,), [numbers]),
        Section("Calibration check", tuple(calibration_lines(found))),
        Section("Most misleading trials", worst, [Words(header, cells)] if cells else []),
    ]
