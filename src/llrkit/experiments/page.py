"""The page of an experiment: a report whose sections are its tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from llrkit.choose.compare import Comparison
from llrkit.plot.picture import Picture
from llrkit.report.page import write_report
from llrkit.report.section import Section, Words


@dataclass(frozen=True)
class Paragraph:
    """Text."""

    text: str


@dataclass(frozen=True)
class PageTable:
    """A table with a caption."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, eq=False)
class PageFigure:
    """A drawn picture and what to say about it."""

    file: Path
    picture: Picture
    caption: str


Part = Paragraph | PageTable | tuple[PageFigure, ...]


def write_page(
    path: Path,
    title: str,
    sections: Sequence[tuple[str, Sequence[Part]]],
    example: Comparison | None = None,
) -> None:
    """Write a page: sections of paragraphs, tables and figures, and one list in all detail as an example.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "index.html"
    >>> write_page(file, "a < b", [("Results", [Paragraph("1 & 2")])])
    >>> "a &lt; b" in file.read_text() and "1 &amp; 2" in file.read_text()
    True
    """
    made = [_section(heading, parts) for heading, parts in sections]
    write_report(example, path, title=title, first=made)


def _section(heading: str, parts: Sequence[Part]) -> Section:
    figures = [figure for part in parts if isinstance(part, tuple) for figure in part]
    tables = [part for part in parts if isinstance(part, PageTable)]
    return Section(
        heading,
        tuple(part.text for part in parts if isinstance(part, Paragraph)),
        [Words(tuple(t.header), tuple(map(tuple, t.rows)), t.caption, numeric=True) for t in tables],
        [figure.picture for figure in figures],
        [figure.caption for figure in figures],
    )
