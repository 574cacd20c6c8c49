"""What a person gives a recognizer: a list of audio files, or files of frames or embeddings."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np

from llrkit.errors import FileFormatError, InputError
from llrkit.io.binary.numpy_files import read_arrays
from llrkit.io.text.layouts import named
from llrkit.recognize.embedding_files import ID_NAMES, read_embeddings
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.frames.audio import audio_frames, with_rate_of
from llrkit.recognize.frames.frame_files import read_frames
from llrkit.recognize.frames.front_end import FrontEnd
from llrkit.recognize.frames.utterance_frames import Frames
from llrkit.recognize.kaldi import read_kaldi
from llrkit.recognize.speech_lists import SpeechList, read_speech_list

ARRAY_FILES = (".npz", ".ark", ".scp")
Path_ = str | PathLike[str]


def read_speech(
    path: Path_,
    *,
    source: Path_ | None = None,
    folder: Path_ | None = None,
    front_end: FrontEnd | None = None,
    vectors: str | None = None,
) -> tuple[Frames | Embeddings, FrontEnd | None]:
    """Read speech, frames or embeddings; gives the front end too, where frames are made from audio.

    Parameters
    ----------
    path
        A list of speakers and files (see :func:`read_speech_list`), or a file of embeddings or frames: NPZ,
        Kaldi ark or scp.
    source
        With a list: the file of frames or embeddings whose ids are in the list; without it, the list holds
        audio files.
    folder
        Where the audio files are, if not beside the list.
    front_end
        How audio becomes frames; without a sample rate, the first file's is required of all.
    vectors
        Which matrix of an NPZ file holds the embeddings, where there are several (see
        :func:`read_embeddings`).

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
    if file.suffix.lower() in ARRAY_FILES:
        if source is not None:
            raise InputError(f"{file}: holds frames or embeddings itself; {source} is for a list of ids")
        return _read_arrays(file, vectors), None
    if source is not None:
        stored = _read_arrays(Path(source), vectors)
        return _select_listed(
            stored, read_speech_list(file, known=set(map(str, stored.ids))), str(source)
        ), None
    if vectors is not None:
        raise InputError(f"{file}: a list of audio files has no embeddings {vectors!r} to choose")
    listed = read_speech_list(file)
    paths = listed.paths(folder)
    how = with_rate_of(paths[0], front_end or FrontEnd())
    return audio_frames(paths, how, ids=listed.files, speakers=listed.speakers), how


def _read_arrays(file: Path, vectors: str | None) -> Frames | Embeddings:
    if not file.is_file():
        raise FileFormatError(f"{file}: no such file")
    if file.suffix.lower() == ".npz":
        # embeddings come with their ids, frames have them as names of their arrays
        if vectors is not None or named(list(read_arrays(file)), (*ID_NAMES, "vectors", "embeddings")):
            return read_embeddings(file, vectors=vectors)
        return read_frames(file)
    first = None if vectors is not None else next(iter(read_kaldi(file)), None)
    if first is not None and first[1].ndim == 2 and len(first[1]) > 1:
        return read_frames(file)
    return read_embeddings(file, vectors=vectors)


def _select_listed(speech: Frames | Embeddings, listed: SpeechList, source: str) -> Frames | Embeddings:
    """The rows that are in the list, in its order, with its speakers."""
    at = {name: i for i, name in enumerate(map(str, speech.ids))}
    for name, line in zip(listed.files, listed.lines, strict=True):
        if name not in at:
            raise FileFormatError(f"{listed.origin}, line {line}: there is no {name!r} in {source}")
    rows = [at[name] for name in listed.files]
    if isinstance(speech, Frames):
        frames = speech.subset(rows)
        return frames if listed.speakers is None else replace(frames, speakers=listed.speakers)
    embeddings = speech.select(rows)
    return embeddings if listed.speakers is None else embeddings.replace(speakers=np.array(listed.speakers))
