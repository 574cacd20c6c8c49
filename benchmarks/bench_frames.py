"""Times the way from frames to i-vectors: 200 utterances of one minute, 512 Gaussians, 200 factors.

The cost of a frame does not depend on what it holds, so the models are random. Statistics and extraction are
timed apart, beside the bare matrix products each cannot do without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from llrkit.speech.frames import Frames
from llrkit.speech.models.gmm import FRAMES_AT_ONCE, DiagonalGMM, adapt_means, baum_welch, gmm_scores
from llrkit.speech.models.ivectors import FactorSums, TotalVariability

Timed = Callable[[Callable[[], Any], int], dict[str, float]]
N_UTTERANCES, N_FRAMES, N_DIMENSIONS, N_GAUSSIANS, N_FACTORS = 200, 6_000, 60, 512, 200


def bench_frames(timed: Timed, repeat: int) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    gmm = DiagonalGMM(
        np.full(N_GAUSSIANS, 1 / N_GAUSSIANS),
        rng.normal(size=(N_GAUSSIANS, N_DIMENSIONS)),
        rng.uniform(0.5, 1.5, size=(N_GAUSSIANS, N_DIMENSIONS)),
    )
    minute = rng.normal(size=(N_FRAMES, N_DIMENSIONS)).astype(np.float32)
    # one minute under 200 names: what is timed reads it anew each time
    frames = Frames(tuple(map(str, range(N_UTTERANCES))), lambda i: minute)
    matrix = 0.1 * rng.normal(size=(N_GAUSSIANS, N_DIMENSIONS, N_FACTORS))
    model = TotalVariability(matrix, gmm.variances, np.zeros_like(gmm.means))
    statistics = baum_welch(frames, gmm)
    squares, flat = model._squares, model.white.reshape(-1, N_FACTORS)  # made once, kept with the model
    deviations = model.deviations(statistics)
    models = adapt_means(statistics.subset(range(100)), gmm)
    short = max(1, repeat // 2)
    rows = {
        "matrix products of the statistics": timed(lambda: products(gmm, minute), short),
        "statistics": timed(lambda: baum_welch(frames[:20], gmm), short),
        "matrix products of the extraction": timed(
            lambda: (statistics.zeroth @ squares, deviations @ flat), short
        ),
        "i-vectors": timed(lambda: model.extract(statistics), short),
        "one step of the training of T": timed(lambda: FactorSums.of(statistics, model), 1),
        "100 UBM-GMM scores, top 5": timed(lambda: gmm_scores(models, [minute], gmm), short),
        "100 UBM-GMM scores, all Gaussians": timed(lambda: gmm_scores(models, [minute], gmm, top=None), 1),
    }
    per = {"statistics": 20, "matrix products of the extraction": 200, "i-vectors": 200,
           "one step of the training of T": 200}  # fmt: skip
    print(f"\n{N_UTTERANCES} utterances of {N_FRAMES:,} frames of {N_DIMENSIONS} numbers (32 bits), "
          f"{N_GAUSSIANS} Gaussians, {N_FACTORS} factors, no pruning: ms per utterance")  # fmt: skip
    print(f"{'':36}{'wall ms':>9}{'CPU ms':>9}")
    for name, row in rows.items():
        row["per_utterance"] = {kind: 1e3 * row[kind] / per.get(name, 1) for kind in ("wall", "cpu")}
        print(f"{name:36}{row['per_utterance']['wall']:9.2f}{row['per_utterance']['cpu']:9.2f}")
    for kind, words in (("wall", "of wall time"), ("cpu", "of CPU time")):
        both = [rows[name]["per_utterance"][kind] for name in ("statistics", "i-vectors")]
        print(f"an i-vector of one minute takes {sum(both):.1f} ms {words}, {both[0]:.1f} of them statistics")
    return {"rows": rows}


def products(gmm: DiagonalGMM, frames: np.ndarray) -> None:
    """The two products that give posteriors and first-order statistics of dense rows."""
    for start in range(0, len(frames), FRAMES_AT_ONCE):
        wide = gmm.expanded(frames[start : start + FRAMES_AT_ONCE])
        joint = gmm.joint(wide)
        _ = joint.T @ wide[:, : gmm.n_dimensions + 1]
