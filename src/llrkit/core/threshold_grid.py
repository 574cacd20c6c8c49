"""Grid: the distinct scores of the smaller class, which are all the thresholds that matter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._memory import at_once
from llrkit.core.score_index import score_indexes
from llrkit.core.summary_algebra import SummaryBase
from llrkit.errors import EmptyClassError
from llrkit.scores import Scores, ScoreSource

ClassName = Literal["target", "nontarget"]

# Both classes are collected until one is clearly the larger; small sets keep both.
_CLEARLY_LARGER, _KEEP_BOTH_BELOW = 4, 1 << 16
MOST_POINTS = 1 << 21
"""A class with more distinct scores is dropped too: where both have more, they are sorted instead."""


@dataclass(frozen=True, eq=False)
class Grid(SummaryBase):
    """Distinct scores of each class, in ascending order; ``None`` for a class that was dropped.

    Between two neighboring scores of one class lie only scores of the other, so no threshold in between
    can be better than one at the ends: the smaller class has all the thresholds there are.
    """

    n_target: int
    n_nontarget: int
    target: FloatArray | None
    nontarget: FloatArray | None
    only: ClassName | None = None
    """Set when one class was asked for: that class is kept however large it is."""
    weighted: bool = False
    """Whether trials may count more or less than once."""

    @classmethod
    def of(cls, scores: Scores, only: ClassName | None = None) -> Grid:
        """The distinct scores of a chunk, of both classes or of one."""
        n_t, n_n = scores.n_target, scores.n_nontarget
        keep_target = only == "target" or (only is None and not _clearly_larger(n_t, n_n))
        keep_nontarget = only == "nontarget" or (only is None and not _clearly_larger(n_n, n_t))
        target, nontarget = score_indexes(scores)
        return cls(
            n_t,
            n_n,
            _within_bounds(distinct_ascending(target.ascending), only) if keep_target else None,
            _within_bounds(distinct_ascending(nontarget.ascending), only) if keep_nontarget else None,
            only,
        )

    @classmethod
    def of_class(cls, only: ClassName) -> Callable[[Scores], Grid]:
        """A summarizer that keeps the scores of one class, however many."""
        return lambda chunk: cls.of(chunk, only)

    def __add__(self, other: Grid) -> Grid:
        n_t, n_n = self.n_target + other.n_target, self.n_nontarget + other.n_nontarget
        drop_target = self.only is None and _clearly_larger(n_t, n_n)
        drop_nontarget = self.only is None and _clearly_larger(n_n, n_t)
        return Grid(
            n_t,
            n_n,
            None if drop_target else _within_bounds(_merge_grids(self.target, other.target), self.only),
            None
            if drop_nontarget
            else _within_bounds(_merge_grids(self.nontarget, other.nontarget), self.only),
            self.only,
            self.weighted or other.weighted,
        )

    def __mul__(self, weight: float) -> Grid:
        return replace(self, weighted=True)  # how often a score counts changes, not which scores there are

    @property
    def smaller(self) -> ClassName:
        """Which class is the smaller one."""
        return "target" if self.n_target <= self.n_nontarget else "nontarget"

    @property
    def points(self) -> FloatArray | None:
        """The distinct scores of the smaller class, unless they were dropped on the way."""
        return self.target if self.smaller == "target" else self.nontarget


def require_both_classes(n_target: float, n_nontarget: float) -> None:
    """Refuse a set in which one class has no trials."""
    for name, n in (("target", n_target), ("nontarget", n_nontarget)):
        if n == 0:
            raise EmptyClassError(f"there are no {name} trials; both classes need at least one")


def collect_again(source: ScoreSource, grid: Grid) -> Grid:
    """The grid with the points of the smaller class, by another pass if they had been dropped."""
    require_both_classes(grid.n_target, grid.n_nontarget)
    if grid.points is not None:
        return grid
    return source.reduce(Grid.of_class(grid.smaller))


def _clearly_larger(n: int, than: int) -> bool:
    return n > _CLEARLY_LARGER * than + at_once(_KEEP_BOTH_BELOW, unit=8)


def _within_bounds(points: FloatArray | None, only: ClassName | None) -> FloatArray | None:
    return (
        None if only is None and points is not None and len(points) > at_once(MOST_POINTS, unit=8) else points
    )


def distinct_ascending(ascending: FloatArray) -> FloatArray:
    """Each value of an ascending array once."""
    if len(ascending) < 2:
        return ascending
    first = np.empty(len(ascending), dtype=bool)
    first[0] = True
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return ascending if first.all() else ascending[first]


def _merge_grids(a: FloatArray | None, b: FloatArray | None) -> FloatArray | None:
    if a is None or b is None:
        return None
    if len(a) == 0 or len(b) == 0:
        return b if len(a) == 0 else a
    # the stable sort recognizes the two sorted runs and merges them
    return distinct_ascending(np.sort(np.concatenate([a, b]), kind="stable"))
