"""The highest threshold that meets a demand, also inside a run of one class, where bins count no further."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from llrkit._arrays import BoolArray, Counts, FloatArray
from llrkit.core.below_counts import BelowCounts
from llrkit.core.hull import error_path
from llrkit.core.score_bins import ScoreBins
from llrkit.scores import ScoreSource

_CUTS = 1 << 16
"""Thresholds tried in one pass: four passes find any of the 2^64 floats."""
_SIGN = np.uint64(1 << 63)

Demand = Callable[[Counts, Counts], BoolArray]
"""What holds for the numbers of targets and of non-targets below a threshold, up to some threshold."""


def highest_threshold(source: ScoreSource, bins: ScoreBins, demand: Demand) -> float:
    """The highest threshold for which a demand holds: a score, or inf where it holds throughout.

    Without any, the lowest score. Trials are looked at again only where the threshold is inside a run of
    one class.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.core.trial_counts import count_trials
    >>> scores = lk.Scores([1.0, 2.0, 3.0, 4.0], [0.0])
    >>> highest_threshold(scores, count_trials(scores).bins(), lambda target, nontarget: target <= 2)
    3.0
    """
    path = error_path(bins)
    holds = demand(path.n_miss, path.n_nontarget - path.n_fa)
    if not holds[0]:
        return float(path.threshold[0])
    last = len(holds) - 1 if holds.all() else int(np.argmin(holds)) - 1
    if last == len(bins.low) or bins.low[last] == bins.high[last]:
        return float(path.threshold[last])
    low, high = (int(_as_order(end)) for end in (bins.low[last], bins.high[last]))
    high += 1
    while high - low > 1:  # the demand holds at low and, as far as scores go, not at high
        step = -(-(high - low) // _CUTS)
        cuts = np.uint64(low) + np.uint64(step) * np.arange(-(-(high - low) // step), dtype=np.uint64)
        below = source.reduce(BelowCounts.at(_as_float(cuts)))
        met = int(np.count_nonzero(demand(below.target, below.nontarget)))
        if met == 0:  # sums of weights may differ in their last bit from those of the bins
            break
        low, high = int(cuts[met - 1]), int(cuts[met]) if met < len(cuts) else high
    return float(_as_float(np.uint64(low)))


def next_score(source: ScoreSource, bins: ScoreBins, score: float) -> float:
    """The next higher score of the trials, inf above the highest.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.core.trial_counts import count_trials
    >>> scores = lk.Scores([1.0, 2.0, 3.0, 4.0], [0.0])
    >>> next_score(scores, count_trials(scores).bins(), 2.0)
    3.0
    """
    place = int(np.searchsorted(bins.low, score, side="right")) - 1
    if score >= bins.high[place]:
        return float(error_path(bins).threshold[place + 1])
    just_above = source.reduce(BelowCounts.at([math.nextafter(score, math.inf)]))
    of_target, of_nontarget = just_above.target[0], just_above.nontarget[0]

    def no_more(target: Counts, nontarget: Counts) -> BoolArray:
        return np.asarray((target <= of_target) & (nontarget <= of_nontarget))

    return highest_threshold(source, bins, no_more)


def _as_order(floats: npt.ArrayLike) -> npt.NDArray[np.uint64]:
    """Whole numbers in the order of floats, one apart for neighbors.

    Examples
    --------
    >>> _as_order([-0.0, 0.0, 5e-324]) - _as_order(-0.0)
    array([0, 1, 2], dtype=uint64)
    """
    bits = np.asarray(floats, dtype=np.float64).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _as_float(order: npt.ArrayLike) -> FloatArray:
    """The floats of such whole numbers."""
    order = np.asarray(order, dtype=np.uint64)
    return np.where(order & _SIGN, order & ~_SIGN, ~order).view(np.float64)
