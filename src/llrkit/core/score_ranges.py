"""Ranges of score that fit into memory one after another, chosen from a sample of the scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import Array, IntArray
from llrkit._memory import at_once
from llrkit.core.sample import Sample
from llrkit.core.score_index import require_one_system

COLLECT_BYTES = 256 << 20
"""Memory of the scores that are collected at a time, at 8 bytes each; a larger set takes several passes."""


@dataclass(frozen=True)
class ScoreRange:
    """The scores from ``low`` to below ``high``, or to the largest, without those that are only counted."""

    low: float = -np.inf
    high: float | None = None
    repeated: tuple[float, ...] = ()
    """Scores in the range that so many trials have that they are counted, not collected."""

    def of(self, values: Array) -> tuple[Array, IntArray]:
        """The scores in the range, and how many have each of the repeated values."""
        require_one_system(values)
        # a bare float would be rounded to the type of 32-bit scores
        if self.low > -np.inf or self.high is not None:
            inside = values >= np.float64(self.low)
            if self.high is not None:
                inside &= values < np.float64(self.high)
            values = values[inside]
        counts = np.zeros(len(self.repeated), dtype=np.int64)
        for i, value in enumerate(self.repeated):
            same = values == np.float64(value)
            counts[i] = np.count_nonzero(same)
            values = values[~same]
        return values, counts


def ranges_needed(n_target: int, n_nontarget: int) -> int:
    """How many ranges a set is cut into."""
    return -(-8 * (n_target + n_nontarget) // at_once(COLLECT_BYTES))


def score_ranges(
    n_target: int, n_nontarget: int, sample: Callable[[], Sample], *, finer: int = 1
) -> list[ScoreRange]:
    """Ascending ranges with about as many scores each; the sample is drawn only if there are several.

    ``finer`` ranges take the place of one that would be collected, where collecting is not what costs.

    A score that fills a good part of a range by itself is counted instead, since no cut can divide it.
    """
    n = ranges_needed(n_target, n_nontarget)
    if n <= 1:
        return [ScoreRange()]
    n *= finer
    drawn = sample()
    classes = (drawn.target.values, n_target), (drawn.nontarget.values, n_nontarget)
    values = np.concatenate([sampled for sampled, _ in classes])
    times = np.concatenate([np.full(len(sampled), size / max(len(sampled), 1)) for sampled, size in classes])
    distinct, where = np.unique(values, return_inverse=True)
    mass = np.bincount(where, times)
    heavy = mass > mass.sum() / (8 * n)
    before = np.cumsum(np.where(heavy, 0.0, mass))
    cuts = np.unique(distinct[np.searchsorted(before, before[-1] * np.arange(1, n) / n)]).tolist()
    lows, highs = [-np.inf, *cuts], [*cuts, None]
    return [
        ScoreRange(
            low, high, tuple(v for v in distinct[heavy].tolist() if low <= v and (high is None or v < high))
        )
        for low, high in zip(lows, highs, strict=True)
    ]
