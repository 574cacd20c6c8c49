"""What a perfectly calibrated system shows by chance: the null distribution of calibration losses.

The PAV map is fitted to the trials it is judged on, so Cllr - min Cllr and devPAV are above zero also when
nothing is wrong. How far, depends on the numbers of trials and on how well the classes are separated; it is
found by drawing trials from a calibrated pair of distributions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from llrkit._arrays import FloatArray
from llrkit._progress import tracked
from llrkit.core.density_grid import DensityGrid
from llrkit.core.hull import PavBlocks, pav_blocks
from llrkit.core.loss_sums import LossSums
from llrkit.core.special import LN2, sigmoid, softplus
from llrkit.core.summary import ReadOnlyArrays
from llrkit.core.trial_counts import count_trials
from llrkit.errors import InputError
from llrkit.metrics.discrimination import eer_from_blocks, min_cllr_from_blocks
from llrkit.metrics.llr_costs import cross_entropy_from_losses
from llrkit.scores import Scores
from llrkit.theory.calibrated_pair import CalibratedPair
from llrkit.trust.calibration.devpav import dev_pav_from_blocks
from llrkit.trust.calibration.line_fit import cross_validated_cllr

CELLS = 1 << 13
_REACH = 9.0
"""Standard deviations around the means within which a pair of distributions is cut into cells."""

MOST_DRAWN = 50_000
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
    at = min(int(np.searchsorted(blocks.llr, 0.0)), len(blocks.llr) - 1)
    center = float(blocks.low[at])
    return max(extremes[0], center - _CERTAIN), min(extremes[1], center + _CERTAIN)


@dataclass(frozen=True, eq=False)
class CalibratedCells(ReadOnlyArrays):
    """Two distributions on cells of LLRs whose log-ratio is the LLR of each cell: calibrated exactly."""

    llr: FloatArray
    target: FloatArray
    nontarget: FloatArray
    width: float

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
        masses = [np.diff(np.asarray(one.cdf(edges))) for one in (pair.target, pair.nontarget)]
        centers, pooled = (edges[1:] + edges[:-1]) / 2.0, (masses[0] + masses[1]) / 2.0
        return cls._calibrated(centers, pooled, (high - low) / CELLS)

    @classmethod
    def relabeled(cls, grid: DensityGrid) -> CalibratedCells:
        """The scores of a set, read as LLRs and with labels drawn anew by what the LLRs say."""
        target, nontarget = grid.target.count, grid.nontarget.count
        pooled = 0.5 * (target / target.sum() + nontarget / nontarget.sum())
        occupied = pooled > 0.0
        return cls._calibrated(grid.centers[occupied], pooled[occupied], float(grid.edges[1] - grid.edges[0]))

    @classmethod
    def _calibrated(cls, llr: FloatArray, pooled: FloatArray, width: float) -> CalibratedCells:
        """Share every cell between the classes by its LLR, shifted so that both classes get one half."""
        half = 0.5 * float(pooled.sum())

        def excess(shift: float) -> float:
            return float((pooled * np.asarray(sigmoid(llr + shift))).sum()) - half

        shift = float(brentq(excess, -float(llr.max()) - 1.0, 1.0 - float(llr.min()), xtol=1e-13))
        share = np.asarray(sigmoid(llr + shift))
        target, nontarget = pooled * share, pooled * (1.0 - share)
        return cls(llr + shift, target / target.sum(), nontarget / nontarget.sum(), width)

    @property
    def cllr(self) -> float:
        """Cllr of the two distributions, in bits."""
        return cllr_of_counts(self.llr, self.target, self.nontarget)

    def draw(self, n_target: int, n_nontarget: int, rng: np.random.Generator) -> Scores:
        """Trials drawn from the two distributions, anywhere within their cells."""
        target = _draw_llrs(self, self.target, n_target, rng)
        return Scores.part(target, _draw_llrs(self, self.nontarget, n_nontarget, rng))


def _draw_llrs(cells: CalibratedCells, masses: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    levels = np.cumsum(masses)
    place = np.searchsorted(levels, rng.random(n) * levels[-1], side="right")
    # ties would be pooled, and what is pooled cannot be fitted too well
    llr: FloatArray = cells.llr[np.minimum(place, len(masses) - 1)]
    return llr + cells.width * (rng.random(n) - 0.5)


def cllr_of_counts(llr: FloatArray, target: FloatArray, nontarget: FloatArray) -> float:
    """Cllr in bits of weighted LLRs."""
    t = float((target * softplus(-llr)).sum() / target.sum())
    n = float((nontarget * softplus(llr)).sum() / nontarget.sum())
    return (t + n) / (2.0 * LN2)


@dataclass(frozen=True, eq=False)
class CalibrationNull(ReadOnlyArrays):
    """What perfectly calibrated LLRs show in each of many sets of trials.

    Examples
    --------
    >>> null = CalibrationNull(*(np.arange(99.0),) * 4)
    >>> null.p_value("cllr_cal", 95.0)
    0.05
    """

    cllr_cal: FloatArray
    dev_pav: FloatArray
    cv_loss: FloatArray
    eer: FloatArray

    def known(self, name: str) -> FloatArray:
        """The values of those sets that have one: devPAV does not exist where the classes do not overlap."""
        drawn: FloatArray = getattr(self, name)
        return drawn[np.isfinite(drawn)]

    def p_value(self, name: str, observed: float) -> float:
        """Share of sets, the observed one included, that show at least as large a value."""
        drawn = self.known(name)
        return float((np.count_nonzero(drawn >= observed) + 1) / (len(drawn) + 1))

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Mean, standard deviation and 95th percentile of each."""
        plain = {}
        for name in ("cllr_cal", "dev_pav", "cv_loss", "eer"):
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
    seed: int = 0,
    folds: int = 5,
    cross_validate: bool = True,
) -> CalibrationNull:
    """Draw sets of calibrated trials and see what calibration losses they show.

    Parameters
    ----------
    model
        A calibrated pair of distributions, such as ``lk.theory.GaussianLLR.from_eer(0.05)``.
    cross_validate
        Whether ``cv_loss`` is wanted, which takes most of the time; nan otherwise.

    No more than 50,000 trials of a class are drawn: fewer than asked for show more, never less.

    The result has, for each set, Cllr - min Cllr (``cllr_cal``), ``dev_pav`` in log10, the cross-validated
    loss ``cv_loss`` in bits and the ROCCH-EER (``eer``).

    Examples
    --------
    >>> import llrkit as lk
    >>> null = lk.calibration_null(lk.theory.GaussianLLR.from_eer(0.05), 100, 1000, replicates=300)
    >>> round(float(null.cllr_cal.mean()), 3)  # nothing is wrong, and yet
    0.034
    """
    for name, value in (("n_target", n_target), ("n_nontarget", n_nontarget), ("replicates", replicates)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise InputError(f"{name} must be a whole number of at least 1, got {value!r}")
    if folds < 2 or min(n_target, n_nontarget) < folds:
        raise InputError(f"folds must be at least 2 and no more than the trials of a class, got {folds!r}")
    cells = model if isinstance(model, CalibratedCells) else CalibratedCells.from_pair(model)
    rng = np.random.default_rng(seed)
    sizes = min(int(n_target), MOST_DRAWN), min(int(n_nontarget), MOST_DRAWN)
    used = folds if cross_validate else 0
    sets = tracked(range(replicates), "null distributions", replicates, "sets")
    rows = np.array([_losses_of_set(cells.draw(*sizes, rng), used) for _ in sets])
    return CalibrationNull(*rows.T)


def _losses_of_set(drawn: Scores, folds: int) -> tuple[float, float, float, float]:
    cllr = float(cross_entropy_from_losses(LossSums.of(drawn))[0]) / LN2
    blocks = pav_blocks(count_trials(drawn).bins())
    loss = cllr - min_cllr_from_blocks(blocks)
    crossed = cross_validated_cllr(drawn.target, drawn.nontarget, folds) if folds else math.nan
    return loss, dev_pav_from_blocks(blocks), cllr - crossed, eer_from_blocks(blocks)
