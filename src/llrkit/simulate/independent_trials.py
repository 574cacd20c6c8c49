"""Independent trials whose scores follow a given pair of distributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from llrkit._arguments import number
from llrkit._arrays import Array, FloatArray, IntArray
from llrkit._random import RNG, seed_of
from llrkit.errors import InputError
from llrkit.scores import Scores
from llrkit.scores.roles import POSITION
from llrkit.simulate.block_source import BLOCK_TRIALS, BlockSource, block_rng
from llrkit.simulate.simulated_people import COLUMNS, DURATIONS, People, TrialSpeakers
from llrkit.theory.distribution import Distribution

MOST_TRIALS = 10**12
"""They would fill 8 TB."""


class ScorePair(Protocol):
    """Distributions of the scores of both classes: any pair of ``llrkit.theory``."""

    @property
    def target(self) -> Distribution:
        """Scores of target trials."""
        ...

    @property
    def nontarget(self) -> Distribution:
        """Scores of non-target trials."""
        ...


@runtime_checkable
class Drawing(Protocol):
    """How the scores of a block are drawn."""

    def draw(
        self, people: People, sides: TrialSpeakers, is_target: bool, rng: np.random.Generator
    ) -> FloatArray:
        """One score for each trial."""
        ...


@dataclass(frozen=True)
class PairDrawing:
    """The same two distributions for every trial."""

    pair: ScorePair

    def draw(
        self, people: People, sides: TrialSpeakers, is_target: bool, rng: np.random.Generator
    ) -> FloatArray:
        """Independent draws."""
        distribution = self.pair.target if is_target else self.pair.nontarget
        return distribution.rvs(len(sides.enroll), rng)


@dataclass(frozen=True)
class SimulatedTrials(BlockSource):
    """Independent simulated trials; made by :func:`llrkit.simulate_trials`."""

    n_target: int
    """Number of target trials."""
    n_nontarget: int
    """Number of non-target trials."""
    seed: int
    """The same seed gives the same trials."""
    people: People
    """Speakers, genders and durations that the trials are labeled with."""
    drawing: Drawing = field(repr=False)
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

    @property
    def columns(self) -> tuple[str, ...]:
        """Ids, speakers, genders and durations."""
        return COLUMNS

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
        counted = [self._numbers(n, number) for n in (self.n_target, self.n_nontarget)]
        target, nontarget = self.people.targets(counted[0]), self.people.nontargets(counted[1])
        scores = [
            self._scaled(self.drawing.draw(self.people, sides, is_target, rng))
            for sides, is_target in ((target, True), (nontarget, False))
        ]
        columns: dict[str, tuple[Array, Array]] = {}
        categories: dict[str, tuple[str, ...]] = {}
        for name in self.carried:
            if name == POSITION:
                columns[name] = (counted[0], counted[1])
                continue
            columns[name], names = self.people.column(name, target, nontarget)
            if names is not None:
                categories[name] = names
        return Scores.part(scores[0], scores[1], columns, categories)

    def _numbers(self, n: int, block: int) -> IntArray:
        return np.arange(block * n // self.n_blocks, (block + 1) * n // self.n_blocks)

    def _scaled(self, drawn: FloatArray) -> Array:
        if self.scale != 1.0 or self.offset != 0.0:
            drawn = self.scale * drawn + self.offset
        return drawn.astype(self.dtype, copy=False)


def simulate_trials(
    pair: ScorePair | Drawing,
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
    says otherwise (:class:`~llrkit.simulate.duration_model.DurationPairs`).

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
    >>> trials = lk.simulate_trials(pair, n_target=20_000, n_nontarget=200_000, rng=1)
    >>> round(lk.cllr(trials), 3), round(pair.cllr, 3)
    (0.182, 0.184)
    >>> trials.trials()
    Trials(220,000 rows: score, label, enroll, test; columns enroll_speaker, test_speaker, gender, ...)
    """
    seed = seed_of(rng)
    for name, value in (("n_target", n_target), ("n_nontarget", n_nontarget)):
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not whole or not 1 <= value <= MOST_TRIALS:
            raise InputError(
                f"{name} must be a whole number of at least 1 and at most {MOST_TRIALS:g}, got {value!r}"
            )
    if not (0.0 < number(scale, "scale") < np.inf and np.isfinite(number(offset, "offset"))):
        raise InputError(f"scale must be above 0 and offset finite, got {scale!r} and {offset!r}")
    if dtype not in ("float32", "float64"):
        raise InputError(f"dtype must be 'float32' or 'float64', got {dtype!r}")
    if not isinstance(pair, Drawing) and not hasattr(pair, "target"):
        raise InputError(f"pair must be a pair of distributions, got {type(pair).__name__}")
    drawing = pair if isinstance(pair, Drawing) else PairDrawing(pair)
    return SimulatedTrials(
        n_target=int(n_target),
        n_nontarget=int(n_nontarget),
        seed=seed,
        people=People.for_trials(n_target, n_nontarget, speakers=speakers, durations=durations),
        drawing=drawing,
        scale=float(scale),
        offset=float(offset),
        dtype=dtype,
    )
