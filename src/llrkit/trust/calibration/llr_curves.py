"""The LLR of the LLR as a curve, estimated in several ways, and where it stays if all is well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._progress import tracked
from llrkit.core.pav_and_hull import PavBlocks, pav_blocks
from llrkit.core.score_bins import ScoreBins
from llrkit.metrics.curve_base import Curve
from llrkit.trust.calibration.calibrated_cells import JudgedCells
from llrkit.trust.calibration.null_distribution import Sets
from llrkit.trust.calibration.recalibration_line import fit_line

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
        if id(x) not in kernels:
            distances = at[:, None] - x
            kernels[id(x)] = [np.exp(-0.5 * (distances / width) ** 2) / width for width in widths]
        logs = [
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
    """``0.9 min(sd, IQR / 1.349) N^(-1/5)``, the bandwidth of :func:`llrkit.fit_kde` too."""
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
        low, high = int(0.025 * len(ordered)), int(np.ceil(0.975 * len(ordered))) - 1
        curves.append(LlrCurve(name, at, estimate, ordered[low], ordered[high]))
    return tuple(curves)
