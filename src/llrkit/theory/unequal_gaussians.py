"""Gaussian scores and the LLR they lead to: equal variances by moments, unequal ones a parabola."""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

import numpy as np

from llrkit._arguments import positive
from llrkit._arrays import FloatArray, Numbers, number_or_array
from llrkit.errors import InputError
from llrkit.theory.calibrated_pair import DetLine
from llrkit.theory.gaussian_pair import GaussianLLR
from llrkit.theory.normal_distributions import Normal


@dataclass(frozen=True)
class UnequalGaussians:
    """Normal scores with different variances: their LLR is a quadratic, so they are no calibrated pair.

    ``log e(s)/d(s) = quadratic s^2 + linear s + constant`` with ``quadratic = 1/(2 sd^2) - 1/(2 se^2)``,
    ``linear = me/se^2 - md/sd^2``, ``constant = log(sd/se) + md^2/(2 sd^2) - me^2/(2 se^2)`` (means
    ``me``, ``md``, standard deviations ``se``, ``sd`` of targets and non-targets). Scores are LLRs only if
    this is ``s`` itself, which needs equal variances. The parabola turns back at ``vertex``.

    Examples
    --------
    >>> scores = UnequalGaussians(mean_target=2.0, std_target=2.0, mean_nontarget=-2.0, std_nontarget=1.0)
    >>> scores.quadratic, scores.linear, scores.vertex, scores.is_calibrated
    (0.375, 2.5, -3.3333333333333335, False)
    >>> scores.det_line()
    DetLine(slope=-0.5, intercept=-2.0)
    """

    mean_target: float
    """Mean of the target scores."""
    std_target: float
    """Standard deviation of the target scores."""
    mean_nontarget: float
    """Mean of the non-target scores."""
    std_nontarget: float
    """Standard deviation of the non-target scores."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        positive(self.std_target, "std_target")
        positive(self.std_nontarget, "std_nontarget")

    @property
    def target(self) -> Normal:
        """Distribution of the target scores."""
        return Normal(self.mean_target, self.std_target)

    @property
    def nontarget(self) -> Normal:
        """Distribution of the non-target scores."""
        return Normal(self.mean_nontarget, self.std_nontarget)

    @property
    def quadratic(self) -> float:
        """Coefficient of the squared score."""
        return 0.5 / self.std_nontarget**2 - 0.5 / self.std_target**2

    @property
    def linear(self) -> float:
        """Coefficient of the score."""
        return self.mean_target / self.std_target**2 - self.mean_nontarget / self.std_nontarget**2

    @property
    def constant(self) -> float:
        """LLR of score 0."""
        squares = (self.mean_nontarget / self.std_nontarget) ** 2 - (self.mean_target / self.std_target) ** 2
        return float(np.log(self.std_nontarget / self.std_target) + 0.5 * squares)

    @property
    def vertex(self) -> float | None:
        """Score at which the LLR turns back, ``-linear / (2 quadratic)``; none for equal variances."""
        return None if self.quadratic == 0.0 else -self.linear / (2.0 * self.quadratic)

    @property
    def is_calibrated(self) -> bool:
        """Whether the scores are their own LLRs: coefficients 0, 1, 0 (to 1e-12)."""
        return bool(
            np.allclose((self.quadratic, self.linear, self.constant), (0.0, 1.0, 0.0), rtol=0.0, atol=1e-12)
        )

    @overload
    def llr(self, score: float, *, monotone: bool = False) -> float: ...
    @overload
    def llr(self, score: Numbers, *, monotone: bool = False) -> FloatArray: ...
    def llr(self, score: float | Numbers, *, monotone: bool = False) -> float | FloatArray:
        """LLR of a score in nats; ``monotone`` holds it constant beyond the vertex.

        Parameters
        ----------
        score
            Scores.
        monotone
            Hold the LLR constant beyond the vertex.

        Examples
        --------
        >>> scores = UnequalGaussians(2.0, 2.0, -2.0, 1.0)
        >>> scores.llr(-9.0) > scores.llr(-9.0, monotone=True) == scores.llr(scores.vertex)
        True
        """
        s = np.asarray(score, dtype=np.float64)
        if monotone and self.vertex is not None:
            s = np.maximum(s, self.vertex) if self.quadratic > 0.0 else np.minimum(s, self.vertex)
        return number_or_array((self.quadratic * s + self.linear) * s + self.constant)

    def det_line(self) -> DetLine:
        """The DET of the scores: slope ``-sd/se``, intercept ``(md - me)/se``."""
        gap = (self.mean_nontarget - self.mean_target) / self.std_target
        return DetLine(-self.std_nontarget / self.std_target, gap)


@dataclass(frozen=True)
class MomentSolution:
    """The affine map ``x = a s + b`` whose mean moments are those of a calibrated Gaussian with mean ``mu``.

    Examples
    --------
    >>> MomentSolution(mu=2.0, a=1.0, b=0.0).predicted.sigma
    2.0
    """

    mu: float
    """Mean target LLR after the map."""
    a: float
    """Slope of the map."""
    b: float
    """Offset of the map."""

    @property
    def predicted(self) -> GaussianLLR:
        """The calibrated pair the mapped scores should follow; its EER is ``Phi(-sqrt(mu/2))``."""
        return GaussianLLR.from_mu(self.mu)


def moment_solution(
    mean_target: float, mean_nontarget: float, var_target: float, var_nontarget: float
) -> MomentSolution:
    """Calibrate scores by their moments: means ``±mu``, mean variance ``2 mu``.

    ``mu = (me - md)^2 / (ve + vd)``, ``a = 2 mu / (me - md)``, ``b = -a (me + md)/2``. This is exactly
    constrained maximum likelihood Gaussian calibration with equal class weights.

    Parameters
    ----------
    mean_target
        Mean of the targets.
    mean_nontarget
        Mean of the non-targets.
    var_target
        Variance of the targets.
    var_nontarget
        Variance of the non-targets.

    Examples
    --------
    >>> moment_solution(mean_target=3.0, mean_nontarget=-1.0, var_target=3.0, var_nontarget=1.0)
    MomentSolution(mu=4.0, a=2.0, b=-2.0)
    """
    gap = mean_target - mean_nontarget
    if not gap > 0.0:
        raise InputError(
            f"the target mean must be above the non-target mean, got {mean_target!r} and {mean_nontarget!r}"
        )
    if min(var_target, var_nontarget) < 0.0 or not 0.0 < var_target + var_nontarget < np.inf:
        raise InputError(
            f"variances must be finite and not negative, got {var_target!r} and {var_nontarget!r}"
        )
    mu = gap**2 / (var_target + var_nontarget)
    a = 2.0 * mu / gap
    return MomentSolution(mu, a, -0.5 * a * (mean_target + mean_nontarget))
