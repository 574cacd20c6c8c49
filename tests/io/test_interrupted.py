"""Writing that is killed or finds the disk full leaves the old file or none, and no half of one."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import llrkit as lk

pytestmark = pytest.mark.slow

# One process forks writers, since they start at once, and never uses polars itself: a process with threads
# cannot fork safely. Each writer is killed at one of its file events, so that all of them are tried.
KILLED = """
import json, shutil, sys
from pathlib import Path
import numpy as np
import llrkit as lk
from llrkit.base.files import write_atomically
from llrkit.io.write import write_trials
sys.path.insert(0, sys.argv[3])
from kills import counting_events, forked, killed_at

place, ending, rows = Path(sys.argv[1]), sys.argv[2], 20_000
out = place / "out" / f"scores.{ending}"
out.parent.mkdir()

def write(number):
    if ending == "json":  # how maps, reports and results are written
        write_atomically(out, f"{number:9d}" * rows)
        return
    columns = {"score": np.full(rows, float(number)), "label": np.arange(rows) % 2,
               "test": np.arange(rows), "enroll": np.arange(rows) % 7}
    write_trials(lk.Trials(columns, enroll="enroll", test="test"), out)

contents = []
for number in (1, 2):
    assert forked(lambda: counting_events(lambda: write(number), place / "events"), place) == 0
    contents.append(out.read_bytes())
old, new = contents
seen = {"killed": 0, "old": 0, "new": 0, "none": 0, "other": 0, "half-written": 0}
for before in (old, None):
    for event in range(1, int((place / "events").read_text()) + 1):
        shutil.rmtree(out.parent)  # and with it what the last kill left
        out.parent.mkdir()
        if before is not None:
            out.write_bytes(before)
        seen["killed"] += forked(lambda: killed_at(event, lambda: write(2)), place) == -9
        after = out.read_bytes() if out.exists() else None
        seen[{old: "old", new: "new", None: "none"}.get(after, "other")] += 1
        seen["half-written"] += len(list(out.parent.iterdir())) > (after is not None)
print(json.dumps(seen))
"""


@pytest.mark.parametrize("ending", ["parquet", "csv", "kaldi", "json"])
def test_a_kill_at_any_file_event_leaves_the_old_file_or_none(tmp_path, ending):
    support = Path(__file__).parents[1] / "support"
    command = [sys.executable, "-c", KILLED, str(tmp_path), ending, str(support)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["other"] == 0
    assert min(seen[kind] for kind in ("killed", "old", "new", "none", "half-written")) > 0


COMMANDS = {
    "convert to text": ["convert", "big.parquet", "out/out.csv"],
    "convert to Arrow": ["convert", "big.parquet", "out/out.arrow"],
    "convert to BOSARIS": ["convert", "big.parquet", "out/out.h5"],
    "apply": ["apply", "map.json", "big.parquet", "-o", "out/out.parquet"],
    "evaluate": ["evaluate", "big.parquet", "--by", "room", "--json", "out/out.json"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_is_said_and_leaves_nothing(tmp_path, need, name):
    if "BOSARIS" in name:
        need("h5py")
    n = 40_000
    label = np.arange(n) % 2 == 0
    table = pl.DataFrame(
        {
            "enroll": [f"m{i // 200}" for i in range(n)],
            "test": [f"t{i % 200}" for i in range(n)],
            "score": np.random.default_rng(1).normal(size=n) + label,
            "label": label,
            "room": np.arange(n) // 2 % 200,
        }
    )
    table.write_parquet(tmp_path / "big.parquet")
    lk.maps.AffineMap(a=2.0, b=1.0).save(tmp_path / "map.json")
    (tmp_path / "out").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "llrkit", *COMMANDS[name]], capture_output=True, text=True, cwd=tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000)),
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert list((tmp_path / "out").iterdir()) == []
    assert "out/out" in done.stderr
    assert "Traceback" not in done.stderr
