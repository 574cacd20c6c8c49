"""Every model against every test segment of its gender, scored block by block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from llrkit._arrays import Array, BoolArray, FloatArray, IntArray
from llrkit._cached import cached_property
from llrkit._memory import at_once
from llrkit.errors import InputError
from llrkit.scores import Scores
from llrkit.scores.roles import POSITION
from llrkit.scores.source import S, reduce_chunks
from llrkit.simulate.block_source import BLOCK_TRIALS, BlockSource
from llrkit.simulate.corpus import Recordings
from llrkit.simulate.simulated_people import COLUMNS, GENDERS

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
            pieces = -(-len(models) * len(tests) // at_once(BLOCK_TRIALS, unit=8))
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
    >>> from llrkit.simulate.corpus import Corpus
    >>> from llrkit.simulate.speaker_population import Population
    >>> corpus = Corpus(Population.between_eers(dim=40), number=0, seed=1)
    >>> sides = [corpus.recordings(side, n_speakers=20, n=100) for side in ("enroll", "test")]
    >>> trials = CrossTrials(*sides, 100.0, 100.0, lambda enroll, test: enroll @ test.T)
    >>> trials.n_target, trials.n_nontarget, round(lk.eer(trials), 2)
    (500, 4500, 0.06)
    """

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

    @property
    def columns(self) -> tuple[str, ...]:
        """Ids, speakers, genders and durations."""
        return COLUMNS

    @cached_property
    def _counts(self) -> tuple[int, int]:
        speakers = int(max(self.enroll.speaker.max(), self.test.speaker.max())) + 1
        own = [np.bincount(side.speaker, minlength=speakers) for side in (self.enroll, self.test)]
        total = sum(len(cells.models) * len(cells.tests) for cells in self._cell_blocks)
        return int(own[0] @ own[1]), total - int(own[0] @ own[1])

    @property
    def n_target(self) -> int:
        """Number of target trials."""
        return self._counts[0]

    @property
    def n_nontarget(self) -> int:
        """Number of non-target trials."""
        return self._counts[1]

    def reduce(self, summarize: Callable[[Scores], S], *, threads: int | None = None) -> S:
        """Score every block here, summarize it in a pool of threads, merge the summaries in order.

        Parameters
        ----------
        summarize
            Function of one chunk whose results can be merged with ``+``.
        threads
            Number of threads; by default as many as there are processors.
        """
        return reduce_chunks(self.blocks(), summarize, threads=threads)

    def block(self, number: int) -> Scores:
        """One piece, with the carried columns.

        Parameters
        ----------
        number
            Number of the piece, from 0.
        """
        cells = self._cell_blocks[number]
        scores = np.asarray(
            self.scorer(
                self.enroll.vectors[self.enroll_duration][cells.models],
                self.test.vectors[self.test_duration][cells.tests],
            )
        )
        same = same_speaker(self.enroll, self.test, cells)
        others = self._nontargets(number, same)
        columns: dict[str, tuple[Array, Array]] = {}
        categories: dict[str, tuple[str, ...]] = {}
        for name in self.carried:
            values, names = self._column(name, number, cells, same)
            columns[name] = (values[same], values[others])
            if names is not None:
                categories[name] = names
        return Scores.part(scores[same], scores[others], columns, categories)

    def _column(
        self, name: str, number: int, cells: CellBlock, same: BoolArray
    ) -> tuple[Array, tuple[str, ...] | None]:
        """The values of a column for every cell of a block, and what codes stand for."""
        models, tests = (np.broadcast_to(a, same.shape) for a in (cells.models[:, None], cells.tests))
        if name == POSITION:
            return self._positions(number, same), None
        if name in ("enroll_duration", "test_duration"):
            return np.full(same.shape, getattr(self, name)), None
        plain = {
            "enroll": (models, _cut_names(self.enroll, self.enroll_duration)),
            "test": (tests, _cut_names(self.test, self.test_duration)),
            "enroll_speaker": (models, self.enroll.speaker_names),
            "test_speaker": (tests, self.test.speaker_names),
            "gender": (self.test.speaker[tests] % 2, GENDERS),
        }
        return plain[name]

    def _positions(self, number: int, same: BoolArray) -> IntArray:
        """The place of each trial within its class; cells that are no trial have one that nobody reads."""
        target = nontarget = 0
        for earlier in range(number):
            is_target = same_speaker(self.enroll, self.test, self._cell_blocks[earlier])
            target += int(is_target.sum())
            nontarget += int(self._nontargets(earlier, is_target).sum())
        others = self._nontargets(number, same).ravel()
        flat = same.ravel()
        places = np.where(flat, target + np.cumsum(flat), nontarget + np.cumsum(others)) - 1
        return places.reshape(same.shape)


def _cut_names(recordings: Recordings, duration: float) -> tuple[str, ...]:
    """Names of the recordings cut to a duration: another cut is another segment."""
    return tuple(f"{name}-{duration:g}s" for name in recordings.names)
