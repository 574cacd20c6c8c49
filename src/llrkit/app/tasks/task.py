"""Task: what a step is to do, and how its result is shown."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llrkit._atomic import write_atomically
from llrkit._llr_units import LlrUnit, llr_unit
from llrkit._plain import spelled
from llrkit._vocabulary import VOCABULARIES, Vocabulary
from llrkit.app.project import DOCUMENTS
from llrkit.app.settings import said_in
from llrkit.engine.open_trials import open_trials
from llrkit.errors import InputError
from llrkit.io.reading_options import PLAIN, Reading
from llrkit.report.provenance import Provenance, provenance
from llrkit.report.section_types import Section, TextTable, text_tables
from llrkit.scores import ScoreSource

PICTURE_WIDTH = 5.2
"""Inches."""


@dataclass(frozen=True)
class Task:
    """A piece of work: its kind, the files of the project, and what was chosen."""

    kind: str
    folder: Path
    out: Path
    """Where documents are written until the work is done."""
    files: dict[str, dict[str, Any]]
    """By name: ``path``, ``use``, ``sha256``, ``reading`` and ``columns``."""
    choices: dict[str, Any]

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Task:
        """As it comes through a pipe."""
        folder, out = Path(plain["folder"]), Path(plain["out"])
        return cls(plain["kind"], folder, out, plain["files"], plain["choices"])

    def reading(self, name: str) -> Reading:
        """How a file is read."""
        return Reading.from_dict(self.files[name]["reading"])

    def open(self, name: str, **changed: Any) -> ScoreSource:
        """The trials of a file."""
        return open_trials(self.files[name]["path"], self.reading(name).with_files(**changed))

    @property
    def words(self) -> Vocabulary:
        """In which the result speaks."""
        return VOCABULARIES[self.choices.get("words", "forensic")]

    @property
    def unit(self) -> LlrUnit:
        """In which LLRs are shown."""
        return llr_unit(self.choices.get("base_10", False))

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

    def write_json(self, content: dict[str, Any], command: str, name: str) -> None:
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
    sections: Sequence[Section], task: Task, *, most: int = 6
) -> tuple[list[dict[str, Any]], list[str]]:
    """Sections as a page shows them, with their pictures in files, whose names are given too."""
    from llrkit.plot.matplotlib_renderer import save

    plain: list[dict[str, Any]] = []
    names: list[str] = []
    for section in sections:
        tables: list[TextTable] = []
        for table in section.tables:
            tables += [table] if isinstance(table, TextTable) else text_tables(table)
        figures = []
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
