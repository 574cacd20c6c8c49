"""Maps by densities of both classes: kernels, Gaussians, Student's t."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from llrkit.base.arguments import FloatArray, yes_or_no
from llrkit.base.text import Json
from llrkit.core.histograms import CellSums, DensityGrid
from llrkit.core.pav import pooled_starts
from llrkit.core.summaries import ClassMoments, Moments
from llrkit.errors import InputError
from llrkit.fits.ratio import DensityRatioMap, RatioMap, fit_ratio, maximize
from llrkit.fits.saturating import saturate
from llrkit.fits.training_checks import (
    WeightedPoints,
    provenance,
    spread_of,
    training_moments,
    training_points,
)
from llrkit.maps.knots import CLOSE, MAX_KNOTS, KnotMap, thin_knots
from llrkit.maps.map import reading_of
from llrkit.scores.derived import AnyTrials, Labels, as_source

_SMALLEST_IN_CELLS = 2.0  # a narrower kernel would see the cells
_REACH = 8.5  # a kernel ends here: exp(-36) of its height is nothing beside one trial
_NOISE = 1e-13  # what rounding leaves of the fast convolution, in trials
_NOTHING = 1e-18  # of a class in a cell where no trial is near; less than 1e9 trials would show


def fit_kde(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    bandwidth: str | float = "silverman",
    monotone: bool = True,
) -> KnotMap:
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
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
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
    >>> from llrkit.fits.densities import fit_kde
    >>> rng = np.random.default_rng(1)
    >>> scores = lk.Scores(rng.normal(1.0, np.sqrt(2.0), 50_000), rng.normal(-1.0, np.sqrt(2.0), 50_000))
    >>> np.abs(fit_kde(scores)([-1.0, 0.0, 1.0]) - [-1.0, 0.0, 1.0]).max() < 0.1
    np.True_
    """
    source = as_source(source, labels)
    by_number = isinstance(bandwidth, (int, float)) and 0.0 < bandwidth < np.inf
    if not (by_number or bandwidth == "silverman"):
        raise InputError(f"bandwidth must be 'silverman' or a number above 0, got {bandwidth!r}")
    monotone = yes_or_no(monotone, "monotone")
    moments = training_moments(source, at_least=2, spread=True)
    grid = source.reduce(DensityGrid.at(*moments.extremes))
    classes = ((grid.target, moments.target), (grid.nontarget, moments.nontarget))
    # divided before subtracting: the range itself may overflow
    width = grid.high / grid.cells - grid.low / grid.cells
    # one bandwidth for both classes, the geometric mean of theirs: ties and
    # edges cancel in the ratio only if both are smeared alike
    wide = math.sqrt(math.prod(_silverman_width(cells, of_class, grid) for cells, of_class in classes))
    h = max((wide if isinstance(bandwidth, str) else float(bandwidth)) / width, _SMALLEST_IN_CELLS)
    target, nontarget = (_kernel_density(cells, float(of_class.n), h) for cells, of_class in classes)
    # the constant keeps the logarithm finite; where neither class has trials the ratio is 0 to 0, an LLR of 0
    ratio = np.log(target + _NOTHING) - np.log(nontarget + _NOTHING)
    change = 0.0
    if monotone:
        # which way is right follows from the means, not from the caller: reversed scores have a falling map
        up = bool(moments.target.mean[0] >= moments.nontarget.mean[0])
        # pooled where the ratio goes the wrong way
        masses = target + 0.5 * _NOTHING, nontarget + 0.5 * _NOTHING
        starts = pooled_starts(*(masses if up else masses[::-1]))
        level_target, level_nontarget = (np.log(np.add.reduceat(mass, starts)) for mass in masses)
        lengths = np.diff(np.append(starts, len(target)))
        level = np.repeat(level_target - level_nontarget, lengths)
        # rounding must not leave a step the wrong way: the map would have no inverse
        level = np.maximum.accumulate(level) if up else np.minimum.accumulate(level)
        # compared after saturation, where the LLRs are as they will be returned
        change = float(np.abs(_one_misleading(level, moments) - _one_misleading(ratio, moments)).max())
        ratio = level
    score, llr_at, error = thin_knots(grid.centers, _one_misleading(ratio, moments), MAX_KNOTS, enough=CLOSE)
    details = {"bandwidth": h * width, "isotonic_change": change, "thinning_error": error}
    return KnotMap(
        score=score, llr_at=llr_at, method="kde", options={"bandwidth": bandwidth, "monotone": monotone},
        details=details, provenance=provenance(moments), reading=reading_of(source.roles),
    )  # fmt: skip


def _kernel_density(cells: CellSums, n: float, h: float) -> FloatArray:
    """A kernel estimate per cell; a cell is put on three centers, with its count, mean and variance."""
    size = len(cells.count)
    # the three centers reach one cell beyond either end of the grid
    deposit = np.zeros(size + 2)
    deposit[:-2] += 0.5 * (cells.second - cells.first)
    deposit[1:-1] += cells.count - cells.second
    deposit[2:] += 0.5 * (cells.second + cells.first)
    reach = min(size + 1, int(np.ceil(_REACH * h)))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / h) ** 2) / (np.sqrt(2.0 * np.pi) * h)
    # skip the reach of the kernel and the extra cell in front
    density = _convolved_kernels(deposit, kernel)[reach + 1 : reach + 1 + size] / n
    return np.asarray(np.where(density > _NOISE / n, density, 0.0))


def _convolved_kernels(values: FloatArray, kernel: FloatArray) -> FloatArray:
    """The convolution, by Fourier transforms of pieces that overlap.

    Rounding reaches as far as a piece; the tails do not see that of the bulk.
    """
    # a power of 2 at least four kernels long: transforms are fast and mostly new cells
    length = 1 << (4 * len(kernel) - 1).bit_length()
    step = length - len(kernel) + 1
    pieces = np.zeros((-(-len(values) // step) + 1, step))
    pieces.ravel()[: len(values)] = values
    mixed = np.fft.irfft(np.fft.rfft(pieces, length) * np.fft.rfft(kernel, length), length)
    out = mixed[:, :step]
    # overlap-add: what a piece spreads beyond its end belongs to the next one
    out[1:, : len(kernel) - 1] += mixed[:-1, step:]
    return out.ravel()


def _one_misleading(ratio: FloatArray, moments: Moments) -> FloatArray:
    """The LLR if one trial more of each class were distributed as the other class is."""
    return saturate(ratio, -float(np.log(moments.target.n)), -float(np.log(moments.nontarget.n)))


def _silverman_width(cells: CellSums, class_moments: ClassMoments, grid: DensityGrid) -> float:
    nodes, (_, sd) = WeightedPoints.of(cells, grid.low, grid.high), spread_of(class_moments)
    iqr = nodes.quantile(0.75) - nodes.quantile(0.25)
    # 1.349 standard deviations lie between the quartiles of a
    # Gaussian. Heavily tied scores may have an IQR of 0.
    return 0.9 * (min(sd, iqr / 1.349) if iqr > 0.0 else sd) * float(class_moments.n**-0.2)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class QuadraticMap(RatioMap):
    """Log-ratio of two Gaussian densities, ``N(s | mean_e, sd_e) / N(s | mean_d, sd_d)``.

    Around the midpoint of the means it is ``q (t^2 + h^2) + h (1/v_e + 1/v_d) t + log(sd_d/sd_e)`` with
    ``t = s - midpoint``, ``h`` half the difference of the means and ``q = (1/v_d - 1/v_e)/2``.
    """

    mean_target: float
    sd_target: float
    mean_nontarget: float
    sd_nontarget: float

    kind: ClassVar[str] = "quadratic"

    @property
    def coefficients(self) -> tuple[float, float, float]:
        """Factors of ``t^2``, ``t`` and 1."""
        v_e, v_d = self.sd_target**2, self.sd_nontarget**2
        h = 0.5 * (self.mean_target - self.mean_nontarget)
        # divided one after the other: the product of two small variances may underflow
        q = 0.5 * (v_e - v_d) / v_e / v_d
        return q, h / v_e + h / v_d, q * h * h + float(np.log(self.sd_nontarget / self.sd_target))

    @property
    def vertex(self) -> float:
        """The score where the LLR turns; infinite for equal variances."""
        square, linear, _ = self.coefficients
        return np.inf if square == 0.0 else self.anchor()[0] - 0.5 * linear / square

    def log_ratio(self, s: FloatArray) -> FloatArray:
        """The quadratic function."""
        square, linear, constant = self.coefficients
        # centered on the midpoint, where both squares are of similar size and the difference keeps its digits
        t = s - self.anchor()[0]
        return np.asarray((square * t + linear) * t + constant)

    def limit(self, sign: float) -> float:
        """Plus or minus infinity, or a constant for equal Gaussians."""
        square, linear, constant = self.coefficients
        if square == 0.0 and linear == 0.0:
            return constant
        # the square decides at both ends; the sign matters only for a straight line
        return float(np.copysign(np.inf, square if square != 0.0 else sign * linear))

    def anchor(self) -> tuple[float, float]:
        """Midpoint of the means and the larger standard deviation."""
        return 0.5 * (self.mean_target + self.mean_nontarget), max(self.sd_target, self.sd_nontarget)


def fit_gaussian(source: AnyTrials, labels: Labels | None = None, *, monotone: bool = True) -> QuadraticMap:
    """Quadratic calibration: a Gaussian for each class, each with a variance of its own.

    ``llr = log N(s | m_e, v_e) - log N(s | m_d, v_d)`` with the 1/N means and variances (two-class
    quadratic discriminant analysis). One pass.

    The map's ``details`` hold the vertex, which side of it is held constant, and the share of each class
    that the fitted Gaussians put there.

    Fewer than 30 trials of a class do not show the shape of a density: :func:`llrkit.calibrate` warns of them
    if nothing bounds the LLRs.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    monotone
        Hold the LLR constant beyond the vertex, where the parabola turns back, as in ``RatioMap``.

    References
    ----------
    Brümmer, Swart & van Leeuwen, "A comparison of linear and non-linear calibrations for speaker
    recognition", Odyssey 2014.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.fits.densities import fit_gaussian
    >>> calibrate = fit_gaussian(lk.Scores([1.0, 5.0], [-1.0, 1.0]))
    >>> calibrate.vertex, calibrate([-9.0, -1.0, 3.0]).round(3)
    (-1.0, array([-2.193, -2.193,  3.807]))
    """
    source = as_source(source, labels)
    from scipy.special import ndtr

    monotone = yes_or_no(monotone, "monotone")
    moments = training_moments(source, at_least=2, spread=True)
    (m_e, s_e), (m_d, s_d) = spread_of(moments.target), spread_of(moments.nontarget)
    raw = QuadraticMap(mean_target=m_e, sd_target=s_e, mean_nontarget=m_d, sd_nontarget=s_d)
    square = raw.coefficients[0]
    direction = 1 if m_e >= m_d else -1
    low, high = -np.inf, np.inf
    if square != 0.0:
        # the parabola goes the right way above its vertex when it opens that way, else below it
        if square * direction > 0.0:
            low = raw.vertex
        else:
            high = raw.vertex
    details: dict[str, Json] = {
        "vertex": raw.vertex,
        "monotone_low": low,
        "monotone_high": high,
        "share_target_outside": float(ndtr((low - m_e) / s_e) + ndtr((m_e - high) / s_e)),
        "share_nontarget_outside": float(ndtr((low - m_d) / s_d) + ndtr((m_d - high) / s_d)),
        # mean log-likelihood with equal class weights at the
        # maximum, in closed form; so densities can be compared
        "log_likelihood": -0.5 * float(np.log(2.0 * np.pi * s_e * s_d)) - 0.5,
    }
    return QuadraticMap(
        mean_target=m_e, sd_target=s_e, mean_nontarget=m_d, sd_nontarget=s_d,
        low=low if monotone else -np.inf, high=high if monotone else np.inf,
        # with equal variances the parabola is a line, monotone without being held
        direction=direction if monotone or square == 0.0 else 0,
        method="gaussian", options={"monotone": monotone}, details=details, provenance=provenance(moments),
        reading=reading_of(source.roles),
    )  # fmt: skip


_SMALLEST_DF = 1.0
_LARGEST_DF = 1e6
_LOG_ROOT_TWO_PI = 0.5 * float(np.log(2.0 * np.pi))
_SERIES_ABOVE = 20.0  # from here on the asymptotic series of gamma ratios are exact in double precision


def log_student(s: FloatArray, df: float, loc: float, scale: float) -> FloatArray:
    """Logarithm of Student's t density; ``df = inf`` is the Gaussian.

    Examples
    --------
    >>> np.round(log_student(np.array([0.0]), 1.0, 0.0, 1.0) + np.log(np.pi), 12)
    array([0.])
    """
    z2 = ((s - loc) / scale) ** 2
    # log1p keeps the digits where df is large and z2 / df tiny; its limit is the Gaussian's z2 / 2
    power = 0.5 * z2 if np.isinf(df) else 0.5 * (df + 1.0) * np.log1p(z2 / df)
    return np.asarray(_log_gamma_step(df) - _LOG_ROOT_TWO_PI - np.log(scale) - power)


def student_slope(s: FloatArray, df: float, loc: float, scale: float) -> FloatArray:
    """Derivative of :func:`log_student` by the score."""
    y = (s - loc) / scale
    # the weight of a score falls off with its distance: far scores have a bounded pull
    weight = 1.0 if np.isinf(df) else (df + 1.0) / (df + y * y)
    return np.asarray(-weight * y / scale)


def student_gradient(t: FloatArray, u: float, loc: float, scale: float) -> FloatArray:
    """Derivatives of :func:`log_student` by ``loc``, ``log scale`` and ``u = 1 / df``, as rows."""
    df = 1.0 / u
    z = (t - loc) / scale
    y = z * z * u
    pull = (1.0 + u) / (1.0 + y)
    inner = y / (1.0 + y)
    by_df = 0.5 * (inner - np.log1p(y) + inner * u)
    return np.stack([pull * z / scale, pull * z * z - 1.0, -(by_df * df * df + 0.5 * _digamma_step(df))])


def _log_gamma_step(df: float) -> float:
    """``log Gamma((df + 1)/2) - log Gamma(df/2) - log(df/2)/2``, which goes to 0."""
    from scipy.special import gammaln

    x = 0.5 * df
    if x < _SERIES_ABOVE:
        return float(gammaln(x + 0.5) - gammaln(x) - 0.5 * np.log(x))
    # the difference of two large log gammas would lose the digits that the series keeps
    r = 1.0 / x
    return -r / 8.0 + r**3 / 192.0 - r**5 / 640.0 + 17.0 * r**7 / 14336.0


def _digamma_step(df: float) -> float:
    """``df^2 [psi((df + 1)/2) - psi(df/2) - 1/df]``, which goes to 1/2."""
    from scipy.special import psi

    x = 0.5 * df
    if x < _SERIES_ABOVE:
        return float(df * df * (psi(x + 0.5) - psi(x) - 1.0 / df))
    # df^2 times a difference that falls like 1 / df^2: without the series nothing would be left but rounding
    r = 1.0 / x
    return 4.0 * (1.0 / 8.0 - r**2 / 64.0 + r**4 / 128.0 - 17.0 * r**6 / 2048.0)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class StudentRatioMap(DensityRatioMap):
    """Log-ratio of two Student t densities; each is (degrees of freedom, location, scale)."""

    kind: ClassVar[str] = "student ratio"
    may_be_infinite: ClassVar[frozenset[str]] = frozenset({"low", "high", "target", "nontarget"})

    log_density = staticmethod(log_student)
    density_slope = staticmethod(student_slope)

    def limit(self, sign: float) -> float:
        """``df log(scale_e/scale_d)`` for equal degrees of freedom, else infinite: the heavier tail wins."""
        df_e, loc_e, scale_e = self.target.tolist()
        df_d, loc_d, scale_d = self.nontarget.tolist()
        if df_e != df_d:
            return -np.inf if df_e > df_d else np.inf
        if not np.isinf(df_e):
            # equal heavy tails cancel in the ratio, and the scales are what remains
            return float(df_e * np.log(scale_e / scale_d))
        gap = scale_e - scale_d if scale_e != scale_d else sign * (loc_e - loc_d)
        return float(np.copysign(np.inf, gap)) if gap != 0.0 else 0.0

    def anchor(self) -> tuple[float, float]:
        """Midpoint of the locations and the larger scale."""
        return 0.5 * float(self.target[1] + self.nontarget[1]), float(max(self.target[2], self.nontarget[2]))


def fit_student_t(
    source: AnyTrials, labels: Labels | None = None, *, monotone: bool = True
) -> StudentRatioMap:
    """Calibration with a Student t density for each class, fitted by maximum likelihood.

    ``llr = log t(s | df_e, m_e, s_e) - log t(s | df_d, m_d, s_d)``. Degrees of freedom are between 1 and
    1e6; a class with lighter tails than a Gaussian gets the Gaussian itself (``df = inf``). Two passes.

    The map's ``details`` hold the interval, the share of the training scores outside it, the
    log-likelihood (classes weighted equally) and what is left of its gradient.

    Fewer than 30 trials of a class do not show the shape of a density: :func:`llrkit.calibrate` warns of them
    if nothing bounds the LLRs.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    monotone
        Hold the LLR constant in the tails, where a ratio of t densities turns back, as described in
        ``RatioMap``.

    References
    ----------
    Brümmer, Swart & van Leeuwen, "A comparison of linear and non-linear calibrations for speaker
    recognition", Odyssey 2014.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.fits.densities import fit_student_t
    >>> rng = np.random.default_rng(1)
    >>> scores = lk.Scores(3.0 + rng.standard_t(4.0, 10_000), rng.standard_t(4.0, 10_000))
    >>> calibrate = fit_student_t(scores)
    >>> calibrate([0.0, 3.0]).round(1)
    array([-2.9,  3. ])
    """
    source = as_source(source, labels)
    monotone = yes_or_no(monotone, "monotone")
    training = training_points(source, training_moments(source, at_least=3, spread=True))
    fitted = fit_ratio(StudentRatioMap, student_of_class, training, monotone, "student_t")
    return fitted.with_reading(source.roles)


def student_of_class(nodes: WeightedPoints, class_moments: ClassMoments) -> tuple[FloatArray, float, float]:
    """Degrees of freedom, location and scale of one class; its mean log-likelihood; the gradient left."""
    mean, sd = spread_of(class_moments)
    gaussian = -0.5 * float(np.log(2.0 * np.pi)) - 0.5 - float(np.log(sd))
    # the excess kurtosis of a t is 6 / (df - 4), so this is that of
    # the largest df: lighter tails get the Gaussian itself
    if not class_moments.excess_kurtosis[0] > 6.0 / _LARGEST_DF:
        return np.array([np.inf, mean, sd]), gaussian, 0.0
    t = nodes.standardized(mean, sd)
    weight = t.weights / t.total

    def objective(x: FloatArray) -> tuple[float, FloatArray]:
        # u = 1 / df puts the Gaussian at the finite end 0 of the search instead of at infinity
        loc, scale, u = float(x[0]), float(np.exp(x[1])), float(x[2])
        value = float((weight * log_student(t.points, 1.0 / u, loc, scale)).sum())
        return value, np.asarray((weight * student_gradient(t.points, u, loc, scale)).sum(axis=1))

    middle = t.quantile(0.5)
    width = (t.quantile(0.75) - t.quantile(0.25)) / 1.35
    kurtosis = float(class_moments.excess_kurtosis[0])
    # two starts: df by the fourth moment, and quartiles with 4 degrees
    # of freedom, for tails so heavy that moments mislead
    starts = [[0.0, np.log(0.9), 1.0 / (4.0 + 6.0 / kurtosis)], [middle, np.log(max(width, 1e-3)), 0.25]]
    best = maximize(objective, starts, [(-20.0, 20.0), (-12.0, 5.0), (1.0 / _LARGEST_DF, 1.0 / _SMALLEST_DF)])
    loc, log_scale, u = best.x.tolist()
    # values of the search are in standardized units, and log(sd) makes them comparable
    if best.value <= gaussian + np.log(sd) or u <= 1.0 / _LARGEST_DF:
        return np.array([np.inf, mean, sd]), gaussian, 0.0
    parameters = np.array([1.0 / u, mean + sd * loc, sd * float(np.exp(log_scale))])
    return parameters, best.value - float(np.log(sd)), best.gradient
