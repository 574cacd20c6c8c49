"""What is read is never written over: outputs that are inputs too are refused before anything is read."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from glob import has_magic
from pathlib import Path

from llrkit._inputs import Stamp, Watched
from llrkit.errors import FileChangedError, FileFormatError, InputError, LlrkitWarning
from llrkit.io.reading_options import PathArg
from llrkit.io.tables_of_paths import files_of, is_taken

STANDARD = "-"
"""Standard input or output, which is no file."""


def require_separate(inputs: Iterable[PathArg], outputs: Sequence[PathArg]) -> None:
    """Refuse an output that is read as well, that lies in a folder that is read, or that is written twice.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.csv").write_text("score,label")
    >>> require_separate([folder], [folder / "llrs.csv"])  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    llrkit.errors.InputError: llrs.csv: would be read with the other files of the folder the next time
    """
    written: dict[str, PathArg] = {}
    read = [_InputPath.of(os.fspath(path)) for path in inputs if path != STANDARD]
    for output in outputs:
        if output == STANDARD:
            continue
        place = os.path.realpath(output)
        if place in written:
            raise InputError(f"{output}: would be written twice ({written[place]}); name two places")
        written[place] = output
        for one in read:
            one.refuse(os.fspath(output), place)


@dataclass(frozen=True)
class _InputPath:
    """A path that is read, the files that it stands for, and the folders these are in."""

    path: str
    source: str
    files: frozenset[tuple[int, int]]
    folders: frozenset[str]

    @classmethod
    def of(cls, path: str) -> _InputPath:
        files = local_files(path)
        stamps = (Stamp.of(file) for file in files)
        numbers = frozenset((stamp.device, stamp.inode) for stamp in stamps if stamp is not None)
        folders = frozenset(os.path.realpath(folder) for folder in {file.parent for file in files})
        return cls(path, os.path.realpath(path), numbers, folders)

    def refuse(self, output: str, place: str) -> None:
        there, path = Stamp.of(output), self.path
        if place == self.source or (there is not None and (there.device, there.inode) in self.files):
            raise InputError(
                f"{output}: is read by this command, so it is not overwritten; choose another name"
            )
        if place in self.folders:
            raise InputError(f"{output}: holds {path}, which is read; write into another folder")
        parent, name = os.path.split(place)
        if (os.path.isdir(path) and parent == self.source and is_taken(name)) or _matches_pattern(
            place, path
        ):
            raise InputError(
                f"{output}: would be read with the other files of {path} the next time; write it elsewhere"
            )


def _matches_pattern(place: str, pattern: str) -> bool:
    """Whether a file of this name would be taken for a pattern (one without ``**``)."""
    if not has_magic(pattern) or "**" in pattern or os.path.exists(pattern):
        return False
    folder, name = os.path.split(os.path.abspath(pattern))
    parts, wanted = Path(place).parent.parts, Path(os.path.realpath(folder)).parts
    return (
        len(parts) == len(wanted)
        and all(map(fnmatchcase, parts, wanted))
        and fnmatchcase(Path(place).name, name)
        and is_taken(Path(place).name, name)
    )


def local_files(path: PathArg) -> list[Path]:
    """The files that a name stands for on this machine; whoever reads it says so if there are none."""
    if path == STANDARD:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LlrkitWarning)  # whoever reads them says it
        try:
            return files_of(path)
        except (FileFormatError, OSError, ValueError):
            return []


def watch_paths(watched: Watched, paths: Iterable[PathArg]) -> None:
    """Watch files, and that no file comes to folders and patterns, or goes, while they are read."""
    for path in paths:
        files = local_files(path)
        for file in files:
            watched.add(file)
        if files != [Path(path)]:
            watched.checks.append(partial(_require_same_files, path, files))


def _require_same_files(path: PathArg, files: list[Path]) -> None:
    now = local_files(path)
    for file in sorted({*files} ^ {*now}):
        what = "appeared" if file in now else "disappeared"
        raise FileChangedError(
            f"{file}: {what} while {path} was being read; run again when nothing writes there"
        )
