"""What a calibrated system shows by chance, also where speakers differ: null distributions of losses.

The PAV map is fitted to the trials it is judged on, so Cllr - min Cllr and devPAV are above zero also when
nothing is wrong. How far, depends on the numbers of trials and on how well the classes are separated; it is
found by drawing sets of trials from a calibrated pair of distributions. A set is drawn as counts in cells,
so that large sets cost no more than small ones.

With speakers it takes three steps. The scores of each class are moved, in their order, to where a
calibrated system with the same scores would have them: the set is then calibrated as exactly as so many
trials can be, and every speaker is still as far above or below the others as before. Then speakers count
more or less at random, each trial with those of both of its sides. Last, as the spread between few speakers
is itself uncertain, all weights of a set are stretched by the same factor, as Student's t does with a
normal variable.

devPAV gives the few trials at both ends as much weight as all others, and speakers who are not there would
have other ends: there the weights are stretched by a quarter more (``WIDER``, chosen by
benchmarks/sizes.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from llrkit._arguments import takes, whole_number
from llrkit._arrays import FloatArray
from llrkit._progress import tracked
from llrkit._random import RNG, seed_of
from llrkit._results import Result
from llrkit.core.pav_and_hull import pav_blocks
from llrkit.core.score_bins import ScoreBins
from llrkit.core.summary_algebra import ReadOnlyArrays
from llrkit.errors import InputError
from llrkit.metrics.discrimination import eer_from_blocks, min_cllr_from_blocks
from llrkit.theory.calibrated_pair import CalibratedPair
from llrkit.trust.calibration.calibrated_cells import CalibratedCells, cllr_of_counts
from llrkit.trust.calibration.devpav import dev_pav_from_blocks
from llrkit.trust.calibration.recalibration_line import cross_validated_loss
from llrkit.trust.intervals.speaker_cells import SpeakerCells

if TYPE_CHECKING:
    from scipy.sparse import csr_array


_HEAVY = 0.2
"""Share of speakers who count three times; the others count half, so that no trial counts less than 0."""
WIDER = 1.25
"""By how much more the weights of speakers spread where devPAV is judged."""
_OF_BLOCKS = 0.5
"""Divided by the degrees of freedom: how much more they spread where speakers come in blocks (genders), which
have fewer speakers each. With 7 or 8 in a block the test of Cllr - min Cllr rejected 8 to 9 % without it."""


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
    if cells.blocks:
        stretch *= 1.0 + _OF_BLOCKS / df
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


LOSSES = ("cllr_cal", "dev_pav", "cv_loss")


@dataclass(frozen=True, eq=False)
class CalibrationNull(ReadOnlyArrays, Result):
    """What perfectly calibrated LLRs show in each of many sets of trials.

    Examples
    --------
    >>> null = CalibrationNull(*(np.arange(99.0),) * 4)
    >>> null.p_value("cllr_cal", 95.0)
    0.05
    """

    cllr_cal: FloatArray
    """Cllr - min Cllr of each set."""
    dev_pav: FloatArray
    """devPAV of each set."""
    cv_loss: FloatArray
    """All nan where it was not drawn."""
    eer: FloatArray
    """EER of each set."""

    def known(self, name: str) -> FloatArray:
        """The values of those sets that have one: devPAV does not exist where the classes do not overlap.

        Parameters
        ----------
        name
            ``"cllr_cal"``, ``"dev_pav"`` or ``"cv_loss"``.
        """
        drawn: FloatArray = getattr(self, name)
        return drawn[np.isfinite(drawn)]

    def p_value(self, name: str, observed: float) -> float:
        """Share of sets, the observed one included, that show at least as large a value.

        Parameters
        ----------
        name
            ``"cllr_cal"``, ``"dev_pav"`` or ``"cv_loss"``.
        observed
            The value seen on the trials at hand.
        """
        drawn = self.known(name)
        if not len(drawn) or math.isnan(observed):
            return math.nan
        return float((np.count_nonzero(drawn >= observed) + 1) / (len(drawn) + 1))

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Mean, standard deviation and 95th percentile of each."""
        plain = {}
        for name in (*LOSSES, "eer"):
            drawn = self.known(name)
            known = len(drawn) > 0
            plain[name] = {
                "mean": float(drawn.mean()) if known else math.nan,
                "sd": float(drawn.std()) if known else math.nan,
                "p95": float(np.quantile(drawn, 0.95)) if known else math.nan,
            }
        return plain


@takes()
def calibration_null(
    model: CalibratedPair | CalibratedCells,
    n_target: int,
    n_nontarget: int,
    *,
    replicates: int = 200,
    rng: RNG = 0,
    folds: int = 5,
    cross_validate: bool = True,
) -> CalibrationNull:
    """Draw sets of calibrated trials and see what calibration losses they show.

    The result has, for each set, Cllr - min Cllr (``cllr_cal``), ``dev_pav`` in log10, the cross-validated
    loss ``cv_loss`` in bits and the ROCCH-EER (``eer``). Trials are independent.

    Parameters
    ----------
    model
        A calibrated pair of distributions, such as ``lk.theory.GaussianLLR.from_eer(0.05)``.
    n_target
        Number of target trials.
    n_nontarget
        Number of non-target trials.
    replicates
        Number of sets that are drawn.
    rng
        Seed of the random numbers; the same seed gives the same result.
    folds
        Number of folds of the cross-validation.
    cross_validate
        Whether ``cv_loss`` is wanted, which takes most of the time; nan otherwise.

    Examples
    --------
    >>> import llrkit as lk
    >>> null = lk.calibration_null(lk.theory.GaussianLLR.from_eer(0.05), 100, 1000, replicates=300)
    >>> round(float(null.cllr_cal.mean()), 3)  # nothing is wrong, and yet
    0.034
    """
    seed = seed_of(rng)
    for name, value in (("n_target", n_target), ("n_nontarget", n_nontarget), ("replicates", replicates)):
        whole_number(value, 1, name)
    if folds < 2 or min(n_target, n_nontarget) < folds:
        raise InputError(f"folds must be at least 2 and no more than the trials of a class, got {folds!r}")
    cells = model if isinstance(model, CalibratedCells) else CalibratedCells.from_pair(model)
    sets = draw_sets(cells, (int(n_target), int(n_nontarget)), replicates, seed)
    return null_of_sets(cells.llr, sets, seed, folds if cross_validate else 0)


Sets = list[tuple[FloatArray, FloatArray]]
"""Targets and non-targets by cell, for each set."""


def draw_sets(cells: CalibratedCells, sizes: tuple[int, int], replicates: int, seed: int) -> Sets:
    """Sets of independent calibrated trials."""
    rng = np.random.default_rng(seed)
    return [cells.draw(sizes, rng) for _ in range(replicates)]


def null_of_sets(llr: FloatArray, sets: Sets, seed: int = 0, folds: int = 0) -> CalibrationNull:
    """The losses of sets that were drawn; without ``folds`` there is no cross-validation."""
    rng = np.random.default_rng([seed, 1])
    rows = []
    for target, nontarget in tracked(sets, "null distributions", len(sets), "sets"):
        loss, dev_pav, eer = losses_of_counts(llr, target, nontarget)
        crossed = cross_validated_loss(llr, target, nontarget, rng, folds=folds) if folds else math.nan
        rows.append((loss, dev_pav, crossed, eer))
    return CalibrationNull(*np.array(rows).T)


def losses_of_counts(
    llr: FloatArray, target: FloatArray, nontarget: FloatArray
) -> tuple[float, float, float]:
    """Cllr - min Cllr, devPAV and the EER of trials counted in cells."""
    filled = (target > 0.0) | (nontarget > 0.0)
    llr, target, nontarget = llr[filled], target[filled], nontarget[filled]
    blocks = pav_blocks(ScoreBins(target, nontarget, llr, llr))
    loss = cllr_of_counts(llr, target, nontarget) - min_cllr_from_blocks(blocks)
    return loss, dev_pav_from_blocks(blocks), eer_from_blocks(blocks)
