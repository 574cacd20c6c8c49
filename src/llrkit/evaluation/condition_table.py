"""Conditions side by side: each by itself, all trials pooled, the mean, and all conditions equalized."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llrkit._results import Result, text_table
from llrkit.calibrate.option_checks import names_of
from llrkit.errors import EmptyClassError
from llrkit.evaluation.equalized import equalized
from llrkit.evaluation.evaluate import evaluate
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.evaluation.evaluation_rows import named_rows
from llrkit.evaluation.evaluation_words import group_rows
from llrkit.evaluation.over_groups import group_name, over_groups
from llrkit.scores import ScoreSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.scores.source import as_source
from llrkit.theory.operating_points import Points


@dataclass(frozen=True, eq=False, repr=False)
class ConditionTable(Result):
    """The result of :func:`condition_table`."""

    by: str
    """Name of the column, or columns, that hold the conditions."""
    conditions: Mapping[Any, Evaluation]
    """Evaluation of each condition."""
    pooled: Evaluation
    """All trials together, as many as there are of each condition."""
    equalized: Evaluation
    """All trials together, with the same weight for each condition: one threshold, one scale for all."""
    averaged: Mapping[str, float]
    """Means of the numbers over the conditions: a best threshold or PAV map of its own for each."""
    skipped: Mapping[Any, str]
    """Conditions that were left out, with the reason."""

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return {
            "by": self.by,
            "conditions": {group_name(name): one.to_dict() for name, one in self.conditions.items()},
            "pooled": self.pooled.to_dict(),
            "equalized": self.equalized.to_dict(),
            "averaged": dict(self.averaged),
            "skipped": {group_name(name): why for name, why in self.skipped.items()},
        }

    def _frame_rows(self) -> list[dict[str, Any]]:
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
