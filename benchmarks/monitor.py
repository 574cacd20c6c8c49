"""How often a ShiftMonitor gives a false alarm over whole runs, and after how many scores it sees a shift.

    python benchmarks/monitor.py

Prints the table of docs/explanation/shift.md. Scores are those of two Gaussian classes four standard
deviations apart; a tenth of the training trials are targets.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

import llrkit as lk

Array = npt.NDArray[np.float64]
SHARES = (0.0, 0.01, 0.1, 0.3, 0.9)
"""The share of targets in a batch, drawn anew for each."""
QUIET = (  # training trials, batches, scores in a batch
    (2_000, 60, 500), (20_000, 60, 500), (2_000, 40, 5_000), (20_000, 40, 5_000),
)  # fmt: skip
SHIFTED = (  # name, gain, offset, training trials, scores in a batch, most batches
    ("gain 1.3", 1.3, 0.0, 20_000, 500, 40),
    ("gain 1.3", 1.3, 0.0, 2_000, 500, 80),
    ("offset 1", 1.0, 1.0, 20_000, 500, 40),
    ("offset 1", 1.0, 1.0, 2_000, 500, 40),
    ("gain 1.1", 1.1, 0.0, 20_000, 5_000, 16),
    ("gain 1.1", 1.1, 0.0, 20_000, 500, 160),
)


def trained(n: int, rng: np.random.Generator) -> lk.Map:
    dev = lk.Scores(rng.normal(4.0, 1.0, n // 10), rng.normal(0.0, 1.0, n - n // 10))
    return lk.calibrate(dev, bound="none").map


def batch(n: int, share: float, rng: np.random.Generator) -> Array:
    n_target = rng.binomial(n, share)
    return np.append(rng.normal(4.0, 1.0, n_target), rng.normal(0.0, 1.0, n - n_target))


def alarm_after(
    n_train: int, batches: int, draw: Callable[[], Array], rng: np.random.Generator
) -> int | None:
    """The scores after which the alarm was given; None without one."""
    monitor = lk.ShiftMonitor(trained(n_train, rng))
    for _ in range(batches):
        monitor.update(draw())
        if monitor.alarm:
            return monitor.alarm_at
    return None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quiet-runs", type=int, default=30, help="Runs of each design without a shift.")
    parser.add_argument("--runs", type=int, default=10, help="Runs of each shift.")
    options = parser.parse_args()
    warnings.simplefilter("ignore", lk.errors.ShiftWarning)
    began = time.process_time()
    print("| change | training trials | batches of | alarms | scores until then |\n|---|--:|--:|--:|--:|")
    for n_train, batches, n in QUIET:
        alarms = 0
        for seed in range(options.quiet_runs):
            rng = np.random.default_rng([seed, n_train, n])
            drawn = alarm_after(n_train, batches, lambda n=n, rng=rng: batch(n, rng.choice(SHARES), rng), rng)
            alarms += drawn is not None
        row = f"| share of targets alone | {n_train:,} | {n:,} | {alarms} of {options.quiet_runs} |"
        print(f"{row} {batches * n:,} without alarm |" if not alarms else f"{row} |", flush=True)
    for name, gain, offset, n_train, n, most in SHIFTED:
        found = []
        for seed in range(options.runs):
            rng = np.random.default_rng([seed, n_train, n, 1])
            move = lambda n=n, rng=rng, a=gain, b=offset: a * batch(n, 0.05, rng) + b  # noqa: E731
            found.append(alarm_after(n_train, most, move, rng))
        seen = sorted(after for after in found if after is not None)
        span = f"{seen[0]:,} to {seen[-1]:,}" if seen else f"none in {most * n:,}"
        print(f"| {name} | {n_train:,} | {n:,} | {len(seen)} of {options.runs} | {span} |", flush=True)
    print(f"{time.process_time() - began:.0f} s of CPU time")


if __name__ == "__main__":
    main()
