"""The whole chain as one thing: speech or embeddings in, scores of all pairs out."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from llrkit.errors import FileFormatError, InputError
from llrkit.recognize.backend import Backend, normalised_scores
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.extractor import Extractor, Watch
from llrkit.recognize.frames import Frames
from llrkit.recognize.gmm import adapt_means, gmm_scores
from llrkit.recognize.model_files import load_arrays, save_arrays
from llrkit.recognize.plda import PLDA
from llrkit.recognize.sessions import pool_sessions
from llrkit.recognize.sides import Side, text_array
from llrkit.recognize.svm import train_svm
from llrkit.recognize.transforms import Chain

SCHEMA = "llrkit.recognizer/1"
BACKENDS = ("plda", "cosine", "lda-cosine", "svm", "ubm-gmm")
_PLDA = ("mean", "between", "within")


@dataclass(frozen=True)
class Options:
    """What is decided before scoring: see :func:`train_recognizer`."""

    backend: str = "plda"
    uncertainty: bool = False
    relevance: float = 16.0
    top_gaussians: int | None = 5
    cost: float = 1.0


@dataclass(frozen=True, eq=False, repr=False)
class Recognizer:
    """Everything between speech, or embeddings, and scores.

    ``enroll`` makes models, ``prepare`` makes test segments or a cohort, ``scores`` scores all pairs.
    """

    options: Options
    extractor: Extractor | None = None
    backend: Backend | None = None
    background: Embeddings | None = None

    def prepare(self, speech: Frames | Embeddings, *, watch: Watch | None = None) -> Side:
        """Test segments, one row per utterance."""
        if self.options.backend == "ubm-gmm":
            frames = self._frames(speech)
            speakers = None if frames.speakers is None else text_array(frames.speakers)
            return Side(text_array(frames.ids), speakers, frames=frames)
        ready = self._ready(speech, watch)
        return Side(ready.ids, ready.speakers, ready)

    def enroll(self, speech: Frames | Embeddings, *, each: bool = False, watch: Watch | None = None) -> Side:
        """Models, one per speaker from all its utterances, or one of each utterance."""
        if not each and speech.speakers is None:
            raise InputError("to enrol one model per speaker the speakers must be known")
        if self.options.backend == "ubm-gmm":
            return self._adapted(self._frames(speech), each, watch)
        ready = self._ready(speech, watch)
        models = ready.ids if each else ready.known_speakers
        if self.options.backend == "svm":
            assert self.background is not None
            machines = train_svm(ready, self.background, models, cost=self.options.cost)
            speakers = ready.speakers if each else text_array(machines.ids)
            return Side(text_array(machines.ids), speakers, machines=machines, recognizer=self.fingerprint)
        assert self.backend is not None
        pooled = pool_sessions(ready, models, plda=self.backend.plda)
        return Side(pooled.ids, pooled.speakers, pooled, recognizer=self.fingerprint)

    def cohort(self, speech: Frames | Embeddings, *, watch: Watch | None = None) -> Side:
        """Impostors for score normalisation: each utterance both as a model and as a segment."""
        if isinstance(speech, Frames):
            speech = speech.kept()
        models, segments = self.enroll(speech, each=True, watch=watch), self.prepare(speech, watch=watch)
        return Side(
            segments.ids, segments.speakers, segments.embeddings, segments.frames, models.mixtures,
            models.machines,
        )  # fmt: skip

    def scores(
        self,
        models: Side,
        segments: Side,
        *,
        normalise: str = "none",
        cohort: Side | None = None,
        top: int | None = None,
    ) -> npt.NDArray[Any]:
        """Scores of all pairs, shape (models, segments), normalised by a cohort if asked for.

        See :meth:`llrkit.recognize.Backend.scores` for the kinds of normalisation.
        """
        if models.recognizer not in ("", self.fingerprint):
            raise InputError("these models were enrolled with another recogniser; enrol them again")
        # all it needs of either side are ids and speakers, which a Side has like embeddings
        sides: Any = (models, segments, cohort)
        score: Any = self._score
        return normalised_scores(score, *sides, normalise=normalise, top=top)

    def _score(self, models: Side, segments: Side) -> npt.NDArray[Any]:
        if models.mixtures is not None and segments.frames is not None and self.extractor is not None:
            return gmm_scores(
                models.mixtures, segments.frames, self.extractor.ubm, top=self.options.top_gaussians
            )
        if models.machines is not None and segments.embeddings is not None:
            return models.machines.scores(segments.embeddings)
        if models.embeddings is not None and segments.embeddings is not None and self.backend is not None:
            return self.backend.scores(models.embeddings, segments.embeddings)
        raise InputError(f"these models cannot be scored by a {self.options.backend} recogniser")

    def _frames(self, speech: Frames | Embeddings) -> Frames:
        if isinstance(speech, Embeddings):
            raise InputError("the recogniser was trained on speech; embeddings of another kind do not fit it")
        return speech

    def _ready(self, speech: Frames | Embeddings, watch: Watch | None) -> Embeddings:
        assert self.backend is not None
        if self.extractor is None and isinstance(speech, Frames):
            raise InputError("the recogniser was trained on embeddings; it cannot make them from speech")
        if self.extractor is not None:
            speech = self.extractor.embed(
                self._frames(speech), covariances=self.options.uncertainty, watch=watch
            )
        assert isinstance(speech, Embeddings)
        return self.backend.prepare(speech)

    def _adapted(self, frames: Frames, each: bool, watch: Watch | None) -> Side:
        assert self.extractor is not None
        statistics = self.extractor.statistics(frames, watch)
        if not each:
            statistics = statistics.by_speaker()
        mixtures = adapt_means(statistics, self.extractor.ubm, relevance=self.options.relevance)
        speakers = None if statistics.speakers is None else text_array(statistics.speakers)
        return Side(text_array(mixtures.ids), speakers, mixtures=mixtures, recognizer=self.fingerprint)

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What is saved."""
        made: dict[str, npt.NDArray[Any]] = {"options": np.array(json.dumps(asdict(self.options)))}
        if self.extractor is not None:
            made.update(self.extractor.arrays())
        if self.backend is not None:
            made.update(self.backend.chain.arrays())
            if self.backend.plda is not None:
                made.update({f"plda.{name}": getattr(self.backend.plda, name) for name in _PLDA})
        if self.background is not None:
            made["background.vectors"], made["background.ids"] = self.background.vectors, self.background.ids
            made["background.speakers"] = self.background.known_speakers
        return made

    @cached_property
    def fingerprint(self) -> str:
        """What tells this recogniser from others: models enrolled with another are refused."""
        digest = hashlib.sha256()
        for name, array in sorted(self.arrays().items()):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def save(self, path: str | PathLike[str]) -> None:
        """Write the recogniser to an NPZ file."""
        save_arrays(path, SCHEMA, self.arrays())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Recognizer:
        """Read a recogniser that was saved."""
        arrays = load_arrays(path, SCHEMA, ("options",))
        try:
            options = Options(**json.loads(str(arrays["options"])))
        except (TypeError, json.JSONDecodeError) as error:
            raise FileFormatError(f"{path}: the options are broken ({error})") from None
        background = backend = None
        try:
            if "background.vectors" in arrays:
                background = Embeddings(
                    arrays["background.vectors"], arrays["background.ids"], arrays["background.speakers"]
                )
            if "kinds" in arrays:
                plda = PLDA(*(arrays[f"plda.{name}"] for name in _PLDA)) if "plda.mean" in arrays else None
                backend = Backend(Chain.from_arrays(arrays, str(path)), plda)
        except KeyError as error:
            raise FileFormatError(f"{path}: no array {error}") from None
        return cls(options, Extractor.from_arrays(arrays, str(path)), backend, background)

    def __repr__(self) -> str:
        made = "embeddings" if self.extractor is None else f"{self.extractor.ubm.n_gaussians} Gaussians"
        if self.extractor is not None and self.extractor.model is not None:
            made += f", i-vectors of {self.extractor.model.n_factors} factors"
        return f"Recognizer({self.options.backend}: {made})"
