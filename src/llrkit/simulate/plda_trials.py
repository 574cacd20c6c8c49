"""Dependent trials: all pairs of recordings of simulated speakers, scored by PLDA."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from llrkit._arguments import not_negative, takes, whole_number
from llrkit._random import RNG, seed_of
from llrkit.recognize.plda.plda_model import PLDA
from llrkit.scores import Scores
from llrkit.scores.roles import POSITION
from llrkit.scores.source import S, reduce_chunks
from llrkit.simulate.block_source import BlockSource
from llrkit.simulate.corpus import Corpus
from llrkit.simulate.cross_trials import CrossTrials
from llrkit.simulate.simulated_people import COLUMNS, DURATIONS
from llrkit.simulate.speaker_population import Population


@dataclass(frozen=True, eq=False)
class ConcatenatedTrials(BlockSource):
    """Several sets of trials one after the other, as one source."""

    sources: tuple[CrossTrials, ...]

    @property
    def n_blocks(self) -> int:
        """Those of all sources."""
        return sum(source.n_blocks for source in self.sources)

    @property
    def columns(self) -> tuple[str, ...]:
        """Ids, speakers, genders and durations."""
        return COLUMNS

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
        which = int(np.searchsorted(ends, number, side="right"))
        source = self.sources[which].with_columns(*self.carried)
        chunk = source.block(number - (ends[which] - source.n_blocks))
        if POSITION not in self.carried:
            return chunk
        earlier, (target, nontarget) = self.sources[:which], chunk.columns[POSITION]
        moved = (
            target + sum(source.n_target for source in earlier),
            nontarget + sum(source.n_nontarget for source in earlier),
        )
        return Scores.part(
            chunk.target, chunk.nontarget, {**chunk.columns, POSITION: moved}, chunk.categories
        )

    def reduce(self, summarize: Callable[[Scores], S], *, threads: int | None = None) -> S:
        """Score every block here, summarize it in a pool of threads, merge the summaries in order."""
        return reduce_chunks(self.blocks(), summarize, threads=threads)


@takes(population=Population)
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
    seed = seed_of(rng)
    whole_number(n_models, 1, "n_models")
    whole_number(n_tests, 1, "n_tests")
    not_negative(rougher, "rougher")
    alike = replace(population, gender_gap=0.0)
    corpus = Corpus(alike.rougher(rougher), 1, seed, shift)
    enroll, test = (
        corpus.recordings(side, n_speakers=n_speakers, n=n, durations=durations)
        for side, n in (("enroll", n_models), ("test", n_tests))
    )
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
