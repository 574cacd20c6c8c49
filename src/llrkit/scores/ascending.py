"""Scores in ascending order: sorted once, for all sums and counts."""

from __future__ import annotations

import numpy as np

from llrkit.scores.arrays import DIVIDE_ABOVE, Scores
from llrkit.scores.source import each_in_threads


def sorted_scores(scores: Scores) -> Scores:
    """The scores of one system in ascending order, each class in a thread, sharing the counts that are kept.

    Examples
    --------
    >>> sorted_scores(Scores([3.0, 1.0, 2.0], [0.0])).target
    array([1., 2., 3.])
    """
    classes = (scores.target, scores.nontarget)
    small = min(map(len, classes)) < DIVIDE_ABOVE
    target, nontarget = each_in_threads(np.sort, classes, threads=1 if small else None)
    ordered = Scores.part(target, nontarget).read_with(scores._factor, scores._calibrated)
    ordered.ascending = True
    vars(ordered)["kept_counts"] = scores.kept_counts
    return ordered
