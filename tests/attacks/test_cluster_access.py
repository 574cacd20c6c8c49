"""A cluster that a command starts is on the loopback device, without a dashboard."""

import os
from http.client import HTTPConnection, HTTPException

import pytest

import llrkit as lk

pytestmark = pytest.mark.slow


def listening(psutil):
    """Address and port of every socket that this process and those it started listen on."""
    mine = psutil.Process(os.getpid())
    return {
        (one.laddr.ip, one.laddr.port)
        for process in (mine, *mine.children(recursive=True))
        for one in process.net_connections(kind="inet")
        if one.status == psutil.CONN_LISTEN
    }


def shows_dashboard(port):
    """Whether a port answers with the first page of Dask's dashboard."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", "/status")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):  # no HTTP
        return False
    finally:
        connection.close()


def test_every_port_is_on_the_loopback_device_and_none_is_a_dashboard(need):
    need("distributed")
    psutil = need("psutil")
    before = listening(psutil)
    with lk.cluster(workers=1) as client:
        assert client.submit(os.getpid, pure=False).result() != os.getpid()  # the worker is there
        ports = listening(psutil) - before
        assert len(ports) >= 2  # scheduler and worker
        assert {address for address, _ in ports} == {"127.0.0.1"}
        assert not any(shows_dashboard(port) for _, port in ports)
