"""Kaldi's files: archives of arrays, lists of recordings, segments and speakers, and voice activity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

import numpy as np

from llrkit.base.arguments import Array
from llrkit.base.files import existing_file, note_input, replacing
from llrkit.base.process import needed_package
from llrkit.errors import FileFormatError, InputError
from llrkit.io.read_options import PathArg

_MATIO = ("kaldiio.matio", "Kaldi files need kaldiio", "audio")
_LONGEST_TEXT = 1 << 26
_MOST_DIGITS = 18  # of an offset: no file is larger
_PROGRAMS = (b"PKL", b"NPY", b"AUD", b"RIF", b"fLa")  # kaldiio would unpickle the first
Turns = Mapping[str, list[tuple[str, float, float]]]
"""For each recording its turns: speaker, start, end."""


def is_wav_scp(file: Path) -> bool:
    """Whether an scp file names audio files, not places in archives.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "wav.scp"
    >>> _ = file.write_text("utt1 /data/utt1.wav\\n")
    >>> is_wav_scp(file)
    True
    """
    for _, line in _lines_of_list(file):
        fields = line.split()
        # wav.scp has a path or a command; an index of an archive ends in :OFFSET. One line decides.
        return "|" in fields[1:] or not fields[-1].rpartition(":")[2].isdecimal()
    return False


def read_wav_scp(
    file: Path, folder: PathArg | None = None, *, require: bool = True
) -> dict[str, tuple[Path, int]]:
    """The audio file of each recording and its line; a command instead of a file is refused, never run.

    Relative paths are looked for in ``folder``; without one, where the program runs and beside the list.
    ``require`` refuses a file that is not there.
    """
    files: dict[str, tuple[Path, int]] = {}
    for number, line in _lines_of_list(file):
        where = f"{file}, line {number}"
        name, *words = line.split()
        # A file name may hold blanks, an id may not.
        place = " ".join(words)
        if not place:
            raise FileFormatError(f"{where}: expected an id and an audio file")
        if "|" in place:
            raise FileFormatError(f"{where}: a command instead of a file; commands are not run")
        if name in files:
            raise FileFormatError(f"{where}: {name} is in line {files[name][1]} already")
        path = Path(place)
        if not path.is_absolute() and folder is not None:
            path = Path(folder) / place
        # Kaldi's paths are relative to where its recipes run, not to the list.
        elif not path.is_absolute() and not path.exists():
            path = file.parent / place
        if path.is_file():
            note_input(path)
        elif require:
            raise FileFormatError(f"{where}: there is no file {path}")
        files[name] = (path, number)
    if not files:
        raise FileFormatError(f"{file}: holds no recordings")
    return files


def read_segments(path: PathArg) -> dict[str, tuple[str, float, float, int]]:
    """Kaldi's segments: recording, start and end in seconds, and line of each segment."""
    file = existing_file(path)
    segments: dict[str, tuple[str, float, float, int]] = {}
    for number, line in _lines_of_list(file):
        where, fields = f"{file}, line {number}", line.split()
        if len(fields) != 4:
            raise FileFormatError(f"{where}: expected segment, recording, start and end")
        start, end = _seconds_in_line(fields[2], where), _seconds_in_line(fields[3], where)
        if fields[0] in segments:
            raise FileFormatError(f"{where}: {fields[0]} is in line {segments[fields[0]][3]} already")
        if not 0.0 <= start < end:
            raise FileFormatError(f"{where}: there is nothing from {start:g} s to {end:g} s")
        segments[fields[0]] = (fields[1], start, end, number)
    return segments


def read_rttm(path: PathArg) -> Turns:
    """The turns of an RTTM file, by recording.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.rttm"
    >>> _ = file.write_text("SPEAKER call 1 2.50 1.25 <NA> <NA> anna <NA> <NA>\\n")
    >>> read_rttm(file)
    {'call': [('anna', 2.5, 3.75)]}
    """
    file = existing_file(path)
    turns: dict[str, list[tuple[str, float, float]]] = {}
    for number, line in _lines_of_list(file):
        where, fields = f"{file}, line {number}", line.split()
        # RTTM has other lines too (SPKR-INFO, ...), which say nothing about turns.
        if fields[0] != "SPEAKER":
            continue
        if len(fields) < 8:
            raise FileFormatError(f"{where}: expected SPEAKER, recording, channel, start, seconds, ..., name")
        start, seconds = _seconds_in_line(fields[3], where), _seconds_in_line(fields[4], where)
        turns.setdefault(fields[1], []).append((fields[7], start, start + seconds))
    if not turns:
        raise FileFormatError(f"{file}: holds no turns of speakers")
    return turns


def read_activity(path: PathArg) -> dict[str, Array]:
    """Which frames are speech, one vector of zeros and ones per utterance (ark or scp)."""
    activity = {}
    for name, vector in read_kaldi(path):
        if vector.ndim != 1 or not np.isin(vector, (0.0, 1.0)).all():
            raise FileFormatError(f"{path}: {name!r} is no voice activity: expected a vector of 0 and 1")
        activity[name] = vector
    return activity


def _seconds_in_line(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise FileFormatError(f"{where}: {text!r} is not a number of seconds")
    return value


def read_kaldi(path: PathArg) -> Iterator[tuple[str, Array]]:
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
    if file.suffix.lower() == ".scp":
        yield from ((name, load()) for name, _, load in index_scp(file))
        return
    matio = needed_package(*_MATIO)
    with file.open("rb") as raw:
        while True:
            at = raw.tell()
            try:
                name = matio.read_token(raw)
            except UnicodeDecodeError:
                raise FileFormatError(f"{file}: no Kaldi archive (byte {at})") from None
            # kaldiio returns None at the end of the file, or blanks where a text archive ends with an
            # empty line.
            name = None if name is None else name.strip()
            if not name:
                return
            yield name, _read_kaldi_array(raw, matio, f"{file}, entry {name[:80]!r}")


def index_scp(file: Path) -> Iterator[tuple[str, Path, Callable[[], Array]]]:
    """The ids of an scp file, each with its archive and a function that loads its array."""
    for number, line in _lines_of_list(file):
        name, _, place = line.partition(" ")
        place = place.strip()
        where = f"{file}, line {number}"
        if not place:
            raise FileFormatError(f"{where}: expected an id and where its array is, got {line[:80]!r}")
        if "|" in place:
            raise FileFormatError(f"{where}: a command instead of a file; commands are not run")
        # From the right: a path may hold colons.
        ark, _, offset = place.rpartition(":")
        if not ark or not offset.isdecimal() or len(offset) > _MOST_DIGITS:
            raise FileFormatError(f"{where}: expected FILE:OFFSET, got {place[:80]!r}")
        source = Path(ark) if Path(ark).is_absolute() or Path(ark).exists() else file.parent / ark
        note_input(source)
        yield name, source, partial(_kaldi_array_at, source, int(offset), where)


def _kaldi_array_at(source: Path, offset: int, where: str) -> Array:
    try:
        with source.open("rb") as raw:
            raw.seek(offset)
            return _read_kaldi_array(raw, needed_package(*_MATIO), where)
    except FileFormatError:
        raise
    except (OSError, ValueError) as error:  # a name that no file can have is a ValueError
        why = getattr(error, "strerror", None) or error
        raise FileFormatError(f"{where}: {str(source)!r} cannot be read ({why})") from None


def _read_kaldi_array(raw: BinaryIO, matio: ModuleType, where: str) -> Array:
    head = raw.read(10)
    # Peeked at only; the reader starts again from here.
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
        # A bound for files that are no Kaldi text at all: nothing says where such a file would end.
        if not byte or len(read) > _LONGEST_TEXT:
            raise ValueError("no closing bracket")
        read += byte
    raw.readline()
    lines = read.decode("ascii").strip().removeprefix("[").removesuffix("]").split("\n")
    rows = [[float(word) for word in line.split()] for line in lines if line.strip()]
    # One line is a vector; a matrix of one row has its bracket on a line of its own.
    return np.array(rows[0] if len(lines) == 1 and rows else rows)


def write_kaldi(path: PathArg, arrays: Iterable[tuple[str, Array]]) -> None:
    """Write an ark file and, beside it, the scp file that says where each array is.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "x.ark"
    >>> write_kaldi(file, [("utt1", np.array([1.0, 2.0]))])
    >>> [(name, vector.tolist()) for name, vector in read_kaldi(file.with_suffix(".scp"))]
    [('utt1', [1.0, 2.0])]
    """
    matio, file = needed_package(*_MATIO), Path(path)
    index = file.with_suffix(".scp")
    if file == index:
        raise InputError(f"{file}: give the name of the ark file; the scp file is written beside it")
    # Both or neither, as far as two renames allow.
    with replacing(file) as ark, replacing(index) as scp:
        lines = []
        with ark.open("wb") as raw:
            for name, array in arrays:
                if not name or any(c.isspace() for c in name):
                    raise InputError(f"{file}: Kaldi cannot hold the id {name!r}")
                # An offset points behind the id and the blank, where the array begins.
                lines.append(f"{name} {file}:{raw.tell() + len(name.encode()) + 1}\n")
                matio.save_ark(raw, {name: array})
        scp.write_text("".join(lines), encoding="utf-8")


def read_speakers(path: PathArg, ids: Iterable[object], where: str) -> tuple[str, ...]:
    """The speaker of each id, from a file of ids and speakers (utt2spk); ``where`` says what has the ids."""
    file = existing_file(path)
    speakers: dict[str, str] = {}
    for number, line in _lines_of_list(file):
        fields = line.split()
        if len(fields) != 2:
            raise FileFormatError(f"{file}, line {number}: expected an id and a speaker, got {line[:80]!r}")
        # The same line twice is harmless.
        if speakers.setdefault(fields[0], fields[1]) != fields[1]:
            raise FileFormatError(f"{file}, line {number}: {fields[0]!r} has another speaker above")
    missing = [str(name) for name in ids if str(name) not in speakers]
    if missing:
        raise FileFormatError(f"{file}: no speaker of {missing[0]!r}, which is in {where}")
    return tuple(speakers[str(name)] for name in ids)


def _lines_of_list(file: Path) -> Iterator[tuple[int, str]]:
    # Ids that are not UTF-8 are kept with replacement characters rather than refused.
    for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        if line.strip():
            yield number, line.strip()
