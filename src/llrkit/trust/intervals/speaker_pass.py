"""One pass for all intervals: counts by speaker, and the influences of all numbers by pair of speakers.

All influences but that of the logarithmic loss depend on the cell of a score only, so that most sums follow
from the counts. It gives the same as :class:`SpeakerCells` and :class:`InfluenceSums` side by side, several
times as fast.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from llrkit._arrays import FloatArray, IntArray
from llrkit.core.elementary_functions import BLOCK, blocks
from llrkit.core.summary import Both
from llrkit.scores import Scores, ScoreSource
from llrkit.trust.intervals.dyadic_covariance import (
    Covariance,
    InfluenceSums,
    covariance_of,
    pair_columns,
    pair_keys,
)
from llrkit.trust.intervals.influence import StepInfluences
from llrkit.trust.intervals.speaker_cells import SpeakerCells
from llrkit.trust.intervals.speakers import Speakers


def speaker_pass(
    source: ScoreSource, influences: StepInfluences, speakers: Speakers
) -> tuple[SpeakerCells, Covariance]:
    """Counts and losses by speaker, and the covariance of the influences."""
    wide = source.with_columns(*speakers.columns)
    cells, sums = wide.reduce(cells_and_influences(influences, speakers))
    return cells, covariance_of(sums, influences, speakers)


def cells_and_influences(influences: StepInfluences, speakers: Speakers) -> Callable[[Scores], Both]:
    """A summarizer: :class:`SpeakerCells` with the logarithmic loss, and :class:`InfluenceSums`."""

    def make(chunk: Scores) -> Both:
        (target, t_loss, t_sums), (nontarget, n_loss, n_sums) = (
            _of_class(chunk, i, influences, speakers) for i in (0, 1)
        )
        losses = np.stack([t_loss, n_loss])[:, None]
        cells = SpeakerCells(influences.finder.cuts, target, nontarget, losses, speakers.blocks)
        return Both((cells, t_sums + n_sums))

    return make


def _of_class(
    chunk: Scores, class_index: int, influences: StepInfluences, speakers: Speakers
) -> tuple[IntArray, FloatArray, InfluenceSums]:
    """Counts by (speaker, cell), losses by speaker (all trials last), and sums of influences."""
    values = (chunk.target, chunk.nontarget)[class_index]
    n, width, steps = speakers.n, influences.finder.n_cells, influences.steps[class_index]
    first, second = speakers.of(chunk, class_index)
    crossed = class_index == 1 or speakers.targets_cross
    kept = pair_columns(influences, speakers)
    rows = [kept.index(column) for column in influences.columns(class_index)] if crossed else []
    size = (n + 1) * width
    counts, losses, squares = np.zeros(size, dtype=np.int64), np.zeros(n + 1), 0.0
    pairs, trials_of_pair = np.zeros((len(kept), n * n)), np.zeros(n * n, dtype=np.int64)
    edges = [_only_edge(step) for step in steps]
    all_losses = 0.0
    # blocks no smaller than the tables, which are added up for each
    for block in blocks(len(values), max(BLOCK, size // 4)):
        cell, one, other = influences.finder(values[block]), first[block], second[block]
        loss = influences.loss(values[block], class_index)
        counts += np.bincount(one * width + cell, minlength=size)
        if crossed:
            counts += np.bincount(other * width + cell, minlength=size)
            keys = pair_keys(one, other, n)
            pairs[rows[0]] += np.bincount(keys, loss, minlength=n * n)
            trials_of_pair += np.bincount(keys, minlength=n * n)
            for row, step, edge in zip(rows[1:], steps, edges, strict=True):
                if edge:  # the errors at a threshold: few trials are beyond it
                    beyond = np.bincount(keys[cell >= edge], minlength=n * n)
                    pairs[row] += (step[-1] - step[0]) * beyond
                else:
                    pairs[row] += np.bincount(keys, step[cell], minlength=n * n)
        else:
            losses += np.bincount(one, loss, minlength=n + 1)
        all_losses += float(loss.sum())
        squares += float(np.einsum("n,n->", loss, loss))
    if crossed:
        square = pairs[rows[0]].reshape(n, n)
        losses[:n] = square.sum(axis=0) + square.sum(axis=1) - np.diag(square)
        for row, step, edge in zip(rows[1:], steps, edges, strict=True):
            if edge:
                pairs[row] += step[0] * trials_of_pair
    table: IntArray = counts.reshape(n + 1, width)
    # a trial is in the rows of both of its speakers, or of one and of nobody
    total = table.sum(axis=0) // (2 if crossed else 1)
    table[n], losses[n] = total, all_losses
    mean = influences.mean_loss[class_index]
    uncentered = losses + (mean * table.sum(axis=1) if np.isfinite(mean) else np.inf)
    columns = list(influences.columns(class_index))
    trials, by_speaker = np.zeros((influences.size, influences.size)), np.zeros((influences.size, n))
    trials[columns[0], columns[0]] = squares
    trials[np.ix_(columns[1:], columns[1:])] = (steps * total) @ steps.T
    if not crossed:
        by_speaker[columns] = np.vstack([losses[None, :n], steps @ table[:n].T])
    return table, uncentered, InfluenceSums(trials, by_speaker, pairs)


def _only_edge(step: FloatArray) -> int:
    """The cell from which on a step function has its other value; 0 if it has not just two."""
    edges = np.flatnonzero(np.diff(step))
    return int(edges[0]) + 1 if len(edges) == 1 else 0
