"""The corpora of the duration experiment from frames: background model, i-vectors, LDA, PLDA."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._progress import stage
from llrkit.errors import InputError
from llrkit.experiments.durations import (
    ITERATIONS,
    SCALES,
    SECONDS,
    SEEDS,
    Corpora,
    CorpusSize,
    CorpusTrials,
    DurationsResult,
    rounded_plda,
    run_durations,
)
from llrkit.recognize.backends.transform_training import train_chain
from llrkit.recognize.backends.transforms import Chain
from llrkit.recognize.ivectors.baum_welch import Statistics, baum_welch
from llrkit.recognize.ivectors.diagonal_gmm import DiagonalGMM
from llrkit.recognize.ivectors.ivector_model import TotalVariability
from llrkit.recognize.ivectors.ivector_training import train_ivectors
from llrkit.recognize.ivectors.ubm_training import train_ubm
from llrkit.recognize.plda.plda_training import train_plda
from llrkit.simulate.corpus import Recordings
from llrkit.simulate.simulated_frames import FRAMES_PER_SECOND, FrameModel
from llrkit.simulate.sparse_trials import DrawnPairs

N_GAUSSIANS, DIM, N_FACTORS, LDA_DIM = 32, 12, 60, 50
STRENGTH, CHANNEL = 0.284, 0.86
FRAMES_A_SECOND = 5
"""Independent frames in a second of speech; the hundred that a front end makes are not independent. The
strength of speakers and the spread of recordings were tuned to the ends of the paper's range of EERs."""
BACKGROUND = (400, 5)  # speakers, and recordings of each
UBM_RECORDINGS = 200
STEPS = ("center", "length", f"lda:{LDA_DIM}", "length")
_TRAIN, _EVALUATE, _TESTS = 10_000, 20_000, 1_000  # first speakers of the corpora, first session of tests
_BATCH = 100


@dataclass(frozen=True, eq=False)
class VectorMaker:
    """What turns frames into vectors that PLDA can score."""

    model: FrameModel
    ubm: DiagonalGMM
    factors: TotalVariability
    chain: Chain


def run_from_frames(scale: str = "small", *, seed: int = 2013, seeds: int = SEEDS) -> DurationsResult:
    """The duration experiment from frames, and beside it from embeddings with the same lists and seeds."""
    result = run_durations(scale, seed=seed, seeds=seeds, make=make_frame_corpora)
    shortcut = run_durations(scale, seed=seed, seeds=seeds)
    return replace(result, start="frames", shortcut=shortcut.table)


def make_frame_corpora(scale: str = "small", *, seed: int = 2013) -> Corpora:
    """Simulate frames of two corpora and of a background, and train everything from the background model on.

    Frames follow the model that i-vectors assume. The two corpora do not differ in their domain, and genders
    sound alike. The background has whole recordings only.
    """
    if scale not in ("small", "paper"):
        raise InputError(f"scale={scale!r}: from frames, expected one of small, paper")
    model = FrameModel(N_GAUSSIANS, DIM, N_FACTORS, strength=STRENGTH, channel=CHANNEL, seed=seed)
    people, sessions = BACKGROUND
    who = [(speaker, session) for speaker in range(people) for session in range(sessions)]
    sample = [
        _frames_of_recording(model, *one, SECONDS[-1]) for one in who[:: -(-len(who) // UBM_RECORDINGS)]
    ]
    with stage("background model"):
        ubm = train_ubm(sample, N_GAUSSIANS, rng=seed)
    whole = cut_statistics(model, ubm, who, SECONDS[-1:], "background")[SECONDS[-1]]
    with stage("factors", ITERATIONS, "steps") as done:
        factors = train_ivectors(
            whole, ubm, N_FACTORS, iterations=ITERATIONS, rng=seed, report=lambda step, value: done(1)
        )
    background = factors.extract(whole)
    chain = train_chain(background, STEPS)
    trained = train_plda(chain(background), iterations=ITERATIONS).model
    ready = VectorMaker(model, ubm, factors, chain)
    size = SCALES[scale]
    return Corpora(
        _ivectors_of_corpus(ready, _TRAIN, size.train, seed),
        _ivectors_of_corpus(ready, _EVALUATE, size.evaluate, seed),
        rounded_plda(trained),
    )


def _ivectors_of_corpus(ready: VectorMaker, first: int, size: CorpusSize, seed: int) -> CorpusTrials:
    """I-vectors of both sides of a corpus, made ready; recordings are dealt to the speakers in turn."""
    sides = []
    for side, n, session in (("enroll", size.models, 0), ("test", size.tests, _TESTS)):
        codes = np.arange(n) % size.speakers
        who = [(first + int(code), session + i // size.speakers) for i, code in enumerate(codes)]
        cuts = cut_statistics(ready.model, ready.ubm, who, SECONDS, f"{side} recordings")
        vectors = {seconds: _ready_ivectors(ready, statistics) for seconds, statistics in cuts.items()}
        sides.append(Recordings(f"corpus{first}", side, codes, MappingProxyType(vectors)))
    pairs = DrawnPairs.of(*sides, n_trials=size.trials, rng=seed)
    return CorpusTrials(sides[0], sides[1], pairs)


def _ready_ivectors(ready: VectorMaker, statistics: Statistics) -> FloatArray:
    vectors = ready.factors.extract(statistics)
    return np.asarray(ready.chain(vectors).vectors, dtype=np.float64)


def cut_statistics(
    model: FrameModel,
    ubm: DiagonalGMM,
    who: Sequence[tuple[int, int]],
    durations: Sequence[float],
    what: str = "recordings",
) -> Mapping[float, Statistics]:
    """Statistics of the first seconds of recordings, for each duration: those of a longer cut add up.

    ``who`` holds the speaker and the session of each recording.

    Examples
    --------
    >>> model = FrameModel(n_components=2, dim=2, rank=2, seed=1)
    >>> ubm = DiagonalGMM(*model.universal)
    >>> cuts = cut_statistics(model, ubm, [(0, 0), (1, 0)], (5.0, 20.0))
    >>> cuts[5.0].n_frames, cuts[20.0].n_frames
    (array([25., 25.]), array([100., 100.]))
    """
    ends = [round(seconds * FRAMES_A_SECOND) for seconds in durations]
    zeroth, first = [], []
    with stage(what, len(who), "recordings") as done:
        for start in range(0, len(who), _BATCH):
            batch = who[start : start + _BATCH]
            pieces = [
                piece
                for one in batch
                for piece in np.split(_frames_of_recording(model, *one, durations[-1]), ends[:-1])
            ]
            sums = baum_welch(pieces, ubm)
            shape = (len(batch), len(durations))
            zeroth.append(sums.zeroth.reshape(*shape, -1).cumsum(axis=1))
            first.append(sums.first.reshape(*shape, *sums.first.shape[1:]).cumsum(axis=1))
            done(len(batch))
    counts, offsets = np.concatenate(zeroth), np.concatenate(first)
    names = tuple(f"{speaker}-{session}" for speaker, session in who)
    speakers = tuple(str(speaker) for speaker, _ in who)
    return MappingProxyType(
        {
            seconds: Statistics(names, counts[:, i], offsets[:, i], np.zeros(len(who)), speakers)
            for i, seconds in enumerate(durations)
        }
    )


def _frames_of_recording(model: FrameModel, speaker: int, session: int, seconds: float) -> FloatArray:
    return model.recording(speaker, session, seconds * FRAMES_A_SECOND / FRAMES_PER_SECOND)
