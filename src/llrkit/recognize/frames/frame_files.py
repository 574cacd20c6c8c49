"""Frames that were computed elsewhere: Kaldi ark and scp, and NPZ with one array per utterance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TypeVar

import numpy as np

from llrkit._inputs import existing_file, file_sha256
from llrkit.errors import FileFormatError
from llrkit.io.binary.numpy_files import read_arrays
from llrkit.recognize.frames.utterance_frames import Frames, checked_frames
from llrkit.recognize.kaldi_archives import index_scp, read_kaldi

T = TypeVar("T")


def read_frames(path: str | PathLike[str], *, speakers: Mapping[str, str] | None = None) -> Frames:
    """Read frames from a Kaldi ark or scp file, or from an NPZ file with one array per utterance.

    Parameters
    ----------
    path
        The file; ``.ark`` and ``.scp`` are Kaldi's, anything else is read as NPZ. Each array has the shape
        (frames, dimensions), its name is the id of the utterance. Only what an scp file points to is loaded
        when it is needed; the others are read whole.
    speakers
        The speaker of each id, if they are known.

    Examples
    --------
    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/frames.npz"
    >>> np.savez(file, utt1=np.zeros((5, 2)), utt2=np.ones((7, 2)))
    >>> frames = read_frames(file, speakers={"utt1": "a", "utt2": "b"})
    >>> frames, frames.ids
    (Frames(2 utterances of 2 speakers), ('utt1', 'utt2'))
    """
    file = existing_file(path)
    kind = file.suffix.lower()
    if kind == ".scp":
        loaders = dict(_refuse_duplicate_utterances(index_scp(file), file))
    else:
        arrays = read_kaldi(file) if kind == ".ark" else read_arrays(file).items()
        loaders = {
            name: partial(np.asarray, array) for name, array in _refuse_duplicate_utterances(arrays, file)
        }
    if not loaders:
        raise FileFormatError(f"{file}: holds no frames")
    names, load = tuple(loaders), list(loaders.values())
    unknown = next((name for name in names if speakers is not None and name not in speakers), None)
    if unknown is not None:
        raise FileFormatError(f"{file}: the speaker of {unknown!r} is not known")
    return Frames(
        names,
        lambda i: checked_frames(load[i](), name=f"{file}, {names[i]}"),
        None if speakers is None else tuple(speakers[name] for name in names),
        ahead=kind == ".scp",
        contents=_contents_of_frame_files(file, names),
    )


def _contents_of_frame_files(file: Path, names: tuple[str, ...]) -> tuple[str, ...]:
    """Which array of which file each utterance is; of an index the files that it points to count."""
    archives = [file]
    if file.suffix.lower() == ".scp":
        places = (
            line.split(maxsplit=1)[1] for line in file.read_text("utf-8", "replace").splitlines() if line
        )
        found = dict.fromkeys(Path(place.strip().rpartition(":")[0]) for place in places)
        archives += [ark if ark.is_absolute() or ark.exists() else file.parent / ark for ark in found]
    hashes = "+".join(file_sha256(archive)[:32] for archive in archives if archive.is_file())
    return tuple(f"frames:{hashes}#{name}" for name in names)


def _refuse_duplicate_utterances(pairs: Iterable[tuple[str, T]], file: Path) -> Iterator[tuple[str, T]]:
    seen = set()
    for name, what in pairs:
        if name in seen:
            raise FileFormatError(f"{file}: {name!r} occurs more than once")
        seen.add(name)
        yield name, what
