"""Every back-end, centered on the new domain, on real embeddings: EER in % and raw Cllr.

    python benchmarks/adapted_backends.py ../shared/data/speech_embeddings

Default steps and sizes; trained on background speakers of other corpora, adapted by dev, same-gender trials
of eval, side A against side B. Prints the rows of the table of heavy-tailed PLDA in docs/reference/recognition.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import llrkit as lk
from llrkit.recognize import matrix_scores, read_embeddings, train_recognizer

FRONTS = {"ivectornb": "telephone-band i-vectors", "ecapa": "ECAPA"}
BACKENDS = ("cosine", "plda", "htplda", "psda", "tpsda")
DURATIONS = ("5", "20", "full")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--front", choices=list(FRONTS), action="append", help="By default all.")
    parser.add_argument("--backend", choices=BACKENDS, action="append", help="By default all.")
    options = parser.parse_args()
    print("| embeddings | back-end | 5 s | 20 s | whole |\n|---|---|--:|--:|--:|")
    for front in options.front or FRONTS:
        found = read_embeddings(options.folder / "embeddings.npz", vectors=front).where(suspect_label=False)
        background, dev = found.where(split="train"), found.where(split="dev")
        for backend in options.backend or BACKENDS:
            recognizer = train_recognizer(background, backend, adapt=dev, adaptation="center", rng=0)
            cells = []
            for duration in DURATIONS:
                part = found.where(split="eval", duration=duration)
                enroll, test = part.where(side="A"), part.where(side="B")
                matrix = recognizer.scores(recognizer.prepare(enroll), recognizer.prepare(test))
                scores = matrix_scores(matrix, enroll, test, same=["gender"])
                raw = "" if backend == "cosine" else f" ({lk.cllr(scores):.1f})"
                cells.append(f"{100 * lk.eer(scores):.1f}{raw}")
            print(f"| {FRONTS[front]} | `{backend}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
