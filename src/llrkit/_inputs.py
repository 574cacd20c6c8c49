"""The files that are read: what they were when they were opened, so that a change is noticed.

A summary of trials may take several passes over its files, and a report states their hashes. Both are worth
nothing if a file is replaced in between. A :class:`Stamp` is what the file system says of a file; it is taken
before the first byte is read, and compared at the end of each pass, before anything made of the file is
written, and around hashing.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from llrkit.errors import FileChangedError, FileFormatError, InputError

FilePath = str | PathLike[str]


@dataclass(frozen=True)
class Stamp:
    """Which file it is, its size, and when its content and its state last changed.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = file.write_text("1 target")
    >>> stamp = Stamp.of(file)
    >>> stamp.require_unchanged(file)
    >>> _ = file.write_text("2 target, and more")
    >>> stamp.require_unchanged(file)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    llrkit.errors.FileChangedError: a.csv: was changed or replaced while it was being read
    """

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, file: FilePath) -> Stamp | None:
        """The stamp of a regular file; None of anything else, of which the file system can tell nothing."""
        try:
            found = os.stat(file)
        except (OSError, ValueError):  # whoever opens it says what is wrong
            return None
        if not stat.S_ISREG(found.st_mode):
            return None
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    def require_unchanged(self, file: FilePath) -> None:
        """Raise an error that names the file if it is no longer what it was."""
        if Stamp.of(file) != self:
            raise changed_meanwhile(os.fspath(file))

    @contextmanager
    def holding(self, file: FilePath) -> Iterator[None]:
        """The file is what it was at both ends of the block; whatever else goes wrong then is not its own."""
        self.require_unchanged(file)
        try:
            yield
        except Exception:
            self.require_unchanged(file)
            raise
        self.require_unchanged(file)


def changed_meanwhile(file: str) -> FileChangedError:
    """The error for a file that is no longer what it was."""
    return FileChangedError(
        f"{file}: was changed or replaced while it was being read; run again when nothing writes to it"
    )


@contextmanager
def unchanged(file: FilePath) -> Iterator[Stamp | None]:
    """What is read of a file in this block is of one state of the file, or an error names it."""
    note_input(file)
    stamp = Stamp.of(file)
    if stamp is None:
        yield None
        return
    with stamp.holding(file):
        yield stamp


def file_sha256(file: FilePath) -> str:
    """The hash of a file, of the very bytes that were read before if it was read in this command.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = file.write_text("abc")
    >>> file_sha256(file)[:16]
    'ba7816bf8f01cfea'
    """
    watched = _WATCHED.get()
    read_before = None if watched is None else watched.stamps.get(os.path.abspath(file))
    stamp = read_before or Stamp.of(file)
    with nullcontext() if stamp is None else stamp.holding(file), Path(file).open("rb") as raw:
        return hashlib.file_digest(raw, "sha256").hexdigest()


@dataclass
class Watched:
    """The files that a command reads: none of them may change meanwhile, or be written over."""

    stamps: dict[str, Stamp] = field(default_factory=dict)
    checks: list[Callable[[], None]] = field(default_factory=list)
    """What else must hold as long as the files are read; each raises an error."""
    _places: dict[tuple[int, int], str] = field(default_factory=dict)

    def add(self, file: FilePath) -> None:
        """Watch one more file from now on; one that is watched already stays as it was first seen."""
        name = os.path.abspath(file)
        if name not in self.stamps and (stamp := Stamp.of(name)) is not None:
            self.stamps[name] = stamp
            self._places[stamp.device, stamp.inode] = name

    def require_unchanged(self) -> None:
        """Raise an error that names the first file that is no longer what it was."""
        for name, stamp in self.stamps.items():
            stamp.require_unchanged(name)
        for check in self.checks:
            check()

    def refuse_to_replace(self, output: Path) -> None:
        """Raise an error if a file that is to be written is one of those that are read."""
        there = Stamp.of(output)
        name = None if there is None else self._places.get((there.device, there.inode))
        if name is not None:
            raise InputError(
                f"{output}: is read by this command, so it is not overwritten; choose another name"
            )


_WATCHED: ContextVar[Watched | None] = ContextVar("llrkit inputs", default=None)


@contextmanager
def watching(files: Iterable[FilePath] = ()) -> Iterator[Watched]:
    """While the block runs, its files must stay as they are; nothing is written if one does not.

    Examples
    --------
    >>> import tempfile
    >>> from llrkit._atomic import write_atomically
    >>> file = Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = file.write_text("1 target")
    >>> with watching([file]):
    ...     write_atomically(file, "gone")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    llrkit.errors.InputError: a.csv: is read by this command, so it is not overwritten; choose another name
    """
    watched = Watched()
    for file in files:
        watched.add(file)
    before = _WATCHED.set(watched)
    try:
        yield watched
    except (Exception, SystemExit):
        watched.require_unchanged()  # which may be why
        raise
    finally:
        _WATCHED.reset(before)
    watched.require_unchanged()


def note_input(file: FilePath) -> None:
    """Say that a file is about to be read; whoever watches the files of a command sees to the rest."""
    watched = _WATCHED.get()
    if watched is not None:
        watched.add(file)


def existing_file(path: FilePath) -> Path:
    """A file that is about to be read, which must be there."""
    file = Path(path)
    if not file.is_file():
        raise FileFormatError(f"{file}: no such file")
    note_input(file)
    return file


def before_replacing(output: Path) -> None:
    """What must hold before a written file takes its place: it is no input, and no input has changed."""
    watched = _WATCHED.get()
    if watched is not None:
        watched.refuse_to_replace(output)
        watched.require_unchanged()
