"""What a report is made of: headed sections with words, tables and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llrkit.plot.picture import Picture
from llrkit.report.tables import Table


@dataclass(frozen=True)
class Words:
    """A table of words: a header and rows of text."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    numeric: bool = False
    """Whether all columns but the first are numbers, to be set flush right."""


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
    tables: Sequence[Table | Words] = ()
    pictures: Sequence[Picture] = ()
    captions: Sequence[str] = ()
    """What to say under the pictures, one text for each, or none at all."""
    small: bool = False
    """Whether the pictures are small multiples."""
    note: str = ""


def as_words(table: Table) -> Words:
    """A table of numbers as it is shown."""
    rows = tuple((name, *texts) for name, texts in zip(table.names, table.texts, strict=True))
    return Words((table.row_title, *table.titles), rows, table.caption, numeric=True)
