"""Which threshold meets a demand on the error rates, and which others the trials cannot tell from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from llrkit.core.hull import ErrorPath, PavBlocks, error_path
from llrkit.core.score_bins import ScoreBins
from llrkit.theory.operating_points import OperatingPoint

Range = tuple[float, float]


def threshold_for_false_alarms(bins: ScoreBins, rate: float) -> float:
    """The lowest threshold with at most this false-alarm rate.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.core.trial_counts import count_trials
    >>> bins = count_trials(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])).bins()
    >>> threshold_for_false_alarms(bins, 0.2), threshold_for_false_alarms(bins, 0.0)
    (0.5, 2.0)
    """
    path = error_path(bins)
    return float(path.threshold[np.argmax(path.p_fa <= rate)])


def threshold_for_misses(bins: ScoreBins, rate: float) -> float:
    """The highest threshold with at most this miss rate.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.core.trial_counts import count_trials
    >>> bins = count_trials(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])).bins()
    >>> threshold_for_misses(bins, 0.25), threshold_for_misses(bins, 0.0)
    (0.5, -1.0)
    """
    path = error_path(bins)
    return float(path.threshold[np.searchsorted(path.p_miss, rate, side="right") - 1])


def threshold_for_cost(blocks: PavBlocks, point: OperatingPoint) -> float:
    """The threshold with the lowest cost on these trials, a vertex of the ROC convex hull.

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.core.hull import pav_blocks
    >>> from llrkit.core.trial_counts import count_trials
    >>> blocks = pav_blocks(count_trials(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])).bins())
    >>> threshold_for_cost(blocks, OperatingPoint(0.5)), threshold_for_cost(blocks, OperatingPoint(0.01))
    (0.5, 2.0)
    """
    vertex = int(np.searchsorted(blocks.llr, point.threshold))
    return float(error_path(blocks).threshold[vertex])


def same_rate(path: ErrorPath, kind: str, rate: float, width: float, effect: float) -> Range:
    """Thresholds whose false-alarm (or miss) rate differs from this one by no more than chance.

    ``width`` is in standard errors, of which the square is ``effect`` times that of independent trials.
    """
    there, n = (path.p_fa, path.n_nontarget) if kind == "p_fa" else (path.p_miss, path.n_target)
    error = width * np.sqrt(effect * rate * (1.0 - rate) / n)
    return _around(path, np.abs(there - rate) <= error, there - rate)


def equal_rates(path: ErrorPath, rate: float, width: float, effects: Range) -> Range:
    """Thresholds at which the two rates differ by no more than chance; ``rate`` is the equal error rate."""
    variance = rate * (1.0 - rate) * (effects[0] / path.n_target + effects[1] / path.n_nontarget)
    gap = path.p_miss - path.p_fa
    return _around(path, np.abs(gap) <= width * np.sqrt(variance), gap)


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
    return _around(path, inside, np.arange(len(path.threshold)) - chosen)


def _around(path: ErrorPath, inside: npt.NDArray[np.bool_], side: npt.NDArray[Any]) -> Range:
    """The ends of a set of thresholds, one step further out: counts say nothing about what is between."""
    places = np.flatnonzero(inside)
    if not len(places):
        places = np.array([np.argmin(np.abs(side))])
    low, high = max(int(places[0]) - 1, 0), min(int(places[-1]) + 1, len(path.threshold) - 1)
    return float(path.threshold[low]), float(path.threshold[high])
