"""Frames written so that :func:`llrkit.recognize.read_frames` and Kaldi read them."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from llrkit._atomic import replacing
from llrkit.errors import InputError
from llrkit.recognize.frames.utterance_frames import Frames
from llrkit.recognize.kaldi_archives import write_kaldi


def write_frames(frames: Frames, path: str | PathLike[str]) -> None:
    """Write one array for each utterance: ``.npz``, or ``.ark`` with an ``.scp`` beside it.

    Examples
    --------
    >>> import tempfile
    >>> from llrkit.recognize import read_frames
    >>> file = tempfile.mkdtemp() + "/frames.npz"
    >>> write_frames(Frames.of([np.zeros((3, 2))], ids=["a"]), file)
    >>> read_frames(file)[0].shape
    (3, 2)
    """
    file = Path(path)
    if file.suffix.lower() == ".ark":
        write_kaldi(file, zip(frames.ids, frames, strict=True))
        return
    if file.suffix.lower() != ".npz":
        raise InputError(f"{file}: the ending must be .npz or .ark")
    with replacing(file) as temporary, temporary.open("wb") as raw:
        np.savez(raw, allow_pickle=False, **dict(zip(frames.ids, frames, strict=True)))
