"""Fusions of ASV and CM scores on ASVspoof 2019 LA: minimum and actual a-DCF of both parts.

    python benchmarks/sasv_fusions.py ../shared/data

Fusions are trained on the development part; the attacks of the evaluation part are others. Prints the table
of docs/reference/spoofing.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

from llrkit import spoof

PAIRS = {"ECAPA + AASIST": ("asv_ecapa", "cm_aasist"), "x-vector + LFCC": ("asv_xvector", "cm_lfcc_gmm")}
METHODS = {"raw": "sum of scores", "linear": "linear", "bayes": "bayes", "bayes-trained": "bayes-trained"}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--costs", default="asvspoof5", help="A preset of priors and costs.")
    options = parser.parse_args()
    cells: dict[str, list[str]] = {name: [] for name in METHODS}
    for systems in PAIRS.values():
        train, test = (tandem(options.data, part, *systems) for part in ("dev", "eval"))
        found = spoof.compare(train, test, costs=options.costs)
        for name in METHODS:
            (ours,), (theirs,) = found.on_training[name].a_dcf, found.evaluations[name].a_dcf
            # the sum of scores is not an LLR
            act = "-" if name == "raw" else f"{theirs.act:.4f}"
            cells[name] += [f"{ours.min:.4f}", f"{theirs.min:.4f}", act]
    header = [f"{pair} dev min | eval min | eval act" for pair in PAIRS]
    print(f"| method | {' | '.join(header)} |\n|---|" + 3 * len(PAIRS) * "--:|")
    for name, row in cells.items():
        print(f"| {METHODS[name]} | {' | '.join(row)} |")


def tandem(data: Path, part: str, asv: str, cm: str) -> spoof.SpoofTrials:
    """One part of the set, with the scores of two systems."""
    path = data / "asvspoof2019_la" / f"tandem_{part}.tsv.gz"
    return spoof.SpoofTrials(pl.read_csv(path, separator="\t", infer_schema_length=None), asv=asv, cm=cm)


if __name__ == "__main__":
    main()
