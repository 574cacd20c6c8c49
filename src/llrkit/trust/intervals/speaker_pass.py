"""One pass for all intervals: counts by speaker, and the influences of all numbers by pair of speakers.

All influences but that of the logarithmic loss depend on the cell of a score only, so that most sums follow
from the counts. It gives the same as :class:`SpeakerCells` and :class:`InfluenceSums` side by side, several
times as fast.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from llrkit._arrays import FloatArray, IntArray
from llrkit.core.elementary_functions import BLOCK, blocks
from llrkit.core.summary_algebra import Both, Summarizer
from llrkit.scores import Scores, ScoreSource
from llrkit.trust.intervals.dyadic_covariance import Covariance, InfluenceSums, covariance_of, pair_columns
from llrkit.trust.intervals.influence_functions import StepInfluences
from llrkit.trust.intervals.speaker_cells import SpeakerCells
from llrkit.trust.intervals.speakers import Speakers

_FEW_EDGES = 2
"""Steps of the errors at a threshold, or at the crossing of the hull with Pmiss = Pfa."""
CellsAndInfluences: TypeAlias = Both[tuple[SpeakerCells, InfluenceSums]]


def speaker_pass(
    source: ScoreSource, influences: StepInfluences, speakers: Speakers
) -> tuple[SpeakerCells, Covariance]:
    """Counts and losses by speaker, and the covariance of the influences."""
    wide = source.with_columns(*speakers.columns)
    cells, sums = wide.reduce(cells_and_influences(influences, speakers)).summaries
    return cells, covariance_of(sums, influences, speakers)


def cells_and_influences(influences: StepInfluences, speakers: Speakers) -> Summarizer[CellsAndInfluences]:
    """A summarizer: :class:`SpeakerCells` with the logarithmic loss, and :class:`InfluenceSums`."""

    def make(chunk: Scores) -> CellsAndInfluences:
        (target, t_loss, t_sums), (nontarget, n_loss, n_sums) = (
            _speaker_pass_of_class(chunk, i, influences, speakers) for i in (0, 1)
        )
        losses = np.stack([t_loss, n_loss])[:, None]
        cells = SpeakerCells(influences.finder.cuts, target, nontarget, losses, speakers.blocks)
        return Both((cells, t_sums + n_sums))

    return make


def _speaker_pass_of_class(
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
    # by first and second speaker; within one speaker the second is nobody
    pairs, trials_of_pair = np.zeros((len(kept), n * (n + 1))), np.zeros(n * (n + 1), dtype=np.int64)
    jumps = [_jumps_of_influence(step) for step in steps]
    lowest = min((edge for found in jumps for edge, _ in found), default=0)
    all_losses = 0.0
    # blocks no smaller than the tables, which are added up for each
    for block in blocks(len(values), max(BLOCK, size // 4)):
        cell, one, other = influences.finder(values[block]), first[block], second[block]
        loss = influences.loss(values[block], class_index)
        all_losses += float(loss.sum())
        squares += float(np.einsum("n,n->", loss, loss))
        own = one * width + cell
        if not crossed:
            counts += np.bincount(own, minlength=size)
            losses += np.bincount(one, loss, minlength=n + 1)
            continue
        counts += np.bincount(np.concatenate([own, other * width + cell]), minlength=size)
        keys = one * (n + 1) + other
        pairs[rows[0]] += np.bincount(keys, loss, minlength=n * (n + 1))
        trials_of_pair += np.bincount(keys, minlength=n * (n + 1))
        # errors at a threshold: few non-targets are beyond the lowest
        beyond = np.flatnonzero(cell >= lowest)
        far_cell, far_keys = cell[beyond], keys[beyond]
        for row, step, found in zip(rows[1:], steps, jumps, strict=True):
            for edge, jump in found:
                pairs[row] += jump * np.bincount(far_keys[far_cell >= edge], minlength=n * (n + 1))
            if not found:
                pairs[row] += np.bincount(keys, step[cell], minlength=n * (n + 1))
    if crossed:
        for row, step, found in zip(rows[1:], steps, jumps, strict=True):
            if found:
                pairs[row] += step[0] * trials_of_pair
    square = pairs.reshape(len(kept), n, n + 1)
    square[:, np.arange(n), np.arange(n)] += square[:, :, n]
    pairs = square[:, :, :n].reshape(len(kept), n * n)
    if crossed:
        of_loss = pairs[rows[0]].reshape(n, n)
        losses[:n] = of_loss.sum(axis=0) + of_loss.sum(axis=1) - np.diag(of_loss)
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


def _jumps_of_influence(step: FloatArray) -> list[tuple[int, float]]:
    """The cells from which on a step function has another value, and by how much; none if there are many."""
    change = np.diff(step)
    edges = np.flatnonzero(change)
    return [(int(i) + 1, float(change[i])) for i in edges] if len(edges) <= _FEW_EDGES else []
