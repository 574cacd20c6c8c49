"""The experiment on durations: 25 trial lists of simulated corpora, from embeddings or from frames."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from llrkit import speech
from llrkit.base.arguments import FloatArray, checked_seed, one_of, whole_number
from llrkit.base.process import cached_property, one_blas_thread, stage, tracked
from llrkit.base.text import Json
from llrkit.errors import InputError
from llrkit.experiments import lists
from llrkit.experiments.lists import ListTable
from llrkit.fits.conditions import condition_cells, conditioned_from_cells
from llrkit.fits.fusion import fit_quality
from llrkit.maps.map import AffineMap, Map
from llrkit.scores import Scores
from llrkit.simulate.speakers import Corpus, DrawnPairs, FrameModel, Population, Recordings, SparseTrials
from llrkit.speech.frames import FRAMES_PER_SECOND
from llrkit.verbs.evaluate import Evaluation

CONDITIONS = ("enroll_seconds", "test_seconds")
ALPHA = 0.5
Pair = tuple[float, float]


def fit_one_map(by_pair: Mapping[Pair, Scores]) -> Callable[[Pair], dict[str, Map]]:
    """Train on the trials of all lists: pooled, by conditions (CMLG), by quality measures (logistic).

    The result gives each map for the durations of one list, by the field of the result it fills.
    """
    pooled = lists.pool_lists([with_durations(trials, pair) for pair, trials in by_pair.items()])
    plain = {f"pooled_{name}": fitted for name, fitted in lists.fit_both(pooled).items()}
    quality = fit_quality(pooled, columns=CONDITIONS, features="durations", scaled=True)
    cells = condition_cells(pooled, CONDITIONS, "log")
    conditioned = conditioned_from_cells(cells, ALPHA)

    def at(pair: Pair) -> dict[str, Map]:
        seconds: dict[str, float] = dict(zip(CONDITIONS, pair, strict=True))
        # From the sums of all cells but one: leaving a list out needs no pass over its trials.
        left_out = conditioned_from_cells(cells.without(**seconds), ALPHA)
        # At fixed durations the map is a line, which two scores determine.
        columns = {name: np.full(2, value) for name, value in seconds.items()}
        offset, one = quality.llr(np.array([0.0, 1.0]), columns).tolist()
        return {
            **plain,
            "conditioned_cmlg": conditioned.at(**seconds),
            "left_out_cmlg": left_out.at(**seconds),
            "quality_logistic": AffineMap(a=one - offset, b=offset, method=quality.method),
        }

    return at


def with_durations(trials: Scores, pair: Pair) -> Scores:
    """The trials of a list, which remember their durations.

    Examples
    --------
    >>> with_durations(Scores([1.0], [0.0, 0.5]), (5.0, 40.0)).columns["test_seconds"]
    (array([40.], dtype=float32), array([40., 40.], dtype=float32))
    """
    sizes = trials.n_target, trials.n_nontarget
    columns = {  # few and round values: half the memory is enough
        name: (np.full(sizes[0], seconds, np.float32), np.full(sizes[1], seconds, np.float32))
        for name, seconds in zip(CONDITIONS, pair, strict=True)
    }
    return Scores.from_classes(trials.target, trials.nontarget, columns)


SECONDS = (5.0, 10.0, 20.0, 40.0, 100.0)
"""The paper's four short durations, and what a whole recording has here."""
NAMES: Mapping[float, str] = {5.0: "5", 10.0: "10", 20.0: "20", 40.0: "40", 100.0: "full"}


@dataclass(frozen=True)
class CorpusSize:
    """How many recordings of how many speakers a trial list is made of, and how many trials it has.

    All same-speaker pairs are trials; the rest are drawn from the same-gender pairs of other speakers.
    """

    models: int
    tests: int
    speakers: int
    trials: int


SCALES: Mapping[str, tuple[CorpusSize, CorpusSize]] = {
    "small": (CorpusSize(120, 240, 48, 4_000), CorpusSize(480, 400, 120, 24_000)),
    "paper": (CorpusSize(260, 526, 104, 17_095), CorpusSize(1972, 1624, 464, 400_316)),
    "25x": (CorpusSize(920, 1860, 260, 427_375), CorpusSize(6960, 5800, 1160, 10_007_900)),
}
"""Sizes of the lists that train the calibration and of those that are evaluated.

``paper`` has the numbers of trials of the paper's lists, ``25x`` those of all of them in every list."""

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

    table: ListTable
    scale: str
    seconds: float
    closer: Mapping[str, Evaluation]
    """The list in the middle (20 s on both sides) of the first seed: raw scores, and both calibrations."""
    start: str = "embeddings"
    """What was simulated."""
    shortcut: ListTable | None = None
    """The same experiment from embeddings, where this one is from frames."""

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds whose means the table holds."""
        return self.table.seeds

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        plain = {
            **self.table.to_dict(),
            "paper": dict(lists.PAPER),
            "seconds": self.seconds,
            "trials": self.table.trials,
            "scale": self.scale,
            "seed": self.seeds[0],
            "from": self.start,
        }
        return plain if self.shortcut is None else {**plain, "embeddings": self.shortcut.to_dict()}


@dataclass(frozen=True, eq=False)
class Corpora:
    """Recordings of both corpora, ready to be scored, their trials, and the recognizer that scores them."""

    train: tuple[Recordings, Recordings]
    """Enrollments and tests of the first corpus."""
    evaluate: tuple[Recordings, Recordings]
    """Those of the second."""
    recognizer: speech.PLDA
    sizes: tuple[CorpusSize, CorpusSize]
    seed: int

    @cached_property
    def pairs(self) -> tuple[DrawnPairs, DrawnPairs]:
        """The trials of both corpora, the same for all durations."""
        sides = zip((self.train, self.evaluate), self.sizes, strict=True)
        # The seed of the corpora draws the lists too; generators differ by their keys.
        train, evaluate = (DrawnPairs.of(*side, n_trials=size.trials, rng=self.seed) for side, size in sides)
        return train, evaluate

    def train_list(self, enroll: float, test: float) -> SparseTrials:
        """Trials of the first corpus."""
        return SparseTrials(*self.train, enroll, test, self.recognizer.scores, pairs=self.pairs[0])

    def evaluation_list(self, enroll: float, test: float) -> SparseTrials:
        """Trials of the second corpus."""
        return SparseTrials(*self.evaluate, enroll, test, self.recognizer.scores, pairs=self.pairs[1])


def make_corpora(scale: str = "small", *, seed: int = 2013) -> Corpora:
    """Simulate two corpora and train a PLDA recognizer on whole recordings of the first one's background.

    The background, the trials that train the calibration and the evaluated trials have no speaker in
    common. The second corpus is shifted and varies a little more within speakers. All embeddings are centered
    by the mean of the background and scaled to one length before PLDA is trained and applied.
    """
    one_of(scale, tuple(SCALES), "scale")
    n_speakers, n = BACKGROUND
    corpus, full = Corpus(POPULATION, 0, seed), SECONDS[-1]
    background = corpus.recordings("train", n_speakers=n_speakers, n=n, durations=[full])
    vectors = background.vectors[full]
    chain = speech.Chain((speech.Affine(vectors.mean(axis=0), name="center"), speech.LengthNorm("sqrt-dim")))
    trained = speech.train_plda(chain(vectors), background.speaker_names, iterations=ITERATIONS).model
    first = Corpus(POPULATION, 1, seed)
    second = Corpus(POPULATION.rougher(ROUGHER), 2, seed, SHIFT)
    train, evaluate = SCALES[scale]
    return Corpora(
        _ready_recordings(first, train, chain), _ready_recordings(second, evaluate, chain),
        rounded_plda(trained), SCALES[scale], seed,
    )  # fmt: skip


def rounded_plda(trained: speech.PLDA) -> speech.PLDA:
    """The model without its last bits, which depend on the threads of the linear algebra library."""
    parameters = (trained.mean, trained.between, trained.within)
    return speech.PLDA(*(np.round(parameter, 6) for parameter in parameters))


def _ready_recordings(corpus: Corpus, size: CorpusSize, chain: speech.Chain) -> tuple[Recordings, Recordings]:
    def ready(side: str, n: int) -> Recordings:
        cuts = corpus.recordings(side, n_speakers=size.speakers, n=n, durations=SECONDS)
        # All durations go through the chain of whole recordings, as short segments would in use.
        return replace(cuts, vectors={seconds: chain(vectors) for seconds, vectors in cuts.vectors.items()})

    return ready("enroll", size.models), ready("test", size.tests)


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
    >>> len(result.table.lists), round(result.table.summary["correlation"], 2), result.seeds
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
        # Of the first seed only: the page shows one list in full.
        closer = closer or middle
    return DurationsResult(ListTable.of_seeds(tables), scale, time.perf_counter() - began, closer)


def run_seed(corpora: Corpora, look_closer: bool) -> tuple[ListTable, Mapping[str, Evaluation]]:
    """All lists of one pair of corpora, and if wanted the list in the middle in full."""
    pairs = [(enroll, test) for enroll in SECONDS for test in SECONDS]
    # In memory, since the pooled fits need all of them; evaluated lists are made block by block.
    train = {pair: corpora.train_list(*pair).scores() for pair in pairs}
    one_map = fit_one_map(train)
    results: list[lists.ListResult] = []
    closer: Mapping[str, Evaluation] = {}
    # Of five durations on both sides, the pair in the middle is 20 s / 20 s.
    middle = pairs[len(pairs) // 2]
    for pair in tracked(pairs, "evaluating", len(pairs), "lists"):
        maps = lists.fit_both(train[pair])
        trials = corpora.evaluation_list(*pair)
        results.append(
            lists.measure_list(trials, maps | one_map(pair), enroll=NAMES[pair[0]], test=NAMES[pair[1]])
        )
        if look_closer and pair == middle:
            closer = lists.closer_look(trials, lists.calibrated(trials, maps))
    return ListTable(tuple(results)), closer


N_GAUSSIANS, DIM, N_FACTORS, LDA_DIM = 32, 12, 60, 50
STRENGTH, CHANNEL = 0.284, 0.86
FRAMES_A_SECOND = 5
"""Independent frames in a second of speech; the hundred that a front end makes are not independent. The
strength of speakers and the spread of recordings were tuned to the ends of the paper's range of EERs."""
FRAME_BACKGROUND = (400, 5)  # speakers, and recordings of each
UBM_RECORDINGS = 200
STEPS = ("center", "length", f"lda:{LDA_DIM}", "length")
_TRAIN, _EVALUATE, _TESTS = 10_000, 20_000, 1_000  # first speakers of the corpora, first session of tests
_BATCH = 100


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
    people, sessions = FRAME_BACKGROUND
    who = [(speaker, session) for speaker in range(people) for session in range(sessions)]
    # Every n-th recording, so that the sample is spread over the speakers.
    some = who[:: -(-len(who) // UBM_RECORDINGS)]
    sample = [_frames_of_recording(model, *one, SECONDS[-1]) for one in some]
    with stage("background model"):
        ubm = speech.train_ubm(sample, N_GAUSSIANS, rng=seed)
    whole = cut_statistics(model, ubm, who, SECONDS[-1:], "background")[SECONDS[-1]]
    with stage("factors", ITERATIONS, "steps") as done:
        factors = speech.train_ivectors(
            whole, ubm, N_FACTORS, iterations=ITERATIONS, rng=seed, report=lambda step, value: done(1)
        )
    background = factors.extract(whole)
    chain = speech.train_chain(background, STEPS)
    trained = speech.train_plda(chain(background), iterations=ITERATIONS).model

    def recordings(side: str, n: int, n_speakers: int, first: int, session: int) -> Recordings:
        codes = np.arange(n) % n_speakers
        # Recordings are dealt to the speakers in turn, as Corpus.recordings does, so that the same lists
        # can be drawn.
        drawn = [(first + int(code), session + i // n_speakers) for i, code in enumerate(codes)]
        cuts = cut_statistics(model, ubm, drawn, SECONDS, f"{side} recordings")
        vectors = {
            seconds: np.asarray(chain(factors.extract(statistics)).vectors, dtype=np.float64)
            for seconds, statistics in cuts.items()
        }
        return Recordings(f"corpus{first}", side, codes, vectors)

    sides = []
    for size, first in zip(SCALES[scale], (_TRAIN, _EVALUATE), strict=True):
        enroll = recordings("enroll", size.models, size.speakers, first, 0)
        sides.append((enroll, recordings("test", size.tests, size.speakers, first, _TESTS)))
    return Corpora(sides[0], sides[1], rounded_plda(trained), SCALES[scale], seed)


def cut_statistics(
    model: FrameModel,
    ubm: speech.DiagonalGMM,
    who: Sequence[tuple[int, int]],
    durations: Sequence[float],
    what: str = "recordings",
) -> Mapping[float, speech.Statistics]:
    """Statistics of the first seconds of recordings, for each duration: those of a longer cut add up.

    ``who`` holds the speaker and the session of each recording.

    Examples
    --------
    >>> model = FrameModel(n_components=2, dim=2, rank=2, seed=1)
    >>> ubm = speech.DiagonalGMM(*model.universal)
    >>> cuts = cut_statistics(model, ubm, [(0, 0), (1, 0)], (5.0, 20.0))
    >>> cuts[5.0].n_frames, cuts[20.0].n_frames
    (array([25., 25.]), array([100., 100.]))
    """
    ends = [round(seconds * FRAMES_A_SECOND) for seconds in durations]
    zeroth, first = [], []
    with stage(what, len(who), "recordings") as done:
        for start in range(0, len(who), _BATCH):
            batch = who[start : start + _BATCH]
            whole = [_frames_of_recording(model, *one, durations[-1]) for one in batch]
            # Pieces between one duration and the next: each frame is worked on once.
            pieces = [piece for frames in whole for piece in np.split(frames, ends[:-1])]
            sums = speech.baum_welch(pieces, ubm)
            shape = (len(batch), len(durations))
            # The statistics of a longer cut are the sum of its pieces.
            zeroth.append(sums.zeroth.reshape(*shape, -1).cumsum(axis=1))
            first.append(sums.first.reshape(*shape, *sums.first.shape[1:]).cumsum(axis=1))
            done(len(batch))
    counts, offsets = np.concatenate(zeroth), np.concatenate(first)
    names = tuple(f"{speaker}-{session}" for speaker, session in who)
    speakers = tuple(str(speaker) for speaker, _ in who)
    return {
        # Training and extraction of i-vectors do not look at the log-likelihood.
        seconds: speech.Statistics(names, counts[:, i], offsets[:, i], np.zeros(len(who)), speakers)
        for i, seconds in enumerate(durations)
    }


def _frames_of_recording(model: FrameModel, speaker: int, session: int, seconds: float) -> FloatArray:
    # FrameModel makes a hundred frames a second; these are to be independent, so there are fewer.
    return model.recording(speaker, session, seconds * FRAMES_A_SECOND / FRAMES_PER_SECOND)
