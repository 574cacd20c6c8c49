"""SpeakerCells: counts and sums of trials by speaker, from which numbers without one speaker follow.

A trial belongs to one or two speakers. Leaving a speaker out removes all of its trials, on either side; what
is left is the total less the trials of the speaker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Counts, FloatArray, IntArray
from llrkit.core.elementary_functions import BLOCK, blocks
from llrkit.core.score_bins import ScoreBins
from llrkit.core.score_index import CellFinder
from llrkit.core.summary_algebra import ReadOnlyArrays, SummaryBase
from llrkit.scores import Scores, ScoreSource
from llrkit.trust.intervals.dyadic_covariance import Contributions
from llrkit.trust.intervals.speakers import Speakers


@dataclass(frozen=True, eq=False)
class NoSums:
    """No contributions at all: trials are counted only."""

    size: int = 0

    def columns(self, class_index: int) -> tuple[int, ...]:
        """None."""
        return ()

    def of(self, values: npt.NDArray[np.float64], class_index: int) -> list[FloatArray]:
        """Nothing."""
        return []


@dataclass(frozen=True, eq=False)
class CellSet(ReadOnlyArrays):
    """What is known of one set of trials: counts of each class by cell, and sums of contributions."""

    cuts: FloatArray
    counts: tuple[Counts, Counts]
    """For targets and non-targets; cell ``i`` holds the scores with ``i`` cuts at or below them."""
    sums: FloatArray
    """By class and number of the sum."""

    @property
    def n(self) -> tuple[float, float]:
        """Number (or weight) of targets and of non-targets."""
        return self.counts[0].sum().item(), self.counts[1].sum().item()

    @property
    def means(self) -> FloatArray:
        """Mean contribution of the trials of each class to each sum."""
        return np.asarray(self.sums / np.array(self.n)[:, None])

    @property
    def p_miss(self) -> FloatArray:
        """Miss rate at each cut."""
        return np.asarray(np.cumsum(self.counts[0])[:-1] / self.n[0])

    @property
    def p_fa(self) -> FloatArray:
        """False-alarm rate at each cut."""
        return np.asarray(1.0 - np.cumsum(self.counts[1])[:-1] / self.n[1])

    def bins(self) -> ScoreBins:
        """The cells that hold a trial, as bins of equal scores."""
        target, nontarget = self.counts
        filled = np.flatnonzero((target > 0) | (nontarget > 0))
        low = np.concatenate([[-np.inf], self.cuts])[filled]
        return ScoreBins(target[filled], nontarget[filled], low, low)


@dataclass(frozen=True, eq=False)
class SpeakerCells(SummaryBase):
    """Counts by class, speaker and cell of the score, and sums of contributions by class and speaker.

    The last row of ``target`` and ``nontarget``, and the last column of ``sums``, are those of all trials.
    """

    cuts: FloatArray
    target: Counts
    nontarget: Counts
    sums: FloatArray
    blocks: tuple[int, ...] = ()
    """Of the speakers, see :class:`Speakers`."""

    @classmethod
    def at(
        cls, finder: CellFinder, speakers: Speakers, contributions: Contributions | None = None
    ) -> Callable[[Scores], SpeakerCells]:
        """A summarizer."""
        terms = NoSums() if contributions is None else contributions

        def make(chunk: Scores) -> SpeakerCells:
            (target, t_sums), (nontarget, n_sums) = (
                _class_by_speaker(chunk, i, finder, speakers, terms) for i in (0, 1)
            )
            return cls(finder.cuts, target, nontarget, np.stack([t_sums, n_sums]), speakers.blocks)

        return make

    def __add__(self, other: SpeakerCells) -> SpeakerCells:
        return replace(
            self,
            target=self.target + other.target,
            nontarget=self.nontarget + other.nontarget,
            sums=self.sums + other.sums,
        )

    def __mul__(self, weight: float) -> SpeakerCells:
        return replace(
            self, target=self.target * weight, nontarget=self.nontarget * weight, sums=self.sums * weight
        )

    def joined(self, cuts: FloatArray) -> SpeakerCells:
        """The same trials in fewer cells, between some of the cuts only."""
        starts = np.concatenate([[0], np.searchsorted(self.cuts, cuts) + 1])
        target, nontarget = (np.add.reduceat(rows, starts, axis=1) for rows in (self.target, self.nontarget))
        return replace(self, cuts=cuts, target=target, nontarget=nontarget)

    @property
    def n_speakers(self) -> int:
        """Number of speakers, or of groups of them."""
        return len(self.target) - 1

    @property
    def counts(self) -> tuple[Counts, Counts]:
        """By class: (speaker, cell), without the row of all trials."""
        return self.target[:-1], self.nontarget[:-1]

    @property
    def total(self) -> CellSet:
        """All trials."""
        return CellSet(self.cuts, (self.target[-1], self.nontarget[-1]), self.sums[:, :, -1])

    def without(self, speaker: int) -> CellSet:
        """All trials but those of one speaker; sums that are infinite are not known without one of them."""
        every, own = self.sums[:, :, -1], self.sums[:, :, speaker]
        known = np.isfinite(every)
        return CellSet(
            self.cuts,
            (self.target[-1] - self.target[speaker], self.nontarget[-1] - self.nontarget[speaker]),
            np.where(known, np.where(known, every, 0.0) - np.where(known, own, 0.0), np.nan),
        )

    def __iter__(self) -> Iterator[CellSet]:
        """The sets without each of the speakers."""
        return (self.without(speaker) for speaker in range(self.n_speakers))

    @property
    def effective_speakers(self) -> tuple[float, float]:
        """By class, how many speakers with equally many trials would be as unequal: (sum n)^2 / sum n^2."""
        sizes = [rows.sum(axis=1).astype(np.float64) for rows in self.counts]
        target, nontarget = (float(n.sum() ** 2 / np.square(n).sum()) if n.any() else 0.0 for n in sizes)
        return target, nontarget


def speaker_cells(
    source: ScoreSource,
    speakers: Speakers,
    cuts: npt.ArrayLike = (),
    contributions: Contributions | None = None,
) -> SpeakerCells:
    """Counts and sums by speaker; one pass.

    Examples
    --------
    >>> from llrkit.trust.intervals.speakers import find_speakers
    >>> columns = {"left": (["a", "b"], ["a", "b"]), "right": (["a", "b"], ["b", "c"])}
    >>> scores = Scores([1.0, 3.0], [0.0, 2.0], columns)
    >>> cells = speaker_cells(scores, find_speakers(scores, ("left", "right")), cuts=[2.0])
    >>> cells.total.counts, cells.without(0).counts
    ((array([1, 1]), array([1, 1])), (array([0, 1]), array([0, 1])))
    """
    finder = CellFinder(np.unique(np.asarray(cuts, dtype=np.float64)))
    return source.with_columns(*speakers.columns).reduce(SpeakerCells.at(finder, speakers, contributions))


def _class_by_speaker(
    chunk: Scores, class_index: int, finder: CellFinder, speakers: Speakers, terms: Contributions
) -> tuple[IntArray, FloatArray]:
    """Counts by (speaker, cell) and sums by (sum, speaker) of one class; all trials come last."""
    values = (chunk.target, chunk.nontarget)[class_index]
    n, width = speakers.n, finder.n_cells
    first, second = speakers.of(chunk, class_index)
    size = (n + 1) * width
    counts, total = np.zeros(size, dtype=np.int64), np.zeros(width, dtype=np.int64)
    sums, all_sums = np.zeros((terms.size, n + 1)), np.zeros(terms.size)
    # blocks no smaller than the table, which is added up for each
    for block in blocks(len(values), max(BLOCK, size)):
        cell, one, other = finder(values[block]), first[block], second[block]
        total += np.bincount(cell, minlength=width)
        counts += np.bincount(one * width + cell, minlength=size)
        counts += np.bincount(other * width + cell, minlength=size)
        arrays = terms.of(values[block], class_index) if terms.size else []
        for column, array in zip(terms.columns(class_index), arrays, strict=True):
            sums[column] += np.bincount(one, array, minlength=n + 1)
            sums[column] += np.bincount(other, array, minlength=n + 1)
            all_sums[column] += array.sum()
    # in the last row there was nobody, the second speaker of trials within one
    table = counts.reshape(n + 1, width)
    table[n], sums[:, n] = total, all_sums
    return table, sums
