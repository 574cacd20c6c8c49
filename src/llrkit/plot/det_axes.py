"""The axes of a DET plot: which rates are shown and where the ticks are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.elementary_functions import probit
from llrkit.metrics.curves import ErrorCurve
from llrkit.plot.picture import Axis

# the more welcome a tick, the earlier it is listed; in percent
TICKS = (
    1, 10, 0.1, 40, 5, 0.01, 20, 2, 0.001, 0.5, 80, 0.0001, 0.2, 60, 90, 98, 0.05, 1e-5, 0.005, 99, 1e-6,
    99.9,
)  # fmt: skip
SMALLEST, USUAL_END, LARGEST = 1e-8, 0.8, 0.999
FEWEST_ERRORS = 1.0
BEYOND = 9.0
"""Probits that no axis reaches: rates of 0 and 1 are drawn there, off the picture."""


def on_axis(rates: FloatArray) -> FloatArray:
    """Rates as places on the axis; 0 and 1, which are infinitely far away, off the picture."""
    return np.asarray(np.clip(probit(rates), -BEYOND, BEYOND))


def det_limits(curves: Sequence[ErrorCurve]) -> tuple[tuple[float, float], tuple[float, float]]:
    """What part of a DET plot is worth showing, in probits of Pfa and of Pmiss.

    Down to the rates that one trial makes, and up to where the curves leave through the other end, or
    to 80 %.
    """
    low_fa = min(FEWEST_ERRORS / curve.n_nontarget for curve in curves)
    low_miss = min(FEWEST_ERRORS / curve.n_target for curve in curves)
    high_fa = max(float(curve.p_fa[np.searchsorted(curve.p_miss, low_miss)]) for curve in curves)
    high_miss = max(float(curve.p_miss[-1 - np.searchsorted(curve.p_fa[::-1], low_fa)]) for curve in curves)
    # beyond 80 % there is nothing to see, except of a system that is worse than chance
    worst = max(float(np.maximum(curve.p_fa, curve.p_miss).min()) for curve in curves)
    end = min(max(USUAL_END, 1.2 * worst), LARGEST)
    if worst == 0.0:  # room for the upper limits of rates without errors, about three trials
        high_fa, high_miss = max(high_fa, 10.0 * low_fa), max(high_miss, 10.0 * low_miss)
    fa, miss = _rate_limits(low_fa, min(high_fa, end)), _rate_limits(low_miss, min(high_miss, end))
    longer = max(fa[1] - fa[0], miss[1] - miss[0])
    return _limits_at_least(fa, longer / 1.5), _limits_at_least(miss, longer / 1.5)


def _rate_limits(low: float, high: float) -> tuple[float, float]:
    low = min(max(low, SMALLEST), 0.2)
    high = max(high, min(3.0 * low, 0.5), 0.02)
    return float(probit(low)) - 0.05, float(probit(high)) + 0.05


def _limits_at_least(limits: tuple[float, float], span: float) -> tuple[float, float]:
    missing = max(0.0, span - (limits[1] - limits[0])) / 2.0
    return limits[0] - missing, limits[1] + missing


def probit_axis(label: str, limits: tuple[float, float]) -> Axis:
    """An axis of rates in percent, as far apart as their probits."""
    apart = (limits[1] - limits[0]) / 8.0
    places: list[tuple[float, float]] = []
    for tick in TICKS:
        place = float(probit(tick / 100.0))
        inside = limits[0] <= place <= limits[1]
        if inside and all(abs(place - other) >= apart for other, _ in places):
            places.append((place, tick))
    places.sort()
    return Axis(
        label, limits, tuple(place for place, _ in places), tuple(f"{tick:.10g}" for _, tick in places)
    )


LOWEST_POWER = -6.0
"""Logarithmic axes go down to one in a million."""


def on_log_axis(rates: FloatArray) -> FloatArray:
    """Rates as powers of ten; 0, which is infinitely far away, off the picture.

    Examples
    --------
    >>> on_log_axis(np.array([0.0, 1e-6, 0.1]))
    array([-9., -6., -1.])
    """
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log10(rates), -BEYOND))


def log_limits(curves: Sequence[ErrorCurve]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Down to the rate that one trial makes, but at most 10^-6, and up to 1."""

    def lowest(n: float) -> float:
        return max(float(np.floor(np.log10(FEWEST_ERRORS / n))), LOWEST_POWER)

    fa = min(lowest(curve.n_nontarget) for curve in curves)
    miss = min(lowest(curve.n_target) for curve in curves)
    return (min(fa, -1.0) - 0.05, 0.05), (min(miss, -1.0) - 0.05, 0.05)


def log_axis(label: str, limits: tuple[float, float]) -> Axis:
    """An axis of rates with a tick at each power of ten."""
    powers = range(int(np.ceil(limits[0])), 1)
    ticks = tuple(f"{10.0**power:g}" for power in powers)
    return Axis(label, limits, tuple(float(power) for power in powers), ticks)


Place = Callable[[FloatArray], FloatArray]
"""From rates to places on an axis."""


@dataclass(frozen=True)
class DetAxes:
    """Where rates are on the axes of a DET plot, which part is shown, and how the axes are written."""

    place: Place
    limits: Callable[[Sequence[ErrorCurve]], tuple[tuple[float, float], tuple[float, float]]]
    axis: Callable[[str, tuple[float, float]], Axis]
    labels: tuple[str, str]


DET_AXES: Mapping[str, DetAxes] = MappingProxyType(
    {
        "probit": DetAxes(on_axis, det_limits, probit_axis, ("false alarms (%)", "misses (%)")),
        "log": DetAxes(on_log_axis, log_limits, log_axis, ("Pfa", "Pmiss")),
    }
)
