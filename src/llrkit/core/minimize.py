"""Newton loops: damped, counted, and safe on singular Hessians; freely, or for shares that sum to one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import FloatArray

Objective = Callable[[FloatArray], tuple[float, FloatArray, FloatArray]]


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where the loop stopped, and why."""

    x: FloatArray
    value: float
    gradient: FloatArray
    evaluations: int
    converged: bool


def newton(
    objective: Objective,
    start: FloatArray,
    *,
    tolerance: float = 1e-13,
    max_evaluations: int = 60,
    good_enough: float = -np.inf,
) -> Minimum:
    """Minimize by Newton steps, shortened as long as the objective rises.

    ``objective`` gives value, gradient and Hessian. No step is longer than a radius that grows with every
    success: where almost all trials are decided the curvature vanishes and a full step is senseless. The
    loop ends when the largest component of the gradient is below ``tolerance``, when rounding leaves
    nothing to gain, when the value falls below ``good_enough``, or after ``max_evaluations``.

    Examples
    --------
    >>> bowl = lambda x: (float((x**4).sum()), 4 * x**3, np.diag(12 * x**2))
    >>> newton(bowl, np.array([1.0, -2.0]), tolerance=1e-9).converged
    True
    """
    x = np.asarray(start, dtype=np.float64)
    value, gradient, hessian = objective(x)
    evaluations = 1
    radius = 1.0 + float(np.linalg.norm(x))
    while evaluations < max_evaluations:
        if float(np.abs(gradient).max()) <= tolerance or value <= good_enough:
            break
        step = _newton_step(gradient, hessian)
        accepted = False
        while evaluations < max_evaluations and not accepted:
            length = float(np.linalg.norm(step))
            trial = x + (step if length <= radius else step * (radius / length))
            new_value, new_gradient, new_hessian = objective(trial)
            evaluations += 1
            # at the bottom the value only jitters: there a smaller gradient is progress too
            flat = abs(new_value - value) <= 1e-14 * abs(value)  # what rounding does to a long sum
            smaller = float(np.abs(new_gradient).max()) < float(np.abs(gradient).max())
            if new_value < value or (flat and smaller):
                x, value, gradient, hessian = trial, new_value, new_gradient, new_hessian
                accepted, radius = True, 4.0 * radius
            elif flat:
                return Minimum(x, value, gradient, evaluations, True)
            else:
                radius = min(radius, length) / 4.0
    converged = float(np.abs(gradient).max()) <= tolerance or value <= good_enough
    return Minimum(x, value, gradient, evaluations, converged)


def newton_of_shares(
    objective: Objective, start: FloatArray, *, tolerance: float = 1e-12, max_evaluations: int = 60
) -> Minimum:
    """Minimize a function of shares: numbers from 0 up that sum to one.

    Each step goes to the minimum of the quadratic model among all shares, shortened as long as the objective
    rises; the Hessian must have no negative eigenvalues. The loop ends when no exchange of shares promises
    more than ``tolerance``: a convex objective is then that close to its minimum.

    Examples
    --------
    >>> goal = np.array([0.9, 0.3, -0.4])
    >>> bowl = lambda x: (float(((x - goal) ** 2).sum()), 2 * (x - goal), 2 * np.eye(3))
    >>> newton_of_shares(bowl, np.full(3, 1 / 3)).x
    array([0.8, 0.2, 0. ])
    """
    x = np.asarray(start, dtype=np.float64)
    value, gradient, hessian = objective(x)
    evaluations, step = 1, None
    while evaluations < max_evaluations and _promised_gain(x, gradient) > tolerance:
        step = _best_shares(x, gradient, hessian) - x if step is None else step / 4.0
        new_value, new_gradient, new_hessian = objective(x + step)
        evaluations += 1
        flat = abs(new_value - value) <= 1e-14 * abs(value)  # what rounding does to a long sum
        if flat and _promised_gain(x + step, new_gradient) >= _promised_gain(x, gradient):
            return Minimum(x, value, gradient, evaluations, True)
        if flat or new_value < value:
            x, value, gradient, hessian, step = x + step, new_value, new_gradient, new_hessian, None
    return Minimum(x, value, gradient, evaluations, _promised_gain(x, gradient) <= tolerance)


def _promised_gain(x: FloatArray, gradient: FloatArray) -> float:
    """What the slopes promise for an exchange of shares."""
    return float(gradient @ x - gradient.min())


def _best_shares(x: FloatArray, gradient: FloatArray, hessian: FloatArray) -> FloatArray:
    """The minimum of a quadratic model among shares: shares leave at 0 and come back where it falls."""
    n = len(x)
    curve = hessian + np.eye(n) * (1e-12 * max(float(np.trace(hessian)) / n, 1.0))  # shares may be alike
    at, free = x.copy(), x > 0.0
    for _ in range(50 * n):
        system = np.ones((free.sum() + 1, free.sum() + 1))
        system[:-1, :-1], system[-1, -1] = curve[np.ix_(free, free)], 0.0
        goal = np.zeros(n)
        slope = gradient + curve @ (at - x)
        goal[free] = np.linalg.solve(system, np.append(-slope[free], 0.0))[:-1]
        falling = free & (goal < 0.0)
        reach = float(np.min(-at[falling] / goal[falling], initial=1.0))
        at = np.maximum(at + reach * goal, 0.0)
        if reach < 1.0:
            free &= at > 1e-15
            at[~free] = 0.0
            continue
        slope = gradient + curve @ (at - x)
        level = float(slope[free].mean())
        worst = int(np.argmin(np.where(free, np.inf, slope)))
        if free.all() or slope[worst] >= level - 1e-14 * float(np.abs(slope).max()):
            break
        free[worst] = True
    return np.asarray(at / at.sum())


def _newton_step(gradient: FloatArray, hessian: FloatArray) -> FloatArray:
    """The Newton step with absolute eigenvalues: downhill also where the objective is not convex."""
    values, vectors = np.linalg.eigh(hessian)
    size = np.abs(values)
    # systems that repeat each other leave directions without curvature; where all trials are decided all are
    usable = size > max(1e-14 * size.max(), 1e-200)
    along = (vectors.T @ gradient)[usable] / size[usable]
    return np.asarray(-(vectors[:, usable] @ along))
