"""Attack the reading and writing of files: ``python benchmarks/attack.py tables 1000000`` or ``kills 300``.

``tables`` reads tables and folders of tables made from a grammar and compares them with Python's own ``csv``
and ``float``, in a process whose memory is limited. ``kills`` ends commands at any moment, takes them up with
other options, and compares what they write with a clean run, byte for byte. Both print a line of counts.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

EACH = 10_000
MEMORY = 3 << 30
"""Bytes of address space that the process that reads may have."""
FOLDERS = 0.02
"""Share of the inputs that are folders; the others are single texts, which take a fifth of the time."""


def in_memory() -> str | None:
    """Where files cost nothing, if there is such a place."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def read_some(seed: str, count: int, place: Path) -> None:
    """Read inputs; print a line of JSON for every fault, and the counts at the end."""
    from mixed_folders import check_folder, check_text, folder_case, text_case

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    rng, seen = random.Random(seed), Counter[str]()
    for i in range(count):
        kind = "folder" if rng.random() < FOLDERS else "text"
        try:
            if kind == "folder":
                found = check_folder(place / "d", folder_case(rng, place / "d"), place)
            else:
                found = check_text(place / "scores.csv", *text_case(rng))
        except Exception as fault:
            found = "FAULT"
            print(json.dumps({"input": i, "fault": f"{type(fault).__name__}: {fault}"}), flush=True)
        seen[f"{kind} {found}"] += 1
    print(json.dumps({"seen": seen}), flush=True)


def attack_tables(count: int, seed: int) -> Counter[str]:
    """Let processes of limited memory read inputs; one that dies is a fault."""
    seen = Counter[str]()
    with tempfile.TemporaryDirectory(dir=in_memory()) as place:
        for first in range(0, count, EACH):
            some, name = min(EACH, count - first), f"{seed}-{first}"
            command = [sys.executable, __file__, "tables", str(some), "--child", name, place]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            for line in done.stdout.splitlines():
                told = json.loads(line)
                seen.update(told.get("seen", {}))
                if "fault" in told:
                    print(f"seed {name}, input {told['input']}: {told['fault'][:2000]}", flush=True)
            if done.returncode:
                seen["process FAULT"] += 1
                print(
                    f"seed {name}: the process ended with {done.returncode}: {done.stderr[-500:]}", flush=True
                )
            print(f"{first + some:,} inputs: {dict(seen)}", flush=True)
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["tables", "kills"])
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--commands", metavar="NAME,NAME", help="kills: these only")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        read_some(options.child[0], options.count, Path(options.child[1]))
        return
    start = time.perf_counter()
    if options.what == "tables":
        seen = attack_tables(options.count, options.seed)
    else:
        from kills import attack_commands

        names = tuple(options.commands.split(",")) if options.commands else ()
        seen = attack_commands(options.count, options.seed, in_memory(), names)
    shown = ", ".join(f"{count:,} {what}" for what, count in sorted(seen.items()))
    print(f"{options.what}, seed {options.seed}: {shown}; {time.perf_counter() - start:.0f} s")
    sys.exit(any("FAULT" in what for what in seen))


if __name__ == "__main__":
    main()
