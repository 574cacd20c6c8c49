"""Curve objects of comparisons and experiments: plain data, filled where it is computed.

Like the curves of one evaluation (:mod:`llrkit.metrics.curves`) they hold what a plot shows and nothing
else, so that whoever computes them needs no plot, and a plot computes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from llrkit.core.special import FloatArray
from llrkit.errors import InputError
from llrkit.metrics.curves import Curve


@dataclass(frozen=True, eq=False)
class OperatingMarks(Curve):
    """Error rates at operating points: at the Bayes threshold and at the best one."""

    names: tuple[str, ...]
    actual_p_miss: FloatArray
    actual_p_fa: FloatArray
    best_p_miss: FloatArray
    best_p_fa: FloatArray


@dataclass(frozen=True, eq=False)
class ScoreToLlr(Curve):
    """What a calibration map makes of scores.

    Examples
    --------
    >>> ScoreToLlr([-1.0, 0.0, 1.0], [-2.0, 0.5, 3.0]).llr
    array([-2. ,  0.5,  3. ])
    """

    score: FloatArray
    llr: FloatArray

    def __post_init__(self) -> None:
        _as_floats(self, "score", "llr")
        _same_length(self, "score", "llr")
        super().__post_init__()


@dataclass(frozen=True, eq=False)
class CllrScatter(Curve):
    """One point for each trial list: Cllr by one calibration method against Cllr by another.

    Examples
    --------
    >>> CllrScatter("CMLG", "logistic regression", [0.11, 0.82], [0.11, 0.83]).x_name
    'CMLG'
    """

    x_name: str
    y_name: str
    x: FloatArray
    y: FloatArray
    labels: tuple[str, ...] = ()
    """What each point is, shown when pointed at."""

    def __post_init__(self) -> None:
        _as_floats(self, "x", "y")
        _same_length(self, "x", "y", *(("labels",) if self.labels else ()))
        super().__post_init__()


@dataclass(frozen=True, eq=False)
class PriorScan(Curve):
    """A cost against the log-odds of the weight that calibration was trained with.

    Examples
    --------
    >>> scan = PriorScan([-2.0, 0.0, 2.0], {"CMLG": [0.26, 0.39, 0.55]}, minimum=0.24)
    >>> scan.cost_name
    'C_primary'
    """

    log_odds: FloatArray
    costs: Mapping[str, FloatArray]
    """For each method, the cost at each of the log-odds."""
    minimum: float | None = None
    """What the best threshold would give."""
    cost_name: str = "C_primary"

    def __post_init__(self) -> None:
        _as_floats(self, "log_odds")
        object.__setattr__(self, "costs", _arrays(self.costs, len(self.log_odds), "costs"))
        super().__post_init__()


@dataclass(frozen=True, eq=False)
class HeatMap(Curve):
    """A number for each pair of conditions: enrolment by test duration, say.

    Examples
    --------
    >>> HeatMap([[0.26, 0.2], [0.2, 0.03]], ("5 s", "full"), ("5 s", "full"), value_name="EER").values.shape
    (2, 2)
    """

    values: FloatArray
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    row_name: str = "enrolment"
    column_name: str = "test"
    value_name: str = ""
    percent: bool = False
    """Whether the values are rates, to be shown as percentages."""

    def __post_init__(self) -> None:
        _as_floats(self, "values")
        if self.values.shape != (len(self.rows), len(self.columns)):
            raise InputError(
                f"values of shape {self.values.shape} do not fit {len(self.rows)} rows and "
                f"{len(self.columns)} columns"
            )
        super().__post_init__()


@dataclass(frozen=True, eq=False)
class FusionWeights(Curve):
    """What each system weighs in a fusion, with an interval where there is one.

    Examples
    --------
    >>> FusionWeights(("A", "B"), [0.889, 0.333], offset=0.0).weights.sum()
    np.float64(1.222)
    """

    systems: tuple[str, ...]
    weights: FloatArray
    offset: float = 0.0
    low: FloatArray | None = None
    high: FloatArray | None = None

    def __post_init__(self) -> None:
        limits = () if self.low is None else ("low", "high")
        _as_floats(self, "weights", *limits)
        _same_length(self, "systems", "weights", *limits)
        super().__post_init__()


def _as_floats(curve: Curve, *names: str) -> None:
    for name in names:
        object.__setattr__(curve, name, np.asarray(getattr(curve, name), dtype=np.float64))


def _same_length(curve: Curve, *names: str) -> None:
    lengths = {name: len(getattr(curve, name)) for name in names}
    if len(set(lengths.values())) > 1:
        raise InputError(f"{type(curve).__name__}: lengths differ, {lengths}")


def _arrays(values: Mapping[str, FloatArray], length: int, what: str) -> Mapping[str, FloatArray]:
    made = {}
    for name, given in values.items():
        array = np.asarray(given, dtype=np.float64).copy()
        if array.shape != (length,):
            raise InputError(f"{what}[{name!r}] has shape {array.shape}, expected ({length},)")
        array.flags.writeable = False
        made[name] = array
    return MappingProxyType(made)
