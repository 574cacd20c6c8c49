"""Documents of a few sections, as a page or a Word file: cases, evaluations, validations."""

from __future__ import annotations

import base64
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from llrkit._version import __version__
from llrkit.base.files import replacing, write_atomically
from llrkit.base.process import needed_package
from llrkit.base.text import printable
from llrkit.plot.llr_plots import histogram
from llrkit.plot.picture import Ink, Line, Mark, Picture, Stairs
from llrkit.report.document import HTML, Banner, Provenance, Said, Section, provenance, trusted
from llrkit.report.sections import SystemReport, validation
from llrkit.report.tables import TextTable
from llrkit.results.vocabulary import llr_unit, vocabulary
from llrkit.scores import ScoreSource
from llrkit.verbs import case
from llrkit.verbs.case import CaseReport
from llrkit.verbs.evaluate import evaluate, rows
from llrkit.verbs.validate import SHOWN, Validation

if TYPE_CHECKING:
    from docx.document import Document as WordFile

WIDTH = 6.0
"""Of pictures, in inches."""
MARGIN, TABLE_WIDTH = 0.75, 6.75
"""At the sides of a page, and what fits between the margins of the narrowest, A4, in inches."""
SQUARE = 3.6
"""Of pictures as high as wide, so that two fit on a page."""
LETTERS = {9: 11.5, 7: 15.0}
"""That fit into an inch of a table, about, by the size of the letters in points."""
PADDING = 2
"""Letters that would fit into the margins of a cell."""
LONGEST_WORD = 20
"""Letters that are kept together in a cell; hashes are longer."""
MANY_COLUMNS = 7
COLORS = {"good": "00694A", "fair": "7A5200", "poor": "A33400"}
_MINUS = re.compile(r"(?<![\w)-])-(?=\d)")
# The characters of XML 1.0; anything else makes Word refuse the whole file.
_NOT_XML = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
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
        document = docx.Document()
        with tempfile.TemporaryDirectory() as place:
            fill_word_file(document, self.title, self.all_sections, Path(place))
            with replacing(path) as temporary, temporary.open("wb") as file:
                document.save(file)


def require_docx() -> ModuleType:
    """python-docx; where it is missing, the error says how to install it."""
    return needed_package("docx", "Word documents need python-docx", "docx")


def _data_address(picture: Picture) -> str:
    from llrkit.plot.matplotlib_renderer import save

    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "picture.svg"
        save(picture, file, width=WIDTH)
        # As an address inside the page, since the policy allows no other.
        return "data:image/svg+xml;base64," + base64.b64encode(file.read_bytes()).decode("ascii")


def fill_word_file(document: WordFile, title: str, sections: Sequence[Section], place: Path) -> None:
    """Write sections into an empty document; pictures pass through files in ``place``."""
    from docx.shared import Inches, Pt, RGBColor

    from llrkit.plot.matplotlib_renderer import save

    document.core_properties.title = _text_for_xml(title)
    # python-docx's template names itself as the author.
    document.core_properties.author = ""
    for paper in document.sections:
        paper.left_margin = paper.right_margin = Inches(MARGIN)
    document.add_heading(_text_for_xml(title), level=0)
    figures = tables = 0
    for section in sections:
        document.add_heading(_text_for_xml(section.title), level=1)
        if section.banner is not None:
            line = document.add_paragraph()
            line.paragraph_format.keep_with_next = True
            # python-docx escapes what it writes; only characters that XML cannot hold have to go.
            word = line.add_run(_text_for_xml(section.banner.word))
            word.bold, word.font.size = True, Pt(20)
            word.font.color.rgb = RGBColor.from_string(COLORS[section.banner.grade])
        for paragraph in section.paragraphs:
            said = document.add_paragraph(running_text(paragraph))
            # a heading stays on the page of its table
            said.paragraph_format.keep_with_next = bool(section.tables)
        for table in section.text_tables:
            tables += 1
            # A table has its caption above, a figure below.
            _add_caption(document, f"Table {tables}: {table.caption or section.title}", above=True)
            _add_table(document, table)
        for picture in section.pictures:
            figures += 1
            # The renderer writes a file, which python-docx then reads.
            width, file = SQUARE if picture.equal else WIDTH, place / f"{figures}.png"
            save(picture, file, width=width)
            document.add_picture(str(file), width=Inches(width))
            document.paragraphs[-1].paragraph_format.keep_with_next = True
            _add_caption(document, f"Figure {figures}: {picture.title}")
        if section.note:
            document.add_paragraph(running_text(section.note))


def _add_table(document: WordFile, table: TextTable) -> None:
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn
    from docx.shared import Inches, Pt

    headed = any(table.header)
    rows = [table.header, *table.rows] if headed else list(table.rows)
    made = document.add_table(rows=0, cols=len(table.header))
    made.style = "Light Grid Accent 1"
    # Otherwise Word sets the widths by itself, and differently from LibreOffice.
    made.autofit = False
    points = 9 if len(table.header) < MANY_COLUMNS else 7
    widths = column_widths(rows, TABLE_WIDTH, LETTERS[points])
    for column, width in zip(made.columns, widths, strict=True):
        column.width = Inches(width)  # LibreOffice goes by these, Word by those of the cells
    if not headed:  # let the first row look like the others
        for look in made._tblPr.findall(qn("w:tblLook")):
            look.set(qn("w:firstRow"), "0")
            # 0480: emphasize the first column, no vertical bands; python-docx has no name for these
            # bits.
            look.set(qn("w:val"), "0480")
    size = Pt(points)
    for i, row in enumerate(rows):
        added = made.add_row()
        is_header = i == 0 and headed
        # no row is divided between two pages, and a header is repeated on each
        properties = added._tr.get_or_add_trPr()
        # python-docx has no property for it, so the element is added by hand.
        properties.append(OxmlElement("w:cantSplit"))
        if is_header:
            properties.append(OxmlElement("w:tblHeader"))
        for cell, text, width in zip(added.cells, row, widths, strict=True):
            cell.width = Inches(width)
            cell.text = _text_for_xml(text)
            # A header alone at the foot of a page would be of no use.
            cell.paragraphs[0].paragraph_format.keep_with_next = is_header
            for run in cell.paragraphs[0].runs:
                run.font.size = size
    # Word joins two tables that have no paragraph between them.
    document.add_paragraph()


def column_widths(rows: Sequence[Sequence[str]], width: float, letters: float) -> list[float]:
    """Widths of columns that add up to ``width``: no word is broken if that can be, long texts get more.

    Examples
    --------
    >>> rows = [("metric", "what was found"), ("eer", "3.25 % " * 8)]
    >>> [round(w, 1) for w in column_widths(rows, 6.0, 15.0)]
    [0.6, 5.4]
    """
    columns = list(zip(*rows, strict=True))
    words = [
        # Styles of the first row and column are bold, which is wider.
        max((_word_width(word, bold=i == 0 or text is column[0]) for text in column for word in text.split()),
            default=1.0)
        for i, column in enumerate(columns)
    ]  # fmt: skip
    # Longer words may be broken: a hash would take the whole table.
    least = [min(longest, LONGEST_WORD) + PADDING for longest in words]
    wanted = [
        max(low, sum(map(len, column)) / len(column)) for low, column in zip(least, columns, strict=True)
    ]
    # Where even the longest words do not fit, there is nothing to share out, and all columns shrink.
    room = max(0.0, width * letters - sum(least))
    more = [want - low for want, low in zip(wanted, least, strict=True)]
    shares = [low + room * (extra / sum(more) if sum(more) else 1.0 / len(least))
              for low, extra in zip(least, more, strict=True)]  # fmt: skip
    return [width * share / sum(shares) for share in shares]


def _word_width(word: str, *, bold: bool) -> float:
    """Of a word, in letters of usual width; the first row and the first column are bold."""
    letters = sum(1.5 if letter in "mwMW%@" else 1.25 if letter.isupper() else 1.0 for letter in word)
    return 1.15 * letters if bold else letters


def _add_caption(document: WordFile, text: str, *, above: bool = False) -> None:
    document.add_paragraph(_text_for_xml(text), style="Caption").paragraph_format.keep_with_next = above


def running_text(text: str) -> str:
    """Text of a paragraph with true minus signs: a line is broken after a hyphen, and -65 becomes 65 then.

    Examples
    --------
    >>> running_text("from -65.4 to 8, in cross-validation of SRE-08").split("-")
    ['from −65.4 to 8, in cross', 'validation of SRE', '08']
    """
    return _MINUS.sub("\N{MINUS SIGN}", _text_for_xml(text))


def _text_for_xml(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def case_document(
    report: CaseReport,
    made_from: Sequence[tuple[str, str]] = (),
    *,
    words: str = "forensic",
    base_10: bool = False,
) -> Document:
    """The sections of a case report, in the words of a vocabulary; LLRs in nats, or to base ten only."""
    unit = llr_unit(base_10)
    first = case.headline(report, unit)
    said_first = (*filter(None, [first]), *case.statements(report), *case.all_remarks(report), case.READER)
    # Only where there is a headline, and a validation to grade it by.
    banner = Banner(SHOWN[report.validation_outcome]) if first and report.validation_outcome else None
    sections = [
        Section("Statement", said_first, banner=banner),
        Section("Comparisons", (), [TextTable(case.table_header(unit), case.comparison_rows(report, unit))]),
    ]
    places = case.place_rows(report)
    if places:
        pictures = [] if report.training is None else [_case_among_training(report, report.training)]
        sections.append(Section(case.PLACES_TITLE, (), [TextTable(case.PLACE_HEADER, places)], pictures))
    facts = TextTable(("", ""), tuple(case.facts(report, unit)))
    sections.append(Section("What the LLRs rest on", (), [facts]))
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
