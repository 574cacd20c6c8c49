"""Sections of a report on a validation, beside those on the numbers, curves and calibration of the system."""

from __future__ import annotations

from dataclasses import replace

from llrkit._llr_units import llr_unit
from llrkit._vocabulary import vocabulary
from llrkit.report.report_vocabulary import Said
from llrkit.report.section_types import Banner, Section, TextTable
from llrkit.validation.calibration_words import HEADER as TESTS_HEADER
from llrkit.validation.calibration_words import rows_of_tests
from llrkit.validation.validate import Validation
from llrkit.validation.validation_words import (
    FULL_HEADER,
    SHOWN,
    full_cells,
    misleading_rows,
    misleading_shares,
    outcome,
    stated,
)

REFERENCES = (
    "Validation matrix: D. Meuwly, D. Ramos and R. Haraksim, A guideline for the validation of likelihood "
    "ratio methods used for forensic evidence evaluation, Forensic Science International 276 (2017) 142-153. "
    "What a report states: G. S. Morrison et al., Consensus on validation of forensic voice comparison, "
    "Science & Justice 61 (2021) 299-309. Range that is supported: P. Vergeer, A. van Es, A. de Jongh, "
    "I. Alberink and R. Stoel, Numerical likelihood ratios outputted by LR systems are often based on "
    "extrapolation: when to stop extrapolating?, Science & Justice 56 (2016) 482-491."
)


def validation(
    result: Validation, *, verbal: bool = False, words: str = "forensic", base_10: bool = False
) -> list[Section]:
    """Outcome, validation matrix and tests of calibration; what was validated; the worst trials."""
    unit = llr_unit(base_10)
    said = Said(vocabulary(words), result.names, unit, of_sources=True)
    tested = tuple(rows_of_tests(result.check, unit))
    tests = TextTable(TESTS_HEADER, tested, "Tests of calibration", numeric=True)
    matrix = TextTable(FULL_HEADER, tuple(tuple(full_cells(row, unit)) for row in result.rows))
    header, cells = misleading_rows(result, verbal, unit)
    facts = tuple(stated(result, unit))
    about = "Whatever is not stated was not given with the criteria; the rest is counted."
    sections = [
        Section("Validation", (outcome(result),), [matrix, tests], banner=Banner(SHOWN[result.outcome])),
        Section(
            "What was validated", (about,), [TextTable(("", ""), facts)], note=REFERENCES
        ),
        Section(
            "Most misleading trials", (misleading_shares(result),),
            [TextTable(header, cells)] if cells else [],
        ),
    ]  # fmt: skip
    return [replace(said.section(section), note=section.note) for section in sections]  # references stay
