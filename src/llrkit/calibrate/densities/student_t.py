"""Student t scores: heavy tails, a separate shape for each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from llrkit._arguments import yes_or_no
from llrkit._arrays import FloatArray
from llrkit.calibrate.densities.density_ratio import DensityRatioMap, fit_ratio
from llrkit.calibrate.densities.likelihood_maximizer import maximize
from llrkit.calibrate.densities.training_points import (
    TrainingPoints,
    WeightedPoints,
    require_spread,
    spread_of,
    training_points,
)
from llrkit.calibrate.fit_decorator import fits_map
from llrkit.calibrate.training_checks import training_moments
from llrkit.core.moments import ClassMoments
from llrkit.scores import ScoreSource

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
    power = 0.5 * z2 if np.isinf(df) else 0.5 * (df + 1.0) * np.log1p(z2 / df)
    return np.asarray(_log_gamma_step(df) - _LOG_ROOT_TWO_PI - np.log(scale) - power)


def student_slope(s: FloatArray, df: float, loc: float, scale: float) -> FloatArray:
    """Derivative of :func:`log_student` by the score."""
    y = (s - loc) / scale
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
    r = 1.0 / x
    return -r / 8.0 + r**3 / 192.0 - r**5 / 640.0 + 17.0 * r**7 / 14336.0


def _digamma_step(df: float) -> float:
    """``df^2 [psi((df + 1)/2) - psi(df/2) - 1/df]``, which goes to 1/2."""
    from scipy.special import psi

    x = 0.5 * df
    if x < _SERIES_ABOVE:
        return float(df * df * (psi(x + 0.5) - psi(x) - 1.0 / df))
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
            return float(df_e * np.log(scale_e / scale_d))
        gap = scale_e - scale_d if scale_e != scale_d else sign * (loc_e - loc_d)
        return float(np.copysign(np.inf, gap)) if gap != 0.0 else 0.0

    def anchor(self) -> tuple[float, float]:
        """Midpoint of the locations and the larger scale."""
        return 0.5 * float(self.target[1] + self.nontarget[1]), float(max(self.target[2], self.nontarget[2]))


@fits_map
def fit_student_t(source: ScoreSource, *, monotone: bool = True) -> StudentRatioMap:
    """Calibration with a Student t density for each class, fitted by maximum likelihood.

    ``llr = log t(s | df_e, m_e, s_e) - log t(s | df_d, m_d, s_d)``. Degrees of freedom are between 1 and
    1e6; a class with lighter tails than a Gaussian gets the Gaussian itself (``df = inf``). Two passes.

    The map's ``details`` hold the interval, the share of the training scores outside it, the
    log-likelihood (classes weighted equally) and what is left of its gradient.

    Without ``bound`` a :class:`ShapeWarning` is given if a class has fewer than 30 trials, which do not show
    the shape of a density.

    Parameters
    ----------
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
    >>> from llrkit.calibrate.densities.student_t import fit_student_t
    >>> rng = np.random.default_rng(1)
    >>> scores = lk.Scores(3.0 + rng.standard_t(4.0, 10_000), rng.standard_t(4.0, 10_000))
    >>> calibrate = fit_student_t(scores)
    >>> calibrate([0.0, 3.0]).round(1)
    array([-2.9,  3. ])
    """
    monotone = yes_or_no(monotone, "monotone")
    moments = training_moments(source, at_least=3)
    require_spread(moments)
    return student_from_training(training_points(source, moments), monotone)


def student_from_training(training: TrainingPoints, monotone: bool) -> StudentRatioMap:
    """The fit, from points that stand for the scores."""
    return fit_ratio(StudentRatioMap, _fit_student_class, training, monotone, "student_t")


def _fit_student_class(nodes: WeightedPoints, class_moments: ClassMoments) -> tuple[FloatArray, float, float]:
    """Degrees of freedom, location and scale of one class; its mean log-likelihood; the gradient left."""
    mean, sd = spread_of(class_moments)
    gaussian = -0.5 * float(np.log(2.0 * np.pi)) - 0.5 - float(np.log(sd))
    if not class_moments.excess_kurtosis[0] > 6.0 / _LARGEST_DF:
        return np.array([np.inf, mean, sd]), gaussian, 0.0
    t = nodes.standardized(mean, sd)
    weight = t.weights / t.total

    def objective(x: FloatArray) -> tuple[float, FloatArray]:
        loc, scale, u = float(x[0]), float(np.exp(x[1])), float(x[2])
        value = float((weight * log_student(t.points, 1.0 / u, loc, scale)).sum())
        return value, np.asarray((weight * student_gradient(t.points, u, loc, scale)).sum(axis=1))

    middle = t.quantile(0.5)
    width = (t.quantile(0.75) - t.quantile(0.25)) / 1.35
    kurtosis = float(class_moments.excess_kurtosis[0])
    starts = [[0.0, np.log(0.9), 1.0 / (4.0 + 6.0 / kurtosis)], [middle, np.log(max(width, 1e-3)), 0.25]]
    best = maximize(objective, starts, [(-20.0, 20.0), (-12.0, 5.0), (1.0 / _LARGEST_DF, 1.0 / _SMALLEST_DF)])
    loc, log_scale, u = best.x.tolist()
    if best.value <= gaussian + np.log(sd) or u <= 1.0 / _LARGEST_DF:
        return np.array([np.inf, mean, sd]), gaussian, 0.0
    parameters = np.array([1.0 / u, mean + sd * loc, sd * float(np.exp(log_scale))])
    return parameters, best.value - float(np.log(sd)), best.gradient
