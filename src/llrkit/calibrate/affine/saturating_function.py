"""The saturating function, its derivatives as mergeable sums, and the descent to its best parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array, FloatArray
from llrkit.calibrate.densities.training_points import WeightedPoints
from llrkit.core.density_grid import DensityGrid
from llrkit.core.elementary_functions import blocks, sigmoid_both_ways, softplus
from llrkit.core.newton_minimizer import Minimum, newton
from llrkit.core.newton_sums import ClassNewtonSums
from llrkit.core.summary_algebra import FieldwiseSums
from llrkit.scores import Scores, ScoreSource

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
    lower = np.logaddexp(x, r) - softplus(r)
    return np.asarray(lower if s == -np.inf else lower - (softplus(x + s) - softplus(s)))


def limits(r: float, s: float) -> tuple[float, float]:
    """The smallest and the largest LLR: ``log[e^r (1+e^s) / (1+e^r)]`` and ``log[(1+e^-s) / (1+e^r)]``."""
    middle = float(softplus(s)) - float(softplus(r))
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
    offset = float(softplus(r)) - float(softplus(s))
    x[inside] = v + np.log(-np.expm1(low - v)) - np.log(-np.expm1(v - high)) + offset
    return x


def saturating_class_sums(
    z: FloatArray, weight: FloatArray | None, p: FloatArray, log_odds: float, sign: float
) -> ClassNewtonSums:
    """Loss, gradient and Hessian in ``p = (a, b, r, s)`` of one class; ``sign`` is -1 for targets."""
    a, b, r, s = p
    loss, gradient, hessian, n = 0.0, np.zeros(4), np.zeros((4, 4)), 0.0
    (level_r, level_s), (other_r, other_s) = sigmoid_both_ways(p[2:])
    for block in blocks(len(z)):
        z_block = z[block]
        w = np.ones(len(z_block)) if weight is None else weight[block]
        x = a * z_block + b
        t = sign * (saturate(x, r, s) + log_odds)
        up, down = sigmoid_both_ways(t)
        first, second = sign * w * up, w * up * down
        (at_r, before_r), (at_s, before_s) = sigmoid_both_ways(x - r), sigmoid_both_ways(x + s)
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
        loss += float((w * softplus(t)).sum())
        gradient += (jacobian * first).sum(axis=1)
        # einsum is plain loops; a matrix product would start BLAS threads inside our pool
        hessian += np.einsum("in,jn->ij", jacobian * second, jacobian) + np.array(curved)
        n += float(w.sum())
    return ClassNewtonSums(n, loss, gradient, hessian)


@dataclass(frozen=True, eq=False)
class SaturatingSums(FieldwiseSums):
    """Loss, gradient and Hessian of both classes at given parameters."""

    target: ClassNewtonSums
    nontarget: ClassNewtonSums

    @classmethod
    def at(
        cls, p: FloatArray, center: float, scale: float, log_odds: float
    ) -> Callable[[Scores], SaturatingSums]:
        """A summarizer of the scores ``(score - center) / scale``."""

        def one(values: Array, sign: float) -> ClassNewtonSums:
            z = (values.astype(np.float64, copy=False) - center) / scale
            return saturating_class_sums(z, None, p, log_odds, sign)

        return lambda chunk: cls(one(chunk.target, -1.0), one(chunk.nontarget, 1.0))

    def weighted(self, prior: float) -> tuple[float, FloatArray, FloatArray]:
        """Prior-weighted cross-entropy in nats, its gradient and its Hessian."""
        t, n = prior / self.target.n, (1.0 - prior) / self.nontarget.n
        return (
            self.target.loss * t + self.nontarget.loss * n,
            self.target.gradient * t + self.nontarget.gradient * n,
            self.target.hessian * t + self.nontarget.hessian * n,
        )


def saturating_descent(
    objective: Callable[[FloatArray], SaturatingSums], start: FloatArray, prior: float, most: int
) -> Minimum:
    """The parameters with the least cross-entropy, among those for which the map increases (r + s < 0)."""
    return newton(
        lambda p: objective(p).weighted(prior),
        start,
        negligible=NEGLIGIBLE,
        max_evaluations=most,
        inside=lambda p: float(p[2] + p[3]) < 0.0,
    )


def saturating_start_points(
    source: ScoreSource, low: float, high: float
) -> tuple[tuple[WeightedPoints, WeightedPoints], int]:
    """Weighted points of targets and non-targets to start from, and how many passes they took.

    When most scores share a few cells because others are far away, the cells are laid again around the
    many, and the few are moved to the ends: they saturate there too.
    """
    grid, passes = source.reduce(DensityGrid.at(low, high)), 1
    while passes < 5:
        share = (
            grid.target.count / grid.target.count.sum() + grid.nontarget.count / grid.nontarget.count.sum()
        )
        first, last = np.searchsorted(np.cumsum(share), [0.002, 1.998])
        if last - first > grid.cells // 32 or low == high:
            break
        margin = last - first + 1
        low = float(grid.edges[max(first - margin, 0)])
        high = float(grid.edges[min(last + 1 + margin, grid.cells)])
        grid, passes = source.reduce(_saturating_grid_at(low, high)), passes + 1
    nodes = [WeightedPoints.of(cells, grid.low, grid.high) for cells in (grid.target, grid.nontarget)]
    return (nodes[0], nodes[1]), passes


def _saturating_grid_at(low: float, high: float) -> Callable[[Scores], DensityGrid]:
    return lambda chunk: DensityGrid.of(
        Scores.part(np.clip(chunk.target, low, high), np.clip(chunk.nontarget, low, high)), low, high
    )


def saturating_start_scale(nodes: tuple[WeightedPoints, WeightedPoints]) -> tuple[float, float, float]:
    """Where the scores lie, how wide, and how far apart the classes: by quartiles, blind to outliers."""
    quartiles = np.array([_quartiles_of_start(weighted) for weighted in nodes])
    low, middle, high = quartiles.T
    gap = float(middle[0] - middle[1])
    scale = float(high.max() - low.min())
    points = np.concatenate([weighted.points for weighted in nodes])
    return float(middle.mean()), scale if scale > 0 else float(np.ptp(points)), gap


def _quartiles_of_start(nodes: WeightedPoints) -> FloatArray:
    share = np.cumsum(nodes.weights) / nodes.total
    return nodes.points[np.searchsorted(share, [0.25, 0.5, 0.75])]
