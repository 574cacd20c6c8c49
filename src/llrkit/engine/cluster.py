"""A Dask cluster: one that runs, or one that is started on this machine and ended."""

from __future__ import annotations

import logging
import math
import os
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING

from llrkit.engine.cluster_access import NO_FILES, TLSFiles, on_this_machine, without_http
from llrkit.engine.cluster_results import TIMEOUT, TIMEOUT_SETTING
from llrkit.errors import ClusterError, InputError, MissingPackageError

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

_WORKER_ENVIRONMENT = {
    "MALLOC_TRIM_THRESHOLD_": 64 << 20,
    "MALLOC_MMAP_THRESHOLD_": 64 << 20,
    "MALLOC_ARENA_MAX": 1,
    "POLARS_MAX_THREADS": 1,
}
"""Workers need arrays of the same sizes again and again: giving them back each time costs a third more. An
arena for each thread would hold on to memory that others need."""
_NEVER_GIVEN_UP = {"distributed.deploy.lost-worker-timeout": "1000 hours"}
"""Dask gives a worker up that is not there again 15 seconds after it died, as on a busy machine or after a
second death. If no worker comes at all, that is said after the timeout."""


@contextmanager
def cluster(
    scheduler: str | None = None,
    *,
    workers: int | None = None,
    memory_limit: str | float = "auto",
    timeout: float = TIMEOUT,
    tls: TLSFiles = NO_FILES,
    dashboard: int | None = None,
) -> Iterator[Client]:
    """A client of a running Dask cluster, or of one on this machine that ends with the block.

    A running cluster is trusted: whoever can reach its scheduler can run any program on its workers. One on
    this machine is open to this process only: it speaks TLS on the loopback device with certificates made
    for the run.

    Parameters
    ----------
    scheduler
        Address of a running scheduler, such as ``tcp://10.0.0.1:8786`` or ``tls://10.0.0.1:8786``.
    workers
        Instead of an address: start so many single-thread workers on this machine.
    memory_limit
        How much memory each of these may use, as Dask takes it ("2GiB"); a worker that needs more is
        restarted, and what it was at is tried again three times.
    timeout
        Seconds that the scheduler and the workers may be silent before :class:`llrkit.ClusterError`.
    tls
        For a running scheduler: the files with the certificates.
    dashboard
        For workers on this machine: the port of Dask's dashboard, on the loopback device. Every user of the
        machine can read it; by default there is none.
    """
    if (scheduler is None) == (workers is None):
        raise InputError("give either the address of a scheduler or a number of workers")
    if not 0.0 < timeout < math.inf:
        raise InputError(f"a timeout is a positive number of seconds, got {timeout}")
    if scheduler is None and tls.any_given:
        raise InputError("certificates are for a running scheduler; workers on this machine make their own")
    if scheduler is not None and dashboard is not None:
        raise InputError("a running scheduler has its own dashboard, or none")
    try:
        import distributed  # noqa: F401
        from dask import config
    except ImportError:
        raise MissingPackageError.of_extra("clusters need Dask", "dask") from None
    with config.set({TIMEOUT_SETTING: timeout, **_NEVER_GIVEN_UP}):
        if scheduler is not None:
            with _client_of_scheduler(scheduler, tls, timeout) as client:
                yield client
        else:
            with _workers_on_this_machine(workers or 0, memory_limit, dashboard) as client:
                yield client


@contextmanager
def _client_of_scheduler(scheduler: str, tls: TLSFiles, timeout: float) -> Iterator[Client]:
    from distributed import Client
    from distributed.versions import VersionMismatchWarning

    address = tls.address(scheduler)
    security = tls.security(address)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VersionMismatchWarning)  # the handshake compares what matters
            client = Client(address, timeout=timeout, security=security, set_as_default=False)
    except (OSError, ValueError, RuntimeError) as error:
        raise ClusterError(
            f"no scheduler answers at {address} within {timeout:g} s ({_first_line_of_fault(error)})"
        ) from None
    try:
        yield client
    finally:
        with suppress(TimeoutError):
            client.close(timeout=min(timeout, 5.0))


def _first_line_of_fault(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


@contextmanager
def _workers_on_this_machine(
    workers: int, memory_limit: str | float, dashboard: int | None
) -> Iterator[Client]:
    from dask import config
    from distributed import Client, LocalCluster

    if workers < 1:
        raise InputError(f"the number of workers must be at least 1, got {workers}")
    options = on_this_machine(dashboard)
    settings: dict[str, object] = {
        f"distributed.nanny.pre-spawn-environ.{name}": n for name, n in _WORKER_ENVIRONMENT.items()
    }
    if dashboard is None:
        settings |= without_http()
    local: LocalCluster | None = None
    own: Client | None = None
    try:
        with config.set(settings), ignore_interrupts():
            local = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                memory_limit=memory_limit,
                silence_logs=logging.CRITICAL,
                **options,
            )
        own = Client(local, set_as_default=False)
        yield own
    except BaseException:  # also Ctrl-C: nobody waits for what is still being computed
        _kill_workers(local)
        raise
    finally:
        with suppress(TimeoutError, OSError):  # workers that were killed are not there to be told
            if own is not None:
                own.close(timeout=1)
        if local is not None:
            local.shutdown_on_close = False  # Dask would try again at exit, in vain, and complain
            with suppress(TimeoutError, OSError):
                local.close(timeout=3)
        _kill_workers(local)


@contextmanager
def ignore_interrupts() -> Iterator[None]:
    """Ctrl-C waits until the block is done, and what is started in it never hears of it.

    A cluster that is only half there cannot be ended well, and it starts within seconds. A terminal sends the
    signal to the workers too, of which one that is starting would print where it was; this process ends them.
    Which signals are blocked goes from a thread to those it starts, and to processes. Threads that were there
    before may still hear the signal, and leave it to the main thread, which only takes note of it.
    """
    resource_tracker.ensure_running()  # which workers need; starting it later would unblock the signal
    heard: list[int] = []
    in_main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, lambda number, _: heard.append(number)) if in_main else None
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if in_main:
            signal.signal(signal.SIGINT, handler)
        if heard:
            signal.raise_signal(signal.SIGINT)


def quieten() -> None:
    """No logs of Dask from now on: a user of a command gets one line about what went wrong.

    Those of asyncio are about its tasks too, which end with Ctrl-C as best they can.
    """
    with suppress(ImportError):  # which is said elsewhere
        import distributed  # noqa: F401 - it sets levels of its own when it is imported
    for name in ("asyncio", "distributed", "distributed.client", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _kill_workers(local: LocalCluster | None) -> None:
    """End by force the workers that have not exited."""
    for nanny in local.workers.values() if local is not None else ():
        nanny.auto_restart = False
        if nanny.process is not None and nanny.process.is_alive():
            with suppress(ProcessLookupError):
                os.kill(nanny.process.pid, signal.SIGKILL)
