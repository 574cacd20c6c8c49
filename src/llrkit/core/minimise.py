"""The Newton loop: damped, counted, and safe on singular or indefinite Hessians."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llrkit.core.special import FloatArray

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
    """Minimise by Newton steps, shortened as long as the objective rises.

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


def _newton_step(gradient: FloatArray, hessian: FloatArray) -> FloatArray:
    """The Newton step with absolute eigenvalues: downhill also where the objective is not convex."""
    values, vectors = np.linalg.eigh(hessian)
    size = np.abs(values)
    usable = size > 1e-14 * size.max()  # systems that repeat each other leave directions without curvature
    along = (vectors.T @ gradient)[usable] / size[usable]
    return np.asarray(-(vectors[:, usable] @ along))
