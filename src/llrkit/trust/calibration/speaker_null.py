"""Calibrated sets in which speakers differ as they do in the trials: a null distribution with speakers.

Three steps. The scores of each class are moved, in their order, to where a calibrated system with the same
scores would have them: the set is then calibrated as exactly as so many trials can be, and every speaker is
still as far above or below the others as before. Then speakers count more or less at random, each trial with
those of both of its sides. Last, as the spread between few speakers is itself uncertain, all weights of a set
are stretched by the same factor, as Student's t does with a normal variable.

devPAV gives the few trials at both ends as much weight as all others, and speakers who are not there would
have other ends: there the weights are stretched by a quarter more (``WIDER``, chosen by benchmarks/sizes.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit.trust.calibration.calibrated_cells import CalibratedCells
from llrkit.trust.calibration.null_distribution import Sets
from llrkit.trust.intervals.speaker_cells import SpeakerCells

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_HEAVY = 0.2
"""Share of speakers who count three times; the others count half, so that no trial counts less than 0."""
WIDER = 1.25
"""By how much more the weights of speakers spread where devPAV is judged."""


def draw_speaker_sets(
    cells: SpeakerCells,
    calibrated: CalibratedCells,
    df: float,
    replicates: int,
    seed: int,
    stretch: float = 1.0,
) -> Sets:
    """Sets around a calibrated one with the same speakers, on the cells of ``calibrated``.

    ``df`` are the degrees of freedom of what differs between speakers; ``stretch`` makes them differ more.
    """
    rng = np.random.default_rng([seed, 2])
    weights = speaker_weights(cells.n_speakers, replicates, rng, cells.blocks)
    weights *= stretch * np.sqrt(df / rng.chisquare(df, replicates))[:, None]
    drawn = []
    for total, by_speaker, wanted in zip(
        cells.total.counts, cells.counts, (calibrated.target, calibrated.nontarget), strict=True
    ):
        moved = transport(np.asarray(total, dtype=np.float64), wanted)
        counts = np.maximum(total + weights @ by_speaker.astype(np.float64), 0.0)
        drawn.append(np.asarray(counts @ moved))
    return [
        (target, nontarget)
        for target, nontarget in zip(*drawn, strict=True)
        if target.any() and nontarget.any()
    ]


def speaker_weights(n: int, sets: int, rng: np.random.Generator, blocks: tuple[int, ...] = ()) -> FloatArray:
    """By set and speaker, how much more than once a speaker counts: mean 0 and variance 1 in every set.

    The same holds in each block of speakers that are compared with each other only.

    Examples
    --------
    >>> weights = speaker_weights(10, 1, np.random.default_rng(1))
    >>> np.unique(weights), round(float(weights.mean()), 12)
    (array([-0.5,  2. ]), 0.0)
    """
    if blocks:
        weights, place = np.empty((sets, n)), np.asarray(blocks)
        for block in range(place.max() + 1):
            own = np.flatnonzero(place == block)
            weights[:, own] = speaker_weights(len(own), sets, rng)
        return weights
    heavy = max(1, round(_HEAVY * n))
    odds = heavy / (n - heavy)
    weights = np.full((sets, n), -np.sqrt(odds))
    chosen = np.argsort(rng.random((sets, n)), axis=1)[:, :heavy]
    np.put_along_axis(weights, chosen, 1.0 / np.sqrt(odds), axis=1)
    return weights


def transport(counts: FloatArray, wanted: FloatArray) -> csr_array:
    """Shares of each cell's trials that go to each of other cells, so that in order they are as wanted.

    Whole trials are moved, as far as counts are whole: the k-th lowest goes where the k-th lowest of a set
    with the wanted distribution would be.

    Examples
    --------
    >>> transport(np.array([2.0, 2.0]), np.array([0.25, 0.25, 0.5])).toarray()
    array([[0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    """
    from scipy.sparse import csr_array  # takes longer to import than all of llrkit

    n = float(counts.sum())
    have = np.concatenate([[0.0], np.cumsum(counts)])
    need = np.concatenate([[0.0], np.round(n * np.cumsum(wanted) / wanted.sum())])
    need[-1] = have[-1]
    steps = np.unique(np.concatenate([have, np.minimum(need, n)]))
    middle, moved = 0.5 * (steps[1:] + steps[:-1]), np.diff(steps)
    start: npt.NDArray[np.intp] = np.searchsorted(have, middle, side="right") - 1
    end: npt.NDArray[np.intp] = np.searchsorted(need, middle, side="right") - 1
    return csr_array((moved / counts[start], (start, end)), shape=(len(counts), len(wanted)))
