"""Send hostile requests to the application and count what it answers.

    python benchmarks/attack_app.py [COUNT] [SEED]

By default 100,000. It stops at the first answer that must not be: a traceback, a status of 500 or above, text
of a file outside the project, or a file that was written elsewhere.
"""

import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / "tests" / name) for name in ("support", "app")]
from test_hostile_requests import attack  # noqa: E402


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        statuses = attack(Path(place), count, seed)
    seconds = time.monotonic() - begun
    print(f"{count:,} hostile requests (seed {seed}) in {seconds:.0f} s, nothing found")
    for status, n in sorted(statuses.items()):
        print(f"{status:>6} {n:>8,}")


if __name__ == "__main__":
    main()
