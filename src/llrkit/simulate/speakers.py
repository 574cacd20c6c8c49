"""Speakers and their recordings: trials, embeddings and frames of a corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from os import PathLike
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from llrkit.base import arguments
from llrkit.base.arguments import RNG, Array, BoolArray, FloatArray, IntArray
from llrkit.base.files import replacing
from llrkit.base.process import at_once, cached_property
from llrkit.core.numerics import bracketed_root, probit
from llrkit.errors import InputError
from llrkit.io.array_files import write_arrays
from llrkit.scores import Scores
from llrkit.scores.source import POSITION
from llrkit.simulate.trials import BLOCK_TRIALS, DURATIONS, GENDERS, BlockSource, Names, block_rng
from llrkit.speech.embeddings import Embeddings, ends_in_ark
from llrkit.speech.frames import FRAMES_PER_SECOND, Frames
from llrkit.speech.kaldi import write_kaldi
from llrkit.speech.models.plda import PLDA
from llrkit.theory.mixtures import PLDALLR


@dataclass(frozen=True)
class Population:
    """An embedding space in which short segments are noisier.

    The embedding of the first d seconds of a recording is ``gender + y + e + n(d)`` in ``dim`` dimensions,
    each of them normal with the variances ``between`` (y, the speaker), ``channel`` (e, the recording) and
    ``noise / d`` (n, the mean of d seconds of speech; a longer segment contains the shorter ones). The
    correlation of two recordings of a speaker is ``b / sqrt(T_i T_j)`` with ``T(d) = b + channel +
    noise / d``, so exact PLDA LLRs follow :meth:`pair`.

    With ``shrinks`` an embedding is a posterior mean, as an i-vector is: all of it is multiplied by
    ``(b + channel) / T(d)``, so the less speech, the closer it is to zero, and the total variance
    ``(b + channel)^2 / T(d)`` falls instead of rising. The correlation stays, and so does :meth:`pair`.

    Examples
    --------
    >>> voices = Population.between_eers(eer_full=0.03, eer_short=0.25)
    >>> round(voices.pair(100, 100).eer, 4), round(voices.pair(5, 5).eer, 4)
    (0.03, 0.25)
    >>> round(voices.between, 4), round(voices.total(100.0), 4)
    (0.3558, 1.0)
    >>> points = replace(voices, shrinks=True)
    >>> [round(one.total(5.0) / one.total(100.0), 2) for one in (voices, points)]
    [2.65, 0.38]
    """

    dim: int
    """Number of dimensions."""
    between: float
    """Variance of speakers in each dimension."""
    channel: float
    """Variance of the recordings of a speaker."""
    noise: float
    """Variance of one second of speech; that of d seconds is ``noise / d``."""
    gender_gap: float = 2.0
    """Distance between the means of the genders."""
    shrinks: bool = False
    """Whether short segments shrink towards zero, as posterior means do."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        arguments.whole_number(self.dim, 2, "dim")
        if not (self.between > 0.0 and self.channel > 0.0 and self.noise >= 0.0 and self.gender_gap >= 0.0):
            raise InputError("between and channel must be above 0, noise and gender_gap at least 0")

    @classmethod
    def between_eers(
        cls,
        eer_full: float = 0.029,
        eer_short: float = 0.26,
        *,
        dim: int = 100,
        short: float = DURATIONS[0],
        full: float = DURATIONS[-1],
    ) -> Population:
        """The population whose exact PLDA LLRs have these EERs for whole and for short segments.

        The total variance of a whole segment is 1. The defaults are the two ends of the paper's range (van
        Leeuwen & Brümmer 2013, section 4.1).

        Parameters
        ----------
        eer_full
            Equal error rate of two whole segments.
        eer_short
            Equal error rate of two short segments.
        dim
            Number of dimensions.
        short
            Duration of a short segment in seconds.
        full
            Duration of a whole segment in seconds.
        """
        if not 0.0 < eer_full < eer_short < 0.5 or not 0.0 < short < full < np.inf:
            raise InputError(
                f"the EER must rise as segments get shorter: got {eer_full!r} at {full!r} s, "
                f"{eer_short!r} at {short!r} s"
            )
        between, weak = (_correlation_of_eer(eer, dim) for eer in (eer_full, eer_short))
        # From rho_full / rho_short = T(short) / T(full) with T(full) = 1: the ratio of correlations
        # gives the noise.
        noise = (between / weak - 1.0) / (1.0 / short - 1.0 / full)
        channel = 1.0 - between - noise / full
        if not channel > 0.0:
            raise InputError(
                f"an EER of {eer_full!r} in {dim} dimensions leaves no room for the noise of {full!r} s; "
                "take more dimensions or a longer full duration"
            )
        return cls(dim, between, channel, noise)

    def total(self, duration: float) -> float:
        """The variance of a segment in each dimension: ``T(d)``, unless it shrinks.

        Parameters
        ----------
        duration
            Duration in seconds.
        """
        return self.shrinkage(duration) ** 2 * self._unshrunk(duration)

    def shrinkage(self, duration: float) -> float:
        """What a segment is multiplied by.

        Parameters
        ----------
        duration
            Duration in seconds.
        """
        return (self.between + self.channel) / self._unshrunk(duration) if self.shrinks else 1.0

    def _unshrunk(self, duration: float) -> float:
        return self.between + self.channel + self.noise / duration

    def correlation(self, enroll: float, test: float) -> float:
        """Correlation of two recordings of one speaker, cut to these durations.

        Parameters
        ----------
        enroll
            Duration of the enrollment segment in seconds.
        test
            Duration of the test segment in seconds.
        """
        return self.between / float(np.sqrt(self._unshrunk(enroll) * self._unshrunk(test)))

    def pair(self, enroll: float, test: float) -> PLDALLR:
        """The exact LLRs of segments of these durations, whose model knows both.

        Parameters
        ----------
        enroll
            Duration of the enrollment segment in seconds.
        test
            Duration of the test segment in seconds.
        """
        return PLDALLR.isotropic(self.correlation(enroll, test), self.dim)

    def rougher(self, factor: float) -> Population:
        """The same speakers with recordings and speech that vary ``factor`` times as much.

        Parameters
        ----------
        factor
            How many times the variance grows.
        """
        return replace(self, channel=self.channel * factor, noise=self.noise * factor)


def _correlation_of_eer(eer: float, dim: int) -> float:
    """The correlation at which exact PLDA LLRs in ``dim`` dimensions have a given EER."""
    limit = float(-2.0 * probit(eer)) / dim**0.5  # what it tends to as the dimensions grow in number
    # The limit is for many dimensions; with few, the correlation is still within these factors of it.
    low, high = 0.3 * min(limit, 1.0), min(1.5 * limit, 1.0 - 1e-6)
    return bracketed_root(lambda rho: PLDALLR.isotropic(rho, dim).eer - eer, low, high, within=1e-9)


_ROWS = 1024  # recordings drawn with one generator
_SPACE, _SPEAKERS, _RECORDINGS = range(3)  # second part of the spawn keys; the first is the corpus


@dataclass(frozen=True, eq=False)
class Recordings:
    """Embeddings of recordings, once for each duration they were cut to.

    ``speaker`` holds codes; even ones are female, odd ones male.
    """

    corpus: str
    """The name of the corpus."""
    side: str
    """``"enroll"``, ``"test"`` or ``"train"``."""
    speaker: IntArray
    """The code of the speaker of each recording."""
    vectors: Mapping[float, FloatArray]
    """Duration in seconds -> embeddings, shape (recordings, dimensions)."""

    def __len__(self) -> int:
        return len(self.speaker)

    @property
    def names(self) -> tuple[str, ...]:
        """One for each recording."""
        return tuple(f"{self.corpus}-{self.side}{i}" for i in range(len(self)))

    def cut_names(self, duration: float) -> tuple[str, ...]:
        """Names of the recordings cut to a duration.

        Parameters
        ----------
        duration
            Duration in seconds.
        """
        return tuple(f"{name}-{duration:g}s" for name in self.names)

    @property
    def speaker_names(self) -> tuple[str, ...]:
        """The speaker of each recording."""
        return tuple(f"{self.corpus}-spk{code}" for code in self.speaker.tolist())


@dataclass(frozen=True)
class Corpus:
    """Recordings of one corpus: its number selects the speakers, ``shift`` moves its domain.

    Two corpora of one seed share the embedding space, not the speakers. ``shift`` moves all embeddings in a
    direction of the corpus's own; a population that is :meth:`~Population.rougher` makes the recordings
    vary more. Either makes scores of a model trained elsewhere miscalibrated.

    Examples
    --------
    >>> corpus = Corpus(Population.between_eers(dim=40), number=1, seed=3)
    >>> tests = corpus.recordings("test", n_speakers=4, n=10)
    >>> len(tests), tests.vectors[5.0].shape, tests.speaker_names[1]
    (10, (10, 40), 'corpus1-spk1')
    """

    population: Population
    """Where speakers and recordings are drawn from."""
    number: int
    """Which speakers: corpora with different numbers share none."""
    seed: int = 0
    """The embedding space, and everything that is drawn."""
    shift: float = 0.0
    """How far all embeddings are moved."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        arguments.checked_seed(self.seed)
        if self.number < 0 or not 0.0 <= self.shift < np.inf:
            raise InputError(f"number and shift must not be negative, got {self.number}, {self.shift}")

    @property
    def name(self) -> str:
        """Its number in words."""
        return f"corpus{self.number}"

    def speakers(self, n: int) -> FloatArray:
        """What is common to all recordings of each of ``n`` speakers: gender and voice.

        Parameters
        ----------
        n
            Number of speakers.
        """
        space = self.population
        blocks = (rng.standard_normal((rows, space.dim)) for rows, rng in self._blocks(n, _SPEAKERS))
        voices = np.sqrt(space.between) * np.concatenate(list(blocks))
        # Halves, so that the genders are gender_gap apart around zero.
        sign = np.where(np.arange(n) % 2 == 0, 0.5, -0.5)[:, None]
        # Corpus 0, whichever corpus this is: genders differ in the same direction everywhere.
        return np.asarray(voices + space.gender_gap * sign * self._direction(0, 0))

    def recordings(
        self, side: str, *, n_speakers: int, n: int, durations: Sequence[float] = DURATIONS
    ) -> Recordings:
        """``n`` recordings dealt to the speakers in turn, each cut to all durations.

        Another ``side`` ("enroll", "test", "train") gives other recordings of the same speakers.

        Parameters
        ----------
        side
            ``"enroll"``, ``"test"`` or ``"train"``: other recordings of the same speakers.
        n_speakers
            Number of speakers.
        n
            Number of recordings.
        durations
            Durations of speech in seconds.
        """
        # An even number, so that both genders have equally many.
        if n_speakers < 2 or n_speakers % 2 or n < 1:
            raise InputError(
                f"an even number of speakers and at least one recording are needed, got {n_speakers}, {n}"
            )
        seconds = sorted({float(d) for d in durations})
        if not seconds or not (seconds[0] > 0.0 and seconds[-1] < np.inf):
            raise InputError(f"durations must be finite numbers of seconds above 0, got {durations!r}")
        space, speaker = self.population, np.arange(n) % n_speakers
        whole = self.speakers(n_speakers)[speaker] + self.shift * self._direction(self.number, 1)
        cuts: dict[float, list[FloatArray]] = {d: [] for d in seconds}
        first = 0
        # The name of the side is part of the key, so that each side has recordings of its own.
        for rows, rng in self._blocks(n, _RECORDINGS, *side.encode()):
            base = whole[first : first + rows]
            base = base + np.sqrt(space.channel) * rng.standard_normal(base.shape)
            heard, spoken = np.zeros_like(base), 0.0
            for d in seconds:  # the first d seconds contain all shorter cuts
                # Sums of independent seconds: heard / d is the mean of d of them, with variance noise /
                # d.
                heard = heard + np.sqrt(space.noise * (d - spoken)) * rng.standard_normal(base.shape)
                spoken = d
                cuts[d].append(space.shrinkage(d) * (base + heard / d))
            first += rows
        vectors = {d: np.concatenate(blocks) for d, blocks in cuts.items()}
        # Arrays are shared by every source made of these recordings.
        for array in (speaker, *vectors.values()):
            array.flags.writeable = False
        return Recordings(self.name, side, speaker, vectors)

    def _blocks(self, n: int, *key: int) -> Iterator[tuple[int, np.random.Generator]]:
        for start in range(0, n, _ROWS):
            # A block has a generator of its own: asking for more recordings does not change the first
            # ones.
            yield min(_ROWS, n - start), block_rng(self.seed, self.number, *key, start // _ROWS)

    def _direction(self, corpus: int, which: int) -> FloatArray:
        drawn = block_rng(self.seed, corpus, _SPACE, which).standard_normal(self.population.dim)
        return np.asarray(drawn / np.linalg.norm(drawn))


Scorer = Callable[[FloatArray, FloatArray], Array]
"""Scores of all pairs of rows of two matrices of embeddings."""


class CellBlock(NamedTuple):
    """Models (rows) and test segments (columns) of one block."""

    models: IntArray
    tests: IntArray


def cell_blocks(enroll: Recordings, test: Recordings) -> tuple[CellBlock, ...]:
    """All same-gender pairs of two sets of recordings, in blocks of about a million."""
    blocks = []
    for gender in range(len(GENDERS)):
        models = np.flatnonzero(enroll.speaker % 2 == gender)
        tests = np.flatnonzero(test.speaker % 2 == gender)
        if len(models) and len(tests):
            # Rounded up, so that blocks have about BLOCK_TRIALS at most.
            pieces = -(-len(models) * len(tests) // at_once(BLOCK_TRIALS, unit=8))
            # Rows are divided, columns never: a block is one matrix product.
            blocks += [CellBlock(piece, tests) for piece in np.array_split(models, pieces)]
    return tuple(blocks)


def same_speaker(enroll: Recordings, test: Recordings, cells: CellBlock) -> BoolArray:
    """Which pairs of a block are of one speaker."""
    return np.asarray(enroll.speaker[cells.models][:, None] == test.speaker[cells.tests])


@dataclass(frozen=True, eq=False)
class CrossTrials(BlockSource):
    """All same-gender trials between two sets of recordings cut to given durations, as a source.

    A trial is a target if both recordings are of one speaker. Blocks are scored in the calling thread, whose
    matrix products have threads of their own, while the pool summarizes earlier ones.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.simulate.speakers import Corpus, Population
    >>> corpus = Corpus(Population.between_eers(dim=40), number=0, seed=1)
    >>> sides = [corpus.recordings(side, n_speakers=20, n=100) for side in ("enroll", "test")]
    >>> trials = CrossTrials(*sides, 100.0, 100.0, lambda enroll, test: enroll @ test.T)
    >>> trials.n_target, trials.n_nontarget, round(lk.eer(trials), 2)
    (500, 4500, 0.06)
    """

    scored_in_order: ClassVar[bool] = True
    enroll: Recordings
    """The recordings of the enrollment side."""
    test: Recordings
    """The recordings of the test side."""
    enroll_duration: float
    """Seconds that enrollment recordings are cut to."""
    test_duration: float
    """Seconds that test recordings are cut to."""
    scorer: Scorer
    """Takes both matrices of embeddings and returns the matrix of scores."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        for recordings, duration in ((self.enroll, self.enroll_duration), (self.test, self.test_duration)):
            if duration not in recordings.vectors:
                known = ", ".join(f"{d:g}" for d in recordings.vectors)
                raise InputError(f"there are no segments of {duration:g} s; there are: {known}")

    @cached_property
    def _cell_blocks(self) -> tuple[CellBlock, ...]:
        return cell_blocks(self.enroll, self.test)

    def _nontargets(self, number: int, same: BoolArray) -> BoolArray:
        """Which cells of a block are non-target trials: all that are not of one speaker."""
        return ~same

    @property
    def n_blocks(self) -> int:
        """Blocks hold about a million trials of one gender."""
        return len(self._cell_blocks)

    @cached_property
    def _counts(self) -> tuple[int, int]:
        speakers = int(max(self.enroll.speaker.max(), self.test.speaker.max())) + 1
        own = [np.bincount(side.speaker, minlength=speakers) for side in (self.enroll, self.test)]
        total = sum(len(cells.models) * len(cells.tests) for cells in self._cell_blocks)
        # Same-speaker pairs are of one gender, so the product of the counts by speaker is all of them.
        return int(own[0] @ own[1]), total - int(own[0] @ own[1])

    @property
    def n_target(self) -> int:
        """Number of target trials."""
        return self._counts[0]

    @property
    def n_nontarget(self) -> int:
        """Number of non-target trials."""
        return self._counts[1]

    def block(self, number: int) -> Scores:
        """One piece, with the carried columns.

        Parameters
        ----------
        number
            Number of the piece, from 0.
        """
        cells = self._cell_blocks[number]
        models = self.enroll.vectors[self.enroll_duration][cells.models]
        tests = self.test.vectors[self.test_duration][cells.tests]
        scores = np.asarray(self.scorer(models, tests))
        same = same_speaker(self.enroll, self.test, cells)
        others = self._nontargets(number, same)

        def column(name: str) -> tuple[tuple[Array, Array], Names]:
            values, names = self._column(name, number, cells, same)
            return (values[same], values[others]), names

        return self._part(scores[same], scores[others], column)

    def _column(self, name: str, number: int, cells: CellBlock, same: BoolArray) -> tuple[Array, Names]:
        """The values of a column for every cell of a block, and what codes stand for."""
        models, tests = (np.broadcast_to(a, same.shape) for a in (cells.models[:, None], cells.tests))
        if name == POSITION:
            return self._positions(number, same), None
        if name in ("enroll_duration", "test_duration"):
            return np.full(same.shape, getattr(self, name)), None
        plain = {
            "enroll": (models, self.enroll.cut_names(self.enroll_duration)),
            "test": (tests, self.test.cut_names(self.test_duration)),
            "enroll_speaker": (models, self.enroll.speaker_names),
            "test_speaker": (tests, self.test.speaker_names),
            "gender": (self.test.speaker[tests] % 2, GENDERS),
        }
        return plain[name]

    def _positions(self, number: int, same: BoolArray) -> IntArray:
        """The place of each trial within its class; cells that are no trial have one that nobody reads."""
        target = nontarget = 0
        # The masks of earlier blocks are made again rather than kept; positions are needed by few
        # passes.
        for earlier in range(number):
            is_target = same_speaker(self.enroll, self.test, self._cell_blocks[earlier])
            target += int(is_target.sum())
            nontarget += int(self._nontargets(earlier, is_target).sum())
        # cumsum goes through a matrix row by row, as the masks of the classes do.
        in_class = target + np.cumsum(same), nontarget + np.cumsum(self._nontargets(number, same))
        return np.where(same.ravel(), *in_class).reshape(same.shape) - 1


@dataclass(frozen=True, eq=False)
class DrawnPairs:
    """Which pairs of recordings are non-target trials, drawn at random without repetition.

    A list is drawn once and serves all durations: cutting recordings does not change who is compared.

    Examples
    --------
    >>> from llrkit.simulate.speakers import Corpus, Population
    >>> corpus = Corpus(Population.between_eers(dim=40), number=0, seed=1)
    >>> sides = [corpus.recordings(side, n_speakers=20, n=100) for side in ("enroll", "test")]
    >>> pairs = DrawnPairs.of(*sides, n_trials=2000, rng=1)
    >>> pairs.n_target, pairs.n_nontarget
    (500, 1500)
    """

    n_target: int
    """Number of target trials: all same-speaker pairs."""
    cells: tuple[IntArray, ...]
    """For each block of the full cross product, the drawn cells, counted row by row."""

    @property
    def n_nontarget(self) -> int:
        """Number of non-target trials."""
        return sum(len(cells) for cells in self.cells)

    @classmethod
    def of(cls, enroll: Recordings, test: Recordings, *, n_trials: int, rng: RNG) -> DrawnPairs:
        """All same-speaker pairs, and as many same-gender pairs of others as make ``n_trials`` together.

        Parameters
        ----------
        enroll
            Recordings of the enrollment side.
        test
            Recordings of the test side.
        n_trials
            Number of trials.
        rng
            Seed of the random numbers; the same seed gives the same result.
        """
        seed = arguments.seed_of(rng)
        sames = [same_speaker(enroll, test, cells) for cells in cell_blocks(enroll, test)]
        n_target = sum(int(same.sum()) for same in sames)
        available = [same.size - int(same.sum()) for same in sames]
        wanted = n_trials - n_target
        if not 0 < wanted <= sum(available):
            raise InputError(
                f"{n_trials:,} trials cannot be drawn: there are {n_target:,} same-speaker pairs and "
                f"{sum(available):,} others of the same gender"
            )
        # first how many each block gets, then which: no list of all pairs is ever needed
        shares = block_rng(seed, 0).multivariate_hypergeometric(available, wanted, method="marginals")
        cells = []
        for number, (same, share) in enumerate(zip(sames, shares.tolist(), strict=True)):
            # shuffle=False is faster, and the order does not matter: the cells are sorted anyway.
            chosen = block_rng(seed, 1, number).choice(available[number], share, replace=False, shuffle=False)
            cells.append(np.flatnonzero(~same)[np.sort(chosen)])
        return cls(n_target, tuple(cells))


@dataclass(frozen=True, eq=False)
class SparseTrials(CrossTrials):
    """The trials of a drawn list between two sets of recordings cut to given durations, as a source."""

    pairs: DrawnPairs
    """The drawn list."""

    @cached_property
    def _counts(self) -> tuple[int, int]:
        return self.pairs.n_target, self.pairs.n_nontarget

    def _nontargets(self, number: int, same: BoolArray) -> BoolArray:
        """Which cells of a block are non-target trials: those that were drawn."""
        drawn = np.zeros(same.size, dtype=bool)
        drawn[self.pairs.cells[number]] = True
        return drawn.reshape(same.shape)


@dataclass(frozen=True, eq=False)
class ConcatenatedTrials(BlockSource):
    """Several sets of trials one after the other, as one source."""

    scored_in_order: ClassVar[bool] = True
    sources: tuple[CrossTrials, ...]

    @property
    def n_blocks(self) -> int:
        """Those of all sources."""
        return sum(source.n_blocks for source in self.sources)

    @property
    def n_target(self) -> int:
        """Number of target trials."""
        return sum(source.n_target for source in self.sources)

    @property
    def n_nontarget(self) -> int:
        """Number of non-target trials."""
        return sum(source.n_nontarget for source in self.sources)

    def block(self, number: int) -> Scores:
        """One piece, with the carried columns."""
        ends = list(accumulate(source.n_blocks for source in self.sources))
        # side="right" skips sources without blocks and finds the one that holds this number.
        which = int(np.searchsorted(ends, number, side="right"))
        source = self.sources[which].with_columns(*self.carried)
        chunk = source.block(number - (ends[which] - source.n_blocks))
        if POSITION not in self.carried:
            return chunk
        # Positions count within all sources together.
        earlier, (target, nontarget) = replace(self, sources=self.sources[:which]), chunk.columns[POSITION]
        moved = (target + earlier.n_target, nontarget + earlier.n_nontarget)
        columns = {**chunk.columns, POSITION: moved}
        return Scores.part(chunk.target, chunk.nontarget, columns, chunk.categories)


def simulate_plda(
    population: Population,
    *,
    n_speakers: int = 100,
    n_models: int = 200,
    n_tests: int = 400,
    durations: Sequence[float] = DURATIONS[-1:],
    shift: float = 0.0,
    rougher: float = 1.0,
    rng: RNG = 0,
) -> ConcatenatedTrials:
    """All same-gender pairs of models and test segments, scored by the PLDA model of whole segments.

    The recognizer knows the true means and covariances of segments of the longest duration. With that
    duration alone and without a shift its scores are exact LLRs, distributed as ``population.pair``;
    shorter segments and another domain make them miscalibrated. Both genders have the same mean here.

    Parameters
    ----------
    population
        The population that is sampled.
    n_speakers
        Number of speakers.
    n_models
        Number of models.
    n_tests
        Number of test segments.
    durations
        Segments of both sides are cut to each of these; all combinations are scored.
    shift, rougher
        Distance of the mean of the corpus from what the recognizer knows, and factor of the variance within
        speakers.
    rng
        Seed of the random numbers; the same seed gives the same result.

    Examples
    --------
    >>> import llrkit as lk
    >>> voices = lk.simulate.Population.between_eers(0.05, 0.25, dim=60)
    >>> trials = lk.simulate.simulate_plda(voices, n_speakers=60, n_models=300, n_tests=600, rng=3)
    >>> trials.n_target, trials.n_nontarget, round(lk.eer(trials), 2), round(lk.cllr_cal(trials), 2)
    (3000, 87000, 0.05, 0.01)
    """
    arguments.of_kind(population, Population, "population")
    seed = arguments.seed_of(rng)
    arguments.whole_number(n_models, 1, "n_models")
    arguments.whole_number(n_tests, 1, "n_tests")
    arguments.not_negative(rougher, "rougher")
    # true_plda has one mean, so a gap between genders would be a mismatch that nobody asked for.
    alike = replace(population, gender_gap=0.0)
    corpus = Corpus(alike.rougher(rougher), 1, seed, shift)
    enroll = corpus.recordings("enroll", n_speakers=n_speakers, n=n_models, durations=durations)
    test = corpus.recordings("test", n_speakers=n_speakers, n=n_tests, durations=durations)
    recognizer = true_plda(alike, max(enroll.vectors))
    pairs = [(i, j) for i in enroll.vectors for j in enroll.vectors]
    return ConcatenatedTrials(tuple(CrossTrials(enroll, test, *pair, recognizer.scores) for pair in pairs))


def true_plda(population: Population, duration: float) -> PLDA:
    """The true model of segments of one duration, for a population whose genders have the same mean.

    Examples
    --------
    >>> model = true_plda(Population(dim=3, between=0.4, channel=0.5, noise=10.0, gender_gap=0.0), 100.0)
    >>> round(float(model.between[0, 0]), 6), round(float(model.within[0, 0]), 6)
    (0.4, 0.6)
    """
    one = np.eye(population.dim)
    within = population.channel + population.noise / duration
    return PLDA(np.zeros(population.dim), population.between * one, within * one)


def simulate_embeddings(
    population: Population,
    *,
    n_background: int = 400,
    n_speakers: int = 40,
    n_sessions: int = 4,
    durations: Sequence[float] = DURATIONS,
    shift: float = 0.3,
    rougher: float = 1.02,
    rng: RNG = 0,
) -> Embeddings:
    """Embeddings of three sets of speakers: 'train' for a recognizer, 'dev' to calibrate, 'eval' to evaluate.

    The columns are those that ``llrkit paper real --embeddings`` takes: split, side (A enrolls, B tests),
    duration (the longest is called full), gender. The background has whole recordings only.

    Parameters
    ----------
    population
        The population that is sampled.
    n_background, n_speakers
        Speakers in 'train', and in 'dev' and 'eval' each.
    n_sessions
        Recordings of each speaker on each side.
    durations
        Durations of speech in seconds.
    shift, rougher
        How far the domain of 'eval' is from the others.
    rng
        Seed of the random numbers; the same seed gives the same result.

    Examples
    --------
    >>> voices = Population.between_eers(0.05, 0.25, dim=30)
    >>> simulate_embeddings(voices, n_background=20, n_speakers=4, n_sessions=2)
    Embeddings(240 rows of 30 dimensions, 28 speakers; columns split, side, gender, duration)
    """
    arguments.of_kind(population, Population, "population")
    seed = arguments.seed_of(rng)
    arguments.whole_number(n_sessions, 1, "n_sessions")
    arguments.not_negative(rougher, "rougher")
    full = max(durations, default=DURATIONS[-1])
    known, moved = Corpus(population, 1, seed), Corpus(population.rougher(rougher), 2, seed, shift)
    n = n_sessions * n_speakers
    sets = [
        (split, side, corpus.recordings(side, n_speakers=n_speakers, n=n, durations=durations))
        for split, corpus in (("dev", known), ("eval", moved))
        for side in ("A", "B")
    ]
    # Both sides are background: as many recordings as the other splits have on A and B together.
    corpus, n = Corpus(population, 0, seed), 2 * n_sessions * n_background
    background = corpus.recordings("train", n_speakers=n_background, n=n, durations=[full])
    tables = []
    for split, side, recordings in [("train", "A", background), *sets]:
        names = {d: "full" if d == full else f"{d:g}" for d in recordings.vectors}
        n = len(recordings) * len(names)
        cut_ids = [f"{recording}-{name}" for name in names.values() for recording in recordings.names]
        genders = np.array(GENDERS)[recordings.speaker % 2]
        tables.append(
            {
                "vectors": np.concatenate(list(recordings.vectors.values())),
                "ids": np.array(cut_ids),
                "speakers": np.array(recordings.speaker_names * len(names)),
                "split": np.full(n, split),
                "side": np.full(n, side),
                "gender": np.tile(genders, len(names)),
                "duration": np.repeat(list(names.values()), len(recordings)),
            }
        )
    columns = {key: np.concatenate([rows[key] for rows in tables]) for key in tables[0]}
    vectors, ids, speakers = (columns.pop(key) for key in ("vectors", "ids", "speakers"))
    return Embeddings(vectors, ids, speakers, columns)


_MODEL, _SPEAKER, _RECORDING = range(3)  # first part of the spawn keys


@dataclass(frozen=True)
class FrameModel:
    """A universal Gaussian mixture, and how speakers and recordings move its means.

    Component c of a recording has mean ``m_c + T_c (y + e)`` and the universal variance; ``y`` is the
    speaker's factor, standard normal in ``rank`` dimensions, and ``e`` the recording's, with standard
    deviation ``channel``. This is the model that i-vector extraction assumes. ``strength`` is the standard
    deviation of a mean between speakers, in units of the component's own standard deviation.

    Examples
    --------
    >>> model = FrameModel(n_components=8, dim=4, rank=3, seed=1)
    >>> utterances = model.frames(n_speakers=2, n_sessions=3, seconds=2.0)
    >>> utterances, utterances[0].shape, utterances.ids[3], utterances.speakers[3]
    (Frames(6 utterances of 2 speakers), (200, 4), 'spk1-0', 'spk1')
    """

    n_components: int = 16
    """Number of Gaussians."""
    dim: int = 8
    """Number of features per frame."""
    rank: int = 6
    """Number of dimensions in which speakers differ."""
    strength: float = 0.4
    """How much the means differ between speakers."""
    channel: float = 0.4
    """Standard deviation of the recordings of a speaker; speakers have 1."""
    seed: int = 0
    """The same seed gives the same model and frames."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        arguments.checked_seed(self.seed)
        for name in ("n_components", "dim", "rank"):
            arguments.whole_number(getattr(self, name), 1, name)
        if not (self.strength > 0.0 and self.channel >= 0.0):
            raise InputError("strength must be above 0 and channel at least 0")

    @cached_property
    def universal(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Weights, means and variances of the universal mixture."""
        rng = block_rng(self.seed, _MODEL, 0)
        # A Dirichlet parameter of 5 makes weights uneven, but none of them negligible.
        weights = rng.dirichlet(np.full(self.n_components, 5.0))
        means = 3.0 * rng.standard_normal((self.n_components, self.dim))
        return weights, means, rng.uniform(0.5, 1.5, (self.n_components, self.dim))

    @cached_property
    def loadings(self) -> FloatArray:
        """``T``: how a factor moves the means, shape ``(n_components, dim, rank)``."""
        drawn = block_rng(self.seed, _MODEL, 1).standard_normal((self.n_components, self.dim, self.rank))
        spread = np.sqrt(self.universal[2])[:, :, None]
        # Divided by sqrt(rank), so that the sum over factors has the standard deviation ``strength``.
        return np.asarray(self.strength / np.sqrt(self.rank) * spread * drawn)

    def speaker_factor(self, speaker: int) -> FloatArray:
        """The factor ``y`` of a speaker.

        Parameters
        ----------
        speaker
            Number of the speaker.
        """
        return block_rng(self.seed, _SPEAKER, speaker).standard_normal(self.rank)

    def recording(self, speaker: int, session: int, seconds: float) -> FloatArray:
        """The frames of one recording; a longer one begins with the frames of a shorter one.

        Parameters
        ----------
        speaker
            Number of the speaker.
        session
            Number of the session.
        seconds
            Duration in seconds.
        """
        if not 0.0 < seconds < np.inf:
            raise InputError(f"seconds must be a finite number above 0, got {seconds!r}")
        n = max(1, round(seconds * FRAMES_PER_SECOND))
        weights, means, variances = self.universal
        rng = block_rng(self.seed, _RECORDING, speaker, session)
        factor = self.speaker_factor(speaker) + self.channel * rng.standard_normal(self.rank)
        own = means + self.loadings @ factor
        # row by row: one uniform number for the component and the normal ones come from two streams
        components, noise = (np.random.default_rng(seed) for seed in rng.integers(0, 2**63, 2))
        # Scaled by the sum, which rounding leaves slightly off one.
        chosen = np.searchsorted(np.cumsum(weights), components.random(n) * weights.sum(), side="right")
        chosen = np.minimum(chosen, self.n_components - 1)
        return np.asarray(own[chosen] + np.sqrt(variances[chosen]) * noise.standard_normal((n, self.dim)))

    def frames(self, *, n_speakers: int, n_sessions: int, seconds: float, first_speaker: int = 0) -> Frames:
        """Recordings of several speakers, made when they are needed; ids are speaker and session.

        Another ``first_speaker`` gives other people; even speakers are female, odd ones male.

        Parameters
        ----------
        n_speakers
            Number of speakers.
        n_sessions
            Number of sessions of each speaker.
        seconds
            Duration of each recording in seconds.
        first_speaker
            Number of the first speaker.
        """
        if n_speakers < 1 or n_sessions < 1:
            raise InputError(f"at least one speaker and session are needed, got {n_speakers}, {n_sessions}")
        speakers = range(first_speaker, first_speaker + n_speakers)
        recordings = [(speaker, session) for speaker in speakers for session in range(n_sessions)]
        return Frames(
            tuple(f"spk{speaker}-{session}" for speaker, session in recordings),
            lambda i: self.recording(*recordings[i], seconds),
            tuple(f"spk{speaker}" for speaker, _ in recordings),
        )


def write_frames(frames: Frames, path: str | PathLike[str]) -> None:
    """Write one array for each utterance: ``.npz``, or ``.ark`` with an ``.scp`` beside it.

    Examples
    --------
    >>> import tempfile
    >>> from llrkit.speech import read_frames
    >>> file = tempfile.mkdtemp() + "/frames.npz"
    >>> write_frames(Frames.of([np.zeros((3, 2))], ids=["a"]), file)
    >>> read_frames(file)[0].shape
    (3, 2)
    """
    if not ends_in_ark(path):
        with replacing(Path(path)) as temporary, temporary.open("wb") as raw:
            write_arrays(raw, dict(zip(frames.ids, frames, strict=True)))
    else:
        write_kaldi(path, zip(frames.ids, frames, strict=True))
