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
_NOT_XML = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def fill(document: Any, title: str, sections: Sequence[Section], place: Path) -> None:
    """Write sections into an empty document; pictures pass through files in ``place``."""
    document.core_properties.title = _text(title)
    document.core_properties.author = ""
    document.add_heading(_text(title), level=0)
    figures = tables = 0
    for section in sections:
        document.add_heading(_text(section.title), level=1)
        for paragraph in section.paragraphs:
            document.add_paragraph(_text(paragraph))
        for table in section.tables:
            for part in [table] if isinstance(table, TextTable) else text_tables(table):
                tables += 1
                _caption(document, f"Table {tables}: {part.caption or section.title}")
                _add_table(document, part)
        for picture in section.pictures:
            figures += 1
            _add_picture(document, picture, place / f"{figures}.png")
            _caption(document, f"Figure {figures}: {picture.title}")
        if section.note:
            document.add_paragraph(_text(section.note))


def _add_table(document: Any, table: TextTable) -> None:
    made = document.add_table(rows=0, cols=len(table.header))
    made.style = "Light Grid Accent 1"
    if any(table.header):
        for cell, text in zip(made.add_row().cells, table.header, strict=True):
            cell.text = _text(text)
    for row in table.rows:
        for cell, text in zip(made.add_row().cells, row, strict=True):
            cell.text = _text(text)
    document.add_paragraph()


def _add_picture(document: Any, picture: Picture, file: Path) -> None:
    from docx.shared import Inches

    from llrkit.plot.matplotlib_renderer import save

    save(picture, file, width=WIDTH)
    document.add_picture(str(file), width=Inches(WIDTH))


def _caption(document: Any, text: str) -> None:
    document.add_paragraph(_text(text), style="Caption")


def _text(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
