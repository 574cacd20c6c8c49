"""Conditions side by side: a table with pooled, mean and equalized numbers, and one number as a heat map."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._format import counted, not_among
from llrkit._plain import Json
from llrkit._results import Result, text_table
from llrkit.calibrate.option_checks import names_of
from llrkit.core.column_values import natural_order
from llrkit.errors import EmptyClassError, InputError, UnknownNameError
from llrkit.evaluation.equalized import equalized
from llrkit.evaluation.evaluate import evaluate
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.evaluation.evaluation_rows import named_rows
from llrkit.evaluation.evaluation_words import group_rows
from llrkit.evaluation.over_groups import group_name, over_groups
from llrkit.metrics.curve_base import Curve, as_floats
from llrkit.scores import ScoreSource, Trials
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.scores.source import as_source
from llrkit.theory.presets import Points


@dataclass(frozen=True, eq=False, repr=False)
class ConditionTable(Result):
    """The result of :func:`condition_table`."""

    by: str
    """Name of the column, or columns, that hold the conditions."""
    conditions: Mapping[Hashable, Evaluation]
    """Evaluation of each condition."""
    pooled: Evaluation
    """All trials together, as many as there are of each condition."""
    equalized: Evaluation
    """All trials together, with the same weight for each condition: one threshold, one scale for all."""
    averaged: Mapping[str, float]
    """Means of the numbers over the conditions: a best threshold or PAV map of its own for each."""
    skipped: Mapping[Hashable, str]
    """Conditions that were left out, with the reason."""

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers."""
        return {
            "by": self.by,
            "conditions": {group_name(name): one.to_dict() for name, one in self.conditions.items()},
            "pooled": self.pooled.to_dict(),
            "equalized": self.equalized.to_dict(),
            "averaged": dict(self.averaged),
            "skipped": {group_name(name): why for name, why in self.skipped.items()},
        }

    def _frame_rows(self) -> Sequence[Mapping[str, object]]:
        return named_rows(self.by, self.rows())

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows for people."""
        return group_rows(self.rows(), self.by)

    def rows(self) -> dict[str, Evaluation]:
        """The conditions by name, then all trials pooled, and with equal weight."""
        named = {group_name(key): one for key, one in self.conditions.items()}
        return {**named, "(pooled)": self.pooled, "(equalized)": self.equalized}

    def __repr__(self) -> str:
        return text_table(*self.table())


@takes_labels
def condition_table(
    source: ScoreSource,
    by: str | Sequence[str],
    points: Points = ("sre08", "sre10"),
    *,
    allow_unconfirmed: bool = False,
) -> ConditionTable:
    """Evaluate every condition, all of them pooled, and all of them with equal weight.

    A pooled number is dominated by the conditions with most trials, and is worse than the conditions when
    their scores are not on the same scale; a mean over conditions does not see that. Equalized, conditions
    weigh the same but share one scale and one threshold.

    Parameters
    ----------
    by
        The column that says which condition a trial belongs to, or several: every combination is one.
    points
        Operating points: priors, ``(prior, c_miss, c_fa)``, or names of presets.
    allow_unconfirmed
        Accept presets whose definition could not be confirmed.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> model = lk.theory.GaussianLLR.from_eer(0.05)
    >>> target, nontarget = model.rvs(1000, 8000, rng)
    >>> room = (np.arange(1000) % 2, np.arange(8000) % 4 == 0)
    >>> shifted = lk.Scores(target + 3 * room[0], nontarget + 3 * room[1], {"room": room})
    >>> table = lk.condition_table(shifted, "room", points=[0.1])
    >>> bool(table.averaged["eer"] < table.equalized.eer)  # the rooms disagree about the scale
    True
    """
    title = ", ".join(names_of(by, "by"))
    pooled = evaluate(as_source(source), points, by=by, allow_unconfirmed=allow_unconfirmed)
    if not pooled.groups:
        raise EmptyClassError(f"no value of {title!r} has trials of both classes")
    averaged = over_groups(pooled.groups).mean
    equal_weights = equalized(source, by, points, allow_unconfirmed=allow_unconfirmed)
    return ConditionTable(title, pooled.groups, pooled, equal_weights, averaged, pooled.skipped_groups)


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
                f"values of shape {self.values.shape} do not fit {counted(len(self.rows), 'row')} and "
                f"{counted(len(self.columns), 'column')}"
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
        raise UnknownNameError(f"unknown value {not_among(value, VALUES)}")
