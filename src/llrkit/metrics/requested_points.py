"""The operating points of an evaluation, and the thresholds at which errors are counted for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.loss_sums import LossSums
from llrkit.core.moments import Moments
from llrkit.metrics import curves
from llrkit.metrics.llr_cells import FAR
from llrkit.theory.operating_points import OperatingPoint
from llrkit.theory.presets import Points, costs_of

DEFAULT_POINTS = ("sre08", "sre10")


@dataclass(frozen=True)
class RequestedPoints:
    """The operating points to report, and which of them each averaged cost takes."""

    points: tuple[OperatingPoint, ...]
    primaries: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def thresholds(self) -> FloatArray:
        """The Bayes threshold of each point."""
        return np.array([point.threshold for point in self.points])


def resolve_points(points: Points, allow_unconfirmed: bool) -> RequestedPoints:
    """The operating points of names, priors and presets."""
    if isinstance(points, tuple) and points == DEFAULT_POINTS:
        return _default_points()
    return _resolved_points(points, allow_unconfirmed)


@cache
def _default_points() -> RequestedPoints:
    return _resolved_points(DEFAULT_POINTS, allow_unconfirmed=False)


def _resolved_points(points: Points, allow_unconfirmed: bool) -> RequestedPoints:
    flat: list[OperatingPoint] = []
    primaries = []
    for chosen_preset in costs_of(points, allow_unconfirmed=allow_unconfirmed):
        if chosen_preset.averages:
            primaries.append(
                (chosen_preset.name, tuple(range(len(flat), len(flat) + len(chosen_preset.points))))
            )
        flat.extend(chosen_preset.points)
    return RequestedPoints(tuple(flat), tuple(primaries))


def measurement_thresholds(moments: Moments, requested: RequestedPoints) -> FloatArray:
    """Where errors are counted: for the curves, at the operating points, and far out for the cells."""
    low, high = moments.extremes
    if not low <= high:  # no finite score at all
        low = high = 0.0
    share = np.linspace(0.0, 1.0, curves.LLR_STEPS + 1)
    llrs = low * (1.0 - share) + high * share  # high - low may be beyond float64
    return np.concatenate([-curves.BAYES_LOG_ODDS, llrs, requested.thresholds, FAR])


def at_points(losses: LossSums, requested: RequestedPoints) -> LossSums:
    """The losses with the errors at the operating points only."""
    first = len(curves.BAYES_LOG_ODDS) + curves.LLR_STEPS + 1
    return losses.slice_thresholds(first, first + len(requested.points))
