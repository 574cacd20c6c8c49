"""The root of a function between two ends, without ``scipy.optimize``, which takes long to import."""

from __future__ import annotations

from collections.abc import Callable
from math import copysign, sqrt
from sys import float_info

_MOST_STEPS = 1200  # as many halvings lead from anywhere to the smallest number there is


def bracketed_root(
    excess: Callable[[float], float], low: float, high: float, *, within: float = 0.0
) -> float:
    """Where ``excess`` crosses zero between ``low`` and ``high``, at which it must differ in sign.

    Chandrupatla's method: inverse quadratic interpolation where three points say that it will do, bisection
    elsewhere. The answer lies within ``within`` of the root, or as close as rounding permits.

    Reference: T. R. Chandrupatla, "A new hybrid quadratic/bisection algorithm for finding the zero of a
    nonlinear function without using derivatives", Advances in Engineering Software 28 (1997).

    Examples
    --------
    >>> bracketed_root(lambda x: x * x - 2.0, 0.0, 2.0)
    1.4142135623730954
    """
    a, b = float(high), float(low)  # the newest point is a; the root lies between a and b
    f_a, f_b = excess(a), excess(b)
    if f_a == 0.0 or f_b == 0.0:
        return a if f_a == 0.0 else b
    if not f_a * copysign(1.0, f_b) < 0.0:
        raise ValueError(f"no change of sign between {low!r} and {high!r}: {f_b!r}, {f_a!r}")
    share = 0.5
    for _ in range(_MOST_STEPS):
        x = a + share * (b - a)
        f_x = excess(x)
        if (f_x > 0.0) == (f_a > 0.0):
            c, f_c = a, f_a
        else:
            (b, f_b), (c, f_c) = (a, f_a), (b, f_b)
        a, f_a = x, f_x
        best, f_best = (a, f_a) if abs(f_a) < abs(f_b) else (b, f_b)
        close = (2.0 * float_info.epsilon * abs(best) + 0.5 * within) / abs(b - a) if a != b else 1.0
        if f_best == 0.0 or close > 0.5:
            return best
        xi, phi = (a - b) / (c - b), (f_a - f_b) / (f_c - f_b)
        if 1.0 - sqrt(1.0 - xi) < phi < sqrt(xi):
            share = f_a / (f_b - f_a) * f_c / (f_b - f_c)
            share += (c - a) / (b - a) * f_a / (f_c - f_a) * f_b / (f_c - f_b)
        else:
            share = 0.5
        share = min(max(share, close), 1.0 - close)
    return best
