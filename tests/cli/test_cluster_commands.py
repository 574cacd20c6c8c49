"""Commands on a cluster, and what is left when it, or they, are killed; faults are seen to have happened."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest
from processes import alive, members, started

import llrkit as lk
from llrkit.calibrate.map_files import save_map


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


def command(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "llrkit", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def run(*arguments):
    """A command as users run it: its exit code, and what it wrote to both of its streams."""
    process = command(*arguments)
    said, complained = process.communicate(timeout=300)
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


def test_unreadable_is_for_clusters(scores):
    code, _, complained = run("evaluate", scores, "--unreadable", "skip")
    assert code == 2
    assert "--unreadable is for a cluster" in complained


# The scheduler goes when it has given out the first task that reads trials.
CLUSTER = """
import os, signal, time
from distributed import LocalCluster, SchedulerPlugin

class Fatal(SchedulerPlugin):
    def transition(self, key, start, finish, *args, **kwargs):
        if str(key).startswith("summarize") and finish == "processing":
            os.killpg(os.getpgid(0), signal.SIGKILL)

if __name__ == "__main__":
    local = LocalCluster(n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0")
    local.scheduler.add_plugin(Fatal())
    print(local.scheduler_address, flush=True)
    time.sleep(300)
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


def test_ctrl_c_leaves_no_process_and_no_file(scores, need, tmp_path):
    need("distributed")
    output = tmp_path / "found.json"
    process = command("evaluate", scores, "--workers", 2, "--json", output)
    while len(members(process.pid)) < 3:  # the workers are there
        assert alive(process.pid)
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    while members(process.pid):  # bounded by the time limit of the tests
        time.sleep(0.05)
    assert process.returncode in (1, 130), said
    assert "Traceback" not in said
    assert not output.exists()


@pytest.mark.parametrize("engine", [[], ["--workers", "1"]])
def test_apply_killed_and_run_again_does_the_rest_only(scores, need, tmp_path, engine):
    need("distributed")
    save_map(lk.AffineMap(a=2.0, b=-1.0), tmp_path / "cal.json")
    folder = tmp_path / "llrs"
    arguments = ["apply", tmp_path / "cal.json", scores, "-o", f"{folder}/", *engine]
    process = command(*arguments)
    while not list(folder.glob("part*.parquet")):
        assert alive(process.pid)
        time.sleep(0.001)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    finished = {file.name: file.stat().st_mtime_ns for file in folder.glob("part*.parquet")}
    assert 0 < len(finished) < 12  # it was killed on the way
    assert not (folder / "_manifest.json").exists()
    code, _, complained = run(*arguments)
    assert code == 0, complained
    again = {file.name: file.stat().st_mtime_ns for file in folder.glob("part*.parquet")}
    kept = [name for name, written in finished.items() if again[name] == written]
    assert len(kept) >= len(finished) - 1  # the last one may not have been noted yet
    assert sorted(file.name for file in folder.iterdir()) == ["_manifest.json", *sorted(again)]
    made = pl.read_parquet(folder / "part*.parquet")
    assert made["n"].to_list() == list(range(240_000))
    assert json.loads((folder / "_manifest.json").read_text())["rows"] == 240_000
