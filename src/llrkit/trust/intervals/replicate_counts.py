"""ReplicateCounts: the counts and losses of many weighted replicates of the same trials, in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit._memory import at_once
from llrkit._progress import stage
from llrkit.core.elementary_functions import softplus
from llrkit.core.score_index import score_indexes
from llrkit.core.summary_algebra import SummaryBase
from llrkit.core.threshold_grid import Grid
from llrkit.core.trial_counts import TrialCounts
from llrkit.scores import Scores, ScoreSource
from llrkit.trust.intervals.resampling import Draw, SpeakerIndices, SpeakerResampling, TrialResampling

MOST_NUMBERS = 1 << 25
"""Counts kept at a time; more replicates than this allows for take another pass."""
AT_A_TIME = 250

Resampling = SpeakerResampling | TrialResampling


@dataclass(frozen=True, eq=False)
class ReplicateCounts(SummaryBase):
    """Counts of several replicates (rows) on a common grid of scores, and their losses.

    ``at`` and ``cells`` are as in :class:`llrkit.core.trial_counts.TrialCounts`; ``loss`` is the sum of the
    logarithmic losses of each class, ``below`` counts the trials of each class below each threshold.
    """

    at: FloatArray
    cells: FloatArray
    loss: tuple[FloatArray, FloatArray]
    below: tuple[FloatArray, FloatArray]

    @classmethod
    def of(
        cls, chunk: Scores, grid: Grid, thresholds: FloatArray, resampling: Resampling,
        draws: Sequence[Draw],
    ) -> ReplicateCounts:  # fmt: skip
        """The counts of a chunk."""
        points, target_grid = grid.points, grid.smaller == "target"
        assert points is not None
        classes = [
            _SortedClass.of(
                chunk, class_index, points, (class_index == 0) == target_grid, thresholds, resampling
            )
            for class_index in (0, 1)
        ]
        replicated = [one.replicates(draws) for one in classes]
        own, other = (replicated[0], replicated[1]) if target_grid else (replicated[1], replicated[0])
        (_, target_loss, target_below), (_, nontarget_loss, nontarget_below) = replicated
        return cls(own[0], other[0], (target_loss, nontarget_loss), (target_below, nontarget_below))

    def __add__(self, other: ReplicateCounts) -> ReplicateCounts:
        return ReplicateCounts(
            self.at + other.at,
            self.cells + other.cells,
            (self.loss[0] + other.loss[0], self.loss[1] + other.loss[1]),
            (self.below[0] + other.below[0], self.below[1] + other.below[1]),
        )

    def __mul__(self, weight: float) -> ReplicateCounts:
        return ReplicateCounts(
            self.at * weight,
            self.cells * weight,
            (self.loss[0] * weight, self.loss[1] * weight),
            (self.below[0] * weight, self.below[1] * weight),
        )


@dataclass(frozen=True, eq=False)
class Replicate:
    """What is known of one replicate: counts, mean losses in nats, rates below the thresholds."""

    counts: TrialCounts
    loss: tuple[float, float]
    below: tuple[FloatArray, FloatArray]

    @property
    def p_miss(self) -> FloatArray:
        """Miss rate at each threshold."""
        return self.below[0]

    @property
    def p_fa(self) -> FloatArray:
        """False-alarm rate at each threshold."""
        return np.asarray(1.0 - self.below[1])


def replicates(
    source: ScoreSource,
    grid: Grid,
    resampling: Resampling,
    n: int,
    *,
    thresholds: npt.ArrayLike = (),
) -> Iterator[Replicate]:
    """Replicates in order; those in which a class was not drawn at all are left out."""
    cuts = np.sort(np.asarray(thresholds, dtype=np.float64))
    points = grid.points
    assert points is not None
    wide = source.with_columns(*resampling.columns)
    at_a_time = min(AT_A_TIME, max(1, at_once(MOST_NUMBERS, unit=8) // (3 * len(points) + 2 * len(cuts) + 1)))
    unknown = np.full(len(points) + 1, np.nan)  # where exactly scores lie between the points is not counted
    with stage("resampling", n, "replicates") as done:
        for start in range(0, n, at_a_time):
            draws = [resampling.draw(i) for i in range(start, min(start + at_a_time, n))]

            def summarize(chunk: Scores, draws: list[Draw] = draws) -> ReplicateCounts:
                return ReplicateCounts.of(chunk, grid, cuts, resampling, draws)

            counted = wide.reduce(summarize)
            for i in range(len(draws)):
                counts = TrialCounts(points, grid.smaller, counted.at[i], counted.cells[i], unknown, unknown)
                size = counts.n_target, counts.n_nontarget
                if min(size) > 0:
                    yield Replicate(
                        counts,
                        (float(counted.loss[0][i] / size[0]), float(counted.loss[1][i] / size[1])),
                        (counted.below[0][i] / size[0], counted.below[1][i] / size[1]),
                    )
            done(len(draws))


@dataclass(frozen=True, eq=False)
class _SortedClass:
    """The trials of one class of a chunk in ascending order, and where they are cut."""

    indices: SpeakerIndices
    loss: FloatArray
    filled: npt.NDArray[np.intp]
    """Cells that hold a trial, and the first trial of each."""
    start: npt.NDArray[np.intp]
    n_cells: int
    below: npt.NDArray[np.intp]
    """Trials below each threshold."""

    @classmethod
    def of(
        cls, chunk: Scores, class_index: int, points: FloatArray, own: bool, thresholds: FloatArray,
        resampling: Resampling,
    ) -> _SortedClass:  # fmt: skip
        values = score_indexes(chunk)[class_index].values.astype(np.float64, copy=False)
        order = np.argsort(values, kind="stable")
        ascending = values[order]
        left = np.searchsorted(ascending, points, side="left")
        if own:  # every trial is at a point
            bounds = np.append(left, len(values))
        else:
            right = np.searchsorted(ascending, points, side="right")
            bounds = np.concatenate([[0], np.column_stack([left, right]).ravel(), [len(values)]])
        filled = np.flatnonzero(np.diff(bounds) > 0)
        return cls(
            resampling.speaker_indices(chunk, class_index).ordered(order),
            np.asarray(softplus(-ascending if class_index == 0 else ascending)),
            filled,
            bounds[filled],
            len(bounds) - 1,
            np.searchsorted(ascending, thresholds, side="left"),
        )

    def replicates(self, draws: Sequence[Draw]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Counts in the cells, sums of losses and counts below the thresholds, one row for each draw."""
        cells = np.zeros((len(draws), self.n_cells))
        loss, below = np.zeros(len(draws)), np.zeros((len(draws), len(self.below)))
        if len(self.loss) == 0:
            return cells, loss, below
        for i, draw in enumerate(draws):
            weights = draw.weights(self.indices)
            cells[i, self.filled] = np.add.reduceat(weights, self.start)
            loss[i] = np.einsum("n,n->", weights, self.loss)
            if len(self.below):
                below[i] = _sums_before(weights, self.below)
        return cells, loss, below


def _sums_before(weights: FloatArray, stops: npt.NDArray[np.intp]) -> FloatArray:
    """Sum of the weights before each of several ascending stops."""
    bounds = np.concatenate([[0], stops])
    filled = np.flatnonzero(np.diff(bounds) > 0)
    pieces = np.zeros(len(stops))
    if len(filled):
        # the last piece ends at the last stop, not at the end
        pieces[filled] = np.add.reduceat(weights[: stops[-1]], bounds[filled])
    return np.cumsum(pieces)
