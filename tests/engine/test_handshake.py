"""Clusters that are not there or would compute something else: a clear error before the first pass."""

import numpy as np
import polars as pl
import pytest
from commands import run
from processes import started

import llrkit as lk

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
pytestmark = pytest.mark.slow
PARTS = [{"score": [1.0, 2.0, 0.0, 1.5], "label": [1, 1, 0, 0]}]
PATCHES = {
    "no llrkit": "sys.modules['llrkit'] = None",
    "other polars": "import polars\npolars.__version__ = '0.1'",
    "other llrkit": "import llrkit._version\nllrkit._version.__version__ = '9.9'",
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


def eer_at(address):
    with lk.cluster(address) as client:
        return lk.eer(lk.DaskSource.from_delayed(PARTS, client))


def test_a_worker_that_agrees_is_used(scheduler, join):
    join()
    assert eer_at(scheduler) == 0.25


@pytest.mark.parametrize("kind", PATCHES)
def test_a_worker_that_would_compute_otherwise_is_refused(scheduler, join, kind):
    _, address = join(PATCHES[kind])
    with pytest.raises(lk.errors.ClusterError) as refused:
        eer_at(scheduler)
    assert address in str(refused.value)


def test_a_scheduler_that_is_not_there_is_named(need):
    config = need("dask.config")
    for address in ("tcp://127.0.0.1:9", "tls://127.0.0.1:9"):  # for the second there are no certificates
        with (
            config.set({"distributed.comm.timeouts.connect": "1s"}),
            pytest.raises(lk.errors.ClusterError, match=":9"),
            lk.cluster(address),
        ):
            pass


def test_certificates_are_those_of_dask_s_configuration(need, tmp_path):
    config, distributed = need("dask.config"), need("distributed")
    security = distributed.Security.temporary()
    files = {"ca-file": "tls_ca_file", "client.cert": "tls_client_cert", "client.key": "tls_client_key"}
    for name in files.values():
        (tmp_path / name).write_text(getattr(security, name))
    named = {f"distributed.comm.tls.{key}": str(tmp_path / name) for key, name in files.items()}
    options = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "security": security}
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, **options) as local:
        assert local.scheduler_address.startswith("tls://")
        with config.set(named):
            assert eer_at(local.scheduler_address) == 0.25
        with pytest.raises(lk.errors.ClusterError):
            eer_at(local.scheduler_address)


def test_clusters_that_make_no_sense_are_refused(tmp_path, need):
    need("distributed")
    for options in ({}, {"workers": 0}):
        with pytest.raises(lk.InputError), lk.cluster(**options):
            pass
    file = tmp_path / "scores.parquet"
    pl.DataFrame({"score": np.arange(4.0), "label": [0, 0, 1, 1]}).write_parquet(file)
    code, said, _ = run("evaluate", file, "--scheduler", "tcp://127.0.0.1:9", "--workers", "1")
    assert (code, said) == (2, "")
