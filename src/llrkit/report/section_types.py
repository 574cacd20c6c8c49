"""What a report is made of: headed sections with words, tables and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llrkit.plot.picture import Picture
from llrkit.report.latex_markdown_csv import COLUMNS
from llrkit.report.number_tables import Table


@dataclass(frozen=True)
class TextTable:
    """A table of words: a header and rows of text."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    numeric: bool = False
    """Whether all columns but the first are numbers, to be set flush right."""


GRADES = {"PASS": "good", "FAIL": "poor", "NOT DECIDED": "fair"}
"""Words that stand out wherever they are a cell of a table, and how."""


@dataclass(frozen=True)
class Banner:
    """What a reader is to see first."""

    word: str

    @property
    def grade(self) -> str:
        """Its color: good, fair or poor."""
        return GRADES[self.word]


@dataclass(frozen=True, eq=False)
class Section:
    """A part of a report, in the order words, tables, pictures; everything in it is escaped.

    Examples
    --------
    >>> Section("Durations", ("All pairs of durations.",)).title
    'Durations'
    """

    title: str
    paragraphs: tuple[str, ...] = ()
    tables: Sequence[Table | TextTable] = ()
    pictures: Sequence[Picture] = ()
    small: bool = False
    """Whether the pictures are small multiples."""
    note: str = ""
    hint: str = ""
    """How to use the section on a screen; not printed."""
    banner: Banner | None = None


WIDEST = 14
"""Columns that fit on paper; wider tables are cut, each part with the names of the rows."""
N_GENERAL = len(COLUMNS)


def text_tables(table: Table) -> list[TextTable]:
    """A table of numbers as it is shown: in one piece, or in pieces that fit on paper.

    The costs at operating points then follow the numbers that need none.
    """
    n = len(table.titles)
    if n < WIDEST:
        return [_columns(table, 0, n)]
    starts = [0, *range(N_GENERAL, n, WIDEST - 2)]
    return [_columns(table, start, stop) for start, stop in zip(starts, [*starts[1:], n], strict=True)]


def _columns(table: Table, start: int, stop: int) -> TextTable:
    rows = tuple((name, *texts[start:stop]) for name, texts in zip(table.names, table.texts, strict=True))
    return TextTable((table.row_title, *table.titles[start:stop]), rows, table.caption, numeric=True)
