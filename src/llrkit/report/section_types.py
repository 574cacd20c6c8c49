"""What a report is made of: headed sections with words, tables and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llrkit.plot.picture import Picture
from llrkit.report.report_tables import Table, TextTable

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
