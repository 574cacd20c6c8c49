"""The Beta family of proper scoring rules (Brümmer & Doddington 2013), in the log-odds domain.

For a posterior ``q = sigmoid(z)`` the costs are weighted over thresholds eta by a Beta(a, b) density:
``C_miss = int_q^1 Beta(eta) / eta`` for a target and ``C_fa = int_0^q Beta(eta) / (1 - eta)`` for a
non-target. Everything is written in ``z`` so that neither q nor 1 - q loses digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit.core.elementary_functions import LN2, sigmoid, softplus
from llrkit.errors import InputError, UnknownNameError

Cost = Callable[[FloatArray], FloatArray]


def _roots_of_posterior(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``sqrt(q)`` and ``sqrt(1 - q)``."""
    return np.exp(-0.5 * softplus(-z)), np.exp(-0.5 * softplus(z))


def _angle_of_posterior(z: FloatArray) -> FloatArray:
    """``arccos(sqrt(q))``, small for large z without cancellation."""
    return np.asarray(np.arctan(np.exp(-0.5 * np.clip(z, -1400.0, None))))


def _log_miss(z: FloatArray) -> FloatArray:
    return np.asarray(softplus(-z))


def _low_threshold_miss(z: FloatArray) -> FloatArray:
    p = sigmoid(-z)  # 1 - q
    small = np.minimum(p, 1e-3)
    series = small**2 * (1 / 2 + small * (1 / 3 + small * (1 / 4 + small * (1 / 5 + small / 6))))
    return np.asarray(2.0 * np.where(p > 1e-3, softplus(-z) - p, series))


def _artanh_miss(z: FloatArray) -> FloatArray:
    # artanh(sqrt(1-q)) = log((1 + sqrt(1-q)) / sqrt(q)) = asinh(e^(-z/2))
    return np.asarray(np.where(z < -1400, -z / 2 + math.log(2.0), np.arcsinh(_boosting_loss(z))))


def _boosting_loss(z: FloatArray) -> FloatArray:
    """``sqrt((1 - q) / q) = exp(-z / 2)``; inf where that is beyond float64."""
    return np.asarray(np.where(z < -1418.0, np.inf, np.exp(-0.5 * np.maximum(z, -1418.0))))


def _root_miss(z: FloatArray) -> FloatArray:
    # sqrt(1 + e^-z) - 1
    return np.asarray(np.where(z < -80.0, _boosting_loss(z), np.expm1(0.5 * softplus(-np.maximum(z, -80.0)))))


def _three_halves_miss(z: FloatArray) -> FloatArray:
    theta = _angle_of_posterior(z)
    small = np.minimum(theta, 0.02)
    # theta - sin(2 theta) / 2, by series where it cancels
    series = small**3 * (2 / 3 - small**2 * (2 / 15 - small**2 * 4 / 315))
    return np.asarray(8 / np.pi * np.where(theta > 0.02, theta - 0.5 * np.sin(2 * theta), series))


def _half_two_miss(z: FloatArray) -> FloatArray:
    # q^(-1/2) + q^(1/2) - 2 = (1 - q^(1/2))^2 / q^(1/2)
    safe = np.maximum(z, -80.0)
    near = np.expm1(-0.5 * softplus(-safe)) ** 2 / _roots_of_posterior(safe)[0]
    return np.asarray(1.5 * np.where(z < -80.0, _boosting_loss(z), near))


def _half_three_halves_miss(z: FloatArray) -> FloatArray:
    tangent = _boosting_loss(z)
    theta = _angle_of_posterior(z)
    small = np.minimum(theta, 0.02)
    series = small**3 * (1 / 3 + small**2 * (2 / 15 + small**2 * 17 / 315))  # tan(theta) - theta
    return np.asarray(4 / np.pi * np.where(theta > 0.02, tangent - theta, series))


# C_miss for each (a, b) with a closed form; C_fa of (a, b) at z is C_miss of (b, a) at -z.
_CLOSED_MISS: dict[tuple[float, float], Cost] = {
    (1.0, 1.0): _log_miss,
    (2.0, 2.0): lambda z: np.asarray(3.0 * sigmoid(-z) ** 2),
    (0.5, 0.5): lambda z: 2 / np.pi * _boosting_loss(z),
    (2.0, 1.0): lambda z: np.asarray(2.0 * sigmoid(-z)),
    (1.0, 2.0): _low_threshold_miss,
    (1.0, 0.5): _artanh_miss,
    (0.5, 1.0): _root_miss,
    (1.5, 1.5): _three_halves_miss,
    (2.0, 0.5): lambda z: 1.5 * _roots_of_posterior(z)[1],
    (0.5, 2.0): _half_two_miss,
    (1.5, 0.5): lambda z: 4 / np.pi * _angle_of_posterior(z),
    (0.5, 1.5): _half_three_halves_miss,
}

NAMED_RULES: dict[str, tuple[float, float]] = {
    "log": (1.0, 1.0),
    "brier": (2.0, 2.0),
    "boosting": (0.5, 0.5),
    "high-threshold": (2.0, 1.0),
    "low-threshold": (1.0, 2.0),
}


@dataclass(frozen=True)
class ScoringRule:
    """The proper scoring rule of a Beta(a, b) weighting of thresholds.

    Examples
    --------
    >>> rule = ScoringRule(2, 2)
    >>> float(rule.miss(0.0))  # 3 (1 - q)^2 at q = 1/2
    0.75
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        for name in ("a", "b"):
            value = getattr(self, name)
            if not (isinstance(value, (int, float)) and 0 < value < math.inf):
                raise InputError(f"{name} of a scoring rule must be a positive number, got {value!r}")
            object.__setattr__(self, name, float(value))

    def miss(self, z: npt.ArrayLike) -> FloatArray:
        """Cost of posterior log-odds ``z`` for a target."""
        return _cost_miss(self.a, self.b, np.asarray(z, dtype=np.float64))

    def fa(self, z: npt.ArrayLike) -> FloatArray:
        """Cost of posterior log-odds ``z`` for a non-target."""
        return _cost_miss(self.b, self.a, -np.asarray(z, dtype=np.float64))

    def miss_derivatives(self, z: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """First and second derivative of :meth:`miss` with respect to ``z``."""
        from scipy.special import beta as beta_function

        z = np.asarray(z, dtype=np.float64)
        q, p = sigmoid(z), sigmoid(-z)
        if self.a == self.b == 1.0:  # the logarithmic rule, by far the most used
            return -p, p * q
        first = -np.exp((1 - self.a) * softplus(-z) - self.b * softplus(z)) / beta_function(self.a, self.b)
        return first, first * ((self.a - 1) * p - self.b * q)

    def fa_derivatives(self, z: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """First and second derivative of :meth:`fa` with respect to ``z``."""
        first, second = ScoringRule(self.b, self.a).miss_derivatives(-np.asarray(z, dtype=np.float64))
        return -first, second


def _cost_miss(a: float, b: float, z: FloatArray) -> FloatArray:
    closed = _CLOSED_MISS.get((a, b))
    cost = closed(z) if closed is not None else _any_miss(a, b, z)
    if a <= 1:  # the cost of a target at -inf is infinite for these rules, finite for a > 1
        cost = np.where(z == -np.inf, np.inf, cost)
    return np.where(z == np.inf, 0.0, cost)


def _any_miss(a: float, b: float, z: FloatArray) -> FloatArray:
    """``int_q^1 Beta(eta | a, b) / eta`` for any a and b, from whichever end of the integral is near."""
    from scipy.special import beta as beta_function
    from scipy.special import betainc, betaincc, hyp2f1

    q, p = sigmoid(z), sigmoid(-z)
    if a > 1:
        share = np.where(z < 0, betaincc(a - 1, b, q), betainc(b, a - 1, p))
        return np.asarray((a + b - 1) / (a - 1) * share)
    near = np.minimum(p, 0.5)
    total = near**b / b * hyp2f1(b, 2 - a, b + 1, near) / beta_function(a, b)
    # left of 0 add int_q^{1/2} eta^(a-2) (1-eta)^(b-1), by the power series of (1-eta)^(b-1)
    depth = np.minimum(np.maximum(softplus(-z) - LN2, 0.0), 1e300)  # log(1/2 / q)
    d = 1.0 - a
    with np.errstate(over="ignore"):  # beyond float64 the cost is inf
        growth = np.exp(d * depth)
        series = np.expm1(d * depth) / d if d else depth.copy()
        coefficient, half, power = 1.0, 1.0, np.ones_like(z)
        rest = np.minimum(q, 0.5)
        for k in range(1, 60):
            coefficient *= (k - b) / k
            half /= 2.0
            power = power * rest
            # q^k e^(d depth) as one exponential: neither factor alone may stay in range
            tail = np.where(power > 0, power, 0.0) * np.where(power > 0, growth, 0.0)
            series = series + coefficient / (k - d) * (half - tail)
    return np.asarray(total + np.where(z < 0, 2.0**d * series / beta_function(a, b), 0.0))


def scoring_rule(rule: ScoringRule | str | tuple[float, float]) -> ScoringRule:
    """A scoring rule by name or by its ``(a, b)``.

    Examples
    --------
    >>> scoring_rule("brier")
    ScoringRule(a=2.0, b=2.0)
    """
    if isinstance(rule, ScoringRule):
        return rule
    if isinstance(rule, str):
        try:
            return ScoringRule(*NAMED_RULES[rule.lower()])
        except KeyError:
            known = ", ".join(NAMED_RULES)
            raise UnknownNameError(
                f"unknown scoring rule {rule!r}; known are {known}, or a pair (a, b)"
            ) from None
    try:
        a, b = rule
    except (TypeError, ValueError):
        raise InputError(f"a scoring rule is a name or a pair (a, b), got {rule!r}") from None
    return ScoringRule(a, b)
