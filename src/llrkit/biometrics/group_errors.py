"""GroupErrors: errors of each group of people at one threshold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import Array, IntArray
from llrkit.core.column_values import plain_value, positions_by_code
from llrkit.core.summary_algebra import SummaryBase
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived_sources import DerivedSource

BETWEEN = " | "
"""Between the groups of the two sides of a comparison, where they differ."""


def positions_by_group(chunk: Scores, columns: tuple[str, ...], class_index: int) -> dict[str, IntArray]:
    """Where the comparisons of each group are: of a value, or of the values of both sides where they differ.

    Examples
    --------
    >>> chunk = Scores([1.0, 2.0], [0.0, 0.5], {"a": (["f", "m"], ["f", "m"]), "b": (["f", "m"], ["m", "f"])})
    >>> list(positions_by_group(chunk, ("a", "b"), 0)), list(positions_by_group(chunk, ("a", "b"), 1))
    (['f', 'm'], ['f | m'])
    """
    sides = [np.unique(chunk.columns[name][class_index], return_inverse=True) for name in columns]
    names = [_group_names(chunk, name, distinct) for name, (distinct, _) in zip(columns, sides, strict=True)]
    code = sides[0][1] if len(sides) == 1 else sides[0][1] * len(names[1]) + sides[1][1]
    groups: dict[str, list[IntArray]] = {}
    for value, own in positions_by_code(code).items():
        if len(sides) == 1:
            group = names[0][value]
        else:
            pair = names[0][value // len(names[1])], names[1][value % len(names[1])]
            group = pair[0] if pair[0] == pair[1] else BETWEEN.join(sorted(pair))
        groups.setdefault(group, []).append(own)
    return {group: np.sort(np.concatenate(own)) for group, own in groups.items()}


def _group_names(chunk: Scores, column: str, codes: Array) -> list[str]:
    names = chunk.categories.get(column)
    return [str(plain_value(code if names is None else names[code])) for code in codes.tolist()]


def trials_of_group(source: ScoreSource, columns: tuple[str, ...], group: str) -> ScoreSource:
    """The comparisons of one group."""

    def chosen(chunk: Scores) -> Scores:
        masks = []
        for i, n in enumerate((len(chunk.target), len(chunk.nontarget))):
            mask = np.zeros(n, dtype=bool)
            mask[positions_by_group(chunk, columns, i).get(group, np.empty(0, dtype=np.intp))] = True
            masks.append(mask)
        return chunk.select(*masks)

    return DerivedSource(source, chosen, columns)


@dataclass(frozen=True, eq=False)
class GroupErrors(SummaryBase):
    """By group: mated comparisons, false non-matches, non-mated comparisons, false matches."""

    counts: dict[str, tuple[float, float, float, float]]

    @classmethod
    def at(cls, threshold: float, columns: tuple[str, ...]) -> Callable[[Scores], GroupErrors]:
        """A summarizer."""

        def make(chunk: Scores) -> GroupErrors:
            counts: dict[str, list[float]] = {}
            wrong = (chunk.target < threshold, chunk.nontarget >= threshold)
            for i in (0, 1):
                for group, own in positions_by_group(chunk, columns, i).items():
                    row = counts.setdefault(group, [0, 0, 0, 0])
                    row[2 * i] += len(own)
                    row[2 * i + 1] += int(np.count_nonzero(wrong[i][own]))
            return cls({group: (n[0], n[1], n[2], n[3]) for group, n in counts.items()})

        return make

    def __add__(self, other: GroupErrors) -> GroupErrors:
        merged = dict(self.counts)
        for group, more in other.counts.items():
            have = merged.get(group, (0.0, 0.0, 0.0, 0.0))
            merged[group] = (have[0] + more[0], have[1] + more[1], have[2] + more[2], have[3] + more[3])
        return GroupErrors(merged)

    def __mul__(self, weight: float) -> GroupErrors:
        return GroupErrors({g: (a * weight, b * weight, c * weight, d * weight)
                            for g, (a, b, c, d) in self.counts.items()})  # fmt: skip
