"""How often 95 % intervals cover: exact PLDA LLRs of speakers who are compared all with all.

Every recording of every speaker is compared with every other one, so that trials share speakers. The LLRs
are exact (the model that made the embeddings computes them), so the true EER, Cllr, AUC and costs are
known from :class:`llrkit.theory.PLDALLR`. Prints a table for each design, with the Monte-Carlo error.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np

import llrkit as lk
from llrkit.evaluation.evaluate import evaluate
from llrkit.trust.intervals.bootstrap import bootstrap_numbers, percentile_interval
from llrkit.trust.intervals.closed_form import closed_form
from llrkit.trust.intervals.functionals import functionals
from llrkit.trust.intervals.resample import speaker_resampling
from llrkit.trust.intervals.speakers import find_speakers

RHO, DIM = 0.4, 20
DESIGNS = {"50 speakers x 4 recordings": (50, 4), "20 speakers x 3 recordings": (20, 3)}
POINT = lk.OperatingPoint(0.2)
SIDES = ("left", "right")


def truth() -> dict[str, float]:
    """The values the intervals should cover, by name of the number."""
    pair = lk.theory.PLDALLR.isotropic(RHO, DIM)
    cost = pair.act_dcf(POINT)
    return {
        "cllr": pair.cllr, "eer": pair.eer, "eer_roc": pair.eer, "auc": pair.auc, "min_cllr": pair.cllr,
        "points.0.act_dcf": cost, "points.0.min_dcf": cost,
        "points.0.p_miss": float(pair.p_miss(POINT.threshold)),
        "points.0.p_fa": float(pair.p_fa(POINT.threshold)),
    }  # fmt: skip


def trials(n_speakers: int, n_recordings: int, rng: np.random.Generator) -> lk.Scores:
    """Exact LLRs of all pairs of recordings, with the speakers of both sides."""
    speaker = np.repeat(np.arange(n_speakers), n_recordings)
    between, within = rng.normal(size=(n_speakers, DIM)), rng.normal(size=(len(speaker), DIM))
    x = math.sqrt(RHO) * between[speaker] + math.sqrt(1.0 - RHO) * within
    squares = (x * x).sum(axis=1)
    left, right = np.triu_indices(len(speaker), 1)
    product = (x @ x.T)[left, right]
    llr = RHO * product - 0.5 * RHO**2 * (squares[left] + squares[right])
    llr = llr / (1.0 - RHO**2) - 0.5 * DIM * math.log1p(-(RHO**2))
    columns = {"left": speaker[left], "right": speaker[right]}
    return lk.Scores.from_labels(llr, speaker[left] == speaker[right], columns)


def one_run(scores: lk.Scores, replicates: int, seed: int) -> dict[str, dict[str, tuple[float, float]]]:
    """Intervals by kind and name."""
    result = evaluate(scores, [POINT])
    speakers = find_speakers(scores, SIDES)
    found = {
        "independent trials": dict(closed_form(scores, result, None, 0.95).intervals),
        "dyadic": dict(closed_form(scores, result, speakers, 0.95).intervals),
    }
    if replicates:
        drawn = bootstrap_numbers(
            scores, result, speaker_resampling(scores, SIDES, seed=seed), replicates, slope=False
        )
        found["bootstrap"] = {
            number.name: percentile_interval(number, drawn[number.name], speakers.n, 0.95)
            for number in functionals(result).numbers
        }
    return found


def coverage(design: tuple[int, int], runs: int, replicates: int, seed: int) -> dict[str, Any]:
    """Share of runs in which each interval covers the truth, and its mean width."""
    rng, wanted = np.random.default_rng([seed, *design]), truth()
    hits: dict[str, dict[str, list[tuple[bool, float]]]] = {}
    for run in range(runs):
        for kind, intervals in one_run(trials(*design, rng), replicates, run).items():
            for name, true in wanted.items():
                if name in intervals:
                    low, high = intervals[name]
                    own = hits.setdefault(kind, {}).setdefault(name, [])
                    own.append((low <= true <= high, high - low))
    return {
        kind: {
            name: {
                "coverage": float(np.mean([hit for hit, _ in rows])),
                "width": float(np.mean([width for _, width in rows])),
                "runs": len(rows),
            }
            for name, rows in by_name.items()
        }
        for kind, by_name in hits.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--replicates", type=int, default=300, help="of each bootstrap; 0 for none")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", help="where the figures go")
    options = parser.parse_args()
    error = 100 * math.sqrt(0.95 * 0.05 / options.runs)
    found = {}
    for name, design in DESIGNS.items():
        start = time.perf_counter()
        found[name] = coverage(design, options.runs, options.replicates, options.seed)
        print(f"\n{name}: {options.runs} runs, seed {options.seed}, Monte-Carlo error {error:.1f} points")
        print(f"({options.replicates} replicates, {time.perf_counter() - start:.0f} s)\n")
        kinds = list(found[name])
        print("| number | " + " | ".join(f"{kind} (width)" for kind in kinds) + " |")
        print("|---|" + "--:|" * len(kinds))
        for number in truth():
            cells = [found[name][kind].get(number) for kind in kinds]
            shown = [f"{100 * c['coverage']:.1f} % ({c['width']:.4f})" if c else "-" for c in cells]
            print(f"| {number.removeprefix('points.0.')} | " + " | ".join(shown) + " |", flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
