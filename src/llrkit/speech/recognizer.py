"""The recognizer: front end, extractor and back-end in one file, its options and its training."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar, Self, Unpack

import numpy as np
import numpy.typing as npt

from llrkit.base.arguments import Array, of_kind
from llrkit.base.options import declared, documented
from llrkit.base.process import cached_property, warn_caller
from llrkit.base.text import as_number, counted
from llrkit.errors import InputError, MissingPackageError, SpeechWarning
from llrkit.io.array_files import part_of, prefixed
from llrkit.speech import sides
from llrkit.speech.backends import SCORERS, Backend, train_adapted_backend, train_backend
from llrkit.speech.embeddings import Arrays, Embeddings, Saved, arrays_hash, write_embeddings
from llrkit.speech.frames import IVECTORS, Frames, FrontEnd, Stages, Watch
from llrkit.speech.models.gmm import SpeakerGMMs, adapt_means, gmm_scores
from llrkit.speech.models.ivectors import Extractor, train_extractor
from llrkit.speech.models.svm import refuse_background, session_rows_by_name, train_svm
from llrkit.speech.models.transforms import parsed_step, speaker_codes
from llrkit.speech.options import RecognizerOptions, TrainOptions
from llrkit.speech.scoring import model_columns, normalized_scores, pooled_columns, row_columns
from llrkit.speech.sides import Side, Sources, text_array

if TYPE_CHECKING:
    from llrkit.keywords import TrainKeywords


@dataclass(frozen=True, eq=False, repr=False)
class Recognizer(Saved):
    """Everything between speech, or embeddings, and scores.

    ``enroll`` makes models, ``prepare`` makes test segments or a cohort, ``scores`` scores all pairs.
    """

    schema: ClassVar[str] = "llrkit.recognizer/1"
    needed: ClassVar[tuple[str, ...]] = ("options",)
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
    """Median and half the interquartile range of the lengths of the training embeddings before any step."""

    def __post_init__(self) -> None:
        if self.lengths is not None and (self.lengths.shape != (2,) or self.lengths.dtype.kind != "f"):
            raise InputError("the lengths of the training embeddings must be two numbers")
        kind, chain = self.options.backend, self.backend
        # What each back-end cannot do without; a file may be damaged, or be made by hand.
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
        return self._prepared(speech, self._sources(speech, "tested"), watch)

    def _sources(self, speech: Frames | Embeddings, use: str) -> Sources:
        """What the speech was made from, after warnings and errors about what may not be used so."""
        sources = Sources.of(speech)
        sides.check_repeats(sources)
        # A support vector machine that has a speaker in its background would learn to reject it;
        # speakers who are tested are checked below.
        if self.background is not None and use != "tested":
            refuse_background(sources.ids, sources.speakers, self.background)
        # A cohort may be made of training speakers: they are neither enrolled nor tested.
        if use != "in the cohort":
            better = "scores will look better than they are"
            sides.warn_of_shared(self.training, sources, f"{use} trained the recognizer", better, better)
        return sources

    def _prepared(self, speech: Frames | Embeddings, sources: Sources, watch: Watch | None) -> Side:
        if self.options.backend == "ubm-gmm":
            # Kept in memory: every model, and every cohort, reads the test frames again.
            frames = self._frames(speech).kept()
            speakers = None if frames.speakers is None else text_array(frames.speakers)
            ids, columns = text_array(frames.ids), frames.column_arrays
            return Side(ids, speakers, frames=frames, columns=columns, sources=sources)
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
        # The checks come first, before any model is trained.
        side = Side(text_array([]), recognizer=self.fingerprint, sources=self._sources(speech, "enrolled"))
        if self.options.backend == "ubm-gmm":
            frames = self._frames(speech)
            speakers = None if frames.speakers is None else text_array(frames.speakers)
            names = text_array(frames.ids) if each or speakers is None else speakers
            rows = session_rows_by_name(names)
            return replace(
                side, ids=text_array(list(rows)), speakers=speakers if each else text_array(list(rows)),
                mixtures=self._mixtures(frames, each, watch),
                columns=pooled_columns(frames.column_arrays, list(rows.values())),
            )  # fmt: skip
        raw = self.embed(speech, watch=watch)
        ready = self._ready(raw)
        models = ready.ids if each else ready.known_speakers
        side = replace(side, columns=model_columns(raw, models))
        if self.background is not None:
            machines = train_svm(ready, self.background, models, cost=self.options.cost)
            ids = text_array(machines.ids)
            return replace(side, ids=ids, speakers=ready.speakers if each else ids, machines=machines)
        assert self.backend is not None
        pooled = self.backend.pool(ready, models)
        return replace(side, ids=pooled.ids, speakers=pooled.speakers, embeddings=pooled)

    def cohort(self, speech: Frames | Embeddings, *, watch: Watch | None = None) -> Side:
        """Impostors for score normalization: each utterance both as a model and as a segment.

        Parameters
        ----------
        speech
            Frames or embeddings.
        watch
            Function that is told of the progress.
        """
        side = self._prepared(speech, self._sources(speech, "in the cohort"), watch)
        # Sides for tests carry no fingerprint: they are not saved.
        side = replace(side, recognizer=self.fingerprint)
        if side.frames is not None:
            return replace(side, mixtures=self._mixtures(side.frames, each=True, watch=watch))
        if self.background is not None and side.embeddings is not None:
            machines = train_svm(side.embeddings, self.background, side.ids, cost=self.options.cost)
            return replace(side, machines=machines)
        return side

    def _mixtures(self, frames: Frames, each: bool, watch: Watch | None) -> SpeakerGMMs:
        assert self.extractor is not None
        statistics = self.extractor.statistics(frames, watch)
        if not each:
            statistics = statistics.by_speaker()
        return adapt_means(statistics, self.extractor.ubm, relevance=self.options.relevance)

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

        See :meth:`llrkit.speech.Backend.scores` for the kinds of normalization.

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
        of_cohort = Sources() if cohort is None else cohort.sources
        for side, what in ((segments, "tested"), (models, "enrolled")):
            sides.warn_of_shared(
                side.sources, of_cohort, f"of the cohort {what} too",
                "error rates after normalization will be too low", "a cohort should hold impostors only",
            )  # fmt: skip
        shared = models.sources.segments_shared_with(segments.sources)
        # scored_pairs leaves out pairs of one id, so a model called like its utterance never meets it.
        tested = [name for name in shared if name not in set(models.ids.tolist())]
        if tested:
            warn_caller(
                f"{counted(len(tested), 'test utterance')} also enrolled: {sides.some_names(tested)}; scores "
                "against their own model are those of a recording with itself",
                SpeechWarning,
            )
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
        # An empty fingerprint is that of a side that was put together by hand.
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
                model, own = self.extractor.model, self.extractor.fingerprint
                # A wrong number of factors, or another extractor's fingerprint: in either case another
                # space.
                if model is None or model.n_factors != speech.dim or speech.origin not in ("", own):
                    self._frames(speech)
                if not speech.origin:
                    who = "whether this recognizer extracted these embeddings"
                    warn_caller(f"{who} is not known: the file does not say", SpeechWarning)
            # Embeddings without an origin may have been normalized elsewhere, which only their lengths
            # show.
            if not speech.origin:
                sides.check_lengths(self.lengths, speech.vectors)
            return speech
        assert self.extractor is not None
        raw = self.extractor.embed(speech, covariances=self.options.uncertainty, watch=watch)
        return raw.replace(columns={**raw.columns, **speech.column_arrays})

    def _ready(self, raw: Embeddings) -> Embeddings:
        assert self.backend is not None
        if not self.options.uncertainty:
            # Covariances are dropped before the chain, which would carry them through every step.
            raw = raw.replace(covariances=None)
        elif raw.covariances is None:
            raise InputError("these embeddings carry no covariances; their uncertainty is not known")
        return self.backend.prepare(raw)

    def arrays(self) -> dict[str, Array]:
        """What is saved."""
        arrays: dict[str, Array] = {"options": np.array(json.dumps(asdict(self.options)))}
        if self.extractor is not None:
            arrays.update(self.extractor.arrays())
        if self.backend is not None:
            arrays.update(self.backend.arrays())
        for name in ("vectors", "ids", "speakers") if self.background is not None else ():
            if (values := getattr(self.background, name)) is not None:
                arrays[f"background.{name}"] = values
        arrays |= prefixed("training.", self.training.arrays())
        if self.lengths is not None:
            arrays["training.lengths"] = self.lengths
        return arrays

    @cached_property
    def fingerprint(self) -> str:
        """What tells this recognizer from others: models enrolled with another are refused."""
        return arrays_hash(self.arrays())

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """The recognizer that :meth:`arrays` described.

        Parameters
        ----------
        arrays
            Named arrays, as they were saved.
        """
        options = RecognizerOptions(**json.loads(str(arrays["options"])))
        own = part_of(arrays, "background.")
        background = Embeddings(own["vectors"], own["ids"], own.get("speakers")) if "vectors" in own else None
        backend = Backend.from_arrays(arrays) if "kinds" in arrays else None
        training, lengths = Sources.from_arrays(part_of(arrays, "training.")), arrays.get("training.lengths")
        return cls(options, Extractor.from_arrays(arrays), backend, background, training, lengths)

    def __repr__(self) -> str:
        inputs = "embeddings" if self.extractor is None else f"{self.extractor.ubm.n_gaussians} Gaussians"
        if self.extractor is not None and self.extractor.model is not None:
            inputs += f", i-vectors of {self.extractor.model.n_factors} factors"
        return f"Recognizer({self.options.backend}: {inputs})"


FRAMES_PER_GAUSSIAN = 1500
"""That a background model is given unless it is told its size, see docs/reference/speech.md."""
FEW_FRAMES = 50
"""For each Gaussian: below, a model of that size that was asked for has a warning."""
MOST_GAUSSIANS, MOST_FACTORS = 512, 200
SESSIONS_PER_FACTOR = 3
_NEED_SPEAKERS = ("plda", "lda-cosine")
_WITHOUT_EM = ("cosine", "lda-cosine", "svm")


@dataclass(frozen=True)
class Sizes:
    """Gaussians of the background model, numbers in an i-vector, and why."""

    n_gaussians: int
    n_factors: int
    why: str


def sizes_for(
    n_frames: int,
    n_utterances: int,
    n_speakers: int | None,
    n_gaussians: int | None = None,
    n_factors: int | None = None,
) -> Sizes:
    """Sizes that so much speech can carry, where they are not given.

    The largest power of two, up to 512, that leaves 1,500 frames to each Gaussian; and one factor for three
    utterances beyond the first of each speaker, up to 200.

    Examples
    --------
    >>> sizes_for(107_376, 240, 30)
    Sizes(n_gaussians=64, n_factors=70, why='64 Gaussians for 107,376 frames, 70 factors for ...')
    >>> sizes_for(107_376, 240, 30, 256, 20).why
    ''
    """
    reasons = []
    if n_gaussians is None:
        # Never fewer than four, however little speech there is; train_ubm refuses less than two frames
        # for each.
        n_gaussians = 4
        while n_gaussians < MOST_GAUSSIANS and 2 * n_gaussians * FRAMES_PER_GAUSSIAN <= n_frames:
            n_gaussians *= 2
        reasons.append(f"{n_gaussians} Gaussians for {counted(n_frames, 'frame')}")
    if n_factors is None:
        # The first utterance of each speaker says nothing about how the utterances of one speaker
        # differ.
        beyond = n_utterances - (n_speakers or 0)
        n_factors = max(1, min(MOST_FACTORS, beyond // SESSIONS_PER_FACTOR, n_utterances))
        who = "" if n_speakers is None else f" of {counted(n_speakers, 'speaker')}"
        reasons.append(f"{n_factors} factors for {counted(n_utterances, 'utterance')}{who}")
    return Sizes(n_gaussians, n_factors, ", ".join(reasons))


def require_feasible(
    speech: Frames | Embeddings, options: TrainOptions, extractor: Extractor | None = None
) -> None:
    """Refuse what is known to fail, or to say nothing, from the list and the headers alone.

    Examples
    --------
    >>> speech = Embeddings([[1.0], [2.0]], ["a", "b"], ["ann", "bo"])
    >>> require_feasible(speech, TrainOptions())
    Traceback (most recent call last):
    llrkit.errors.InputError: each of the 2 speakers has one session only: the variation within speakers ...
    """
    n, backend = len(speech), options.backend
    n_gaussians, n_factors = options.n_gaussians, options.n_factors
    if extractor is not None or isinstance(speech, Embeddings):
        for name in ("n_gaussians", "n_factors"):
            if getattr(options, name) is not None:
                raise options.error("{} is for training from speech; here only the back-end is trained", name)
        if "iterations" in options.given() and backend in _WITHOUT_EM:
            raise options.error(f"{{}} is for EM, which {backend} does not use", "iterations")
    steps = options.steps if options.steps is not None else STEPS[backend]
    named = [parsed_step(step) for step in steps]
    if backend in _NEED_SPEAKERS or any(name in ("lda", "wccn") for name, _ in named):
        if speech.speakers is None:
            what = "embeddings" if isinstance(speech, Embeddings) else "utterances"
            raise InputError(f"the speakers of these {what} are not known")
        # Called for its errors: at least two speakers, one of them with several sessions.
        speaker_codes(text_array(speech.speakers))
    # Before the training, not at the first enrollment.
    if backend == "svm" and find_spec("sklearn") is None:
        raise MissingPackageError.of_extra("support vector machines need scikit-learn", "sklearn")
    if isinstance(speech, Embeddings):
        dim = speech.dim
    elif extractor is not None and extractor.model is not None:
        dim = extractor.model.n_factors
    else:
        if n_factors is not None and not 1 <= n_factors <= n and backend != "ubm-gmm":
            raise InputError(f"{n_factors} factors cannot be learned from {n} utterances; give 1 to {n}")
        # A hundred frames a second; before silence is dropped, so this is an upper limit.
        spoken = sum(as_number(value) for value in speech.columns.get("audio_seconds", ()))
        if n_gaussians is not None and spoken and 100.0 * spoken < 2 * n_gaussians:
            little = f"{spoken:.1f} s of audio are too little for {n_gaussians} Gaussians"
            raise InputError(f"{little}; give two frames each, at most {int(50 * spoken)}")
        if n_gaussians is not None and spoken and 100.0 * spoken < FEW_FRAMES * n_gaussians:
            each = int(100.0 * spoken / n_gaussians)
            warn_caller(
                f"{n_gaussians} Gaussians for {spoken:.1f} s of audio: {each} frames each at most, where "
                f"{FRAMES_PER_GAUSSIAN:,} are the default",
                SpeechWarning,
            )
        # With 0 frames: only the number of factors is asked for.
        dim = n_factors or sizes_for(0, n, _number_of_speakers(speech)).n_factors
    for name, size in named:
        if size is None:
            continue
        # LDA has at most as many dimensions as speakers less one; without speakers its training fails
        # with a message of its own.
        most = min(dim, (_number_of_speakers(speech) or n) - 1) if name == "lda" else dim
        if not 1 <= size <= most:
            raise InputError(f"step {name}:{size}: {most} dimensions at most, from what there is")
        # The next step starts from what this one leaves.
        dim = size
    if options.rank is not None and not 1 <= options.rank <= dim:
        raise InputError(f"rank must be a whole number from 1 to {dim}, got {options.rank}")


def _number_of_speakers(speech: Frames | Embeddings) -> int | None:
    return None if speech.speakers is None else len(set(map(str, speech.speakers)))


STEPS = {
    "plda": ("center", "whiten", "length"),
    "cosine": ("center",),
    "lda-cosine": ("lda",),
    "svm": ("center", "whiten", "length"),
    "ubm-gmm": (),
}
"""The steps before scoring that each back-end takes unless told otherwise."""


@documented(TrainOptions, without=("backend",))
def train_recognizer(
    speech: Frames | Embeddings,
    backend: str | None = None,
    *,
    front_end: FrontEnd | None = None,
    watch: Watch | None = None,
    stages: Stages | None = None,
    extractor: Extractor | None = None,
    options: TrainOptions | None = None,
    **changes: Unpack[TrainKeywords],
) -> Recognizer:
    """Train a recognizer on speakers that will neither enroll nor be tested.

    Parameters
    ----------
    speech
        Frames, from which i-vectors are made, or embeddings of another kind. All but 'cosine', 'svm' and
        'ubm-gmm' need to know the speakers, with several utterances of some of them.
    backend
        'plda', 'cosine', 'lda-cosine', 'svm' or 'ubm-gmm'.
    front_end
        How the frames were made, kept so that others are made likewise.
    watch
        Called with what is being done, how much of it is done and how much there is to do.
    stages
        Where the parts of the training from speech are kept, so that another run need not repeat them.
    extractor
        That of another recognizer: only the back-end is trained, on the i-vectors that it makes of speech, or
        on those that it made before.
    options
        Options made before; those that are given as keywords replace theirs.
    {options}

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people = np.repeat(np.arange(40), 4)
    >>> means = rng.normal(size=(40, 6))[people] + 0.3 * rng.normal(size=(160, 6))
    >>> frames = Frames.of([rng.normal(mean, 1.0, size=(50, 6)) for mean in means], speakers=people)
    >>> recognizer = train_recognizer(frames[:120], n_gaussians=2, n_factors=4)
    >>> recognizer
    Recognizer(plda: 2 Gaussians, i-vectors of 4 factors)
    >>> models, segments = recognizer.enroll(frames[120:140]), recognizer.prepare(frames[140:])
    >>> recognizer.scores(models, segments).shape
    (5, 20)
    """
    of_kind(speech, Frames | Embeddings, "speech")
    asked = TrainOptions.of(options, {**({} if backend is None else {"backend": backend}), **changes})
    require_feasible(speech, asked, extractor)
    backend, adapt, iterations = asked.backend, asked.adapt, asked.iterations
    decided = RecognizerOptions(**{name: getattr(asked, name) for name in declared(RecognizerOptions)})
    if not asked.top_gaussians:
        decided = replace(decided, top_gaussians=None)
    chosen = asked.steps if asked.steps is not None else STEPS[backend]
    if extractor is not None and backend == "ubm-gmm":
        # UBM-GMM scoring needs the mixture alone, so the factors are not saved with it.
        mixture = Extractor(extractor.ubm, None, extractor.front_end)
        return Recognizer(decided, mixture, training=Sources.of(speech))
    if extractor is not None:
        embeddings = extracted(extractor, speech, watch)
    elif isinstance(speech, Frames):
        # Kept, since sizes, statistics and training read the same frames.
        sizes = training_sizes(speech := speech.kept(), asked, watch)
        extractor, statistics = train_extractor(
            speech, n_gaussians=sizes.n_gaussians,
            n_factors=None if backend == "ubm-gmm" else sizes.n_factors,
            iterations=iterations, front_end=front_end, rng=asked.rng, watch=watch, stages=stages,
        )  # fmt: skip
        if extractor.model is None:
            return Recognizer(decided, extractor, training=Sources.of(speech))
        embeddings = extractor.model.extract(statistics)
        columns = {**embeddings.columns, **speech.column_arrays}
        embeddings = embeddings.replace(origin=extractor.fingerprint, columns=columns)
        if stages is not None:
            stages.folder.mkdir(parents=True, exist_ok=True)
            # So that another back-end can be trained without extracting again.
            write_embeddings(embeddings, stages.folder / IVECTORS)
    elif backend == "ubm-gmm":
        raise InputError("the ubm-gmm back-end is trained on speech, not on embeddings")
    else:
        embeddings = speech
    if asked.uncertainty and extractor is None and embeddings.covariances is None:
        raise InputError("these embeddings carry no covariances; their uncertainty is not known")
    # A support vector machine and LDA with the cosine need the steps only; their Backend has no PLDA.
    scorer = backend if backend in SCORERS else "cosine"
    # The posterior covariances are for scoring; steps and PLDA are trained on point estimates.
    plain = raw = embeddings.replace(covariances=None)
    if adapt is None:
        trained = train_backend(plain, chosen, scorer=scorer, iterations=iterations, rank=asked.rank)
    else:
        in_domain = adapt if extractor is None else extracted(extractor, adapt, watch)
        if not isinstance(in_domain, Embeddings):
            raise InputError("the recognizer is trained on embeddings, so it is adapted by embeddings too")
        # Lengths to compare with are those of the domain that will be tested.
        raw = in_domain
        # They would say nothing about another domain.
        shared = Sources.of(speech).segments_shared_with(Sources.of(adapt))
        if shared:
            known = f"{counted(len(shared), 'utterance')} of the new domain trained the recognizer"
            warn_caller(f"{known}: {sides.some_names(shared)}", SpeechWarning)
        trained = train_adapted_backend(
            plain, in_domain.replace(covariances=None), chosen, adaptation=asked.adaptation, scorer=scorer,
            iterations=iterations, weight=asked.adaptation_weight, rank=asked.rank,
        )  # fmt: skip
    background = trained.prepare(plain) if backend == "svm" else None
    lengths = sides.length_profile(raw.vectors)
    return Recognizer(decided, extractor, trained, background, Sources.of(speech), lengths)


def extracted(extractor: Extractor, speech: Frames | Embeddings, watch: Watch | None) -> Embeddings:
    """The i-vectors that an extractor makes, or has made, of utterances."""
    if isinstance(speech, Frames):
        return extractor.embed(speech, watch=watch)
    if speech.origin != extractor.fingerprint:
        raise InputError("these embeddings were not extracted with this model, or the file does not say so")
    return speech


def training_sizes(frames: Frames, asked: TrainOptions, watch: Watch | None) -> Sizes:
    """The sizes that are given, or that so many frames and utterances can carry."""
    n_frames = sum(int(as_number(n)) for n in frames.columns.get("frames", ()))
    if asked.n_gaussians is None and not n_frames:
        for i, array in enumerate(frames, 1):
            n_frames += len(array)
            if watch is not None:
                watch("frames", i, len(frames))
    people = _number_of_speakers(frames)
    return sizes_for(n_frames, len(frames), people, asked.n_gaussians, asked.n_factors)
