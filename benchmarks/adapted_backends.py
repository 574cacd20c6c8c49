"""Every back-end, centered on the new domain, and every way of adaptation of PLDA, on real embeddings.

    python benchmarks/adapted_backends.py ../shared/data/speech_embeddings
    python benchmarks/adapted_backends.py ../shared/data/speech_embeddings --adaptations

Default steps and sizes; trained on background speakers of other corpora, adapted by dev, same-gender trials
of eval, side A against side B. The first prints EER in % and raw Cllr, the table in
docs/reference/recognition.md; the second EER in %, the table of docs/tutorials/embeddings-to-llrs.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import llrkit as lk
from llrkit.speech import Embeddings, Recognizer, matrix_scores, read_embeddings, train_recognizer

FRONTS = {"ivectornb": "telephone-band i-vectors", "ecapa": "ECAPA"}
BACKENDS = ("cosine", "plda")
DURATIONS = ("5", "20", "full")
ADAPTATIONS: tuple[tuple[str, float | None], ...] = (
    ("none", None), ("center", None), ("coral", None), ("coral+", 0.8), ("coral+", 0.1), ("kaldi", None),
    ("interpolate", 0.5), ("interpolate", 0.1),
)  # fmt: skip
"""Their names and weights."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--front", choices=list(FRONTS), action="append", help="By default all.")
    parser.add_argument("--backend", choices=BACKENDS, action="append", help="By default all.")
    parser.add_argument(
        "--adaptations", action="store_true", help="Adaptations of PLDA instead of back-ends."
    )
    options = parser.parse_args()
    if options.adaptations:
        adaptations(utterances(options.folder, "ivectornb"))
        return
    print("| embeddings | back-end | 5 s | 20 s | whole |\n|---|---|--:|--:|--:|")
    for front in options.front or FRONTS:
        found = utterances(options.folder, front)
        background, dev = found.where(split="train"), found.where(split="dev")
        for backend in options.backend or BACKENDS:
            recognizer = train_recognizer(background, backend, adapt=dev, adaptation="center", rng=0)
            cells = []
            for duration in DURATIONS:
                scores = eval_scores(recognizer, found, duration)
                raw = "" if backend == "cosine" else f" ({lk.cllr(scores):.1f})"
                cells.append(f"{100 * lk.eer(scores):.1f}{raw}")
            print(f"| {FRONTS[front]} | `{backend}` | {' | '.join(cells)} |", flush=True)


def adaptations(found: Embeddings) -> None:
    """EER of PLDA with each adaptation."""
    background, dev = found.where(split="train"), found.where(split="dev")
    print("| adaptation | 5 s | 20 s | whole |\n|---|--:|--:|--:|")
    for name, weight in ADAPTATIONS:
        adapted: dict[str, Any] = {"adapt": dev, "adaptation": name, "adaptation_weight": weight}
        recognizer = train_recognizer(background, "plda", rng=0, **({} if name == "none" else adapted))
        cells = [f"{100 * lk.eer(eval_scores(recognizer, found, duration)):.1f}" for duration in DURATIONS]
        title = name if name == "none" else f"`{name}`" + ("" if weight is None else f", weight {weight:g}")
        print(f"| {title} | {' | '.join(cells)} |", flush=True)


def utterances(folder: Path, front: str) -> Embeddings:
    """All embeddings of a kind whose labels are not in doubt."""
    return read_embeddings(folder / "embeddings.npz", vectors=front).where(suspect_label=False)


def eval_scores(recognizer: Recognizer, found: Embeddings, duration: str) -> lk.Scores:
    """Same-gender trials of the evaluation speakers, side A against side B."""
    part = found.where(split="eval", duration=duration)
    enroll, test = part.where(side="A"), part.where(side="B")
    matrix = recognizer.scores(recognizer.prepare(enroll), recognizer.prepare(test))
    return matrix_scores(matrix, enroll, test, same=["gender"])


if __name__ == "__main__":
    main()
