"""A report in the words of a community: its text, tables and pictures, but no names of people's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict

from llrkit._llr_units import NATS, LlrUnit
from llrkit._plain import Json
from llrkit._vocabulary import Vocabulary
from llrkit.plot.base_ten import to_base_10
from llrkit.plot.picture import Picture
from llrkit.report.report_tables import Table, TextTable
from llrkit.report.section_types import Section

if TYPE_CHECKING:
    from llrkit.report.verdict_and_curve_sections import SystemVerdict


class AboutSystems(TypedDict):
    """What the template of a page says about the systems."""

    systems: list[str]
    headline: str
    verdicts: list[SystemVerdict]
    numbers: list[TextTable]
    conventions: Mapping[str, str]
    points: list[dict[str, Json]]
    methods: str
    counts: list[float]


@dataclass(frozen=True)
class Said:
    """Says what a report is made of in the words of a vocabulary."""

    words: Vocabulary
    keep: tuple[str, ...]
    """Names of systems and operating points, which stay as they are."""
    unit: LlrUnit = NATS
    """Of the LLRs in pictures; texts and tables have theirs already."""
    of_sources: bool = False
    """Whether cells of tables are texts on same-source and different-source trials, as in validations."""

    def text(self, text: str) -> str:
        """A sentence."""
        return self.words.say_of_sources(text, keep=self.keep)

    def section(self, section: Section) -> Section:
        """A section with its tables and pictures."""
        return replace(
            section,
            title=self.text(section.title),
            paragraphs=tuple(map(self.text, section.paragraphs)),
            tables=[
                self._numbers(table) if isinstance(table, Table) else self._table(table)
                for table in section.tables
            ],
            pictures=[self._picture(picture) for picture in section.pictures],
            note=self.text(section.note),
            hint=self.text(section.hint),
        )

    def _picture(self, picture: Picture) -> Picture:
        shown = to_base_10(picture) if self.unit.base_10 else picture
        return shown.said_in(self.words, keep=self.keep)

    def about(self, about: AboutSystems) -> AboutSystems:
        """What the template says about the systems."""
        verdicts = [
            replace(
                one, word=self.text(one.word), said=self.text(one.said), todo=tuple(map(self.text, one.todo))
            )
            for one in about["verdicts"]
        ]
        return {
            **about,
            "headline": self.text(about["headline"]),
            "verdicts": verdicts,
            "numbers": [self._table(table) for table in about["numbers"]],
            "conventions": {name: self.text(value) for name, value in about["conventions"].items()},
            "methods": self.text(about["methods"]),
        }

    def _numbers(self, table: Table) -> Table:
        return replace(table, titles=tuple(map(self.text, table.titles)), caption=self.text(table.caption))

    def _table(self, table: TextTable) -> TextTable:
        header = tuple(map(self.text, table.header))
        if table.header and not self.of_sources:  # may be the name of a column
            header = (table.header[0], *header[1:])
        rows = tuple(tuple(map(self.text, row)) for row in table.rows) if self.of_sources else table.rows
        return replace(table, header=header, rows=rows, caption=self.text(table.caption))
