"""Back-ends on real embeddings: EER and Cllr, means over 25 pairs of durations.

    python benchmarks/real_embeddings.py ../shared/data/speech_embeddings

Trained on background speakers, calibrated on one set of speakers, evaluated on another; prints the rows of
the table in docs/notes/recognition-results.md.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import llrkit as lk
from llrkit.speech import (
    Embeddings,
    LengthNorm,
    cosine_scores,
    matrix_scores,
    normalized_scores,
    read_embeddings,
    train_centering,
    train_chain,
    train_lda,
    train_plda,
    train_wccn,
)

FRONTS = ("ivectornb", "ivector", "resemblyzer", "ecapa")
DURATIONS = ("5", "10", "20", "40", "full")
LDA_DIM = 80
Scorer = Callable[[Embeddings, Embeddings], Any]


def prepared(file: Path, front: str) -> Embeddings:
    """Length-normalized, background corpora centered each, the rest by the mean of dev; normalized again."""
    found = read_embeddings(file, vectors=front).where(suspect_label=False)
    unit = LengthNorm()(found.replace(vectors=found.vectors.astype(np.float64)))
    vectors, background = unit.vectors.copy(), unit.columns["split"] == "train"
    for corpus in np.unique(unit.columns["corpus"][background]):
        rows = background & (unit.columns["corpus"] == corpus)
        vectors[rows] = train_centering(vectors[rows])(vectors[rows])
    vectors[~background] = train_centering(unit.where(split="dev"))(vectors[~background])
    return LengthNorm()(unit.replace(vectors=vectors))


def lists(embeddings: Embeddings, split: str, score: Scorer) -> Iterator[tuple[tuple[str, str], lk.Scores]]:
    """Side A enrolls, side B tests, non-targets of the same gender; a list for each pair of durations."""
    part = embeddings.where(split=split)
    enroll, test = part.where(side="A"), part.where(side="B")
    matrix = score(enroll, test)
    for one in DURATIONS:
        for two in DURATIONS:
            rows, columns = enroll.columns["duration"] == one, test.columns["duration"] == two
            some = matrix[np.ix_(rows, columns)]
            yield (one, two), matrix_scores(some, enroll.select(rows), test.select(columns), same=["gender"])


def systems(found: Embeddings) -> dict[str, tuple[Embeddings, Scorer]]:
    """Each back-end: the embeddings made ready, and how they are scored."""
    background = found.where(split="train")
    whitened = LengthNorm()(train_wccn(background, shrinkage=1e-3)(found))
    ready = whitened.where(split="train")
    lda = train_chain(background, [lambda e: train_lda(e, dim=LDA_DIM, shrinkage=1e-3), LengthNorm()])
    cohort = background.where(duration="full")
    made: dict[str, tuple[Embeddings, Scorer]] = {
        "cosine": (found, cosine_scores),
        "cosine, AS-norm1": (found, lambda e, t: normalized_scores(
            cosine_scores, e, t, cohort, normalize="as1", top=100)),
        f"LDA to {LDA_DIM}, cosine": (lda(found), cosine_scores),
    }  # fmt: skip
    for name, options in (
        ("PLDA, moments", {"iterations": 0}),
        ("PLDA, EM", {"iterations": 20}),
        ("PLDA, EM, rank 50", {"iterations": 20, "rank": 50}),
    ):
        made[name] = (whitened, train_plda(ready, shrinkage=1e-6, **options).model.scores)  # type: ignore[arg-type]
    return made


def calibrated(fit: Callable[[Any], Any], dev: lk.Scores, scores: lk.Scores) -> float:
    """Cllr after calibration on dev; NaN where dev is separable."""
    try:
        mapped = fit(dev)
    except lk.errors.SeparationError:
        return float("nan")
    return lk.cllr(lk.Scores(mapped(scores.target), mapped(scores.nontarget)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    warnings.simplefilter("ignore", lk.errors.ShapeWarning)
    print("| embeddings | scores | EER % | Cllr raw | CMLG | logistic | minimum |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for front in FRONTS:
        for name, (ready, score) in systems(prepared(folder / "embeddings.npz", front)).items():
            dev, evaluation = (dict(lists(ready, split, score)) for split in ("dev", "eval"))
            rows = [
                (100 * lk.eer(scores), lk.cllr(scores) if "PLDA" in name else np.nan,
                 calibrated(lk.fit_cmlg, dev[pair], scores), calibrated(lk.fit_logistic, dev[pair], scores),
                 lk.min_cllr(scores))
                for pair, scores in evaluation.items()
            ]  # fmt: skip
            mean, refused = _means(rows)
            shown = [f"{mean[0]:.2f}", *("" if np.isnan(m) else f"{m:.3f}" for m in mean[1:])]
            note = f" ({25 - refused} pairs)" if refused else ""
            print(
                f"| {front} | {name} | {' | '.join(shown[:3])} | {shown[3]}{note} | {shown[4]} |", flush=True
            )


def _means(rows: list[tuple[float, ...]]) -> tuple[list[float], int]:
    columns = np.array(rows).T
    mean = [float(np.mean(c[~np.isnan(c)])) if not np.isnan(c).all() else float("nan") for c in columns]
    return mean, int(np.isnan(columns[3]).sum())


if __name__ == "__main__":
    main()
