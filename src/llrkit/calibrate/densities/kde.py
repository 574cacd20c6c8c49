"""Kernel density estimates of both classes, and their log-ratio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.signal import fftconvolve
from scipy.special import ndtr

from llrkit._arrays import FloatArray
from llrkit.calibrate.densities.weighted_points import WeightedPoints, require_spread, spread_of
from llrkit.calibrate.fitting import fits_map
from llrkit.calibrate.knots import MAX_KNOTS, KnotMap, thin
from llrkit.calibrate.option_checks import yes_or_no
from llrkit.calibrate.training_checks import provenance, training_moments
from llrkit.core.density_grid import CellSums, DensityGrid
from llrkit.core.moments import ClassMoments, Moments
from llrkit.errors import InputError, SeparationError
from llrkit.scores import ScoreSource

_SMALLEST_IN_CELLS = 2.0  # a narrower kernel would see the cells


@fits_map
def fit_kde(source: ScoreSource, *, bandwidth: str | float = "silverman", monotone: bool = True) -> KnotMap:
    """Calibration with Gaussian kernel density estimates of both classes.

    ``llr = log f_e(s) - log f_d(s)``, ``f_c(s) = mean_i N(s | s_i, h_c)``, computed on the density grid by
    fast convolution and saved as at most 4,096 knots. Two passes.

    Parameters
    ----------
    bandwidth
        Standard deviation of the kernel, in units of the score; or ``"silverman"``:
        ``0.9 min(sd, IQR/1.349) N^(-1/5)`` for each class. Never below two cells of the grid, which are
        1/8192 of the range of the scores.
    monotone
        Replace the log-ratio by its isotonic regression, weighted by the density of the scores (classes
        weighted equally).

    A kernel estimate says nothing where there are no trials. The LLR is held constant outside the scores
    at which *both* estimates have at least one trial's share (``1 / (N_c + 1)``) of their mass on either
    side; and in a gap no density counts as less than one trial spread over the whole range.

    The map's ``details`` hold the bandwidths, that range, the largest change ``monotone`` made, and the
    largest error in LLR that thinning to 4,096 knots made.

    References
    ----------
    Silverman, "Density estimation for statistics and data analysis" (1986), eq. 3.31.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.calibrate.densities.kde import fit_kde
    >>> rng = np.random.default_rng(1)
    >>> scores = lk.Scores(rng.normal(1.0, np.sqrt(2.0), 50_000), rng.normal(-1.0, np.sqrt(2.0), 50_000))
    >>> np.abs(fit_kde(scores)([-1.0, 0.0, 1.0]) - [-1.0, 0.0, 1.0]).max() < 0.1
    np.True_
    """
    if isinstance(bandwidth, str):
        if bandwidth != "silverman":
            raise InputError(f"bandwidth must be 'silverman' or a number above 0, got {bandwidth!r}")
    elif not (isinstance(bandwidth, (int, float)) and 0.0 < bandwidth < np.inf):
        raise InputError(f"bandwidth must be 'silverman' or a number above 0, got {bandwidth!r}")
    monotone = yes_or_no(monotone, "monotone")
    moments = training_moments(source, at_least=2)
    require_spread(moments)
    low, high = moments.extremes
    return kde_from_grid(source.reduce(DensityGrid.at(low, high)), moments, bandwidth, monotone)


@dataclass(frozen=True, eq=False)
class _KernelEstimate:
    """A kernel estimate at the cell centers: density per cell, and distribution function."""

    density: FloatArray
    cdf: FloatArray
    n: float
    bandwidth: float

    @classmethod
    def of(
        cls, cells: CellSums, class_moments: ClassMoments, grid: DensityGrid, bandwidth: str | float
    ) -> _KernelEstimate:
        """Deposit every cell on three centers with its count, mean and variance, then convolve."""
        width = grid.high / grid.cells - grid.low / grid.cells
        n = float(class_moments.n)
        wide = _silverman(cells, class_moments, grid) if isinstance(bandwidth, str) else float(bandwidth)
        h = max(wide / width, _SMALLEST_IN_CELLS)
        deposit = np.zeros(grid.cells + 2)
        deposit[:-2] += 0.5 * (cells.second - cells.first)
        deposit[1:-1] += cells.count - cells.second
        deposit[2:] += 0.5 * (cells.second + cells.first)
        offset = np.arange(-grid.cells - 1, grid.cells + 2) / h
        kernel = np.exp(-0.5 * offset**2) / (np.sqrt(2.0 * np.pi) * h)
        density = fftconvolve(deposit, kernel, mode="same")[1:-1] / n
        below = float((deposit * ndtr((-0.5 - (np.arange(grid.cells + 2) - 1.0)) / h)).sum()) / n
        density = np.maximum(density, 0.0)
        cdf = below + np.cumsum(density) - 0.5 * density
        return cls(density, cdf, n, h * width)


def kde_from_grid(grid: DensityGrid, moments: Moments, bandwidth: str | float, monotone: bool) -> KnotMap:
    """The fit, from the counts on the density grid."""
    e = _KernelEstimate.of(grid.target, moments.target, grid, bandwidth)
    d = _KernelEstimate.of(grid.nontarget, moments.nontarget, grid, bandwidth)
    inside = np.ones(grid.cells, dtype=bool)
    for estimate in (e, d):
        share = 1.0 / (estimate.n + 1.0)
        inside &= (estimate.cdf >= share) & (estimate.cdf <= 1.0 - share)
    where = np.flatnonzero(inside)
    if len(where) < 2:
        raise SeparationError("the kernel estimates of the two classes do not overlap; use a wider bandwidth")
    where = np.arange(where[0], where[-1] + 1)
    logs = [
        np.log(np.maximum(estimate.density[where], 1.0 / (estimate.n + 1.0) / grid.cells))
        for estimate in (e, d)
    ]
    llr = logs[0] - logs[1]
    change = 0.0
    if monotone:
        weights = e.density[where] + d.density[where] + 1e-12
        up = bool(moments.target.mean[0] >= moments.nontarget.mean[0])
        level = isotonic_regression(llr, weights=weights, increasing=up).x
        change = float(np.abs(level - llr).max())
        llr = level
    score, llr_at, error = thin(grid.centers[where], llr, MAX_KNOTS)
    details: dict[str, Any] = {
        "bandwidth_target": e.bandwidth,
        "bandwidth_nontarget": d.bandwidth,
        "low": float(score[0]),
        "high": float(score[-1]),
        "isotonic_change": change,
        "thinning_error": error,
    }
    return KnotMap(
        score=score, llr_at=llr_at, method="kde", options={"bandwidth": bandwidth, "monotone": monotone},
        details=details, provenance=provenance(moments),
    )  # fmt: skip


def _silverman(cells: CellSums, class_moments: ClassMoments, grid: DensityGrid) -> float:
    nodes, (_, sd) = WeightedPoints.of(cells, grid.low, grid.high), spread_of(class_moments)
    iqr = nodes.quantile(0.75) - nodes.quantile(0.25)
    return 0.9 * (min(sd, iqr / 1.349) if iqr > 0.0 else sd) * float(class_moments.n**-0.2)
