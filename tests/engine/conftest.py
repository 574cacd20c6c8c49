"""Shared by the tests of the engines."""

from pathlib import Path

import pytest

import llrkit as lk

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """All tests that use the cluster run in one process, so that it is started once."""
    for item in items:
        if "client" in getattr(item, "fixturenames", ()) and HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("cluster"))


@pytest.fixture(scope="package")
def client(need):
    need("distributed")
    config = need("dask.config")
    # as on a machine so busy that a worker takes longer to come back than Dask waits for one
    with config.set({"distributed.deploy.lost-worker-timeout": "1ms"}), lk.cluster(workers=2) as client:
        yield client
