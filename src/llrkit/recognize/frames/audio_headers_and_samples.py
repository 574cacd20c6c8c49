"""Audio files to samples, headers first: the only module that knows soundfile and soxr."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np

from llrkit._arrays import Array
from llrkit._memory import require_memory
from llrkit._warn import warn_caller
from llrkit.errors import FileFormatError, LlrkitError, MissingPackageError, SpeechWarning
from llrkit.recognize.frames.front_end import FrontEnd
from llrkit.recognize.frames.recording import Recording

SLOWEST_RATE, FASTEST_RATE = 1_000, 1_000_000
"""Samples a second; below, the mel bands have nothing to add up, and the library ends the whole program."""
_UNKNOWN_LENGTH = 0x7FFFF000
_LONGEST_OGG_PAGE = 27 + 255 + 255 * 255
_LAST_OGG_PAGE = 4
"""The bit of a page's sixth byte that says that the stream ends with it."""
_CUT_OFF = "ends before the samples that its header announces"
_KINDS = "WAV, FLAC, OGG and MP3 can"


def read_header(path: Path) -> tuple[int, int, float]:
    """Sample rate, channels and seconds of a file, which is whole; else an error names it."""
    soundfile = _soundfile()
    with _naming_audio_file(path), soundfile.SoundFile(str(path)) as file:
        rate = _checked_rate(path, int(file.samplerate))
        n = int(file.frames)
        if _is_cut_off(path):
            raise FileFormatError(f"{path}: {_CUT_OFF}")
        if n <= 0:
            raise FileFormatError(f"{path}: there are no samples in it")
        return rate, int(file.channels), n / rate


def read_samples(recording: Recording, front_end: FrontEnd) -> tuple[Array, int]:
    """The samples of the chosen channel, between -1 and 1, and the sample rate, after resampling."""
    path = recording.path
    samples, rate = _read_part_of_audio(recording)
    channels = samples.shape[1]
    if front_end.channel is None and channels > 1:
        raise FileFormatError(f"{path}: has {channels} channels; say which, from 0 to {channels - 1}")
    channel = front_end.channel or 0
    if channel >= channels:
        raise FileFormatError(f"{path}: there is no channel {channel}; it has {channels}")
    chosen = samples[:, channel]
    if len(chosen) == 0:
        raise FileFormatError(f"{recording.name}: there are no samples in it")
    if not np.isfinite(chosen).all():
        raise FileFormatError(f"{path}: sample {int(np.argmin(np.isfinite(chosen)))} is not a finite number")
    wanted = front_end.sample_rate
    if wanted is None or rate == wanted:
        return chosen, rate
    if not front_end.resample:
        raise FileFormatError(f"{path}: {rate} samples a second, expected {wanted}; convert it first")
    try:
        import soxr
    except ImportError:
        raise MissingPackageError.of_extra(
            f"{path}: {rate} samples a second instead of {wanted}; resampling needs soxr", "audio"
        ) from None
    return np.asarray(soxr.resample(np.ascontiguousarray(chosen), rate, wanted)), wanted


def _read_part_of_audio(recording: Recording) -> tuple[Array, int]:
    path = recording.path
    soundfile = _soundfile()
    with _naming_audio_file(path), soundfile.SoundFile(str(path)) as file:
        rate, announced = _checked_rate(path, int(file.samplerate)), int(file.frames)
        first = min(round(recording.start * rate), announced)
        last = announced if recording.end is None else min(round(recording.end * rate), announced)
        whole = recording.end is None and first == 0
        require_memory(4.0 * (last - first) * file.channels, str(path))
        file.seek(first)
        samples = file.read(-1 if whole else last - first, dtype="float32", always_2d=True)
        if len(samples) < last - first or _is_cut_off(path):
            raise FileFormatError(f"{path}: {_CUT_OFF}")
        return samples, rate


@contextmanager
def _naming_audio_file(path: Path) -> Iterator[None]:
    """What soundfile says of a file becomes one line that names it."""
    if not path.is_file():
        raise FileFormatError(f"{path}: no such audio file")
    try:
        yield
    except LlrkitError:
        raise
    except (_soundfile().SoundFileError, OSError, ValueError) as error:
        words = str(error).rsplit(": ", 1)[-1].rstrip(".")
        raise FileFormatError(f"{path}: cannot be read as audio ({words}); {_KINDS}") from None


def _checked_rate(path: Path, rate: int) -> int:
    if not SLOWEST_RATE <= rate <= FASTEST_RATE:
        raise FileFormatError(
            f"{path}: {rate} samples a second; expected {SLOWEST_RATE:,} to {FASTEST_RATE:,}"
        )
    return rate


def _is_cut_off(path: Path) -> bool:
    """Whether a WAV or OGG file ends before its samples do; soundfile takes it for a shorter one."""
    size = path.stat().st_size
    with path.open("rb") as raw:
        head = raw.read(12)
        if head[:4] == b"OggS":
            raw.seek(max(0, size - _LONGEST_OGG_PAGE))
            return not _ends_with_last_page(raw.read())
        if head[:4] != b"RIFF" or head[8:] != b"WAVE":
            return False
        at = 12
        while at + 8 <= size:
            raw.seek(at)
            chunk = raw.read(8)
            length = int.from_bytes(chunk[4:], "little")
            if chunk[:4] == b"data":
                # programs that write to a pipe do not know the length, and write the largest there is
                return length < _UNKNOWN_LENGTH and at + 8 + length > size
            at += 8 + length + length % 2
    return False


def _ends_with_last_page(tail: bytes) -> bool:
    """Whether the last page that begins in these bytes of an OGG file is whole and ends the stream."""
    at = tail.rfind(b"OggS")
    if at < 0 or len(tail) < at + 27 or not tail[at + 5] & _LAST_OGG_PAGE:
        return False
    sizes = tail[at + 27 : at + 27 + tail[at + 26]]
    return len(tail) >= at + 27 + tail[at + 26] + sum(sizes)


def _soundfile() -> ModuleType:
    try:
        return import_module("soundfile")
    except ImportError:
        raise MissingPackageError.of_extra("audio needs soundfile", "audio") from None


@dataclass(frozen=True)
class CheckedHeaders:
    """Which recordings can be used, the front end with its sample rate, and what is wrong with the others."""

    usable: tuple[int, ...]
    seconds: tuple[float, ...]
    """Of the usable ones, before silence is dropped."""
    front_end: FrontEnd
    problems: tuple[str, ...]


def check_headers(recordings: Sequence[Recording], front_end: FrontEnd) -> CheckedHeaders:
    """Look at every file: it can be read, is whole, has the channel and, unless resampled, the sample rate.

    Without a sample rate in the front end it becomes that of most files, of the first one if there is a tie.
    """
    headers: dict[Path, tuple[int, int, float] | str] = {}
    for path in dict.fromkeys(recording.path for recording in recordings):
        try:
            headers[path] = read_header(path)
        except FileFormatError as error:
            headers[path] = str(error)
    rates = Counter(found[0] for found in headers.values() if not isinstance(found, str))
    how = front_end
    if how.sample_rate is None and rates:
        how = replace(how, sample_rate=rates.most_common(1)[0][0])
    usable, seconds, problems = [], [], []
    for i, recording in enumerate(recordings):
        found = headers[recording.path]
        problem = found if isinstance(found, str) else _problem_of_header(recording, *found, how)
        if problem is None:
            assert not isinstance(found, str)
            usable.append(i)
            seconds.append(min(found[2], recording.end or found[2]) - recording.start)
        else:
            problems.append(problem)
    if rates and how.resample:
        _tell_resampled_files(rates, how)
    return CheckedHeaders(tuple(usable), tuple(seconds), how, tuple(dict.fromkeys(problems)))


def _problem_of_header(
    recording: Recording, rate: int, channels: int, seconds: float, how: FrontEnd
) -> str | None:
    path = recording.path
    if not how.resample and rate != how.sample_rate:
        return (
            f"{path}: {rate} samples a second, expected {how.sample_rate}; convert it first, or let it be "
            "resampled"
        )
    if how.channel is None and channels > 1:
        return f"{path}: has {channels} channels; say which (--channel), from 0 to {channels - 1}"
    if how.channel is not None and how.channel >= channels:
        return f"{path}: there is no channel {how.channel}; it has {channels}"
    if recording.start >= seconds or (recording.end is not None and recording.end > seconds + 0.05):
        return f"{recording.name}: the file has {seconds:.2f} s only"
    return None


def _tell_resampled_files(rates: Counter[int], how: FrontEnd) -> None:
    others = {rate: n for rate, n in sorted(rates.items()) if rate != how.sample_rate}
    if not others:
        return
    which = ", ".join(f"{n} of {rate} Hz" for rate, n in others.items())
    slower = any(rate < (how.sample_rate or 0) for rate in others)
    empty = "; those of lower rates have nothing in the upper bands" if slower else ""
    warn_caller(f"files resampled to {how.sample_rate} Hz: {which}{empty}", SpeechWarning)
