"""What happens when parts of a cluster fail; each test asserts that the fault took place."""

import os
import signal
from threading import Event

import numpy as np
import polars as pl
import pytest
from processes import alive, members, started, wait_until

import llrkit as lk

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(4)
    label = rng.random(5_000) < 0.2
    return pl.DataFrame({"score": rng.normal(np.where(label, 2.0, -2.0), 1.8), "label": label})


def deadly(table, folder):
    """Delayed parts of a table; the worker that reads the third one dies, at the first and the third time."""
    from dask import delayed

    def read(part, number):
        if number == 2:
            reads = len(list(folder.glob("read*")))
            (folder / f"read{reads}").write_text(str(os.getpid()))
            if reads in (0, 2):  # every kill means one more read of the same pass
                os.kill(os.getpid(), signal.SIGKILL)
        return part

    read = delayed(read, pure=False)
    return [read(part, i) for i, part in enumerate(table.iter_slices(1_000))]


def test_a_worker_killed_in_every_pass_changes_nothing(table, client, tmp_path):
    expected = lk.evaluate(lk.DaskSource.from_delayed(list(table.iter_slices(1_000)), client))
    source = lk.DaskSource.from_delayed(deadly(table, tmp_path), client)
    found = lk.evaluate(source)
    killed = [int((tmp_path / f"read{i}").read_text()) for i in (0, 2)]
    assert not any(alive(pid) for pid in killed)
    assert found.to_dict() == expected.to_dict()


def test_a_worker_out_of_memory_is_said_plainly(tmp_path, need):
    delayed = need("dask").delayed

    def greedy(number):
        if number == 1:
            (tmp_path / str(os.getpid())).touch()
            held = np.ones(1 << 27)  # 1 GiB
            Event().wait(600 * held[0])  # until the worker is killed for it
        return {"score": [1.0, 2.0, 0.0, 1.5], "label": [1, 1, 0, 0]}

    parts = [delayed(greedy, pure=False)(i) for i in range(3)]
    with (
        lk.cluster(workers=1, memory_limit="700MiB") as client,
        pytest.raises(lk.errors.ClusterError, match="memory"),
    ):
        lk.eer(lk.DaskSource.from_delayed(parts, client))
    victims = [int(path.name) for path in tmp_path.iterdir()]
    assert len(victims) == 4  # tried again three times
    assert not any(alive(pid) for pid in victims)


CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    local = LocalCluster(n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0")
    print(local.scheduler_address, flush=True)
    sys.stdin.read()
"""


def test_a_scheduler_that_is_gone_is_said_plainly(tmp_path, need):
    delayed = need("dask").delayed
    process, address = started(CLUSTER, tmp_path / "local_cluster.py")
    group = process.pid

    def last_act(number):
        if number == 2:
            os.killpg(group, signal.SIGKILL)
        return {"score": [1.0, 2.0, 0.0, 1.5], "label": [1, 1, 0, 0]}

    last_act = delayed(last_act, pure=False)
    with lk.cluster(address) as client, pytest.raises(lk.errors.ClusterError, match=address):
        lk.eer(lk.DaskSource.from_delayed([last_act(i) for i in range(4)], client))
    process.communicate()
    assert process.returncode == -signal.SIGKILL


BUSY = """
import llrkit as lk
from dask import delayed

def busy(number):
    print("working", flush=True)
    while True:
        pass

if __name__ == "__main__":
    with lk.cluster(workers=2) as client:
        lk.eer(lk.DaskSource.from_delayed([delayed(busy)(i) for i in range(4)], client))
"""


def test_ctrl_c_stops_everything(tmp_path, need):
    need("distributed")
    process, said = started(BUSY, tmp_path / "busy.py")
    try:
        assert said == "working"
        assert len(members(process.pid)) >= 3
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=300)
        wait_until(lambda: members(process.pid) == [])
        assert process.returncode != 0
    finally:
        for pid in members(process.pid):
            os.kill(pid, signal.SIGKILL)
