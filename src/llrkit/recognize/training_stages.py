"""Stages of a training that are kept in a folder, and used again while nothing before them has changed.

Each stage is a file of arrays with a key: the hash of everything that decides what is in it (contents of the
recordings, options, the key of the stage before). A file whose key differs, or that is broken, is made again.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from llrkit._arrays import Array
from llrkit.errors import LlrkitError
from llrkit.recognize.frames.front_end import FrontEnd
from llrkit.recognize.frames.utterance_frames import Frames
from llrkit.recognize.model_files import Arrays, load_arrays, save_arrays

SCHEMA = "llrkit.stage/1"
IVECTORS = "ivectors.npz"
"""In the folder too: the raw i-vectors of the training, a file of embeddings for other back-ends."""


@dataclass(frozen=True)
class Stages:
    """A folder of stages.

    Examples
    --------
    >>> import tempfile
    >>> stages = Stages(Path(tempfile.mkdtemp()))
    >>> stages.save("ubm", "some key", {"weights": np.ones(1)})
    >>> stages.load("ubm", "some key")["weights"], stages.load("ubm", "another key")
    (array([1.]), None)
    """

    folder: Path
    """Where the stages are kept, usually ``MODEL.stages``."""

    def load(self, name: str, key: str) -> Arrays | None:
        """The arrays of a stage; None if it has to be made.

        Parameters
        ----------
        name
            Name of the stage.
        key
            What the stage was made from; another key means it has to be made again.
        """
        file = self.folder / f"{name}.npz"
        if not file.is_file():
            return None
        try:
            arrays = dict(load_arrays(file, SCHEMA, ("key",)))
        except LlrkitError:
            return None  # broken: it is made again
        return arrays if str(arrays.pop("key")) == key else None

    def save(self, name: str, key: str, arrays: dict[str, Array]) -> None:
        """Keep the arrays of a stage.

        Parameters
        ----------
        name
            Name of the stage.
        key
            What the stage was made from.
        arrays
            Named arrays, as they were saved.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        save_arrays(self.folder / f"{name}.npz", SCHEMA, {"key": np.array(key), **arrays})


def stage_key(*parts: object) -> str:
    """The hash of what decides what is in a stage.

    Examples
    --------
    >>> stage_key("a", 1) == stage_key("a", 1), stage_key("a", 1) == stage_key("a", 2)
    (True, False)
    """
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def input_key(frames: Frames, front_end: FrontEnd | None) -> str | None:
    """The hash of recordings, of where speech is said to be in them and of how frames are made of them.

    None where contents are not known.
    """
    if frames.contents is None:
        return None
    how = None if front_end is None else asdict(front_end)
    return stage_key(frames.ids, frames.contents, how, *([frames.marks] if frames.marks else []))
