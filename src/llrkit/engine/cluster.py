"""A Dask cluster: reaching one or starting one here, its versions, and its results."""

from __future__ import annotations

import logging
import platform
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any, TypeVar

from llrkit.base.arguments import whole_number
from llrkit.errors import ClusterError, InputError, MissingPackageError

if TYPE_CHECKING:
    from distributed import Client, Future

T = TypeVar("T")

LOOPBACK = "127.0.0.1"
WAIT_FOR_A_WORKER = 60.0
"""Seconds that a scheduler may be without any worker when it is given work."""
PACKAGES = ("llrkit", "numpy", "scipy", "polars", "pyarrow", "distributed")
"""What workers read and compute with, and the package that carries it; another version may give other
numbers, or none."""
_LOCAL_SETTINGS = {
    # Dask gives a worker up that is not there again 15 seconds after it died, as on a busy machine or after a
    # second death.
    "distributed.deploy.lost-worker-timeout": "1000 hours",
    # No pages on the HTTP ports that Dask opens, neither its dashboard nor any other.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # Workers need arrays of the same sizes again and again: giving them back each time costs a third more. An
    # arena for each thread would hold on to memory that others need.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 64 << 20,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 64 << 20,
    "distributed.nanny.pre-spawn-environ.MALLOC_ARENA_MAX": 1,
    "distributed.nanny.pre-spawn-environ.POLARS_MAX_THREADS": 1,
}


@contextmanager
def cluster(
    scheduler: str | None = None, *, workers: int | None = None, memory_limit: str | float = "auto"
) -> Iterator[Client]:
    """A client of a running Dask cluster, or of one on this machine that ends with the block.

    A running cluster is trusted: whoever can reach its scheduler can run any program on its workers. The
    certificates for one at ``tls://`` and the time-outs are those of Dask's configuration; a client made with
    ``distributed.Client(address, security=...)`` can be used instead of this one. A cluster on this machine
    is open to this process only: it speaks TLS on the loopback device with certificates made for the run.

    Parameters
    ----------
    scheduler
        Address of a running scheduler, such as ``tcp://10.0.0.1:8786`` or ``tls://10.0.0.1:8786``.
    workers
        Instead of an address: start so many single-thread workers on this machine.
    memory_limit
        How much memory each of these may use, as Dask takes it ("2GiB"); a worker that needs more is
        restarted, and what it was at is tried again three times.
    """
    if (scheduler is None) == (workers is None):
        raise InputError("give either the address of a scheduler or a number of workers")
    try:
        from dask import config
        from distributed import Client
        from distributed.versions import VersionMismatchWarning
    except ImportError:
        raise MissingPackageError.of_extra("clusters need Dask", "dask") from None
    if workers is not None:
        n_workers = whole_number(workers, 1, "workers")
        with config.set(_LOCAL_SETTINGS), _workers_on_this_machine(n_workers, memory_limit) as client:
            yield client
        return
    try:
        with warnings.catch_warnings(action="ignore", category=VersionMismatchWarning):
            # set_as_default=False: a client that becomes the default of the process would also be used
            # by the caller's own Dask code.
            client = Client(scheduler, set_as_default=False)  # require_agreement compares versions
    except (OSError, ValueError, RuntimeError, TypeError) as error:  # the last one without certificates
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise ClusterError(f"no scheduler can be reached at {scheduler} ({said})") from None
    try:
        yield client
    finally:
        # A scheduler that is gone never answers.
        with suppress(TimeoutError):
            client.close(timeout=5)


@contextmanager
def _workers_on_this_machine(workers: int, memory_limit: str | float) -> Iterator[Client]:
    from distributed import Client, LocalCluster, Security

    try:
        security = Security.temporary()  # certificates for this run, which never leave memory
    except ImportError:
        raise MissingPackageError.of_extra("workers on this machine need cryptography", "dask") from None
    # A terminal sends Ctrl-C to the workers too, of which each would print where it was; this process ends
    # them. Which signals are blocked goes from a thread to those it starts, and to processes.
    resource_tracker.ensure_running()  # which workers need; starting it later would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        local = LocalCluster(
            n_workers=workers,
            # One thread each, so that ``workers`` is the number of cores in use.
            threads_per_worker=1,
            memory_limit=memory_limit,
            silence_logs=logging.CRITICAL,
            host=LOOPBACK,
            security=security,
            dashboard_address=f"{LOOPBACK}:0",
            scheduler_kwargs={"dashboard": False},
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    with local, Client(local, set_as_default=False) as client:
        yield client


def quieten() -> None:
    """No logs of Dask from now on: a user of a command gets one line about what went wrong.

    Those of asyncio are about its tasks too, which end with Ctrl-C as best they can.
    """
    with suppress(ImportError):  # which is said elsewhere
        import distributed  # noqa: F401 - it sets levels of its own when it is imported
    for name in ("asyncio", "distributed", "distributed.client", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def program_here() -> dict[str, str]:
    """The versions of this process that matter for numbers, as its modules have them.

    Examples
    --------
    >>> sorted(program_here())
    ['Python', 'distributed', 'llrkit', 'numpy', 'polars', 'pyarrow', 'scipy']
    """
    # The version of the imported module, not the installed one: a package may have been upgraded since
    # the worker started.
    versions = {name: str(import_module(name).__version__) for name in PACKAGES}
    return {"Python": ".".join(platform.python_version_tuple()[:2]), **versions}


def require_agreement(client: Client) -> None:
    """Compare versions with every worker there is; raise if one would compute with others.

    Dask's own ``get_versions`` reads what is installed, not what is imported; and a worker that cannot import
    llrkit would be found by nobody, while its tasks wait for ever.
    """
    if client.asynchronous:
        raise ClusterError("the client of the cluster is asynchronous; make it with asynchronous=False")
    try:
        client.wait_for_workers(1, timeout=WAIT_FOR_A_WORKER)
        # on_error="return": a worker that cannot import llrkit is one answer among others and not an
        # exception without a name.
        answers = client.run(program_here, on_error="return")
    except OSError as error:  # also a time-out
        raise ClusterError(f"the scheduler at {_address_of(client)} has no worker ({error!r})") from None
    here = program_here()
    for worker, there in answers.items():
        if isinstance(there, BaseException):
            other = [f"no llrkit that it can run ({there})"]
        else:
            differ = [name for name in here if there[name] != here[name]]
            other = [f"{name} {there[name]}, here {here[name]}" for name in differ]
        if other:
            raise ClusterError(
                f"the worker {worker} has {'; '.join(other)}: it may compute other numbers, or none, so "
                "install the same versions of llrkit[dask] and of these packages"
            )


def results_of(client: Client, futures: Sequence[Future[Any]]) -> list[Any]:
    """The results of futures; what goes wrong with the cluster itself is said plainly."""
    from distributed import CancelledError, KilledWorker

    address = _address_of(client)
    try:
        return list(client.gather(list(futures)))
    except KilledWorker as error:
        raise ClusterError(
            f"workers died repeatedly at the same partition, probably for lack of memory ({error})"
        ) from None
    except (CancelledError, OSError) as error:  # also time-outs and closed connections
        # An OSError may come from the task itself, a full disk for example, rather than from the
        # connection.
        if any(future.status == "error" for future in futures):
            raise  # the error of a task, such as a full disk, which says itself what is wrong
        raise ClusterError(
            f"the scheduler at {address} has disappeared, so there is no result ({error!r})"
        ) from None


def done_on(client: Client, work: Callable[[T], T], items: Sequence[T]) -> Iterator[T]:
    """The results of ``work`` on each item, as they are done."""
    from distributed import as_completed

    require_agreement(client)
    # as_completed, so that progress is shown and finished parts are noted while others are still at
    # work.
    for future in as_completed(client.map(work, items, pure=False), loop=client.loop):
        yield results_of(client, [future])[0]


def _address_of(client: Client) -> str:
    return str(client.scheduler.address) if client.scheduler is not None else "its address"
