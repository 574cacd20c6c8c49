"""Clusters that do not answer, or would compute something else: a clear error, within the time-out."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from commands import run
from processes import started

import llrkit as lk
from llrkit.engine import cluster_same_program as handshake
from llrkit.engine.cluster_results import synchronous

SCHEDULER = """
import asyncio
from distributed import Scheduler

async def run():
    async with Scheduler(host="127.0.0.1", dashboard=False, dashboard_address="127.0.0.1:0") as scheduler:
        print(scheduler.address, flush=True)
        await scheduler.finished()

asyncio.run(run())
"""
WORKER = """
import asyncio, sys
from distributed import Worker
{patch}

async def run():
    async with Worker({address!r}, nthreads=1, host="127.0.0.1", dashboard_address="127.0.0.1:0") as worker:
        print(worker.address, flush=True)
        await worker.finished()

asyncio.run(run())
"""
PATIENCE = 4.0
"""Seconds that a busy machine surely needs less of to answer; where nobody answers, a test takes as long."""
PARTS = [{"score": [1.0, 2.0, 0.0, 1.5], "label": [1, 1, 0, 0]}]
PATCHES = {
    "no llrkit": ("sys.modules['llrkit'] = None", "cannot run this llrkit"),
    "other Python": (
        "import distributed.versions as v\nsystem = v.get_system_info\n"
        "v.get_system_info = lambda: system() | {'python': '3.9.1.final.0'}",
        "has Python 3.9, here 3.",
    ),
    "other NumPy": ("import numpy\nnumpy.__version__ = '9.9'", "has numpy 9.9, here"),
    "other polars": ("import polars\npolars.__version__ = '0.1'", "has polars 0.1, here"),
    "other llrkit": (
        "import llrkit._version\nllrkit._version.__version__ = '9.9'",
        "has llrkit 9.9, here",
    ),
}


@pytest.fixture(scope="module")
def scheduler(need, tmp_path_factory):
    """The address of a scheduler without workers."""
    need("distributed")
    process, address = started(SCHEDULER, tmp_path_factory.mktemp("scheduler") / "scheduler.py")
    yield address
    process.kill()
    process.communicate()


@pytest.fixture
def join(scheduler, tmp_path):
    """``join(patch)`` starts a worker; it ends with the test."""
    processes = []

    def start(patch="", **environment):
        text = WORKER.format(address=scheduler, patch=patch)
        process, address = started(text, tmp_path / f"worker{len(processes)}.py", **environment)
        processes.append(process)
        return process, address

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def eer_at(address, parts=PARTS, timeout=20.0):
    with lk.cluster(address, timeout=timeout) as client:
        return lk.eer(lk.DaskSource.from_delayed(parts, client))


def test_a_scheduler_without_a_worker_is_an_error_after_the_timeout(scheduler):
    with pytest.raises(lk.ClusterError, match="has had no worker for 4 s"):
        eer_at(scheduler, timeout=PATIENCE)


def test_an_unreachable_scheduler_is_an_error_after_the_timeout():
    with pytest.raises(lk.ClusterError, match=r"no scheduler answers at tcp://127.0.0.1:9 within 0.5 s"):
        eer_at("tcp://127.0.0.1:9", timeout=0.5)


def test_a_worker_that_agrees_is_used(scheduler, join):
    join()
    assert eer_at(scheduler) == 0.25


@pytest.mark.parametrize("kind", PATCHES)
def test_a_worker_that_would_compute_otherwise_is_refused(scheduler, join, kind):
    patch, words = PATCHES[kind]
    _, address = join(patch)
    with pytest.raises(lk.ClusterError, match=words) as refused:
        eer_at(scheduler)
    assert address in str(refused.value)


def test_a_patched_worker_of_the_same_version_is_refused(scheduler, join, tmp_path):
    """Scores times 1.5 on one worker: the Cllr was another one, and nothing said so."""
    shutil.copytree(Path(lk.__file__).parent, tmp_path / "patched" / "llrkit")
    file = tmp_path / "patched" / "llrkit" / "engine" / "chunks_of_rows.py"
    file.write_text(file.read_text() + "\nSCALE = 1.5\n")
    join(PYTHONPATH=str(tmp_path / "patched"))
    with pytest.raises(lk.ClusterError, match=r"has source files [0-9a-f]{12}, here [0-9a-f]{12}"):
        eer_at(scheduler)


def test_a_task_is_refused_by_a_worker_with_other_source_files():
    handshake.require_same_program(handshake.sources_digest())
    with pytest.raises(lk.ClusterError, match="other source files"):
        handshake.require_same_program("0" * 64)
    work = handshake.SameProgram(abs, "0" * 64)
    with pytest.raises(lk.ClusterError, match="other source files"):
        work(-1)


@pytest.mark.slow
def test_a_worker_that_hangs_before_the_first_pass_is_named(scheduler, join):
    process, address = join()
    os.kill(process.pid, signal.SIGSTOP)
    try:
        with pytest.raises(lk.ClusterError, match=f"{address} has not answered for 4 s"):
            eer_at(scheduler, timeout=PATIENCE)
    finally:
        os.kill(process.pid, signal.SIGCONT)


@pytest.mark.slow
def test_a_worker_that_hangs_at_its_work_is_named(scheduler, join):
    from dask import delayed

    process, address = join()

    def stop_myself():
        os.kill(os.getpid(), signal.SIGSTOP)
        return PARTS[0]

    try:
        with pytest.raises(lk.ClusterError, match=f"no answer for 4 s from {address}"):
            eer_at(scheduler, [delayed(stop_myself, pure=False)()], timeout=PATIENCE)
    finally:
        os.kill(process.pid, signal.SIGCONT)


@pytest.mark.slow
def test_a_worker_that_leaves_for_good_is_an_error_after_the_timeout(scheduler, join):
    from dask import delayed

    join()

    def leave():
        os._exit(0)

    with pytest.raises(lk.ClusterError, match=r"there has been no worker|workers died again"):
        eer_at(scheduler, [delayed(leave, pure=False)()], timeout=PATIENCE)


@pytest.mark.slow
def test_long_work_is_not_taken_for_silence(scheduler, join):
    from dask import delayed

    join()

    seconds = PATIENCE

    def take_time():
        time.sleep(1.5 * seconds)
        return PARTS[0]

    assert eer_at(scheduler, [delayed(take_time, pure=False)()], timeout=PATIENCE) == 0.25


@pytest.mark.slow
def test_a_scheduler_that_hangs_is_an_error_after_the_timeout(need, tmp_path):
    from dask import delayed

    need("distributed")
    process, address = started(SCHEDULER, tmp_path / "scheduler.py")
    worker, _ = started(WORKER.format(address=address, patch=""), tmp_path / "worker.py")

    pid = process.pid

    def stop_the_scheduler():
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.5)
        return PARTS[0]

    try:
        with pytest.raises(lk.ClusterError, match=f"{address} has not answered for 4 s"):
            eer_at(address, [delayed(stop_the_scheduler, pure=False)()], timeout=PATIENCE)
    finally:
        for one in (process, worker):
            one.kill()
            one.communicate()


@pytest.mark.parametrize(("options", "words"), [
    (["--timeout", "3"], "--timeout is for a cluster"),
    (["--workers", "1", "--tls-cert", "a.pem"], "--tls-cert is for a running cluster"),
    (["--scheduler", "tcp://127.0.0.1:9", "--dashboard", "8787"], "--dashboard is for workers on this"),
    (["--scheduler", "tcp://127.0.0.1:9", "--workers", "1"], "cannot be combined"),
    (["--scheduler", "tls://127.0.0.1:9", "--tls-ca-file", "none.pem"], "none.pem: no such certificate"),
])  # fmt: skip
def test_options_of_clusters_are_refused_where_they_have_no_effect(tmp_path, options, words):
    file = tmp_path / "scores.parquet"
    pl.DataFrame({"score": np.arange(4.0), "label": [0, 0, 1, 1]}).write_parquet(file)
    code, said, complained = run("evaluate", file, *options)
    assert code == 2
    assert words in complained
    assert said == ""


@pytest.mark.slow
def test_the_command_ends_with_one_line_and_exit_code_1(scheduler, tmp_path):
    file = tmp_path / "scores.parquet"
    pl.DataFrame({"score": np.arange(4.0), "label": [0, 0, 1, 1]}).write_parquet(file)
    done = subprocess.run(
        [sys.executable, "-m", "llrkit", "evaluate", file, "--scheduler", scheduler, "--timeout", "4"],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("llrkit: error: the scheduler at")
    assert len(done.stderr.splitlines()) == 1


def test_a_client_that_only_promises_answers_is_refused():
    async def answer():
        return {}

    with pytest.raises(lk.ClusterError, match="asynchronous"):
        synchronous(answer(), dict)
