"""Files written whole or not at all; inputs that are neither overwritten nor changed meanwhile.

What is being written is in a hidden folder beside its place, ``.NAME.HOST-PROCESS.*.llrkit``. One whose
process is gone was left by a kill; the next process that writes into the same folder removes it.

A result may take several passes over its files, and a report states their hashes. Both are worth nothing if a
file is replaced in between. So what the file system says of a file (:func:`state_of`) is noted before the
first byte is read, and compared at the end of each pass and before anything made of the file is written.
"""

from __future__ import annotations

import errno
import hashlib
import os
import platform
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path

from llrkit.errors import FileChangedError, FileFormatError, InputError, LlrkitError

try:
    import fcntl
except ImportError:  # no locks on this system
    fcntl = None  # type: ignore[assignment]

FilePath = str | PathLike[str]
State = tuple[int, int, int, int, int]
NAME_SHOWN = 48
"""Characters of a name in that of its hidden folder; names of files may not grow beyond 255 bytes."""


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A temporary file that takes the place of ``path`` when the block ends without an error.

    The bytes are on the disk before the name is. A file that was there keeps its permissions, and a link
    stays a link: what it points to is replaced. What is no file, such as a pipe or a terminal, is written to
    when the block has ended. Files that are being read are never replaced.

    Examples
    --------
    >>> folder = Path(tempfile.mkdtemp())
    >>> with replacing(folder / "a.txt") as temporary:
    ...     _ = temporary.write_text("all of it")
    >>> [file.name for file in folder.iterdir()]
    ['a.txt']
    """
    given = Path(path)
    # a device or a pipe is written to, not replaced
    stream = _open_descriptor(given) is not None or (
        os.path.exists(given) and not (os.path.isfile(given) or os.path.isdir(given))
    )
    target = given if stream else _followed_link(given)
    if not stream:
        if not target.parent.is_dir():
            raise FileNotFoundError(f"{given}: the folder {target.parent} does not exist")
        if target.is_dir():
            raise IsADirectoryError(f"{given}: is a folder, not a file to write")
        # renaming asks for the rights of the folder only
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(f"{given}: is write-protected")
        _require_inputs_kept(target)
    try:
        with _hidden_folder(Path(tempfile.gettempdir()) if stream else target.parent, target.name) as folder:
            temporary = folder / target.name
            temporary.touch()  # an empty output is a file, too
            yield temporary
            _require_inputs_kept(target)  # again: the work may have taken long
            if stream:
                number = _open_descriptor(given)
                # a file that is open already is written on where it is, after what was written to it before
                handle = os.open(given, os.O_WRONLY | os.O_APPEND) if number is None else os.dup(number)
                with os.fdopen(handle, "wb") as out, temporary.open("rb") as content:
                    shutil.copyfileobj(content, out)
                return
            # Content and rights first, then the name, then the folder: whenever the power fails, the name
            # stands for the old file or for a complete new one.
            _keep_mode(target, temporary)
            _flush_to_disk(temporary)
            temporary.replace(target)
            _flush_to_disk(target.parent)
    except OSError as error:  # what goes wrong with the disk is said of the file, not of the hidden folder
        if str(given) in str(error) and ".llrkit" not in str(error):
            raise
        words = f"{given}: cannot be written ({error.strerror or error})"
        # with its number, from which OSError makes FileNotFoundError and the like
        raise (OSError(words) if error.errno is None else OSError(error.errno, words)) from None


@contextmanager
def replacing_folder(path: str | Path) -> Iterator[Path]:
    """A temporary folder that becomes ``path``, which is new or empty, when the block ends without an error.

    Examples
    --------
    >>> place = Path(tempfile.mkdtemp())
    >>> with replacing_folder(place / "parts") as folder:
    ...     write_atomically(folder / "a.txt", "all of it")
    >>> [file.name for file in place.iterdir()], [file.name for file in (place / "parts").iterdir()]
    (['parts'], ['a.txt'])
    """
    target = _followed_link(Path(path).absolute())
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: the folder {target.parent} does not exist")
    with _hidden_folder(target.parent, target.name) as place:
        folder = place / target.name
        folder.mkdir()
        yield folder
        _require_inputs_kept(target)
        _flush_to_disk(folder)
        if target.exists():
            target.rmdir()  # fails unless it is empty, so that nothing is lost
        folder.rename(target)
        _flush_to_disk(target.parent)


def write_atomically(path: str | Path, text: str) -> None:
    """Write a text file all at once."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def locked_folder(folder: Path) -> Iterator[bool]:
    """Whether nobody else has this folder locked; then it is, until the block ends or the process does.

    Where there are no locks, on some systems and shared file systems, nobody has.
    """
    handle, free = None, True
    try:
        if fcntl is not None:
            # a folder, since HDF5 locks the file it writes (docs/notes/decisions-speed.md)
            handle = os.open(os.path.realpath(folder), os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        free = False
    except OSError:  # no locks on this file system
        pass
    try:
        yield free
    finally:
        if handle is not None:
            os.close(handle)  # which ends the lock, as the end of the process does


def file_sha256(file: FilePath) -> str:
    """The hash of a file, which must not change meanwhile.

    Examples
    --------
    >>> file = Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = file.write_text("abc")
    >>> file_sha256(file)[:16]
    'ba7816bf8f01cfea'
    """
    with unchanged(file), Path(file).open("rb") as raw:
        return hashlib.file_digest(raw, "sha256").hexdigest()


def state_of(file: FilePath) -> State | None:
    """Which file it is, its size, and when its content and state last changed; None of what is no file."""
    try:
        there = os.stat(file)
    except (OSError, ValueError):  # whoever opens it says what is wrong
        return None
    if not stat.S_ISREG(there.st_mode):
        return None
    # ctime shows changes that keep size and mtime
    return there.st_dev, there.st_ino, there.st_size, there.st_mtime_ns, there.st_ctime_ns


def require_unchanged(file: FilePath, state: State | None) -> None:
    """Raise an error that names a file if it is no longer what it was.

    Examples
    --------
    >>> file = Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = file.write_text("1 target")
    >>> before = state_of(file)
    >>> _ = file.write_text("2 target, and more")
    >>> require_unchanged(file, before)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    llrkit.errors.FileChangedError: a.csv: was changed or replaced while it was being read
    """
    if state_of(file) != state:
        raise changed_meanwhile(os.fspath(file))


def changed_meanwhile(file: str) -> FileChangedError:
    """The error for a file that is no longer what it was."""
    return FileChangedError(
        f"{file}: was changed or replaced while it was being read; run again when nothing writes to it"
    )


@contextmanager
def unchanged(file: FilePath, since: State | None = None) -> Iterator[State | None]:
    """What is read of a file in this block is of one state of the file, or an error names it."""
    state = since or state_of(file)
    require_unchanged(file, state)
    try:
        yield state
    except Exception:
        require_unchanged(file, state)  # which may be why
        raise
    require_unchanged(file, state)


_inputs: dict[str, State] | None = None
"""The files that the running command reads, as they were first seen; a process runs one command at a time."""
_appeared: Callable[[], Iterable[str]] = tuple
"""The files that have come to the folders it reads since then."""


@contextmanager
def watching(list_files: Callable[[], Iterable[FilePath]] = tuple) -> Iterator[None]:
    """While the block runs, its files must stay as they are; nothing is written if one does not.

    Examples
    --------
    >>> file = Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = file.write_text("1 target")
    >>> with watching(lambda: [file]):
    ...     write_atomically(file, "gone")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    llrkit.errors.InputError: a.csv: is read by this command, so it is not overwritten; choose another name
    """
    global _inputs, _appeared
    before = _inputs, _appeared
    listed = {os.path.abspath(file) for file in list_files()}  # absolute: the working folder may change
    _inputs, _appeared = {}, lambda: sorted({os.path.abspath(file) for file in list_files()} - listed)
    for file in listed:
        note_input(file)
    try:
        yield
        _require_inputs_kept()
    except (Exception, SystemExit):  # commands end by SystemExit
        _require_inputs_kept()  # a change may be why
        raise
    finally:
        _inputs, _appeared = before


def note_input(file: FilePath) -> None:
    """Say that a file is about to be read, which a command may not write over and nobody may change."""
    name = os.path.abspath(file)
    if _inputs is not None and name not in _inputs and (state := state_of(name)) is not None:
        _inputs[name] = state


def existing_file(path: FilePath) -> Path:
    """A file that is about to be read, which must be there."""
    file = Path(path)
    if not file.is_file():
        raise FileFormatError(f"{file}: no such file")
    note_input(file)
    return file


@contextmanager
def naming_file(file: FilePath, kind: str, *errors: type[BaseException]) -> Iterator[None]:
    """Whatever a library finds wrong with a file becomes one line that names the file; our own errors stay.

    Examples
    --------
    >>> with naming_file("a.npz", "NPZ", ValueError):
    ...     raise ValueError("bad header")
    Traceback (most recent call last):
    llrkit.errors.FileFormatError: a.npz: cannot be read as NPZ (bad header)
    """
    try:
        yield
    except LlrkitError:
        raise
    except errors as error:
        words = str(error).strip().split("\n", 1)[0]
        raise FileFormatError(f"{file}: cannot be read as {kind} ({words})") from None


def _require_inputs_kept(output: Path | None = None) -> None:
    """What must hold before a written file takes its place: it is no input, and no input has changed."""
    if _inputs is None:
        return
    there = None if output is None else state_of(output)
    # device and inode: a link is the same file under another name
    if there is not None and any(there[:2] == state[:2] for state in _inputs.values()):
        raise InputError(f"{output}: is read by this command, so it is not overwritten; choose another name")
    for name, state in list(_inputs.items()):
        require_unchanged(name, state)
    for name in _appeared():
        raise FileChangedError(
            f"{name}: appeared while its folder was being read; run again when nothing writes there"
        )


_TIDIED: set[Path] = set()
"""Folders in which this process has looked for what killed ones left."""


@contextmanager
def _hidden_folder(place: Path, name: str) -> Iterator[Path]:
    """A hidden folder that is this block's alone; those that killed processes left are removed."""
    # a number of a process says nothing on another machine with the same disk
    host = f"{platform.node()[:32]}-"
    if place.absolute() not in _TIDIED:  # once: a folder of many outputs would be searched for each
        _TIDIED.add(place.absolute())
        for left in place.glob(".*.llrkit"):
            process = re.search(rf"\.{re.escape(host)}(\d+)\.[^.]*\.llrkit$", left.name)
            if process and not _is_running(int(process[1])):
                with locked_folder(left) as free:  # a process of another container has a lock
                    if free:
                        shutil.rmtree(left, ignore_errors=True)
    prefix = f".{name[:NAME_SHOWN]}.{host}{os.getpid()}."
    folder = Path(tempfile.mkdtemp(prefix=prefix, suffix=".llrkit", dir=place))
    try:
        with locked_folder(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_running(process: int) -> bool:
    if os.name != "posix":  # where asking would end it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # it is another user's, or no number of a process
        pass
    return True


def _open_descriptor(path: Path) -> int | None:
    """The number of a file that is open already, if the name stands for one."""
    names = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
    numbered = re.fullmatch(r"/(?:dev|proc/self)/fd/(\d+)", str(path))
    return int(numbered[1]) if numbered else names.get(str(path))


def _followed_link(path: Path) -> Path:
    """What a link points to, also if nothing is there yet; anything else as it is."""
    if not path.is_symlink():
        return path
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, f"{path}: is a link that leads to itself")
    return target


def _keep_mode(target: Path, temporary: Path) -> None:
    """The permissions of the file that is replaced, and its owner where that is allowed."""
    with suppress(FileNotFoundError):
        there = target.stat()
        with suppress(PermissionError):  # owner first: a change of owner may clear bits of the mode
            os.chown(temporary, there.st_uid, there.st_gid)
        temporary.chmod(stat.S_IMODE(there.st_mode))


def _flush_to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, would survive a loss of power."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:  # folders cannot be opened on every system
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):  # file systems that cannot
            raise
    finally:
        os.close(handle)
