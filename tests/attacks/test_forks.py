"""After a fork: arrays work, tables say at once that they cannot, and nothing waits for ever."""

import os
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]

PROGRAM = """
import os, signal, sys
import numpy as np
import polars as pl
import llrkit as lk

rng = np.random.default_rng(1)
scores = lk.Scores(rng.normal(1.0, 1.0, 300_000), rng.normal(-1.0, 1.0, 300_000))
rows = np.arange(50_000)
table = pl.DataFrame({"score": rng.normal(size=50_000), "label": rows % 2, "g": rows % 5})
path = sys.argv[1] + "/s.csv"
table.write_csv(path)
trials = lk.Trials(table)
fitted = lk.fit_logistic(scores)
lk.evaluate(scores), lk.read_trials(path), trials.by("g"), lk.eer(trials), lk.auc(lk.scan_trials(path))
scanned = lk.scan_trials(path)
calls = {
    "metric": lambda: lk.eer(scores),
    "new": lambda: lk.cllr(lk.Scores([1.0, 2.0], [0.0, 1.5])),
    "evaluate": lambda: lk.evaluate(scores),
    "fit": lambda: lk.fit_pav(scores),
    "map": lambda: fitted([1.0, 2.0]),
    "known": lambda: lk.eer(trials),
    "by": lambda: trials.by("g"),
    "table": lambda: lk.Trials({"score": [1.0], "label": [1]}),
    "read": lambda: lk.read_trials(path),
    "scan": lambda: lk.eer(lk.scan_trials(path)),
    "scanned": lambda: lk.eer(scanned),
    "write": lambda: lk.write_trials(trials, path + "x"),
}
for name, call in calls.items():
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            call()
            print(name, "works")
        except lk.errors.ForkedProcessError as error:
            print(name, "refused" if "spawn" in str(error) and "forkserver" in str(error) else error)
        sys.stdout.flush()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status:
        print(name, "ended by", status)
"""


def test_arrays_work_and_tables_are_refused_in_a_forked_process(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    arrays = ["metric", "new", "evaluate", "fit", "map", "known"]
    tables = ["by", "table", "read", "scan", "scanned", "write"]
    expected = [f"{name} works" for name in arrays] + [f"{name} refused" for name in tables]
    assert done.stdout.splitlines() == expected


FRESH = """
import os, sys
import llrkit as lk
from llrkit.scores.trials import Trials  # imports polars, but does not use it
child = os.fork()
if child == 0:
    print(len(lk.read_trials(sys.argv[1])), flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


def test_a_fork_before_polars_was_used_is_fine(tmp_path):
    (tmp_path / "s.csv").write_text("score,label\n1,1\n0,0\n")
    command = [sys.executable, "-c", FRESH, str(tmp_path / "s.csv")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.stdout.split() == ["2"], done.stderr
