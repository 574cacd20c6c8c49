"""How long `spoof.evaluate` of ASV and CM scores takes beside `evaluate` of two classes of the same size.

CPU time of both in one process, taken in turn, the best of several: with and without what the system spends
on making memory available, which depends on what else runs. Both begin with a table of scores and labels.
Half of the trials are bona fide, a third of which are targets. Scores are rounded to six digits, so that some
are tied.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

import numpy as np
import polars as pl

import llrkit as lk
from llrkit import spoof


def tables(n: int, seed: int = 1) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Tandem trials, and two classes of as many trials."""
    rng = np.random.default_rng(seed)
    sizes = [n // 6, n // 3, n - n // 6 - n // 3]
    columns = {
        name: np.round(np.repeat(means, sizes) + 1.5 * rng.normal(size=n), 6)
        for name, means in (("asv", (2.0, -2.0, 1.5)), ("cm", (2.0, 2.0, -2.0)))
    }
    label = np.repeat(["target", "nontarget", "spoof"], sizes)
    classes = np.where(label == "spoof", "nontarget", label)
    two = pl.DataFrame({"score": columns["asv"], "label": classes})
    return pl.DataFrame({**columns, "label": label}), two


def cpu_seconds(call: Callable[[], object]) -> tuple[float, float]:
    """CPU seconds with and without those of the system."""
    start = os.times()
    call()
    stop = os.times()
    user = stop.user - start.user
    return user + stop.system - start.system, user


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=10_000_000)
    parser.add_argument("--times", type=int, default=3)
    asked = parser.parse_args()
    table, two = tables(asked.trials)
    calls: dict[str, Callable[[], object]] = {
        "evaluate of two classes": lambda: lk.evaluate(lk.Trials(two)),
        "spoof.evaluate of a tandem": lambda: spoof.evaluate(spoof.SpoofTrials(table)),
    }
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(asked.times):
        for name, call in calls.items():
            seconds[name].append(cpu_seconds(call))
    best = [np.min(times, axis=0) for times in seconds.values()]
    for name, (whole, user) in zip(seconds, best, strict=True):
        print(f"{name}: {whole:.2f} s CPU, {user:.2f} s without the system, best of {asked.times}")
    whole, user = best[1] / best[0]
    print(f"{asked.trials:,} trials: {whole:.2f} times, {user:.2f} times without the system")


if __name__ == "__main__":
    main()
