"""Training of a whole recognizer, from speech or from embeddings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from llrkit._arguments import takes
from llrkit._plain import as_number
from llrkit.errors import InputError
from llrkit.recognize.backends.backend import SCORERS, train_backend
from llrkit.recognize.backends.domain_adaptation import train_adapted_backend
from llrkit.recognize.embedding_files import write_embeddings
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.frames.front_end import FrontEnd
from llrkit.recognize.frames.utterance_frames import Frames
from llrkit.recognize.ivectors.extractor import Extractor, Watch, train_extractor
from llrkit.recognize.overlap_checks import check_adaptation, length_profile
from llrkit.recognize.overlap_sources import Sources
from llrkit.recognize.recognizer import Recognizer
from llrkit.recognize.recognizer_options import RecognizerOptions, require_options
from llrkit.recognize.training_sizes import Sizes, require_feasible, sizes_for
from llrkit.recognize.training_stages import IVECTORS, Stages

STEPS = {
    "plda": ("center", "whiten", "length"),
    "cosine": ("center",),
    "lda-cosine": ("lda",),
    "svm": ("center", "whiten", "length"),
    "ubm-gmm": (),
}
"""The steps before scoring that each back-end takes unless told otherwise."""


@takes(speech=Frames | Embeddings, adapt=Frames | Embeddings, front_end=FrontEnd, extractor=Extractor)
def train_recognizer(
    speech: Frames | Embeddings,
    backend: str = "plda",
    *,
    steps: Sequence[str] | None = None,
    n_gaussians: int | None = None,
    n_factors: int | None = None,
    iterations: int = 10,
    rank: int | None = None,
    uncertainty: bool = False,
    relevance: float = 16.0,
    top_gaussians: int | None = 5,
    cost: float = 1.0,
    front_end: FrontEnd | None = None,
    rng: np.random.Generator | int = 0,
    watch: Watch | None = None,
    stages: Stages | None = None,
    extractor: Extractor | None = None,
    adapt: Frames | Embeddings | None = None,
    adaptation: str = "center",
    adaptation_weight: float | None = None,
) -> Recognizer:
    """Train a recognizer on speakers that will neither enroll nor be tested.

    Parameters
    ----------
    speech
        Frames, from which i-vectors are made, or embeddings of another kind. All but 'cosine', 'svm' and
        'ubm-gmm' need to know the speakers, with several utterances of some of them.
    backend
        'plda', 'cosine', 'lda-cosine', 'svm' or 'ubm-gmm'.
    steps
        What is done with embeddings before scoring, as in :func:`train_chain`. By default they are centered,
        whitened and brought to one length for 'plda' and 'svm', centered for 'cosine', and projected by LDA
        for 'lda-cosine'.
    n_gaussians, n_factors
        Sizes of the background model and of the i-vectors; by default what the data can carry (see
        ``sizes_for``).
    iterations
        Steps of each EM.
    rank
        Dimensions of the speaker space of PLDA; by default all.
    uncertainty
        Whether PLDA adds the posterior covariance of an i-vector to the covariance within speakers, so that
        short utterances are trusted less.
    relevance, top_gaussians
        Of UBM-GMM: the relevance factor of the adaptation, and how many Gaussians count in a frame.
    cost
        Of the support vector machines.
    front_end
        How the frames were made, kept so that others are made likewise.
    rng
        A generator or a seed.
    watch
        Called with what is being done, how much of it is done and how much there is to do.
    stages
        Where the parts of the training from speech are kept, so that another run need not repeat them.
    extractor
        That of another recognizer: only the back-end is trained, on the i-vectors that it makes of speech, or
        on those that it made before.
    adapt, adaptation, adaptation_weight
        Speech or embeddings of the domain that is meant, and how the back-end is adapted to it: see
        :func:`train_adapted_backend`.

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
    options = RecognizerOptions(backend, uncertainty, relevance, top_gaussians, cost)
    if isinstance(speech, Embeddings) and not (n_gaussians is None and n_factors is None):
        raise InputError("n_gaussians and n_factors are for frames; these are embeddings")
    require_options(
        backend, steps, uncertainty=uncertainty, adapted=adapt is not None, adaptation=adaptation,
        weight=adaptation_weight, rank=rank,
    )  # fmt: skip
    require_feasible(
        speech, backend, steps=steps if steps is not None else STEPS[backend], n_gaussians=n_gaussians,
        n_factors=n_factors, rank=rank,
        dim=None if extractor is None or extractor.model is None else extractor.model.n_factors,
    )  # fmt: skip
    if extractor is not None and backend == "ubm-gmm":
        mixture = Extractor(extractor.ubm, None, extractor.front_end)
        return Recognizer(options, mixture, training=Sources.of(speech))
    if extractor is not None:
        embeddings = extracted(extractor, speech, watch)
    elif isinstance(speech, Frames):
        sizes = training_sizes(speech := speech.kept(), n_gaussians, n_factors, watch)
        extractor, statistics = train_extractor(
            speech, n_gaussians=sizes.n_gaussians,
            n_factors=None if backend == "ubm-gmm" else sizes.n_factors,
            iterations=iterations, front_end=front_end, rng=rng, watch=watch, stages=stages,
        )  # fmt: skip
        if extractor.model is None:
            return Recognizer(options, extractor, training=Sources.of(speech))
        columns = {name: np.asarray(values) for name, values in speech.columns.items()}
        embeddings = extractor.model.extract(statistics).replace(origin=extractor.fingerprint)
        embeddings = embeddings.replace(columns={**embeddings.columns, **columns})
        if stages is not None:
            stages.folder.mkdir(parents=True, exist_ok=True)
            write_embeddings(embeddings, stages.folder / IVECTORS)
    elif backend == "ubm-gmm":
        raise InputError("the ubm-gmm back-end is trained on speech, not on embeddings")
    else:
        embeddings = speech
    if uncertainty and extractor is None and embeddings.covariances is None:
        raise InputError("these embeddings carry no covariances; their uncertainty is not known")
    chosen = steps if steps is not None else STEPS[backend]
    scorer = backend if backend in SCORERS else "cosine"
    plain = raw = embeddings.replace(covariances=None)
    if adapt is None:
        trained = train_backend(plain, chosen, scorer=scorer, iterations=iterations, rank=rank)
    else:
        in_domain = adapt if extractor is None else extracted(extractor, adapt, watch)
        if not isinstance(in_domain, Embeddings):
            raise InputError("the recognizer is trained on embeddings, so it is adapted by embeddings too")
        raw = in_domain
        check_adaptation(Sources.of(speech), Sources.of(adapt))
        trained = train_adapted_backend(
            plain, in_domain.replace(covariances=None), chosen, adaptation=adaptation, scorer=scorer,
            iterations=iterations, weight=adaptation_weight, rank=rank,
        )  # fmt: skip
    background = trained.prepare(embeddings.replace(covariances=None)) if backend == "svm" else None
    lengths = length_profile(raw.vectors)
    return Recognizer(options, extractor, trained, background, Sources.of(speech), lengths)


def extracted(extractor: Extractor, speech: Frames | Embeddings, watch: Watch | None) -> Embeddings:
    """The i-vectors that an extractor makes, or has made, of utterances."""
    if isinstance(speech, Frames):
        return extractor.embed(speech, watch=watch)
    if speech.origin != extractor.fingerprint:
        raise InputError("these embeddings were not extracted with this model, or the file does not say so")
    return speech


def training_sizes(
    frames: Frames, n_gaussians: int | None, n_factors: int | None, watch: Watch | None = None
) -> Sizes:
    """The sizes that are given, or that so many frames and utterances can carry."""
    n_frames = sum(int(as_number(n)) for n in frames.columns.get("frames", ()))
    if n_gaussians is None and not n_frames:
        for i, array in enumerate(frames, 1):
            n_frames += len(array)
            if watch is not None:
                watch("frames", i, len(frames))
    n_speakers = None if frames.speakers is None else len(set(frames.speakers))
    return sizes_for(n_frames, len(frames), n_speakers, n_gaussians, n_factors)
