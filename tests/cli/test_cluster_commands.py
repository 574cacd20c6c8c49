"""Commands on a cluster, and what is left when it, or they, are killed at a known moment."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest
from processes import members, started

import llrkit as lk
from llrkit.maps.files import save_map

pytestmark = pytest.mark.slow
LAST_NET = 600  # seconds after which a process is taken to hang


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    """Twelve files of scores, a few weights among them."""
    folder, rng = tmp_path_factory.mktemp("trials"), np.random.default_rng(5)
    for i in range(12):
        label = rng.random(20_000) < 0.05
        pl.DataFrame(
            {
                "score": rng.normal(np.where(label, 2.0, -2.0), 2.0),
                "label": np.where(label, "target", "nontarget"),
                "times": rng.integers(1, 4, 20_000),
                "n": np.arange(20_000) + 20_000 * i,
            }
        ).write_parquet(folder / f"part{i:02d}.parquet")
    return folder


def command(*arguments, program="from llrkit.cli import main; main()"):
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def run(*arguments, **options):
    """A command as users run it: its exit code, and what it wrote to both of its streams."""
    process = command(*arguments, **options)
    said, complained = process.communicate(timeout=LAST_NET)
    return process.returncode, said, complained


def numbers(*arguments):
    code, said, complained = run("evaluate", *arguments, "--json", "-")
    assert code == 0, complained
    return json.loads(said)


def assert_same(found, expected):
    assert found["n_target"] == expected["n_target"]
    assert found["eer"] == expected["eer"]
    assert found["cllr"] == pytest.approx(expected["cllr"], rel=1e-12)


@pytest.mark.parametrize("weights", [[], ["--weight-column", "times"]])
def test_evaluate_on_workers_gives_the_numbers_of_files(scores, need, weights):
    need("distributed")
    assert_same(numbers(scores, "--workers", 2, *weights), numbers(scores, *weights))


def test_unreadable_files_are_an_error_or_skipped(scores, need, tmp_path):
    need("distributed")
    for file in scores.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    broken = tmp_path / "part03.parquet"
    broken.write_bytes(broken.read_bytes()[:1000])
    code, _, complained = run("evaluate", tmp_path, "--workers", 1)
    assert code == 2
    assert "part03.parquet" in complained
    code, said, complained = run("evaluate", tmp_path, "--workers", 1, "--unreadable", "skip", "--json", "-")
    assert code == 0
    assert "part03.parquet" in complained
    broken.unlink()
    assert_same(json.loads(said), numbers(tmp_path))


# The scheduler goes when it has given out the first task that reads trials.
CLUSTER = """
import os, signal, threading
from distributed import LocalCluster, SchedulerPlugin

class Fatal(SchedulerPlugin):
    def transition(self, key, start, finish, *args, **kwargs):
        if str(key).startswith("summarize") and finish == "processing":
            os.killpg(os.getpgid(0), signal.SIGKILL)

if __name__ == "__main__":
    local = LocalCluster(n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0")
    local.scheduler.add_plugin(Fatal())
    print(local.scheduler_address, flush=True)
    threading.Event().wait()
"""


def test_a_scheduler_that_dies_means_exit_code_1_and_no_output(scores, need, tmp_path):
    need("distributed")
    process, address = started(CLUSTER, tmp_path / "local_cluster.py")
    output = tmp_path / "found.json"
    code, said, complained = run("evaluate", scores, "--scheduler", address, "--json", output)
    process.communicate()
    assert process.returncode == -signal.SIGKILL  # it was at the trials
    assert code == 1
    assert f"{address} has disappeared" in complained
    assert "Traceback" not in complained
    assert said == ""
    assert not output.exists()


# Ctrl-C, which goes to the workers too, comes when the command waits for its first result.
INTERRUPTED = """
import os, signal, time
from distributed import Client
from llrkit.cli import main

def interrupt(*arguments):
    os.killpg(0, signal.SIGINT)
    while True:
        time.sleep(0.1)

Client.gather = interrupt
main()
"""


def test_ctrl_c_leaves_no_process_and_no_file(scores, need, tmp_path):
    need("distributed")
    output = tmp_path / "found.json"
    process = command("evaluate", scores, "--workers", 2, "--json", output, program=INTERRUPTED)
    _, complained = process.communicate(timeout=LAST_NET)
    deadline = time.monotonic() + LAST_NET
    while members(process.pid) and time.monotonic() < deadline:  # workers end when they notice
        time.sleep(0.05)
    assert members(process.pid) == []
    assert process.returncode in (1, 130), complained
    assert "Traceback" not in complained
    assert not output.exists()


# Everything is killed when three files are known to be done.
KILLED = """
import os, signal
from contextlib import contextmanager
from llrkit.cli import main
from llrkit.engine import apply_files

@contextmanager
def fatal(*arguments):
    done = []
    def tick(amount):
        done.append(amount)
        if len(done) == 3:
            os.killpg(0, signal.SIGKILL)
    yield tick

apply_files.stage = fatal
main()
"""


@pytest.mark.parametrize("engine", [[], ["--workers", "1"]])
def test_apply_killed_and_run_again_does_the_rest_only(scores, need, tmp_path, engine):
    need("distributed")
    save_map(lk.maps.AffineMap(a=2.0, b=-1.0), tmp_path / "cal.json")
    folder = tmp_path / "llrs"
    arguments = ["apply", tmp_path / "cal.json", scores, "-o", f"{folder}/", *engine]
    code, _, complained = run(*arguments, program=KILLED)
    assert code == -signal.SIGKILL, complained
    noted = {path.name.removesuffix(".json") for path in (folder / "_done").glob("part*.json")}
    finished = {name: (folder / name).stat().st_mtime_ns for name in noted}
    assert len(finished) >= 3
    assert not (folder / "_manifest.json").exists()
    code, _, complained = run(*arguments)
    assert code == 0, complained
    again = {file.name: file.stat().st_mtime_ns for file in folder.glob("part*.parquet")}
    assert {name: again[name] for name in finished} == finished  # kept as they were
    assert sorted(file.name for file in folder.iterdir()) == ["_manifest.json", *sorted(again)]
    made = pl.read_parquet(folder / "part*.parquet")
    assert made["n"].to_list() == list(range(240_000))
    assert json.loads((folder / "_manifest.json").read_text())["rows"] == 240_000
