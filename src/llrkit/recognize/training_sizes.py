"""Sizes of models that the training data can carry, and what is known to fail before any work begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from llrkit._format import counted
from llrkit._plain import as_number
from llrkit._warn import warn_caller
from llrkit.errors import InputError, MissingPackageError, SpeechWarning
from llrkit.recognize.backends.transform_training import parsed_step
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.frames.utterance_frames import Frames

FRAMES_PER_GAUSSIAN = 1500
FEW_FRAMES = 50
"""For each Gaussian: below, a model of that size that was asked for has a warning."""
MOST_GAUSSIANS, MOST_FACTORS = 512, 200
SESSIONS_PER_FACTOR = 3
_NEED_SPEAKERS = ("plda", "lda-cosine")


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
        n_gaussians = 4
        while n_gaussians < MOST_GAUSSIANS and 2 * n_gaussians * FRAMES_PER_GAUSSIAN <= n_frames:
            n_gaussians *= 2
        reasons.append(f"{n_gaussians} Gaussians for {counted(n_frames, 'frame')}")
    if n_factors is None:
        beyond = n_utterances - (n_speakers or 0)
        n_factors = max(1, min(MOST_FACTORS, beyond // SESSIONS_PER_FACTOR, n_utterances))
        who = "" if n_speakers is None else f" of {counted(n_speakers, 'speaker')}"
        reasons.append(f"{n_factors} factors for {counted(n_utterances, 'utterance')}{who}")
    return Sizes(n_gaussians, n_factors, ", ".join(reasons))


def require_feasible(
    speech: Frames | Embeddings,
    backend: str,
    *,
    steps: Sequence[str] | None = None,
    n_gaussians: int | None = None,
    n_factors: int | None = None,
    rank: int | None = None,
    dim: int | None = None,
) -> None:
    """Refuse what is known to fail from the list and the headers alone.

    ``dim`` are the numbers in the i-vectors of an extractor that is there already.

    Examples
    --------
    >>> speech = Embeddings([[1.0], [2.0]], ["a", "b"], ["ann", "bo"])
    >>> require_feasible(speech, "plda")
    Traceback (most recent call last):
    llrkit.errors.InputError: each of the 2 speakers has one session only: the variation within speakers ...
    """
    n = len(speech)
    named = [parsed_step(step) for step in steps or () if isinstance(step, str)]
    if backend in _NEED_SPEAKERS or any(name in ("lda", "wccn") for name, _ in named):
        _require_sessions_to_train(speech)
    if backend == "svm" and find_spec("sklearn") is None:
        raise MissingPackageError.of_extra("support vector machines need scikit-learn", "sklearn")
    if isinstance(speech, Embeddings):
        dim = speech.dim
    elif dim is None:
        if n_factors is not None and not 1 <= n_factors <= n and backend != "ubm-gmm":
            raise InputError(f"{n_factors} factors cannot be learned from {n} utterances; give 1 to {n}")
        spoken = sum(as_number(value) for value in speech.columns.get("audio_seconds", ()))
        if n_gaussians is not None and spoken and 100.0 * spoken < 2 * n_gaussians:
            raise InputError(
                f"{spoken:.1f} s of audio are too little for {n_gaussians} Gaussians; give two frames each, "
                f"at most {int(50 * spoken)}"
            )
        if n_gaussians is not None and spoken and 100.0 * spoken < FEW_FRAMES * n_gaussians:
            each = int(100.0 * spoken / n_gaussians)
            warn_caller(
                f"{n_gaussians} Gaussians for {spoken:.1f} s of audio: {each} frames each at most, where "
                f"{FRAMES_PER_GAUSSIAN:,} are the default",
                SpeechWarning,
            )
        dim = n_factors or sizes_for(0, n, _number_of_speakers(speech)).n_factors
    for name, size in named:
        if size is None:
            continue
        most = min(dim, (_number_of_speakers(speech) or n) - 1) if name == "lda" else dim
        if not 1 <= size <= most:
            raise InputError(f"step {name}:{size}: {most} dimensions at most, from what there is")
        dim = size
    if rank is not None and not 1 <= rank <= dim:
        raise InputError(f"rank must be a whole number from 1 to {dim}, got {rank}")


def _number_of_speakers(speech: Frames | Embeddings) -> int | None:
    return None if speech.speakers is None else len(set(map(str, speech.speakers)))


def _require_sessions_to_train(speech: Frames | Embeddings) -> None:
    if speech.speakers is None:
        what = "embeddings" if isinstance(speech, Embeddings) else "utterances"
        raise InputError(f"the speakers of these {what} are not known")
    sessions = Counter(map(str, speech.speakers))
    if len(sessions) < 2:
        raise InputError(f"there is only one speaker, {next(iter(sessions))!r}; training needs at least two")
    if max(sessions.values()) == 1:
        raise InputError(
            f"each of the {counted(len(sessions), 'speaker')} has one session only: "
            "the variation within speakers cannot be estimated"
        )
