"""A million trials of twenty classes beside SciPy's logsumexp and scikit-learn's LogisticRegression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import logsumexp

import llrkit as lk

Timed = Callable[[Callable[[], Any], int], dict[str, float]]


def trials(n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores that need a scale and an offset for each class."""
    rng = np.random.default_rng(n + k)
    labels = rng.integers(0, k, n)
    loglik = rng.normal(size=(n, k))
    loglik[np.arange(n), labels] += 2.0
    return 2.0 * loglik + rng.normal(size=k), labels


def scalar_metrics(scores: lk.scores.ClassScores) -> Any:
    """Cllr, normalized Cllr, error rate, Cavg of LRE07 and LRE22, per-class losses, confusion matrix."""
    return lk.multiclass.evaluate(scores, refine_by=None, detection=False)


def multinomial(loglik: np.ndarray, labels: np.ndarray) -> Any:
    """scikit-learn's fit as it comes: the same array, the usual tolerance."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000).fit(loglik, labels)


def bench_classes(timed: Timed, repeat: int, peers: bool, n: int = 1_000_000, k: int = 20) -> dict[str, Any]:
    loglik, labels = trials(n, k)
    scores = lk.scores.ClassScores(loglik, labels)
    rows = {
        "scipy logsumexp": timed(lambda: logsumexp(loglik, axis=1), repeat),
        "llrkit scalar metrics, confusion": timed(lambda: scalar_metrics(scores), repeat),
        "llrkit temperature": timed(lambda: lk.multiclass.fit_temperature(scores), repeat),
        "llrkit scale and offset": timed(lambda: lk.multiclass.fit_scale_offset(scores), repeat),
        "llrkit Gaussian back-end": timed(lambda: lk.multiclass.fit_gaussian(scores), repeat),
    }
    if peers:
        rows["sklearn LogisticRegression"] = timed(lambda: multinomial(loglik, labels), 1)
    print(f"\nseveral classes: {n:,} trials of {k} classes, {loglik.nbytes / 2**20:.0f} MiB")
    print(f"{'':34}{'wall s':>9}{'CPU s':>9}{'wall / logsumexp':>18}{'x scale-offset':>16}")
    ours = rows["llrkit scale and offset"]
    for label, row in rows.items():
        row["wall_ratio"] = row["wall"] / rows["scipy logsumexp"]["wall"]
        row["times_scale_offset"] = row["wall"] / ours["wall"]
        print(
            f"{label:34}{row['wall']:9.3f}{row['cpu']:9.3f}{row['wall_ratio']:18.2f}"
            f"{row['times_scale_offset']:16.1f}"
        )
    return {"n": n, "classes": k, "rows": rows}
