"""Error rates at every stored prior, in a form that a page can compute costs from without losing a digit.

Rates are counts over a whole number. The page gets the counts, as differences from one prior to the next,
and divides as we do, so its rates are ours to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.evaluation.evaluation_result import Evaluation


def exact_rates(evaluation: Evaluation) -> dict[str, Any]:
    """Actual and best error rates on the grid of log-odds and at the operating points."""
    curve, n_target, n_nontarget = evaluation.bayes_error, evaluation.n_target, evaluation.n_nontarget
    marks = evaluation.marks
    return {
        "actual_miss": encoded(curve.actual_p_miss, n_target),
        "actual_fa": encoded(curve.actual_p_fa, n_nontarget),
        "best_miss": encoded(curve.minimum_p_miss, n_target),
        "best_fa": encoded(curve.minimum_p_fa, n_nontarget),
        "points": [
            [float(rate) for rate in rates]
            for rates in zip(
                marks.actual_p_miss, marks.actual_p_fa, marks.best_p_miss, marks.best_p_fa, strict=True
            )
        ],
    }


def encoded(rates: FloatArray, n: float) -> dict[str, Any]:
    """Counts as a first value and steps, where that gives the very same rates; else the rates.

    Examples
    --------
    >>> encoded(np.array([0.5, 0.25, 0.25]), 4)
    {'n': 4, 'steps': [2, -1, 0]}
    >>> encoded(np.array([0.5, 1 / 3]), 4)
    {'rates': [0.5, 0.3333333333333333]}
    """
    counts = np.rint(rates * n)
    if float(n).is_integer() and np.array_equal(counts / n, rates):
        steps = np.diff(counts, prepend=0.0).astype(np.int64)
        return {"n": int(n), "steps": steps.tolist()}
    return {"rates": rates.tolist()}
