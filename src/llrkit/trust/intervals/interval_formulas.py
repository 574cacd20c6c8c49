"""From an estimate and its variance to an interval, and exact intervals of rates."""

from __future__ import annotations

import math

from llrkit.core.elementary_functions import probability
from llrkit.errors import InputError


def quantile(level: float, df: float = math.inf) -> float:
    """Half-width of a two-sided interval in standard errors: normal, or Student t.

    Examples
    --------
    >>> round(quantile(0.95), 4), round(quantile(0.95, 9), 4)
    (1.96, 2.2622)
    """
    from scipy.special import ndtri, stdtrit

    upper = 0.5 + 0.5 * probability(level, "level")
    return float(ndtri(upper) if math.isinf(df) else stdtrit(df, upper))


def on_log_scale(value: float, error: float) -> tuple[float, float]:
    """``value`` times and divided by ``exp(error / value)``: never below zero.

    Examples
    --------
    >>> on_log_scale(1.0, math.log(2.0))
    (0.5, 2.0)
    """
    factor = math.exp(min(error / value, 700.0))
    return value / factor, value * factor


def on_logit_scale(rate: float, error: float) -> tuple[float, float]:
    """A rate moved by ``error`` to either side on the logit scale: never outside 0 to 1.

    Examples
    --------
    >>> low, high = on_logit_scale(0.5, 0.25)
    >>> round(low + high, 12), round(low, 4)
    (1.0, 0.2689)
    """
    step = math.exp(min(error / (rate * (1.0 - rate)), 700.0))
    odds = rate / (1.0 - rate)
    return odds / (odds + step), odds * step / (1.0 + odds * step)


def clopper_pearson(errors: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Exact interval of a rate, from the number of errors among independent trials.

    The rates at which so few, and so many, errors have a chance of ``(1 - level) / 2`` (Clopper & Pearson
    1934): it covers at least as often as it says.

    Examples
    --------
    >>> low, high = clopper_pearson(0, 100)
    >>> low, round(high, 6), round(1 - 0.025 ** (1 / 100), 6)
    (0.0, 0.036217, 0.036217)
    """
    from scipy.special import betaincinv

    if n < 1 or not 0 <= errors <= n:
        raise InputError(f"{errors!r} errors among {n!r} trials: expected 0 <= errors <= n, n at least 1")
    tail = 0.5 - 0.5 * probability(level, "level")
    low = float(betaincinv(errors, n - errors + 1, tail)) if errors > 0 else 0.0
    high = float(betaincinv(errors + 1, n - errors, 1.0 - tail)) if errors < n else 1.0
    return low, high
