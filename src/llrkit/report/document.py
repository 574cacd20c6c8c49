"""What every report is made of: sections, templates, vocabulary and provenance."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy
import scipy
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from llrkit._version import __version__
from llrkit.base.files import file_sha256
from llrkit.io.formats import local_files
from llrkit.plot.picture import Picture, to_base_10
from llrkit.report.tables import Table, TextTable, text_tables
from llrkit.results.vocabulary import NATS, LlrUnit, Vocabulary

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

    @property
    def text_tables(self) -> list[TextTable]:
        """Its tables as they are shown: those of numbers in pieces that fit on paper."""
        pieces = ([table] if isinstance(table, TextTable) else text_tables(table) for table in self.tables)
        return [table for tables in pieces for table in tables]


FOLDER = Path(__file__).with_name("templates")

HTML = Environment(
    loader=FileSystemLoader(FOLDER),
    autoescape=True,
    # A name that a template misspells is an error, not an empty text.
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
HTML.globals["grades"] = GRADES
TEXT = Environment(loader=FileSystemLoader(FOLDER), autoescape=False, undefined=StrictUndefined)
"""For plain text, which is escaped where it enters a page."""


def script_json(value: object) -> Markup:
    r"""JSON to stand inside a script element: no ``<``, ``>`` or ``&`` is left in it.

    Examples
    --------
    >>> print(script_json({"name": "</script><b>"}))
    {"name":"\u003c/script\u003e\u003cb\u003e"}
    """
    # NaN and Infinity are not JSON, and JavaScript would refuse the whole page.
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    # </script> inside a string would end the script; as escapes these letters are the same to JSON.
    return Markup(text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e"))


def trusted(*names: str) -> Markup:
    """Style sheets or programs of ours, as they are, one after the other."""
    return Markup("\n".join((FOLDER / name).read_text(encoding="utf-8") for name in names))


@dataclass(frozen=True)
class SourceFile:
    """A file that was read."""

    path: str
    """Its name, or the path as it was given if that was asked for."""
    size: int
    sha256: str
    """Empty where the file is not on this machine."""

    def __str__(self) -> str:
        if not self.sha256:
            return f"{self.path}, not hashed: not on this machine"
        return f"{self.path}, {self.size:,} bytes, SHA-256 {self.sha256}"


@dataclass(frozen=True)
class Provenance:
    """Files, command, date and versions."""

    date: str
    """Date and time, with the time zone."""
    command: str = ""
    files: tuple[SourceFile, ...] = ()
    versions: str = (
        f"llrkit {__version__}, Python {platform.python_version()}, NumPy {numpy.__version__}, "
        f"SciPy {scipy.__version__}"
    )

    def lines(self) -> list[tuple[str, str]]:
        """What is known, by what it is, for a report in Markdown."""
        known = [("made", self.date), ("with", self.versions), ("command", self.command)]
        return [*(pair for pair in known if pair[1]), *(("file", str(file)) for file in self.files)]


def provenance(
    paths: Sequence[str | Path] = (),
    *,
    command: str = "",
    now: datetime | None = None,
    full_paths: bool = False,
) -> Provenance:
    """The provenance of a report made from files; their hashes are of the bytes that the command read.

    A directory or pattern is as good as the files in it; a file that is named twice is listed once. Files
    are shown by their names, unless ``full_paths`` asks for the paths as they were given.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = file.write_text("abc")
    >>> provenance([file]).files[0].sha256[:8], provenance([file]).files[0].size
    ('ba7816bf', 3)
    """
    # With the time zone of the machine: a report is read elsewhere.
    moment = datetime.now().astimezone() if now is None else now
    files: dict[str, SourceFile] = {}
    for path in map(str, paths):
        # a name without files on this machine stands for itself
        for name in [str(file) for file in local_files(path)] or [path]:
            file, shown = Path(name), name if full_paths else Path(name).name or name
            if file.is_file() and name not in files:
                files[name] = SourceFile(shown, file.stat().st_size, file_sha256(file))
            # Listed all the same, as not hashed.
            files.setdefault(name, SourceFile(shown, 0, ""))
    return Provenance(f"{moment:%Y-%m-%d %H:%M:%S %z}".strip(), command, tuple(files.values()))


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
            tables=[self.table(table) for table in section.tables],
            pictures=[
                # The unit first: words are said of the converted texts.
                (to_base_10(picture) if self.unit.base_10 else picture).said_in(self.words, keep=self.keep)
                for picture in section.pictures
            ],
            note=self.text(section.note),
            hint=self.text(section.hint),
        )

    def table(self, table: Table | TextTable) -> Table | TextTable:
        """A table; cells of numbers stay."""
        if isinstance(table, Table):
            return replace(table.retitled(self.text), caption=self.text(table.caption))
        header = tuple(map(self.text, table.header))
        if table.header and not self.of_sources:  # may be the name of a column
            header = (table.header[0], *header[1:])
        rows = tuple(tuple(map(self.text, row)) for row in table.rows) if self.of_sources else table.rows
        return replace(table, header=header, rows=rows, caption=self.text(table.caption))
