"""Shared by the tests of the engines."""

import pytest

import llrkit as lk


@pytest.fixture(scope="module")
def client(need):
    need("distributed")
    with lk.cluster(workers=2) as client:
        yield client
