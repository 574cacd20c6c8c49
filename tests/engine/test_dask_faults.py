"""What happens when parts of a cluster fail; each test asserts that the fault took place."""

import os
import signal
import time

import numpy as np
import polars as pl
import pytest
from processes import alive, members, started

import llrkit as lk


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(4)
    label = rng.random(5_000) < 0.2
    return pl.DataFrame({"score": rng.normal(np.where(label, 2.0, -2.0), 1.8), "label": label})


def deadly(table, folder, passes, times=1):
    """Delayed parts of a table; the worker that reads the third one dies, ``times`` in each of the passes."""
    from dask import delayed

    def read(part, number):
        if number != 2:
            return part
        with (folder / "lock").open("a"):
            reads = len(list(folder.glob("read*")))
        (folder / f"read{reads}").write_text(str(os.getpid()))
        # Every kill means one more read of the same pass.
        turn, again = divmod(reads, times + 1)
        if turn < passes and again < times:
            os.kill(os.getpid(), signal.SIGKILL)
        return part

    read = delayed(read, pure=False)
    return [read(part, i) for i, part in enumerate(table.iter_slices(1_000))]


def victims(folder, passes, times=1):
    reads = sorted(folder.glob("read*"), key=lambda path: int(path.name[4:]))
    return [int(path.read_text()) for i, path in enumerate(reads) if i % (times + 1) < times]


def test_a_worker_killed_in_every_pass_changes_nothing(table, client, tmp_path):
    expected = lk.evaluate(lk.DaskSource.from_delayed(list(table.iter_slices(1_000)), client))
    source = lk.DaskSource.from_delayed(deadly(table, tmp_path, passes=2), client)
    found = lk.evaluate(source)
    killed = victims(tmp_path, 2)
    assert len(killed) == 2
    assert not any(alive(pid) for pid in killed)
    assert found.to_dict() == expected.to_dict()


def test_two_kills_in_a_row_change_nothing(table, client, tmp_path):
    expected = lk.cllr(lk.DaskSource.from_delayed(list(table.iter_slices(1_000)), client))
    source = lk.DaskSource.from_delayed(deadly(table, tmp_path, passes=1, times=2), client)
    assert lk.cllr(source) == expected
    killed = victims(tmp_path, 1, times=2)
    assert len(set(killed)) == 2
    assert not any(alive(pid) for pid in killed)


def test_a_worker_out_of_memory_is_said_plainly(tmp_path):
    from dask import delayed

    def greedy(number):
        if number == 1:
            (tmp_path / str(os.getpid())).touch()
            held = np.ones(1 << 27)  # 1 GiB
            time.sleep(held[0] * 30)
        return {"score": [1.0, 2.0, 0.0, 1.5], "label": [1, 1, 0, 0]}

    parts = [delayed(greedy, pure=False)(i) for i in range(3)]
    with (
        lk.cluster(workers=1, memory_limit="700MiB") as client,
        pytest.raises(lk.ClusterError, match="lack of memory"),
    ):
        lk.eer(lk.DaskSource.from_delayed(parts, client))
    victims = [int(path.name) for path in tmp_path.iterdir()]
    assert len(victims) == 4  # tried again three times
    assert not any(alive(pid) for pid in victims)


CLUSTER = """
import time
from distributed import LocalCluster
if __name__ == "__main__":
    local = LocalCluster(n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=":0")
    print(local.scheduler_address, flush=True)
    time.sleep(300)
"""


def test_a_scheduler_that_is_gone_is_said_plainly(tmp_path):
    from dask import delayed

    process, address = started(CLUSTER, tmp_path / "local_cluster.py")

    group = process.pid

    def last_act(number):
        if number == 2:
            os.killpg(group, signal.SIGKILL)
        return {"score": [1.0, 2.0, 0.0, 1.5], "label": [1, 1, 0, 0]}

    last_act = delayed(last_act, pure=False)
    with lk.cluster(address) as client, pytest.raises(lk.ClusterError, match=f"{address} has disappeared"):
        lk.eer(lk.DaskSource.from_delayed([last_act(i) for i in range(4)], client))
    process.communicate()
    assert process.returncode == -signal.SIGKILL


BUSY = """
import time
import llrkit as lk
from dask import delayed

def busy(number):
    print("working", flush=True)
    end = time.time() + 60
    while time.time() < end:
        pass

if __name__ == "__main__":
    with lk.cluster(workers=2) as client:
        lk.eer(lk.DaskSource.from_delayed([delayed(busy)(i) for i in range(4)], client))
"""


def test_ctrl_c_stops_everything(tmp_path):
    process, said = started(BUSY, tmp_path / "busy.py")
    assert said == "working"
    assert len(members(process.pid)) >= 3
    os.killpg(process.pid, signal.SIGINT)
    begin = time.monotonic()
    process.communicate(timeout=30)
    while members(process.pid) and time.monotonic() - begin < 30:
        time.sleep(0.05)
    assert members(process.pid) == []
    assert process.returncode != 0
