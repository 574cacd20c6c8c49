"""Frames that were computed elsewhere: Kaldi ark and scp, and NPZ with one array per utterance."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from llrkit.errors import FileFormatError
from llrkit.io.numpy_files import read_arrays
from llrkit.recognize.frames import Frames
from llrkit.recognize.gaussians import checked_frames
from llrkit.recognize.kaldi import read_kaldi


def read_frames(path: str | PathLike[str], *, speakers: Mapping[str, str] | None = None) -> Frames:
    """Read frames from a Kaldi ark or scp file, or from an NPZ file with one array per utterance.

    Parameters
    ----------
    path
        The file; ``.ark`` and ``.scp`` are Kaldi's, anything else is read as NPZ. Each array has the shape
        (frames, dimensions), its name is the id of the utterance.
    speakers
        The speaker of each id, if they are known.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> file = tempfile.mkdtemp() + "/frames.npz"
    >>> np.savez(file, utt1=np.zeros((5, 2)), utt2=np.ones((7, 2)))
    >>> frames = read_frames(file, speakers={"utt1": "a", "utt2": "b"})
    >>> frames, frames.ids
    (Frames(2 utterances of 2 speakers), ('utt1', 'utt2'))
    """
    file = Path(path)
    if not file.is_file():
        raise FileFormatError(f"{file}: no such file")
    if file.suffix.lower() in (".ark", ".scp"):
        pairs = list(read_kaldi(file))
    else:
        pairs = list(read_arrays(file).items())
    if not pairs:
        raise FileFormatError(f"{file}: holds no frames")
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise FileFormatError(f"{file}: {twice!r} occurs more than once")
    arrays = [checked_frames(array, name=f"{file}, {name}") for name, array in pairs]
    if speakers is None:
        return Frames.of(arrays, ids=names)
    unknown = next((name for name in names if name not in speakers), None)
    if unknown is not None:
        raise FileFormatError(f"{file}: the speaker of {unknown!r} is not known")
    return Frames.of(arrays, ids=names, speakers=[speakers[name] for name in names])
