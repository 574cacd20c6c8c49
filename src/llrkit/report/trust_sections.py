"""Sections of a report on a validation, beside those on the numbers, curves and calibration of the system."""

from __future__ import annotations

from llrkit.report.sections import Section, Words
from llrkit.validation.validate import Validation
from llrkit.validation.validation_report import (
    FULL_HEADER,
    ROWS,
    full_cells,
    misleading_rows,
    misleading_shares,
    outcome,
    stated,
)


def validation(found: Validation, *, verbal: bool = False) -> list[Section]:
    """The validation matrix, what was validated, and the most misleading trials."""
    matrix = Words(FULL_HEADER, tuple(tuple(full_cells(row)) for row in found.rows))
    header, cells = misleading_rows(found, verbal)
    listed = ROWS if cells else "None: no LLR points the wrong way."
    about = "Whatever is not stated was not given with the criteria; the rest is counted."
    return [
        Section("Validation", (outcome(found),), [matrix]),
        Section("What was validated", (about,), [Words(("", ""), tuple(stated(found)))]),
        Section(
            "Most misleading trials", (misleading_shares(found), listed),
            [Words(header, cells)] if cells else [],
        ),
    ]  # fmt: skip
