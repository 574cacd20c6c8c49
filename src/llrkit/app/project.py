"""A project: score files, what was chosen for each step, and what came of it; and names that are safe."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import threading
import unicodedata
from collections.abc import Container, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from llrkit.base.text import Json
from llrkit.errors import InputError
from llrkit.results.vocabulary import VOCABULARIES, LlrUnit, Vocabulary, llr_unit

SCHEMA = "llrkit.project/2"
FILES, DOCUMENTS = "files", "documents"
"""The folders of a project, as its command lines name them."""
USES = {"train": "calibration", "validation": "validation", "questioned": "questioned scores", "": "none"}
"""What a file can be for."""
ORDER = ("evaluate", "advise", "calibrate", "validate", "case")
"""The steps."""
CALIBRATION = "calibration.json"
RESTS_ON_CALIBRATION, RESTS_ON_SETTINGS = f"{DOCUMENTS}/{CALIBRATION}", "/settings"
"""Among the inputs of a step, where no file can have these names."""
OF_TRAINING = ("advise", "calibrate")
"""Steps of the file that is for calibration, whichever that is."""
MOST_FILES = 50


Result = dict[str, Any]
"""What a step shows, as plain values: see :mod:`llrkit.app.steps`."""


@dataclass
class ScoreFile:
    """An uploaded file and how it is read."""

    name: str
    size: int
    sha256: str
    use: str = ""
    reading: dict[str, Json] = field(default_factory=dict)
    """As :meth:`llrkit.io.read_options.Reading.to_dict` gives it."""
    facts: dict[str, Any] | None = None
    """What reading it told: see :mod:`llrkit.app.steps`."""

    @property
    def path(self) -> str:
        """Where it is, seen from the folder of the project."""
        return f"{FILES}/{self.name}"

    @property
    def columns(self) -> list[str]:
        """Its columns, as far as they are known."""
        return [] if self.facts is None else self.facts.get("columns", [])

    @property
    def labeled(self) -> bool:
        """Whether it was read as trials of known origin."""
        return self.facts is not None and "n_target" in self.facts

    @property
    def is_understood(self) -> bool:
        """Whether it was read as trials, of known origin or questioned."""
        return self.labeled or (self.facts is not None and "n_questioned" in self.facts)


WORDS = {"forensic": "same-source, different-source", "nist": "target, non-target (NIST)"}
_QUOTED = re.compile(r"'[^']*'")
UNITS = {"": "natural logarithms (nats)", "on": "base ten (log10 LR)"}


@dataclass(frozen=True)
class Settings:
    """The words, the unit of LLRs, and the columns of the speakers.

    Examples
    --------
    >>> Settings(base_10=True).unit.column, Settings().vocabulary.say("target")
    ('log10 LR', 'same-source')
    """

    words: str = "forensic"
    base_10: bool = False
    speakers: tuple[str, ...] = ()
    """One or two columns; without them trials are taken as independent."""

    @classmethod
    def from_dict(cls, plain: object) -> Settings:
        """As they are saved; what cannot be settings is a ValueError, or a TypeError."""
        if not isinstance(plain, dict):
            raise ValueError
        settings = cls(**{**plain, "speakers": tuple(plain.get("speakers", ()))})
        is_one = settings.words in WORDS and isinstance(settings.base_10, bool)
        if not is_one or not all(isinstance(name, str) for name in settings.speakers):
            raise ValueError
        return settings

    def to_dict(self) -> dict[str, Json]:
        """Plain values."""
        return {"words": self.words, "base_10": self.base_10, "speakers": list(self.speakers)}

    @property
    def unit(self) -> LlrUnit:
        """In which LLRs are shown."""
        return llr_unit(self.base_10)

    @property
    def vocabulary(self) -> Vocabulary:
        """In whose words pages and documents speak."""
        return VOCABULARIES[self.words]


def said_in(words: Vocabulary, text: str, names: Iterable[str]) -> str:
    """What the library said in the words of a project; names of files and columns, and what is quoted, stay.

    Examples
    --------
    >>> said_in(VOCABULARIES["forensic"], "target.csv: 3 trials have the label 'target'", ["target.csv"])
    "target.csv: 3 comparisons have the label 'target'"
    """
    return words.say_of_sources(text, keep=(*names, *_QUOTED.findall(text)))


@dataclass(eq=False)
class Project:
    """One project that is open; its folder holds its files and documents."""

    id: str
    folder: Path
    name: str = ""
    """Of the folder it is saved in; empty if it is not saved."""
    files: dict[str, ScoreFile] = field(default_factory=dict)
    results: dict[str, Result] = field(default_factory=dict)
    """By step."""
    settings: Settings = field(default_factory=Settings)
    changed: bool = False
    """Since it was saved."""
    revision: int = 0
    """Counts changes, so that a form of another tab is known to be old."""
    awaiting_use: set[str] = field(default_factory=set)
    """Files for which no use was suggested yet."""
    own_states: set[str] = field(default_factory=set)
    """Hashes of each ``project.json`` that this project was opened from or saved as."""
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    @classmethod
    def new(cls, id: str, folder: Path) -> Project:  # noqa: A002
        """An empty project in a folder of its own."""
        for part in (FILES, DOCUMENTS):
            (folder / part).mkdir(parents=True)
        return cls(id, folder)

    def touch(self) -> None:
        """Note a change."""
        self.changed = True
        self.revision += 1

    def with_use(self, use: str) -> ScoreFile | None:
        """The file for a use, if there is one."""
        return next((file for file in self.files.values() if file.use == use), None)

    def file(self, name: str) -> ScoreFile:
        """A file by its name; a name that is not in the project is refused."""
        if name not in self.files:
            raise InputError("this project has no such file")
        return self.files[name]

    def labeled_file(self, name: str) -> ScoreFile:
        """A file of known origin."""
        file = self.file(name)
        if not file.labeled:
            raise InputError(f"{file.name} has no labeled trials; see the page Files")
        return file

    def training_file(self) -> ScoreFile:
        """The file that is for calibration."""
        file = self.with_use("train")
        if file is None or not file.labeled:
            raise InputError("no file is for calibration yet; choose one on the page Files")
        return file

    def documents(self) -> dict[str, str]:
        """All documents that steps made, each with its step."""
        return {name: step for step, result in self.in_order() for name in result["documents"]}

    def in_order(self) -> Iterator[tuple[str, Result]]:
        """The steps that were taken, with their results."""
        for step in ORDER:
            if step in self.results:
                yield step, self.results[step]

    def made(self, step: str) -> str:
        """When a step was taken last; empty if it was not."""
        return self.results[step].get("made", "") if step in self.results else ""

    @property
    def columns(self) -> list[str]:
        """All columns of all files."""
        return [name for file in self.files.values() for name in file.columns]

    def add_result(self, step: str, result: Result, made_in: Path) -> None:
        """Take over what a step made; what the step made before is replaced."""
        with self.lock:
            for name in self.results[step]["documents"] if step in self.results else ():
                (self.folder / DOCUMENTS / name).unlink(missing_ok=True)
            for name in result["documents"]:
                shutil.move(made_in / name, self.folder / DOCUMENTS / name)
            self.results[step] = result
            self.touch()

    def inputs(self, names: list[str], *, calibrated: bool) -> dict[str, str]:
        """What a step rests on, as hashes: files with how they are read, the calibration, the settings."""
        with self.lock:
            used = {}
            for name in names:
                if name in self.files:
                    file = self.files[name]
                    text = json.dumps([file.sha256, file.reading], sort_keys=True)
                    used[name] = _short_hash(text)
            if calibrated and "calibrate" in self.results:
                used[RESTS_ON_CALIBRATION] = self.results["calibrate"]["made"]
            used[RESTS_ON_SETTINGS] = _short_hash(json.dumps(self.settings.to_dict(), sort_keys=True))
        return used

    def is_stale(self, step: str) -> bool:
        """Whether a result rests on files, settings or a calibration that have changed since."""
        result = self.results.get(step)
        if result is None:
            return False
        known = result["inputs"]
        calibrated = RESTS_ON_CALIBRATION in known
        if calibrated and self.is_stale("calibrate"):
            return True
        if step in OF_TRAINING:
            train = self.with_use("train")
            if train is None or train.name not in known:
                return True
        names = [name for name in known if not name.startswith((DOCUMENTS + "/", "/"))]
        return bool(known != self.inputs(names, calibrated=calibrated))

    def to_dict(self) -> dict[str, Any]:
        """As it is saved."""
        with self.lock:
            return {
                "schema": SCHEMA,
                "settings": self.settings.to_dict(),
                "files": [asdict(file) for file in self.files.values()],
                "results": json.loads(json.dumps(self.results)),
            }


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


LONGEST = 80
"""Characters of a name; the longest in UTF-8 then still fits into what file systems take."""
_NOT_IN_FILES = re.compile(r"[^\w .+@=,()-]")
_PROJECT = re.compile(r"\w[\w .()-]*", re.UNICODE)
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Names that Windows keeps for devices."""


def file_name(given: str, taken: Container[str] = ()) -> str:
    """What an uploaded file is called here: its last part, without odd characters, and new.

    Examples
    --------
    >>> file_name("../../etc/passwd"), file_name("C:\\\\x\\\\dev set.csv"), file_name("a.csv", {"a.csv"})
    ('passwd', 'dev set.csv', 'a-2.csv')
    >>> file_name("\\x00/"), file_name(".bashrc"), file_name("con.csv")
    ('scores', 'bashrc', 'file con.csv')
    """
    last = re.split(r"[/\\]", unicodedata.normalize("NFC", given))[-1]
    name = _NOT_IN_FILES.sub("", last).strip(" ._-") or "scores"
    if _RESERVED.fullmatch(name):
        name = f"file {name}"
    suffix = "".join(PurePosixPath(name).suffixes[-2:])
    suffix = suffix if len(suffix) <= 20 else ""
    stem = name[: len(name) - len(suffix)][: LONGEST - len(suffix) - 4].rstrip(" .") or "scores"
    tried, number = f"{stem}{suffix}", 1
    while tried in taken:
        number += 1
        tried = f"{stem}-{number}{suffix}"
    return tried


def is_file_name(name: object) -> bool:
    """Whether a name is one that :func:`file_name` gives.

    Examples
    --------
    >>> is_file_name("dev-2.csv"), is_file_name("../x"), is_file_name(".saved"), is_file_name(7)
    (True, False, False, False)
    """
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST + 8:
        return False
    return not (
        _NOT_IN_FILES.search(name) or name[0] in " ._-" or name[-1] in " ." or _RESERVED.fullmatch(name)
    )


def project_name(given: str) -> str:
    """The name of a project, which is that of its folder; anything that is no plain name is refused.

    Examples
    --------
    >>> project_name(" Case 12-b ")
    'Case 12-b'
    >>> project_name("../x")
    Traceback (most recent call last):
    llrkit.errors.InputError: a project name has letters, digits, spaces, dots, hyphens and brackets, at
    most 80 of them, and begins with a letter or digit
    """
    name = unicodedata.normalize("NFC", given).strip().rstrip(" .")
    if not _PROJECT.fullmatch(name) or len(name) > LONGEST or _RESERVED.fullmatch(name):
        raise InputError(
            "a project name has letters, digits, spaces, dots, hyphens and brackets, at most "
            f"{LONGEST} of them, and begins with a letter or digit"
        )
    return name


def one_line(text: str, longest: int = 500) -> str:
    """Text of a form as one line without control characters.

    Examples
    --------
    >>> one_line(" the suspect\\r\\n is\\x00 the speaker ")
    'the suspect is the speaker'
    """
    words = "".join(c if c.isprintable() else " " for c in text).split()
    return " ".join(words)[:longest]
