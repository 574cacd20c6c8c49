"""The duration experiment with evaluated corpora of other domains: what calibration loses to the distance.

    python benchmarks/domains.py

At the scale of the paper with one seed; prints the table of docs/explanation/experiments-variations.md.
"""

from __future__ import annotations

import argparse
from unittest.mock import patch

from llrkit.experiments import durations

DOMAINS = (
    ("the same", 0.0, 1.0),
    ("mean moved by 0.3, variance within + 2 % (the experiment)", 0.3, 1.02),
    ("mean moved by 2", 2.0, 1.0),
    ("mean moved by 1, variance + 10 %", 1.0, 1.1),
    ("mean moved by 2, variance + 30 %", 2.0, 1.3),
    ("variance + 30 %", 0.0, 1.3),
)
"""Their names, how far their mean moves, and the factor of the variance within speakers."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", default="paper", choices=list(durations.SCALES))
    parser.add_argument("--seed", type=int, default=2013)
    options = parser.parse_args()
    print(
        "| domain of the evaluated corpus | CMLG | logistic | minimum | difference |\n|---|--:|--:|--:|--:|"
    )
    for name, shift, rougher in DOMAINS:
        with patch.multiple(durations, SHIFT=shift, ROUGHER=rougher):
            found = durations.run_durations(options.scale, seed=options.seed, seeds=1).to_dict()
        mean = found["mean"]
        costs = [mean[key] for key in ("cmlg", "logistic", "min_cllr")]
        cells = [f"{cost:.3f}" for cost in costs]
        print(f"| {name} | {' | '.join(cells)} | {costs[0] - costs[1]:+.3f} |", flush=True)


if __name__ == "__main__":
    main()
