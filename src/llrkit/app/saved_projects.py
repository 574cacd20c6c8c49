"""Projects in folders: saved whole or not at all, and checked when they are opened.

A save first copies all that is new into ``.saving``, which becomes ``.saved`` in one step. From then on the
save holds: its parts are moved into place, ``project.json`` last, and whoever opens the project finishes what
a killed process began. A ``.saving`` that is left over was never complete, and is removed.

``project.json`` lists every file that a save wrote, with its SHA-256. Only a file that still has this hash is
replaced or deleted: what other people put into the folder, or edited there, is theirs.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

from llrkit.app.project import (
    DOCUMENTS,
    FILES,
    ORDER,
    SCHEMA,
    USES,
    Project,
    ScoreFile,
    Settings,
    is_file_name,
    project_name,
)
from llrkit.base.files import file_sha256, write_atomically
from llrkit.errors import FileFormatError, InputError

STATE = "project.json"
SAVING, SAVED = ".saving", ".saved"
PARTS = (FILES, DOCUMENTS)


def saved_projects(place: Path) -> list[str]:
    """The names of the projects in a folder."""
    if not place.is_dir():
        return []
    found = (one for one in place.iterdir() if (one / STATE).is_file() or (one / SAVED / STATE).is_file())
    return sorted(one.name for one in found if not one.name.startswith("."))


def save(project: Project, place: Path, name: str) -> None:
    """Save a project under a name; a kill at any moment leaves what was there before, or all of this."""
    name = project_name(name)
    folder = place / name
    if project.name != name and folder.exists() and any(folder.iterdir()):
        raise InputError(f"there is a project {name!r} already; choose another name, or open that one")
    folder.mkdir(parents=True, exist_ok=True)
    finish_save(folder)
    written = _written_files(folder / STATE)
    if (folder / STATE).exists() and file_sha256(folder / STATE) not in project.own_states:
        raise _other_file_error(folder, STATE)
    with project.lock:
        plain = project.to_dict()
        hashes = {file.path: file.sha256 for file in project.files.values()}
        for one in project.documents():
            hashes[f"{DOCUMENTS}/{one}"] = file_sha256(project.folder / DOCUMENTS / one)
    new = folder / SAVING
    for part in PARTS:
        (new / part).mkdir(parents=True)
    plain["written"] = {}
    for path, sha256 in hashes.items():
        there = _hash_on_disk(folder / path)
        if there == sha256:  # perhaps as someone else put it there: a file becomes ours only by writing it
            if path in written:
                plain["written"][path] = written[path]
        elif there is None or there == written.get(path):
            shutil.copyfile(project.folder / path, new / path)
            _project_to_disk(new / path)
            plain["written"][path] = sha256
        else:
            raise _other_file_error(folder, path)
    write_atomically(new / STATE, json.dumps(plain, indent=1))
    _read_saved_project(new / STATE)  # what could not be opened again is not saved
    project.own_states.add(file_sha256(new / STATE))
    new.rename(folder / SAVED)
    _project_to_disk(folder)
    finish_save(folder)
    with project.lock:
        project.name, project.changed = name, False


def finish_save(folder: Path) -> None:
    """Bring a folder into the state of its last complete save."""
    for one in (folder, *(folder / part for part in PARTS)):
        if one.is_symlink():
            raise InputError(f"{one} is a link, and nothing is saved through it; save under another name")
    shutil.rmtree(folder / SAVING, ignore_errors=True)
    ready = folder / SAVED
    if not ready.is_dir():
        return
    if (ready / STATE).exists():  # else a kill met the very end
        before, now = _written_files(folder / STATE), _written_files(ready / STATE)
        for part in PARTS:
            (folder / part).mkdir(exist_ok=True)
            for file in sorted((ready / part).iterdir()):
                path = f"{part}/{file.name}"
                if _hash_on_disk(folder / path) not in (None, before.get(path), now.get(path)):
                    raise _other_file_error(folder, path)
                file.replace(folder / path)
        for path in before.keys() - now.keys():
            if _hash_on_disk(folder / path) == before[path]:
                (folder / path).unlink()
        (ready / STATE).replace(folder / STATE)
    _project_to_disk(folder)
    shutil.rmtree(ready, ignore_errors=True)


def _written_files(state: Path) -> dict[str, str]:
    """The files that the save of a state wrote, with their hashes."""
    return _read_saved_project(state).get("written", {}) if state.exists() else {}


def _hash_on_disk(path: Path) -> str | None:
    """The SHA-256 of a file; None if nothing is there, empty for what no save writes."""
    if path.is_symlink() or not path.is_file():
        return "" if os.path.lexists(path) else None
    return file_sha256(path)


def _other_file_error(folder: Path, path: str) -> InputError:
    return InputError(
        f"the file {path} in the folder of the project {folder.name!r} was put there or changed since the "
        "last save, and is left as it is: move it away, or save under another name"
    )


def open_saved(place: Path, name: str, id: str, working: Path) -> Project:  # noqa: A002
    """A saved project; files that are not what they were when it was saved are an error."""
    name = project_name(name)
    folder = place / name
    if name not in saved_projects(place) or folder.is_symlink():
        raise InputError(f"there is no project {name!r}")
    finish_save(folder)
    plain = _read_saved_project(folder / STATE)
    project = Project.new(id, working)
    project.name = name
    project.own_states.add(file_sha256(folder / STATE))
    project.settings = Settings.from_dict(plain.get("settings", {}))
    for one in plain["files"]:
        file = _saved_score_file(one)
        source = folder / FILES / file.name
        if not source.is_file() or source.is_symlink() or file_sha256(source) != file.sha256:
            raise FileFormatError(f"project {name}: {file.name} is missing or was changed since it was saved")
        # the saved file itself is read: it is not copied, and never written to
        (project.folder / FILES / file.name).symlink_to(source.resolve())
        project.files[file.name] = file
    project.results = plain["results"]
    for document in project.documents():
        source = folder / DOCUMENTS / document
        if not source.is_file() or source.is_symlink():
            raise FileFormatError(f"project {name}: the document {document} is missing")
        shutil.copyfile(source, project.folder / DOCUMENTS / document)
    return project


def _read_saved_project(path: Path) -> dict[str, Any]:
    """The state of a project; what cannot be one is refused."""
    try:
        plain: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        _require_saved_state(isinstance(plain, dict) and plain.get("schema") == SCHEMA)
        _require_saved_state(isinstance(plain["files"], list) and isinstance(plain["results"], dict))
        Settings.from_dict(plain.get("settings", {}))
        for one in plain["files"]:
            _saved_score_file(one)
        for step, result in plain["results"].items():
            _require_saved_state(
                step in ORDER and isinstance(result, dict) and isinstance(result["inputs"], dict)
            )
            for name in result["documents"]:
                _require_saved_state(is_file_name(name))
        for written, sha256 in plain.get("written", {}).items():
            part, _, name = written.partition("/")
            _require_saved_state(part in PARTS and is_file_name(name) and isinstance(sha256, str))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FileFormatError(f"{path.parent.name}: project.json is not that of a llrkit project") from None
    return plain


def _saved_score_file(plain: object) -> ScoreFile:
    known = {item.name for item in fields(ScoreFile)}
    if not isinstance(plain, dict) or not set(plain) <= known:
        raise ValueError
    file = ScoreFile(**plain)
    _require_saved_state(is_file_name(file.name) and file.use in USES)
    _require_saved_state(isinstance(file.sha256, str) and isinstance(file.reading, dict))
    return file


def _require_saved_state(holds: bool) -> None:
    if not holds:
        raise ValueError


def _project_to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
