"""Read broken files for as long as wanted: ``python benchmarks/fuzz_readers.py 1000000 --seed 1``.

Files are read by a process of its own, which is started again if it should die; that, too, is a fault.
What was wrong is printed and its file kept in out/fuzz.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from fuzz import broken, outcome, seeds

EACH = 5_000
SECONDS = 60.0
"""More than any input may take: the process that reads it is ended then, which is a fault."""


def read_some(seed: str, count: int, path: Path) -> None:
    """Read inputs and print a line of JSON after each thousand, at the end, and for every fault."""
    rng, good, seen, slowest = random.Random(seed), seeds(), Counter(), 0.0
    for i in range(count):
        content = broken(rng, good)
        before = time.process_time()  # the machine may be busy
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        try:
            seen[outcome(path, content)] += 1
        except AssertionError as fault:
            seen["FAULT"] += 1
            print(json.dumps({"fault": str(fault), "content": content.hex()}), flush=True)
        faulthandler.cancel_dump_traceback_later()
        slowest = max(slowest, time.process_time() - before)
        if i % 1000 == 999 or i == count - 1:
            print(json.dumps({"seen": seen, "slowest": slowest}), flush=True)
            seen.clear()


def watch(seed: str, count: int, folder: Path) -> tuple[Counter[str], float]:
    """Let another process read inputs; if it dies, the input that killed it is a fault."""
    path = folder / "fuzzed.dat"
    command = [sys.executable, __file__, str(count), "--child", seed, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seen, slowest = Counter[str](), 0.0
    for line in done.stdout.splitlines():
        told = json.loads(line)
        seen.update(told.get("seen", {}))
        slowest = max(slowest, told.get("slowest", 0.0))
        if "fault" in told:
            keep(bytes.fromhex(told["content"]), told["fault"])
    if done.returncode:
        seen["FAULT"] += 1
        keep(path.read_bytes(), f"the process ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    if done.stderr and not done.returncode:
        print(f"seed {seed}: on standard error: {done.stderr[:300]}", flush=True)
    return seen, slowest


def keep(content: bytes, fault: str) -> None:
    """Keep an input that was not read as it should be."""
    folder = Path("out/fuzz")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(content).hexdigest()[:12]}.dat"
    path.write_bytes(content)
    print(f"{path}: {fault[-500:]}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        read_some(options.child[0], options.count, Path(options.child[1]))
        return
    found, slowest, start = Counter[str](), 0.0, time.perf_counter()
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        for first in range(0, options.count, EACH):
            count = min(EACH, options.count - first)
            seen, longest = watch(f"{options.seed}-{first}", count, Path(folder))
            found, slowest = found + seen, max(slowest, longest)
            if first % (20 * EACH) == 0:
                print(f"{found.total():,} inputs: {dict(found)}", flush=True)
    shown = ", ".join(f"{count:,} {what}" for what, count in sorted(found.items()))
    seconds = time.perf_counter() - start
    took = f"{seconds:.0f} s, slowest {slowest:.3f} s of CPU"
    print(f"{found.total():,} inputs, seed {options.seed}: {shown}; {took}")
    sys.exit(found["FAULT"] > 0)


if __name__ == "__main__":
    main()
