"""The report on evaluations as a document: the same words, tables and pictures as the page, for Word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llrkit.calibrate.tied_scores import TiedScores
from llrkit.evaluation.compare import Comparison
from llrkit.evaluation.result import Evaluation
from llrkit.report import page_contents
from llrkit.report.document import Document
from llrkit.report.method_text import methods_text
from llrkit.report.page import NOTHING, by_name, system_sections
from llrkit.report.paper_tables import same_points, summary_table
from llrkit.report.provenance import Provenance, provenance
from llrkit.report.sections import Section, TextTable
from llrkit.trust.calibration.check import CalibrationCheck
from llrkit.trust.intervals.bands import CurveBands


def report_document(
    results: Evaluation | Comparison | Mapping[str, Evaluation],
    *,
    title: str = "Evaluation of detection scores",
    by: str = "condition",
    comparison: Comparison | None = None,
    bands: Mapping[str, CurveBands] = NOTHING,
    checks: Mapping[str, CalibrationCheck] = NOTHING,
    ties: Mapping[str, TiedScores] = NOTHING,
    first: Sequence[Section] = (),
    sections: Sequence[Section] = (),
    cautions: Sequence[str] = (),
    llrs: bool = False,
    made_from: Provenance | None = None,
) -> Document:
    """What :func:`llrkit.write_report` shows on a page, without what only a screen can do.

    Examples
    --------
    >>> import llrkit as lk
    >>> document = report_document(lk.evaluate(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])))
    >>> [section.title for section in document.sections]
    ['Summary', 'Numbers', 'Curves', 'Distributions', 'Methods']
    """
    comparison = results if isinstance(results, Comparison) else comparison
    systems = by_name(results)
    same_points(systems)
    alone = isinstance(results, Comparison) and bool(results.maps)
    told = page_contents.verdicts(systems, checks, ties, advise=not alone)
    headline = comparison.sentence if alone and comparison else page_contents.headline(systems, checks)
    header = ("method" if isinstance(results, Comparison) else "system", "calibration", "in words")
    rows = tuple((item.name, item.word, " ".join((item.said, *item.todo))) for item in told)
    shown: list[Section] = [Section("Read this first", tuple(cautions))] if cautions else []
    shown += [*first, Section("Summary", (headline,), [TextTable(header, rows)])]
    table: Any = summary_table(systems, row_title=header[0])
    conventions = next(iter(systems.values())).conventions
    shown.append(
        Section("Numbers", (), [table, TextTable(("", ""), tuple(conventions.items()), "Conventions")])
    )
    tested = any(section.banner for section in first)
    shown += system_sections(results, systems, comparison, by, bands, checks, llrs=llrs, tested=tested)
    shown += sections
    methods = methods_text(systems, list(comparison.maps) if comparison else (), checked=bool(checks))
    shown.append(Section("Methods", tuple(filter(None, methods.split("\n\n")))))
    return Document(title, shown, (made_from or provenance()).lines())
