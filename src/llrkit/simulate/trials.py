"""Simulated trials in blocks: independent ones, their people and durations, and the shipped sample."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from llrkit.base import arguments
from llrkit.base.arguments import RNG, Array, FloatArray, IntArray
from llrkit.base.process import cached_property, reduce_chunks, require_memory
from llrkit.core.numerics import probit
from llrkit.errors import InputError, UnknownNameError
from llrkit.scores import Scores
from llrkit.scores.source import POSITION, Roles, S, ScoreSource, require_column, row_in_words
from llrkit.scores.trials import Trials, trials_of
from llrkit.speech.backends import cosine_scores
from llrkit.speech.models.plda import PLDA
from llrkit.theory.distributions import Distribution
from llrkit.theory.gaussian import GaussianLLR
from llrkit.theory.mixtures import MixtureLLR

# About a million trials: 8 MB of scores for each thread.
BLOCK_TRIALS = 1 << 20
Names = tuple[str, ...] | None
"""What the codes of a column stand for; None of a column of numbers."""


def block_rng(seed: int, *key: int) -> np.random.Generator:
    """The generator of one block: another one for every key, whoever asks first.

    Examples
    --------
    >>> float(block_rng(1, 0).random()) == float(block_rng(1, 0).random()) != float(block_rng(1, 1).random())
    True
    """
    # The key of a spawned SeedSequence: streams are independent, and a block needs no earlier one.
    return np.random.default_rng(np.random.SeedSequence(arguments.checked_seed(seed), spawn_key=key))


@dataclass(frozen=True, kw_only=True)
class BlockSource(ScoreSource):
    """Simulated trials as a score source: nothing is kept, every pass makes its blocks anew.

    A block depends on the seed and on its number alone, so the trials are the same whatever the number of
    threads, and a billion of them take no more memory than a few blocks.
    """

    carried: tuple[str, ...] = ()
    scored_in_order: ClassVar[bool] = False
    """Whether blocks are made in the calling thread, since making them uses threads of its own."""

    @property
    @abstractmethod
    def n_blocks(self) -> int:
        """In how many pieces the trials are made."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Ids, speakers, genders and durations."""
        return COLUMNS

    @abstractmethod
    def block(self, number: int) -> Scores:
        """One piece, with the carried columns."""

    @property
    def reads_again(self) -> bool:
        """Every pass makes the blocks anew."""
        return True

    def blocks(self) -> Iterator[Scores]:
        """All pieces in order."""
        return map(self.block, range(self.n_blocks))

    def reduce(self, summarize: Callable[[Scores], S], *, threads: int | None = None) -> S:
        """Make and summarize every block in a pool of threads and merge the summaries in order."""
        if self.scored_in_order:
            # Matrix products thread themselves; in the pool their threads would compete with ours.
            return reduce_chunks(self.blocks(), summarize, threads=threads)
        return reduce_chunks(
            range(self.n_blocks), lambda number: summarize(self.block(number)), threads=threads
        )

    def with_columns(self, *names: str) -> Self:
        """The same trials, each block carrying these columns."""
        for name in names:
            if name != POSITION:
                require_column(name, self.columns)
        return replace(self, carried=names)

    def scores(self) -> Scores:
        """All scores in memory, with the carried columns as numbers or text."""
        blocks = list(self._held_blocks())

        def column(name: str, side: int) -> Array:
            values = [block.columns[name][side] for block in blocks]
            if name in blocks[0].categories:
                values = [
                    # Codes of different blocks stand for different names, so they become texts before
                    # they are joined.
                    np.array(block.categories[name])[codes]
                    for block, codes in zip(blocks, values, strict=True)
                ]
            return np.concatenate(values)

        target = np.concatenate([block.target for block in blocks])
        nontarget = np.concatenate([block.nontarget for block in blocks])
        columns = {name: (column(name, 0), column(name, 1)) for name in self.carried}
        return Scores.from_classes(target, nontarget, columns)

    def _part(
        self, target: Array, nontarget: Array, column: Callable[[str], tuple[tuple[Array, Array], Names]]
    ) -> Scores:
        """Scores with the carried columns: for each its values in both classes, and what codes stand for."""
        carried = {name: column(name) for name in self.carried}
        columns = {name: values for name, (values, _) in carried.items()}
        categories = {name: names for name, (_, names) in carried.items() if names is not None}
        return Scores.part(target, nontarget, columns, categories)

    def trials(self) -> Trials:
        """All trials in memory as a table with every column."""
        wide = self.with_columns(*self.columns)
        return trials_of(wide._held_blocks(), enroll="enroll", test="test")

    def _held_blocks(self) -> Iterator[Scores]:
        """All pieces in order, to be held in memory together; each value takes some eight bytes."""
        # The last block may be partly filled.
        trials = float(max(self.n_blocks - 1, 0)) * BLOCK_TRIALS
        hint = "write them to a folder (-o trials/)"
        require_memory(8.0 * (1 + len(self.carried)) * trials, "the simulated trials", hint)
        return self.blocks()

    @property
    def roles(self) -> Roles:
        """Ids are in the columns of their name, where there are any."""
        return Roles(enroll="enroll", test="test", carried=self.carried)

    def place(self, row: int) -> str:
        """Simulated trials are known by number only."""
        return row_in_words(row)


GENDERS = ("f", "m")
DURATIONS = (5.0, 10.0, 20.0, 40.0, 100.0)
"""Seconds of speech: the paper's four short durations, and a whole recording."""


@dataclass(frozen=True, eq=False)
class TrialSpeakers:
    """Codes of both sides of some trials: speakers, and which segment of the test speaker."""

    enroll: IntArray
    test: IntArray
    segment: IntArray


@dataclass(frozen=True)
class People:
    """A trial list without repetitions: every speaker has one model and the same number of test segments.

    Target trial k tests a speaker's model with one of its own segments; non-target trials take segments of
    another speaker of the same gender. Trials are numbered, and who is in a trial follows from its number,
    so that no list is ever kept. Even speakers are female, odd ones male.

    Examples
    --------
    >>> people = People.for_trials(n_target=10, n_nontarget=300)
    >>> people.n_speakers, people.n_segments
    (10, 8)
    >>> sides = people.nontargets(np.arange(300))
    >>> bool(np.all(sides.enroll % 2 == sides.test % 2)), bool(np.any(sides.enroll == sides.test))
    (True, False)
    """

    n_speakers: int
    n_segments: int
    durations: tuple[float, ...] = DURATIONS

    @classmethod
    def for_trials(
        cls,
        n_target: int,
        n_nontarget: int,
        speakers: int | None = None,
        durations: Sequence[float] = DURATIONS,
    ) -> People:
        """As many speakers and segments as it takes; by default some ten target trials for each speaker."""
        # -(-a // b) rounds up. An even number, so that both genders have as many.
        n = 2 * max(5, -(-n_target // 20)) if speakers is None else speakers
        if n < 4 or n % 2:
            raise InputError(f"speakers must be an even number of at least 4 (two of each gender), got {n}")
        if not durations or not all(0.0 < float(d) < np.inf for d in durations):
            raise InputError(f"durations must be finite numbers of seconds above 0, got {durations!r}")
        # Enough segments for the targets of each speaker, and for non-targets against all others of the
        # gender.
        segments = max(-(-n_target // n), -(-n_nontarget // (n * (n // 2 - 1))))
        return cls(n, segments, tuple(float(d) for d in durations))

    def targets(self, number: IntArray) -> TrialSpeakers:
        """Speakers of target trials by their number."""
        speaker = number % self.n_speakers
        return TrialSpeakers(speaker, speaker, number // self.n_speakers)

    def nontargets(self, number: IntArray) -> TrialSpeakers:
        """Speakers of non-target trials by their number."""
        enroll, rest = number % self.n_speakers, number // self.n_speakers
        others = self.n_speakers // 2 - 1
        step, segment = rest % others, rest // others
        # Even steps keep the gender; step + 1 never comes back to the speaker itself.
        return TrialSpeakers(enroll, (enroll + 2 * (step + 1)) % self.n_speakers, segment)

    def duration_codes(self, sides: TrialSpeakers) -> tuple[IntArray, IntArray]:
        """Which of the durations the model and the test segment of each trial have."""
        n = len(self.durations)
        # The two sides go through the durations at different paces, so that all combinations occur.
        return sides.enroll % n, (sides.test // n + sides.segment) % n

    @cached_property
    def speaker_names(self) -> tuple[str, ...]:
        """Names of the speakers by their code."""
        return self._numbered("spk", "speakers")

    @cached_property
    def model_names(self) -> tuple[str, ...]:
        """Names of the models by the code of the speaker."""
        return self._numbered("model", "models")

    def _numbered(self, prefix: str, what: str) -> tuple[str, ...]:
        # Names of all speakers are held in every process that carries the column.
        require_memory(_NAME_BYTES * self.n_speakers, f"the names of the {what}", "simulate fewer speakers")
        width = len(str(self.n_speakers - 1))
        return tuple(f"{prefix}{i:0{width}d}" for i in range(self.n_speakers))

    def column(
        self, name: str, target: TrialSpeakers, nontarget: TrialSpeakers
    ) -> tuple[tuple[Array, Array], Names]:
        """A column of some target and non-target trials, and what its codes stand for (or None)."""
        if name in ("enroll_duration", "test_duration"):
            seconds, side = np.array(self.durations), name == "test_duration"
            target_codes, nontarget_codes = (self.duration_codes(one)[side] for one in (target, nontarget))
            return (seconds[target_codes], seconds[nontarget_codes]), None
        if name == "gender":
            return (target.enroll % 2, nontarget.enroll % 2), GENDERS
        if name in ("enroll", "enroll_speaker"):
            names = self.model_names if name == "enroll" else self.speaker_names
            return (target.enroll, nontarget.enroll), names
        if name == "test_speaker":
            return (target.test, nontarget.test), self.speaker_names
        codes = np.concatenate([one.test * self.n_segments + one.segment for one in (target, nontarget)])
        known, inverse = np.unique(codes, return_inverse=True)  # names of the segments of this block only
        digits = len(str(self.n_segments - 1))
        segments = zip((known // self.n_segments).tolist(), (known % self.n_segments).tolist(), strict=True)
        names = tuple(f"{self.speaker_names[s]}-{j:0{digits}d}" for s, j in segments)
        n = len(target.test)
        return (inverse[:n], inverse[n:]), names


_NAME_BYTES = 72.0  # of a short text in Python, and of the reference to it
COLUMNS = (
    "enroll", "test", "enroll_speaker", "test_speaker", "gender", "enroll_duration", "test_duration",
)  # fmt: skip


MOST_TRIALS = 10**12
"""They would fill 8 TB."""


class ScorePair(Protocol):
    """Distributions of the scores of both classes: any pair of ``llrkit.theory``."""

    @property
    def target(self) -> Distribution:
        """Scores of target trials."""

    @property
    def nontarget(self) -> Distribution:
        """Scores of non-target trials."""


@dataclass(frozen=True)
class SimulatedTrials(BlockSource):
    """Independent simulated trials; made by :func:`llrkit.simulate.simulate_trials`."""

    n_target: int
    """Number of target trials."""
    n_nontarget: int
    """Number of non-target trials."""
    seed: int
    """The same seed gives the same trials."""
    people: People
    """Speakers, genders and durations that the trials are labeled with."""
    drawing: ScorePair | DurationPairs = field(repr=False)
    """How the LLRs of a block are drawn."""
    scale: float = 1.0
    """Scores are ``scale * x + offset`` for an LLR of x."""
    offset: float = 0.0
    """Added after the LLR was multiplied by ``scale``."""
    dtype: str = "float64"
    """``"float32"`` or ``"float64"``."""

    @property
    def n_blocks(self) -> int:
        """Blocks hold about a million trials."""
        return -(-(self.n_target + self.n_nontarget) // BLOCK_TRIALS)

    def block(self, number: int) -> Scores:
        """One piece, with the carried columns.

        Parameters
        ----------
        number
            Number of the piece, from 0.
        """
        if not 0 <= number < self.n_blocks:
            raise InputError(f"block {number} of {self.n_blocks} does not exist")
        rng = block_rng(self.seed, number)
        target_numbers, nontarget_numbers = (
            # Both classes are divided evenly over blocks, so each block has both where there are enough.
            np.arange(number * n // self.n_blocks, (number + 1) * n // self.n_blocks)
            for n in (self.n_target, self.n_nontarget)
        )
        target, nontarget = self.people.targets(target_numbers), self.people.nontargets(nontarget_numbers)
        scores = []
        for sides, is_target in ((target, True), (nontarget, False)):
            if isinstance(self.drawing, DurationPairs):
                drawn = self.drawing.draw(self.people, sides, is_target, rng)
            else:
                distribution = self.drawing.target if is_target else self.drawing.nontarget
                drawn = distribution.rvs(len(sides.enroll), rng)
            # Skipped where it changes nothing: a block is a million multiplications.
            if self.scale != 1.0 or self.offset != 0.0:
                drawn = self.scale * drawn + self.offset
            # Drawn in 64 bits in either case, so that both types have the same trials.
            scores.append(drawn.astype(self.dtype, copy=False))

        def column(name: str) -> tuple[tuple[Array, Array], Names]:
            if name == POSITION:
                return (target_numbers, nontarget_numbers), None
            return self.people.column(name, target, nontarget)

        return self._part(scores[0], scores[1], column)


def simulate_trials(
    pair: ScorePair | DurationPairs,
    *,
    n_target: int,
    n_nontarget: int,
    rng: RNG = 0,
    scale: float = 1.0,
    offset: float = 0.0,
    speakers: int | None = None,
    durations: Sequence[float] = DURATIONS,
    dtype: str = "float64",
) -> SimulatedTrials:
    """Independent trials whose scores follow a pair of distributions, as a source.

    Every fit and metric takes the result; ``.trials()`` and ``.scores()`` hold it in memory. Ids, speakers,
    genders and durations are there as columns. The scores are independent of them, except where ``pair``
    says otherwise (:class:`~llrkit.simulate.trials.DurationPairs`).

    Parameters
    ----------
    pair
        Every pair of ``llrkit.theory``, calibrated or not.
    n_target
        Number of target trials.
    n_nontarget
        Number of non-target trials.
    rng
        The trials are the same for the same seed, whatever the number of threads.
    scale, offset
        Scores are ``scale * x + offset``: LLRs with a known mistake.
    speakers
        How many, half of them of each gender; by default one for some ten target trials.
    durations
        Durations of speech that trials are given, in seconds.
    dtype
        "float64" or "float32".

    Examples
    --------
    >>> import llrkit as lk
    >>> pair = lk.theory.GaussianLLR.from_eer(0.05)
    >>> trials = lk.simulate.simulate_trials(pair, n_target=20_000, n_nontarget=200_000, rng=1)
    >>> round(lk.cllr(trials), 3), round(pair.cllr, 3)
    (0.182, 0.184)
    >>> trials.trials()
    Trials(220,000 rows: score, label, enroll, test; columns enroll_speaker, test_speaker, gender, ...)
    """
    seed = arguments.seed_of(rng)
    for name, value in (("n_target", n_target), ("n_nontarget", n_nontarget)):
        if arguments.whole_number(value, 1, name) > MOST_TRIALS:
            raise InputError(f"{name} must be at most {MOST_TRIALS:g}, got {value!r}")
    arguments.positive(scale, "scale")
    if not np.isfinite(arguments.real_number(offset, "offset")):
        raise InputError(f"offset must be finite, got {offset!r}")
    if dtype not in ("float32", "float64"):
        raise InputError(f"dtype must be 'float32' or 'float64', got {dtype!r}")
    if not isinstance(pair, DurationPairs) and not hasattr(pair, "target"):
        raise InputError(f"pair must be a pair of distributions, got {type(pair).__name__}")
    people = People.for_trials(n_target, n_nontarget, speakers=speakers, durations=durations)
    return SimulatedTrials(
        int(n_target), int(n_nontarget), seed, people, pair, float(scale), float(offset), dtype
    )


SPLITS = ("eval", "dev")
"""Two sets of the same kind; no speaker is in both."""
SYSTEMS = ("plda", "cosine")
CHANNELS = ("telephone", "microphone")
SECONDS = (5, 20, 100)
N_SPEAKERS, N_RECORDINGS, DIM = 40, 5, 24
WITHIN = 0.5
"""Variance within a speaker, of long telephone recordings; that between speakers is 1."""
NOISE = 1.5
"""A recording of d seconds has the variance ``WITHIN + NOISE / d`` ..."""
ROOM_NOISE, ROOM_OFFSET = 0.3, 0.2
"""... plus ``ROOM_NOISE`` where a microphone made it, which also moves it in every dimension."""
DIGITS = 6
"""Of the scores: the last bits of a sum differ between machines."""


def sample_trials(split: str = "eval", *, system: str | Sequence[str] = "plda") -> Trials:
    """A small simulated set of speaker recognition trials, with ids and conditions; for examples.

    40 speakers, 20 of each gender, with five recordings each; all pairs of recordings of one gender are
    compared: 400 target and 9,500 non-target trials. Speakers repeat, so trials depend on each other.
    Two systems score them: a PLDA model that was trained on long telephone recordings, whose LLRs are too
    extreme for the short ones and those from a microphone, and the cosine, whose scores are no LLRs.

    Parameters
    ----------
    split
        'eval', or 'dev': the same kind of trials of other speakers, to train a calibration.
    system
        The column with the scores, 'plda' or 'cosine', or both, ``("plda", "cosine")``, for fusion.

    Returns
    -------
    Trials
        Columns ``enroll``, ``test`` (recordings), ``label``, ``plda``, ``cosine``, ``gender``, and for both
        sides the speaker, the duration in seconds and the channel (``enroll_speaker``, ...);
        ``same_channel`` is yes or no. The trials are always the same.

    Examples
    --------
    >>> import llrkit as lk
    >>> trials = lk.sample_trials()
    >>> trials
    Trials(9,900 rows: plda, label, enroll, test; columns cosine, gender, enroll_speaker, ...)
    >>> print(f"Cllr {lk.cllr(trials):.2f}, of which {lk.cllr_cal(trials):.2f} are lost to calibration")
    Cllr 0.86, of which 0.57 are lost to calibration
    >>> calibrate = lk.fit_logistic(lk.sample_trials("dev"))
    >>> round(lk.cllr(calibrate.on(trials)), 2)
    0.31
    >>> by = lk.evaluate(trials, by="test_duration").groups
    >>> {seconds: round(group.eer, 2) for seconds, group in by.items()}
    {5: 0.11, 20: 0.07, 100: 0.06}
    """
    arguments.one_of(split, SPLITS, "split")
    names = tuple(system) if isinstance(system, (list, tuple)) else (system,)
    if not names or not set(names) <= set(SYSTEMS):
        raise UnknownNameError(f"system must be 'plda', 'cosine' or both, got {system!r}")
    # A fixed seed: documentation and tests quote numbers of this set.
    rng = np.random.default_rng(20130825 + SPLITS.index(split))
    lists = [_one_gender(split, gender, rng) for gender in GENDERS]
    table = {name: np.concatenate([trials[name] for trials in lists]) for name in lists[0]}
    return Trials(table, score=names[0] if len(names) == 1 else names, enroll="enroll", test="test")


def _one_gender(split: str, gender: str, rng: np.random.Generator) -> dict[str, Array]:
    """All pairs of recordings of the speakers of one gender, the earlier recording of a list first."""
    speaker = np.repeat(np.arange(N_SPEAKERS // len(GENDERS)), N_RECORDINGS)
    n = len(speaker)
    seconds, channel = rng.choice(SECONDS, size=n), rng.integers(len(CHANNELS), size=n)
    voices = rng.standard_normal((N_SPEAKERS // len(GENDERS), DIM))
    deviation = np.sqrt(WITHIN + NOISE / seconds + ROOM_NOISE * channel)
    vectors = voices[speaker] + deviation[:, None] * rng.standard_normal((n, DIM))
    # The PLDA below does not know of rooms or durations; that is its miscalibration.
    vectors += ROOM_OFFSET * channel[:, None]
    # Each pair once, without a recording against itself.
    first, second = np.triu_indices(n, 1)
    model = PLDA(np.zeros(DIM), np.eye(DIM), WITHIN * np.eye(DIM))
    scores = {"plda": model.scores(vectors, vectors), "cosine": cosine_scores(vectors, vectors)}
    speakers = np.array([f"{split}-{gender}{i:02d}" for i in range(N_SPEAKERS // len(GENDERS))])[speaker]
    recordings = np.array([f"{name}-{i % N_RECORDINGS + 1}" for i, name in enumerate(speakers)])
    of_sides = {"speaker": speakers, "duration": seconds, "channel": np.array(CHANNELS)[channel]}
    sides = (("enroll", first), ("test", second))
    return {
        "enroll": recordings[first],
        "test": recordings[second],
        **{name: matrix[first, second].round(DIGITS) for name, matrix in scores.items()},
        "label": np.where(speaker[first] == speaker[second], "target", "nontarget"),
        "gender": np.full(len(first), gender),
        **{f"{side}_{name}": values[at] for name, values in of_sides.items() for side, at in sides},
        "same_channel": np.where(channel[first] == channel[second], "yes", "no"),
    }


@dataclass(frozen=True)
class DurationModel:
    """How the spread of a segment grows as it gets shorter, ``T(d) = 1 + c (1/d - 1/d_full)``.

    The variance between speakers stays what it is, so the correlation between two segments of a speaker,
    and with it the sigma of calibrated Gaussian LLRs, falls: ``sigma_ij = sigma_full / sqrt(T_i T_j)``.

    Examples
    --------
    >>> model = DurationModel.between(eer_full=0.029, eer_short=0.26)
    >>> [[round(100 * model.pair(i, j).eer, 1) for j in (5, 20, 100)] for i in (5, 20, 100)]
    [[26.0, 17.6, 13.5], [17.6, 8.9, 5.5], [13.5, 5.5, 2.9]]
    """

    sigma_full: float
    """Standard deviation of the LLRs of two whole segments."""
    noise: float
    """The constant c, in seconds."""
    full: float = DURATIONS[-1]
    """Duration of a whole segment, in seconds."""

    @classmethod
    def between(
        cls,
        eer_full: float = 0.029,
        eer_short: float = 0.26,
        *,
        short: float = DURATIONS[0],
        full: float = DURATIONS[-1],
    ) -> DurationModel:
        """The model whose EER is ``eer_full`` for two whole segments, ``eer_short`` for two short ones.

        The defaults are the two ends of the paper's range (van Leeuwen & Brümmer 2013, section 4.1).

        Parameters
        ----------
        eer_full
            Equal error rate of two whole segments.
        eer_short
            Equal error rate of two short segments.
        short
            Duration of a short segment in seconds.
        full
            Duration of a whole segment in seconds.
        """
        if not 0.0 < eer_full < eer_short < 0.5:
            raise InputError(
                f"the EER must rise as segments get shorter, below 0.5: got {eer_full!r} and {eer_short!r}"
            )
        if not 0.0 < short < full < np.inf:
            raise InputError(f"short must be below full, both above 0: got {short!r} and {full!r}")
        sigma_full, sigma_short = (float(-2.0 * probit(eer)) for eer in (eer_full, eer_short))
        return cls(sigma_full, (sigma_full / sigma_short - 1.0) / (1.0 / short - 1.0 / full), full)

    def spread(self, duration: npt.ArrayLike) -> FloatArray:
        """``T(d)``: the variance of a segment, that of a whole one being 1.

        Parameters
        ----------
        duration
            Duration in seconds.
        """
        return 1.0 + self.noise * (1.0 / np.asarray(duration, dtype=np.float64) - 1.0 / self.full)

    def pair(self, enroll: float, test: float) -> GaussianLLR:
        """The calibrated LLRs of one combination of durations.

        Parameters
        ----------
        enroll
            Duration of the enrollment segment in seconds.
        test
            Duration of the test segment in seconds.
        """
        return GaussianLLR(self.sigma_full / float(np.sqrt(self.spread(enroll) * self.spread(test))))


@dataclass(frozen=True)
class DurationPairs:
    """Calibrated Gaussian LLRs whose strength depends on the durations of both sides of each trial.

    Given to :func:`llrkit.simulate.simulate_trials` in place of a pair. Every trial is calibrated, so all
    of them together are a mixture of Gaussian pairs, :meth:`mixture`.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.simulate.trials import simulate_trials
    >>> trials = simulate_trials(DurationPairs(DurationModel.between()), n_target=5000, n_nontarget=50000)
    >>> by = lk.evaluate(trials, by="test_duration").groups
    >>> bool(by[5.0].eer > by[20.0].eer > by[100.0].eer)
    True
    """

    model: DurationModel
    """How the strength of a trial follows from its durations."""

    def draw(
        self, people: People, sides: TrialSpeakers, is_target: bool, rng: np.random.Generator
    ) -> FloatArray:
        """``N(±sigma_ij^2 / 2, sigma_ij^2)`` for the durations i, j of each trial.

        Parameters
        ----------
        people
            The speakers of the trials.
        sides
            The speaker on each side of the trials.
        is_target
            Whether the trials are target trials.
        rng
            A NumPy generator, or a seed.
        """
        enroll, test = people.duration_codes(sides)
        sigma = self._sigmas(people.durations)[enroll, test]
        mu = 0.5 * sigma**2
        # Calibrated Gaussian LLRs have a mean of half their variance.
        return np.asarray(rng.standard_normal(len(sigma)) * sigma + (mu if is_target else -mu))

    def mixture(self, durations: Sequence[float] = DURATIONS) -> MixtureLLR:
        """What trials follow whose combinations of durations are equally frequent.

        Parameters
        ----------
        durations
            Durations of speech in seconds.
        """
        mu = 0.5 * self._sigmas(tuple(durations)).ravel() ** 2
        return MixtureLLR((1.0 / len(mu),) * len(mu), tuple(mu.tolist()))

    def _sigmas(self, durations: tuple[float, ...]) -> FloatArray:
        spread = np.sqrt(self.model.spread(durations))
        return np.asarray(self.model.sigma_full / (spread[:, None] * spread[None, :]))
