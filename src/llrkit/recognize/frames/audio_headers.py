"""What the headers of audio files say, looked at before any work begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from llrkit._warn import warn_caller
from llrkit.errors import FileFormatError, SpeechWarning
from llrkit.recognize.frames.audio_files import read_header
from llrkit.recognize.frames.front_end import FrontEnd
from llrkit.recognize.frames.recordings import Recording


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
        problem = found if isinstance(found, str) else _problem(recording, *found, how)
        if problem is None:
            assert not isinstance(found, str)
            usable.append(i)
            seconds.append(min(found[2], recording.end or found[2]) - recording.start)
        else:
            problems.append(problem)
    if rates and how.resample:
        _tell_resampled(rates, how)
    return CheckedHeaders(tuple(usable), tuple(seconds), how, tuple(dict.fromkeys(problems)))


def _problem(recording: Recording, rate: int, channels: int, seconds: float, how: FrontEnd) -> str | None:
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


def _tell_resampled(rates: Counter[int], how: FrontEnd) -> None:
    others = {rate: n for rate, n in sorted(rates.items()) if rate != how.sample_rate}
    if not others:
        return
    which = ", ".join(f"{n} of {rate} Hz" for rate, n in others.items())
    slower = any(rate < (how.sample_rate or 0) for rate in others)
    empty = "; those of lower rates have nothing in the upper bands" if slower else ""
    warn_caller(f"files resampled to {how.sample_rate} Hz: {which}{empty}", SpeechWarning)
