"""Warnings about speech that is used where it must not be: on both sides, or as what it is not."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array
from llrkit._format import counted
from llrkit._warn import warn_caller
from llrkit.errors import InputError, SpeechWarning
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.frames.utterance_frames import Frames
from llrkit.recognize.overlap_sources import Sources, some_names

SPLIT_NAMES = ("split", "subset", "partition", "fold", "set")


def check_repeats(given: Sources) -> None:
    """The same content twice: of one speaker a warning, of two an error.

    Examples
    --------
    >>> check_repeats(Sources(("a", "b"), ("ann", "bo"), ("audio:1", "audio:1")))
    Traceback (most recent call last):
    llrkit.errors.InputError: a and b are the same recording, but of speakers ann and bo
    """
    pairs = given.repeated()
    what = "recording" if (given.contents or ("",))[0].startswith("audio") else "embedding"
    for i, j in pairs:
        if given.speakers is not None and given.speakers[i] != given.speakers[j]:
            raise InputError(
                f"{given.ids[i]} and {given.ids[j]} are the same {what}, but of speakers "
                f"{given.speakers[i]} and {given.speakers[j]}"
            )
    if pairs:
        names = [f"{given.ids[j]} (as {given.ids[i]})" for i, j in pairs]
        warn_caller(f"the same {what} under two names, and counted twice: {some_names(names)}", SpeechWarning)


def check_against_training(training: Sources, given: Sources, what: str) -> None:
    """Speakers that trained the recognizer must neither enroll nor be tested."""
    better = "scores will look better than they are"
    _warn_of_shared(training, given, f"{what} trained the recognizer", better, better)


def check_cohort(cohort: Sources, models: Sources, segments: Sources) -> None:
    """A cohort of impostors must not hold what is scored."""
    for other, what in ((segments, "tested"), (models, "enrolled")):
        _warn_of_shared(
            other,
            cohort,
            f"of the cohort {what} too",
            "error rates after normalization will be too low",
            "a cohort should hold impostors only",
        )


def _warn_of_shared(one: Sources, other: Sources, use: str, of_utterances: str, of_speakers: str) -> None:
    """Warn of utterances that both hold, or else of speakers, and say what follows from either."""
    utterances, speakers = one.segments_shared_with(other), one.speakers_shared_with(other)
    if utterances:
        text = f"{counted(len(utterances), 'utterance')} {use}: {some_names(utterances)}; {of_utterances}"
        warn_caller(text, SpeechWarning)
    elif speakers:
        text = f"{counted(len(speakers), 'speaker')} {use}: {some_names(speakers)}; {of_speakers}"
        warn_caller(text, SpeechWarning)


def check_test_enrolled(models: Sources, segments: Sources, model_ids: Iterable[object]) -> None:
    """A recording that is enrolled and tested is compared with itself.

    A model of one utterance that is called like it is never tried against it.
    """
    names = set(map(str, model_ids))
    shared = [name for name in models.segments_shared_with(segments) if name not in names]
    if shared:
        warn_caller(
            f"{counted(len(shared), 'test utterance')} also enrolled: {some_names(shared)}; scores "
            "against their own "
            "model are those of a recording with itself",
            SpeechWarning,
        )


def check_adaptation(training: Sources, new: Sources) -> None:
    """Embeddings of the new domain that are those of the training say nothing about another domain."""
    shared = training.segments_shared_with(new)
    if shared:
        warn_caller(
            f"{counted(len(shared), 'utterance')} of the new domain trained the recognizer: "
            f"{some_names(shared)}",
            SpeechWarning,
        )


def check_splits(
    given: Frames | Embeddings, where: Iterable[object], what: str, option: str = "--where"
) -> None:
    """All splits of a corpus used for one thing, without a word about them."""
    for name, values in given.columns.items():
        if name.lower() not in SPLIT_NAMES or any(name in str(text) for text in where):
            continue
        distinct = sorted({str(value) for value in values})
        if 1 < len(distinct) <= 10:
            warn_caller(
                f"{what} on all of {name} = {', '.join(distinct)}; choose some of it, for example with "
                f'{option} "{name} = {distinct[-1]}"',
                SpeechWarning,
            )


def length_profile(vectors: Array) -> npt.NDArray[np.float64]:
    """Median length of the vectors, and half the distance of the quartiles."""
    lengths = np.sqrt(np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64))
    low, middle, high = np.percentile(lengths, [25.0, 50.0, 75.0])
    return np.array([middle, (high - low) / 2.0])


def check_lengths(trained: npt.NDArray[np.float64] | None, vectors: Array) -> None:
    """Embeddings that were length-normalized or whitened elsewhere have other lengths than raw ones."""
    if trained is None or len(vectors) < 2:
        return
    middle, spread = (float(value) for value in trained)
    now, now_spread = (float(value) for value in length_profile(vectors))
    same_length = now_spread < 1e-4 * now and spread > 1e-2 * middle
    if same_length or not 0.4 < now / max(middle, 1e-300) < 2.5:
        warn_caller(
            f"these embeddings have lengths of {now:.3g} +- {now_spread:.2g}, those in training {middle:.3g} "
            f"+- {spread:.2g}: were they processed already, or made by another program?",
            SpeechWarning,
        )
