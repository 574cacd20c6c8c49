"""Who may use a cluster: certificates for a running one, and nobody else for one on this machine."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from llrkit.errors import InputError, MissingPackageError

if TYPE_CHECKING:
    from distributed import Security
    from distributed.node import ServerNode

LOOPBACK = "127.0.0.1"
WORKED_WITH = "llrkit.engine.cluster_worker_tasks"
"""Imported by workers before they join: while a module is imported, no sign of life is given."""


@dataclass(frozen=True)
class TLSFiles:
    """The PEM files that a client of a ``tls://`` scheduler shows and checks.

    Where none is named, Dask's own configuration (``distributed.comm.tls``) says which they are.

    Parameters
    ----------
    ca_file
        The certificate of whoever signed those of the scheduler and the workers.
    cert, key
        The certificate of this client, and its private key unless it is in the same file.

    Examples
    --------
    >>> TLSFiles("ca.pem", "client.pem").address("head:8786")
    'tls://head:8786'
    >>> TLSFiles("ca.pem", "client.pem").address("tcp://head:8786")
    Traceback (most recent call last):
    llrkit.errors.InputError: certificates are for an address that begins with tls://, got tcp://head:8786
    """

    ca_file: str | os.PathLike[str] | None = None
    cert: str | os.PathLike[str] | None = None
    key: str | os.PathLike[str] | None = None

    @property
    def any_given(self) -> bool:
        """Whether a file was named."""
        return any((self.ca_file, self.cert, self.key))

    def address(self, scheduler: str) -> str:
        """The address with its protocol; one that cannot be encrypted is refused.

        Parameters
        ----------
        scheduler
            Address of the scheduler.
        """
        if not self.any_given:
            return scheduler
        protocol, colon, _ = scheduler.partition("://")
        if not colon:
            return f"tls://{scheduler}"
        if protocol != "tls":
            raise InputError(f"certificates are for an address that begins with tls://, got {scheduler}")
        return scheduler

    def security(self, scheduler: str) -> Security | None:
        """What Dask needs to reach a scheduler; None where the address is not encrypted.

        Parameters
        ----------
        scheduler
            Address of the scheduler.
        """
        from distributed import Security

        if not scheduler.startswith("tls://"):
            return None
        given = {"tls_ca_file": self.ca_file, "tls_client_cert": self.cert, "tls_client_key": self.key}
        named = {name: os.fspath(file) for name, file in given.items() if file}
        for file in named.values():
            if not Path(file).is_file():
                raise InputError(f"{file}: no such certificate or key file")
        security = Security(require_encryption=True, **named)
        files = [getattr(security, name) for name in ("tls_ca_file", "tls_client_cert")]
        if not all(files):
            raise InputError(
                f"{scheduler} needs a certificate of its authority (--tls-ca-file) and one of this client "
                "(--tls-cert, and --tls-key if the key is in another file)"
            )
        try:
            security.get_connection_args("client")
        except (ssl.SSLError, OSError, ValueError) as error:
            told = ", ".join(named.values() or map(str, files))
            raise InputError(f"{told}: the certificates and keys do not match ({error})") from None
        return security


NO_FILES = TLSFiles()


class LocalClusterOptions(TypedDict, total=False):
    """Options of Dask's LocalCluster, those that are used here."""

    host: str
    protocol: str
    security: Security
    dashboard_address: str
    preload: list[str]
    scheduler_kwargs: Mapping[str, object]


def on_this_machine(dashboard: int | None = None) -> LocalClusterOptions:
    """Options of Dask's LocalCluster that keep everybody else out.

    All processes speak TLS on the loopback device, with certificates that are made for this run and never
    leave memory. Their HTTP ports are closed before they take work (:func:`dask_setup`), unless a port was
    asked for the dashboard, which is on the loopback device too.
    """
    try:
        from distributed import Security

        security = Security.temporary()
    except ImportError:
        raise MissingPackageError.of_extra("workers on this machine need cryptography", "dask") from None
    options: LocalClusterOptions = {
        "host": LOOPBACK,
        "protocol": "tls",
        "security": security,
        "dashboard_address": f"{LOOPBACK}:{dashboard or 0}",
        "preload": [__name__, WORKED_WITH],
    }
    if dashboard is None:
        options["scheduler_kwargs"] = {"dashboard": False, "preload": [__name__]}
    else:
        require_dashboard(dashboard)
    return options


def without_http() -> dict[str, object]:
    """Dask's configuration for HTTP servers that know no page, while they are not closed yet."""
    return {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}


def require_dashboard(port: int) -> None:
    """Refuse a dashboard that cannot be shown."""
    if not 0 < port < 65536:
        raise InputError(f"the port of a dashboard is between 1 and 65535, got {port}")
    if find_spec("bokeh") is None:
        raise MissingPackageError("the dashboard needs bokeh, which is not installed: pip install bokeh")


def dask_setup(node: ServerNode) -> None:
    """Close the HTTP port of a worker or scheduler; Dask calls this when it has started one."""
    node.http_server.stop()
