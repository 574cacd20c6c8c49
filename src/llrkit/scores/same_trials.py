"""Do two tables hold the same trials, and the same scores of them?"""

from __future__ import annotations

from typing import Literal

import polars as pl

from llrkit.scores.trials import Trials

SameTrials = Literal["other trials", "same scores", "other scores"]


def same_trials(first: Trials, second: Trials) -> SameTrials:
    """What two tables have in common, by their ids and labels in any order.

    Tables without ids count as other trials: nothing says that theirs are the same.

    Examples
    --------
    >>> columns = {"test": ["a", "b"], "label": [1, 0]}
    >>> one = Trials({**columns, "score": [1.5, 0.5]}, test="test")
    >>> same_trials(one, Trials({**columns, "score": [1.5, 0.7]}, test="test"))
    'other scores'
    """
    n_ids = len(first.roles.ids)
    if n_ids == 0 or len(second.roles.ids) != n_ids or len(first) != len(second):
        return "other trials"
    left, right = _table_in_order_of_ids(first), _table_in_order_of_ids(second)
    names = left.columns[: n_ids + 1]  # the label stands behind the ids
    if not left.select(names).equals(right.select(names)):
        return "other trials"
    return "same scores" if left.equals(right) else "other scores"


def _table_in_order_of_ids(trials: Trials) -> pl.DataFrame:
    """Ids as text, label and scores in columns that are named by number, in the order of the ids."""
    ids, scores = trials.roles.ids, trials.roles.score
    texts = [trials.table[name].cast(pl.String).alias(f"id{i}") for i, name in enumerate(ids)]
    numbers = [trials.table[name].cast(pl.Float64).alias(f"score{i}") for i, name in enumerate(scores)]
    table = pl.DataFrame([*texts, pl.Series("is_target", trials.is_target), *numbers])
    return table.sort(table.columns)
