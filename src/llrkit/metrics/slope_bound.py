"""Whether the best straight line may have a slope in some range, without fitting the line."""

from __future__ import annotations

import math

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.scores import Scores

_FURTHEST = 100.0
"""Scores beyond this are not looked at: their exponentials would overflow."""
_MOST = 1 << 13
"""Of more trials a sum takes longer than the counts that it may save; BLAS would begin to use threads."""
_STEPS = 30
_ROOT = 1e-10


def slope_may_be(scores: Scores, low: float, high: float) -> bool:
    """Whether the slope of the line with the lowest Cllr may be between two numbers; False is certain.

    Of large sets nothing is said, that is True.

    The Cllr of ``a x + b``, at the best ``b`` for each ``a``, is a convex function of ``a``. Where it rises
    the best ``a`` is below, where it falls the best ``a`` is above.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores(*lk.theory.GaussianLLR.from_eer(0.05).rvs(500, 500, np.random.default_rng(1)))
    >>> slope_may_be(scores, 2.2, 2.4), slope_may_be(scores, 0.2, 0.4), slope_may_be(scores, 0.5, 2.0)
    (False, False, True)
    """
    if sum(scores.sizes) > _MOST:
        return True
    x = np.concatenate([scores.target, scores.nontarget]).astype(np.float64, copy=False)
    if not (x.min() > -_FURTHEST and x.max() < _FURTHEST):
        return True
    weight = np.repeat([1.0 / scores.n_target, 1.0 / scores.n_nontarget], scores.sizes)
    mean = float(weight[scores.n_target :] @ x[scores.n_target :])
    return not (_rise_at_slope(low, x, weight, mean) > 0.0 or _rise_at_slope(high, x, weight, mean) < 0.0)


def _rise_at_slope(slope: float, x: FloatArray, weight: FloatArray, mean: float) -> float:
    """The derivative by the slope, times 2, at the best offset; 0 where that was not found.

    ``y`` is the posterior of a non-target: the losses of both classes have the derivatives ``1 - y`` and
    ``-y`` by the LLR.
    """
    odds, offset = np.exp(slope * x), 0.0
    for _ in range(_STEPS):
        y = 1.0 / (1.0 + odds * math.exp(offset))
        wrong = float(weight @ y)
        gradient, curvature = 1.0 - wrong, wrong - float(weight @ (y * y))
        if abs(gradient) < _ROOT:
            return mean - float(weight @ (x * y))
        if not curvature > 0.0:
            return 0.0
        offset -= max(-2.0, min(2.0, gradient / curvature))
    return 0.0
