"""One number for each pair of conditions, as a heat map."""

from __future__ import annotations

import numpy as np

from llrkit.errors import UnknownNameError
from llrkit.metrics.measure import evaluate
from llrkit.metrics.pictures import HeatMap
from llrkit.scores import Trials

VALUES = {"eer": "EER", "cllr": "Cllr (bits)", "min_cllr": "min Cllr (bits)", "cllr_cal": "Cllr − min (bits)"}


def condition_map(trials: Trials, rows: str, columns: str, *, value: str = "eer") -> HeatMap:
    """Evaluate every pair of values of two columns; NaN where a pair lacks trials of a class.

    Examples
    --------
    >>> trials = Trials({"score": [2.0, -1.0, 1.0, 1.5], "label": [1, 0, 1, 0],
    ...                  "enrolment": ["5 s", "5 s", "5 s", "5 s"], "test": ["5 s", "5 s", "full", "full"]})
    >>> condition_map(trials, "enrolment", "test", value="eer").values
    array([[0. , 0.5]])
    """
    if value not in VALUES:
        raise UnknownNameError(f"unknown value {value!r}; known are {', '.join(VALUES)}")
    found = {
        str(key): {
            name: float(getattr(group, value)) for name, group in evaluate(part, by=columns).groups.items()
        }
        for key, part in trials.by(rows).items()
    }
    across = list(dict.fromkeys(str(key) for key in trials.by(columns)))
    values = np.array([[row.get(name, np.nan) for name in across] for row in found.values()])
    return HeatMap(
        values,
        tuple(found),
        tuple(across),
        row_name=rows,
        column_name=columns,
        value_name=VALUES[value],
        percent=value == "eer",
    )
