"""Lists of speech, read as frames or embeddings."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np

from llrkit.base.arguments import Array
from llrkit.base.files import existing_file, file_sha256, note_input
from llrkit.base.options import documented
from llrkit.base.process import warn_caller
from llrkit.base.text import counted
from llrkit.errors import FileFormatError, InputError, SpeechWarning
from llrkit.io.array_files import read_arrays
from llrkit.io.read_options import PathArg
from llrkit.io.selection import rows_where
from llrkit.io.table_columns import named
from llrkit.io.text_lines import open_text
from llrkit.speech import kaldi
from llrkit.speech.audio import Recording, check_headers, frames_of
from llrkit.speech.embeddings import ID_NAMES, Embeddings, read_embeddings
from llrkit.speech.frames import Frames, FrontEnd, read_frames
from llrkit.speech.options import SpeechInput

if TYPE_CHECKING:
    from llrkit.keywords import SpeechInputKeywords

SPEAKER_NAMES = ("speaker", "spk", "speaker_id", "spk_id", "model")
MADE_HERE = ("audio_seconds", "frames", "norm", "sessions", "speech_seconds")
"""Columns that enrollment and extraction make."""
FILE_NAMES = ("file", "path", "wav", "filename", "utterance", "utt", "segment", "id")

_MOST_DIGITS = 15
"""Longer numbers are codes, and a float would change them."""


@dataclass(frozen=True)
class SpeechList:
    """Files as they are written in the list, and their speakers if it has any."""

    origin: str
    files: tuple[str, ...]
    speakers: tuple[str, ...] | None
    lines: tuple[int, ...]
    columns: Mapping[str, tuple[str | float, ...]] = field(default_factory=dict)
    """What else the list says of each file; a column of numbers holds numbers."""

    def paths(self, folder: PathArg | None = None, *, require: bool = True) -> list[Path]:
        """Where the files are: beside the list, or in another folder. One that is not there is refused."""
        # As the list is written, wherever the program runs.
        root = Path(self.origin).parent if folder is None else Path(folder)
        paths = [root / file for file in self.files]
        for path, line in zip(paths, self.lines, strict=True):
            if path.is_file():
                note_input(path)
            elif require:
                raise FileFormatError(f"{self.origin}, line {line}: there is no file {path}")
        return paths


def read_speech_list(path: PathArg, *, known: Container[str] = ()) -> SpeechList:
    """Read a list of speech files: a column of speakers and one of files, or files alone.

    Columns are separated by tabs, commas, semicolons or blanks. A header with names such as ``speaker`` and
    ``file`` says which is which, in any order and among others; without one the speaker comes first, unless
    only the first column holds ``known`` ids (Kaldi's utt2spk). Other columns of a list with a header
    (gender, session, ...) are kept.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "list.tsv"
    >>> _ = file.write_text("anna\\tanna/1.wav\\nben\\tben/1.wav\\n")
    >>> speech_list = read_speech_list(file)
    >>> speech_list.speakers, speech_list.files
    (('anna', 'ben'), ('anna/1.wav', 'ben/1.wav'))
    """
    file = existing_file(path)
    rows = [row for piece in open_text(file).pieces() for row in piece.rows()]
    first = [field.strip() for field in rows[0][1]]
    names = [field.lower() for field in first]
    header = any(name in FILE_NAMES for name in names)
    who: int | None
    if header:
        who = next((names.index(name) for name in SPEAKER_NAMES if name in names), None)
        what = next(names.index(name) for name in FILE_NAMES if name in names)
        rows = rows[1:]
    elif len(first) > 2:
        raise FileFormatError(
            f"{file}, line {rows[0][0]}: {len(first)} columns; expected speaker and file, files alone, or a "
            "header that says which column is which"
        )
    elif len(first) == 1:
        who, what = None, 0
    else:
        # Kaldi's utt2spk has the utterance first; the ids that are known decide.
        who, what = (1, 0) if first[0] in known and first[1] not in known else (0, 1)
    if not rows:
        raise FileFormatError(f"{file}: a header, but no files")
    width = len(rows[0][1])
    seen: dict[str, int] = {}
    for line, fields in rows:
        where = f"{file}, line {line}"
        if len(fields) != width:
            held = counted(len(fields), "field")
            raise FileFormatError(f"{where}: {held}, but the line before has {width}")
        name = fields[what].strip()
        if not name or (who is not None and not fields[who].strip()):
            raise FileFormatError(f"{where}: the file or the speaker is missing")
        # An utterance twice in a list would count twice in training and make trials against itself.
        if name in seen:
            raise FileFormatError(f"{where}: {name} is in line {seen[name]} already")
        seen[name] = line
    speakers = None if who is None else tuple(fields[who].strip() for _, fields in rows)
    more = {}
    for i, name in enumerate(first) if header else ():
        if i in (who, what):
            continue
        # Columns of the list and those that are made later share one table.
        if name.lower() in MADE_HERE:
            raise FileFormatError(f"{file}: the column {name!r} would hide one that is made here; rename it")
        more[name] = _numbers_if_all([fields[i].strip() for _, fields in rows])
    return SpeechList(str(file), tuple(seen), speakers, tuple(seen.values()), more)


def _numbers_if_all(texts: list[str]) -> tuple[str | float, ...]:
    """Numbers if all are, whole ones as they are written; codes such as 007 remain texts.

    Examples
    --------
    >>> _numbers_if_all(["3", "10"]), _numbers_if_all(["3", "1.5"]), _numbers_if_all(["007", "10"])
    ((3, 10), (3.0, 1.5), ('007', '10'))
    """
    digits = [text.lstrip("+-") for text in texts]
    # isdecimal, and not the same after int(): leading zeros make a code.
    if any(text.isdecimal() and (len(text) > _MOST_DIGITS or text != str(int(text))) for text in digits):
        return tuple(texts)
    try:
        kind = int if all(map(str.isdecimal, digits)) else float
        return tuple(kind(text) for text in texts)
    except ValueError:
        return tuple(texts)


def read_audio_list(path: PathArg, front_end: FrontEnd, asked: SpeechInput) -> tuple[Frames, FrontEnd]:
    """Frames of the recordings in a list, or in Kaldi's wav.scp, whose headers are all looked at first.

    The front end has the sample rate of most files if it has none.
    """
    folder, segments, utt2spk, vad = asked.folder, asked.segments, asked.utt2spk, asked.vad
    file, require = Path(path), asked.bad_files == "error"
    if _is_audio_scp(file):
        files = kaldi.read_wav_scp(file, folder, require=require)
        listed = SpeechList(str(file), tuple(files), None, tuple(line for _, line in files.values()))
        recordings = [Recording(place) for place, _ in files.values()]
    else:
        listed = read_speech_list(file)
        recordings = [Recording(place) for place in listed.paths(folder, require=require)]
    # Names of recordings, by which RTTM files know them even after segments were cut.
    within = listed.files
    if segments is not None:
        listed, recordings, within = _cut_into_segments(listed, recordings, segments)
    if utt2spk is not None:
        listed = replace(listed, speakers=kaldi.read_speakers(utt2spk, listed.files, listed.origin))
    if vad is not None:
        recordings = _with_speech_marks(listed, recordings, within, vad)
    how, seconds, problems = check_headers(recordings, front_end, require=require)
    for problem in problems:
        warn_caller(f"left out: {problem}", SpeechWarning)
    if not seconds:
        raise FileFormatError(f"{listed.origin}: no file can be used; the first: {problems[0]}")
    # Each file is hashed once, however many segments it holds.
    places = dict.fromkeys(recording.path for recording in recordings)
    hashes = {place: file_sha256(place)[:32] for place in places if place.is_file()}
    contents = []
    for recording in recordings:
        whole = recording.start == 0.0 and recording.end is None
        part = "" if whole else f"@{recording.start}-{recording.end}"
        # The channel belongs to the content: two channels of one file are two people.
        contents.append(f"audio:{hashes.get(recording.path, recording.name)}{part}:{front_end.channel}")
    frames = frames_of(recordings, how, listed.files, listed.speakers, listed.columns, contents)
    if vad is not None:
        marks = hashlib.sha256()
        for recording in recordings:
            marks.update(repr(recording.turns).encode())
            # The mask alone matters, whatever type the archive has.
            marks.update(b"" if recording.speech is None else (recording.speech > 0).tobytes())
        frames = replace(frames, marks=marks.hexdigest())
    # check_headers gives the places of usable recordings, in order.
    if len(seconds) < len(frames):
        frames = frames.subset(list(seconds))
    return frames.with_columns({"audio_seconds": tuple(round(s, 3) for s in seconds.values())}), how


def _cut_into_segments(
    listed: SpeechList, recordings: Sequence[Recording], segments: PathArg
) -> tuple[SpeechList, list[Recording], tuple[str, ...]]:
    """The segments as a list, what they are cut from, and the ids of the recordings they are parts of."""
    at = {name: i for i, name in enumerate(listed.files)}
    parts = kaldi.read_segments(segments)
    for name, (recording, _, _, line) in parts.items():
        if recording not in at:
            raise FileFormatError(
                f"{segments}, line {line}: segment {name} is of {recording}, which is not in {listed.origin}"
            )
    within = tuple(recording for recording, _, _, _ in parts.values())
    places = [at[recording] for recording in within]
    cut = SpeechList(
        str(segments),
        tuple(parts),
        None if listed.speakers is None else tuple(listed.speakers[i] for i in places),
        tuple(line for _, _, _, line in parts.values()),
        {name: tuple(values[i] for i in places) for name, values in listed.columns.items()},
    )
    pieces = [replace(recordings[at[one]], start=start, end=end) for one, start, end, _ in parts.values()]
    return cut, pieces, within


def _with_speech_marks(
    listed: SpeechList, recordings: Sequence[Recording], within: Sequence[str], vad: PathArg
) -> list[Recording]:
    of_kaldi = Path(vad).suffix.lower() in (".ark", ".scp")
    activity, turns = kaldi.read_activity(vad) if of_kaldi else {}, {} if of_kaldi else kaldi.read_rttm(vad)
    marked = []
    for i, (name, recording) in enumerate(zip(listed.files, recordings, strict=True)):
        where = f"{listed.origin}, line {listed.lines[i]}: {vad}"
        if of_kaldi:
            if name not in activity:
                raise FileFormatError(f"{where} has no voice activity of {name!r}")
            marked.append(replace(recording, speech=activity[name]))
            continue
        # RTTM files name recordings by the id of the list or by the name of the audio file without its
        # ending.
        own = turns.get(within[i], turns.get(recording.path.stem))
        if own is None:
            raise FileFormatError(f"{where} has no turns in {within[i]!r}")
        who = None if listed.speakers is None else listed.speakers[i]
        # all turns, unless they say which are those of the speaker of this utterance
        chosen = [turn for turn in own if turn[0] == who] or own
        marked.append(replace(recording, turns=tuple((start, end) for _, start, end in chosen)))
    return marked


ARRAY_FILES = (".npz", ".ark", ".scp")


@documented(SpeechInput)
def read_speech(
    path: PathArg,
    *,
    front_end: FrontEnd | None = None,
    options: SpeechInput | None = None,
    **changes: Unpack[SpeechInputKeywords],
) -> tuple[Frames | Embeddings, FrontEnd | None]:
    """Read speech, frames or embeddings; gives the front end too, where frames are made from audio.

    Parameters
    ----------
    path
        A list of speakers and files (see ``read_speech_list``), Kaldi's wav.scp, or a file of embeddings
        or frames: NPZ, Kaldi ark or scp.
    front_end
        How audio becomes frames; without a sample rate, that of most files is taken.
    options
        Options made before; those that are given as keywords replace theirs.
    {options}

    Examples
    --------
    >>> import tempfile
    >>> home = Path(tempfile.mkdtemp())
    >>> np.savez(home / "xvectors.npz", vectors=np.eye(3), ids=["a", "b", "c"])
    >>> _ = (home / "list.tsv").write_text("anna\\ta\\nben\\tc\\n")
    >>> read_speech(home / "list.tsv", source=home / "xvectors.npz")[0]
    Embeddings(2 rows of 3 dimensions, 2 speakers)
    """
    asked = SpeechInput.of(options, changes)
    source, vectors, utt2spk = asked.source, asked.vectors, asked.utt2spk
    file = Path(path)
    how: FrontEnd | None = None
    speech: Frames | Embeddings
    of_arrays = holds_arrays(file)
    if (of_arrays or source is not None) and (asked.segments is not None or asked.vad is not None):
        raise InputError(f"{file}: segments and voice activity are for audio files")
    if of_arrays and source is not None:
        raise InputError(f"{file}: holds frames or embeddings itself; {source} is for a list of ids")
    if of_arrays:
        speech = _read_frames_or_embeddings(file, vectors)
    elif source is not None:
        speech = _read_frames_or_embeddings(Path(source), vectors)
        at = {name: i for i, name in enumerate(map(str, speech.ids))}
        # Read after the ids, which tell which column of the list holds them.
        listed = read_speech_list(file, known=at)
        for name, line in zip(listed.files, listed.lines, strict=True):
            if name not in at:
                raise FileFormatError(f"{listed.origin}, line {line}: there is no {name!r} in {source}")
        # The rows that are in the list, in its order, with its columns and speakers.
        rows = [at[name] for name in listed.files]
        if isinstance(speech, Frames):
            speech = speech.subset(rows).with_columns(listed.columns)
        else:
            more = {name: np.array(values) for name, values in listed.columns.items()}
            speech = speech.select(rows)
            speech = speech.replace(columns={**speech.columns, **more})
        if listed.speakers is not None:
            speech = _with_speakers(speech, listed.speakers)
    else:
        if vectors is not None:
            raise InputError(f"{file}: a list of audio files has no embeddings {vectors!r} to choose")
        speech, how = read_audio_list(file, front_end or FrontEnd(), asked)
    if utt2spk is not None and how is None:
        speech = _with_speakers(speech, kaldi.read_speakers(utt2spk, speech.ids, str(file)))
    if asked.where:
        # The id and the speaker can be asked for like any column.
        columns: dict[str, Sequence[object] | Array] = {"id": speech.ids, **speech.columns}
        if speech.speakers is not None:
            columns["speaker"] = speech.speakers
        rows = rows_where(columns, asked.where, str(file)).tolist()
        speech = speech.subset(rows) if isinstance(speech, Frames) else speech.select(rows)
    return speech, how


def holds_arrays(path: PathArg) -> bool:
    """Whether a file holds frames or embeddings, rather than a list.

    Examples
    --------
    >>> holds_arrays("xvectors.npz"), holds_arrays("train.tsv")
    (True, False)
    """
    file = Path(path)
    return file.suffix.lower() in ARRAY_FILES and not _is_audio_scp(file)


def _is_audio_scp(file: Path) -> bool:
    return file.suffix.lower() == ".scp" and file.is_file() and kaldi.is_wav_scp(file)


def _read_frames_or_embeddings(file: Path, vectors: str | None) -> Frames | Embeddings:
    existing_file(file)
    if file.suffix.lower() == ".npz":
        # embeddings come with their ids, frames have them as names of their arrays
        if vectors is not None or named(list(read_arrays(file)), (*ID_NAMES, "vectors", "embeddings")):
            return read_embeddings(file, vectors=vectors)
        return read_frames(file)
    # Frames and embeddings have the same format in Kaldi; a matrix of several rows is frames.
    first = None if vectors is not None else next(iter(kaldi.read_kaldi(file)), None)
    if first is not None and first[1].ndim == 2 and len(first[1]) > 1:
        return read_frames(file)
    return read_embeddings(file, vectors=vectors)


def _with_speakers(speech: Frames | Embeddings, speakers: tuple[str, ...]) -> Frames | Embeddings:
    if isinstance(speech, Frames):
        return replace(speech, speakers=speakers)
    return speech.replace(speakers=np.array(speakers))
