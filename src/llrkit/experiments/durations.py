"""The duration experiment: 25 trial lists, calibrated on one corpus and evaluated on another."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from llrkit._arguments import whole_number
from llrkit._blas import one_blas_thread
from llrkit._format import not_among
from llrkit._plain import Json
from llrkit._progress import tracked
from llrkit._random import checked_seed
from llrkit.errors import UnknownNameError
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.experiments.list_results import (
    ListResult,
    ListTable,
    calibrated,
    closer_look,
    fit_both,
    measure_list,
)
from llrkit.experiments.one_map import fit_one_map
from llrkit.experiments.paper_values import PAPER
from llrkit.experiments.seed_means import SeedMeans
from llrkit.recognize.backends.transforms import Affine, Chain, LengthNorm
from llrkit.recognize.plda.plda_model import PLDA
from llrkit.recognize.plda.plda_training import train_plda
from llrkit.simulate.corpus import Corpus, Recordings
from llrkit.simulate.sparse_trials import DrawnPairs, SparseTrials
from llrkit.simulate.speaker_population import Population

SECONDS = (5.0, 10.0, 20.0, 40.0, 100.0)
"""The paper's four short durations, and what a whole recording has here."""
NAMES: Mapping[float, str] = MappingProxyType({5.0: "5", 10.0: "10", 20.0: "20", 40.0: "40", 100.0: "full"})


@dataclass(frozen=True)
class CorpusSize:
    """How many recordings of how many speakers a trial list is made of, and how many trials it has.

    All same-speaker pairs are trials; the rest are drawn from the same-gender pairs of other speakers.
    """

    models: int
    tests: int
    speakers: int
    trials: int


@dataclass(frozen=True)
class Scale:
    """Sizes of the lists that train the calibration and of those that are evaluated."""

    train: CorpusSize
    evaluate: CorpusSize


SCALES: Mapping[str, Scale] = MappingProxyType(
    {
        "small": Scale(CorpusSize(120, 240, 48, 4_000), CorpusSize(480, 400, 120, 24_000)),
        "paper": Scale(CorpusSize(260, 526, 104, 17_095), CorpusSize(1972, 1624, 464, 400_316)),
        "25x": Scale(CorpusSize(920, 1860, 260, 427_375), CorpusSize(6960, 5800, 1160, 10_007_900)),
    }
)
"""``paper`` has the numbers of trials of the paper's lists, ``25x`` those of all of them in every list."""

POPULATION = Population(dim=100, between=0.38, channel=0.532, noise=8.8, shrinks=True)
"""Tuned to the ends of the paper's range of EERs (2.9 and 26 %), with lists that were full cross products of
few speakers and without length normalization, and not tuned again. Nothing was tuned to the paper's Cllr."""
BACKGROUND = (1500, 9000)  # speakers and recordings that train the recognizer
ITERATIONS = 10
SHIFT, ROUGHER = 0.3, 1.02
"""How far the evaluated corpus is from the one that everything was trained on: chosen so that calibration
loses about the 0.005 bits that it loses in the paper."""
SEEDS = 5


@dataclass(frozen=True)
class DurationsResult:
    """The table of the experiment and how it was made."""

    table: SeedMeans
    scale: str
    seconds: float
    closer: Mapping[str, Evaluation]
    """The list in the middle (20 s on both sides) of the first seed: raw scores, and both calibrations."""
    start: str = "embeddings"
    """What was simulated."""
    shortcut: SeedMeans | None = None
    """The same experiment from embeddings, where this one is from frames."""

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds whose means the table holds."""
        return self.table.seeds

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        plain = {
            **self.table.to_dict(),
            "paper": dict(PAPER),
            "seconds": self.seconds,
            "trials": self.table.trials,
            "scale": self.scale,
            "seed": self.seeds[0],
            "from": self.start,
        }
        return plain if self.shortcut is None else {**plain, "embeddings": self.shortcut.to_dict()}


@dataclass(frozen=True, eq=False)
class CorpusTrials:
    """Recordings of one corpus, ready to be scored, and their trials: the same for all durations."""

    enroll: Recordings
    test: Recordings
    pairs: DrawnPairs


@dataclass(frozen=True, eq=False)
class Corpora:
    """Recordings of both corpora and the recognizer that scores them."""

    train: CorpusTrials
    evaluate: CorpusTrials
    recognizer: PLDA

    def train_list(self, enroll: float, test: float) -> SparseTrials:
        """Trials of the first corpus."""
        return self._scored(self.train, enroll, test)

    def evaluation_list(self, enroll: float, test: float) -> SparseTrials:
        """Trials of the second corpus."""
        return self._scored(self.evaluate, enroll, test)

    def _scored(self, side: CorpusTrials, enroll: float, test: float) -> SparseTrials:
        return SparseTrials(side.enroll, side.test, enroll, test, self.recognizer.scores, pairs=side.pairs)


def make_corpora(scale: str = "small", *, seed: int = 2013) -> Corpora:
    """Simulate two corpora and train a PLDA recognizer on whole recordings of the first one's background.

    The background, the trials that train the calibration and the evaluated trials have no speaker in
    common. The second corpus is shifted and varies a little more within speakers. All embeddings are centered
    by the mean of the background and scaled to one length before PLDA is trained and applied.
    """
    if scale not in SCALES:
        raise UnknownNameError(f"scale={not_among(scale, SCALES, ': expected one of ')}")
    size = SCALES[scale]
    speakers, recordings = BACKGROUND
    background = Corpus(POPULATION, 0, seed).recordings(
        "train", n_speakers=speakers, n=recordings, durations=SECONDS[-1:]
    )
    vectors = background.vectors[SECONDS[-1]]
    chain = Chain((Affine(vectors.mean(axis=0), name="center"), LengthNorm("sqrt-dim")))
    trained = train_plda(chain(vectors), background.speaker_names, iterations=ITERATIONS).model
    first = Corpus(POPULATION, 1, seed)
    second = Corpus(POPULATION.rougher(ROUGHER), 2, seed, SHIFT)
    return Corpora(
        _corpus_ready(first, size.train, chain),
        _corpus_ready(second, size.evaluate, chain),
        rounded_plda(trained),
    )


def rounded_plda(trained: PLDA) -> PLDA:
    """The model without its last bits, which depend on the threads of the linear algebra library."""
    return PLDA(*(np.round(parameter, 6) for parameter in (trained.mean, trained.between, trained.within)))


def _corpus_ready(corpus: Corpus, size: CorpusSize, chain: Chain) -> CorpusTrials:
    sides = []
    for side, n in (("enroll", size.models), ("test", size.tests)):
        cut = corpus.recordings(side, n_speakers=size.speakers, n=n, durations=SECONDS)
        ready = {seconds: chain(vectors) for seconds, vectors in cut.vectors.items()}
        sides.append(replace(cut, vectors=MappingProxyType(ready)))
    pairs = DrawnPairs.of(*sides, n_trials=size.trials, rng=corpus.seed)
    return CorpusTrials(sides[0], sides[1], pairs)


@one_blas_thread()
def run_durations(
    scale: str = "small", *, seed: int = 2013, seeds: int = SEEDS, make: Callable[..., Corpora] | None = None
) -> DurationsResult:
    """Run the experiment with several seeds; the same seeds give the same numbers, whatever the threads are.

    The linear algebra library is held to one thread: the number of its threads would change the last bits of
    the recognizer's eigenvectors and of large matrix products, and so the last bits of the costs.

    Parameters
    ----------
    scale
        "small" (24 thousand trials a list), "paper" or "25x".
    seed
        The first seed; the others follow it.
    seeds
        Their number. All results are means over seeds.
    make
        What makes the corpora of a scale and a seed, by default :func:`make_corpora`.

    Examples
    --------
    >>> result = run_durations("small", seed=1, seeds=1)
    >>> len(result.table.lists), round(result.table.correlation, 2), result.seeds
    (25, 1.0, (1,))
    """
    began = time.perf_counter()
    count = whole_number(seeds, 1, "seeds")
    first = checked_seed(seed)
    make = make or make_corpora
    tables: dict[int, ListTable] = {}
    closer: Mapping[str, Evaluation] = {}
    for number in tracked(range(first, first + count), "simulating", count, "seeds"):
        tables[number], middle = run_seed(make(scale, seed=number), look_closer=number == first)
        closer = closer or middle
    return DurationsResult(SeedMeans.of(tables), scale, time.perf_counter() - began, closer)


def run_seed(corpora: Corpora, look_closer: bool) -> tuple[ListTable, Mapping[str, Evaluation]]:
    """All lists of one pair of corpora, and if wanted the list in the middle in full."""
    pairs = [(enroll, test) for enroll in SECONDS for test in SECONDS]
    train = {pair: corpora.train_list(*pair).scores() for pair in pairs}
    one_map = fit_one_map(train)
    results: list[ListResult] = []
    closer: Mapping[str, Evaluation] = {}
    middle = pairs[len(pairs) // 2]
    for pair in tracked(pairs, "evaluating", len(pairs), "lists"):
        maps = fit_both(train[pair])
        trials = corpora.evaluation_list(*pair)
        results.append(
            measure_list(trials, maps | one_map.at(pair), enroll=NAMES[pair[0]], test=NAMES[pair[1]])
        )
        if look_closer and pair == middle:
            closer = closer_look(trials, calibrated(trials, maps))
    return ListTable(tuple(results)), closer
