"""Maps that saturate, and the map by expectation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from llrkit.base.arguments import Array, FloatArray, not_negative, whole_number
from llrkit.base.process import warn_caller
from llrkit.base.text import Json
from llrkit.core import numerics
from llrkit.core.histograms import DensityGrid
from llrkit.core.losses import ClassNewtonSums, NewtonSums
from llrkit.core.summaries import FieldwiseSums, Moments, SummaryBase
from llrkit.errors import InputError, NotInvertibleError, SeparationError, ShapeWarning
from llrkit.fits.training_checks import WeightedPoints, provenance, training_moments
from llrkit.maps.map import AffineMap, Columns, Map, reading_of
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived import AnyTrials, Labels, as_source

NEGLIGIBLE = 1e-13
"""A step that promises less of the cross-entropy than this is the last one."""


def saturate(x: npt.ArrayLike, r: float, s: float) -> FloatArray:
    """``log[(e^x + e^r) / (1 + e^r)] - log[(1 + e^(x + s)) / (1 + e^s)]``, without overflow.

    Examples
    --------
    >>> saturate([-1.0, 0.0, 1.0], -np.inf, -np.inf)
    array([-1.,  0.,  1.])
    """
    # 40 beyond the bend it is flat to the last digit; further out, digits would be lost
    x = np.clip(np.asarray(x, dtype=np.float64), r - 40.0, 40.0 - s)
    lower = np.logaddexp(x, r) - numerics.softplus(r)
    return np.asarray(lower if s == -np.inf else lower - (numerics.softplus(x + s) - numerics.softplus(s)))


def limits(r: float, s: float) -> tuple[float, float]:
    """The smallest and the largest LLR: ``log[e^r (1+e^s) / (1+e^r)]`` and ``log[(1+e^-s) / (1+e^r)]``."""
    middle = float(numerics.softplus(s)) - float(numerics.softplus(r))
    return r + middle, middle - s


def unsaturate(y: npt.ArrayLike, r: float, s: float) -> FloatArray:
    """The inverse of :func:`saturate`; infinite at and beyond the limits.

    Examples
    --------
    >>> unsaturate(saturate([-1.5, 2.0], -5.0, -4.0), -5.0, -4.0)
    array([-1.5,  2. ])
    """
    y = np.asarray(y, dtype=np.float64)
    low, high = limits(r, s)
    inside = (y > low) & (y < high)
    x = np.where(y <= low, -np.inf, np.inf)
    v = y[inside]
    # e^y = c (e^x + e^r) / (1 + e^(x+s)) solved for e^x
    offset = float(numerics.softplus(r)) - float(numerics.softplus(s))
    # expm1 keeps the digits next to the limits, where the differences vanish
    x[inside] = v + np.log(-np.expm1(low - v)) - np.log(-np.expm1(v - high)) + offset
    return x


def saturating_class_sums(
    z: FloatArray, weight: FloatArray | None, p: FloatArray, log_odds: float, sign: float
) -> ClassNewtonSums:
    """Loss, gradient and Hessian in ``p = (a, b, r, s)`` of one class; ``sign`` is -1 for targets."""
    a, b, r, s = p
    loss, gradient, hessian, n = 0.0, np.zeros(4), np.zeros((4, 4)), 0.0
    # r and s are the same for all trials: their part of the derivatives is computed once
    (level_r, level_s), (other_r, other_s) = numerics.sigmoid_both_ways(p[2:])
    # blocks keep the temporary arrays small
    for block in numerics.blocks(len(z)):
        z_block = z[block]
        w = np.ones(len(z_block)) if weight is None else weight[block]
        x = a * z_block + b
        t = sign * (saturate(x, r, s) + log_odds)
        # both tails of the sigmoid, because 1 - sigmoid loses its digits far out
        up, down = numerics.sigmoid_both_ways(t)
        first, second = sign * w * up, w * up * down
        at_r, before_r = numerics.sigmoid_both_ways(x - r)
        at_s, before_s = numerics.sigmoid_both_ways(x + s)
        slope = at_r - at_s
        jacobian = np.stack([slope * z_block, slope, before_r - level_r, level_s - at_s])
        bend_r, bend_s = at_r * before_r, at_s * before_s
        # second derivatives of the saturation times the first derivative of the loss
        xx, xr, xs = first * (bend_r - bend_s), -first * bend_r, -first * bend_s
        rr = first * (bend_r - level_r * other_r)
        ss = first * (level_s * other_s - bend_s)
        aa, ab, bb = (xx * z_block * z_block).sum(), (xx * z_block).sum(), xx.sum()
        ar, br, as_, bs = (xr * z_block).sum(), xr.sum(), (xs * z_block).sum(), xs.sum()
        curved = [[aa, ab, ar, as_], [ab, bb, br, bs], [ar, br, rr.sum(), 0.0], [as_, bs, 0.0, ss.sum()]]
        loss += float((w * numerics.softplus(t)).sum())
        gradient += (jacobian * first).sum(axis=1)
        # einsum is plain loops; a matrix product would start BLAS threads inside our pool
        hessian += np.einsum("in,jn->ij", jacobian * second, jacobian) + np.array(curved)
        n += float(w.sum())
    return ClassNewtonSums(n, loss, gradient, hessian)


def saturating_descent(
    sums_at: Callable[[FloatArray], NewtonSums], start: FloatArray, prior: float, most: int
) -> numerics.Minimum:
    """The parameters with the least cross-entropy, among those for which the map increases (r + s < 0)."""

    def objective(p: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        sums = sums_at(p)
        t, n = prior / sums.target.n, (1.0 - prior) / sums.nontarget.n
        both = sums.target * t + sums.nontarget * n
        return both.loss, both.gradient, both.hessian

    def increases(p: FloatArray) -> bool:
        # for r + s >= 0 the upper limit would not be above the lower one
        return float(p[2] + p[3]) < 0.0

    return numerics.newton(objective, start, negligible=NEGLIGIBLE, max_evaluations=most, inside=increases)


def saturating_start_points(
    source: ScoreSource, low: float, high: float
) -> tuple[tuple[WeightedPoints, WeightedPoints], int]:
    """Weighted points of targets and non-targets to start from, and how many passes they took.

    When most scores share a few cells because others are far away, the cells are laid again around the
    many, and the few are moved to the ends: they saturate there too.
    """
    grid, passes = source.reduce(DensityGrid.at(low, high)), 1
    # at most five grids: every one is a pass
    while passes < 5:
        target, nontarget = grid.target.count, grid.nontarget.count
        share = target / target.sum() + nontarget / nontarget.sum()
        # all but 0.1 % of the trials at either end, classes weighted equally (their shares sum to 2)
        first, last = np.searchsorted(np.cumsum(share), [0.002, 1.998])
        if last - first > grid.cells // 32 or low == high:
            break
        margin = last - first + 1
        low = float(grid.edges[max(first - margin, 0)])
        high = float(grid.edges[min(last + 1 + margin, grid.cells)])
        grid, passes = source.reduce(partial(_grid_with_held_ends, low=low, high=high)), passes + 1
    nodes = [WeightedPoints.of(cells, grid.low, grid.high) for cells in (grid.target, grid.nontarget)]
    return (nodes[0], nodes[1]), passes


def _grid_with_held_ends(chunk: Scores, low: float, high: float) -> DensityGrid:
    target, nontarget = (np.clip(side, low, high) for side in (chunk.target, chunk.nontarget))
    return DensityGrid.of(Scores.part(target, nontarget), low, high)


def saturating_start_scale(nodes: tuple[WeightedPoints, WeightedPoints]) -> tuple[float, float, float]:
    """Where the scores lie, how wide, and how far apart the classes: by quartiles, blind to outliers."""
    quartiles = []
    for weighted in nodes:
        share = np.cumsum(weighted.weights) / weighted.total
        quartiles.append(weighted.points[np.searchsorted(share, [0.25, 0.5, 0.75])])
    low, middle, high = np.array(quartiles).T
    gap = float(middle[0] - middle[1])
    scale = float(high.max() - low.min())
    points = np.concatenate([weighted.points for weighted in nodes])
    # quartiles that coincide (many ties) leave the range as the only scale
    return float(middle.mean()), scale if scale > 0 else float(np.ptp(points)), gap


# mild and strong saturation: the objective is not convex, and the better end of the two is taken
STARTS = (-2.0, -5.0)
"""First guesses of r and s."""
STEEP = 200.0
"""A slope, in standardized scores, that no continuous scores ask for."""


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SaturatingMap(Map):
    """``llr = log[(e^x + e^r) / (1 + e^r)] - log[(1 + e^(x + s)) / (1 + e^s)]`` of ``x = a * score + b``.

    0 at x = 0, straight in the middle, flat at both ends. ``r`` and ``s`` are the log-odds that a target
    and a non-target is an outlier; the identity in x as both go to -inf.

    Examples
    --------
    >>> flat = SaturatingMap(a=1.0, b=0.0, r=-5.0, s=-4.0)
    >>> flat(0.0), flat.inverse(flat(2.0))
    (0.0, 2.0)
    >>> flat(np.array([-99.0, 99.0])).round(3)
    array([-4.989,  4.011])
    """

    a: float
    b: float
    r: float
    s: float

    kind: ClassVar[str] = "saturating"

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """The straight line, then the saturation."""
        return saturate(AffineMap(a=self.a, b=self.b).llr(scores, columns), self.r, self.s)

    @property
    def limits(self) -> tuple[float, float]:
        """The LLRs that no score goes beyond."""
        return limits(self.r, self.s)

    def back_to_scores(self) -> SaturatingInverse:
        """Exact on the open range between the limits; infinite scores beyond."""
        if self.a == 0.0:
            raise NotInvertibleError("the map is constant (a = 0) and has no inverse")
        return SaturatingInverse(a=self.a, b=self.b, r=self.r, s=self.s, method=f"inverse of {self.method}")

    def __repr__(self) -> str:
        low, high = self.limits
        line = f"{self.a:.6g} * score {self.b:+.6g}"
        return f"SaturatingMap({self.method}: {line}, saturating at {low:.4g} and {high:.4g})"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SaturatingInverse(Map):
    """The score that a :class:`SaturatingMap` with the same parameters maps to an LLR."""

    a: float
    b: float
    r: float
    s: float

    kind: ClassVar[str] = "saturating_inverse"

    def llr(self, scores: FloatArray, columns: Columns) -> FloatArray:
        """The saturation undone, then the straight line."""
        return (unsaturate(scores, self.r, self.s) - self.b) / self.a

    def back_to_scores(self) -> SaturatingMap:
        """The map itself."""
        return SaturatingMap(a=self.a, b=self.b, r=self.r, s=self.s, method=f"inverse of {self.method}")


def fit_saturating(
    source: AnyTrials, labels: Labels | None = None, *, prior: float = 0.5, max_passes: int = 30
) -> SaturatingMap:
    """Affine calibration that saturates, by minimal prior-weighted cross-entropy.

    ``x = a * score + b`` and ``llr = log(e^x + e^r) + log(1 + e^-s) - log(e^x + e^-s) - log(1 + e^r)``.
    All four parameters minimize ``prior`` times the mean of ``log(1 + e^-(llr + logit prior))`` over the
    targets plus ``1 - prior`` times the mean of ``log(1 + e^(llr + logit prior))`` over the non-targets.

    One pass for the moments, one for 2^14 cells on which Newton's method runs to the end from two starts,
    then full passes (loss, gradient and Hessian as mergeable sums) until the step is negligible: usually
    one or two, more for very heavy tails. Where outliers leave but a few cells to all others, a pass more
    gives these new cells. A limit that the data do not ask for drifts to very negative ``r`` or ``s``,
    where it changes nothing. ``details`` hold the limits, the normalized cross-entropy and the number of
    passes; a ``ShapeWarning`` says when the passes were not enough, or when the best map is a step, as it
    is for some very small sets.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    prior
        Prior probability of a target in the cross-entropy that is minimized (:term:`training prior`).
    max_passes
        How many times all trials may be looked at, at most.

    References
    ----------
    BOSARIS Toolkit 1.06, s-calibration; Brümmer & de Villiers 2011.

    Examples
    --------
    >>> from llrkit.scores import Scores
    >>> rng = np.random.default_rng(1)
    >>> target, nontarget = rng.normal(2, 2, 4000), rng.normal(-2, 2, 4000)
    >>> target[:80] = rng.normal(-2, 2, 80)  # 2 % of the targets are mislabeled
    >>> fitted = fit_saturating(Scores(target, nontarget))
    >>> round(fitted.limits[0], 1)  # log(0.02) = -3.9
    -3.7
    """
    source = as_source(source, labels)
    prior = numerics.probability(prior, "prior")
    whole_number(max_passes, 1, "max_passes")
    moments = training_moments(source, at_least=2)
    target, nontarget = moments.target, moments.nontarget
    # classes that only touch share a score, and overlap there
    if target.low[0] > nontarget.high[0] or nontarget.low[0] > target.high[0]:
        raise SeparationError("the classes do not overlap: the best slope is infinite")
    log_odds = float(numerics.logit(prior))
    nodes, passes = saturating_start_points(source, *moments.extremes)
    center, scale, gap = saturating_start_scale(nodes)

    def sums_of(trials: Iterable[tuple[Array, FloatArray | None]], p: FloatArray) -> NewtonSums:
        target, nontarget = (
            saturating_class_sums((values.astype(np.float64) - center) / scale, weights, p, log_odds, sign)
            for (values, weights), sign in zip(trials, (-1.0, 1.0), strict=True)
        )
        return NewtonSums(target, nontarget)

    def on_points(nodes: Sequence[WeightedPoints]) -> Callable[[FloatArray], NewtonSums]:
        return partial(sums_of, [(weighted.points, weighted.weights) for weighted in nodes])

    def on_trials(p: FloatArray) -> NewtonSums:
        return source.reduce(lambda chunk: sums_of(((chunk.target, None), (chunk.nontarget, None)), p))

    slope = float(np.clip(2.0 * gap / scale, -20.0, 20.0))  # about that of CMLG, never wild
    few = on_points([weighted.fewer() for weighted in nodes])
    starts = [saturating_descent(few, np.array([slope, 0.0, guess, guess]), prior, 300) for guess in STARTS]
    # few points, then all cells, then the trials: each descent starts where the cheaper one ended
    on_cells = saturating_descent(on_points(nodes), min(starts, key=lambda end: end.value).x, prior, 300)
    descent = saturating_descent(on_trials, on_cells.x, prior, max_passes)
    if not descent.converged or abs(descent.x[0]) > STEEP:
        what = f"has not converged after {descent.evaluations} passes"
        if descent.converged:
            what = "has become a step: its slope grows without end"
        advice = "There may be too few trials: compare with fit_logistic."
        warn_caller(f"saturating calibration {what}. {advice}", ShapeWarning)
    a, b, r, s = (float(value) for value in descent.x)
    fitted = SaturatingMap(a=a / scale, b=b - a * center / scale, r=r, s=s)
    lower, upper = fitted.limits
    details = {
        "llr_lower_limit": lower, "llr_upper_limit": upper, "converged": descent.converged,
        "cross_entropy": descent.value / float(numerics.binary_entropy(prior)),
        "passes": 1 + passes + descent.evaluations,
    }  # fmt: skip
    return replace(
        fitted, method="saturating", options={"prior": prior, "max_passes": max_passes}, details=details,
        provenance=provenance(moments), reading=reading_of(source.roles),
    )  # fmt: skip


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
        # the largest exponent is taken out, because e^(c z) of outliers
        # would overflow; chunks are rescaled when they merge
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
            # squares carry twice the exponent, hence the squared factors
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
        # a difference of two nearly equal numbers where one trial has all of the weight
        return max(self.second / self.zero - self.mean**2, 0.0)

    @property
    def effective(self) -> float:
        """How many trials of equal weight would be as good: ``(sum w)^2 / sum w^2``."""
        return self.zero**2 / self.square

    @property
    def largest_share(self) -> float:
        """The share of the trial with the largest weight."""
        # the largest weight is e^0 = 1 by the choice of top
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


def fit_expectation(
    source: AnyTrials, labels: Labels | None = None, *, regularization: float = 1.0
) -> AffineMap:
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
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
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
    source = as_source(source, labels)
    regularization = not_negative(regularization, "regularization")
    moments = training_moments(source)
    problem = _ExpectationEquations(moments, regularization)
    grid = source.reduce(DensityGrid.at(*moments.extremes))
    nodes = [WeightedPoints.of(cells, grid.low, grid.high) for cells in (grid.target, grid.nontarget)]
    scaled = [((weighted.points - problem.center) / problem.scale, weighted.weights) for weighted in nodes]

    def on_cells(a: float) -> ExponentialSumsPair:
        return ExponentialSumsPair(ExponentialSums.of(*scaled[0], -a), ExponentialSums.of(*scaled[1], a))

    def on_trials(a: float) -> ExponentialSumsPair:
        return source.reduce(ExponentialSumsPair.at(a, problem.center, problem.scale))

    start = on_cells(problem.a0)
    # fixed at the slope of CMLG, so a steep slope cannot shrink the weights it is judged by
    problem.precision = (start.nontarget.effective, start.target.effective)
    looks: list[tuple[FloatArray, ExponentialSumsPair]] = []

    def objective(x: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        looks.append((x, on_trials(problem.a0 * math.exp(x[0]))))
        return problem.derivatives(float(x[0]), float(x[1]), looks[-1][1])

    guess = np.array(problem.first_guess(on_cells))
    # two passes are spent already, on moments and cells
    best = numerics.newton(objective, guess, negligible=_NEGLIGIBLE, max_evaluations=PASSES - 2)
    t, b = best.x.tolist()
    # Newton may have looked further than it went; the sums reported are those at the solution
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
        options={"regularization": regularization}, details=details, provenance=provenance(moments),
        reading=reading_of(source.roles),
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
        # touching extremes do not overlap: some non-target must score above some target
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
            # the function is convex with a root at slope 0; the other
            # root is bracketed from CMLG's slope outwards
            while gap(high) <= 0.0:
                high += 0.5
            while gap(low) >= 0.0 and low > -40.0:
                low -= 0.5
            t = numerics.bracketed_root(gap, low, high, within=1e-12) if low < high else 0.0
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
        # for a given slope the objective is quadratic in b
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
