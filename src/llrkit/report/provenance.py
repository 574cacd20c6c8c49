"""Where the numbers of a report come from."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy
import scipy

from llrkit._inputs import file_sha256
from llrkit._version import __version__
from llrkit.io.separate_paths import local_files


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
    moment = datetime.now().astimezone() if now is None else now
    named = dict.fromkeys(file for path in paths for file in _files_of_name(str(path)))
    files = tuple(_facts_of_file(file, file if full_paths else Path(file).name or file) for file in named)
    return Provenance(f"{moment:%Y-%m-%d %H:%M:%S %z}".strip(), command, files)


def _files_of_name(path: str) -> list[str]:
    """The files that a name stands for; itself if there are none on this machine."""
    return [str(file) for file in local_files(path)] or [path]


def _facts_of_file(path: str, shown: str) -> SourceFile:
    place = Path(path)
    if not place.is_file():
        return SourceFile(shown, 0, "")
    return SourceFile(shown, place.stat().st_size, file_sha256(place))
