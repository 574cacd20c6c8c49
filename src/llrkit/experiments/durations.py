"""The duration experiment: 25 trial lists, calibrated on one corpus and evaluated on another."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from llrkit._progress import tracked
from llrkit.errors import UnknownNameError
from llrkit.evaluation.result import Evaluation
from llrkit.experiments.list_results import (
    ListResult,
    ListTable,
    calibrated,
    closer_look,
    fit_both,
    measure_list,
    pool_lists,
)
from llrkit.experiments.paper_values import PAPER
from llrkit.recognize.plda.plda_model import PLDA
from llrkit.recognize.plda.plda_training import train_plda
from llrkit.simulate.corpus import Corpus, Recordings
from llrkit.simulate.cross_trials import CrossTrials
from llrkit.simulate.speaker_population import Population

SECONDS = (5.0, 10.0, 20.0, 40.0, 100.0)
"""The paper's four short durations, and what a whole recording has here."""
NAMES: Mapping[float, str] = MappingProxyType({5.0: "5", 10.0: "10", 20.0: "20", 40.0: "40", 100.0: "full"})


@dataclass(frozen=True)
class CorpusSize:
    """How many recordings of how many speakers a trial list is made of."""

    models: int
    tests: int
    speakers: int


@dataclass(frozen=True)
class Scale:
    """Sizes of the lists that train the calibration and of those that are evaluated.

    All models are tested with all segments of their gender, so a list has ``models * tests / 2`` trials.
    """

    train: CorpusSize
    evaluate: CorpusSize


SCALES: Mapping[str, Scale] = MappingProxyType(
    {
        "small": Scale(CorpusSize(64, 128, 16), CorpusSize(240, 200, 60)),
        # 17,095 and 400,316 trials a list
        "paper": Scale(CorpusSize(130, 263, 26), CorpusSize(986, 812, 116)),
        # 427,375 and 10,007,900
        "25x": Scale(CorpusSize(650, 1315, 130), CorpusSize(4930, 4060, 580)),
    }
)
"""``paper`` has the numbers of trials of the paper's lists, ``25x`` those of all of them in every list."""

POPULATION = Population(dim=100, between=0.38, channel=0.532, noise=8.8)
BACKGROUND = (1500, 9000)  # speakers and recordings that train the recognizer
ITERATIONS = 10
SHIFT, ROUGHER = 0.3, 1.02
"""How far the evaluated corpus is from the one that everything was trained on."""


@dataclass(frozen=True)
class DurationsResult:
    """The table of the experiment and how it was made."""

    table: ListTable
    scale: str
    seed: int
    seconds: float
    closer: Mapping[str, Evaluation]
    """The list in the middle (20 s on both sides): raw scores, and both calibrations."""

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, as in the JSON of the command line."""
        return {
            **self.table.to_dict(),
            "paper": dict(PAPER),
            "seconds": self.seconds,
            "trials": self.table.trials,
            "scale": self.scale,
            "seed": self.seed,
        }


@dataclass(frozen=True, eq=False)
class Corpora:
    """Recordings of both corpora and the recognizer that scores them."""

    train: tuple[Recordings, Recordings]
    evaluate: tuple[Recordings, Recordings]
    recognizer: PLDA

    def train_list(self, enroll: float, test: float) -> CrossTrials:
        """Trials of the first corpus."""
        return CrossTrials(*self.train, enroll, test, self.recognizer.scores)

    def evaluation_list(self, enroll: float, test: float) -> CrossTrials:
        """Trials of the second corpus."""
        return CrossTrials(*self.evaluate, enroll, test, self.recognizer.scores)


def make_corpora(scale: str = "small", *, seed: int = 2013) -> Corpora:
    """Simulate two corpora and train a PLDA recognizer on whole recordings of the first one's background.

    The background, the trials that train the calibration and the evaluated trials have no speaker in
    common. The second corpus is shifted and varies a little more within speakers.
    """
    if scale not in SCALES:
        raise UnknownNameError(f"scale={scale!r}: expected one of {', '.join(SCALES)}")
    size = SCALES[scale]
    speakers, recordings = BACKGROUND
    background = Corpus(POPULATION, 0, seed).recordings(
        "train", n_speakers=speakers, n=recordings, durations=SECONDS[-1:]
    )
    trained = train_plda(
        background.vectors[SECONDS[-1]], background.speaker_names, iterations=ITERATIONS
    ).model
    # the last bits of EM depend on the threads of the linear algebra library: round them away
    recognizer = PLDA(
        *(np.round(parameter, 6) for parameter in (trained.mean, trained.between, trained.within))
    )
    first = Corpus(POPULATION, 1, seed)
    second = Corpus(POPULATION.rougher(ROUGHER), 2, seed, SHIFT)
    return Corpora(_recordings(first, size.train), _recordings(second, size.evaluate), recognizer)


def _recordings(corpus: Corpus, size: CorpusSize) -> tuple[Recordings, Recordings]:
    enroll = corpus.recordings("enroll", n_speakers=size.speakers, n=size.models, durations=SECONDS)
    return enroll, corpus.recordings("test", n_speakers=size.speakers, n=size.tests, durations=SECONDS)


def run_durations(scale: str = "small", *, seed: int = 2013) -> DurationsResult:
    """Run the experiment; the same seed gives the same numbers, whatever ``LLRKIT_THREADS`` is.

    The linear algebra library has threads of its own, whose number changes the last bits of the recognizer's
    eigenvectors and of large matrix products, and so the last bits of the costs.

    Parameters
    ----------
    scale
        "small" (20 thousand trials a list or so), "paper" or "25x".

    Examples
    --------
    >>> result = run_durations("small", seed=1)
    >>> len(result.table.lists), round(result.table.correlation, 2)
    (25, 1.0)
    """
    began = time.perf_counter()
    corpora = make_corpora(scale, seed=seed)
    pairs = [(enroll, test) for enroll in SECONDS for test in SECONDS]
    train = {pair: corpora.train_list(*pair).scores() for pair in pairs}
    pooled = fit_both(pool_lists(list(train.values())))
    results: list[ListResult] = []
    closer: Mapping[str, Evaluation] = {}
    middle = pairs[len(pairs) // 2]
    for pair in tracked(pairs, "evaluating", len(pairs), "lists"):
        maps = fit_both(train[pair])
        every = maps | {f"pooled_{name}": fitted for name, fitted in pooled.items()}
        names = {"enroll": NAMES[pair[0]], "test": NAMES[pair[1]]}
        trials = corpora.evaluation_list(*pair)
        results.append(measure_list(trials, every, **names))
        if pair == middle:
            closer = closer_look(trials, calibrated(trials, maps))
    return DurationsResult(ListTable(tuple(results)), scale, seed, time.perf_counter() - began, closer)
