"""A straight line fitted to arrays of LLRs, again and again and quickly: for null distributions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.special import LN2, sigmoid, softplus

SAFEGUARD = 0.01
"""``regularization`` of :func:`llrkit.fit_logistic`, which keeps the slope finite without overlap."""
_CELLS = 2048


def cross_validated_cllr(target: FloatArray, nontarget: FloatArray, folds: int) -> float:
    """Cllr in bits of LLRs calibrated by straight lines, each fitted to the other folds."""
    if max(len(target), len(nontarget)) > 8 * _CELLS:
        return _cllr_on_cells(target, nontarget, folds)
    loss = 0.0
    for i in range(folds):
        (t_held, t_rest), (n_held, n_rest) = (_split(values, i, folds) for values in (target, nontarget))
        a, b = fit_line(
            np.concatenate([t_rest, n_rest]),
            np.repeat([1.0 / len(t_rest), 0.0], [len(t_rest), len(n_rest)]),
            np.repeat([0.0, 1.0 / len(n_rest)], [len(t_rest), len(n_rest)]),
            len(t_rest),
        )
        loss += float(softplus(-a * t_held - b).sum()) / len(target)
        loss += float(softplus(a * n_held + b).sum()) / len(nontarget)
    return loss / (2.0 * LN2)


def _split(values: FloatArray, i: int, folds: int) -> tuple[FloatArray, FloatArray]:
    n = len(values)
    held = slice(i * n // folds, (i + 1) * n // folds)
    return values[held], np.delete(values, held)


def _cllr_on_cells(target: FloatArray, nontarget: FloatArray, folds: int) -> float:
    """The same with LLRs counted in cells that are narrow beside what they are fitted with."""
    low, high = min(target.min(), nontarget.min()), max(target.max(), nontarget.max())
    edges = np.linspace(low, high, _CELLS + 1)
    x = (edges[1:] + edges[:-1]) / 2.0
    counts = [_counts_in_folds(values, edges, folds) for values in (target, nontarget)]
    totals, loss = [in_folds.sum(axis=0) for in_folds in counts], 0.0
    for i in range(folds):
        t, n = (total - in_folds[i] for total, in_folds in zip(totals, counts, strict=True))
        a, b = fit_line(x, t / t.sum(), n / n.sum(), int(t.sum()))
        loss += _mean_loss(a * x + b, counts[0][i] / len(target), counts[1][i] / len(nontarget))
    # what the cells change is the same with and without calibration
    raw = _mean_loss(x, totals[0] / len(target), totals[1] / len(nontarget))
    exact = float(softplus(-target).mean() + softplus(nontarget).mean())
    return (loss - raw + exact) / (2.0 * LN2)


def _counts_in_folds(values: FloatArray, edges: FloatArray, folds: int) -> FloatArray:
    bounds = [i * len(values) // folds for i in range(folds + 1)]
    return np.array([np.histogram(values[i:j], edges)[0] for i, j in pairwise(bounds)], dtype=np.float64)


def _mean_loss(llr: FloatArray, target: FloatArray, nontarget: FloatArray) -> float:
    return float((target * softplus(-llr)).sum() + (nontarget * softplus(llr)).sum())


def fit_line(x: FloatArray, target: FloatArray, nontarget: FloatArray, df: float) -> tuple[float, float]:
    """Logistic regression at prior 1/2 of weighted LLRs (weights of a class add up to 1).

    Careful Newton steps from slope 1 and offset 0; ``SAFEGUARD / df`` is the weight of copies of the
    trials with either label.

    Examples
    --------
    >>> x = np.array([-2.0, 2.0])
    >>> a, b = fit_line(x, np.array([0.25, 0.75]), np.array([0.75, 0.25]), 1e9)
    >>> round(2.0 * a, 6) == round(float(np.log(3.0)), 6), round(b, 6)
    (True, 0.0)
    """
    a, b = 1.0, 0.0
    pull = 0.5 * SAFEGUARD / df
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
