"""The mean and the worst of the groups of an evaluation."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from llrkit._plain import Json
from llrkit.metrics.measurements import Measurements

NUMBERS = ("eer", "eer_roc", "auc", "cllr", "min_cllr", "cllr_cal")
_HIGHER_IS_BETTER = ("auc",)
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class OverGroups:
    """Means of the numbers over the groups, and the group where each number is worst."""

    mean: Mapping[str, float]
    worst: Mapping[str, tuple[str, float]]
    """By number: the name of the group, and the value there."""

    def to_dict(self) -> dict[str, Json]:
        """Plain values, as in the JSON of the command line."""
        worst: dict[str, Json] = {
            name: {"group": group, "value": value} for name, (group, value) in self.worst.items()
        }
        return {"mean": dict(self.mean), "worst": worst}


def group_name(key: object) -> str:
    """The value of a group as text; of several columns, with commas in between.

    Examples
    --------
    >>> group_name(30), group_name(("f", 5))
    ('30', 'f, 5')
    """
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def over_groups(groups: Mapping[K, Measurements]) -> OverGroups:
    """Mean and worst of each number; costs have names such as ``min_dcf sre08``.

    Each group counts the same, however many trials it has, and has a best threshold of its own.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([2.0, 3.0], [0.0, 2.5], {"attack": (["-", "-"], ["A01", "A02"])})
    >>> both = over_groups(lk.evaluate(scores, [0.1], by="attack").groups)
    >>> both.worst["eer_roc"], both.mean["eer_roc"]
    (('A02', 0.5), 0.25)
    """
    by_group = {group_name(key): _numbers_of_group(group) for key, group in groups.items()}
    names = next(iter(by_group.values()))
    mean = {name: sum(numbers[name] for numbers in by_group.values()) / len(by_group) for name in names}
    worst = {}
    for name in names:
        values = {group: numbers[name] for group, numbers in by_group.items()}
        group = (min if name in _HIGHER_IS_BETTER else max)(values, key=values.__getitem__)
        worst[name] = (group, values[group])
    return OverGroups(mean, worst)


def _numbers_of_group(group: Measurements) -> dict[str, float]:
    numbers = {name: float(getattr(group, name)) for name in NUMBERS}
    for point in group.points:
        numbers[f"min_dcf {point.point.name}"] = point.min_dcf
        numbers[f"act_dcf {point.point.name}"] = point.act_dcf
    return numbers
