"""Other users of the machine: what they reach of a cluster that a command started."""

import os
import signal
import socket
import ssl
import time
from contextlib import ExitStack

import pytest
from processes import started

import llrkit as lk
from llrkit.engine import cluster_access

HTTP = b"GET /info/main/workers.html HTTP/1.0\r\n\r\n"


def listening(psutil):
    """Address and port of every socket that this process and those it started listen on."""
    mine = psutil.Process(os.getpid())
    return {
        (one.laddr.ip, one.laddr.port)
        for process in (mine, *mine.children(recursive=True))
        for one in process.net_connections(kind="inet")
        if one.status == psutil.CONN_LISTEN
    }


@pytest.fixture(scope="module")
def here(need):
    """A cluster of one worker: its client, and the ports that came with it."""
    need("distributed")
    psutil = need("psutil")
    before = listening(psutil)
    with lk.cluster(workers=1) as client:
        yield client, listening(psutil) - before


def answer_to(port, context, said=b""):
    """What a server sends to whoever connects, and to what is said; empty if it hangs up or refuses."""
    with ExitStack() as opened:
        channel = opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
        try:
            if context is not None:
                channel = opened.enter_context(context.wrap_socket(channel))
            if said:
                channel.sendall(said)
            channel.settimeout(2.0)
            return channel.recv(1000)
        except (ssl.SSLError, ConnectionError, TimeoutError):
            return b""


def context_of(security):
    """How a client with these certificates, or none, speaks TLS to a server whose name does not matter."""
    if security is not None:
        return security.get_connection_args("client")["ssl_context"]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def trusting_anyone(security):
    """The same, of an attacker who takes any server."""
    context = context_of(security)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def test_every_port_is_on_the_loopback_device(here):
    _, ports = here
    assert {address for address, _ in ports} == {"127.0.0.1"}
    assert len(ports) == 3  # scheduler, nanny and worker; no HTTP


def test_every_port_answers_the_certificates_of_the_run_and_nothing_else(here):
    from distributed import Security

    client, ports = here
    for _, port in ports:
        assert answer_to(port, context_of(client.security)) != b""
        assert answer_to(port, None, HTTP) == b""
        assert answer_to(port, trusting_anyone(None)) == b""
        assert answer_to(port, trusting_anyone(Security.temporary())) == b""


@pytest.mark.parametrize("who", ["plain", "without certificates", "with foreign certificates"])
def test_a_foreign_client_is_refused(here, who):
    from distributed import Client, Security

    client, _ = here
    address = client.scheduler.address
    security = Security.temporary() if who == "with foreign certificates" else None
    if who == "plain":
        address = address.replace("tls://", "tcp://")
    with pytest.raises((OSError, TypeError, ValueError, RuntimeError)):
        Client(address, timeout=2, security=security, set_as_default=False).close()
    assert client.submit(os.getpid, pure=False).result() != os.getpid()  # it still works for us


def test_a_worker_that_is_replaced_is_as_closed_as_the_first(here, need):
    client, ports = here
    psutil = need("psutil")
    first = client.submit(os.getpid, pure=False).result()
    os.kill(first, signal.SIGKILL)
    assert client.submit(os.getpid, pure=False).result(timeout=300) != first
    due, new = time.monotonic() + 60, set()
    while not new and time.monotonic() < due:  # the kernel's list may lack what is there while it changes
        new = listening(psutil) - ports
    assert [address for address, _ in new] == ["127.0.0.1"]
    for _, port in new:
        assert answer_to(port, None, HTTP) == b""
        assert answer_to(port, context_of(client.security)) != b""


def test_a_dashboard_is_there_only_if_it_is_asked_for_and_on_the_loopback_device(need, monkeypatch):
    need("distributed")
    psutil = need("psutil")
    monkeypatch.setattr(cluster_access, "require_dashboard", lambda port: None)  # bokeh need not be there
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with lk.cluster(workers=1, dashboard=port):
        assert ("127.0.0.1", port) in listening(psutil)
        assert {address for address, _ in listening(psutil)} == {"127.0.0.1"}
        assert b"200 OK" in answer_to(port, None, b"GET /health HTTP/1.0\r\n\r\n")


def test_a_dashboard_that_cannot_be_shown_is_refused(monkeypatch):
    monkeypatch.setattr(cluster_access, "find_spec", lambda name: None)
    with pytest.raises(lk.MissingPackageError, match="needs bokeh"):
        cluster_access.require_dashboard(8787)
    with pytest.raises(lk.InputError, match="between 1 and 65535"):
        cluster_access.require_dashboard(70_000)


def test_workers_without_cryptography_are_refused(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(lk.MissingPackageError, match="cryptography"), lk.cluster(workers=1):
        pass


@pytest.mark.parametrize(("options", "words"), [
    ({"workers": 1, "tls": lk.TLSFiles("ca.pem")}, "for a running scheduler"),
    ({"scheduler": "tcp://127.0.0.1:9", "dashboard": 8787}, "own dashboard"),
    ({"scheduler": "tcp://127.0.0.1:9", "tls": lk.TLSFiles("ca.pem")}, "begins with tls://"),
    ({"scheduler": "tls://127.0.0.1:9", "tls": lk.TLSFiles("nowhere.pem")}, "nowhere.pem: no such"),
    ({"scheduler": "tls://127.0.0.1:9"}, "--tls-ca-file"),
    ({"scheduler": "tcp://127.0.0.1:9", "timeout": 0}, "positive number of seconds"),
])  # fmt: skip
def test_options_that_cannot_be_honored_are_refused(options, words):
    with pytest.raises(lk.InputError, match=words), lk.cluster(**options):
        pass


ENCRYPTED = """
import sys, time
from distributed import LocalCluster, Security
if __name__ == "__main__":
    security = Security.temporary()
    for name, text in (("cert", security.tls_client_cert), ("key", security.tls_client_key)):
        with open(f"{sys.path[0]}/{name}.pem", "w") as file:
            file.write(text)
    local = LocalCluster(n_workers=1, threads_per_worker=1, host="127.0.0.1", protocol="tls",
                         security=security, dashboard_address="127.0.0.1:0")
    print(local.scheduler_address, flush=True)
    time.sleep(300)
"""


@pytest.fixture(scope="module")
def encrypted(need, tmp_path_factory):
    """A scheduler that asks for certificates, and the folder with those that it accepts."""
    need("distributed")
    folder = tmp_path_factory.mktemp("encrypted")
    process, address = started(ENCRYPTED, folder / "encrypted.py")
    yield address, folder
    process.kill()
    process.communicate()


def test_a_scheduler_with_certificates_is_used_with_them_only(encrypted, tmp_path):
    from distributed import Security

    address, folder = encrypted
    files = lk.TLSFiles(folder / "cert.pem", folder / "cert.pem", folder / "key.pem")
    with lk.cluster(address, tls=files) as client:
        source = lk.DaskSource.from_delayed([{"score": [1.0, 2.0, 0.0], "label": [1, 1, 0]}], client)
        assert lk.eer(source) == 0.0
    foreign = Security.temporary()
    (tmp_path / "cert.pem").write_text(foreign.tls_client_cert)
    (tmp_path / "key.pem").write_text(foreign.tls_client_key)
    others = lk.TLSFiles(tmp_path / "cert.pem", tmp_path / "cert.pem", tmp_path / "key.pem")
    with pytest.raises(lk.ClusterError, match="no scheduler answers"), lk.cluster(
        address, tls=others, timeout=2
    ):  # fmt: skip
        pass
    mixed = lk.TLSFiles(folder / "cert.pem", folder / "cert.pem", tmp_path / "key.pem")
    with pytest.raises(lk.InputError, match="do not match"), lk.cluster(address, tls=mixed):
        pass
