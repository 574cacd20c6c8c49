"""Sections of a report on a validation, beside those on the numbers, curves and calibration of the system."""

from __future__ import annotations

from llrkit.report.sections import Banner, Section, TextTable
from llrkit.validation.calibration_words import HEADER as TESTS_HEADER
from llrkit.validation.calibration_words import rows_of_tests
from llrkit.validation.validate import Validation
from llrkit.validation.validation_report import (
    FULL_HEADER,
    SHOWN,
    full_cells,
    misleading_rows,
    misleading_shares,
    outcome,
    stated,
)


def validation(result: Validation, *, verbal: bool = False) -> list[Section]:
    """Outcome, validation matrix and tests of calibration; what was validated; the worst trials."""
    tests = TextTable(TESTS_HEADER, tuple(rows_of_tests(result.check)), "Tests of calibration", numeric=True)
    matrix = TextTable(FULL_HEADER, tuple(tuple(full_cells(row)) for row in result.rows))
    header, cells = misleading_rows(result, verbal)
    about = "Whatever is not stated was not given with the criteria; the rest is counted."
    return [
        Section("Validation", (outcome(result),), [matrix, tests], banner=Banner(SHOWN[result.outcome])),
        Section("What was validated", (about,), [TextTable(("", ""), tuple(stated(result)))]),
        Section(
            "Most misleading trials", (misleading_shares(result),),
            [TextTable(header, cells)] if cells else [],
        ),
    ]  # fmt: skip
