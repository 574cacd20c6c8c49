"""Which trials are scored: conditions on both sides, such as ``enroll_gender = test_gender``."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from llrkit.errors import InputError
from llrkit.io.trial_table import TrialTable
from llrkit.io.where_conditions import Condition
from llrkit.scores.roles import require_column

SIDES = ("enroll", "test")


def split_conditions(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Conditions on the test utterances, and those on trials, which name a side.

    Examples
    --------
    >>> split_conditions(["split = eval", "enroll_gender = test_gender"])
    (['split = eval'], ['enroll_gender = test_gender'])
    """
    on_trials = [text for text in texts if Condition.parse(text).column.startswith(("enroll_", "test_"))]
    return [text for text in texts if text not in on_trials], on_trials


def select_trials(trials: TrialTable, texts: Sequence[str]) -> TrialTable:
    """The trials that satisfy all conditions; the value may be a column of the other side.

    Examples
    --------
    >>> from llrkit.scores.roles import Roles
    >>> table = pl.DataFrame({"score": [1.0, 2.0], "enroll_sex": ["f", "f"], "test_sex": ["f", "m"]})
    >>> trials = TrialTable("s", "", table, Roles(("score",)))
    >>> select_trials(trials, ["enroll_sex = test_sex"]).table["score"][0]
    1.0
    """
    kept = pl.Series([True]).new_from_index(0, trials.table.height)
    for text in texts:
        condition = Condition.parse(text)
        require_column(condition.column, trials.table.columns, "--where")
        column, value = trials.table[condition.column], condition.values[0]
        if value in trials.table.columns and value.startswith(("enroll_", "test_")):
            if condition.op not in ("=", "!="):
                raise InputError(f"--where {text!r}: two columns are compared with = or !=")
            same = column.cast(pl.String) == trials.table[value].cast(pl.String)
            kept &= same if condition.op == "=" else ~same
        else:
            kept &= condition.holds(column)
    chosen = trials.only(kept)
    if chosen.table.is_empty():
        raise InputError(f"no trial satisfies --where {' and '.join(texts)}")
    return chosen
