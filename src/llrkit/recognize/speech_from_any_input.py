"""What a person gives a recognizer: a list of audio files, or files of frames or embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np

from llrkit._arrays import Array
from llrkit._inputs import existing_file
from llrkit.errors import FileFormatError, InputError
from llrkit.io.binary.numpy_files import read_arrays
from llrkit.io.text.header_row import named
from llrkit.io.where_conditions import rows_where
from llrkit.recognize.embedding_files import ID_NAMES, read_embeddings
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.frames.frame_files import read_frames
from llrkit.recognize.frames.front_end import FrontEnd
from llrkit.recognize.frames.utterance_frames import Frames
from llrkit.recognize.kaldi_archives import read_kaldi
from llrkit.recognize.kaldi_lists import is_wav_scp, read_utt2spk
from llrkit.recognize.listed_audio_to_frames import read_audio_list
from llrkit.recognize.speech_list_table import SpeechList, read_speech_list

ARRAY_FILES = (".npz", ".ark", ".scp")
Path_ = str | PathLike[str]


def read_speech(
    path: Path_,
    *,
    source: Path_ | None = None,
    folder: Path_ | None = None,
    front_end: FrontEnd | None = None,
    vectors: str | None = None,
    segments: Path_ | None = None,
    utt2spk: Path_ | None = None,
    vad: Path_ | None = None,
    bad_files: str = "error",
    where: Sequence[str] = (),
) -> tuple[Frames | Embeddings, FrontEnd | None]:
    """Read speech, frames or embeddings; gives the front end too, where frames are made from audio.

    Parameters
    ----------
    path
        A list of speakers and files (see ``read_speech_list``), Kaldi's wav.scp, or a file of embeddings
        or frames: NPZ, Kaldi ark or scp.
    source
        With a list: the file of frames or embeddings whose ids are in the list; without it, the list holds
        audio files.
    folder
        Where the audio files are, if not beside the list.
    front_end
        How audio becomes frames; without a sample rate, that of most files is taken.
    vectors
        Which matrix of an NPZ file holds the embeddings, where there are several (see
        :func:`read_embeddings`).
    segments, vad
        Of audio: Kaldi's segments, and where speech is (RTTM, or Kaldi's voice activity).
    utt2spk
        A file with the speaker of each utterance.
    bad_files
        'error', or 'skip' to leave out audio files that cannot be used, with a warning that names them.
    where
        Conditions such as ``split = train`` on the columns; only utterances that satisfy all are read.

    Examples
    --------
    >>> import tempfile
    >>> home = Path(tempfile.mkdtemp())
    >>> np.savez(home / "xvectors.npz", vectors=np.eye(3), ids=["a", "b", "c"])
    >>> _ = (home / "list.tsv").write_text("anna\\ta\\nben\\tc\\n")
    >>> read_speech(home / "list.tsv", source=home / "xvectors.npz")[0]
    Embeddings(2 rows of 3 dimensions, 2 speakers)
    """
    file = Path(path)
    how: FrontEnd | None = None
    speech: Frames | Embeddings
    of_arrays = holds_arrays(file)
    if (of_arrays or source is not None) and (segments is not None or vad is not None):
        raise InputError(f"{file}: segments and voice activity are for audio files")
    if of_arrays:
        if source is not None:
            raise InputError(f"{file}: holds frames or embeddings itself; {source} is for a list of ids")
        speech = _speech_with_speakers(_read_frames_or_embeddings(file, vectors), utt2spk, str(file))
    elif source is not None:
        stored = _read_frames_or_embeddings(Path(source), vectors)
        listed = read_speech_list(file, known=set(map(str, stored.ids)))
        speech = _speech_with_speakers(
            _select_listed_embeddings(stored, listed, str(source)), utt2spk, str(file)
        )
    else:
        if vectors is not None:
            raise InputError(f"{file}: a list of audio files has no embeddings {vectors!r} to choose")
        speech, how = read_audio_list(
            file, front_end or FrontEnd(), folder=folder, segments=segments, utt2spk=utt2spk, vad=vad,
            bad_files=bad_files,
        )  # fmt: skip
    return (_utterances_where(speech, where, str(file)) if where else speech), how


def holds_arrays(path: Path_) -> bool:
    """Whether a file holds frames or embeddings, rather than a list.

    Examples
    --------
    >>> holds_arrays("xvectors.npz"), holds_arrays("train.tsv")
    (True, False)
    """
    file = Path(path)
    suffix = file.suffix.lower()
    return suffix in ARRAY_FILES and not (suffix == ".scp" and file.is_file() and is_wav_scp(file))


def _speech_with_speakers(
    speech: Frames | Embeddings, utt2spk: Path_ | None, where: str
) -> Frames | Embeddings:
    if utt2spk is None:
        return speech
    known = read_utt2spk(utt2spk)
    missing = [str(name) for name in speech.ids if str(name) not in known]
    if missing:
        raise FileFormatError(f"{utt2spk}: no speaker of {missing[0]!r}, which is in {where}")
    speakers = tuple(known[str(name)] for name in speech.ids)
    if isinstance(speech, Frames):
        return replace(speech, speakers=speakers)
    return speech.replace(speakers=np.array(speakers))


def _utterances_where(speech: Frames | Embeddings, texts: Sequence[str], file: str) -> Frames | Embeddings:
    """The utterances that satisfy all conditions."""
    known: dict[str, Sequence[object] | Array] = {"id": speech.ids, **speech.columns}
    if speech.speakers is not None:
        known["speaker"] = speech.speakers
    rows = rows_where(known, texts, file)
    return speech.subset(rows.tolist()) if isinstance(speech, Frames) else speech.select(rows)


def _read_frames_or_embeddings(file: Path, vectors: str | None) -> Frames | Embeddings:
    existing_file(file)
    if file.suffix.lower() == ".npz":
        # embeddings come with their ids, frames have them as names of their arrays
        if vectors is not None or named(list(read_arrays(file)), (*ID_NAMES, "vectors", "embeddings")):
            return read_embeddings(file, vectors=vectors)
        return read_frames(file)
    first = None if vectors is not None else next(iter(read_kaldi(file)), None)
    if first is not None and first[1].ndim == 2 and len(first[1]) > 1:
        return read_frames(file)
    return read_embeddings(file, vectors=vectors)


def _select_listed_embeddings(
    speech: Frames | Embeddings, listed: SpeechList, source: str
) -> Frames | Embeddings:
    """The rows that are in the list, in its order, with its speakers."""
    at = {name: i for i, name in enumerate(map(str, speech.ids))}
    for name, line in zip(listed.files, listed.lines, strict=True):
        if name not in at:
            raise FileFormatError(f"{listed.origin}, line {line}: there is no {name!r} in {source}")
    rows = [at[name] for name in listed.files]
    if isinstance(speech, Frames):
        frames = speech.subset(rows).with_columns(listed.columns)
        return frames if listed.speakers is None else replace(frames, speakers=listed.speakers)
    embeddings = speech.select(rows)
    more = {name: np.array(values) for name, values in listed.columns.items()}
    embeddings = embeddings.replace(columns={**embeddings.columns, **more})
    return embeddings if listed.speakers is None else embeddings.replace(speakers=np.array(listed.speakers))
