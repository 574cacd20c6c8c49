"""Sections as paragraphs of a Word document: the only module that knows python-docx."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from llrkit.report.document import Section
from llrkit.report.tables import TextTable

if TYPE_CHECKING:
    from docx.document import Document

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


def fill_word_file(document: Document, title: str, sections: Sequence[Section], place: Path) -> None:
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


def _add_table(document: Document, table: TextTable) -> None:
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


def _add_caption(document: Document, text: str, *, above: bool = False) -> None:
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
