"""Gaussian scores with a variance for each class: a quadratic LLR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from llrkit._arguments import yes_or_no
from llrkit._arrays import FloatArray
from llrkit._plain import Json
from llrkit.calibrate.densities.density_ratio import RatioMap
from llrkit.calibrate.densities.training_points import require_spread, spread_of
from llrkit.calibrate.fit_decorator import fits_map
from llrkit.calibrate.training_checks import provenance, training_moments
from llrkit.scores import ScoreSource


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
        t = s - self.anchor()[0]
        return np.asarray((square * t + linear) * t + constant)

    def limit(self, sign: float) -> float:
        """Plus or minus infinity, or a constant for equal Gaussians."""
        square, linear, constant = self.coefficients
        if square == 0.0 and linear == 0.0:
            return constant
        return float(np.copysign(np.inf, square if square != 0.0 else sign * linear))

    def anchor(self) -> tuple[float, float]:
        """Midpoint of the means and the larger standard deviation."""
        return 0.5 * (self.mean_target + self.mean_nontarget), max(self.sd_target, self.sd_nontarget)


@fits_map
def fit_gaussian(source: ScoreSource, *, monotone: bool = True) -> QuadraticMap:
    """Quadratic calibration: a Gaussian for each class, each with a variance of its own.

    ``llr = log N(s | m_e, v_e) - log N(s | m_d, v_d)`` with the 1/N means and variances (two-class
    quadratic discriminant analysis). One pass.

    The map's ``details`` hold the vertex, which side of it is held constant, and the share of each class
    that the fitted Gaussians put there.

    Without ``bound`` a :class:`ShapeWarning` is given if a class has fewer than 30 trials, which do not show
    the shape of a density.

    Parameters
    ----------
    monotone
        Hold the LLR constant beyond the vertex, where the parabola turns back, as in ``RatioMap``.

    References
    ----------
    Brümmer, Swart & van Leeuwen, "A comparison of linear and non-linear calibrations for speaker
    recognition", Odyssey 2014.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.calibrate.densities.two_gaussians import fit_gaussian
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):  # of so few trials
    ...     calibrate = fit_gaussian(lk.Scores([1.0, 5.0], [-1.0, 1.0]))
    >>> calibrate.vertex, calibrate([-9.0, -1.0, 3.0]).round(3)
    (-1.0, array([-2.193, -2.193,  3.807]))
    """
    from scipy.special import ndtr

    monotone = yes_or_no(monotone, "monotone")
    moments = training_moments(source, at_least=2)
    require_spread(moments)
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
        "log_likelihood": -0.5 * float(np.log(2.0 * np.pi * s_e * s_d)) - 0.5,
    }
    return QuadraticMap(
        mean_target=m_e, sd_target=s_e, mean_nontarget=m_d, sd_nontarget=s_d,
        low=low if monotone else -np.inf, high=high if monotone else np.inf,
        direction=direction if monotone or square == 0.0 else 0,
        method="gaussian", options={"monotone": monotone}, details=details, provenance=provenance(moments),
    )  # fmt: skip
