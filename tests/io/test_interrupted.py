"""Writing that is killed or finds the disk full leaves the old file or none, and no half of one."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
from functools import cache

import numpy as np
import polars as pl
import pytest

import llrkit as lk

# One process forks writers and kills them; it uses polars itself only when all are dead, since a process with
# threads cannot fork safely. A writer writes the same number into all rows, another one each time.
KILLED = """
import json, os, random, shutil, signal, sys, time
from pathlib import Path
import numpy as np, polars as pl
import llrkit as lk
from llrkit._atomic import write_atomically
from llrkit.io.tables_of_paths import read_table
from llrkit.io.write import write_trials

folder, ending, kills, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
ROWS, WORDS = 60_000, 1_000_000
random.seed(seed)
out = folder / f"out.{ending}"

def write(number):
    if ending == "json":  # how maps, reports and results are written
        write_atomically(out, f"{number:9d}" * WORDS)
        return
    columns = {"score": np.full(ROWS, float(number)), "label": np.arange(ROWS) % 2,
               "test": np.arange(ROWS), "enroll": np.arange(ROWS) % 7}
    write_trials(lk.Trials(columns, enroll="enroll", test="test"), out)

def numbers(path):
    if ending == "json":
        text = path.read_text()
        return {float(text[:9])}, text == text[:9] * WORDS
    read = read_table(path).table["score"]
    return set(read.unique()), read.len() == ROWS

there = halves = 0
for i in range(kills):
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        write(2 * i + 1)
        os.write(tell, b"x")
        for j in range(1000):
            write(2 * i + 1 + j % 2)
        os._exit(3)
    os.close(tell)
    if i % 2:  # the other half is killed at any moment from the start
        os.read(ready, 1)
    if i % 3 == 0:  # while something is being written, for sure
        until = time.monotonic() + 10
        while time.monotonic() < until and not list(folder.glob(".out.*")):
            pass
    else:
        time.sleep(random.uniform(0, 0.12))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(ready)
    for temporary in folder.glob(".out.*"):
        halves += 1
        shutil.rmtree(temporary)
    if out.exists():
        shutil.move(out, folder / f"kept{i}.{ending}")
        there += 1
whole = []
for path in sorted(folder.glob("kept*")):
    values, complete = numbers(path)
    i = int(path.stem[4:])
    whole.append(complete and len(values) == 1 and values <= {2 * i + 1.0, 2 * i + 2.0})
print(json.dumps({"there": there, "halves": halves, "whole": whole}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "csv", "kaldi", "json"])
def test_twenty_five_kills_leave_the_old_file_or_none(tmp_path, ending):
    command = [sys.executable, "-c", KILLED, str(tmp_path), ending, "25", "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["whole"] == [True] * found["there"]
    assert found["there"] >= 10  # a file that was complete stays
    assert found["halves"] >= 1  # and writing was interrupted indeed


@cache
def can_mount() -> bool:
    """Whether a small file system of our own can be mounted."""
    if shutil.which("unshare") is None:
        return False
    command = ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


PROGRAM = [sys.executable, "-c", "from llrkit.cli import main; main()"]
LIMIT = 50_000


def on_a_small_disk(folder, arguments, disk):
    """Run llrkit where no file can be large; gives its exit code, its words, and the files left."""
    if disk == "limit":
        limits = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))  # noqa: E731
        done = subprocess.run(
            [*PROGRAM, *arguments], capture_output=True, text=True, check=False, preexec_fn=limits
        )
        return done.returncode, done.stderr, sorted(path.name for path in folder.iterdir())
    script = 'mount -t tmpfs -o size="$0" tmpfs "$1" && shift && "$@"; code=$?; ls -A out >&3; exit $code'
    listing = folder.parent / "listing"
    with listing.open("w") as names:
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", script.replace(">&3", f">{listing}"), str(LIMIT), str(folder),
             *PROGRAM, *arguments],
            capture_output=True, text=True, check=False, cwd=folder.parent, stdin=names,
        )  # fmt: skip
    return done.returncode, done.stderr, sorted(listing.read_text().split())


COMMANDS = {
    "convert": ["convert", "BIG", "OUT.parquet"],
    "convert to text": ["convert", "BIG", "OUT.csv"],
    "convert to Arrow": ["convert", "BIG", "OUT.arrow"],
    "convert to Kaldi": ["convert", "BIG", "OUT.kaldi"],
    "convert to BOSARIS": ["convert", "BIG", "OUT.h5"],
    "apply": ["apply", "MAP", "BIG", "-o", "OUT.parquet"],
    "calibrate": ["calibrate", "BIG", "--method", "cmlg", "--by", "room", "-o", "OUT.json"],
    "evaluate": ["evaluate", "BIG", "--by", "room", "--json", "OUT.json"],
}


FULL = [(name, "limit") for name in COMMANDS]
if can_mount():
    FULL += [(name, "tmpfs") for name in ("convert", "convert to text", "convert to BOSARIS", "evaluate")]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "disk"), FULL)
def test_a_full_disk_is_said_and_leaves_nothing(tmp_path, need, name, disk):
    if "BOSARIS" in name:
        need("h5py")
    rng = np.random.default_rng(1)
    n = 40_000
    label = np.arange(n) % 2 == 0
    table = pl.DataFrame(
        {
            "enroll": [f"m{i // 200}" for i in range(n)],
            "test": [f"t{i % 200}" for i in range(n)],
            "score": rng.normal(size=n) + label,
            "label": label,
            "room": np.arange(n) // 2 % 200,
        }
    )
    table.write_parquet(tmp_path / "big.parquet")
    lk.AffineMap(a=2.0, b=1.0).save(tmp_path / "map.json")
    (tmp_path / "out").mkdir()
    places = {"BIG": tmp_path / "big.parquet", "MAP": tmp_path / "map.json"}
    arguments = [
        str(tmp_path / word.replace("OUT", "out/out")) if "OUT" in word else str(places.get(word, word))
        for word in COMMANDS[name]
    ]
    code, said, left = on_a_small_disk(tmp_path / "out", arguments, disk)
    assert code == 1, said
    assert left == []
    assert "llrkit: error: " in said
    assert "out/out" in said
    assert "Traceback" not in said
    assert any(words in said for words in ("No space left", "File too large", "os error"))
