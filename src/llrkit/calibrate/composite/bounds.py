"""Bounds: LLRs no stronger than the data can bear, around any map."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from llrkit.calibrate.composite.bounded import BoundedMap
from llrkit.calibrate.maps import Map
from llrkit.core.grid import require_both_classes
from llrkit.core.loss_sums import LossSums
from llrkit.core.moments import ClassMoments, Moments
from llrkit.errors import InputError
from llrkit.scores import ScoreSource
from llrkit.scores.source import as_source

LN10 = math.log(10.0)


def bound_fixed(fitted: Map, low: float, high: float) -> BoundedMap:
    """Clip LLRs to given bounds, in nats: ``low <= 0 <= high``.

    Examples
    --------
    >>> from llrkit.calibrate.maps import AffineMap
    >>> bound_fixed(AffineMap(a=1.0, b=0.0), -1.0, 2.0)([-3.0, 3.0])
    array([-1.,  2.])
    """
    if not (isinstance(low, (int, float)) and isinstance(high, (int, float)) and low <= 0.0 <= high):
        raise InputError(f"bounds must be numbers with low <= 0 <= high, got {low!r} and {high!r}")
    return _bounded(fitted, float(low), float(high), "fixed", {}, {})


def bound_sources(fitted: Map, n_sources: int) -> BoundedMap:
    """Clip LLRs to plus and minus the logarithm of the number of sources (speakers) in the training data.

    Examples
    --------
    >>> from llrkit.calibrate.maps import AffineMap
    >>> bound_sources(AffineMap(a=1.0, b=0.0), 100).high / LN10
    2.0
    """
    if not (isinstance(n_sources, (int, np.integer)) and n_sources >= 1):
        raise InputError(f"n_sources must be a whole number of at least 1, got {n_sources!r}")
    limit = math.log(n_sources)
    return _bounded(fitted, -limit, limit, "sources", {"n_sources": int(n_sources)}, {})


def bound_elub(fitted: Map, source: ScoreSource, *, misleading: int = 1, step: float = 0.01) -> BoundedMap:
    """Clip LLRs to the empirical lower and upper bounds of Vergeer et al. (2016).

    At an LR threshold ``theta`` the cost is ``Pmiss + theta Pfa``, counted with ``misleading`` extra
    targets that are always rejected and as many extra non-targets that are always accepted: one set of
    extra trials for each threshold, never accumulated from one to the next. An LR of 1 for every trial
    costs ``min(1, theta)``. The bounds are the last thresholds, going out from 1, at which the system is
    not the more expensive; none is beyond the number of trials plus one. Here ``llr > log theta``
    accepts, as in LiR. Two passes over the LLRs of ``fitted`` for ``source``.

    Parameters
    ----------
    step
        Distance of the thresholds in log10.

    References
    ----------
    Vergeer, van Es, de Jongh, Alberink & Stoel, Science & Justice 56 (2016) 482.

    Examples
    --------
    >>> from llrkit.calibrate.maps import AffineMap
    >>> from llrkit.scores import Scores
    >>> bounded = bound_elub(AffineMap(a=1.0, b=0.0), Scores([9.0] * 3, [-9.0] * 3))
    >>> bounded.details["low_log10"], bounded.details["high_log10"]  # log10(3) = 0.477
    (-0.47, 0.47)
    """
    if not (isinstance(misleading, int) and misleading >= 1):
        raise InputError(f"misleading must be a whole number of at least 1, got {misleading!r}")
    step = _positive(step, "step")
    llrs = fitted.on(source)
    moments = as_source(llrs).reduce(Moments.of)
    n_t, n_n = moments.target.count, moments.nontarget.count
    require_both_classes(n_t, n_n)
    lowest = max(min(_lowest(moments.target), _lowest(moments.nontarget)) / LN10, -math.log10(n_t + 1))
    highest = min(max(_highest(moments.target), _highest(moments.nontarget)) / LN10, math.log10(n_n + 1))
    steps = np.arange(min(0, math.floor(lowest / step)), max(0, math.floor(highest / step) + 1) + 1)
    # llr > t is llr >= the next number above t
    counts = llrs.reduce(LossSums.at(thresholds=np.nextafter(steps * (step * LN10), np.inf)))
    theta = 10.0 ** (steps * step)
    p_miss = (counts.n_miss + misleading) / (n_t + misleading)
    p_fa = (counts.n_fa + misleading) / (n_n + misleading)
    worse = np.minimum(1.0, theta) < p_miss + theta * p_fa
    low = int(np.max(steps[worse & (steps <= 0)] + 1, initial=steps[0]))
    high = int(np.min(steps[worse & (steps >= 0)] - 1, initial=steps[-1]))
    decimals = 2 - math.floor(math.log10(step))
    bounds = round(min(low, 0) * step, decimals), round(max(high, 0) * step, decimals)
    options = {"misleading": misleading, "step": step}
    return _bounded(fitted, bounds[0] * LN10, bounds[1] * LN10, "elub", options, _counts(moments))


def bound_invariance(
    fitted: Map,
    source: ScoreSource,
    *,
    thresholds: npt.ArrayLike | None = None,
    step: float = 0.001,
    limit: float = 20.0,
) -> BoundedMap:
    """Clip LLRs to where they stop being no stronger than what the tails say (Alberink et al. 2025).

    For a calibrated LR, trials beyond a threshold are together at least as strong as the threshold. With
    ``p = (count + 1/2) / (n + 1)`` (Jeffreys), at thresholds ``t`` in log10:
    ``D_up(t) = log10 p(x >= t | target) - log10 p(x >= t | nontarget) - t`` and
    ``D_low(t) = t - log10 p(x < t | target) + log10 p(x < t | nontarget)``. The upper bound is the last
    threshold before ``D_up`` first is negative, the lower bound the first one after ``D_low`` last is;
    where neither ever is, the largest target and the smallest non-target LLR. Two passes.

    Parameters
    ----------
    thresholds
        Candidates in log10, increasing; otherwise the multiples of ``step`` in the range of the LLRs.
    limit
        No threshold and no bound is further than this from 0, in log10.

    Examples
    --------
    >>> from llrkit.calibrate.maps import AffineMap
    >>> from llrkit.scores import Scores
    >>> bounded = bound_invariance(AffineMap(a=1.0, b=0.0), Scores([np.inf], [-np.inf]))
    >>> bounded.details["low_log10"], bounded.details["high_log10"]
    (-0.477, 0.477)
    """
    step, limit = _positive(step, "step"), _positive(limit, "limit")
    llrs = fitted.on(source)
    moments = as_source(llrs).reduce(Moments.of)
    n_t, n_n = moments.target.count, moments.nontarget.count
    require_both_classes(n_t, n_n)
    if thresholds is None:
        lowest = min(_lowest(moments.target), _lowest(moments.nontarget)) / LN10
        highest = max(_highest(moments.target), _highest(moments.nontarget)) / LN10
        first = math.floor(min(0.0, max(lowest, -limit)) / step)
        last = math.ceil(max(0.0, min(highest, limit)) / step)
        t = np.round(np.arange(first, last + 1) * step, 3 - math.floor(math.log10(step)))
    else:
        t = np.asarray(thresholds, dtype=np.float64)
        if t.ndim != 1 or len(t) == 0 or not np.isfinite(t).all() or np.any(np.diff(t) <= 0):
            raise InputError("thresholds must be finite, increasing and at least one")
    counts = llrs.reduce(LossSums.at(thresholds=t * LN10))
    above_t, above_n = n_t - counts.n_miss + 0.5, counts.n_fa + 0.5
    level = math.log10(n_n + 1) - math.log10(n_t + 1)
    up = np.log10(above_t) - np.log10(above_n) + level - t
    low = t - np.log10(n_t + 1 - above_t) + np.log10(n_n + 1 - above_n) - level
    negative_up, negative_low = np.flatnonzero(up < 0), np.flatnonzero(low < 0)
    highest, lowest = _highest(moments.target) / LN10, _lowest(moments.nontarget) / LN10
    if len(negative_up):  # a first threshold that fails leaves nothing above 0
        highest = t[negative_up[0] - 1] if negative_up[0] > 0 else 0.0
    if len(negative_low):
        lowest = t[negative_low[-1] + 1] if negative_low[-1] + 1 < len(t) else 0.0
    bounds = float(np.clip(lowest, -limit, 0.0)), float(np.clip(highest, 0.0, limit))
    options = {"step": step, "limit": limit, "thresholds": "given" if thresholds is not None else "multiples"}
    return _bounded(fitted, bounds[0] * LN10, bounds[1] * LN10, "invariance", options, _counts(moments))


def _bounded(
    fitted: Map, low: float, high: float, how: str, options: dict[str, Any], more: dict[str, Any]
) -> BoundedMap:
    return BoundedMap(
        map=fitted, low=low, high=high, method=f"{fitted.method}+{how}", options=options,
        details={"low_log10": round(low / LN10, 12), "high_log10": round(high / LN10, 12), **more},
        provenance=fitted.provenance,
    )  # fmt: skip


def _counts(moments: Moments) -> dict[str, Any]:
    return {"n_target": moments.target.count, "n_nontarget": moments.nontarget.count, "passes": 2}


def _lowest(moments: ClassMoments) -> float:
    return -math.inf if moments.n_neg_inf else math.inf if moments.n == 0 else float(moments.low[0])


def _highest(moments: ClassMoments) -> float:
    return math.inf if moments.n_pos_inf else -math.inf if moments.n == 0 else float(moments.high[0])


def _positive(value: Any, name: str) -> float:
    if not (isinstance(value, (int, float)) and 0.0 < value < math.inf):
        raise InputError(f"{name} must be a positive number, got {value!r}")
    return float(value)
