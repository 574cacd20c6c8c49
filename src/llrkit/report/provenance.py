"""Where the numbers of a report come from."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy
import scipy

from llrkit._version import __version__


@dataclass(frozen=True)
class SourceFile:
    """A file that was read."""

    path: str
    size: int
    sha256: str


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


def provenance(
    paths: Sequence[str | Path] = (), *, command: str = "", now: datetime | None = None
) -> Provenance:
    """The provenance of a report made from files; their hashes are taken now.

    A directory or pattern is as good as the files in it.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = file.write_text("abc")
    >>> provenance([file]).files[0].sha256[:8], provenance([file]).files[0].size
    ('ba7816bf', 3)
    """
    moment = datetime.now().astimezone() if now is None else now
    files = tuple(_facts(file) for path in paths for file in _files(Path(path)))
    return Provenance(f"{moment:%Y-%m-%d %H:%M:%S %z}".strip(), command, files)


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if path.is_dir():
        return sorted(file for file in path.iterdir() if file.is_file() and file.name[0] not in "._")
    return sorted(file for file in path.parent.glob(path.name) if file.is_file())


def _facts(path: Path) -> SourceFile:
    with path.open("rb") as file:
        return SourceFile(str(path), path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())
