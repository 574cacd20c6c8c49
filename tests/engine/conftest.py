"""Shared by the tests of the engines."""

import pytest

import llrkit as lk
from llrkit.engine.open import Files, open_trials


@pytest.fixture(scope="module")
def client(need):
    """Two workers; what asks for them is marked slow."""
    need("distributed")
    config = need("dask.config")
    # as on a machine so busy that a worker takes longer to come back than Dask waits for one
    with config.set({"distributed.deploy.lost-worker-timeout": "1ms"}), lk.cluster(workers=2) as client:
        yield client


@pytest.fixture(params=["memory", "batches", pytest.param("cluster", marks=pytest.mark.slow)])
def opened(request, monkeypatch):
    """``opened(path, reading)`` gives the trials of a file in one of the three ways."""

    def open_file(path, reading):
        if request.param == "cluster":
            return open_trials(path, reading, client=request.getfixturevalue("client"))
        if request.param == "batches":
            monkeypatch.setenv("LLRKIT_AT_ONCE", "1K")
        source = open_trials(path, reading)
        assert isinstance(source, {"memory": lk.Trials, "batches": Files}[request.param])
        return source

    return open_file
