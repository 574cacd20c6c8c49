"""Peak memory and time of evaluating Parquet files that do not fit into memory.

``python benchmarks/out_of_core.py`` makes 10 and 100 million trials in a folder (about 1 GB), evaluates each
in a process of its own, and checks the numbers of the small one against trials in memory.
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
LARGEST_MB, LINEAR = 600, 1.5
"""Peak memory at most; time per trial of the large set at most this many times that of the small one."""


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
    numbers = {name: getattr(result, name) for name in ("n_target", "n_nontarget", "eer", "cllr", "min_cllr")}
    print(json.dumps({"seconds": seconds, "cpu": cpu, "peak_mb": peak_mb(), **numbers}))


def measured(folder: Path) -> dict[str, float]:
    """What :func:`evaluate` prints, in a process of its own."""
    command = [sys.executable, __file__, "--evaluate", str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", help="where the files are made and kept; by default they are deleted")
    parser.add_argument("--evaluate", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.evaluate:
        evaluate(Path(options.evaluate))
        return
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(options.folder or temporary)
        found = {}
        for n, n_target in ((10_000_000, 10_000), (100_000_000, 100_000)):
            folder = root / str(n)
            if not folder.exists():
                make(folder, n, n_target)
            found[n] = measured(folder)
            print(
                f"{n:,} trials: {found[n]['seconds']:.1f} s (CPU {found[n]['cpu']:.1f}), "
                f"peak {found[n]['peak_mb']:.0f} MB",
                flush=True,
            )
        small, large = found.values()
        in_memory = lk.evaluate(lk.read_trials(root / "10000000"))
    same = all(abs(small[name] - getattr(in_memory, name)) <= 1e-12 for name in ("eer", "cllr", "min_cllr"))
    times = large["cpu"] / small["cpu"] / 10
    print(f"the same numbers as in memory on 10 million: {same}")
    print(f"CPU time per trial of the large set is {times:.2f} times that of the small one")
    sys.exit(not (same and large["peak_mb"] < LARGEST_MB and times < LINEAR))


if __name__ == "__main__":
    main()
