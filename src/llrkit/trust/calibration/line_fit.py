"""A straight line fitted to LLRs counted in cells, again and again and quickly."""

from __future__ import annotations

import math

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.special import LN2, sigmoid, softplus

SAFEGUARD = 0.01
"""``regularization`` of :func:`llrkit.fit_logistic`, which keeps the slope finite without overlap."""
FOLDS = 5
_MOST_CELLS = 256


def cross_validated_loss(
    llr: FloatArray,
    target: FloatArray,
    nontarget: FloatArray,
    rng: np.random.Generator,
    *,
    folds: int = FOLDS,
    start: tuple[float, float] = (1.0, 0.0),
) -> float:
    """What straight lines, each fitted to the other of several random parts, gain in Cllr, in bits."""
    every = -(-len(llr) // _MOST_CELLS)  # a line needs no finer cells
    if every > 1:
        first = np.arange(0, len(llr), every)
        llr = np.add.reduceat(llr, first) / np.diff(np.append(first, len(llr)))
        target, nontarget = np.add.reduceat(target, first), np.add.reduceat(nontarget, first)
    parts = [
        rng.multinomial(np.round(counts).astype(np.int64), [1.0 / folds] * folds).T
        for counts in (target, nontarget)
    ]
    n, gain = (parts[0].sum(), parts[1].sum()), 0.0
    saved = softplus(-llr), softplus(llr)
    start = fit_line(llr, parts[0].sum(axis=0) / n[0], parts[1].sum(axis=0) / n[1], float(n[0]), start)
    for held in zip(*parts, strict=True):
        t, d = (one.sum(axis=0) - own for one, own in zip(parts, held, strict=True))
        if not (t.any() and d.any()):
            return math.nan
        a, b = fit_line(llr, t / t.sum(), d / d.sum(), float(t.sum()), start)
        mapped = a * llr + b
        for own, before, after, size in zip(
            held, saved, (softplus(-mapped), softplus(mapped)), n, strict=True
        ):
            gain += float((own * (before - after)).sum() / size)
    return gain / (2.0 * LN2)


def fit_line(
    x: FloatArray,
    target: FloatArray,
    nontarget: FloatArray,
    df: float,
    start: tuple[float, float] = (1.0, 0.0),
) -> tuple[float, float]:
    """Logistic regression at prior 1/2 of weighted LLRs (weights of a class add up to 1).

    Careful Newton steps from ``start``; ``SAFEGUARD / df`` is the weight of copies of the trials with
    either label.

    Examples
    --------
    >>> x = np.array([-2.0, 2.0])
    >>> a, b = fit_line(x, np.array([0.25, 0.75]), np.array([0.75, 0.25]), 1e9)
    >>> round(2.0 * a, 6) == round(float(np.log(3.0)), 6), round(b, 6)
    (True, 0.0)
    """
    a, b = start
    pull = 0.5 * SAFEGUARD / df
    filled = np.flatnonzero(target + nontarget)
    if len(filled) < len(x):
        x, target, nontarget = x[filled], target[filled], nontarget[filled]
    both = pull * (target + nontarget)
    t, n = target + both, nontarget + both
    for _ in range(40):
        p = np.asarray(sigmoid(a * x + b))
        residual, weight = n * p - t * (1.0 - p), (t + n) * p * (1.0 - p)
        slope, offset = float((residual * x).sum()), float(residual.sum())
        weighted = weight * x
        aa, ab, bb = float((weighted * x).sum()) + 1e-9, float(weighted.sum()), float(weight.sum()) + 1e-9
        # Newton's step by hand: LAPACK takes longer to be called than two equations to be solved
        scale = aa * bb - ab * ab
        steps = (bb * slope - ab * offset) / scale, (aa * offset - ab * slope) / scale
        largest = max(abs(steps[0]), abs(steps[1]))
        short = min(1.0, 1.0 / max(largest, 1e-12))
        a, b = a - short * steps[0], b - short * steps[1]
        if largest < 1e-8:
            break
    return a, b
