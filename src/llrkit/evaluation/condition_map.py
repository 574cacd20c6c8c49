"""One number for each pair of conditions, as a heat map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.column_values import natural_order
from llrkit.errors import EmptyClassError, InputError, UnknownNameError
from llrkit.evaluation.evaluate import evaluate
from llrkit.evaluation.over_groups import group_name
from llrkit.metrics.curve_base import Curve, as_floats
from llrkit.scores import ScoreSource, Trials

VALUES = {"eer": "EER", "cllr": "Cllr (bits)", "min_cllr": "min Cllr (bits)", "cllr_cal": "Cllr − min (bits)"}


@dataclass(frozen=True, eq=False)
class HeatMap(Curve):
    """A number for each pair of conditions: enrollment by test duration, say.

    Examples
    --------
    >>> HeatMap([[0.26, 0.2], [0.2, 0.03]], ("5 s", "full"), ("5 s", "full"), value_name="EER").values.shape
    (2, 2)
    """

    values: FloatArray
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    row_name: str = "enrollment"
    column_name: str = "test"
    value_name: str = ""
    percent: bool = False
    """Whether the values are rates, to be shown as percentages."""

    def __post_init__(self) -> None:
        as_floats(self, "values")
        if self.values.shape != (len(self.rows), len(self.columns)):
            raise InputError(
                f"values of shape {self.values.shape} do not fit {len(self.rows)} rows and "
                f"{len(self.columns)} columns"
            )
        super().__post_init__()


def condition_map(trials: Trials, rows: str, columns: str, *, value: str = "eer") -> HeatMap:
    """Evaluate every pair of values of two columns; NaN where a pair lacks trials of a class.

    Examples
    --------
    >>> trials = Trials({"score": [2.0, -1.0, 1.0, 1.5], "label": [1, 0, 1, 0],
    ...                  "enrollment": ["5 s", "5 s", "5 s", "5 s"], "test": ["5 s", "5 s", "full", "full"]})
    >>> condition_map(trials, "enrollment", "test", value="eer").values
    array([[0. , 0.5]])
    """
    _require_value(value)
    by_row = {
        str(key): {
            group_name(key): float(getattr(group, value))
            for key, group in evaluate(row_trials, by=columns).groups.items()
        }
        for key, row_trials in trials.by(rows).items()
    }
    across = list(dict.fromkeys(str(key) for key in trials.by(columns)))
    values = np.array([[row.get(name, np.nan) for name in across] for row in by_row.values()])
    return HeatMap(
        values,
        tuple(by_row),
        tuple(across),
        row_name=rows,
        column_name=columns,
        value_name=VALUES[value],
        percent=value == "eer",
    )


def group_map(
    systems: Mapping[str, ScoreSource], by: str, *, value: str = "eer", shared: str | None = None
) -> HeatMap:
    """Evaluate every group of every system: attacks by countermeasure, say.

    ``shared`` is the class that all groups share, as in :func:`llrkit.evaluate`.

    Examples
    --------
    >>> trials = Trials({"score": [2.0, -1.0, 3.0], "label": ["bonafide", "spoof", "spoof"],
    ...                  "attack": ["-", "A01", "A02"]})
    >>> attacks = group_map({"mine": trials}, "attack", shared="bonafide")
    >>> attacks.rows, attacks.values
    (('A01', 'A02'), array([[0. ],
           [0.5]]))
    """
    _require_value(value)
    groups = {name: evaluate(source, by=by, shared=shared).groups for name, source in systems.items()}
    rows = sorted({key for of_system in groups.values() for key in of_system}, key=natural_order)
    if not rows:
        raise EmptyClassError(f"no value of {by!r} has trials of both classes")
    values = [
        [
            float(getattr(of_system[row], value)) if row in of_system else np.nan
            for of_system in groups.values()
        ]
        for row in rows
    ]
    return HeatMap(
        np.array(values),
        tuple(map(group_name, rows)),
        tuple(groups),
        row_name=by,
        column_name="system",
        value_name=VALUES[value],
        percent=value == "eer",
    )


def _require_value(value: str) -> None:
    if value not in VALUES:
        raise UnknownNameError(f"unknown value {value!r}; known are {', '.join(VALUES)}")
