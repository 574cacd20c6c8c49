"""What a folder of parts says about itself: which are finished, of what they were made, and who is at work.

A part is finished if a note says so whose hashes still fit: of its input, of everything that decides what it
becomes (the calibration, all options, the files that they name, the version), and of the part itself.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from llrkit._atomic import locked_folder, write_atomically
from llrkit._inputs import file_sha256
from llrkit.errors import InputError
from llrkit.io.tables_of_paths import is_taken

MANIFEST = "_manifest.json"  # names with _ in front are not taken for trials
DONE = "_done"
"""Where it is noted which parts are finished, until all of them are."""
BEGUN = "_begun.json"
"""In there: all parts of the run, as they were known when it began."""
SCHEMA = "llrkit.apply/2"


@dataclass(frozen=True)
class Part:
    """One input file, what it becomes, and the hashes of both and of what decides how."""

    source: str
    name: str
    recipe: str = ""
    source_sha256: str = ""
    sha256: str = ""
    rows: int = -1
    notes: tuple[str, ...] = ()
    """What is to be said about it."""

    @classmethod
    def of(cls, path: Path, recipe: str) -> Part:
        """A part that is still to be done."""
        return cls(str(path), f"{path.stem}.parquet", recipe)

    @classmethod
    def from_dict(cls, plain: object) -> Part | None:
        """What a note says; None if it is none."""
        if not isinstance(plain, dict) or set(plain) != {item.name for item in fields(cls)}:
            return None
        notes = plain["notes"]
        texts = [value for name, value in plain.items() if name not in ("rows", "notes")]
        texts += notes if isinstance(notes, list) else [None]
        if type(plain["rows"]) is not int or not all(isinstance(text, str) for text in texts):
            return None
        return cls(**{**plain, "notes": tuple(notes)})


def recipe_of(settings: Mapping[str, object], files: Iterable[str]) -> str:
    """The hash of everything that decides what becomes of an input: settings, and files that they name."""
    hashes = {file: file_sha256(file) for file in files}
    text = json.dumps({**settings, "files": hashes}, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """The folder, which is made, is this run's alone; a second run is refused."""
    folder.mkdir(parents=True, exist_ok=True)
    with locked_folder(folder) as free:
        if not free:
            raise InputError(f"{folder}: another run is writing into this folder; wait for it, or end it")
        yield


def finished_parts(folder: Path, parts: Sequence[Part]) -> list[Part]:
    """Those of the parts that are finished, as their notes have them; every byte is looked at."""
    notes = _notes_on_parts(folder)
    finished = []
    for part in parts:
        note = notes.get(part.name)
        if (
            note is not None
            and note.recipe == part.recipe
            and (folder / note.name).is_file()
            and file_sha256(part.source) == note.source_sha256
            and file_sha256(folder / note.name) == note.sha256
        ):
            finished.append(replace(note, source=part.source))
    return finished


def remove_outdated(folder: Path, parts: Sequence[Part]) -> list[str]:
    """Remove what an earlier run made of files that are no longer among the inputs; gives their names.

    Anything else in the folder would be read together with the parts later, so it is refused.
    """
    names = {part.name for part in parts}
    others = [file for file in folder.iterdir() if is_taken(file.name) and file.name not in names]
    others = [file for file in others if not file.is_dir()]
    known = _notes_on_parts(folder)
    for file in others:
        if file.name not in known:
            raise InputError(
                f"{file}: was not written by an earlier run of this command, and would be read with what it "
                "writes; choose a new folder, or move the file away"
            )
    for file in others:
        file.unlink()
        (folder / DONE / f"{file.name}.json").unlink(missing_ok=True)
    return sorted(file.name for file in others)


def begin_parts(folder: Path, parts: Sequence[Part]) -> None:
    """Say what is finished and what is to come, so that both are known should this run be interrupted."""
    (folder / DONE).mkdir(exist_ok=True)
    write_atomically(folder / DONE / BEGUN, json.dumps({"parts": [asdict(part) for part in parts]}))
    (folder / MANIFEST).unlink(missing_ok=True)


def note(part: Part, folder: Path) -> None:
    """Say what is known of a part, until the manifest does."""
    write_atomically(folder / DONE / f"{part.name}.json", json.dumps(asdict(part)))


def write_manifest(folder: Path, parts: Sequence[Part], settings: Mapping[str, object]) -> None:
    """Say that all parts are finished, and with which settings."""
    content = {
        "schema": SCHEMA,
        "rows": sum(part.rows for part in parts),
        "settings": dict(settings),
        "parts": [asdict(part) for part in sorted(parts, key=lambda part: part.name)],
    }
    write_atomically(folder / MANIFEST, json.dumps(content, indent=2, default=str) + "\n")
    shutil.rmtree(folder / DONE)


def _notes_on_parts(folder: Path) -> dict[str, Part]:
    """What is known of the parts, by name; what was noted last is taken."""
    lists = (_read_notes(folder / MANIFEST), _read_notes(folder / DONE / BEGUN))
    listed = [one.get("parts") for one in lists if isinstance(one, dict)]
    plain = [part for parts in listed if isinstance(parts, list) for part in parts]
    plain += [_read_notes(file) for file in sorted((folder / DONE).glob("*.json"))]
    known = (Part.from_dict(one) for one in plain)
    return {part.name: part for part in known if part is not None}


def _read_notes(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None  # as if it were not there: the part is done again
