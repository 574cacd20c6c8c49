"""The LLR of the LLR as a curve, estimated in several ways, and where it stays if all is well."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._progress import tracked
from llrkit.calibrate.affine.logistic import fit_logistic
from llrkit.calibrate.densities.kde import fit_kde
from llrkit.calibrate.densities.two_gaussians import fit_gaussian
from llrkit.core.density_grid import DensityGrid
from llrkit.core.hull import PavBlocks, pav_blocks
from llrkit.core.trial_counts import count_trials
from llrkit.errors import InputError, LlrkitWarning
from llrkit.metrics.curve import Curve
from llrkit.scores import ScoreSource
from llrkit.trust.calibration.line_fit import SAFEGUARD
from llrkit.trust.calibration.null_distribution import CalibratedCells

POINTS = 101
MOST_SETS = 100
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


Estimator = Callable[[ScoreSource, FloatArray], FloatArray]


def _logistic(source: ScoreSource, at: FloatArray) -> FloatArray:
    return np.asarray(fit_logistic(source, regularization=SAFEGUARD)(at))


def _pav(source: ScoreSource, at: FloatArray) -> FloatArray:
    return pav_at(pav_blocks(count_trials(source).bins()), at)


def _gaussian(source: ScoreSource, at: FloatArray) -> FloatArray:
    return np.asarray(fit_gaussian(source)(at))


def _kde(source: ScoreSource, at: FloatArray) -> FloatArray:
    return np.asarray(fit_kde(source)(at))


ESTIMATORS: dict[str, Estimator] = {"logistic": _logistic, "pav": _pav, "gaussian": _gaussian, "kde": _kde}


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


def overlap(grid: DensityGrid) -> tuple[float, float] | None:
    """The LLRs between the lowest 0.5 % of the targets and the highest 0.5 % of the non-targets."""
    below = [np.cumsum(cells.count) / cells.count.sum() for cells in (grid.target, grid.nontarget)]
    low = grid.centers[int(np.searchsorted(below[0], _TAIL))]
    high = grid.centers[min(int(np.searchsorted(below[1], 1.0 - _TAIL)), grid.cells - 1)]
    return (float(low), float(high)) if low < high else None


def llr_curves(
    source: ScoreSource,
    grid: DensityGrid,
    cells: CalibratedCells,
    sizes: tuple[int, int],
    *,
    replicates: int,
    seed: int,
) -> tuple[LlrCurve, ...]:
    """All curves where the classes overlap, with bands from calibrated trials of the same distribution."""
    ends = overlap(grid)
    if ends is None or replicates < 20:
        return ()
    at = np.linspace(*ends, POINTS)
    rng = np.random.default_rng([seed, 1])
    drawn = [cells.draw(*sizes, rng) for _ in range(min(replicates, MOST_SETS))]
    curves = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LlrkitWarning)
        for name, estimator in ESTIMATORS.items():
            try:
                estimate = estimator(source, at)
                sets = tracked(drawn, f"curve by {name}", len(drawn), "sets")
                null_curves = [_estimate_or_none(estimator, one, at) for one in sets]
            except InputError:  # this estimator cannot cope with these trials
                continue
            ordered = np.sort([curve for curve in null_curves if curve is not None], axis=0)
            low, high = int(0.025 * len(ordered)), int(np.ceil(0.975 * len(ordered))) - 1
            curves.append(LlrCurve(name, at, estimate, ordered[low], ordered[high]))
    return tuple(curves)


def _estimate_or_none(estimator: Estimator, source: ScoreSource, at: FloatArray) -> FloatArray | None:
    try:
        return estimator(source, at)
    except InputError:
        return None
