"""The Newton loop: damped, counted, and safe on singular Hessians; freely, or for shares that sum to one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import FloatArray

Objective = Callable[[FloatArray], tuple[float, FloatArray, FloatArray]]

_EIGENVALUES_UP_TO = 64
_RIDGE = 1e-14
"""Of the largest curvature: enough for a decomposition, and for no other minimum."""


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where the loop stopped, and why."""

    x: FloatArray
    value: float
    gradient: FloatArray
    evaluations: int
    converged: bool


@dataclass(frozen=True)
class Space:
    """Where a minimum is looked for: how far a point is from it by its slopes, and the step to take."""

    left: Callable[[FloatArray, FloatArray], float]
    """Of point and gradient; 0 at the minimum."""
    step: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
    """Of point, gradient and Hessian."""


def newton(
    objective: Objective,
    start: FloatArray,
    *,
    over: Space | None = None,
    tolerance: float = 1e-13,
    max_evaluations: int = 60,
    good_enough: float = -np.inf,
    negligible: float = 0.0,
    inside: Callable[[FloatArray], bool] | None = None,
) -> Minimum:
    """Minimize by Newton steps, shortened as long as the objective rises.

    ``objective`` gives value, gradient and Hessian. No step is longer than a radius that grows with every
    success: where almost all trials are decided the curvature vanishes and a full step is senseless. The
    loop ends when what is left (the largest component of the gradient, or the gain that :data:`SHARES` are
    promised) is below ``tolerance``, when rounding leaves nothing to gain, when the value falls below
    ``good_enough``, or after ``max_evaluations``. A step that promises less than ``negligible`` is taken
    without another look. Points that are not ``inside`` are never looked at.

    Examples
    --------
    >>> bowl = lambda x: (float((x**4).sum()), 4 * x**3, np.diag(12 * x**2))
    >>> newton(bowl, np.array([1.0, -2.0]), tolerance=1e-9).converged
    True
    >>> goal = np.array([0.9, 0.3, -0.4])
    >>> bowl = lambda x: (float(((x - goal) ** 2).sum()), 2 * (x - goal), 2 * np.eye(3))
    >>> newton(bowl, np.full(3, 1 / 3), over=SHARES).x
    array([0.8, 0.2, 0. ])
    """
    space = FREE if over is None else over
    x = np.asarray(start, dtype=np.float64)
    value, gradient, hessian = objective(x)
    evaluations, left = 1, space.left(x, gradient)
    radius = 1.0 + _vector_length(x)
    while left > tolerance and value > good_enough:
        step = space.step(x, gradient, hessian)
        length = _vector_length(step)
        promised = -0.5 * float(gradient @ step)
        if 0.0 <= promised < negligible:
            end = x + (step if length <= radius else step * (radius / length))
            usable = (inside is None or inside(end)) and _is_positive(hessian)
            return Minimum(end if usable else x, value, gradient, evaluations, True)
        if evaluations >= max_evaluations:
            break
        accepted = False
        while evaluations < max_evaluations and not accepted:
            trial = x + (step if length <= radius else step * (radius / length))
            if inside is not None and not inside(trial):
                radius = min(radius, length) / 4.0
                if radius < 1e-12:
                    return Minimum(x, value, gradient, evaluations, True)
                continue
            new_value, new_gradient, new_hessian = objective(trial)
            evaluations += 1
            new_left = space.left(trial, new_gradient)
            # at the bottom the value only jitters: there a smaller gradient is progress too
            flat = abs(new_value - value) <= 1e-14 * abs(value)  # what rounding does to a long sum
            if new_value < value or (flat and new_left < left):
                x, value, gradient, hessian, left = trial, new_value, new_gradient, new_hessian, new_left
                accepted, radius = True, 4.0 * radius
            elif flat:
                return Minimum(x, value, gradient, evaluations, True)
            else:
                radius = min(radius, length) / 4.0
    return Minimum(x, value, gradient, evaluations, left <= tolerance or value <= good_enough)


def _is_positive(hessian: FloatArray) -> bool:
    """Whether all eigenvalues are positive; those of a large matrix may be 0."""
    if len(hessian) <= _EIGENVALUES_UP_TO:
        return float(np.linalg.eigvalsh(hessian)[0]) > 0.0
    return _raised_hessian(hessian) is not None


def _raised_hessian(hessian: FloatArray) -> FloatArray | None:
    """A large matrix with a trace of the identity added, if all its eigenvalues are positive then."""
    raised = hessian + _RIDGE * float(np.abs(np.diag(hessian)).max()) * np.eye(len(hessian))
    try:
        np.linalg.cholesky(raised)  # which fails where they are not
    except np.linalg.LinAlgError:
        return None
    return np.asarray(raised)


def _vector_length(x: FloatArray) -> float:
    return math.hypot(*x.tolist())  # squares of large steps would overflow


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
    """The Newton step with absolute eigenvalues: downhill also where the objective is not convex.

    Where there are many numbers and the Hessian is positive but for directions in which nothing changes,
    equations with a trace of the identity are solved instead: eigenvalues take ten times as long.
    """
    if len(gradient) > _EIGENVALUES_UP_TO:
        raised = _raised_hessian(hessian)
        if raised is not None:
            return np.asarray(-np.linalg.solve(raised, gradient), dtype=np.float64)
    values, vectors = np.linalg.eigh(hessian)
    size = np.abs(values)
    # systems that repeat each other leave directions without curvature; where all trials are decided all are
    usable = size > max(1e-14 * size.max(), 1e-200)
    along = (vectors.T @ gradient)[usable] / size[usable]
    return np.asarray(-(vectors[:, usable] @ along))


FREE = Space(lambda x, gradient: float(np.abs(gradient).max()), lambda x, *slopes: _newton_step(*slopes))
"""All numbers."""
SHARES = Space(_promised_gain, lambda x, *slopes: _best_shares(x, *slopes) - x)
"""Numbers from 0 up that sum to one. The Hessian must have no negative eigenvalues; a convex objective for
which no exchange of shares promises more than the tolerance is that close to its minimum."""
