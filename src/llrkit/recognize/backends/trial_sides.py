"""One side of many trials: enrolled models, test segments or a cohort, in the form a back-end scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array
from llrkit.errors import FileFormatError, InputError
from llrkit.recognize.backends.svm import LinearModels
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.frames.utterance_frames import Frames
from llrkit.recognize.ivectors.speaker_gmms import SpeakerGMMs
from llrkit.recognize.model_files import load_arrays, naming_file, save_arrays
from llrkit.recognize.overlap_sources import Sources

SCHEMA = "llrkit.enrolled/1"
COHORT_SCHEMA = "llrkit.cohort/1"
_COLUMN, _SOURCE = "column.", "source."
Texts = npt.NDArray[np.str_]


@dataclass(frozen=True, eq=False)
class Side:
    """Ids and speakers of models or segments, with their embeddings, frames or models.

    A side that enrolls has one row per model: embeddings (averages over sessions), adapted mixtures or
    support vector machines. A side that is tested has embeddings or frames. A cohort has both.

    Examples
    --------
    >>> from llrkit.recognize.recognizer_training import train_recognizer
    >>> rng = np.random.default_rng(1)
    >>> sessions = Embeddings(rng.normal(size=(8, 2)), list("abcdefgh"), list("xxxxyyzz"))
    >>> others = Embeddings(rng.normal(size=(8, 2)), list("ijklmnop"), list("uuuuvvww"))
    >>> models = train_recognizer(others, "cosine").enroll(sessions)
    >>> models.ids.tolist(), models.embeddings.columns["sessions"].tolist()
    (['x', 'y', 'z'], [4, 2, 2])
    """

    ids: Texts
    """The name of each model or segment."""
    speakers: Texts | None = None
    """The speaker of each row, if known."""
    embeddings: Embeddings | None = None
    """Embeddings after all steps, one row each."""
    frames: Frames | None = None
    """The frames that a UBM-GMM recognizer is tested with."""
    mixtures: SpeakerGMMs | None = None
    """Models of a UBM-GMM recognizer."""
    machines: LinearModels | None = None
    """Models of an SVM recognizer."""
    recognizer: str = ""
    """The fingerprint of the recognizer that made this side; others refuse it."""
    columns: Mapping[str, Array] = field(default_factory=dict)
    """What else is known of each row: name -> one value each."""
    sources: Sources = field(default_factory=Sources)
    """The utterances that it was made from."""

    def __len__(self) -> int:
        return len(self.ids)

    def save(self, path: str | PathLike[str], *, cohort: bool = False) -> None:
        """Write enrolled models, or a cohort, to an NPZ file.

        Parameters
        ----------
        path
            The file.
        cohort
            Whether this is a cohort.
        """
        if self.frames is not None:
            raise InputError(
                f"{path}: a ubm-gmm recognizer is tested with frames, which are not saved; "
                "give the list itself"
            )
        arrays: dict[str, Array] = {"ids": self.ids, "recognizer": np.array(self.recognizer)}
        if self.speakers is not None:
            arrays["speakers"] = self.speakers
        if self.embeddings is not None:
            arrays["vectors"] = self.embeddings.vectors
            sessions = self.embeddings.columns.get("sessions", np.ones(len(self), dtype=np.int64))
            arrays["sessions"] = sessions
            if self.embeddings.covariances is not None:
                arrays["covariances"] = self.embeddings.covariances
        if self.mixtures is not None:
            arrays["means"] = self.mixtures.means
        if self.machines is not None:
            arrays["weights"], arrays["offsets"] = self.machines.weights, self.machines.offsets
        arrays.update({_COLUMN + name: values for name, values in self.columns.items()})
        arrays.update(self.sources.arrays(_SOURCE))
        save_arrays(path, COHORT_SCHEMA if cohort else SCHEMA, arrays)

    @classmethod
    def load(cls, path: str | PathLike[str], *, cohort: bool = False) -> Side:
        """Read enrolled models, or a cohort.

        Parameters
        ----------
        path
            The file.
        cohort
            Whether a cohort is wanted.
        """
        arrays = load_arrays(path, COHORT_SCHEMA if cohort else SCHEMA, ("ids", "recognizer"))
        ids, speakers = arrays["ids"], arrays.get("speakers")
        embeddings = mixtures = machines = None
        with naming_file(str(path)):
            if "vectors" in arrays:
                columns = {"sessions": arrays["sessions"]}
                embeddings = Embeddings(arrays["vectors"], ids, speakers, columns, arrays.get("covariances"))
            if "means" in arrays:
                mixtures = SpeakerGMMs(tuple(ids.tolist()), arrays["means"])
            if "weights" in arrays:
                machines = LinearModels(ids, arrays["weights"], arrays["offsets"])
            if embeddings is None and mixtures is None and machines is None:
                raise FileFormatError(f"{path}: there are no models in it")
            columns = {
                name.removeprefix(_COLUMN): values
                for name, values in arrays.items()
                if name.startswith(_COLUMN) and values.shape == ids.shape
            }
            sources = Sources.from_arrays(arrays, _SOURCE)
        made_by = str(arrays["recognizer"])
        return cls(ids, speakers, embeddings, None, mixtures, machines, made_by, columns, sources)


def text_array(values: Sequence[str] | Array) -> Texts:
    """Texts as an array."""
    return np.asarray(values, dtype=np.str_)
