"""A hundred million and a billion trials: in memory, from files and on a local cluster, with time and memory.

``python benchmarks/billion.py --folder DIR`` simulates both sets in DIR (4 GB; they stay there), evaluates
each from files and on two workers in processes of their own, and compares every number. Memory is what all
processes of a run hold together.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SIZES = ("1e8", "1e9")
THREADS, WORKERS = "two threads", "two workers"
ENGINES = {THREADS: [], WORKERS: ["--workers", "2"]}
MORE_ENGINES = {"one worker": ["--workers", "1"], "four workers": ["--workers", "4"]}
LARGEST_MB, TIMES, CLUSTER_TIMES = 1500, 11.0, 1.4
"""Memory at most; time of the large set over the small one; time on two workers over that of two threads."""
EVALUATE = [sys.executable, "-m", "llrkit", "evaluate", "--json", "-"]
IN_MEMORY = """
import json, sys
import llrkit as lk
print(json.dumps(lk.evaluate(lk.read_trials(sys.argv[1])).to_dict()))
"""


@dataclass(frozen=True)
class Run:
    """One evaluation: its numbers, seconds, seconds of all processors, and megabytes."""

    numbers: dict[str, Any]
    seconds: float
    cpu: float
    peak_mb: float


class Watched:
    """The largest sum of resident memory over a process and all it started, looked at 20 times a second."""

    def __init__(self, pid: int) -> None:
        self.pid, self.peak, self._end = pid, 0.0, threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Watched:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._end.wait(0.05):
            self.peak = max(self.peak, sum(map(resident_mb, family(self.pid))))


def family(pid: int) -> list[int]:
    """A process and its descendants."""
    found = [pid]
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            children = Path(f"/proc/{pid}/task/{thread}/children").read_text().split()
            found += [one for child in children for one in family(int(child))]
    except OSError:  # it has just ended
        pass
    return found


def resident_mb(pid: int) -> float:
    """Resident memory of a process."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except (OSError, IndexError):
        return 0.0


def run(command: list[str]) -> Run:
    """Run a command that prints JSON."""
    start, cpu = time.perf_counter(), _cpu_of_children()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    with Watched(process.pid) as watched:
        printed, _ = process.communicate()
    seconds, cpu = time.perf_counter() - start, _cpu_of_children() - cpu
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return Run(json.loads(printed), seconds, cpu, watched.peak)


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def simulate(folder: Path, trials: str) -> None:
    """Calibrated Gaussian LLRs at EER 5 %, one in a thousand a target, as 4-byte scores and labels."""
    options = ["--eer", "5%", "--trials", trials, "--target-share", "0.1%", "--float32"]
    command = [sys.executable, "-m", "llrkit", "simulate", "gaussian", *options]
    start = time.perf_counter()
    subprocess.run([*command, "--columns", "score,label", "-o", f"{folder}/"], check=True)
    print(f"  in {time.perf_counter() - start:.0f} s", flush=True)


def largest_difference(one: Any, two: Any) -> float:
    """The largest relative difference of the numbers of two documents; whole numbers must be equal."""
    if isinstance(one, dict):
        return max((largest_difference(one[key], two[key]) for key in one.keys() & two.keys()), default=0.0)
    if isinstance(one, list):
        return max(map(largest_difference, one, two), default=0.0)
    if isinstance(one, float):
        return abs(one - two) / max(abs(one), abs(two), 1e-300) if one != two else 0.0
    return 0.0 if one == two or isinstance(one, str) else float("inf")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="where the sets are made and kept")
    parser.add_argument("--repeat", type=int, default=1, help="take the fastest of so many runs")
    options = parser.parse_args()
    fastest: dict[tuple[str, str], Run] = {}
    for size in SIZES:
        folder = options.folder / size
        if not folder.exists():
            simulate(folder, size)
        for engine, extra in (ENGINES | MORE_ENGINES if size == "1e8" else ENGINES).items():
            runs = [run([*EVALUATE, *extra, str(folder)]) for _ in range(options.repeat)]
            best = fastest[size, engine] = min(runs, key=lambda found: found.seconds)
            most = max(found.peak_mb for found in runs)
            took = f"{best.seconds:.1f} s (CPU {best.cpu:.1f})"
            print(f"{size} trials, {engine}: {took}, {most:.0f} MB together", flush=True)
        numbers = [found.numbers for (of, _), found in fastest.items() if of == size]
        if size == "1e8":  # the largest of the two that fits
            numbers.append(run([sys.executable, "-c", IN_MEMORY, str(folder)]).numbers)
        difference = max(largest_difference(one, numbers[0]) for one in numbers[1:])
        print(f"  numbers of {len(numbers)} ways differ by {difference:.1e} at most", flush=True)
    for engine in (THREADS, WORKERS):
        times = fastest["1e9", engine].seconds / fastest["1e8", engine].seconds
        print(f"{engine}: ten times the trials take {times:.1f} times as long (limit {TIMES:g})")
    for size in SIZES:
        times = fastest[size, WORKERS].seconds / fastest[size, THREADS].seconds
        print(f"{size}: two workers take {times:.2f} times as long as two threads (limit {CLUSTER_TIMES:g})")
    worst = max(found.peak_mb for (size, _), found in fastest.items() if size == "1e9")
    print(f"at most {worst:.0f} MB (limit {LARGEST_MB})")


if __name__ == "__main__":
    main()
