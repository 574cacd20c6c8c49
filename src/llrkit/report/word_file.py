"""Sections as paragraphs of a Word document: the only module that knows python-docx."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llrkit.plot.picture import Picture
from llrkit.report.sections import Section, TextTable, text_tables

WIDTH = 6.0
"""Of pictures, in inches: what fits between the margins of a page."""
PAGE = 6.5
"""Of tables."""
TALLEST = 3.7
"""Height of a picture in inches, of which two fit on a page."""
_NOT_XML = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def fill(document: Any, title: str, sections: Sequence[Section], place: Path) -> None:
    """Write sections into an empty document; pictures pass through files in ``place``."""
    from docx.shared import Inches

    document.core_properties.title = _text(title)
    document.core_properties.author = ""
    for margins in document.sections:
        margins.left_margin = margins.right_margin = Inches(1.0)
    document.add_heading(_text(title), level=0)
    figures = tables = 0
    for section in sections:
        document.add_heading(_text(section.title), level=1)
        for paragraph in section.paragraphs:
            document.add_paragraph(_text(paragraph))
        for table in section.tables:
            for part in [table] if isinstance(table, TextTable) else text_tables(table):
                tables += 1
                _caption(document, f"Table {tables}: {part.caption or section.title}", above=True)
                _add_table(document, part)
        for picture in section.pictures:
            figures += 1
            _add_picture(document, picture, place / f"{figures}.png")
            _caption(document, f"Figure {figures}: {picture.title}")
        if section.note:
            document.add_paragraph(_text(section.note))


def _add_table(document: Any, table: TextTable) -> None:
    """A table whose columns are as wide as their texts ask for; its header is repeated on every page."""
    from docx.shared import Inches, Pt

    made = document.add_table(rows=0, cols=len(table.header))
    made.style = "Light Grid Accent 1"
    made.autofit = False
    lines = [table.header, *table.rows] if any(table.header) else list(table.rows)
    widths = column_widths(lines)
    for column, width in zip(made.columns, widths, strict=True):
        column.width = Inches(width)
    size = Pt(8 if len(table.header) > 5 else 9)
    for number, line in enumerate(lines):
        row = made.add_row()
        _mark(row, "cantSplit")
        if number == 0 and any(table.header):
            _mark(row, "tblHeader")
        for cell, text, width in zip(row.cells, line, widths, strict=True):
            cell.width = Inches(width)
            cell.text = _text(text)
            for run in cell.paragraphs[0].runs:
                run.font.size = size
    document.add_paragraph()


def column_widths(lines: Sequence[Sequence[str]], total: float = PAGE) -> list[float]:
    """Widths of columns in inches: no word is broken where there is room, and long texts get the rest.

    Examples
    --------
    >>> [round(width, 1) for width in column_widths([("a", "word"), ("b", "a text of many words " * 5)])]
    [0.3, 6.2]
    """
    columns = list(zip(*lines, strict=True))
    # a letter of 9 points is about 0.085 inches wide; cells have margins
    least = [
        0.15 + 0.085 * max(len(word) for text in column for word in [*text.split(), "x"])
        for column in columns
    ]
    least = [max(min(width, 2.0), 0.3) for width in least]
    if sum(least) > total:
        return [total * width / sum(least) for width in least]
    wish = [max(max(len(text) for text in column), 1) for column in columns]
    more = [max(0.15 + 0.085 * length - width, 0.0) for length, width in zip(wish, least, strict=True)]
    share = min(1.0, (total - sum(least)) / sum(more)) if sum(more) else 0.0
    return [width + share * extra for width, extra in zip(least, more, strict=True)]


def _mark(row: Any, name: str) -> None:
    """Rows are kept whole (``cantSplit``), headers are repeated (``tblHeader``)."""
    from docx.oxml import OxmlElement

    row._tr.get_or_add_trPr().append(OxmlElement(f"w:{name}"))


def _add_picture(document: Any, picture: Picture, file: Path) -> None:
    from docx.shared import Inches

    from llrkit.plot.matplotlib_renderer import save, size

    # two fit on a page
    width = min(WIDTH, WIDTH * TALLEST / size(picture, WIDTH)[1])
    save(picture, file, width=WIDTH)
    document.add_picture(str(file), width=Inches(width))
    document.paragraphs[-1].paragraph_format.keep_with_next = True


def _caption(document: Any, text: str, *, above: bool = False) -> None:
    document.add_paragraph(_text(text), style="Caption").paragraph_format.keep_with_next = above


def _text(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
