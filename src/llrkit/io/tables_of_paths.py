"""A file, a directory or a glob as one table with roles, at once or batch by batch."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Unpack

from llrkit._forks import refuse_after_fork
from llrkit._warn import warn_caller
from llrkit.errors import FileFormatError, SkippedFilesWarning
from llrkit.io.common_types import in_one_schema, together
from llrkit.io.formats import TableOptions, read_file, scan_file
from llrkit.io.reading_options import PathArg
from llrkit.io.trial_table import Scan, TrialTable


def read_table(path: PathArg, **options: Unpack[TableOptions]) -> TrialTable:
    """Read a file, a directory or a glob: the table and which of its columns are what."""
    tables = [read_file(file, **options) for file in files_of(path)]
    return tables[0] if len(tables) == 1 else together(tables, str(path))


def scan_tables(paths: PathArg | Sequence[PathArg], **options: Unpack[TableOptions]) -> list[Scan]:
    """The files of one or several names, directories or globs, to be read in batches one after another."""
    given = [paths] if isinstance(paths, (str, PathLike)) else list(paths)
    opened = [scan_file(file, **options) for path in given for file in files_of(path)]
    return in_one_schema([one if isinstance(one, Scan) else Scan.of(one) for one in opened])


def files_of(path: PathArg) -> list[Path]:
    """The files that a name stands for: itself, those of a directory or of a glob, by name.

    Names that begin with a dot or an underscore are left out, unless the pattern begins like that.
    """
    refuse_after_fork("files of trials")
    file = Path(path)
    if file.is_dir():
        visible = sorted(one for one in file.iterdir() if is_taken(one.name))
        inside = [one for one in visible if one.is_file()]
        _say_what_is_left_out(file, visible)
        if not inside:
            raise FileFormatError(f"{file}: a directory without files")
        return inside
    if file.exists():
        if not file.is_file():
            what = "a pipe, which can be read once only" if file.is_fifo() else "a device, not a file"
            raise FileFormatError(f"{file}: {what}; copy it to a file")
        return [file]
    if file.is_symlink():
        raise FileFormatError(f"{file}: a link to {file.readlink()}, which is not there")
    names = glob.glob(str(path), recursive=True) if glob.has_magic(str(path)) else []
    matches = sorted(one for one in map(Path, names) if is_taken(one.name, file.name))
    _say_what_is_left_out(file, [] if "**" in str(path) else matches)
    matches = [one for one in matches if one.is_file()]
    if not matches:
        raise FileFormatError(f"{file}: no such file")
    return matches


def _say_what_is_left_out(where: Path, named: Iterable[Path]) -> None:
    """Warn of what looks like input but is not read: subfolders, and links that lead nowhere."""
    links = [one.name for one in named if one.is_symlink() and not one.exists()]
    folders = [one.name for one in named if one.is_dir()]
    for names, what in ((links, "links to nothing"), (folders, "subfolders")):
        if names:
            shown = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
            warn_caller(f"{where}: {what} are not read: {shown}", SkippedFilesWarning)


def is_taken(name: str, pattern: str = "*") -> bool:
    """Whether a file of a directory, or one that matches a pattern, is meant to be read.

    Examples
    --------
    >>> is_taken("part-0.parquet"), is_taken("_manifest.json"), is_taken("_odd.csv", "_*.csv")
    (True, False, True)
    """
    return name[0] not in "._" or pattern[:1] == name[0]
