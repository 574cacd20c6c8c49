"""Shared by the tests of the engines."""

import pytest

import llrkit as lk


@pytest.fixture(scope="module")
def client(need):
    need("distributed")
    config = need("dask.config")
    # as on a machine so busy that a worker takes longer to come back than Dask waits for one
    with config.set({"distributed.deploy.lost-worker-timeout": "1ms"}), lk.cluster(workers=2) as client:
        yield client
