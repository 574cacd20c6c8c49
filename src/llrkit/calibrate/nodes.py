"""Training scores as a bounded number of weighted points, and the maximiser of their likelihood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from llrkit.core.density import CellSums, DensityGrid
from llrkit.core.moments import ClassMoments, Moments
from llrkit.core.special import FloatArray
from llrkit.errors import ConstantScoreError, InputError
from llrkit.scores import ScoreSource

Objective = Callable[[FloatArray], tuple[float, FloatArray]]


@dataclass(frozen=True, eq=False)
class Nodes:
    """Ascending weighted points that stand for the scores of one class.

    A cell of the density grid becomes two points of half its weight, one standard deviation of the cell
    on either side of the cell's mean: count, mean and variance in the cell are kept, so a sum over the
    points differs from the sum over the scores in the third order of the cell width only. A cell with one
    or two scores gives back exactly those.
    """

    points: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, cells: CellSums, low: float, high: float) -> Nodes:
        """The points of one class on a grid between ``low`` and ``high``."""
        filled = np.flatnonzero(cells.count)
        n = cells.count[filled].astype(np.float64)
        mean = cells.first[filled] / n
        spread = np.sqrt(np.maximum(cells.second[filled] / n - mean**2, 0.0))
        spread[n == 1.0] = 0.0
        size = len(cells.count)
        share = (filled + 0.5 + mean) / size
        middle = low * (1.0 - share) + high * share
        half = spread * (high / size - low / size)
        points = np.stack([middle - half, middle + half], axis=1).ravel()
        weights = np.repeat(0.5 * n, 2)
        single = np.repeat(half == 0.0, 2)
        keep = ~single
        keep[0::2] = True
        weights[single] *= 2.0
        return cls(points[keep], weights[keep])

    @property
    def total(self) -> float:
        """Number of scores."""
        return float(self.weights.sum())

    def mean_of(self, values: FloatArray) -> float:
        """Weighted mean of values at the points."""
        return float((self.weights * values).sum() / self.total)

    def standardised(self, centre: float, scale: float) -> Nodes:
        """The same points as ``(s - centre) / scale``; a negative scale turns their order round."""
        points = (self.points - centre) / scale
        return Nodes(points, self.weights) if scale > 0 else Nodes(points[::-1], self.weights[::-1])

    def quantile(self, p: float) -> float:
        """The point up to which a share ``p`` of the weight lies, half of its own weight included."""
        share = (np.cumsum(self.weights) - 0.5 * self.weights) / self.total
        return float(np.interp(p, share, self.points))


@dataclass(frozen=True, eq=False)
class Training:
    """What every fit on the density grid starts from."""

    moments: Moments
    target: Nodes
    nontarget: Nodes

    @property
    def centre(self) -> float:
        """Midpoint of the class means."""
        return 0.5 * float(self.moments.target.mean[0] + self.moments.nontarget.mean[0])

    @property
    def scale(self) -> float:
        """Root of the mean within-class variance; negative when targets score below non-targets."""
        v = 0.5 * float(self.moments.target.variance[0] + self.moments.nontarget.variance[0])
        if v == 0.0:
            raise ConstantScoreError("each class is constant: the slope would be infinite")
        down = self.moments.target.mean[0] < self.moments.nontarget.mean[0]
        return -float(np.sqrt(v)) if down else float(np.sqrt(v))

    def standardised(self) -> tuple[Nodes, Nodes]:
        """Both classes around 0 with standard deviation near 1, targets above non-targets.

        What is fitted there follows the scores through every affine map of them.
        """
        return (
            self.target.standardised(self.centre, self.scale),
            self.nontarget.standardised(self.centre, self.scale),
        )


def training_nodes(source: ScoreSource, moments: Moments) -> Training:
    """Second pass: the scores on the density grid between the extremes that the moments found."""
    low, high = moments.extremes
    return nodes_of_grid(source.reduce(DensityGrid.between(low, high)), moments)


def nodes_of_grid(grid: DensityGrid, moments: Moments) -> Training:
    """The points of both classes."""
    return Training(
        moments, Nodes.of(grid.target, grid.low, grid.high), Nodes.of(grid.nontarget, grid.low, grid.high)
    )


def require_spread(moments: Moments) -> None:
    """Refuse a class whose scores are all equal: it has no density."""
    for name, part in (("target", moments.target), ("nontarget", moments.nontarget)):
        if not part.variance[0] > 0.0:
            raise ConstantScoreError(f"the {name} scores are constant: they have no density")


def spread_of(part: ClassMoments) -> tuple[float, float]:
    """Mean and (1/N) standard deviation of a class."""
    return float(part.mean[0]), float(np.sqrt(part.variance[0]))


def check_share(alpha: float, name: str = "alpha") -> float:
    """A class weight strictly between 0 and 1."""
    if not (isinstance(alpha, (int, float)) and 0.0 < alpha < 1.0):
        raise InputError(f"{name} must be strictly between 0 and 1, got {alpha!r}")
    return float(alpha)


@dataclass(frozen=True, eq=False)
class Optimum:
    """Where a likelihood is largest."""

    x: FloatArray
    value: float
    gradient: float
    """Largest slope left in a direction that was free to move."""
    at_bound: tuple[bool, ...]


def maximise(
    objective: Objective, starts: Sequence[Sequence[float]], bounds: Sequence[tuple[float, float]]
) -> Optimum:
    """Largest value of a smooth function within bounds, from the best of several starts.

    L-BFGS-B finds the hill; Newton steps (Hessian from differences of the gradient) climb its last bit,
    so that the answer does not depend on where the search began.
    """
    low, high = np.array(bounds, dtype=np.float64).T
    best: tuple[float, FloatArray] | None = None

    def downhill(x: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = objective(x)
        return -value, -gradient

    for start in starts:
        found = minimize(
            downhill, np.clip(np.array(start, dtype=np.float64), low, high), jac=True, method="L-BFGS-B",
            bounds=list(bounds), options={"maxiter": 500, "ftol": 1e-13, "gtol": 1e-8},
        )  # fmt: skip
        if best is None or -found.fun > best[0]:
            best = (-float(found.fun), np.asarray(found.x, dtype=np.float64))
    if best is None:
        raise ValueError("at least one start is needed")
    return _newton(objective, best[1], low, high)


def _newton(objective: Objective, x: FloatArray, low: FloatArray, high: FloatArray) -> Optimum:
    value, gradient = objective(x)
    for _ in range(12):
        free = _free(x, gradient, low, high)
        if not free.any() or np.abs(gradient[free]).max() < 1e-13:
            break
        step = np.zeros_like(x)
        step[free] = _newton_step(objective, x, gradient, np.flatnonzero(free), low, high)
        for _ in range(30):
            moved = np.clip(x + step, low, high)
            new_value, new_gradient = objective(moved)
            # near the top the value is flat to the last bit, and the gradient says more
            flat = abs(new_value - value) <= 1e-13 * (1.0 + abs(value))
            if new_value > value and not flat:
                break
            if flat and np.abs(new_gradient[free]).max() < np.abs(gradient[free]).max():
                break
            step *= 0.5
        else:
            break
        x, value, gradient = moved, new_value, new_gradient
    free = _free(x, gradient, low, high)
    left = float(np.abs(gradient[free]).max()) if free.any() else 0.0
    return Optimum(x, value, left, tuple(bool(f) for f in (x <= low) | (x >= high)))


def _free(x: FloatArray, gradient: FloatArray, low: FloatArray, high: FloatArray) -> npt.NDArray[np.bool_]:
    return ~(((x <= low) & (gradient <= 0.0)) | ((x >= high) & (gradient >= 0.0)))


def _newton_step(
    objective: Objective,
    x: FloatArray,
    gradient: FloatArray,
    where: npt.NDArray[np.intp],
    low: FloatArray,
    high: FloatArray,
) -> FloatArray:
    hessian = np.empty((len(where), len(where)))
    for row, i in enumerate(where):
        up, down = x.copy(), x.copy()
        shift = 1e-5 * (1.0 + abs(x[i]))
        up[i], down[i] = min(x[i] + shift, high[i]), max(x[i] - shift, low[i])
        hessian[row] = (objective(up)[1] - objective(down)[1])[where] / (up[i] - down[i])
    size, axes = np.linalg.eigh(0.5 * (hessian + hessian.T))
    # uphill also along directions that are flat or curve the wrong way
    steep = np.maximum(np.abs(size), 1e-9 * max(1.0, float(np.abs(size).max())))
    step: FloatArray = axes @ ((axes.T @ gradient[where]) / steep)
    length = float(np.linalg.norm(step))
    return step if length <= 1.0 else step / length
