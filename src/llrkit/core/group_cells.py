"""GroupCells: counts by group (speaker, attack, device) and cell, and what they say of the spread of shares.

A trial belongs to one group or, with two columns, to the groups of its two sides. The variance of a share is
that of sums over groups: with ``t_p`` the deviations of all trials that touch group p, ``sum_p t_p t_p'``.
The trials between two groups are counted in both, which errs on the side of a larger variance.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import Array, FloatArray
from llrkit.core.column_values import ValueCounts, numbered
from llrkit.core.summary_algebra import FieldwiseSums
from llrkit.errors import InputError
from llrkit.scores import Scores, ScoreSource

MOST_GROUPS = 4096
"""More than these are thrown together by chance, which loses next to nothing."""


@dataclass(frozen=True, eq=False)
class GroupCells(FieldwiseSums):
    """Counts by group and cell of each class; the last row is that of all trials, each counted once."""

    target: FloatArray
    nontarget: FloatArray

    @classmethod
    def at(
        cls, columns: Sequence[str], numbers: Mapping[Hashable, int], cuts: FloatArray
    ) -> Callable[[Scores], GroupCells]:
        """A summarizer; cell ``i`` holds the scores with ``i`` cuts at or below them."""
        n_groups, n_cells = max(numbers.values()) + 1, len(cuts) + 1

        def of_class(values: Array, sides: list[Array]) -> FloatArray:
            cell = np.searchsorted(cuts, values, side="right")
            counts = np.zeros((n_groups + 1, n_cells))
            counts[-1] = np.bincount(cell, minlength=n_cells)
            for i, side in enumerate(sides):
                fresh = np.ones(len(side), dtype=bool) if i == 0 else side != sides[0]
                place = side[fresh] * n_cells + cell[fresh]
                counts[:-1] += np.bincount(place, minlength=n_groups * n_cells).reshape(n_groups, n_cells)
            return counts

        def make(chunk: Scores) -> GroupCells:
            sides = [[numbered(chunk, name, i, numbers) for name in columns] for i in (0, 1)]
            return cls(of_class(chunk.target, sides[0]), of_class(chunk.nontarget, sides[1]))

        return make


def group_cells(source: ScoreSource, columns: Sequence[str], cuts: FloatArray) -> GroupCells:
    """Counts of the trials of a source by group and cell; two passes.

    Examples
    --------
    >>> scores = Scores([1.0, 2.0], [-1.0], {"who": (["a", "b"], ["a"])})
    >>> group_cells(scores, ["who"], np.array([1.5])).target
    array([[1., 0.],
           [0., 1.],
           [1., 1.]])
    """
    if len(columns) not in (1, 2):
        raise InputError(f"groups are one or two columns (the two sides of a trial), got {list(columns)}")
    wide = source.with_columns(*columns)
    values = wide.reduce(lambda chunk: ValueCounts.of(chunk, *columns)).counts
    numbers = {value: i % MOST_GROUPS for i, value in enumerate(sorted(values, key=str))}
    return wide.reduce(GroupCells.at(columns, numbers, cuts))


def share_covariance(cells: FloatArray) -> tuple[FloatArray, float]:
    """Covariance of the shares of trials below each cut, and its degrees of freedom.

    ``cells`` are counts by group, with those of all trials in the last row. Never smaller than that of
    independent trials, group by group being a way to see more spread, not less.
    """
    groups, total = cells[:-1], cells[-1]
    n = total.sum()
    groups = groups[groups.sum(1) > 0]
    share = np.cumsum(total)[:-1] / n
    independent = (np.minimum.outer(share, share) - np.outer(share, share)) / n
    sizes = groups.sum(1)
    if len(groups) < 2:
        return independent, float(n - 1)
    away = np.cumsum(groups, axis=1)[:, :-1] - np.outer(sizes, share)
    spread = away.T @ away / n**2 * len(groups) / (len(groups) - 1)
    if np.trace(spread) < np.trace(independent):
        return independent, float(n - 1)
    return spread, max(float(sizes.sum() ** 2 / (sizes**2).sum()) - 1.0, 1.0)
