"""A few labeled trials of the new domain: a line after the map, as far from no change as they make certain.

The LLRs ``x`` of a map become ``(1 + u) x + v`` with normal priors on ``u`` and ``v`` around 0. Several
widths of these priors are tried, and the lines they lead to are averaged, each with the probability of the
labels under its priors as weight (empirical Bayes, by Laplace's approximation). Half of the weight before any
label is seen belongs to no change at all, and narrow priors have more than wide ones. With no label it is the
map itself, with many it is logistic regression.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.grid import require_both_classes
from llrkit.core.sample import Sample
from llrkit.core.special import sigmoid, softplus
from llrkit.scores import ScoreSource

SLOPES = (0.03, 0.1, 0.3, 0.8)
"""Standard deviations of the prior of the slope that are tried."""
OFFSETS = (0.03, 0.3, 1.0, 3.0, 10.0)
"""The same of the offset, in nats."""
NO_CHANGE = 0.5
"""Probability before any label that the map is right as it is."""
WIDER = 0.7
"""How much less probable the next wider prior is."""
MOST_KEPT = 100_000


@dataclass(frozen=True)
class ShrunkLine:
    """A line after a map: slope and offset, and how likely the priors make the labels."""

    slope: float
    offset: float
    log_evidence: float
    n_target: int
    n_nontarget: int


def shrunk_line(llrs: ScoreSource) -> ShrunkLine:
    """The line that a few labeled LLRs ask for.

    Both classes count alike, as in Cllr: each has half of the weight of ``4 / (1/n_t + 1/n_n)`` trials.

    Examples
    --------
    >>> from llrkit.scores import Scores
    >>> few = shrunk_line(Scores([3.0, 1.0, 2.5], [-2.0, -3.0, -1.0]))
    >>> round(few.slope, 1), round(few.offset, 1)  # nothing speaks against the map
    (1.0, -0.0)
    >>> rng = np.random.default_rng(1)
    >>> off = shrunk_line(Scores(rng.normal(7.0, 2.0, 100), rng.normal(3.0, 2.0, 100)))
    >>> round(off.offset)  # the LLRs are 5 too high
    -5
    """
    sample = llrs.reduce(lambda chunk: Sample.of(chunk, MOST_KEPT, MOST_KEPT))
    target, nontarget = sample.scores().target, sample.scores().nontarget
    require_both_classes(len(target), len(nontarget))
    whole = 4.0 / (1.0 / len(target) + 1.0 / len(nontarget))
    x = np.clip(np.concatenate([target, nontarget]).astype(np.float64), -1e3, 1e3)
    sign = np.repeat([1.0, -1.0], [len(target), len(nontarget)])
    weight = np.repeat(
        [0.5 * whole / len(target), 0.5 * whole / len(nontarget)], [len(target), len(nontarget)]
    )
    tried = [_line_at(x, sign, weight, np.array(widths)) for widths in product(SLOPES, OFFSETS)]
    before = np.array([WIDER ** (i + j) for i, j in np.ndindex(len(SLOPES), len(OFFSETS))])
    before = np.append((1.0 - NO_CHANGE) * before / before.sum(), NO_CHANGE)
    unchanged = -float(weight @ softplus(-sign * x))
    log_joint = np.log(before) + np.array([*(one[0] for one in tried), unchanged])
    share = np.exp(log_joint - log_joint.max())
    slope, offset = (share / share.sum()) @ np.array([*(one[1] for one in tried), np.zeros(2)])
    whole_evidence = float(log_joint.max() + np.log(share.sum()))
    return ShrunkLine(1.0 + float(slope), float(offset), whole_evidence, len(target), len(nontarget))


def _line_at(
    x: FloatArray, sign: FloatArray, weight: FloatArray, widths: FloatArray
) -> tuple[float, FloatArray]:
    """Log evidence and most likely line under priors of given widths."""
    precision = 1.0 / widths**2
    features = np.stack([x, np.ones(len(x))], axis=1)

    def value(line: FloatArray) -> float:
        return -float(weight @ softplus(-sign * (x + features @ line))) - 0.5 * float(precision @ line**2)

    line, now = np.zeros(2), value(np.zeros(2))
    hessian = np.diag(precision)
    for _ in range(100):
        p = sigmoid(-sign * (x + features @ line))
        gradient = features.T @ (weight * sign * p) - precision * line
        hessian = features.T @ ((weight * p * (1.0 - p))[:, None] * features) + np.diag(precision)
        step = np.linalg.solve(hessian, gradient)
        while value(line + step) < now and np.abs(step).max() > 1e-12:
            step = step / 2.0
        line, before, now = line + step, now, value(line + step)
        if now - before < 1e-12:
            break
    evidence = now + 0.5 * float(np.log(precision).sum()) - 0.5 * math.log(float(np.linalg.det(hessian)))
    return evidence, line
