"""BelowCounts: how many trials of each class score below given thresholds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Counts, FloatArray
from llrkit.core.score_index import score_indexes
from llrkit.core.summary import SummaryBase
from llrkit.scores import Scores


@dataclass(frozen=True, eq=False)
class BelowCounts(SummaryBase):
    """``target[j]`` and ``nontarget[j]`` count the trials below ``thresholds[j]``.

    Examples
    --------
    >>> below = Scores([2.0, -1.0], [-3.0]).reduce(BelowCounts.at([0.0, -2.0]))
    >>> below.target, below.nontarget
    (array([1, 0]), array([1, 1]))
    """

    thresholds: FloatArray
    target: Counts
    nontarget: Counts

    @classmethod
    def of(cls, scores: Scores, thresholds: npt.ArrayLike) -> BelowCounts:
        """The counts of a chunk; thresholds may be in any order."""
        cuts = np.atleast_1d(np.asarray(thresholds, dtype=np.float64))
        indexes = score_indexes(scores)
        if not len(cuts):
            none = np.zeros(0, dtype=np.int64)
            return cls(cuts, none, none)
        order = np.argsort(cuts)
        below = []
        for index in indexes:
            counts = np.empty(len(cuts), dtype=np.int64)
            counts[order] = index.count_below(cuts[order])[0]
            below.append(counts)
        return cls(cuts, *below)

    @classmethod
    def at(cls, thresholds: npt.ArrayLike) -> Callable[[Scores], BelowCounts]:
        """A summarizer for given thresholds."""
        return lambda chunk: cls.of(chunk, thresholds)

    def __add__(self, other: BelowCounts) -> BelowCounts:
        return BelowCounts(self.thresholds, self.target + other.target, self.nontarget + other.nontarget)

    def __mul__(self, weight: float) -> BelowCounts:
        return BelowCounts(self.thresholds, self.target * weight, self.nontarget * weight)
