"""The maximizer of likelihoods with a handful of parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import BoolArray, FloatArray, IntArray

Objective = Callable[[FloatArray], tuple[float, FloatArray]]
"""A function and its gradient."""

_MOST_EVALUATIONS = (
    250  # five times what scores with a density need; a class of ties makes a ridge without end
)


@dataclass(frozen=True, eq=False)
class Optimum:
    """Where a likelihood is largest."""

    x: FloatArray
    value: float
    gradient: float
    """Largest slope left in a direction that was free to move."""
    at_bound: tuple[bool, ...]


def maximize(
    objective: Objective,
    starts: Sequence[Sequence[float]],
    bounds: Sequence[tuple[float, float]],
    *,
    rough: Objective | None = None,
) -> Optimum:
    """Largest value of a smooth function within bounds, from the best of several starts.

    BFGS finds the hill; Newton steps (Hessian from differences of the gradient) climb its last bit, so that
    the answer does not depend on where the search began. ``rough``, if given, is nearly the same function and
    cheaper: its hill is climbed instead, and its Hessian tells the last steps where to go.

    Examples
    --------
    >>> def hill(x):
    ...     return -float(((x - 1.0) ** 2).sum()), -2.0 * (x - 1.0)
    >>> top = maximize(hill, [[5.0, 5.0]], [(0.0, 9.0), (2.0, 9.0)])
    >>> top.x, top.value, top.at_bound
    (array([1., 2.]), -1.0, (False, True))
    """
    low, high = np.array(bounds, dtype=np.float64).T
    easy = objective if rough is None else rough
    tops = [
        _climb_likelihood(easy, np.clip(np.array(start, dtype=float), low, high), low, high)
        for start in starts
    ]
    _, best = max(tops, key=lambda top: top[0])
    if rough is not None:
        best = _newton_of_likelihood(rough, best, low, high).x
    return _newton_of_likelihood(objective, best, low, high, rough)


def _climb_likelihood(
    objective: Objective, x: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[float, FloatArray]:
    """BFGS held within bounds. SciPy's calls LAPACK, whose threads cost more than all of a small fit."""
    value, gradient = objective(x)
    inverse, free = np.eye(len(x)), _free_parameters(x, gradient, low, high)
    evaluations = 1
    while evaluations < _MOST_EVALUATIONS:
        if not free.any() or np.abs(gradient[free]).max() < 1e-7:
            break
        step = (inverse * np.where(free, gradient, 0.0)).sum(axis=1) * free
        if (step * gradient).sum() <= 0.0:
            inverse, step = np.eye(len(x)), np.where(free, gradient, 0.0)
        step *= min(1.0, 1.0 / float(np.sqrt((step * step).sum())))
        for _ in range(40):
            moved = np.clip(x + step, low, high)
            new_value, new_gradient = objective(moved)
            evaluations += 1
            if new_value >= value + 1e-4 * float(((moved - x) * gradient).sum()):
                break
            step *= 0.5
        else:
            break
        s, y = moved - x, gradient - new_gradient
        gain, x, value, gradient = new_value - value, moved, new_value, new_gradient
        now = _free_parameters(x, gradient, low, high)
        inverse = _bfgs_update(inverse, s, y) if np.array_equal(now, free) else np.eye(len(x))
        if gain <= 1e-15 * (1.0 + abs(value)) and np.array_equal(now, free):
            break
        free = now
    return value, x


def _bfgs_update(inverse: FloatArray, s: FloatArray, y: FloatArray) -> FloatArray:
    """The BFGS formula for the inverse of minus the Hessian."""
    curve = float((s * y).sum())
    if curve <= 1e-10 * float((s * s).sum()):
        return inverse
    pulled = (inverse * y).sum(axis=1)
    both, square = s[:, None] * pulled, s[:, None] * s
    grown = inverse + square * (1.0 + float((y * pulled).sum()) / curve) / curve
    updated: FloatArray = grown - (both + both.T) / curve
    return updated


def _newton_of_likelihood(
    objective: Objective, x: FloatArray, low: FloatArray, high: FloatArray, rough: Objective | None = None
) -> Optimum:
    value, gradient = objective(x)
    curved = objective if rough is None else rough
    for _ in range(25):
        free = _free_parameters(x, gradient, low, high)
        if not free.any() or np.abs(gradient[free]).max() < 1e-13:
            break
        step = np.zeros_like(x)
        step[free] = _newton_step_within_bounds(curved, x, gradient, np.flatnonzero(free), low, high)
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
        if np.abs(new_gradient[free]).max() > 0.1 * np.abs(gradient[free]).max():
            curved = objective  # the rough function bends another way
        x, value, gradient = moved, new_value, new_gradient
    free = _free_parameters(x, gradient, low, high)
    left = float(np.abs(gradient[free]).max()) if free.any() else 0.0
    return Optimum(x, value, left, tuple(bool(f) for f in (x <= low) | (x >= high)))


def _free_parameters(x: FloatArray, gradient: FloatArray, low: FloatArray, high: FloatArray) -> BoolArray:
    return ~(((x <= low) & (gradient <= 0.0)) | ((x >= high) & (gradient >= 0.0)))


def _newton_step_within_bounds(
    objective: Objective,
    x: FloatArray,
    gradient: FloatArray,
    where: IntArray,
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
