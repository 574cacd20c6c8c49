"""Kaldi archives (ark) and their indices (scp), through kaldiio; nothing in them is run or unpickled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

import numpy as np

from llrkit._arrays import Array
from llrkit._atomic import replacing
from llrkit._inputs import existing_file, note_input
from llrkit.errors import FileFormatError, InputError, MissingPackageError

_LONGEST_TEXT = 1 << 26
_MOST_DIGITS = 18  # of an offset: no file is larger
_PROGRAMS = (b"PKL", b"NPY", b"AUD", b"RIF", b"fLa")  # kaldiio would unpickle the first


def _kaldiio() -> ModuleType:
    try:
        import_module("kaldiio.matio")
        return import_module("kaldiio")
    except ImportError:
        raise MissingPackageError.of_extra("Kaldi files need kaldiio", "audio") from None


def read_kaldi(path: str | PathLike[str]) -> Iterator[tuple[str, Array]]:
    """Ids and arrays of an ark or scp file (by its ending), binary or text, in their order.

    An scp whose lines are commands (``cat x.ark |``) is refused, and so are pickled entries: both would run
    what somebody else wrote.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "x.ark"
    >>> _ = file.write_text("utt1  [ 1 2.5 ]\\n")
    >>> [(name, vector.tolist()) for name, vector in read_kaldi(file)]
    [('utt1', [1.0, 2.5])]
    """
    file = existing_file(path)
    return _read_scp(file) if file.suffix.lower() == ".scp" else _read_ark(file)


def _read_ark(file: Path) -> Iterator[tuple[str, Array]]:
    matio = _kaldiio().matio
    with file.open("rb") as raw:
        while True:
            at = raw.tell()
            try:
                name = matio.read_token(raw)
            except UnicodeDecodeError:
                raise FileFormatError(f"{file}: no Kaldi archive (byte {at})") from None
            name = None if name is None else name.strip()
            if not name:
                return
            yield name, _read_kaldi_array(raw, matio, f"{file}, entry {name[:80]!r}")


def _read_scp(file: Path) -> Iterator[tuple[str, Array]]:
    return ((name, load()) for name, load in index_scp(file))


def index_scp(file: Path) -> Iterator[tuple[str, Callable[[], Array]]]:
    """The ids of an scp file, each with a function that loads its array."""
    for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        if not line.strip():
            continue
        name, _, place = line.strip().partition(" ")
        place = place.strip()
        where = f"{file}, line {number}"
        if not place:
            raise FileFormatError(f"{where}: expected an id and where its array is, got {line[:80]!r}")
        if "|" in place:
            raise FileFormatError(f"{where}: a command instead of a file; commands are not run")
        ark, _, offset = place.rpartition(":")
        if not ark or not offset.isdecimal() or len(offset) > _MOST_DIGITS:
            raise FileFormatError(f"{where}: expected FILE:OFFSET, got {place[:80]!r}")
        source = Path(ark) if Path(ark).is_absolute() or Path(ark).exists() else file.parent / ark
        note_input(source)
        yield name, partial(_kaldi_array_at, source, int(offset), where)


def _kaldi_array_at(source: Path, offset: int, where: str) -> Array:
    try:
        with source.open("rb") as raw:
            raw.seek(offset)
            return _read_kaldi_array(raw, _kaldiio().matio, where)
    except OSError as error:
        raise FileFormatError(f"{where}: {source} cannot be read ({error.strerror or error})") from None
    except ValueError as error:  # a name that no file can have
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"{where}: {str(source)!r} cannot be read ({error})") from None


def _read_kaldi_array(raw: BinaryIO, matio: ModuleType, where: str) -> Array:
    head = raw.read(10)
    raw.seek(-len(head), 1)
    flag = head[:3]
    if flag in _PROGRAMS:
        raise FileFormatError(f"{where}: {flag.decode()!r} data; only Kaldi vectors and matrices are read")
    try:
        # kaldiio takes a text for whole numbers if its first one is
        array = matio.read_kaldi(raw) if flag.startswith(b"\0B") else read_kaldi_text(raw)
    except Exception as error:  # kaldiio raises nearly everything on broken files
        raise FileFormatError(
            f"{where}: no Kaldi vector or matrix ({error or type(error).__name__})"
        ) from None
    # kaldiio takes a vector that ends too early for a shorter one
    if head[:6] in (b"\0BFV \4", b"\0BDV \4") and len(array) != int.from_bytes(head[6:10], "little"):
        raise FileFormatError(f"{where}: the vector ends too early")
    return np.asarray(array)


def read_kaldi_text(raw: BinaryIO) -> Array:
    """``[ 1 2 3 ]``, or a matrix with one row per line."""
    read = bytearray()
    while not read.endswith(b"]"):
        byte = raw.read(1)
        if not byte or len(read) > _LONGEST_TEXT:
            raise ValueError("no closing bracket")
        read += byte
    raw.readline()
    lines = read.decode("ascii").strip().removeprefix("[").removesuffix("]").split("\n")
    rows = [[float(word) for word in line.split()] for line in lines if line.strip()]
    return np.array(rows[0] if len(lines) == 1 and rows else rows)


def write_kaldi(path: str | PathLike[str], arrays: Iterable[tuple[str, Array]]) -> None:
    """Write an ark file and, beside it, the scp file that says where each array is.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "x.ark"
    >>> write_kaldi(file, [("utt1", np.array([1.0, 2.0]))])
    >>> [(name, vector.tolist()) for name, vector in read_kaldi(file.with_suffix(".scp"))]
    [('utt1', [1.0, 2.0])]
    """
    kaldiio, file = _kaldiio(), Path(path)
    index = file.with_suffix(".scp")
    if file == index:
        raise InputError(f"{file}: give the name of the ark file; the scp file is written beside it")
    with replacing(file) as ark, replacing(index) as scp:
        lines = []
        with ark.open("wb") as raw:
            for name, array in arrays:
                if not name or any(c.isspace() for c in name):
                    raise InputError(f"{file}: Kaldi cannot hold the id {name!r}")
                lines.append(f"{name} {file}:{raw.tell() + len(name.encode()) + 1}\n")
                kaldiio.save_ark(raw, {name: array})
        scp.write_text("".join(lines), encoding="utf-8")
