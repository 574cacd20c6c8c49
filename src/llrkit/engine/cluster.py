"""A Dask cluster: found or started, its results, and what is said when it fails."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any, TypeVar

from llrkit.errors import ClusterError, InputError, MissingPackageError

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")

_WORKER_ENVIRONMENT = {
    "MALLOC_TRIM_THRESHOLD_": 64 << 20,
    "MALLOC_MMAP_THRESHOLD_": 64 << 20,
    "MALLOC_ARENA_MAX": 1,
    "POLARS_MAX_THREADS": 1,
}
"""Workers need arrays of the same sizes again and again: giving them back each time costs a third more. An
arena for each thread would hold on to memory that others need."""


def done_on(client: Client, work: Callable[[T], T], items: Sequence[T]) -> Iterator[T]:
    """The results of ``work`` on each item, as they are done."""
    from distributed import as_completed

    futures = client.map(work, items, pure=False)
    for future in as_completed(futures, loop=client.loop):
        yield result_of(client, future)


@contextmanager
def cluster(
    scheduler: str | None = None, *, workers: int | None = None, memory_limit: str | float = "auto"
) -> Iterator[Client]:
    """A client of a running Dask cluster, or of one on this machine that ends with the block.

    Parameters
    ----------
    scheduler
        Address of a running scheduler, such as ``tcp://10.0.0.1:8786``.
    workers
        Instead of an address: start so many single-thread workers on this machine.
    memory_limit
        How much memory each of these may use, as Dask takes it ("2GiB"); a worker that needs more is
        restarted, and what it was at is tried again three times.
    """
    if (scheduler is None) == (workers is None):
        raise InputError("give the address of a scheduler or a number of workers")
    try:
        from dask import config
        from distributed import Client, LocalCluster
    except ImportError:
        raise MissingPackageError("Dask is not installed: pip install llrkit[dask]") from None
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=5, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ClusterError(f"no scheduler answers at {scheduler} ({error})") from None
        with client:
            yield client
        return
    if workers is None or workers < 1:
        raise InputError(f"the number of workers must be at least 1, got {workers}")
    environment = {
        f"distributed.nanny.pre-spawn-environ.{name}": n for name, n in _WORKER_ENVIRONMENT.items()
    }
    local: Any = None
    own: Any = None
    try:
        with config.set(environment), _deaf():
            local = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address=":0",
                memory_limit=memory_limit,
                silence_logs="CRITICAL",
            )
        own = Client(local, set_as_default=False)
        yield own
    except BaseException:  # also Ctrl-C: nobody waits for what is still being computed
        _kill(local)
        raise
    finally:
        with suppress(TimeoutError):
            if own is not None:
                own.close(timeout=1)
            if local is not None:
                local.close(timeout=3)
        _kill(local)


@contextmanager
def _deaf() -> Iterator[None]:
    """Ctrl-C waits until the block is done, and what is started in it never hears of it.

    A cluster that is only half there cannot be ended well, and it starts within seconds. A terminal sends the
    signal to the workers too, of which one that is starting would print where it was; this process ends them.
    Which signals are blocked goes from a thread to those it starts, and to processes.
    """
    resource_tracker.ensure_running()  # which workers need; starting it later would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def quieten() -> None:
    """No logs of Dask from now on: a user of a command gets one line about what went wrong.

    Those of asyncio are about its tasks too, which end with Ctrl-C as best they can.
    """
    with suppress(ImportError):  # which is said elsewhere
        import distributed  # noqa: F401 - it sets levels of its own when it is imported
    for name in ("asyncio", "distributed", "distributed.client", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _kill(local: Any) -> None:
    """End the workers by force; those that have ended are none."""
    for nanny in local.workers.values() if local is not None else ():
        nanny.auto_restart = False
        if nanny.process is not None and nanny.process.is_alive():
            with suppress(ProcessLookupError):
                os.kill(nanny.process.pid, signal.SIGKILL)


def result_of(client: Client, future: Any) -> Any:
    """The result of a future or a list of them; what goes wrong with the cluster itself is said plainly."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm.core import CommClosedError

    try:
        return client.gather(future)
    except KilledWorker as error:
        raise ClusterError(
            f"workers died again and again at the same partition, probably for lack of memory ({error})"
        ) from None
    except (CancelledError, CommClosedError, TimeoutError, OSError) as error:
        where = client.scheduler.address if client.scheduler is not None else "its address"
        raise ClusterError(f"the scheduler at {where} is gone, so there is no result ({error!r})") from None
