"""Documents of a few sections, as a page or a Word file: cases, evaluations, validations."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import numpy as np
from markupsafe import Markup

from llrkit._version import __version__
from llrkit.base.files import replacing, write_atomically
from llrkit.base.text import printable
from llrkit.errors import MissingPackageError
from llrkit.fits.training import TiedScores
from llrkit.plot.llr_plots import histogram
from llrkit.plot.picture import Ink, Line, Mark, Picture, Stairs
from llrkit.report import sections as about_systems
from llrkit.report.document import HTML, Banner, Provenance, Said, Section, provenance, trusted
from llrkit.report.page import NOTHING, evaluations_by_name, said_of, system_sections
from llrkit.report.sections import methods_text, validation
from llrkit.report.tables import TextTable, same_points, text_tables
from llrkit.results.vocabulary import LlrUnit, llr_unit, vocabulary
from llrkit.scores import ScoreSource
from llrkit.trust.bands import CurveBands
from llrkit.trust.check import CalibrationCheck
from llrkit.verbs.case import CaseReport
from llrkit.verbs.case_words import (
    PLACE_HEADER,
    PLACES_TITLE,
    READER,
    all_remarks,
    comparison_rows,
    facts,
    headline,
    place_rows,
    statements,
    table_header,
)
from llrkit.verbs.compare import Comparison
from llrkit.verbs.evaluate import evaluate
from llrkit.verbs.evaluation import Evaluation, rows
from llrkit.verbs.validate import SHOWN, Validation

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""The content security policy of a page that runs nothing."""
WIDTH = 6.0
"""Of pictures, in inches."""


@dataclass(frozen=True, eq=False)
class Document:
    """Title, sections in order, and what every document ends with: where its numbers come from."""

    title: str
    sections: Sequence[Section]
    made_from: Sequence[tuple[str, str]] = ()

    @property
    def all_sections(self) -> list[Section]:
        """The sections, and that on provenance."""
        if not self.made_from:
            return list(self.sections)
        return [*self.sections, Section("Provenance", (), [TextTable(("", ""), tuple(self.made_from))])]

    def write_html(self, path: str | Path) -> None:
        """One page that opens without a network, asks for nothing and runs nothing."""
        shown = [
            {
                "title": section.title,
                "paragraphs": section.paragraphs,
                "tables": _tables_as_text(section),
                "pictures": [(picture.title, _data_address(picture)) for picture in section.pictures],
                "note": section.note,
                "banner": section.banner,
            }
            for section in self.all_sections
        ]
        page = HTML.get_template("document.html.j2").render(
            title=self.title,
            sections=shown,
            version=__version__,
            policy=Markup(POLICY),
            style=trusted("report.css"),
        )
        write_atomically(path, printable(page))

    def write_word(self, path: str | Path) -> None:
        """A Word document with real headings, tables, pictures and captions."""
        docx = require_docx()
        from llrkit.report.word import fill_word_file

        document = docx.Document()
        with tempfile.TemporaryDirectory() as place:
            fill_word_file(document, self.title, self.all_sections, Path(place))
            with replacing(path) as temporary, temporary.open("wb") as file:
                document.save(file)


def require_docx() -> ModuleType:
    """The package that writes Word documents."""
    try:
        import docx
    except ImportError:
        raise MissingPackageError.of_extra("Word documents need python-docx", "docx") from None
    return docx


def _tables_as_text(section: Section) -> list[TextTable]:
    tables = []
    for table in section.tables:
        tables += [table] if isinstance(table, TextTable) else text_tables(table)
    return tables


def _data_address(picture: Picture) -> str:
    from llrkit.plot.matplotlib_renderer import save

    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "picture.svg"
        save(picture, file, width=WIDTH)
        return "data:image/svg+xml;base64," + base64.b64encode(file.read_bytes()).decode("ascii")


def case_document(
    report: CaseReport,
    made_from: Sequence[tuple[str, str]] = (),
    *,
    words: str = "forensic",
    base_10: bool = False,
) -> Document:
    """The sections of a case report, in the words of a vocabulary; LLRs in nats, or to base ten only."""
    unit = llr_unit(base_10)
    first = headline(report, unit)
    said_first = (*filter(None, [first]), *statements(report), *all_remarks(report), READER)
    banner = Banner(SHOWN[report.validation_outcome]) if first and report.validation_outcome else None
    sections = [
        Section("Statement", said_first, banner=banner),
        Section("Comparisons", (), [TextTable(table_header(unit), comparison_rows(report, unit))]),
    ]
    places = place_rows(report)
    if places:
        pictures = [] if report.training is None else [_case_among_training(report, report.training)]
        sections.append(Section(PLACES_TITLE, (), [TextTable(PLACE_HEADER, places)], pictures))
    sections.append(Section("What the LLRs rest on", (), [TextTable(("", ""), tuple(facts(report, unit)))]))
    said = Said(vocabulary(words), report.names, of_sources=True)
    return Document("Case report", [said.section(section) for section in sections], made_from)


def _case_among_training(report: CaseReport, training: ScoreSource) -> Picture:
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


@dataclass(frozen=True, eq=False)
class EvaluationDocument(Document):
    """A document on systems, whose curves can be shown by themselves."""

    curves: Sequence[Section] = ()


def evaluation_document(
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
    words: str = "nist",
    base_10: bool = False,
    made_from: Provenance | None = None,
) -> EvaluationDocument:
    """What :func:`llrkit.write_report` shows on a page, without what only a screen can do.

    Examples
    --------
    >>> import llrkit as lk
    >>> document = evaluation_document(lk.evaluate(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])))
    >>> [section.title for section in document.sections]
    ['Summary', 'Numbers', 'Curves', 'Distributions', 'Methods']
    """
    unit = llr_unit(base_10)
    comparison = results if isinstance(results, Comparison) else comparison
    systems = evaluations_by_name(results)
    same_points(systems)
    alone = isinstance(results, Comparison) and bool(results.maps)
    headline = comparison.sentence if alone and comparison else about_systems.headline(systems, checks)
    shown: list[Section] = [Section("Read this first", tuple(cautions))] if cautions else []
    shown += [
        *first,
        Section(
            "Summary", (headline, *_verdict_paragraphs(systems, checks, ties, advise=not alone, unit=unit))
        ),
    ]
    said = said_of(systems, words, unit)
    numbers = []
    for name, one in systems.items():
        cells = tuple(tuple(map(said.text, row)) for row in rows(one, unit))
        numbers.append(TextTable(("number", "value", "meaning"), cells, name if len(systems) > 1 else ""))
    shown.append(Section("Numbers", (), numbers))
    tested = any(section.banner for section in first)
    own = system_sections(
        results, systems, comparison, by, bands, checks, llrs=llrs, tested=tested, unit=unit
    )
    methods = methods_text(
        systems, list(comparison.maps) if comparison else (), checked=bool(checks), unit=unit
    )
    shown += [*own, *sections, Section("Methods", tuple(filter(None, methods.split("\n\n"))))]
    shown = [section if section in first else said.section(section) for section in shown]
    curves = [section for section in shown if section.title in ("Curves", "Distributions")]
    return EvaluationDocument(title, shown, (made_from or provenance()).lines(), curves)


def validation_document(
    name: str,
    checked: Validation,
    *,
    verbal: bool = False,
    words: str = "forensic",
    base_10: bool = False,
    made_from: Provenance | None = None,
) -> EvaluationDocument:
    """A validation report as a document."""
    return evaluation_document(
        {name: checked.evaluation}, title="Validation report",
        first=validation(checked, verbal=verbal, words=words, base_10=base_10),
        bands=NOTHING if checked.bands is None else {name: checked.bands}, checks={name: checked.check},
        cautions=checked.cautions, llrs=True, words=words, base_10=base_10, made_from=made_from,
    )  # fmt: skip


def _verdict_paragraphs(
    systems: Mapping[str, Evaluation],
    checks: Mapping[str, CalibrationCheck],
    ties: Mapping[str, TiedScores],
    *,
    advise: bool,
    unit: LlrUnit,
) -> list[str]:
    """What is said about each system, and what to do, a paragraph each."""
    told = about_systems.verdicts(systems, checks, ties, advise=advise, unit=unit)
    names = [f"{one.name} ({one.word}): " if len(systems) > 1 else "" for one in told]
    return [name + " ".join((one.said, *one.todo)) for name, one in zip(names, told, strict=True)]
