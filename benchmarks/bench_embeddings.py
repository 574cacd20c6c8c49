"""Times whole matrices of scores of embeddings beside the bare matrix product of the same size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from llrkit.speech import PLDA, Embeddings, as_norm, cosine_scores, s_norm, train_plda

Timed = Callable[[Callable[[], Any], int], dict[str, float]]
N, DIM, COHORT = 5_000, 200, 1_000


def bench_embeddings(timed: Timed, repeat: int) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    root = rng.normal(size=(DIM, DIM)) / np.sqrt(DIM)
    full = PLDA(np.zeros(DIM), root @ root.T, np.eye(DIM))
    low = PLDA(np.zeros(DIM), root[:, :50] @ root[:, :50].T, np.eye(DIM))
    enroll, test = rng.normal(size=(N, DIM)), rng.normal(size=(N, DIM))
    sessions = rng.integers(1, 6, N)
    names = [str(i) for i in range(200)]
    covariances = np.array([np.diag(row) for row in rng.gamma(1.0, size=(200, DIM))])
    few = [Embeddings(part[:200], names, covariances=covariances) for part in (enroll, test)]
    results: dict[str, Any] = {"n": N, "dim": DIM}
    for kind in (np.float64, np.float32):
        x, t = enroll.astype(kind), test.astype(kind)
        rows = {
            "matrix product": timed(lambda x=x, t=t: x @ t.T, repeat),
            "cosine": timed(lambda x=x, t=t, k=kind: cosine_scores(x, t, dtype=k), repeat),
            "PLDA": timed(lambda x=x, t=t, k=kind: full.scores(x, t, dtype=k), repeat),
            "PLDA of rank 50": timed(lambda x=x, t=t, k=kind: low.scores(x, t, dtype=k), repeat),
            "PLDA, 1 to 5 sessions": timed(
                lambda x=x, t=t, k=kind: full.scores(x, t, sessions, dtype=k), repeat
            ),
        }
        results[np.dtype(kind).name] = rows
        _show(f"{N:,} x {N:,} scores of {DIM} dimensions, {np.dtype(kind).name}", rows)
    raw, left, right = (rng.normal(size=shape) for shape in ((N, N), (N, COHORT), (COHORT, N)))
    speakers = np.arange(N) // 10
    rows = {
        "matrix product": results["float64"]["matrix product"],
        "s-norm": timed(lambda: s_norm(raw, left, right), max(1, repeat // 2)),
        "AS-norm1, top 200": timed(lambda: as_norm(raw, left, right, top=200), max(1, repeat // 2)),
        "AS-norm2, top 200": timed(lambda: as_norm(raw, left, right, top=200, selection="other"), 1),
        "EM of 5,000 vectors, one step": timed(lambda: train_plda(enroll, speakers, iterations=1), 2),
        "200 x 200, a covariance each, diagonal": timed(lambda: low.scores(*few, uncertainty="diagonal"), 2),
        "200 x 200, a covariance each, exact": timed(lambda: low.scores(*few), 1),
    }
    results["more"] = rows
    _show(f"normalization of {N:,} x {N:,} scores by a cohort of {COHORT:,}, training, uncertainty", rows)
    return results


def _show(title: str, rows: dict[str, dict[str, float]]) -> None:
    print(f"\n{title}")
    print(f"{'':40}{'wall s':>9}{'CPU s':>9}{'wall / product':>16}")
    for name, row in rows.items():
        row["wall_ratio"] = row["wall"] / rows["matrix product"]["wall"]
        print(f"{name:40}{row['wall']:9.3f}{row['cpu']:9.3f}{row['wall_ratio']:16.2f}")
