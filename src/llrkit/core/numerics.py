"""Numerical tools for scores: functions that are exact in the tails, sums by rows, roots and minima.

They are written with NumPy alone: SciPy takes longer to import than a small set of trials to evaluate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from sys import float_info
from typing import overload

import numpy as np

from llrkit.base.arguments import Array, BoolArray, FloatArray, Numbers
from llrkit.base.process import cached_property
from llrkit.errors import InputError
from llrkit.scores import Scores

LN2 = float(np.log(2.0))
# Larger temporary arrays cost more in page faults than in arithmetic; much smaller ones leave two threads
# waiting for each other at the interpreter's lock (docs/notes/decisions-data.md).
BLOCK = 1 << 17
"""Scores worked on at a time where temporary arrays are needed: they stay in the cache and are reused."""


def blocks(n: int, size: int = BLOCK) -> Iterator[slice]:
    """Consecutive slices that cover ``n`` items in blocks.

    Examples
    --------
    >>> list(blocks(10, 4))
    [slice(0, 4, None), slice(4, 8, None), slice(8, 10, None)]
    """
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def probability(value: float, name: str = "probability") -> float:
    """Check that ``value`` is a number strictly between 0 and 1.

    Examples
    --------
    >>> probability(0.01)
    0.01
    >>> probability(1.0, "prior")
    Traceback (most recent call last):
    llrkit.errors.InputError: prior must be strictly between 0 and 1, got 1.0
    >>> probability(95, "level")
    Traceback (most recent call last):
    llrkit.errors.InputError: level must be strictly between 0 and 1, got 95.0; 95 % is 0.95
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number strictly between 0 and 1, got {value!r}") from None
    # written as a negation, so that NaN is refused too
    if not 0.0 < number < 1.0:
        meant = f"; {number:g} % is {number / 100:g}" if 1.0 < number < 100.0 else ""
        raise InputError(f"{name} must be strictly between 0 and 1, got {number!r}{meant}")
    return number


@overload
def logit(p: float) -> float: ...
@overload
def logit(p: Numbers) -> FloatArray: ...
def logit(p: float | Numbers) -> float | FloatArray:
    """Log-odds ``log(p / (1 - p))``, natural logarithm.

    Examples
    --------
    >>> float(logit(0.5))
    0.0
    """
    p = np.asarray(p, dtype=np.float64)
    with np.errstate(divide="ignore"):  # the exact answers at 0 and 1 are -inf and inf
        # log1p(-p) keeps the digits of small p that 1 - p would round away
        log_odds: float | FloatArray = np.log(p) - np.log1p(-p)
    return log_odds


@overload
def sigmoid(x: float) -> float: ...
@overload
def sigmoid(x: Numbers) -> FloatArray: ...
def sigmoid(x: float | Numbers) -> float | FloatArray:
    """Inverse of :func:`logit`: ``1 / (1 + exp(-x))`` without overflow.

    Examples
    --------
    >>> float(sigmoid(-1000.0)), float(sigmoid(0.0))
    (0.0, 0.5)
    """
    x = np.asarray(x, dtype=np.float64)
    # exp sees no number above 0, so it cannot overflow
    small = np.exp(-np.abs(x))
    y: float | FloatArray = np.where(x >= 0.0, 1.0, small) / (1.0 + small)
    return y


def sigmoid_both_ways(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``sigmoid(x)`` and ``sigmoid(-x)``, both to the last digit, for one exponential.

    Examples
    --------
    >>> sigmoid_both_ways(np.array([-1000.0, 0.0, 40.0]))
    (array([0. , 0.5, 1. ]), array([1.00000000e+00, 5.00000000e-01, 4.24835426e-18]))
    """
    small = np.exp(-np.abs(x))
    above = 1.0 / (1.0 + small)
    # not 1 - above, which has no digits left once above rounds to 1
    below = small / (1.0 + small)
    positive = x >= 0.0
    return np.where(positive, above, below), np.where(positive, below, above)


@overload
def softplus(x: float) -> float: ...
@overload
def softplus(x: Numbers) -> FloatArray: ...
def softplus(x: float | Numbers) -> float | FloatArray:
    """``log(1 + exp(x))`` without overflow; exact at both infinities.

    Examples
    --------
    >>> float(softplus(800.0)), float(softplus(-float("inf")))
    (800.0, 0.0)
    """
    # logaddexp takes the larger term out of the logarithm, so exp(x) itself is never formed
    return np.logaddexp(0.0, np.asarray(x, dtype=np.float64))


@overload
def binary_entropy(p: float) -> float: ...
@overload
def binary_entropy(p: Numbers) -> FloatArray: ...
def binary_entropy(p: float | Numbers) -> float | FloatArray:
    """Entropy of a yes/no event in nats, ``-p log p - (1 - p) log(1 - p)``.

    Examples
    --------
    >>> round(float(binary_entropy(0.5)) / LN2, 12)
    1.0
    """
    p = np.asarray(p, dtype=np.float64)
    # softplus(-z) is -log(p) and softplus(z) is -log(1 - p)
    z = np.clip(logit(p), -800.0, 800.0)  # finite at 0 and 1 too, since 0 * inf is nan
    return p * softplus(-z) + (1.0 - p) * softplus(z)


# Numerators and denominators, highest power first: around the median, beside it, and in the tails.
_CENTER = (
    (2509.0809287301227, 33430.57558358813, 67265.7709270087, 45921.95393154987,
     13731.69376550946, 1971.5909503065513, 133.14166789178438, 3.3871328727963665),
    (5226.495278852854, 28729.085735721943, 39307.89580009271, 21213.794301586597,
     5394.196021424751, 687.1870074920579, 42.31333070160091, 1.0),
)  # fmt: skip
_SIDE = (
    (0.0007745450142783414, 0.022723844989269184, 0.2417807251774506, 1.2704582524523684,
     3.6478483247632045, 5.769497221460691, 4.630337846156546, 1.4234371107496835),
    (1.0507500716444169e-09, 0.0005475938084995345, 0.015198666563616457, 0.14810397642748008,
     0.6897673349851, 1.6763848301838038, 2.053191626637759, 1.0),
)  # fmt: skip
_TAIL = (
    (2.0103343992922881e-07, 2.7115555687434876e-05, 0.0012426609473880784, 0.026532189526576124,
     0.29656057182850487, 1.7848265399172913, 5.463784911164114, 6.657904643501103),
    (2.0442631033899397e-15, 1.421511758316446e-07, 1.8463183175100548e-05, 0.0007868691311456133,
     0.014875361290850615, 0.1369298809227358, 0.599832206555888, 1.0),
)  # fmt: skip


@overload
def probit(p: float) -> float: ...
@overload
def probit(p: Numbers) -> FloatArray: ...
def probit(p: float | Numbers) -> float | FloatArray:
    """Inverse of the standard normal distribution function: -inf at 0, inf at 1, nan outside.

    Algorithm AS 241 of Wichura (1988), exact to about 1 part in 10^16.

    Examples
    --------
    >>> round(float(probit(0.975)), 6)
    1.959964
    >>> from scipy.special import ndtri
    >>> p = np.array([1e-300, 1e-20, 0.01, 0.3, 0.5, 0.9999])
    >>> bool(np.allclose(probit(p), ndtri(p), rtol=1e-14, atol=0.0))
    True
    """
    given = np.asarray(p, dtype=np.float64)
    p = np.atleast_1d(given)
    q = p - 0.5
    with np.errstate(divide="ignore", invalid="ignore"):  # the answers at 0 and 1 are infinite
        # from the nearer end, where p or 1 - p is small and has all its digits; copysign restores the side
        r = np.sqrt(-np.log(np.where(q <= 0.0, p, 1.0 - p)))
        # 1.6, 5, 0.425 and 0.180625 = 0.425^2 belong to the coefficients and are Wichura's
        out = np.copysign(_ratio_of_polynomials(_SIDE, r - 1.6), q)
        tail = r > 5.0
        if tail.any():
            out[tail] = np.copysign(_ratio_of_polynomials(_TAIL, r[tail] - 5.0), q[tail])
            out[np.isinf(r)] = np.copysign(np.inf, q[np.isinf(r)])  # the ratio is inf / inf there
        center = np.abs(q) <= 0.425
        if center.any():
            at = q[center]
            out[center] = at * _ratio_of_polynomials(_CENTER, 0.180625 - at * at)
    return out.reshape(given.shape)[()]  # a number for a number


def _ratio_of_polynomials(coefficients: tuple[tuple[float, ...], ...], r: FloatArray) -> FloatArray:
    # by Horner's rule in place: np.polyval takes a quarter more time for small arrays
    above, below = (np.full_like(r, row[0]) for row in coefficients)
    for a, b in zip(coefficients[0][1:], coefficients[1][1:], strict=True):
        above *= r
        above += a
        below *= r
        below += b
    return np.asarray(above / below)


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
    # the sign of f_b instead of f_b: the product of two tiny values would underflow to 0
    if not f_a * math.copysign(1.0, f_b) < 0.0:
        raise ValueError(f"no change of sign between {low!r} and {high!r}: {f_b!r}, {f_a!r}")
    share = 0.5
    for _ in range(_MOST_STEPS):
        x = a + share * (b - a)
        f_x = excess(x)
        if (f_x > 0.0) == (f_a > 0.0):
            # c is the point that just left the bracket, the third one of the interpolation
            c, f_c = a, f_a
        else:
            (b, f_b), (c, f_c) = (a, f_a), (b, f_b)
        a, f_a = x, f_x
        best, f_best = (a, f_a) if abs(f_a) < abs(f_b) else (b, f_b)
        # the tolerance as a share of the bracket: above a half, the bracket itself is narrow enough
        close = (2.0 * float_info.epsilon * abs(best) + 0.5 * within) / abs(b - a) if a != b else 1.0
        if f_best == 0.0 or close > 0.5:
            return best
        xi, phi = (a - b) / (c - b), (f_a - f_b) / (f_c - f_b)
        # Chandrupatla's condition: the inverse quadratic through the three points is monotone in the bracket
        if 1.0 - math.sqrt(1.0 - xi) < phi < math.sqrt(xi):
            share = f_a / (f_b - f_a) * f_c / (f_b - f_c)
            share += (c - a) / (b - a) * f_a / (f_c - f_a) * f_b / (f_c - f_b)
        else:
            share = 0.5
        # no nearer to an end than the tolerance, so that the next step can close the bracket from there
        share = min(max(share, close), 1.0 - close)
    return best


# Four terms a row take a quarter of the time of one exponential a score (docs/notes/decisions-speed.md).
_SHORT, _LONG, _LONG_FROM = 64, 256, 1 << 21
"""Scores in a row, of fewer scores and of so many or more: there neighbors are closer still."""
WORTH_ROWS = 1 << 15
"""With fewer scores, neighbors are too far apart for rows to save anything."""
_NARROW = 2.0**-7
"""Four terms of a power series give the losses of a row that is no wider to 1 part in 10^14 or better."""
_AT_A_TIME = 1 << 17  # scores worked on together: in the cache, and few calls for which threads wait


class ScoreRows:
    """Rows of neighboring scores: the middle of each, and the sums of powers of the deviations from it.

    In a row the scores hardly differ, so the sum of a smooth function over them follows from its derivatives
    in the middle. Rows in which they do differ, scores that fill no row, and infinite ones are the ``rest``.

    Parameters
    ----------
    ascending
        Scores in ascending order.

    Examples
    --------
    >>> rows = ScoreRows(np.linspace(-2.0, 2.0, 100_000))
    >>> len(rows.middle), len(rows.rest)
    (1562, 32)
    >>> direct = np.logaddexp(0.0, np.linspace(-2.0, 2.0, 100_000))
    >>> bool(abs((rows.softplus_sum(0.0) + direct[-32:].sum()) / direct.sum() - 1.0) < 1e-14)
    True
    """

    def __init__(self, ascending: Array) -> None:
        self.n_neg_inf = int(np.searchsorted(ascending, -np.inf, side="right"))
        above = int(np.searchsorted(ascending, np.inf))
        self.n_pos_inf = len(ascending) - above
        self.finite = ascending[self.n_neg_inf : above]
        self.length = _LONG if len(self.finite) >= _LONG_FROM else _SHORT
        """Scores in a row."""
        rows = len(self.finite) // self.length
        self.table = self.finite[: rows * self.length].reshape(rows, self.length)
        self.last = self.finite[self.table.size :]
        """The finite scores after the last row."""
        # one of the scores, not their mean: powers[0] holds what is left of the first power
        self.middle: FloatArray = self.table[:, self.length // 2].astype(np.float64)

    @cached_property
    def powers(self) -> FloatArray:
        """Sums of the first four powers of the deviations, one column for each row."""
        powers = np.empty((4, len(self.table)))
        at_a_time = min(_AT_A_TIME // self.length, len(self.table))
        # two buffers for all blocks: fresh arrays of this size would cost page faults every time
        first, second = np.empty((2, at_a_time, self.length))
        with np.errstate(over="ignore", invalid="ignore"):  # as in Moments: scores beyond 1e75 have none
            for here in blocks(len(self.table), max(at_a_time, 1)):
                n = here.stop - here.start
                deviation, square = first[:n], second[:n]
                # 64 bits for 32-bit scores too, whose powers would lose digits
                np.subtract(self.table[here], self.middle[here, None], out=deviation, dtype=np.float64)
                np.multiply(deviation, deviation, out=square)
                np.einsum("ij->i", deviation, out=powers[0, here])
                # products of rows this short are summed in the calling thread, unlike those of matrices
                np.vecdot(deviation, deviation, out=powers[1, here])
                np.vecdot(square, deviation, out=powers[2, here])
                np.vecdot(square, square, out=powers[3, here])
        return powers

    @cached_property
    def _narrow(self) -> BoolArray:
        with np.errstate(over="ignore"):  # a width beyond float64 is inf, which is not narrow
            return np.asarray(self.table[:, -1] - self.table[:, 0] <= _NARROW)

    @cached_property
    def rest(self) -> Array:
        """The scores that :meth:`softplus_sum` leaves out."""
        kind = self.finite.dtype
        infinite = np.repeat(np.array([-np.inf, np.inf], dtype=kind), [self.n_neg_inf, self.n_pos_inf])
        return np.concatenate([self.table[~self._narrow].ravel(), self.last, infinite])

    def softplus_sum(self, shift: float, *, negated: bool = False) -> float:
        """``sum(log(1 + exp(x + shift)))`` over the scores in narrow rows, of ``-x`` if negated."""
        x = self.middle[self._narrow]
        d1, d2, d3, d4 = self.powers[:, self._narrow]
        if negated:  # odd powers change their sign with x
            x, d1, d3 = -x, -d1, -d3
        x = x + shift
        loss = np.logaddexp(0.0, x)
        p, q = np.exp(x - loss), np.exp(-loss)  # the derivative of the loss, and what it lacks to 1
        second = p * q
        # derivatives of the loss: p, p q, p q (q - p), p q (1 - 6 p q)
        terms = self.length * loss + p * d1 + second / 2.0 * d2
        terms += second * (q - p) / 6.0 * d3 + second * (1.0 - 6.0 * second) / 24.0 * d4
        return float(terms.sum())


def score_rows(chunk: Scores) -> tuple[ScoreRows | None, ScoreRows | None]:
    """The classes of a chunk in rows, once for all its summaries; None for one that rows save nothing of."""
    return chunk.prepared(_rows_if_long) if chunk.ascending else (None, None)


def _rows_if_long(ascending: Array) -> ScoreRows | None:
    return ScoreRows(ascending) if len(ascending) >= WORTH_ROWS else None


Objective = Callable[[FloatArray], tuple[float, FloatArray, FloatArray]]

# Larger Hessians are decomposed by Cholesky (docs/notes/decisions-models.md).
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
        # what the quadratic model gains by the whole step
        promised = -0.5 * float(gradient @ step)
        if 0.0 <= promised < negligible:
            end = x + (step if length <= radius else step * (radius / length))
            # a step across a saddle promises nothing: only a positive Hessian makes the model a bowl
            usable = (inside is None or inside(end)) and _is_positive(hessian)
            return Minimum(end if usable else x, value, gradient, evaluations, True)
        if evaluations >= max_evaluations:
            break
        accepted = False
        while evaluations < max_evaluations and not accepted:
            trial = x + (step if length <= radius else step * (radius / length))
            if inside is not None and not inside(trial):
                # from the step that was tried: a radius longer than it would try the same point again
                radius = min(radius, length) / 4.0
                if radius < 1e-12:  # every step leaves the region: x is at its border
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


def _best_shares(x: FloatArray, gradient: FloatArray, hessian: FloatArray) -> FloatArray:
    """The minimum of a quadratic model among shares: shares leave at 0 and come back where it falls."""
    n = len(x)
    curve = hessian + np.eye(n) * (1e-12 * max(float(np.trace(hessian)) / n, 1.0))  # shares may be alike
    at, free = x.copy(), x > 0.0
    # each round frees or fixes one share; the limit only guards against cycles by rounding
    for _ in range(50 * n):
        # the border of ones keeps the sum: the step has to add up to 0
        system = np.ones((free.sum() + 1, free.sum() + 1))
        system[:-1, :-1], system[-1, -1] = curve[np.ix_(free, free)], 0.0
        goal = np.zeros(n)
        slope = gradient + curve @ (at - x)
        goal[free] = np.linalg.solve(system, np.append(-slope[free], 0.0))[:-1]
        falling = free & (goal < 0.0)
        # only as far as the first share that reaches 0
        reach = float(np.min(-at[falling] / goal[falling], initial=1.0))
        at = np.maximum(at + reach * goal, 0.0)
        if reach < 1.0:
            free &= at > 1e-15  # what rounding leaves of a 0
            at[~free] = 0.0
            continue
        slope = gradient + curve @ (at - x)
        # at the minimum all free shares have one slope, the multiplier of the constraint
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
# what is left to gain at most: all of the best share in the place of these
SHARES = Space(
    lambda x, gradient: float(gradient @ x - gradient.min()), lambda x, *slopes: _best_shares(x, *slopes) - x
)
"""Numbers from 0 up that sum to one. The Hessian must have no negative eigenvalues; a convex objective for
which no exchange of shares promises more than the tolerance is that close to its minimum."""
