"""Files and folders that are written whole or not at all.

What is being written is in a hidden folder beside its place, ``.NAME.0.llrkit``, which is locked as long as
its process lives. One that is not locked was left by a process that was killed; whoever writes to the same
place next removes it.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from llrkit._inputs import before_replacing

try:
    import fcntl
except ImportError:  # no locks on this system: nothing is ever taken for abandoned
    fcntl = None  # type: ignore[assignment]

NAME_SHOWN = 48
"""Characters of a name in that of its hidden folder; names of files may not grow beyond 255 bytes."""
_OPEN: dict[Path, int] = {}
"""Hidden folders in use and the process they belong to, for a program that has to end at once."""
_CLAIMING: set[int] = set()
"""Threads that make a folder and have not noted it yet."""
_LEAVING: list[Callable[[], None]] = []
"""What a signal asked for meanwhile."""


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
    stream = _is_stream(given)
    target = given if stream else _followed_link(given)
    if not stream:
        _refuse_place_to_write(given, target)
        before_replacing(target)
    place = Path(tempfile.gettempdir()) if stream else target.parent
    with _disk_fault_said_of(given), _hidden_workplace(place, target.name) as folder:
        temporary = folder / target.name
        temporary.touch()
        yield temporary
        before_replacing(target)
        if stream:
            _copy_file_into(given, temporary)
            return
        _keep_mode(target, temporary)
        _flushed_to_disk(temporary)
        temporary.replace(target)
        _flushed_to_disk(target.parent)


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
    with _hidden_workplace(target.parent, target.name) as place:
        folder = place / target.name
        folder.mkdir()
        yield folder
        before_replacing(target)
        _flushed_to_disk(folder)
        if target.exists():
            target.rmdir()
        folder.rename(target)
        _flushed_to_disk(target.parent)


def write_atomically(path: str | Path, text: str) -> None:
    """Write a text file all at once."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def locked_folder(folder: Path) -> Iterator[bool]:
    """Whether nobody else has this folder locked; then it is, until the block ends or the process does.

    Where there are no locks, on some shared file systems, nobody has.
    """
    handle = _open_folder(Path(os.path.realpath(folder)))
    try:
        yield handle is None or _lock_folder(handle) is not False
    finally:
        if handle is not None:
            os.close(handle)


def remove_unfinished() -> None:
    """Remove what this process is writing: it is about to end without leaving its blocks."""
    for folder, process in list(_OPEN.items()):
        if process == os.getpid():
            shutil.rmtree(folder, ignore_errors=True)


def leave_when_possible(leave: Callable[[], None]) -> None:
    """For the handler of a signal: leave now, or when a folder that is being claimed is known as ours."""
    if threading.get_ident() in _CLAIMING:
        _LEAVING.append(leave)
    else:
        leave()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Between making a folder and noting it, a signal would leave it behind: it is heard afterwards."""
    _CLAIMING.add(threading.get_ident())
    try:
        yield
    finally:
        _CLAIMING.discard(threading.get_ident())
        if _LEAVING and threading.current_thread() is threading.main_thread():
            _LEAVING.pop()()


@contextmanager
def _hidden_workplace(place: Path, name: str) -> Iterator[Path]:
    """A hidden folder that is this block's alone; those that killed processes left are removed."""
    with _undisturbed():
        handle, folder = _claimed_folder(place, name)
        _OPEN[folder] = os.getpid()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _OPEN.pop(folder, None)
        if handle is not None:
            os.close(handle)


def _claimed_folder(place: Path, name: str) -> tuple[int | None, Path]:
    shown = name[:NAME_SHOWN]
    for slot in count():
        folder = place / f".{shown}.{slot}.llrkit"
        while True:
            try:
                folder.mkdir(mode=0o700)
            except FileExistsError:
                if not _removed_if_abandoned(folder):
                    break
                continue
            handle = _open_folder(folder)
            locked = None if handle is None else _lock_folder(handle)
            if handle is None or locked is None:
                return handle, folder
            if locked and _is_same_folder(handle, folder):
                for later in count(slot + 1):
                    if not _removed_if_abandoned(place / f".{shown}.{later}.llrkit"):
                        break
                return handle, folder
            os.close(handle)  # somebody took it for abandoned before it was locked
    raise AssertionError("there is always one more number")


def _removed_if_abandoned(folder: Path) -> bool:
    """Remove the hidden folder of a process that is no more; whether there was one."""
    handle = _open_folder(folder)
    if handle is None:
        return False
    try:
        own = os.fstat(handle).st_uid == os.geteuid()
        if not (own and _lock_folder(handle) and _is_same_folder(handle, folder)):
            return False
        shutil.rmtree(folder, ignore_errors=True)
        return not folder.exists()
    finally:
        os.close(handle)


def _open_folder(folder: Path) -> int | None:
    if fcntl is None:
        return None
    try:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None


def _lock_folder(handle: int) -> bool | None:
    """Whether an open folder is ours now; None where there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is_same_folder(handle: int, folder: Path) -> bool:
    """Whether an open folder still has its name."""
    with suppress(OSError):
        return os.path.samestat(os.fstat(handle), folder.lstat())
    return False


def _is_stream(path: Path) -> bool:
    """Whether a name stands for something that is written to, not replaced: a device, a pipe."""
    if _open_descriptor(path) is not None:
        return True
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _followed_link(path: Path) -> Path:
    """What a link points to, also if nothing is there yet; anything else as it is."""
    if not path.is_symlink():
        return path
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, f"{path}: is a link that leads to itself")
    return target


def _refuse_place_to_write(given: Path, target: Path) -> None:
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{given}: the folder {target.parent} does not exist")
    if target.is_dir():
        raise IsADirectoryError(f"{given}: is a folder, not a file to write")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(f"{given}: is write-protected")


@contextmanager
def _disk_fault_said_of(target: Path) -> Iterator[None]:
    """What goes wrong with the disk is said of the file that was to be written."""
    try:
        yield
    except OSError as error:
        if str(target) in str(error) and ".llrkit" not in str(error):
            raise
        words = f"{target}: cannot be written ({error.strerror or error})"
        raise (OSError(words) if error.errno is None else OSError(error.errno, words)) from None


def _keep_mode(target: Path, temporary: Path) -> None:
    """The permissions of the file that is replaced, and its owner where that is allowed."""
    try:
        there = target.stat()
    except FileNotFoundError:
        return
    made = temporary.stat()
    if (there.st_uid, there.st_gid) != (made.st_uid, made.st_gid):
        with suppress(PermissionError):
            os.chown(temporary, there.st_uid, there.st_gid)
    temporary.chmod(stat.S_IMODE(there.st_mode))


def _flushed_to_disk(path: Path) -> None:
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


def _open_descriptor(path: Path) -> int | None:
    """The number of a file that is open already, if the name stands for one."""
    name = {"/dev/stdin": "0", "/dev/stdout": "1", "/dev/stderr": "2"}.get(str(path), "")
    for folder in ("/dev/fd/", "/proc/self/fd/"):
        name = name or (str(path).removeprefix(folder) if str(path).startswith(folder) else "")
    return int(name) if name.isdecimal() else None


def _copy_file_into(stream: Path, temporary: Path) -> None:
    number = _open_descriptor(stream)
    # a file that is open already is written on where it is, after what was written to it before
    handle = os.open(stream, os.O_WRONLY | os.O_APPEND) if number is None else os.dup(number)
    with os.fdopen(handle, "wb") as out, temporary.open("rb") as content:
        shutil.copyfileobj(content, out)
