"""A folder of score files turned into a folder of LLRs, part by part, so that it can be taken up again."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from glob import escape
from pathlib import Path
from typing import Any

from llrkit._atomic import write_atomically
from llrkit._progress import stage
from llrkit.calibrate.map_files import map_to_dict
from llrkit.calibrate.maps import Map
from llrkit.engine.apply import DEFAULTS, Applied, ApplyOptions, apply_map
from llrkit.errors import InputError
from llrkit.io.reading import PLAIN, PathArg, Reading
from llrkit.io.tables import files_of

MANIFEST = "_manifest.json"  # names with _ in front are not taken for trials
DONE = "_done"
"""Where it is noted which parts are finished, until all of them are."""

Run = Callable[[Callable[["Part"], "Part"], Sequence["Part"]], Iterable["Part"]]


@dataclass(frozen=True)
class Part:
    """One input file, what it becomes, and what it was when it was read."""

    source: str
    name: str
    size: int
    modified_ns: int
    rows: int = -1

    @classmethod
    def of(cls, path: Path) -> Part:
        """A part that is still to be done."""
        there = path.stat()
        return cls(str(path), f"{path.stem}.parquet", there.st_size, there.st_mtime_ns)

    def same_input(self, other: Part) -> bool:
        """Whether both were made of the same file, unchanged."""
        return (self.source, self.size, self.modified_ns) == (other.source, other.size, other.modified_ns)


def apply_parts(
    fitted: Map,
    path: PathArg,
    folder: PathArg,
    reading: Reading = PLAIN,
    options: ApplyOptions = DEFAULTS,
    *,
    run: Run | None = None,
) -> Applied:
    """Write the LLRs of every file of a directory or a pattern as a Parquet file of a folder.

    Each part appears when it is complete, and ``_manifest.json`` when all are. What was interrupted is taken
    up again by the same call: finished parts are kept, unless their input or the calibration has changed.

    Parameters
    ----------
    run
        Does the parts and gives them back in any order; a cluster has its own way. By default one by one.
    """
    files = files_of(path)
    parts = [Part.of(file) for file in files]
    _refuse_same_names(parts)
    target = Path(folder)
    done = target / DONE
    done.mkdir(parents=True, exist_ok=True)
    told = json.dumps(map_to_dict(fitted), sort_keys=True) + "".join(reading.where)
    calibration = hashlib.sha256(told.encode()).hexdigest()
    finished = {part.name: part for part in _finished(target, calibration)}
    kept = [part for part in parts if part.name in finished and finished[part.name].same_input(part)]
    todo = [part for part in parts if part not in kept]
    (target / MANIFEST).unlink(missing_ok=True)
    for part in todo:  # what a killed run was at
        for unfinished in target.glob(f".{escape(part.name)}.*"):
            unfinished.unlink()
    for part in kept:  # so that they are known should this run be interrupted too
        _note(finished[part.name], done, calibration)
    work = partial(_apply_one, fitted=fitted, folder=target, calibration=calibration, reading=reading,
                   options=options)  # fmt: skip
    written = [finished[part.name] for part in kept]
    with stage("files", len(todo), "files") as tick:
        for part in (run or _one_by_one)(work, todo):
            written.append(part)
            tick(1)
    manifest = {
        "schema": "llrkit.apply/1",
        "calibration_sha256": calibration,
        "rows": sum(part.rows for part in written),
        "parts": [asdict(part) for part in sorted(written, key=lambda part: part.name)],
    }
    write_atomically(target / MANIFEST, json.dumps(manifest, indent=2) + "\n")
    shutil.rmtree(done)
    notes = (f"{len(kept):,} of {len(parts):,} files were finished already",) if kept else ()
    return Applied(manifest["rows"], notes)  # type: ignore[arg-type]


def _apply_one(
    part: Part, *, fitted: Map, folder: Path, calibration: str, reading: Reading, options: ApplyOptions
) -> Part:
    applied = apply_map(fitted, [part.source], folder / part.name, reading, options)
    finished = Part(part.source, part.name, part.size, part.modified_ns, applied.rows)
    _note(finished, folder / DONE, calibration)
    return finished


def _one_by_one(work: Callable[[Part], Part], parts: Sequence[Part]) -> Iterator[Part]:
    return map(work, parts)


def _note(part: Part, done: Path, calibration: str) -> None:
    text = json.dumps({"calibration_sha256": calibration, **asdict(part)})
    write_atomically(done / f"{part.name}.json", text)


def _finished(folder: Path, calibration: str) -> Iterator[Part]:
    """The parts whose files are there, by the manifest of a whole run or the notes of an interrupted one."""
    entries: list[dict[str, Any]] = []
    for note in sorted((folder / DONE).glob("*.json")):
        entries.append(_read(note))
    if (folder / MANIFEST).is_file():
        manifest = _read(folder / MANIFEST)
        sha = manifest.get("calibration_sha256")
        entries += [{"calibration_sha256": sha, **part} for part in manifest.get("parts", [])]
    for entry in entries:
        if (
            entry.pop("calibration_sha256", None) == calibration
            and (folder / str(entry.get("name"))).is_file()
        ):
            yield Part(**entry)


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}  # as if it were not there: the part is done again
    return content if isinstance(content, dict) else {}


def _refuse_same_names(parts: Sequence[Part]) -> None:
    seen: dict[str, str] = {}
    for part in parts:
        if part.name in seen:
            raise InputError(f"{seen[part.name]} and {part.source} would both become {part.name}")
        seen[part.name] = part.source
