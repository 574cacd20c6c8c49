"""Do PLDA scores look more Gaussian than those of earlier technologies? And what does t-norm do to the DET?

    python benchmarks/gaussianity.py ../shared/data/speech_embeddings

Prints the tables of gaussianity.md and gaussianity-tests.md: the shape of the scores of PLDA, LDA cosine,
support vector machines and UBM-GMM on simulated frames, of all but the last on real embeddings, and a
simulation of t-norm.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import llrkit as lk
from llrkit.core.summaries import Moments
from llrkit.fits.gaussian import shape_statistics
from llrkit.simulate.speakers import FrameModel
from llrkit.speech import (
    Embeddings,
    LengthNorm,
    cosine_scores,
    matrix_scores,
    t_norm,
    train_chain,
    train_lda,
    train_plda,
    train_svm,
    train_wccn,
)
from real_embeddings import FRONTS, LDA_DIM, lists, prepared

HEADER = (
    "| {what} | EER % | skewness target | non-target | excess kurtosis target | non-target | sd ratio "
    "| DET slope | CMLG's loss % |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|"
)


def measures(scores: lk.Scores) -> list[float]:
    """EER, skewness and kurtosis of both classes, ratio of spreads, DET slope, what CMLG loses."""
    found = shape_statistics(scores.reduce(Moments.of))
    minimum = lk.min_cllr(scores)
    mapped = lk.fit_cmlg(scores)
    # trained on the trials themselves: what is lost is lost by the shape, not by a change of speakers
    cllr = lk.cllr(lk.Scores(mapped(scores.target), mapped(scores.nontarget)))
    loss = 100.0 * (cllr / minimum - 1.0) if minimum > 0 else float("nan")
    names = ("skewness_target", "skewness_nontarget", "kurtosis_target", "kurtosis_nontarget", "sd_ratio")
    return [100 * lk.eer(scores), *(found[name] for name in names), lk.metrics.det_slope(scores).slope, loss]


def show(name: str, sets: Iterable[lk.Scores]) -> None:
    """One row: means over the lists (of the loss: of those where the classes overlap)."""
    rows = np.array([measures(scores) for scores in sets])
    mean = [float(np.mean(c[np.isfinite(c)])) if np.isfinite(c).any() else float("nan") for c in rows.T]
    cells = [f"{mean[0]:.2f}", *(f"{value:+.2f}" for value in mean[1:5]), *(f"{v:.2f}" for v in mean[5:7])]
    print(f"| {name} | {' | '.join(cells)} | {mean[7]:.1f} |", flush=True)


def simulated() -> None:
    """Simulated frames: 1,000 background speakers; 300 others enroll with 20 s, four tests of 10 s each."""
    from llrkit.speech.frames import Frames
    from llrkit.speech.models.gmm import adapt_means, baum_welch, gmm_scores, train_ubm
    from llrkit.speech.models.ivectors import train_ivectors

    model = FrameModel(n_components=64, dim=20, rank=60, strength=0.32, channel=1.2, seed=1)

    def frames(speakers: range, sessions: range, seconds: float) -> Frames:
        who = [(speaker, session) for speaker in speakers for session in sessions]

        def load(i: int) -> Any:
            return model.recording(*who[i], seconds).astype(np.float32)

        return Frames(tuple(f"{a}-{b}" for a, b in who), load, tuple(str(a) for a, _ in who))

    background = frames(range(1000), range(4), 10.0)
    people = range(10_000, 10_300)
    enroll, test = frames(people, range(1), 20.0), frames(people, range(1, 5), 10.0)
    ubm = train_ubm(background.subset(range(0, len(background), 20)), 64, rng=1)
    statistics = [baum_welch(part, ubm) for part in (background, enroll, test)]
    extractor = train_ivectors(statistics[0], ubm, 60, iterations=10)
    vectors = [extractor.extract(part) for part in statistics]
    everything = backends(*vectors, dim=50)
    everything["UBM-GMM"] = gmm_scores(adapt_means(statistics[1], ubm), test, ubm)
    for name, matrix in everything.items():
        show(name, [matrix_scores(matrix, vectors[1], vectors[2])])


def backends(background: Embeddings, enroll: Embeddings, test: Embeddings, dim: int) -> dict[str, Any]:
    """Scores of PLDA, LDA cosine and support vector machines; each with and without length normalization."""
    made: dict[str, Any] = {}
    for name, steps in (("PLDA, length-normalized", ["center", "whiten", "length"]), ("PLDA", ["center"])):
        chain = train_chain(background, steps)
        plda = train_plda(chain(background), iterations=20).model
        made[name] = plda.scores(chain(enroll), chain(test))
    chain = train_chain(background, [partial(train_lda, dim=dim)])
    made[f"LDA to {dim}, cosine"] = cosine_scores(chain(enroll), chain(test))
    chain = train_chain(background, ["wccn", "length"])
    one_each = np.unique(background.known_speakers, return_index=True)[1]
    machines = train_svm(chain(enroll), chain(background).select(one_each))
    made["SVM"] = machines.scores(chain(test))
    return made


def real(folder: Path) -> None:
    """Real embeddings: means over the 25 pairs of durations of the evaluation speakers."""
    for front in FRONTS:
        found = prepared(folder / "embeddings.npz", front)
        background = found.where(split="train")
        whitened = LengthNorm()(train_wccn(background, shrinkage=1e-3)(found))
        ready = whitened.where(split="train")
        plda = train_plda(ready, iterations=20, shrinkage=1e-6).model
        lda = train_chain(background, [partial(train_lda, dim=LDA_DIM, shrinkage=1e-3)])
        impostors = ready.where(duration="full")
        systems = {
            "PLDA": (whitened, plda.scores),
            f"LDA to {LDA_DIM}, cosine": (lda(found), cosine_scores),
            "cosine": (found, cosine_scores),
            "SVM": (whitened, lambda e, t, i=impostors: train_svm(e, i).scores(t)),
        }
        for name, (moved, score) in systems.items():
            show(f"{front}, {name}", (scores for _, scores in lists(moved, "eval", score)))


def turned_by_t_norm() -> None:
    """Scores of an equal-variance pair, d' = 3, that each test segment shifts and scales on its own."""
    rng = np.random.default_rng(1)
    n_models, n_tests, n_cohort = 300, 3000, 200
    target = np.arange(n_tests) % n_models == np.arange(n_models)[:, None]
    noise, cohort = rng.normal(size=(n_models, n_tests)), rng.normal(size=(n_cohort, n_tests))
    offset, factor = rng.normal(size=n_tests), np.exp(0.5 * rng.normal(size=n_tests))
    for name, shifts, scale, scales_target in (
        ("nothing", 0.0, 1.0, True),
        ("an offset", offset, 1.0, True),
        ("a scale", 0.0, factor, True),
        ("an offset and a scale", offset, factor, True),
        ("a scale of the noise alone", 0.0, factor, False),
        ("an offset, and a scale of the noise alone", offset, factor, False),
    ):
        raw = shifts + scale * noise + 3.0 * target * (scale if scales_target else 1.0)
        for norm, matrix in (("raw", raw), ("t-norm", t_norm(raw, shifts + scale * cohort))):
            show(f"{name}: {norm}", [lk.Scores(matrix[target], matrix[~target])])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    folder = parser.parse_args().folder
    warnings.simplefilter("ignore", lk.errors.ShapeWarning)
    print(HEADER.format(what="simulated frames"))
    simulated()
    if folder is not None:
        print("\n" + HEADER.format(what="real embeddings"))
        real(folder)
    print("\n" + HEADER.format(what="each test segment adds"))
    turned_by_t_norm()


if __name__ == "__main__":
    main()
