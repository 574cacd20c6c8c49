"""Lists as Kaldi and diarization tools write them: wav.scp, segments, utt2spk, voice activity, RTTM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path

import numpy as np

from llrkit._arrays import Array
from llrkit._inputs import existing_file, note_input
from llrkit.errors import FileFormatError
from llrkit.recognize.kaldi_archives import read_kaldi

Path_ = str | PathLike[str]
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
    for _, fields in _lines_of_list(file):
        place = fields[-1]
        return "|" in fields[1:] or place == "|" or not place.rpartition(":")[2].isdecimal()
    return False


def read_wav_scp(
    file: Path, folder: Path_ | None = None, *, require: bool = True
) -> dict[str, tuple[Path, int]]:
    """The audio file of each recording and its line; a command instead of a file is refused, never run.

    Relative paths are looked for in ``folder``; without one, where the program runs and beside the list.
    ``require`` refuses a file that is not there.
    """
    files: dict[str, tuple[Path, int]] = {}
    for number, fields in _lines_of_list(file):
        where = f"{file}, line {number}"
        name, place = fields[0], " ".join(fields[1:])
        if not place:
            raise FileFormatError(f"{where}: expected an id and an audio file")
        if "|" in place:
            raise FileFormatError(f"{where}: a command instead of a file; commands are not run")
        if name in files:
            raise FileFormatError(f"{where}: {name} is in line {files[name][1]} already")
        path = Path(place)
        if not path.is_absolute() and folder is not None:
            path = Path(folder) / place
        elif not path.is_absolute() and not path.exists():
            path = file.parent / place
        if require and not path.is_file():
            raise FileFormatError(f"{where}: there is no file {path}")
        if path.is_file():
            note_input(path)
        files[name] = (path, number)
    if not files:
        raise FileFormatError(f"{file}: holds no recordings")
    return files


def read_segments(path: Path_) -> dict[str, tuple[str, float, float, int]]:
    """Kaldi's segments: recording, start and end in seconds, and line of each segment."""
    file = existing_file(path)
    segments: dict[str, tuple[str, float, float, int]] = {}
    for number, fields in _lines_of_list(file):
        where = f"{file}, line {number}"
        if len(fields) != 4:
            raise FileFormatError(f"{where}: expected segment, recording, start and end")
        start, end = _seconds_in_line(fields[2], where), _seconds_in_line(fields[3], where)
        if fields[0] in segments:
            raise FileFormatError(f"{where}: {fields[0]} is in line {segments[fields[0]][3]} already")
        if not 0.0 <= start < end:
            raise FileFormatError(f"{where}: there is nothing from {start:g} s to {end:g} s")
        segments[fields[0]] = (fields[1], start, end, number)
    return segments


def read_utt2spk(path: Path_) -> dict[str, str]:
    """The speaker of each id."""
    file = existing_file(path)
    speakers: dict[str, str] = {}
    for number, fields in _lines_of_list(file):
        if len(fields) != 2:
            raise FileFormatError(
                f"{file}, line {number}: expected an id and a speaker, got {' '.join(fields)[:80]!r}"
            )
        if speakers.setdefault(fields[0], fields[1]) != fields[1]:
            raise FileFormatError(f"{file}, line {number}: {fields[0]!r} has another speaker above")
    return speakers


def read_rttm(path: Path_) -> Turns:
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
    for number, fields in _lines_of_list(file):
        if fields[0] != "SPEAKER":
            continue
        where = f"{file}, line {number}"
        if len(fields) < 8:
            raise FileFormatError(f"{where}: expected SPEAKER, recording, channel, start, seconds, ..., name")
        start, seconds = _seconds_in_line(fields[3], where), _seconds_in_line(fields[4], where)
        turns.setdefault(fields[1], []).append((fields[7], start, start + seconds))
    if not turns:
        raise FileFormatError(f"{file}: holds no turns of speakers")
    return turns


def read_activity(path: Path_) -> dict[str, Array]:
    """Which frames are speech, one vector of zeros and ones per utterance (ark or scp)."""
    activity = {}
    for name, vector in read_kaldi(path):
        if vector.ndim != 1 or not np.isin(vector, (0.0, 1.0)).all():
            raise FileFormatError(f"{path}: {name!r} is no voice activity: expected a vector of 0 and 1")
        activity[name] = vector
    return activity


def _lines_of_list(file: Path) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        if line.strip():
            yield number, line.split()


def _seconds_in_line(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise FileFormatError(f"{where}: {text!r} is not a number of seconds")
    return value
