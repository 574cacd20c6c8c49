"""Lists of recordings, in llrkit's own form or Kaldi's, to frames that are loaded when they are needed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from llrkit._format import not_among
from llrkit._inputs import file_sha256
from llrkit._warn import warn_caller
from llrkit.errors import FileFormatError, SpeechWarning, UnknownNameError
from llrkit.recognize.frames.audio_frames import frames_of, with_others
from llrkit.recognize.frames.audio_headers_and_samples import check_headers
from llrkit.recognize.frames.front_end import FrontEnd
from llrkit.recognize.frames.recording import Recording
from llrkit.recognize.frames.utterance_frames import Frames
from llrkit.recognize.kaldi_lists import (
    is_wav_scp,
    read_activity,
    read_rttm,
    read_segments,
    read_utt2spk,
    read_wav_scp,
)
from llrkit.recognize.option_names import BAD_FILES
from llrkit.recognize.speech_list_table import read_speech_list

Path_ = str | PathLike[str]


@dataclass(frozen=True)
class ListedRecordings:
    """Utterances of a list, each with its recording and where it stands in the list."""

    origin: str
    ids: tuple[str, ...]
    recordings: tuple[Recording, ...]
    within: tuple[str, ...]
    """The id of the recording that each utterance is a part of."""
    lines: tuple[int, ...]
    speakers: tuple[str, ...] | None = None
    columns: Mapping[str, tuple[object, ...]] | None = None


def read_audio_list(
    path: Path_,
    front_end: FrontEnd,
    *,
    folder: Path_ | None = None,
    segments: Path_ | None = None,
    utt2spk: Path_ | None = None,
    vad: Path_ | None = None,
    bad_files: str = "error",
) -> tuple[Frames, FrontEnd]:
    """Frames of the recordings in a list, whose headers are all looked at first.

    Parameters
    ----------
    path
        A list of speakers and files, or Kaldi's wav.scp.
    front_end
        How frames are made; its sample rate is that of most files if it has none.
    folder
        Where the files are, if not beside the list.
    segments
        Kaldi's segments: each becomes an utterance.
    utt2spk
        The speakers of utterances.
    vad
        Where speech is: an RTTM file, or Kaldi's voice activity (ark, scp).
    bad_files
        'error', or 'skip': files that cannot be used are left out, with a warning that names them.
    """
    if bad_files not in BAD_FILES:
        raise UnknownNameError(f"bad_files={not_among(bad_files, BAD_FILES, ': expected one of ')}")
    listed = _read_list_of_recordings(Path(path), folder, require=bad_files == "error")
    if segments is not None:
        listed = _cut_into_segments(listed, segments)
    if utt2spk is not None:
        listed = _with_speakers_of_list(listed, utt2spk)
    if vad is not None:
        listed = _with_speech_marks(listed, vad)
    headers = check_headers(listed.recordings, front_end)
    if headers.problems and bad_files == "error":
        raise FileFormatError(with_others(headers.problems))
    tell_left_out(headers.problems)
    if not headers.usable:
        raise FileFormatError(f"{listed.origin}: no file can be used; the first: {headers.problems[0]}")
    hashes: dict[Path, str] = {}
    contents = []
    for recording in listed.recordings:
        if recording.path not in hashes and recording.path.is_file():
            hashes[recording.path] = file_sha256(recording.path)[:32]
        part = (
            "" if recording.start == 0.0 and recording.end is None else f"@{recording.start}-{recording.end}"
        )
        contents.append(f"audio:{hashes.get(recording.path, recording.name)}{part}:{front_end.channel}")
    frames = frames_of(
        listed.recordings, headers.front_end, listed.ids, listed.speakers, listed.columns, contents
    )
    if vad is not None:
        frames = replace(frames, marks=_speech_marks_hash(listed.recordings))
    if len(headers.usable) < len(frames):
        frames = frames.subset(headers.usable)
    seconds = tuple(round(value, 3) for value in headers.seconds)
    return frames.with_columns({"audio_seconds": seconds}), headers.front_end


def _speech_marks_hash(recordings: Sequence[Recording]) -> str:
    """A hash of where speech is said to be."""
    digest = hashlib.sha256()
    for recording in recordings:
        digest.update(repr(recording.turns).encode())
        digest.update(b"" if recording.speech is None else (recording.speech > 0).tobytes())
    return digest.hexdigest()


def tell_left_out(problems: Sequence[str]) -> None:
    """Name every file that is left out."""
    for problem in problems:
        warn_caller(f"left out: {problem}", SpeechWarning)


def _read_list_of_recordings(file: Path, folder: Path_ | None, *, require: bool) -> ListedRecordings:
    if file.suffix.lower() == ".scp" and file.is_file() and is_wav_scp(file):
        files = read_wav_scp(file, folder, require=require)
        recordings = tuple(Recording(path) for path, _ in files.values())
        lines = tuple(line for _, line in files.values())
        return ListedRecordings(str(file), tuple(files), recordings, tuple(files), lines)
    listed = read_speech_list(file)
    recordings = tuple(Recording(path) for path in listed.paths(folder, require=require))
    return ListedRecordings(
        listed.origin, listed.files, recordings, listed.files, listed.lines, listed.speakers, listed.columns
    )


def _cut_into_segments(listed: ListedRecordings, segments: Path_) -> ListedRecordings:
    at = {name: i for i, name in enumerate(listed.ids)}
    parts = read_segments(segments)
    places, recordings = [], []
    for name, (recording, start, end, line) in parts.items():
        if recording not in at:
            raise FileFormatError(
                f"{segments}, line {line}: segment {name} is of {recording}, which is not in {listed.origin}"
            )
        places.append(at[recording])
        recordings.append(replace(listed.recordings[at[recording]], start=start, end=end))
    return ListedRecordings(
        str(segments), tuple(parts), tuple(recordings), tuple(listed.ids[i] for i in places),
        tuple(part[3] for part in parts.values()),
        None if listed.speakers is None else tuple(listed.speakers[i] for i in places),
        {name: tuple(values[i] for i in places) for name, values in (listed.columns or {}).items()},
    )  # fmt: skip


def _with_speakers_of_list(listed: ListedRecordings, utt2spk: Path_) -> ListedRecordings:
    speakers = read_utt2spk(utt2spk)
    for name, line in zip(listed.ids, listed.lines, strict=True):
        if name not in speakers:
            raise FileFormatError(f"{listed.origin}, line {line}: {utt2spk} has no speaker of {name!r}")
    return replace(listed, speakers=tuple(speakers[name] for name in listed.ids))


def _with_speech_marks(listed: ListedRecordings, vad: Path_) -> ListedRecordings:
    if Path(vad).suffix.lower() in (".ark", ".scp"):
        activity = read_activity(vad)
        for name, line in zip(listed.ids, listed.lines, strict=True):
            if name not in activity:
                raise FileFormatError(
                    f"{listed.origin}, line {line}: {vad} has no voice activity of {name!r}"
                )
        marked = (
            replace(recording, speech=activity[name])
            for name, recording in zip(listed.ids, listed.recordings, strict=True)
        )
        return replace(listed, recordings=tuple(marked))
    turns, recordings = read_rttm(vad), []
    for i, recording in enumerate(listed.recordings):
        own = turns.get(listed.within[i], turns.get(recording.path.stem))
        if own is None:
            raise FileFormatError(
                f"{listed.origin}, line {listed.lines[i]}: {vad} has no turns in {listed.within[i]!r}"
            )
        who = None if listed.speakers is None else listed.speakers[i]
        # all turns, unless they say which are those of the speaker of this utterance
        chosen = [turn for turn in own if turn[0] == who] or own
        recordings.append(replace(recording, turns=tuple((start, end) for _, start, end in chosen)))
    return replace(listed, recordings=tuple(recordings))
