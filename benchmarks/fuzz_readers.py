"""Read broken files for as long as wanted: ``python benchmarks/fuzz_readers.py 1000000 --seed 1``."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from fuzz import broken, outcome, seeds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, good, found = random.Random(options.seed), seeds(), Counter()
    start, slowest = time.perf_counter(), 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fuzzed.dat"
        for i in range(options.count):
            content = broken(rng, good)
            before = time.perf_counter()
            try:
                found[outcome(path, content)] += 1
            except AssertionError as fault:
                found["FAULT"] += 1
                print(f"input {i}: {fault}", flush=True)
            slowest = max(slowest, time.perf_counter() - before)
    seconds = time.perf_counter() - start
    shown = ", ".join(f"{count:,} {what}" for what, count in sorted(found.items()))
    print(f"{options.count:,} inputs, seed {options.seed}: {shown}; {seconds:.0f} s, slowest {slowest:.3f} s")
    sys.exit(found["FAULT"] > 0)


if __name__ == "__main__":
    main()
