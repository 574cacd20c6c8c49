"""Half total error rate, and the threshold of the equal error rate of development data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import Array, FloatArray
from llrkit.core.counting import count_bins
from llrkit.core.pav_and_hull import error_path
from llrkit.core.summary_algebra import SummaryBase
from llrkit.metrics.llr_costs import losses_at
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.scores_and_labels import takes_labels


@takes_labels
def eer_threshold(source: ScoreSource) -> float:
    """The score at which Pmiss and Pfa differ least when it is the threshold; the lowest one of several.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.eer_threshold(lk.Scores([1.0, 2.0], [-1.0, 0.0]))
    1.0
    """
    bins = count_bins(source)
    roc = error_path(bins)
    # whole numbers, so that equal differences are recognized as equal
    gap = roc.n_miss * roc.n_nontarget - roc.n_fa * roc.n_target
    after = int(np.argmax(gap >= 0))
    run = after - 1  # the bin in which the ROC crosses Pmiss = Pfa
    if after == 0 or bins.low[run] == bins.high[run]:
        return float(roc.threshold[np.argmin(np.abs(gap))])
    # a run of one class: its inner thresholds are not in the counts, so look at its scores
    inside = source.reduce(ScoresBetween.at(float(bins.low[run]), float(bins.high[run])))
    cuts, first = np.unique(inside.values, return_index=True)
    below = (np.cumsum(inside.times) - inside.times)[first]
    step = roc.n_nontarget if bins.target[run] else roc.n_target
    gaps = np.append(gap[run] + below * step, gap[after])
    return float(np.append(cuts, roc.threshold[after])[np.argmin(np.abs(gaps))])


@dataclass(frozen=True, eq=False)
class ScoresBetween(SummaryBase):
    """The scores of both classes in a closed interval, sorted, and how often each counts."""

    values: FloatArray
    times: Array

    @classmethod
    def at(cls, low: float, high: float) -> Callable[[Scores], ScoresBetween]:
        """A summarizer for an interval."""

        def make(chunk: Scores) -> ScoresBetween:
            both = np.concatenate([chunk.target, chunk.nontarget]).astype(np.float64, copy=False)
            inside = np.sort(both[(both >= low) & (both <= high)])
            return cls(inside, np.ones(len(inside), dtype=np.int64))

        return make

    def __add__(self, other: ScoresBetween) -> ScoresBetween:
        values = np.concatenate([self.values, other.values])
        order = np.argsort(values, kind="stable")
        return ScoresBetween(values[order], np.concatenate([self.times, other.times])[order])

    def __mul__(self, weight: float) -> ScoresBetween:
        return ScoresBetween(self.values, self.times * weight)


@takes_labels
def hter(source: ScoreSource, dev: ScoreSource) -> float:
    """Half total error rate, ``(Pmiss + Pfa) / 2``, at the EER threshold of development data.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.hter(lk.Scores([0.5, 3.0], [-2.0, 1.5]), lk.Scores([1.0, 2.0], [-1.0, 0.0]))
    0.5
    """
    return error_rate_at(source, eer_threshold(dev))


def error_rate_at(source: ScoreSource, threshold: float) -> float:
    """Mean of Pmiss and Pfa at a threshold."""
    losses = losses_at(source, thresholds=[threshold])
    return float(losses.p_miss[0] + losses.p_fa[0]) / 2.0
