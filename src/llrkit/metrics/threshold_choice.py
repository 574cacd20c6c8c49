"""Which threshold meets a demand on the error rates, and which others the trials cannot tell from it."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array, BoolArray, Counts, FloatArray
from llrkit.core.pav_and_hull import ErrorPath, PavBlocks, error_path
from llrkit.core.score_bins import ScoreBins
from llrkit.core.trial_counts import BelowCounts
from llrkit.scores import ScoreSource
from llrkit.theory.operating_points import OperatingPoint

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


Range = tuple[float, float]
Compare = Callable[[Array, float], npt.ArrayLike]


def threshold_for_false_alarms(source: ScoreSource, bins: ScoreBins, rate: float) -> float:
    """The lowest threshold with at most this false-alarm rate: the score above the last one that has more.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.core.trial_counts import count_trials
    >>> scores = lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])
    >>> bins = count_trials(scores).bins()
    >>> threshold_for_false_alarms(scores, bins, 0.2), threshold_for_false_alarms(scores, bins, 0.0)
    (0.5, 2.0)
    """
    if rate >= 1.0:
        return float(bins.low[0])
    return next_score(
        source, bins, highest_threshold(source, bins, _on_false_alarms(bins, operator.gt, rate))
    )


def threshold_for_misses(source: ScoreSource, bins: ScoreBins, rate: float) -> float:
    """The highest threshold with at most this miss rate.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.core.trial_counts import count_trials
    >>> scores = lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])
    >>> bins = count_trials(scores).bins()
    >>> threshold_for_misses(scores, bins, 0.25), threshold_for_misses(scores, bins, 0.0)
    (0.5, -1.0)
    """
    return highest_threshold(source, bins, _on_misses(bins, operator.le, rate))


def _on_misses(bins: ScoreBins, compare: Compare, rate: float) -> Demand:
    return lambda target, _: np.asarray(compare(target / bins.n_target, rate))


def _on_false_alarms(bins: ScoreBins, compare: Compare, rate: float) -> Demand:
    n = bins.n_nontarget
    return lambda _, nontarget: np.asarray(compare((n - nontarget) / n, rate))


def threshold_for_cost(blocks: PavBlocks, point: OperatingPoint) -> float:
    """The threshold with the lowest cost on these trials, a vertex of the ROC convex hull.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.core.pav_and_hull import pav_blocks
    >>> from llrkit.core.trial_counts import count_trials
    >>> blocks = pav_blocks(count_trials(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])).bins())
    >>> threshold_for_cost(blocks, OperatingPoint(0.5)), threshold_for_cost(blocks, OperatingPoint(0.01))
    (0.5, 2.0)
    """
    vertex = int(np.searchsorted(blocks.llr, point.threshold))
    return float(error_path(blocks).threshold[vertex])


def same_rate(
    source: ScoreSource, bins: ScoreBins, kind: str, rate: float, width: float, effect: float
) -> Range:
    """Thresholds whose false-alarm (or miss) rate differs from this one by no more than chance.

    ``width`` is in standard errors, of which the square is ``effect`` times that of independent trials. The
    lower end is the score below the first of them: counts say nothing about what is between.
    """
    n = bins.n_nontarget if kind == "p_fa" else bins.n_target
    error = width * math.sqrt(effect * rate * (1.0 - rate) / n)
    if kind == "p_fa":
        demands = (
            _on_false_alarms(bins, operator.gt, rate + error),
            _on_false_alarms(bins, operator.ge, rate - error),
        )
    else:
        demands = (
            _on_misses(bins, operator.lt, rate - error),
            _on_misses(bins, operator.le, rate + error),
        )
    low, high = (highest_threshold(source, bins, demand) for demand in demands)
    return low, high


def equal_rates(path: ErrorPath, rate: float, width: float, effects: Range) -> Range:
    """Thresholds at which the two rates differ by no more than chance; ``rate`` is the equal error rate."""
    variance = rate * (1.0 - rate) * (effects[0] / path.n_target + effects[1] / path.n_nontarget)
    gap = path.p_miss - path.p_fa
    return _thresholds_around(path, np.abs(gap) <= width * np.sqrt(variance), gap)


def same_cost(
    path: ErrorPath, point: OperatingPoint, threshold: float, width: float, effects: Range
) -> Range:
    """Thresholds that cost no more than this one, as far as the trials between the two can tell.

    The costs of two thresholds differ by the trials between them, so the variance of the difference is that
    of their numbers; a threshold is in the set unless it is worse by more than chance.
    """
    chosen = int(np.searchsorted(path.threshold, threshold))
    d_miss, d_fa = path.p_miss - path.p_miss[chosen], path.p_fa - path.p_fa[chosen]
    w_miss, w_fa = point.cost(1.0, 0.0), point.cost(0.0, 1.0)
    variance = w_miss**2 * effects[0] * np.abs(d_miss) / path.n_target
    variance += w_fa**2 * effects[1] * np.abs(d_fa) / path.n_nontarget
    inside = w_miss * d_miss + w_fa * d_fa <= width * np.sqrt(variance)
    return _thresholds_around(path, inside, np.arange(len(path.threshold)) - chosen)


def _thresholds_around(path: ErrorPath, inside: npt.NDArray[np.bool_], side: Array) -> Range:
    """The ends of a set of thresholds, one step further out: counts say nothing about what is between."""
    places = np.flatnonzero(inside)
    if not len(places):
        places = np.array([np.argmin(np.abs(side))])
    low, high = max(int(places[0]) - 1, 0), min(int(places[-1]) + 1, len(path.threshold) - 1)
    return float(path.threshold[low]), float(path.threshold[high])
