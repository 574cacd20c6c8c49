"""What calibrated LLRs show by chance: null distributions of calibration losses, and bands of LLR curves.

The PAV map is fitted to the trials it is judged on, so Cllr - min Cllr and devPAV are above zero also when
nothing is wrong. How far depends on the numbers of trials and on how well the classes are separated; it is
found by drawing sets of trials from a calibrated pair of distributions. A set is drawn as counts in cells, so
that large sets cost no more than small ones.

With speakers it takes three steps. The scores of each class are moved, in their order, to where a calibrated
system with the same scores would have them: the set is then calibrated as exactly as so many trials can be,
and every speaker is still as far above or below the others as before. Then speakers count more or less at
random, each trial with those of both of its sides. Last, as the spread between few speakers is itself
uncertain, all weights of a set are stretched by the same factor, as Student's t does with a normal variable.

devPAV gives the few trials at both ends as much weight as all others, and speakers who are not there would
have other ends: there the weights are stretched by a quarter more (``WIDER``, chosen by benchmarks/sizes.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from llrkit.base.arguments import RNG, FloatArray, IntArray, seed_of, whole_number, yes_or_no
from llrkit.base.process import tracked
from llrkit.core.counting import count_blocks
from llrkit.core.numerics import LN2, bracketed_root, sigmoid, softplus
from llrkit.core.pav import PavBlocks, ScoreBins, pav_blocks
from llrkit.core.summaries import ReadOnlyArrays
from llrkit.errors import InputError
from llrkit.metrics.discrimination import Curve, eer_from_blocks, min_cllr_from_blocks
from llrkit.results.result import Result
from llrkit.results.vocabulary import LN10
from llrkit.scores.derived import AnyTrials, Labels, as_source
from llrkit.trust.recalibration_line import FOLDS, cross_validated_loss, fit_line
from llrkit.trust.speakers import SpeakerCells

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from llrkit.theory.calibrated_pairs import CalibratedPair


CELLS = 1 << 15
"""Cells of a pair of distributions that is given: fine enough for trials not to tie."""
JUDGED_CELLS = 1 << 11
"""Cells of a set of trials: fine beside what its best map can be told from others."""
_REACH = 9.0
"""Standard deviations around the means within which a pair of distributions is cut into cells."""
_CERTAIN = 60.0
"""A calibrated LLR this far from the threshold is never wrong, however many trials there are."""


def judged_range(extremes: tuple[float, float], blocks: PavBlocks) -> tuple[float, float]:
    """Where LLRs are looked at closely: between their extremes, and no further than 60 nats from the
    threshold where both classes are as likely. LLRs such as 1e10, which stand for certainty, are beyond.

    Examples
    --------
    >>> blocks = PavBlocks(np.array([1, 3]), np.array([3, 1]), *np.array([[-1e10, 4.0], [2.0, 1e10]]))
    >>> judged_range((-1e10, 1e10), blocks)
    (-56.0, 64.0)
    """
    # where the PAV LLR passes 0: the threshold for equal priors, wherever the scores have it
    at = min(int(np.searchsorted(blocks.llr, 0.0)), len(blocks.llr) - 1)
    center = float(blocks.low[at])
    return max(extremes[0], center - _CERTAIN), min(extremes[1], center + _CERTAIN)


@dataclass(frozen=True, eq=False)
class JudgedCells(ReadOnlyArrays):
    """A set of trials counted in even cells: what a null distribution is compared with."""

    llr: FloatArray
    """The middle of each cell."""
    target: FloatArray
    nontarget: FloatArray

    @property
    def size(self) -> tuple[int, int]:
        """Numbers of targets and of non-targets."""
        return round(float(self.target.sum())), round(float(self.nontarget.sum()))


@dataclass(frozen=True, eq=False)
class CalibratedCells(JudgedCells):
    """Two distributions on cells of LLRs whose log-ratio is the LLR of each cell: calibrated exactly."""

    @classmethod
    def from_pair(cls, pair: CalibratedPair) -> CalibratedCells:
        """A calibrated pair cut into cells.

        Examples
        --------
        >>> from llrkit.theory import GaussianLLR
        >>> cells = CalibratedCells.from_pair(GaussianLLR.from_eer(0.05))
        >>> round(float(cells.target.sum()), 9), round(cells.cllr, 4)
        (1.0, 0.1836)
        """
        low = pair.nontarget.mean() - _REACH * pair.nontarget.std()
        high = pair.target.mean() + _REACH * pair.target.std()
        edges = np.linspace(low, high, CELLS + 1)
        # masses from the distribution functions, so that nothing is lost between cells
        masses = [np.diff(np.asarray(one.cdf(edges))) for one in (pair.target, pair.nontarget)]
        return cls._calibrated((edges[1:] + edges[:-1]) / 2.0, (masses[0] + masses[1]) / 2.0)

    @classmethod
    def relabeled(cls, cells: JudgedCells) -> CalibratedCells:
        """The scores of a set, read as LLRs and with labels drawn anew by what the LLRs say.

        Every score is spread half-way to its neighbors: scores drawn from a few values would tie, and what
        ties cannot be fitted too well.
        """
        # classes weigh one half each, whatever their sizes: calibration does not depend on the proportion
        pooled = 0.5 * (cells.target / cells.target.sum() + cells.nontarget / cells.nontarget.sum())
        at = np.flatnonzero(pooled)
        # each occupied cell reaches halfway to its neighbors
        borders = np.concatenate([[at[0]], 0.5 * (at[1:] + at[:-1] + 1), [at[-1] + 1]])
        below = np.concatenate([[0.0], np.cumsum(pooled[at])])
        spread = np.diff(np.interp(np.arange(len(pooled) + 1), borders, below))
        filled = spread > 0.0
        return cls._calibrated(cells.llr[filled], spread[filled])

    @classmethod
    def _calibrated(cls, llr: FloatArray, pooled: FloatArray) -> CalibratedCells:
        """Share every cell between the classes by its LLR, shifted so that both classes get one half."""
        half = 0.5 * float(pooled.sum())

        def excess(shift: float) -> float:
            return float((pooled * np.asarray(sigmoid(llr + shift))).sum()) - half

        # a cell has its middle as LLR, so the shares are slightly off; one shift makes both classes sum to
        # one half, and the pair exactly calibrated
        shift = bracketed_root(excess, -float(llr.max()) - 1.0, 1.0 - float(llr.min()), within=1e-13)
        share = np.asarray(sigmoid(llr + shift))
        target, nontarget = pooled * share, pooled * (1.0 - share)
        return cls(llr + shift, target / target.sum(), nontarget / nontarget.sum())

    @property
    def cllr(self) -> float:
        """Cllr of the two distributions, in bits."""
        return cllr_of_counts(self.llr, self.target, self.nontarget)

    def draw(self, sizes: tuple[int, int], rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """How many of so many targets and non-targets fall into each cell.

        Examples
        --------
        >>> cells = CalibratedCells(np.array([-1.0, 1.0]), *np.array([[0.27, 0.73], [0.73, 0.27]]))
        >>> target, nontarget = cells.draw((7, 3), np.random.default_rng(1))
        >>> target.sum(), nontarget.sum()
        (np.float64(7.0), np.float64(3.0))
        """
        return _draw_counts(self.target, sizes[0], rng), _draw_counts(self.nontarget, sizes[1], rng)


def _draw_counts(masses: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    # multinomial draws cost as much as there are cells, single ones as much as there are trials
    if n >= len(masses):
        return rng.multinomial(n, masses).astype(np.float64)
    levels = np.cumsum(masses)  # one by one is quicker for few
    place = np.searchsorted(levels, rng.random(n) * levels[-1], side="right")
    return np.bincount(np.minimum(place, len(masses) - 1), minlength=len(masses)).astype(np.float64)


def cllr_of_counts(llr: FloatArray, target: FloatArray, nontarget: FloatArray) -> float:
    """Cllr in bits of weighted LLRs."""
    t = float((target * softplus(-llr)).sum() / target.sum())
    n = float((nontarget * softplus(llr)).sum() / nontarget.sum())
    return (t + n) / (2.0 * LN2)


def dev_pav(source: AnyTrials, labels: Labels | None = None) -> float:
    """Mean distance between the PAV map of the LLRs and the identity, in log10 (Vergeer et al. 2021).

    ``1 / (x_K - x_1) ∫ |PAV(x) - x| dx`` over the LLRs whose PAV value is finite, straight lines between
    them. 0 is perfect; nan when the classes do not overlap (no PAV value is finite), inf when a finite PAV
    value belongs to an infinite LLR. A calibrated system shows more than 0 too: :func:`calibration_null`.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.

    References
    ----------
    Vergeer, van Schaik & Sjerps, Forensic Science International 321 (2021) 110722.

    Examples
    --------
    >>> import llrkit as lk
    >>> shifted = lk.Scores([1.0] * 3 + [-1.0], [1.0] + [-1.0] * 3)  # log(3) would be right
    >>> round(lk.trust.dev_pav(shifted) * LN10, 6), round(0.5 * (math.log(3) - 1.0), 6)
    (0.049306, 0.049306)
    """
    source = as_source(source, labels)
    return dev_pav_from_blocks(count_blocks(source))


def dev_pav_from_blocks(blocks: PavBlocks) -> float:
    """devPAV of pooled bins."""
    finite = np.flatnonzero(np.isfinite(blocks.llr))
    if len(finite) == 0:
        return math.nan
    x = np.column_stack([blocks.low[finite], blocks.high[finite]]).ravel()
    if not np.isfinite(x).all():
        return math.inf
    gap = np.repeat(blocks.llr[finite], 2) - x
    if x[-1] == x[0]:
        return abs(float(gap[0])) / LN10
    # the area between the PAV map and the identity: trapezoids, two triangles where they cross
    width, a, b = np.diff(x), gap[:-1], gap[1:]
    same = a * b >= 0.0
    total = np.where(same, 1.0, np.abs(a) + np.abs(b))
    # the areas of the triangles follow from similar sides
    mean = np.where(same, 0.5 * np.abs(a + b), 0.5 * (a * a + b * b) / total)
    return float((mean * width).sum()) / float(x[-1] - x[0]) / LN10


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
    # Student's t: a normal deviation divided by the root of a chi-square over its degrees of freedom
    weights *= stretch * np.sqrt(df / rng.chisquare(df, replicates))[:, None]
    drawn = []
    for total, by_speaker, wanted in zip(
        cells.total.counts, cells.counts, (calibrated.target, calibrated.nontarget), strict=True
    ):
        moved = transport(np.asarray(total, dtype=np.float64), wanted)
        # a trial of two speakers adds both of their weights;
        # together these may go below 0, where they are cut
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
    # at a share of a fifth, heavy speakers get +2 and light ones -1/2: mean 0, variance 1
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
    # rounded, so that whole trials move
    need = np.concatenate([[0.0], np.round(n * np.cumsum(wanted) / wanted.sum())])
    # rounding must not leave a trial without a place
    need[-1] = have[-1]
    steps = np.unique(np.concatenate([have, np.minimum(need, n)]))
    middle, moved = 0.5 * (steps[1:] + steps[:-1]), np.diff(steps)
    start: IntArray = np.searchsorted(have, middle, side="right") - 1
    end: IntArray = np.searchsorted(need, middle, side="right") - 1
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
        # the observed set is one of the sets under the hypothesis, so p is never 0
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
    >>> null = lk.trust.calibration_null(lk.theory.GaussianLLR.from_eer(0.05), 100, 1000, replicates=300)
    >>> round(float(null.cllr_cal.mean()), 3)  # nothing is wrong, and yet
    0.034
    """
    seed = seed_of(rng)
    yes_or_no(cross_validate, "cross_validate")
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


def null_like(
    cells: JudgedCells, by_speaker: SpeakerCells | None, df: float, replicates: int, seed: int
) -> tuple[CalibrationNull, FloatArray, Sets]:
    """What calibrated trials like these show by chance; the LLRs of the cells and the sets that were drawn.

    ``df`` are the degrees of freedom of what differs between speakers, where there are any.
    """
    calibrated = CalibratedCells.relabeled(cells)
    if by_speaker is None:
        sets = draw_sets(calibrated, cells.size, replicates, seed)
        return null_of_sets(calibrated.llr, sets, seed, FOLDS), calibrated.llr, sets
    sets = draw_speaker_sets(by_speaker, calibrated, df, replicates, seed)
    # the same draws, stretched more for devPAV alone
    wide = draw_speaker_sets(by_speaker, calibrated, df, replicates, seed, WIDER)
    null = null_of_sets(calibrated.llr, sets, seed)
    return replace(null, dev_pav=null_of_sets(calibrated.llr, wide).dev_pav), calibrated.llr, sets


def null_of_sets(llr: FloatArray, sets: Sets, seed: int = 0, folds: int = 0) -> CalibrationNull:
    """The losses of sets that were drawn; without ``folds`` there is no cross-validation."""
    # a stream of its own: the draws of the sets do not depend on how many folds there are
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


POINTS = 101
MOST_SETS = 100
FEWEST_SETS = 20
_TAIL = 0.005


@dataclass(frozen=True, eq=False)
class LlrCurve(Curve):
    """The LLR of the LLR: ``estimate`` against ``llr``, the identity if calibrated.

    A calibrated system's curve lies between ``lower`` and ``upper`` at each point in 95 % of all sets of
    as many trials. ``overestimation`` is how much stronger the given LLR is than the estimate.
    """

    method: str
    llr: FloatArray
    estimate: FloatArray
    lower: FloatArray
    upper: FloatArray

    @property
    def overestimation(self) -> FloatArray:
        """Given LLR less estimated LLR, in nats."""
        return np.asarray(self.llr - self.estimate)

    @property
    def share_outside(self) -> float:
        """Share of the points at which the curve is outside the band."""
        return float(np.mean((self.estimate < self.lower) | (self.estimate > self.upper)))


Estimator = Callable[[FloatArray, FloatArray, FloatArray, FloatArray], FloatArray]
"""From LLRs of cells, counts of both classes and points to the LLRs there."""


def _logistic_curve(x: FloatArray, target: FloatArray, nontarget: FloatArray, at: FloatArray) -> FloatArray:
    # from the middle of the cells, so that scores far from LLRs are fitted as well
    center, unit = 0.5 * (at[0] + at[-1]), 0.5 * (at[-1] - at[0])
    t, n = target / target.sum(), nontarget / nontarget.sum()
    a, b = fit_line((x - center) / unit, t, n, float(target.sum()))
    return np.asarray(a * (at - center) / unit + b)


def _pav_curve_of_llrs(
    x: FloatArray, target: FloatArray, nontarget: FloatArray, at: FloatArray
) -> FloatArray:
    filled = (target > 0.0) | (nontarget > 0.0)
    return pav_at(pav_blocks(ScoreBins(target[filled], nontarget[filled], x[filled], x[filled])), at)


def _gaussian_curve(x: FloatArray, target: FloatArray, nontarget: FloatArray, at: FloatArray) -> FloatArray:
    logs = []
    for counts in (target, nontarget):
        mean, sd = _moments_of_cells(x, counts)
        logs.append(-0.5 * ((at - mean) / sd) ** 2 - np.log(sd))
    return np.asarray(logs[0] - logs[1])


def _kde_curve_with(widths: tuple[float, float]) -> Estimator:
    """Kernel densities with given widths, so that the kernels of many sets on the same cells are the same."""
    kernels: dict[int, list[FloatArray]] = {}

    def estimate(x: FloatArray, target: FloatArray, nontarget: FloatArray, at: FloatArray) -> FloatArray:
        # by identity: the sets of one call share their array of cells, and comparing arrays costs more
        if id(x) not in kernels:
            distances = at[:, None] - x
            kernels[id(x)] = [np.exp(-0.5 * (distances / width) ** 2) / width for width in widths]
        logs = [
            # 1e-300 keeps the logarithm finite where no trial is near
            np.log(kernel @ counts / counts.sum() + 1e-300)
            for kernel, counts in zip(kernels[id(x)], (target, nontarget), strict=True)
        ]
        return np.asarray(logs[0] - logs[1])

    return estimate


def _moments_of_cells(x: FloatArray, counts: FloatArray) -> tuple[float, float]:
    n = float(counts.sum())
    mean = float((counts * x).sum()) / n
    smallest = float(x[1] - x[0]) / 12.0  # trials of one cell are not told apart
    return mean, float(np.sqrt((counts * (x - mean) ** 2).sum() / n)) + smallest


def _silverman_width_of_cells(x: FloatArray, counts: FloatArray) -> float:
    """``0.9 min(sd, IQR / 1.349) N^(-1/5)``, the bandwidth of :func:`llrkit.fits.fit_kde` too."""
    n = float(counts.sum())
    low, high = np.interp([0.25, 0.75], (np.cumsum(counts) - 0.5 * counts) / n, x)
    sd = _moments_of_cells(x, counts)[1]
    width = 0.9 * (min(sd, float(high - low) / 1.349) or sd) * n**-0.2
    return float(max(width, 2.0 * float(x[1] - x[0])))


def pav_at(blocks: PavBlocks, at: FloatArray) -> FloatArray:
    """PAV LLRs at some scores; half-way between two blocks the higher one begins.

    Examples
    --------
    >>> blocks = PavBlocks(np.array([1, 3]), np.array([3, 1]), *np.array([[0.0, 4.0], [2.0, 6.0]]))
    >>> pav_at(blocks, np.array([0.0, 2.9, 3.1])).round(4)
    array([-1.0986, -1.0986,  1.0986])
    """
    borders = 0.5 * (blocks.high[:-1] + blocks.low[1:])
    return np.asarray(blocks.llr[np.searchsorted(borders, at)])


def overlap_of_classes(cells: JudgedCells) -> tuple[float, float] | None:
    """The LLRs between the lowest 0.5 % of the targets and the highest 0.5 % of the non-targets."""
    below = [np.cumsum(counts) / counts.sum() for counts in (cells.target, cells.nontarget)]
    llr = cells.llr
    low = llr[int(np.searchsorted(below[0], _TAIL))]
    high = llr[min(int(np.searchsorted(below[1], 1.0 - _TAIL)), len(llr) - 1)]
    return (float(low), float(high)) if low < high else None


def llr_curves(cells: JudgedCells, null_llr: FloatArray, sets: Sets) -> tuple[LlrCurve, ...]:
    """All curves where the classes overlap, with bands from calibrated sets on the cells ``null_llr``."""
    ends = overlap_of_classes(cells)
    if ends is None or len(sets) < FEWEST_SETS:
        return ()
    at = np.linspace(*ends, POINTS)
    drawn, llr, curves = sets[:MOST_SETS], cells.llr, []
    widths = _silverman_width_of_cells(llr, cells.target), _silverman_width_of_cells(llr, cells.nontarget)
    estimators: dict[str, Estimator] = {
        "logistic": _logistic_curve, "pav": _pav_curve_of_llrs, "gaussian": _gaussian_curve,
        "kde": _kde_curve_with(widths)
    }  # fmt: skip
    for name, estimator in estimators.items():
        estimate = estimator(llr, cells.target, cells.nontarget, at)
        counted = tracked(drawn, f"curve by {name}", len(drawn), "sets")
        ordered = np.sort([estimator(null_llr, *counts, at) for counts in counted], axis=0)
        # the band holds at least 95 % of the sets
        low, high = int(0.025 * len(ordered)), int(np.ceil(0.975 * len(ordered))) - 1
        curves.append(LlrCurve(name, at, estimate, ordered[low], ordered[high]))
    return tuple(curves)
