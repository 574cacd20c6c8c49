"""The maximiser of likelihoods with a handful of parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from llrkit.core.special import FloatArray

Objective = Callable[[FloatArray], tuple[float, FloatArray]]
"""A function and its gradient."""


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
