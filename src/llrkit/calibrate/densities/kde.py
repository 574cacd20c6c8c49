"""Kernel density estimates of both classes, and their log-ratio."""

from __future__ import annotations

import math

import numpy as np

from llrkit._arguments import yes_or_no
from llrkit._arrays import FloatArray
from llrkit._plain import Json
from llrkit.calibrate.affine.saturating_function import saturate
from llrkit.calibrate.densities.training_points import WeightedPoints, require_spread, spread_of
from llrkit.calibrate.fit_decorator import fits_map
from llrkit.calibrate.knot_map import CLOSE, MAX_KNOTS, KnotMap, thin_knots
from llrkit.calibrate.training_checks import provenance, training_moments
from llrkit.core.density_grid import CellSums, DensityGrid
from llrkit.core.moments import ClassMoments, Moments
from llrkit.core.pav_pooling import pooled_starts
from llrkit.errors import InputError
from llrkit.scores import ScoreSource

_SMALLEST_IN_CELLS = 2.0  # a narrower kernel would see the cells
_REACH = 8.5  # a kernel ends here: exp(-36) of its height is nothing beside one trial
_NOISE = 1e-13  # what rounding leaves of the fast convolution, in trials
_NOTHING = 1e-18  # of a class in a cell where no trial is near; less than 1e9 trials would show


@fits_map
def fit_kde(source: ScoreSource, *, bandwidth: str | float = "silverman", monotone: bool = True) -> KnotMap:
    """Calibration with Gaussian kernel density estimates of both classes.

    ``llr = log f_e(s) - log f_d(s)``, ``f_c(s) = mean_i N(s | s_i, h)``, computed on the density grid by
    fast convolution and saved as at most 4,096 knots, 1e-4 nats close. Two passes.

    The classes share the bandwidth, so ties and hard edges, which the kernel smears alike in both, cancel in
    the ratio. A kernel estimate says nothing where there are no trials. As if one trial more of each class
    were distributed as the other class is, the density of a class is
    ``(N_c f_c + f_other) / (N_c + 1)``: the LLR goes to about ``log(N_d + 1)`` where only targets
    are, to about ``-log(N_e + 1)`` where only non-targets are, and is constant beyond the training scores.
    The map's ``details`` hold the bandwidth, the largest change ``monotone`` made, and the largest error in
    LLR of the knots.

    Parameters
    ----------
    bandwidth
        Standard deviation of the kernel, in units of the score; or ``"silverman"``: the geometric mean of
        ``0.9 min(sd, IQR/1.349) N^(-1/5)`` of the classes. Never below two cells of the grid, which are
        1/8192 of the range of the scores.
    monotone
        Pool both estimates where their ratio would turn back, as PAV pools trials: the LLR of a pooled
        stretch is the log-ratio of the masses of the two classes in it.

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


def kde_from_grid(grid: DensityGrid, moments: Moments, bandwidth: str | float, monotone: bool) -> KnotMap:
    """The fit, from the counts on the density grid."""
    classes = ((grid.target, moments.target), (grid.nontarget, moments.nontarget))
    width = grid.high / grid.cells - grid.low / grid.cells
    wide = (
        math.sqrt(math.prod(_silverman_width(cells, of_class, grid) for cells, of_class in classes))
        if isinstance(bandwidth, str)
        else float(bandwidth)
    )
    h = max(wide / width, _SMALLEST_IN_CELLS)
    target, nontarget = (_kernel_density(cells, float(of_class.n), h) for cells, of_class in classes)
    ratio = np.log(target + _NOTHING) - np.log(nontarget + _NOTHING)
    change = 0.0
    if monotone:
        up = bool(moments.target.mean[0] >= moments.nontarget.mean[0])
        level = _pooled_log_ratio(target, nontarget, up)
        # rounding must not leave a step the wrong way: the map would have no inverse
        level = np.maximum.accumulate(level) if up else np.minimum.accumulate(level)
        change = float(np.abs(_one_misleading(level, moments) - _one_misleading(ratio, moments)).max())
        ratio = level
    score, llr_at, error = thin_knots(grid.centers, _one_misleading(ratio, moments), MAX_KNOTS, enough=CLOSE)
    details: dict[str, Json] = {
        "bandwidth": h * width,
        "isotonic_change": change,
        "thinning_error": error,
    }
    return KnotMap(
        score=score, llr_at=llr_at, method="kde", options={"bandwidth": bandwidth, "monotone": monotone},
        details=details, provenance=provenance(moments),
    )  # fmt: skip


def _kernel_density(cells: CellSums, n: float, h: float) -> FloatArray:
    """A kernel estimate per cell; a cell is put on three centers, with its count, mean and variance."""
    size = len(cells.count)
    deposit = np.zeros(size + 2)
    deposit[:-2] += 0.5 * (cells.second - cells.first)
    deposit[1:-1] += cells.count - cells.second
    deposit[2:] += 0.5 * (cells.second + cells.first)
    reach = min(size + 1, int(np.ceil(_REACH * h)))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / h) ** 2) / (np.sqrt(2.0 * np.pi) * h)
    density = _convolved_kernels(deposit, kernel)[reach + 1 : reach + 1 + size] / n
    return np.asarray(np.where(density > _NOISE / n, density, 0.0))


def _convolved_kernels(values: FloatArray, kernel: FloatArray) -> FloatArray:
    """The convolution, by Fourier transforms of pieces that overlap.

    Rounding reaches as far as a piece; the tails do not see that of the bulk.
    """
    length = 1 << (4 * len(kernel) - 1).bit_length()
    step = length - len(kernel) + 1
    pieces = np.zeros((-(-len(values) // step) + 1, step))
    pieces.ravel()[: len(values)] = values
    mixed = np.fft.irfft(np.fft.rfft(pieces, length) * np.fft.rfft(kernel, length), length)
    out = mixed[:, :step]
    out[1:, : len(kernel) - 1] += mixed[:-1, step:]
    return out.ravel()


def _pooled_log_ratio(target: FloatArray, nontarget: FloatArray, up: bool) -> FloatArray:
    """The log-ratio of the masses of both classes, pooled where the ratio goes the wrong way."""
    target, nontarget = target + 0.5 * _NOTHING, nontarget + 0.5 * _NOTHING
    starts = pooled_starts(target, nontarget) if up else pooled_starts(nontarget, target)
    level_target, level_nontarget = (np.log(np.add.reduceat(mass, starts)) for mass in (target, nontarget))
    lengths = np.diff(np.append(starts, len(target)))
    return np.asarray(np.repeat(level_target - level_nontarget, lengths))


def _one_misleading(ratio: FloatArray, moments: Moments) -> FloatArray:
    """The LLR if one trial more of each class were distributed as the other class is."""
    return saturate(ratio, -float(np.log(moments.target.n)), -float(np.log(moments.nontarget.n)))


def _silverman_width(cells: CellSums, class_moments: ClassMoments, grid: DensityGrid) -> float:
    nodes, (_, sd) = WeightedPoints.of(cells, grid.low, grid.high), spread_of(class_moments)
    iqr = nodes.quantile(0.75) - nodes.quantile(0.25)
    return 0.9 * (min(sd, iqr / 1.349) if iqr > 0.0 else sd) * float(class_moments.n**-0.2)
