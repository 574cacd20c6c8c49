"""Peak memory and time of evaluating Parquet files that do not fit into memory.

``python benchmarks/out_of_core.py`` makes 10 and 100 million trials in a folder (about 3 GB), with few and
with many targets, evaluates each in a process of its own, checks the numbers of the small one against trials
in memory, and writes the figures to ``out/large_files.json``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import llrkit as lk

PART = 10_000_000
SETS = ((10_000_000, 10_000), (100_000_000, 100_000), (100_000_000, 10_000_000), (100_000_000, 50_000_000))
"""Trials and targets; the first is also evaluated in memory."""
NUMBERS = ("eer", "cllr", "min_cllr")
JSON = Path("out/large_files.json")


def make(folder: Path, n: int, n_target: int, *, part: int = PART) -> None:
    """Write calibrated Gaussian LLRs at EER 5 % in random order, as files of ten million trials."""
    model = lk.theory.GaussianLLR.from_eer(0.05)
    folder.mkdir(parents=True)
    for i in range(-(-n // part)):
        rng = np.random.default_rng(i)
        here = min(part, n - i * part)
        targets = n_target * here // n
        scores = np.concatenate([model.target.rvs(targets, rng), model.nontarget.rvs(here - targets, rng)])
        label, order = np.arange(here) < targets, rng.permutation(here)
        words = pl.Series(["nontarget", "target"]).gather(label[order].astype(np.intp))
        pl.DataFrame({"score": scores[order], "label": words}).write_parquet(folder / f"{i:03d}.parquet")


def peak_mb() -> float:
    """The most memory that this program has used; getrusage would also count that of its parent."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise OSError("no VmHWM in /proc/self/status")


def evaluate(folder: Path) -> None:
    """Evaluate a folder and print seconds, peak memory in MB and some numbers."""
    start = time.perf_counter()
    result = lk.evaluate(lk.scan_trials(folder))
    seconds, cpu = time.perf_counter() - start, time.process_time()
    numbers = {name: getattr(result, name) for name in ("n_target", "n_nontarget", *NUMBERS)}
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak_mb": peak_mb(), **numbers}))


def measured(folder: Path) -> dict[str, float]:
    """What :func:`evaluate` prints, in a process of its own."""
    command = [sys.executable, __file__, "--evaluate", str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", help="where the files are made and kept; by default they are deleted")
    parser.add_argument("--repeat", type=int, default=2, help="take the fastest of so many runs")
    parser.add_argument("--evaluate", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.evaluate:
        evaluate(Path(options.evaluate))
        return
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(options.folder or temporary)
        found = []
        for n, n_target in SETS:
            folder = root / f"{n}-{n_target}"
            if not folder.exists():
                make(folder, n, n_target)
            row = min((measured(folder) for _ in range(options.repeat)), key=lambda one: one["seconds"])
            found.append(row)
            print(
                f"{n:,} trials, {n_target:,} targets: {row['seconds']:.1f} s (CPU {row['cpu']:.1f}), "
                f"peak {row['peak_mb']:.0f} MB",
                flush=True,
            )
        in_memory = lk.evaluate(lk.read_trials(root / f"{SETS[0][0]}-{SETS[0][1]}"))
    same = all(abs(found[0][name] - getattr(in_memory, name)) <= 1e-12 for name in NUMBERS)
    print(f"the same numbers as in memory on 10 million: {same}")
    JSON.parent.mkdir(parents=True, exist_ok=True)
    JSON.write_text(json.dumps({"sets": found, "same_as_in_memory": same}, indent=1) + "\n")
    sys.exit(not same)


if __name__ == "__main__":
    main()
