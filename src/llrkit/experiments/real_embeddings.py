"""Real embeddings end to end: background, calibration and evaluation speakers, all pairs of durations."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from llrkit._arrays import Array
from llrkit._format import not_among
from llrkit._plain import Json
from llrkit._progress import tracked
from llrkit.errors import InputError, UnknownNameError
from llrkit.experiments.list_results import (
    ListTable,
    calibrated,
    closer_look,
    fit_both,
    is_regularized,
    measure_list,
    pool_lists,
)
from llrkit.experiments.real_result import RealResult, shape_of
from llrkit.recognize.backends.backend import Backend
from llrkit.recognize.backends.transform_training import train_centering, train_wccn
from llrkit.recognize.backends.transforms import Chain, LengthNorm
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.matrix_to_trials import matrix_scores
from llrkit.recognize.plda.plda_training import train_plda
from llrkit.scores import Scores

SCORERS = ("plda", "plda-moments", "cosine")
SPLITS = ("train", "dev", "eval")
SHRINKAGE = 1e-3
ITERATIONS = 10


def run_real_embeddings(embeddings: Embeddings, *, scorer: str = "plda") -> RealResult:
    """Train a recognizer on the background, calibrate on 'dev', evaluate on 'eval', for all durations.

    Enrollment is from side A, tests are from side B; non-targets have the gender of the model. Rows whose
    column ``suspect_label`` is true are left out.

    Parameters
    ----------
    embeddings
        With speakers and the columns ``split`` ('train', 'dev', 'eval'), ``duration``, ``side`` ('A', 'B')
        and ``gender``; the background may have a column ``corpus``, each of which is centered by itself.
    scorer
        'plda' (trained by EM), 'plda-moments' or 'cosine'.
    """
    if scorer not in SCORERS:
        raise UnknownNameError(f"scorer={not_among(scorer, SCORERS, ': expected one of ')}")
    began = time.perf_counter()
    splits = prepared_splits(embeddings)
    backend = _trained_backend(splits["train"], scorer)
    ready = {split: backend.prepare(splits[split]) for split in ("dev", "eval")}
    durations = sorted_durations(np.unique(ready["eval"].column("duration")).tolist())
    pairs = [(enroll, test) for enroll in durations for test in durations]
    train = {pair: _scored_list(backend, ready["dev"], *pair) for pair in pairs}
    pooled = fit_both(pool_lists(list(train.values())))
    results, shapes, regularized = [], [], []
    for enroll, test in tracked(pairs, "evaluating", len(pairs), "lists"):
        maps = fit_both(train[enroll, test])
        if is_regularized(maps):
            regularized.append(f"{enroll}/{test}")
        scores = _scored_list(backend, ready["eval"], enroll, test)
        every = maps | {f"pooled_{name}": fitted for name, fitted in pooled.items()}
        results.append(measure_list(scores, every, enroll=enroll, test=test))
        shapes.append(MappingProxyType(shape_of(scores)))
    speakers = {split: _speaker_count(splits[split]) for split in SPLITS}
    about: dict[str, Json] = {"scorer": scorer, "speakers": speakers}
    return RealResult(
        ListTable(tuple(results)),
        tuple(shapes),
        MappingProxyType(about),
        time.perf_counter() - began,
        closer_look(scores, calibrated(scores, maps)),
        regularized=tuple(regularized),
    )


def prepared_splits(embeddings: Embeddings) -> Mapping[str, Embeddings]:
    """The three splits, made comparable: unit length, centered, unit length again.

    Each background corpus is centered by its own mean, the others by the mean of 'dev': nothing of 'eval' is
    used.
    """
    for name in ("split", "duration", "side", "gender"):
        embeddings.column(name)
    if "suspect_label" in embeddings.columns:
        embeddings = embeddings.select(~embeddings.column("suspect_label").astype(bool))
    unit = LengthNorm()
    splits = {split: unit(embeddings.where(split=split)) for split in SPLITS}
    _refuse_shared_speakers(splits)
    center = train_centering(splits["dev"])
    centered = {split: unit(center(splits[split])) for split in ("dev", "eval")}
    return MappingProxyType({"train": unit(_centered_by_corpus(splits["train"])), **centered})


def _centered_by_corpus(background: Embeddings) -> Embeddings:
    vectors = background.vectors.astype(np.float64)
    corpora: Array = background.columns.get("corpus", np.zeros(len(background)))
    for corpus in np.unique(corpora):
        rows = corpora == corpus
        vectors[rows] -= vectors[rows].mean(axis=0)
    return background.replace(vectors=vectors)


def _refuse_shared_speakers(splits: Mapping[str, Embeddings]) -> None:
    seen: dict[str, str] = {}
    for split, embeddings in splits.items():
        for speaker in np.unique(embeddings.known_speakers).tolist():
            if seen.setdefault(speaker, split) != split:
                raise InputError(f"speaker {speaker!r} is in the splits {seen[speaker]!r} and {split!r}")


def _trained_backend(background: Embeddings, scorer: str) -> Backend:
    if scorer == "cosine":
        return Backend(Chain())
    whiten = train_wccn(background, shrinkage=SHRINKAGE)
    chain = Chain((whiten, LengthNorm()))
    iterations = 0 if scorer == "plda-moments" else ITERATIONS
    return Backend(chain, train_plda(chain(background), iterations=iterations, shrinkage=SHRINKAGE).model)


def _scored_list(backend: Backend, embeddings: Embeddings, enroll: str, test: str) -> Scores:
    """Trials of one combination of durations."""
    left, right = embeddings.where(side="A", duration=enroll), embeddings.where(side="B", duration=test)
    return matrix_scores(backend.scores(left, right), left, right, same=["gender"])


def _speaker_count(embeddings: Embeddings) -> int:
    return len(np.unique(embeddings.known_speakers))


def sorted_durations(durations: list[str]) -> list[str]:
    """Durations from short to long; words such as 'full' come last.

    Examples
    --------
    >>> sorted_durations(["10", "full", "5"])
    ['5', '10', 'full']
    """

    def key(value: str) -> tuple[bool, float, str]:
        try:
            return False, float(value), ""
        except ValueError:
            return True, 0.0, str(value)

    return sorted(durations, key=key)
