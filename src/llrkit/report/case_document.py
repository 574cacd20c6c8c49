"""A case report as a document: statement, picture, tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from llrkit._llr_units import llr_unit
from llrkit._vocabulary import vocabulary
from llrkit.evaluation.evaluate import evaluate
from llrkit.plot.llr_plots import histogram
from llrkit.plot.picture import Ink, Line, Mark, Picture, Stairs
from llrkit.report.document import Document
from llrkit.report.report_vocabulary import Said
from llrkit.report.section_types import Section, TextTable
from llrkit.scores import ScoreSource
from llrkit.validation.case_report import CaseReport
from llrkit.validation.case_words import (
    PLACE_HEADER,
    PLACES_TITLE,
    READER,
    all_remarks,
    comparison_rows,
    facts,
    place_rows,
    statements,
    table_header,
)


def case_document(
    report: CaseReport,
    made_from: Sequence[tuple[str, str]] = (),
    *,
    words: str = "forensic",
    base_10: bool = False,
) -> Document:
    """The sections of a case report, in the words of a vocabulary; LLRs in nats, or to base ten only."""
    unit = llr_unit(base_10)
    sections = [
        Section("Statement", (*statements(report), *all_remarks(report), READER)),
        Section("Comparisons", (), [TextTable(table_header(unit), comparison_rows(report, unit))]),
    ]
    places = place_rows(report)
    if places:
        pictures = [] if report.training is None else [_among(report, report.training)]
        sections.append(Section(PLACES_TITLE, (), [TextTable(PLACE_HEADER, places)], pictures))
    sections.append(Section("What the LLRs rest on", (), [TextTable(("", ""), tuple(facts(report, unit)))]))
    said = Said(vocabulary(words), report.names, of_sources=True)
    return Document("Case report", [said.section(section) for section in sections], made_from)


def _among(report: CaseReport, training: ScoreSource) -> Picture:
    """The scores of the case as lines in the histograms of the training scores, as they were read."""
    drawn: Picture = histogram(evaluate(training), predicted=False, renderer="none")
    top = drawn.y.limits[1] / 1.3 if drawn.y.limits else 1.0
    marks: list[Mark] = [replace(mark, hover=()) for mark in drawn.marks if isinstance(mark, Stairs)]
    factor = report.calibration.input_factor
    for i, item in enumerate(report.comparisons):
        at = np.full(2, factor * item.score)
        marks.append(Line(at, np.array([0.0, top]), Ink(i + 2, width=1.5), item.name))
    described = "Histograms of the training scores of both classes; a line for each score of the case."
    return replace(
        drawn,
        title="Scores of the training trials, and of the case",
        x=replace(drawn.x, label="score" if factor == 1.0 else f"score, times {factor:.4g}"),
        marks=tuple(marks),
        described=described,
    )
