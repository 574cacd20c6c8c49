"""Times intervals beside the evaluation they belong to, and a bootstrap."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import llrkit as lk

Timed = Callable[[Callable[[], Any], int], dict[str, float]]
SIDES = ("left", "right")


def with_speakers(n: int, n_target: int, n_speakers: int = 5_000) -> lk.Scores:
    """Calibrated Gaussian LLRs at EER 5 % with a speaker for each side."""
    rng = np.random.default_rng(n + n_target)
    target, nontarget = lk.theory.GaussianLLR.from_eer(0.05).rvs(n_target, n - n_target, rng)
    same = rng.integers(0, n_speakers, n_target)
    left = rng.integers(0, n_speakers, n - n_target)
    right = (left + rng.integers(1, n_speakers, n - n_target)) % n_speakers
    return lk.Scores(target, nontarget, {"left": (same, left), "right": (same, right)})


def bench_intervals(timed: Timed, repeat: int) -> dict[str, Any]:
    """Wall and CPU seconds, and ratios to the plain evaluation and to a sort of the same scores."""
    large = with_speakers(10_000_000, 7_169)
    points = ["sre08", "sre10"]
    scores = np.concatenate([large.target, large.nontarget])
    rows = {
        "np.sort of the scores": timed(lambda: np.sort(scores), repeat),
        "evaluate": timed(
            lambda: lk.evaluate(lk.Scores(large.target, large.nontarget), points=points), repeat
        ),
        "ci=trial": timed(lambda: lk.evaluate(large, points=points, ci="trial"), repeat),
        "ci=speaker": timed(lambda: lk.evaluate(large, points=points, ci="speaker", speakers=SIDES), repeat),
    }
    print("\nintervals: 10,000,000 trials, 7,169 targets, 5,000 speakers, two operating points")
    print(f"{'':30}{'wall s':>9}{'CPU s':>9}{'x evaluate':>12}{'x sort':>8}")
    for label, row in rows.items():
        row["wall_ratio"] = row["wall"] / rows["evaluate"]["wall"]
        row["sort_ratio"] = row["wall"] / rows["np.sort of the scores"]["wall"]
        print(
            f"{label:30}{row['wall']:9.3f}{row['cpu']:9.3f}{row['wall_ratio']:12.1f}{row['sort_ratio']:8.1f}"
        )
    million = with_speakers(1_000_000, 7_169)
    drawn = timed(
        lambda: lk.evaluate(million, points=["sre08"], ci="bootstrap", speakers=SIDES, replicates=1000), 1
    )
    print(f"1,000 replicates of 1,000,000 trials: {drawn['wall']:.1f} s wall, {drawn['cpu']:.1f} s CPU")
    return {"rows": rows, "bootstrap of 1 million, 1,000 replicates": drawn}


def main() -> None:
    from bench import timed

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    bench_intervals(timed, parser.parse_args().repeat)


if __name__ == "__main__":
    main()
