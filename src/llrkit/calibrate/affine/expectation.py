"""Expectation calibration: the affine map for which LRs and their inverses have mean one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import Array, FloatArray
from llrkit._plain import Json
from llrkit._warn import warn_caller
from llrkit.calibrate.densities.training_points import WeightedPoints
from llrkit.calibrate.fit_decorator import fits_map
from llrkit.calibrate.maps import AffineMap
from llrkit.calibrate.training_checks import provenance, training_moments
from llrkit.core.bracketed_root import bracketed_root
from llrkit.core.density_grid import DensityGrid
from llrkit.core.moments import Moments
from llrkit.core.newton_minimizer import newton
from llrkit.core.summary_algebra import FieldwiseSums, SummaryBase
from llrkit.errors import InputError, SeparationError, ShapeWarning
from llrkit.scores import Scores, ScoreSource


@dataclass(frozen=True, eq=False)
class ExponentialSums(SummaryBase):
    """Sums of ``w = e^(c z - top)``, ``w z``, ``w z^2`` and ``w^2``; ``top`` is the largest exponent.

    Examples
    --------
    >>> sums = ExponentialSums.of(np.array([1000.0, 1000.0]), None, 1.0)
    >>> sums.log_mean, sums.effective
    (1000.0, 2.0)
    """

    n: float
    top: float
    zero: float
    first: float
    second: float
    square: float

    @classmethod
    def of(cls, z: FloatArray, weight: FloatArray | None, c: float) -> ExponentialSums:
        """The sums of some scores, each counted ``weight`` times."""
        if len(z) == 0:
            return cls(0.0, -math.inf, 0.0, 0.0, 0.0, 0.0)
        exponent = c * z
        top = float(exponent.max())
        w = np.exp(exponent - top)
        count = np.ones(len(z)) if weight is None else weight
        counted = w * count
        return cls(
            float(count.sum()), top, float(counted.sum()), float((counted * z).sum()),
            float((counted * z * z).sum()), float((counted * w).sum()),
        )  # fmt: skip

    def __add__(self, other: ExponentialSums) -> ExponentialSums:
        top = max(self.top, other.top)
        if top == -math.inf:
            return self
        a, b = math.exp(self.top - top), math.exp(other.top - top)
        return ExponentialSums(
            self.n + other.n, top, a * self.zero + b * other.zero, a * self.first + b * other.first,
            a * self.second + b * other.second, a * a * self.square + b * b * other.square,
        )  # fmt: skip

    def __mul__(self, weight: float) -> ExponentialSums:
        return ExponentialSums(
            self.n * weight, self.top, self.zero * weight, self.first * weight, self.second * weight,
            self.square * weight,
        )  # fmt: skip

    @property
    def log_mean(self) -> float:
        """``log mean e^(c z)``."""
        return self.top + math.log(self.zero) - math.log(self.n)

    @property
    def mean(self) -> float:
        """Mean of z under the weights, the derivative of ``log_mean`` with respect to c."""
        return self.first / self.zero

    @property
    def variance(self) -> float:
        """Variance of z under the weights, its second derivative."""
        return max(self.second / self.zero - self.mean**2, 0.0)

    @property
    def effective(self) -> float:
        """How many trials of equal weight would be as good: ``(sum w)^2 / sum w^2``."""
        return self.zero**2 / self.square

    @property
    def largest_share(self) -> float:
        """The share of the trial with the largest weight."""
        return 1.0 / self.zero


@dataclass(frozen=True, eq=False)
class ExponentialSumsPair(FieldwiseSums):
    """Targets weighted by ``e^(-a z)``, non-targets by ``e^(a z)``."""

    target: ExponentialSums
    nontarget: ExponentialSums

    @classmethod
    def at(cls, a: float, center: float, scale: float) -> Callable[[Scores], ExponentialSumsPair]:
        """A summarizer of the scores ``(score - center) / scale``."""

        def one(values: Array, c: float) -> ExponentialSums:
            return ExponentialSums.of((values.astype(np.float64, copy=False) - center) / scale, None, c)

        return lambda chunk: cls(one(chunk.target, -a), one(chunk.nontarget, a))


PASSES = 12
_NEGLIGIBLE = 1e-16  # of half the sum of squares: the next step would be the square of this one


@fits_map
def fit_expectation(source: ScoreSource, *, regularization: float = 1.0) -> AffineMap:
    """Affine calibration that makes the mean LR of non-targets and the mean 1/LR of targets equal to 1.

    Without regularization ``log mean_non e^(a s + b) = 0`` and ``log mean_tar e^-(a s + b) = 0`` are
    solved; the slope is the root other than 0 of a convex function, and exists when some non-target
    scores above some target. A handful of extreme trials decide these means: ``details`` give the
    effective sample size ``(sum r)^2 / sum r^2`` of each and the share of the largest trial. With
    ``regularization`` L > 0 the map minimizes ::

        (log mean_non r)^2 / s_d^2 + (log mean_tar 1/r)^2 / s_e^2 + L [(log a / a0)^2 + (a m + b)^2]

    where ``a0`` is the CMLG slope (alpha = 1/2), ``m`` the middle of the class means and ``s^2`` one over
    the effective sample size at ``a0``: CMLG as L goes to infinity, and unchanged when scores are moved
    or scaled. When the classes do not overlap, L = 0 is an error and L > 0 a ``ShapeWarning``.

    Two passes give the moments and 2^14 cells on which the equations are solved first, then one to three
    full passes of mergeable sums, scaled by their largest term, take the rest of the Newton steps.

    Parameters
    ----------
    regularization
        How strongly the map is drawn to that of CMLG, L above; 0 for not at all.

    References
    ----------
    van Leeuwen & Brümmer, Interspeech 2013 (the conditions mean r = 1 and mean 1/r = 1).

    Examples
    --------
    >>> from llrkit.scores import Scores
    >>> rng = np.random.default_rng(1)
    >>> scores = Scores(rng.normal(1, 1, 20000), rng.normal(0, 1, 20000))
    >>> fit_expectation(scores, regularization=0)
    AffineMap(expectation: llr = 1.00347 * score -0.497916)
    """
    if not (isinstance(regularization, (int, float)) and 0.0 <= regularization < math.inf):
        raise InputError(f"regularization must be a number of at least 0, got {regularization!r}")
    moments = training_moments(source)
    problem = _ExpectationEquations(moments, float(regularization))
    grid = source.reduce(DensityGrid.at(*moments.extremes))
    nodes = [WeightedPoints.of(cells, grid.low, grid.high) for cells in (grid.target, grid.nontarget)]
    scaled = [((weighted.points - problem.center) / problem.scale, weighted.weights) for weighted in nodes]

    def on_cells(a: float) -> ExponentialSumsPair:
        return ExponentialSumsPair(ExponentialSums.of(*scaled[0], -a), ExponentialSums.of(*scaled[1], a))

    def on_trials(a: float) -> ExponentialSumsPair:
        return source.reduce(ExponentialSumsPair.at(a, problem.center, problem.scale))

    start = on_cells(problem.a0)
    problem.precision = (start.nontarget.effective, start.target.effective)
    looks: list[tuple[FloatArray, ExponentialSumsPair]] = []

    def objective(x: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        looks.append((x, on_trials(problem.a0 * math.exp(x[0]))))
        return problem.derivatives(float(x[0]), float(x[1]), looks[-1][1])

    guess = np.array(problem.first_guess(on_cells))
    best = newton(objective, guess, negligible=_NEGLIGIBLE, max_evaluations=PASSES - 2)
    t, b = best.x.tolist()
    _, sums = min(looks, key=lambda look: float(np.abs(look[0] - best.x).max()))
    a, passes = problem.a0 * math.exp(t), best.evaluations + 2
    details: dict[str, Json] = {
        "effective_target": sums.target.effective,
        "effective_nontarget": sums.nontarget.effective,
        "largest_share_target": sums.target.largest_share,
        "largest_share_nontarget": sums.nontarget.largest_share,
        "log_mean_r": sums.nontarget.log_mean + b,
        "log_mean_inverse_r": sums.target.log_mean - b,
        "slope_cmlg": problem.a0 / problem.scale,
        "passes": passes,
    }
    return AffineMap(
        a=a / problem.scale, b=b - a * problem.center / problem.scale, method="expectation",
        options={"regularization": float(regularization)}, details=details, provenance=provenance(moments),
    )  # fmt: skip


class _ExpectationEquations:
    """The equations in standardized scores, 0 in the middle of the class means; unknowns log a/a0 and b."""

    precision: tuple[float, float]

    def __init__(self, moments: Moments, penalty: float) -> None:
        target, nontarget = moments.target, moments.nontarget
        m_e, m_d = float(target.mean[0]), float(nontarget.mean[0])
        variance = (float(target.variance[0]) + float(nontarget.variance[0])) / 2.0
        if m_e == m_d:
            raise InputError("the class means are equal: a slope of 0 is the only solution")
        overlap = target.low[0] < nontarget.high[0] and nontarget.low[0] < target.high[0]
        self.separated = not overlap
        if self.separated and (penalty == 0.0 or variance == 0.0):
            raise SeparationError(
                "the classes do not overlap: mean r = 1 and mean 1/r = 1 have no solution but slope 0"
            )
        if self.separated:
            warn_caller(
                "the classes do not overlap: the expectations ask for an infinite slope and only the "
                "regularization decides it",
                ShapeWarning,
            )
        self.penalty = penalty
        self.center, self.scale = (m_e + m_d) / 2.0, math.sqrt(variance)
        self.a0 = (m_e - m_d) / self.scale

    def first_guess(self, on_cells: Callable[[float], ExponentialSumsPair]) -> tuple[float, float]:
        """The solution on the cells: the root of K_d(a) + K_e(-a), or the least penalized sum of squares."""
        if self.penalty == 0.0:

            def gap(t: float) -> float:
                sums = on_cells(self.a0 * math.exp(t))
                return float(sums.nontarget.log_mean + sums.target.log_mean)

            low = high = 0.0
            while gap(high) <= 0.0:
                high += 0.5
            while gap(low) >= 0.0 and low > -40.0:
                low -= 0.5
            t = bracketed_root(gap, low, high, within=1e-12) if low < high else 0.0
            return t, -float(on_cells(self.a0 * math.exp(t)).nontarget.log_mean)

        def cost(t: float) -> float:
            sums = on_cells(self.a0 * math.exp(t))
            rest = self._residuals(t, self._best_b(sums), sums)
            return float(rest @ rest)

        from scipy.optimize import minimize_scalar  # takes longer to import than all of llrkit

        # a slope of 0 also solves the equations, so the valley must be chosen before it is descended
        scan = np.linspace(-3.0, 3.0, 61)
        best = float(scan[int(np.argmin([cost(t) for t in scan]))])
        bounds = (best - 0.1, best + 0.1)
        t = float(minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 1e-10}).x)
        return t, self._best_b(on_cells(self.a0 * math.exp(t)))

    def _best_b(self, sums: ExponentialSumsPair) -> float:
        d, e = self.precision
        return (e * sums.target.log_mean - d * sums.nontarget.log_mean) / (d + e + self.penalty)

    def _residuals(self, t: float, b: float, sums: ExponentialSumsPair) -> FloatArray:
        # each term of the sum of squares; the middle of the class means is 0 here, so a m + b is b
        d, e = (math.sqrt(p) for p in self.precision)
        root = math.sqrt(self.penalty)
        return np.array(
            [d * (sums.nontarget.log_mean + b), e * (sums.target.log_mean - b), root * t, root * b]
        )

    def derivatives(
        self, t: float, b: float, sums: ExponentialSumsPair
    ) -> tuple[float, FloatArray, FloatArray]:
        """Half the sum of squares, its gradient and its Hessian in log a/a0 and b."""
        a = self.a0 * math.exp(t)
        d, e = self.precision
        k_d, k_e = sums.nontarget.log_mean + b, sums.target.log_mean - b
        # derivatives of the log means with respect to log a; for targets the exponent is -a s
        g_d, g_e = a * sums.nontarget.mean, -a * sums.target.mean
        h_d, h_e = g_d + a * a * sums.nontarget.variance, g_e + a * a * sums.target.variance
        gradient = np.array([d * k_d * g_d + e * k_e * g_e + self.penalty * t,
                             d * k_d - e * k_e + self.penalty * b])  # fmt: skip
        outer = d * g_d * g_d + e * g_e * g_e + self.penalty
        cross = d * g_d - e * g_e
        bent = outer + d * k_d * h_d + e * k_e * h_e
        corner = d + e + self.penalty
        # Gauss-Newton where the exact Hessian is not a minimum's
        hessian = np.array([[bent if bent * corner > cross**2 else outer, cross], [cross, corner]])
        rest = self._residuals(t, b, sums)
        return 0.5 * float(rest @ rest), gradient, hessian
