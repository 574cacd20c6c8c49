"""A document of a few sections: as a page without programs, and as a Word file that can be edited."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from llrkit._atomic import replacing, write_atomically
from llrkit._format import printable
from llrkit._version import __version__
from llrkit.errors import MissingPackageError
from llrkit.plot.picture import Picture
from llrkit.report.section_types import Section, TextTable, text_tables
from llrkit.report.templating import HTML, trusted

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
                "tables": _tables(section),
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
        from llrkit.report.word_file import fill

        document = docx.Document()
        with tempfile.TemporaryDirectory() as place:
            fill(document, self.title, self.all_sections, Path(place))
            with replacing(path) as temporary, temporary.open("wb") as file:
                document.save(file)


def require_docx() -> Any:
    """The package that writes Word documents."""
    try:
        import docx
    except ImportError:
        raise MissingPackageError.of_extra("Word documents need python-docx", "docx") from None
    return docx


def _tables(section: Section) -> list[TextTable]:
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
