"""Training of a whole recognizer, from speech or from embeddings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from llrkit.errors import InputError
from llrkit.recognize.backends.backend import train_backend
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.frames.front_end import FrontEnd
from llrkit.recognize.frames.utterance_frames import Frames
from llrkit.recognize.ivectors.extractor import Extractor, Watch, train_extractor
from llrkit.recognize.recognizer import Recognizer, RecognizerOptions

STEPS = {
    "plda": ("center", "whiten", "length"),
    "cosine": ("center",),
    "lda-cosine": ("lda",),
    "svm": ("center", "whiten", "length"),
    "ubm-gmm": (),
}
"""The steps before scoring that each back-end takes unless told otherwise."""


def train_recognizer(
    speech: Frames | Embeddings,
    backend: str = "plda",
    *,
    steps: Sequence[str] | None = None,
    n_gaussians: int = 512,
    n_factors: int = 200,
    iterations: int = 10,
    rank: int | None = None,
    uncertainty: bool = False,
    relevance: float = 16.0,
    top_gaussians: int | None = 5,
    cost: float = 1.0,
    front_end: FrontEnd | None = None,
    rng: np.random.Generator | int = 0,
    watch: Watch | None = None,
) -> Recognizer:
    """Train a recognizer on speakers that will neither enroll nor be tested.

    Parameters
    ----------
    speech
        Frames, from which i-vectors are made, or embeddings of another kind. 'plda' and 'lda-cosine' need to
        know the speakers, with several utterances of each.
    backend
        'plda', 'cosine', 'lda-cosine', 'svm' or 'ubm-gmm'.
    steps
        What is done with embeddings before scoring, as in :func:`train_chain`. By default they are centered,
        whitened and brought to one length for 'plda' and 'svm', centered for 'cosine', and projected by LDA
        for 'lda-cosine'.
    n_gaussians, n_factors
        Sizes of the background model and of the i-vectors.
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

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people = np.repeat(np.arange(40), 4)
    >>> means = rng.normal(size=(40, 6))[people] + 0.3 * rng.normal(size=(160, 6))
    >>> frames = Frames.of([rng.normal(mean, 1.0, size=(50, 6)) for mean in means], speakers=people)
    >>> recognizer = train_recognizer(frames[:120], n_gaussians=2, n_factors=4)
    >>> recognizer
    Recognizer(plda: 2 Gaussians, i-vectors of 4 factors)
    >>> models, segments = recognizer.enroll(frames[120:140]), recognizer.prepare(frames[120:])
    >>> recognizer.scores(models, segments).shape
    (5, 40)
    """
    options = RecognizerOptions(backend, uncertainty, relevance, top_gaussians, cost)
    if steps is not None and backend == "ubm-gmm":
        raise InputError("the ubm-gmm back-end has no embeddings, so no steps")
    extractor: Extractor | None = None
    if isinstance(speech, Frames):
        extractor, statistics = train_extractor(
            speech, n_gaussians=n_gaussians, n_factors=None if backend == "ubm-gmm" else n_factors,
            iterations=iterations, front_end=front_end, rng=rng, watch=watch,
        )  # fmt: skip
        if extractor.model is None:
            return Recognizer(options, extractor)
        embeddings = extractor.model.extract(statistics)
    elif backend == "ubm-gmm":
        raise InputError("the ubm-gmm back-end is trained on speech, not on embeddings")
    else:
        embeddings = speech
    if uncertainty and extractor is None and embeddings.covariances is None:
        raise InputError("these embeddings carry no covariances; their uncertainty is not known")
    trained = train_backend(
        embeddings.replace(covariances=None),
        steps if steps is not None else STEPS[backend],
        scorer="plda" if backend == "plda" else "cosine",
        iterations=iterations,
        rank=rank,
    )
    background = trained.prepare(embeddings.replace(covariances=None)) if backend == "svm" else None
    return Recognizer(options, extractor, trained, background)
