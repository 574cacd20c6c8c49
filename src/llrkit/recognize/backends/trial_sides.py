"""One side of many trials: enrolled models, test segments or a cohort, in the form a back-end scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from llrkit.errors import FileFormatError
from llrkit.recognize.backends.svm import LinearModels
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.frames.utterance_frames import Frames
from llrkit.recognize.ivectors.speaker_gmms import SpeakerGMMs
from llrkit.recognize.model_files import load_arrays, naming_file, save_arrays

SCHEMA = "llrkit.enrolled/1"
Texts = npt.NDArray[np.str_]


@dataclass(frozen=True, eq=False)
class Side:
    """Ids and speakers of models or segments, and what there is of them.

    A side that enrolls has one row per model: embeddings (averages over sessions), adapted mixtures or
    support vector machines. A side that is tested has embeddings or frames. A cohort has both.

    Examples
    --------
    >>> from llrkit.recognize.recognizer_training import train_recognizer
    >>> rng = np.random.default_rng(1)
    >>> sessions = Embeddings(rng.normal(size=(8, 2)), list("abcdefgh"), list("xxxxyyzz"))
    >>> models = train_recognizer(sessions, "cosine").enroll(sessions)
    >>> models.ids.tolist(), models.embeddings.columns["sessions"].tolist()
    (['x', 'y', 'z'], [4, 2, 2])
    """

    ids: Texts
    speakers: Texts | None = None
    embeddings: Embeddings | None = None
    frames: Frames | None = None
    mixtures: SpeakerGMMs | None = None
    machines: LinearModels | None = None
    recognizer: str = ""

    def __len__(self) -> int:
        return len(self.ids)

    def save(self, path: str | PathLike[str]) -> None:
        """Write enrolled models to an NPZ file."""
        arrays: dict[str, npt.NDArray[Any]] = {"ids": self.ids, "recognizer": np.array(self.recognizer)}
        if self.speakers is not None:
            arrays["speakers"] = self.speakers
        if self.embeddings is not None:
            arrays["vectors"] = self.embeddings.vectors
            arrays["sessions"] = self.embeddings.column("sessions")
            if self.embeddings.covariances is not None:
                arrays["covariances"] = self.embeddings.covariances
        if self.mixtures is not None:
            arrays["means"] = self.mixtures.means
        if self.machines is not None:
            arrays["weights"], arrays["offsets"] = self.machines.weights, self.machines.offsets
        save_arrays(path, SCHEMA, arrays)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Side:
        """Read enrolled models."""
        arrays = load_arrays(path, SCHEMA, ("ids", "recognizer"))
        ids, speakers = arrays["ids"], arrays.get("speakers")
        embeddings = mixtures = machines = None
        with naming_file(str(path)):
            if "vectors" in arrays:
                columns = {"sessions": arrays["sessions"]}
                embeddings = Embeddings(arrays["vectors"], ids, speakers, columns, arrays.get("covariances"))
            elif "means" in arrays:
                mixtures = SpeakerGMMs(tuple(ids.tolist()), arrays["means"])
            elif "weights" in arrays:
                machines = LinearModels(ids, arrays["weights"], arrays["offsets"])
            else:
                raise FileFormatError(f"{path}: there are no models in it")
        return cls(ids, speakers, embeddings, None, mixtures, machines, str(arrays["recognizer"]))


def text_array(values: Sequence[str] | npt.NDArray[Any]) -> Texts:
    """Texts as an array."""
    return np.asarray(values, dtype=np.str_)
