"""The whole chain as one thing: speech or embeddings in, scores of all pairs out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from os import PathLike

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array
from llrkit._cached import cached_property
from llrkit._warn import warn_caller
from llrkit.errors import InputError, SpeechWarning
from llrkit.recognize.backends.backend import Backend
from llrkit.recognize.backends.cohort_normalized_scores import normalized_scores
from llrkit.recognize.backends.pooled_sessions import session_rows_by_name
from llrkit.recognize.backends.svm import LinearModels, train_svm
from llrkit.recognize.backends.trial_sides import Side, text_array
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.frames.utterance_frames import Frames
from llrkit.recognize.ivectors.extractor import Extractor, Watch
from llrkit.recognize.ivectors.speaker_gmms import adapt_means, gmm_scores
from llrkit.recognize.model_files import arrays_hash, load_arrays, naming_file, save_arrays
from llrkit.recognize.overlap_checks import (
    check_against_training,
    check_cohort,
    check_lengths,
    check_repeats,
    check_test_enrolled,
)
from llrkit.recognize.overlap_sources import Sources
from llrkit.recognize.recognizer_options import RecognizerOptions
from llrkit.recognize.scored_pair_tables import model_columns, pooled_columns, row_columns

SCHEMA = "llrkit.recognizer/1"


@dataclass(frozen=True, eq=False, repr=False)
class Recognizer:
    """Everything between speech, or embeddings, and scores.

    ``enroll`` makes models, ``prepare`` makes test segments or a cohort, ``scores`` scores all pairs.
    """

    options: RecognizerOptions
    """The back-end, and what it was told."""
    extractor: Extractor | None = None
    """What makes embeddings from speech; None if it was trained on embeddings."""
    backend: Backend | None = None
    """The steps before scoring and, except for SVMs, the model that scores; None for UBM-GMM scoring."""
    background: Embeddings | None = None
    """The embeddings that support vector machines are trained against."""
    training: Sources = field(default_factory=Sources)
    """The utterances that it was trained on."""
    lengths: npt.NDArray[np.float64] | None = None
    """Mean and spread of the lengths of the training embeddings before any step."""

    def __post_init__(self) -> None:
        if self.lengths is not None and (self.lengths.shape != (2,) or self.lengths.dtype.kind != "f"):
            raise InputError("the lengths of the training embeddings must be two numbers")
        kind, chain = self.options.backend, self.backend
        whole = {
            "ubm-gmm": self.extractor is not None,
            "plda": chain is not None and chain.plda is not None,
            "svm": chain is not None and self.background is not None,
        }
        if not whole.get(kind, chain is not None):
            raise InputError(f"a part of the {kind} recognizer is missing")

    def prepare(self, speech: Frames | Embeddings, *, watch: Watch | None = None) -> Side:
        """Test segments, one row per utterance.

        Parameters
        ----------
        speech
            Frames or embeddings.
        watch
            Function that is told of the progress.
        """
        sources = Sources.of(speech)
        check_repeats(sources)
        check_against_training(self.training, sources, "tested")
        return self._prepared(speech, sources, watch)

    def _prepared(self, speech: Frames | Embeddings, sources: Sources, watch: Watch | None) -> Side:
        if self.options.backend == "ubm-gmm":
            frames = self._frames(speech).kept()
            speakers = None if frames.speakers is None else text_array(frames.speakers)
            columns = {name: np.asarray(values) for name, values in frames.columns.items()}
            return Side(text_array(frames.ids), speakers, frames=frames, columns=columns, sources=sources)
        raw = self.embed(speech, watch=watch)
        ready = self._ready(raw)
        return Side(ready.ids, ready.speakers, ready, columns=row_columns(raw), sources=sources)

    def enroll(self, speech: Frames | Embeddings, *, each: bool = False, watch: Watch | None = None) -> Side:
        """Models, one per speaker from all its utterances, or one of each utterance.

        Parameters
        ----------
        speech
            Frames or embeddings.
        each
            One model of each utterance, not of each speaker.
        watch
            Function that is told of the progress.
        """
        if not each and speech.speakers is None:
            raise InputError("to enroll one model per speaker the speakers must be known")
        sources = Sources.of(speech)
        check_repeats(sources)
        if self.options.backend == "svm":
            self._refuse_background(sources, "enrolled")
        check_against_training(self.training, sources, "enrolled")
        if self.options.backend == "ubm-gmm":
            return replace(self._adapted(self._frames(speech), each, watch), sources=sources)
        raw = self.embed(speech, watch=watch)
        ready = self._ready(raw)
        models = ready.ids if each else ready.known_speakers
        columns = model_columns(raw, models)
        if self.options.backend == "svm":
            machines = self._machines(ready, models)
            speakers = ready.speakers if each else text_array(machines.ids)
            return Side(
                text_array(machines.ids), speakers, machines=machines, recognizer=self.fingerprint,
                columns=columns, sources=sources,
            )  # fmt: skip
        assert self.backend is not None
        pooled = self.backend.pool(ready, models)
        return Side(
            pooled.ids, pooled.speakers, pooled, recognizer=self.fingerprint, columns=columns, sources=sources
        )

    def _refuse_background(self, given: Sources, what: str) -> None:
        """Say at once what training of the support vector machines would refuse later."""
        if self.background is None:
            return
        background = Sources(
            tuple(map(str, self.background.ids)),
            None if self.background.speakers is None else tuple(map(str, self.background.speakers)),
        )
        segments = background.segments_shared_with(replace(given, contents=None))
        speakers = background.speakers_shared_with(given)
        if segments or speakers:
            which = f"segment {segments[0]!r}" if segments else f"speaker {speakers[0]!r}"
            raise InputError(
                f"{which} is {what}, but is in the background that the support vector machines were trained "
                "against; take speakers that did not train the recognizer"
            )

    def cohort(self, speech: Frames | Embeddings, *, watch: Watch | None = None) -> Side:
        """Impostors for score normalization: each utterance both as a model and as a segment.

        Parameters
        ----------
        speech
            Frames or embeddings.
        watch
            Function that is told of the progress.
        """
        sources = Sources.of(speech)
        check_repeats(sources)
        if self.options.backend == "svm":
            self._refuse_background(sources, "in the cohort")
        impostors = replace(self._prepared(speech, sources, watch), recognizer=self.fingerprint)
        if impostors.frames is not None:
            return replace(
                impostors, mixtures=self._adapted(impostors.frames, each=True, watch=watch).mixtures
            )
        if self.options.backend == "svm" and impostors.embeddings is not None:
            return replace(impostors, machines=self._machines(impostors.embeddings, impostors.ids))
        return impostors

    def scores(
        self,
        models: Side,
        segments: Side,
        *,
        normalize: str = "none",
        cohort: Side | None = None,
        top: int | None = None,
        watch: Watch | None = None,
    ) -> Array:
        """Scores of all pairs, shape (models, segments), normalized by a cohort if asked for.

        See :meth:`llrkit.recognize.Backend.scores` for the kinds of normalization.

        Parameters
        ----------
        models
            Enrolled models.
        segments
            Prepared test segments.
        normalize
            ``"none"``, ``"z"``, ``"t"``, ``"zt"``, ``"tz"``, ``"s"``, ``"as1"`` or ``"as2"``.
        cohort
            Impostors that scores are normalized by.
        top
            Number of cohort members with the highest scores that adaptive normalization uses.
        watch
            Function that is told of the progress.
        """
        self.require_own_sides(models, cohort)
        if cohort is not None:
            check_cohort(cohort.sources, models.sources, segments.sources)
        check_test_enrolled(models.sources, segments.sources, models.ids)
        score = partial(self._score, report=None if watch is None else partial(watch, "scores"))
        return normalized_scores(score, models, segments, cohort, normalize=normalize, top=top)

    def require_own_sides(self, models: Side, cohort: Side | None = None) -> None:
        """Refuse models, and a cohort, that another recognizer made.

        Parameters
        ----------
        models
            Enrolled models.
        cohort
            Impostors that scores are normalized by.
        """
        if models.recognizer not in ("", self.fingerprint):
            raise InputError("these models were enrolled with another recognizer; enroll them again")
        if cohort is not None and cohort.recognizer not in ("", self.fingerprint):
            raise InputError("this cohort was made with another recognizer; make it again")

    def _score(self, models: Side, segments: Side, report: Callable[[int, int], None] | None) -> Array:
        if models.mixtures is not None and segments.frames is not None and self.extractor is not None:
            top = self.options.top_gaussians
            return gmm_scores(models.mixtures, segments.frames, self.extractor.ubm, top=top, report=report)
        if models.machines is not None and segments.embeddings is not None:
            return models.machines.scores(segments.embeddings)
        if models.embeddings is not None and segments.embeddings is not None and self.backend is not None:
            return self.backend.scores(models.embeddings, segments.embeddings)
        raise InputError(f"these models cannot be scored by a {self.options.backend} recognizer")

    def _frames(self, speech: Frames | Embeddings) -> Frames:
        if isinstance(speech, Embeddings):
            raise InputError("the recognizer was trained on speech; embeddings of another kind do not fit it")
        return speech

    def embed(self, speech: Frames | Embeddings, *, watch: Watch | None = None) -> Embeddings:
        """Raw embeddings of utterances and what else is known of them; embeddings are given back, checked.

        Parameters
        ----------
        speech
            Frames or embeddings.
        watch
            Function that is told of the progress.
        """
        if self.extractor is None and isinstance(speech, Frames):
            raise InputError("the recognizer was trained on embeddings; it cannot make them from speech")
        if isinstance(speech, Embeddings):
            if self.extractor is not None:
                self._require_own(speech, self.extractor)
            if not speech.origin:
                check_lengths(self.lengths, speech.vectors)
            return speech
        assert self.extractor is not None
        raw = self.extractor.embed(speech, covariances=self.options.uncertainty, watch=watch)
        columns = {name: np.asarray(values) for name, values in speech.columns.items()}
        return raw.replace(columns={**raw.columns, **columns})

    def _require_own(self, embeddings: Embeddings, extractor: Extractor) -> None:
        """Embeddings that this recognizer extracted before are as good as speech; others do not fit it."""
        fits = extractor.model is not None and extractor.model.n_factors == embeddings.dim
        if not fits or embeddings.origin not in ("", extractor.fingerprint):
            self._frames(embeddings)
        if not embeddings.origin:
            warn_caller(
                "whether this recognizer extracted these embeddings is not known: the file does not say",
                SpeechWarning,
            )

    def _ready(self, raw: Embeddings) -> Embeddings:
        assert self.backend is not None
        if not self.options.uncertainty:
            raw = raw.replace(covariances=None)
        elif raw.covariances is None:
            raise InputError("these embeddings carry no covariances; their uncertainty is not known")
        return self.backend.prepare(raw)

    def _machines(self, ready: Embeddings, models: Array) -> LinearModels:
        assert self.background is not None
        return train_svm(ready, self.background, models, cost=self.options.cost)

    def _adapted(self, frames: Frames, each: bool, watch: Watch | None) -> Side:
        assert self.extractor is not None
        statistics = self.extractor.statistics(frames, watch)
        if not each:
            statistics = statistics.by_speaker()
        mixtures = adapt_means(statistics, self.extractor.ubm, relevance=self.options.relevance)
        speakers = None if statistics.speakers is None else text_array(statistics.speakers)
        names = frames.ids if each or frames.speakers is None else frames.speakers
        columns = pooled_columns(
            {name: np.asarray(values) for name, values in frames.columns.items()},
            list(session_rows_by_name(text_array(names)).values()),
        )
        return Side(
            text_array(mixtures.ids), speakers, mixtures=mixtures, recognizer=self.fingerprint,
            columns=columns,
        )  # fmt: skip

    def arrays(self) -> dict[str, Array]:
        """What is saved."""
        arrays: dict[str, Array] = {"options": np.array(json.dumps(asdict(self.options)))}
        if self.extractor is not None:
            arrays.update(self.extractor.arrays())
        if self.backend is not None:
            arrays.update(self.backend.arrays())
        if self.background is not None:
            arrays["background.vectors"], arrays["background.ids"] = (
                self.background.vectors,
                self.background.ids,
            )
            if self.background.speakers is not None:
                arrays["background.speakers"] = self.background.speakers
        arrays.update(self.training.arrays("training."))
        if self.lengths is not None:
            arrays["training.lengths"] = self.lengths
        return arrays

    @cached_property
    def fingerprint(self) -> str:
        """What tells this recognizer from others: models enrolled with another are refused."""
        return arrays_hash(self.arrays())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the recognizer to an NPZ file.

        Parameters
        ----------
        path
            The file.
        """
        save_arrays(path, SCHEMA, self.arrays())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Recognizer:
        """Read a recognizer that was saved.

        Parameters
        ----------
        path
            The file.
        """
        arrays = load_arrays(path, SCHEMA, ("options",))
        with naming_file(str(path)):
            options = RecognizerOptions(**json.loads(str(arrays["options"])))
            background = backend = None
            if "background.vectors" in arrays:
                background = Embeddings(
                    arrays["background.vectors"], arrays["background.ids"], arrays.get("background.speakers")
                )
            if "kinds" in arrays:
                backend = Backend.from_arrays(arrays, str(path))
            training, lengths = Sources.from_arrays(arrays, "training."), arrays.get("training.lengths")
            return cls(options, Extractor.from_arrays(arrays), backend, background, training, lengths)

    def __repr__(self) -> str:
        inputs = "embeddings" if self.extractor is None else f"{self.extractor.ubm.n_gaussians} Gaussians"
        if self.extractor is not None and self.extractor.model is not None:
            inputs += f", i-vectors of {self.extractor.model.n_factors} factors"
        return f"Recognizer({self.options.backend}: {inputs})"
