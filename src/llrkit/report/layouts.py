"""Documents of a few sections, as a page or a Word file: cases, evaluations, validations."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import numpy as np
from markupsafe import Markup

from llrkit._version import __version__
from llrkit.base.files import replacing, write_atomically
from llrkit.base.text import printable
from llrkit.errors import MissingPackageError
from llrkit.plot.llr_plots import histogram
from llrkit.plot.picture import Ink, Line, Mark, Picture, Stairs
from llrkit.report.document import HTML, Banner, Provenance, Said, Section, provenance, trusted
from llrkit.report.sections import SystemReport, validation
from llrkit.report.tables import TextTable
from llrkit.report.word import WIDTH
from llrkit.results.vocabulary import llr_unit, vocabulary
from llrkit.scores import ScoreSource
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
from llrkit.verbs.evaluate import evaluate
from llrkit.verbs.evaluation_result import rows
from llrkit.verbs.validate import SHOWN, Validation

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""The content security policy of a page that runs nothing."""


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

    @property
    def curves(self) -> list[Section]:
        """The sections on systems that can be shown by themselves."""
        # Known by their titles, which hold no word that a vocabulary changes.
        return [section for section in self.sections if section.title in ("Curves", "Distributions")]

    def write_html(self, path: str | Path) -> None:
        """One page that opens without a network, asks for nothing and runs nothing."""
        page = HTML.get_template("document.html.j2").render(
            title=self.title,
            sections=self.all_sections,
            address=_data_address,
            version=__version__,
            # The policy is our own text, and its quotes are not to be escaped.
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


def _data_address(picture: Picture) -> str:
    from llrkit.plot.matplotlib_renderer import save

    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "picture.svg"
        save(picture, file, width=WIDTH)
        # As an address inside the page, since the policy allows no other.
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
    # Only where there is a headline, and a validation to grade it by.
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
    # Lines of the case stay below the top of the axes, where the legend is.
    top = drawn.y.limits[1] / 1.3 if drawn.y.limits else 1.0
    # A document on paper has nothing to point with.
    marks: list[Mark] = [replace(mark, hover=()) for mark in drawn.marks if isinstance(mark, Stairs)]
    factor = report.calibration.input_factor
    for i, item in enumerate(report.comparisons):
        at = np.full(2, factor * item.score)
        # The first two colors are those of the classes.
        marks.append(Line(at, np.array([0.0, top]), Ink(i + 2, width=1.5), item.name))
    described = "Histograms of the training scores of both classes; a line for each score of the case."
    return replace(
        drawn,
        title="Scores of the training trials, and of the case",
        x=replace(drawn.x, label="score" if factor == 1.0 else f"score, times {factor:.4g}"),
        marks=tuple(marks),
        described=described,
    )


def evaluation_document(report: SystemReport) -> Document:
    """What :func:`llrkit.write_report` shows on a page, without what only a screen can do.

    Examples
    --------
    >>> import llrkit as lk
    >>> result = lk.evaluate(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1]))
    >>> [section.title for section in evaluation_document(SystemReport(result)).sections]
    ['Summary', 'Numbers', 'Curves', 'Distributions', 'Methods']
    """
    said, several = report.said, len(report.systems) > 1
    summary = [report.lead]
    for one in report.verdicts():
        name = f"{one.name} ({one.word}): " if several else ""
        summary.append(name + " ".join((one.said, *one.todo)))
    numbers = []
    for name, result in report.systems.items():
        cells = tuple(tuple(map(said.text, row)) for row in rows(result, report.unit))
        numbers.append(TextTable(("number", "value", "meaning"), cells, name if several else ""))
    after = [
        Section("Summary", tuple(summary)),
        Section("Numbers", (), numbers),
        *report.own_sections(),
        *report.sections,
        # Paragraphs of the plain text on methods.
        Section("Methods", tuple(filter(None, report.methods().split("\n\n")))),
    ]
    cautions = [Section("Read this first", tuple(report.cautions))] if report.cautions else []
    sections = [
        *map(said.section, cautions),
        *report.first,  # in its own words already
        *map(said.section, after),
    ]
    return Document(report.title, sections, (report.made_from or provenance()).lines())


def validation_document(
    name: str,
    checked: Validation,
    *,
    verbal: bool = False,
    words: str = "forensic",
    base_10: bool = False,
    made_from: Provenance | None = None,
) -> Document:
    """A validation report as a document."""
    report = SystemReport(
        {name: checked.evaluation}, "Validation report",
        first=validation(checked, verbal=verbal, words=words, base_10=base_10),
        bands={} if checked.bands is None else {name: checked.bands}, checks={name: checked.check},
        cautions=checked.cautions, llrs=True, words=words, base_10=base_10, made_from=made_from,
    )  # fmt: skip
    return evaluation_document(report)
