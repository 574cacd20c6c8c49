"""A folder of score files turned into a folder of LLRs, part by part, so that it can be taken up again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from llrkit._format import agreeing, counted
from llrkit._inputs import file_sha256, watching
from llrkit._progress import stage
from llrkit._version import __version__
from llrkit._warn import kept_warnings
from llrkit.calibrate.map_files import map_to_dict
from llrkit.calibrate.maps import Map
from llrkit.engine.apply_map import DEFAULTS, Applied, ApplyOptions, Judge, apply_map
from llrkit.engine.finished_parts import (
    Part,
    begin_parts,
    finished_parts,
    note,
    recipe_of,
    remove_outdated,
    working_in,
    write_manifest,
)
from llrkit.errors import InputError, LeftOutWarning
from llrkit.io.reading_options import PLAIN, PathArg, Reading
from llrkit.io.separate_paths import require_separate
from llrkit.io.tables_of_paths import files_of

SAID = 5
"""Notes about parts that are shown."""
Run = Callable[[Callable[[Part], Part], Sequence[Part]], Iterable[Part]]


def apply_parts(
    fitted: Map,
    path: PathArg,
    folder: PathArg,
    reading: Reading = PLAIN,
    options: ApplyOptions = DEFAULTS,
    *,
    run: Run | None = None,
    judge: Judge | None = None,
) -> Applied:
    """Write the LLRs of every file of a directory or a pattern as a Parquet file of a folder.

    Each part appears when it is complete, and ``_manifest.json`` when all are. What was interrupted is taken
    up again by the same call: parts are kept if hashes say that their input, the calibration, every option
    and the part itself are what they were. Parts whose inputs are gone are removed. The folder is locked
    meanwhile.

    Parameters
    ----------
    run
        Does the parts and gives them back in any order; a cluster has its own way. By default one by one.
    judge
        Looks at the scores of every file by itself.
    """
    require_separate([path, *reading.files], [folder])
    files, target = files_of(path), Path(folder)
    settings = {
        "llrkit": __version__,
        "calibration_sha256": _map_sha256(fitted),
        "reading": reading.to_dict(),
        "options": asdict(options),
    }
    recipe = recipe_of(settings, [str(file) for one in reading.files for file in files_of(one)])
    parts = [Part.of(file, recipe) for file in files]
    _refuse_same_names(parts)
    with working_in(target):
        removed = remove_outdated(target, parts)
        kept = finished_parts(target, parts)
        names = {part.name for part in kept}
        todo = [part for part in parts if part.name not in names]
        begin_parts(target, [*kept, *todo])
        work = partial(
            _apply_to_one_part, fitted=fitted, folder=target, reading=reading, options=options, judge=judge
        )
        written = list(kept)
        with stage("files", len(todo), "files") as tick:
            for part in (run or _parts_one_by_one)(work, todo):
                written.append(part)
                tick(1)
        write_manifest(target, written, settings)
    notes = _said_of_parts(written)
    if kept and todo:
        were = agreeing(len(kept), "was", "were")
        notes.append(f"{len(kept):,} of {counted(len(parts), 'file')} {were} finished already")
    if removed:
        notes.append(f"{counted(len(removed), 'file')} removed whose input is gone: {', '.join(removed[:5])}")
    return Applied(
        sum(part.rows for part in written),
        tuple(notes),
        rows_before=sum(part.rows for part in kept),
        files_before=0 if todo else len(kept),
    )


def _apply_to_one_part(
    part: Part,
    *,
    fitted: Map,
    folder: Path,
    reading: Reading,
    options: ApplyOptions,
    judge: Judge | None,
) -> Part:
    with watching([part.source, *(file for one in reading.files for file in files_of(one))]):
        source = file_sha256(part.source)
        with kept_warnings(LeftOutWarning) as left_out:  # a worker's are shown to nobody
            applied = apply_map(fitted, [part.source], folder / part.name, reading, options, judge=judge)
    made = file_sha256(folder / part.name)
    notes = (*(text.removeprefix(f"{part.source}: ") for text in left_out), *applied.notes)
    finished = replace(part, source_sha256=source, sha256=made, rows=applied.rows, notes=notes)
    note(finished, folder)
    return finished


def _said_of_parts(parts: Sequence[Part]) -> list[str]:
    """What is to be said about parts: once where it is the same for several, and not for very many."""
    names: dict[str, list[str]] = {}
    for part in sorted(parts, key=lambda part: part.name):
        for text in part.notes:
            names.setdefault(text, []).append(part.name)
    said = [
        f"{of[0]}: {text}" if len(of) == 1 else f"{text} ({len(of):,} files)" for text, of in names.items()
    ]
    if len(said) <= SAID:
        return said
    return [*said[:SAID], f"... and {counted(len(said) - SAID, 'more note')} like these"]


def _parts_one_by_one(work: Callable[[Part], Part], parts: Sequence[Part]) -> Iterator[Part]:
    return map(work, parts)


def _map_sha256(fitted: Map) -> str:
    return hashlib.sha256(json.dumps(map_to_dict(fitted), sort_keys=True).encode()).hexdigest()


def _refuse_same_names(parts: Sequence[Part]) -> None:
    seen: dict[str, str] = {}
    for part in parts:
        if part.name in seen:
            raise InputError(f"{seen[part.name]} and {part.source} would both become {part.name}")
        seen[part.name] = part.source
