"""Times reading beside polars' bare reading and joining of the same files, in one run.

Both sides take turns, and the ratio is that of their best runs. ``python benchmarks/bench_files.py`` runs
this part alone.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import llrkit as lk
from llrkit.io.formats import read_table
from llrkit.io.joins import join_key
from llrkit.io.read_options import Reading
from llrkit.io.table_columns import TrialTable
from llrkit.scores.source import Roles

N, N_TARGET = 10_000_000, 10_000
EVALUATE = [sys.executable, "-c", "from llrkit.cli import main; main()", "evaluate"]


def trial_table(n: int, n_target: int, seed: int = 1) -> pl.DataFrame:
    """Trials with ids on both sides, each pair once, in random order."""
    rng = np.random.default_rng(seed)
    per_model = 2000
    models = pl.Series([f"spk{i:05d}" for i in range(-(-n // per_model))])
    segments = pl.Series([f"utt{i:06d}" for i in range(per_model)])
    place = rng.permutation(n)
    label = np.zeros(n, dtype=np.intp)
    label[rng.choice(n, n_target, replace=False)] = 1
    return pl.DataFrame(
        {
            "enroll": models.gather(place // per_model),
            "test": segments.gather(place % per_model),
            "score": np.round(rng.normal(np.where(label, 3.0, -3.0), 2.4), 6),
            "label": pl.Series(["nontarget", "target"]).gather(label),
        }
    )


def clocks() -> tuple[float, float]:
    """Wall seconds, and CPU seconds of this process and its children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter(), time.process_time() + children.ru_utime + children.ru_stime


def in_turns(calls: dict[str, Callable[[], Any]], repeat: int) -> dict[str, dict[str, float]]:
    """Best wall and CPU seconds of each call."""
    best = {name: {"wall": float("inf"), "cpu": float("inf")} for name in calls}
    for _ in range(repeat):
        for name, call in calls.items():
            before = clocks()
            call()
            for clock, start, stop in zip(("wall", "cpu"), before, clocks(), strict=True):
                best[name][clock] = min(best[name][clock], stop - start)
    return best


def bench_files(repeat: int = 3, n: int = N, n_target: int = N_TARGET) -> dict[str, Any]:
    """The three comparisons that reading is held to."""
    table = trial_table(n, n_target)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text, parquet, key = folder / "scores.txt", folder / "scores.parquet", folder / "key.parquet"
        table.write_csv(text, separator=" ")
        table.write_parquet(parquet)
        table.select("enroll", "test", "label").sample(fraction=1.0, shuffle=True, seed=1).write_parquet(key)
        rows = {
            "text": in_turns(
                {
                    "polars": lambda: pl.read_csv(text, separator=" "),
                    "llrkit": lambda: subprocess.run([*EVALUATE, str(text)], check=True, capture_output=True),
                },
                repeat,
            )
        }
        scores = lk.read_trials(parquet).scores()
        rows["parquet"] = in_turns(
            {
                "memory": lambda: lk.evaluate(lk.Scores(scores.target, scores.nontarget)),
                "llrkit": lambda: lk.evaluate(lk.scan_trials(parquet)),
            },
            repeat,
        )
        right = read_table(key, Reading(score=()))
    unlabeled = table.drop("label")
    left = TrialTable("scores", "parquet", unlabeled, Roles(("score",), None, "enroll", "test"))
    rows["join"] = in_turns(
        {
            "polars": lambda: unlabeled.join(right.table, on=["enroll", "test"], how="left"),
            "llrkit": lambda: join_key(left, right, missing="error", duplicates="error"),
        },
        max(1, repeat - 1),
    )
    return {"n": n, "rows": rows, "limits": [_judge(*line, rows, n) for line in LIMITS]}


LIMITS = (
    ("llrkit evaluate, text of four columns", "text", "polars", 1.5, 1.0),
    ("evaluate(scan_trials(Parquet))", "parquet", "memory", 3.0, 0.0),
    ("scores joined with a key", "join", "polars", 2.0, 0.0),
)
"""What, its rows, beside what, at most how many times that, and seconds on top."""


def _judge(what: str, part: str, beside: str, times: float, more: float, rows: Any, n: int) -> dict[str, Any]:
    ours, theirs = rows[part]["llrkit"], rows[part][beside]
    limit = times * theirs["wall"] + more
    top = f" + {more:g} s" if more else ""
    print(
        f"{what}, {n:,} trials: {ours['wall']:.2f} s (CPU {ours['cpu']:.2f}); "
        f"{beside} {theirs['wall']:.2f} s (CPU {theirs['cpu']:.2f}); {times:g} x{top} is {limit:.2f} s: "
        f"{'holds' if ours['wall'] <= limit else 'does NOT hold'}"
    )
    return {"what": what, "ours": ours, "theirs": theirs, "limit": limit, "holds": ours["wall"] <= limit}


if __name__ == "__main__":
    bench_files()
