"""Trial lists as evaluations make them: many speakers, all target trials, few non-targets of each pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llrkit._arrays import BoolArray, IntArray
from llrkit._cached import cached_property
from llrkit._random import RNG, seed_of
from llrkit.errors import InputError
from llrkit.simulate.block_source import block_rng
from llrkit.simulate.corpus import Recordings
from llrkit.simulate.cross_trials import CrossTrials, cell_blocks, same_speaker


@dataclass(frozen=True, eq=False)
class DrawnPairs:
    """Which pairs of recordings are non-target trials, drawn at random without repetition.

    A list is drawn once and serves all durations: cutting recordings does not change who is compared.

    Examples
    --------
    >>> from llrkit.simulate.corpus import Corpus
    >>> from llrkit.simulate.speaker_population import Population
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
        seed = seed_of(rng)
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
