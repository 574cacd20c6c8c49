"""A project: score files, what was chosen for each step, and what came of it."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from llrkit.app.choice_types import Facts, SavedProject, StepResult
from llrkit.app.project_settings import Settings
from llrkit.base.text import Json
from llrkit.errors import InputError

SCHEMA = "llrkit.project/1"
FILES, DOCUMENTS = "files", "documents"
"""The folders of a project, as its command lines name them."""
USES = {"train": "calibration", "validation": "validation", "questioned": "questioned scores", "": "none"}
"""What a file can be for."""
STEPS = ("evaluate", "advise", "calibrate", "validate", "case")
CALIBRATION = "calibration.json"
RESTS_ON_CALIBRATION, RESTS_ON_SETTINGS = f"{DOCUMENTS}/{CALIBRATION}", "/settings"
"""Among the inputs of a step, where no file can have these names."""
OF_TRAINING = ("advise", "calibrate")
"""Steps of the file that is for calibration, whichever that is."""
MOST_FILES = 50


@dataclass
class ScoreFile:
    """An uploaded file and how it is read."""

    name: str
    size: int
    sha256: str
    use: str = ""
    reading: dict[str, Json] = field(default_factory=dict)
    """As :meth:`llrkit.io.read_options.Reading.to_dict` gives it."""
    facts: Facts | None = None
    """What reading it told: see :mod:`llrkit.app.tasks.read`."""

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


@dataclass(eq=False)
class Project:
    """One project that is open; its folder holds its files and documents."""

    id: str
    folder: Path
    name: str = ""
    """Of the folder it is saved in; empty if it is not saved."""
    files: dict[str, ScoreFile] = field(default_factory=dict)
    results: dict[str, StepResult] = field(default_factory=dict)
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

    def documents(self) -> dict[str, str]:
        """All documents that steps made, each with its step."""
        return {name: step for step, result in self.in_order() for name in result["documents"]}

    def in_order(self) -> Iterator[tuple[str, StepResult]]:
        """The steps that were taken, with their results."""
        for step in STEPS:
            if step in self.results:
                yield step, self.results[step]

    def made(self, step: str) -> str:
        """When a step was taken last; empty if it was not."""
        return self.results[step].get("made", "") if step in self.results else ""

    @property
    def columns(self) -> list[str]:
        """All columns of all files."""
        return [name for file in self.files.values() for name in file.columns]

    def add_result(self, step: str, result: StepResult, made_in: Path) -> None:
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
        return known != self.inputs(names, calibrated=calibrated)

    def to_dict(self) -> SavedProject:
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
