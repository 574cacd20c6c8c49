"""Task: what a step is to do, and how its result is shown."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar

from llrkit.app.choice_types import Choices, PlainTask, ShownFigure, ShownSection, TaskFile
from llrkit.app.project import DOCUMENTS
from llrkit.app.project_settings import said_in
from llrkit.base.files import write_atomically
from llrkit.base.text import Json, spelled
from llrkit.engine.open import open_trials
from llrkit.errors import InputError
from llrkit.io.read_options import PLAIN, Reading
from llrkit.report.document import Provenance, Section, provenance
from llrkit.report.tables import TextTable, text_tables
from llrkit.results.vocabulary import VOCABULARIES, LlrUnit, Vocabulary, llr_unit
from llrkit.scores import ScoreSource

PICTURE_WIDTH = 5.2
"""Inches."""


C = TypeVar("C", bound=Choices)


class InWords(TypedDict):
    """In which words and unit documents speak."""

    words: str
    base_10: bool


@dataclass(frozen=True)
class Task(Generic[C]):
    """A piece of work: its kind, the files of the project, and what was chosen."""

    kind: str
    folder: Path
    out: Path
    """Where documents are written until the work is done."""
    files: dict[str, TaskFile]
    choices: C

    @staticmethod
    def from_dict(plain: PlainTask) -> Task[Choices]:
        """As it comes through a pipe."""
        folder, out = Path(plain["folder"]), Path(plain["out"])
        return Task(plain["kind"], folder, out, plain["files"], plain["choices"])

    def reading(self, name: str) -> Reading:
        """How a file is read."""
        return Reading.of(None, self.files[name]["reading"])

    def open(self, name: str, **changed: Any) -> ScoreSource:
        """The trials of a file."""
        return open_trials(self.files[name]["path"], self.reading(name).with_files(**changed))

    @property
    def words(self) -> Vocabulary:
        """In which the result speaks."""
        chosen: Choices = self.choices
        return VOCABULARIES[chosen["words"]] if "words" in chosen else VOCABULARIES["forensic"]

    @property
    def unit(self) -> LlrUnit:
        """In which LLRs are shown."""
        chosen: Choices = self.choices
        return llr_unit("base_10" in chosen and chosen["base_10"])

    def say(self, text: str) -> str:
        """A text of the library in the words of the project; names of files and columns stay."""
        columns = (name for file in self.files.values() for name in file["columns"])
        return said_in(self.words, text, (*self.files, *columns))

    def path(self, name: str) -> str:
        """Where a file is, seen from the folder of the project."""
        return str(self.files[name]["path"])

    def require_one_reading(self, *names: str) -> Reading:
        """How files are read, which one command line can say only once."""
        readings = [self.reading(name) for name in names]
        for name, reading in zip(names, readings, strict=True):
            if reading != readings[0]:
                raise InputError(
                    f"{names[0]} and {name} are read with different options, which one command cannot do; "
                    "read both in the same way, or leave one of them out"
                )
        return readings[0] if readings else PLAIN

    def write_json(self, content: Mapping[str, Json], command: str, name: str) -> None:
        """Numbers, as the command of that name writes them."""
        plain = {"schema": f"llrkit.{command}/1", **spelled(content)}
        write_atomically(self.out / name, json.dumps(plain, indent=2, allow_nan=False) + "\n")

    def made_from(self, command: Sequence[str], *paths: str) -> Provenance:
        """Where the numbers of a document come from."""
        return provenance(list(paths), command=shlex.join(command))


def in_documents(name: str) -> str:
    """Where a document is, seen from the folder of the project.

    Examples
    --------
    >>> in_documents("case.docx")
    'documents/case.docx'
    """
    return f"{DOCUMENTS}/{name}"


def shown(
    sections: Sequence[Section], task: Task[C], *, most: int = 6
) -> tuple[list[ShownSection], list[str]]:
    """Sections as a page shows them, with their pictures in files, whose names are given too."""
    from llrkit.plot.matplotlib_renderer import save

    plain: list[ShownSection] = []
    names: list[str] = []
    for section in sections:
        tables: list[TextTable] = []
        for table in section.tables:
            tables += [table] if isinstance(table, TextTable) else text_tables(table)
        figures: list[ShownFigure] = []
        for picture in section.pictures[:most]:
            name = f"{task.kind}-{len(names) + 1}.svg"
            save(picture, task.out / name, width=PICTURE_WIDTH)
            names.append(name)
            figures.append({"file": name, "title": picture.title, "told": picture.described})
        plain.append({
            "title": section.title,
            "paragraphs": list(section.paragraphs),
            "tables": [
                {"header": list(table.header), "rows": [list(row) for row in table.rows],
                 "caption": table.caption, "numeric": table.numeric}
                for table in tables
            ],
            "figures": figures,
            "note": section.note,
        })  # fmt: skip
    return plain, names
