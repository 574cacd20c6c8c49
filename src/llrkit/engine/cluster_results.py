"""Results of a cluster, and what is said when none will come."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, TypeVar, cast

from llrkit.errors import ClusterError

if TYPE_CHECKING:
    from distributed import Client, Future

T = TypeVar("T")


class WorkerInfo(TypedDict):
    """What a scheduler knows of a worker, as far as it is looked at."""

    last_seen: float


class ClusterInfo(TypedDict):
    """What a scheduler says of itself, as far as it is looked at."""

    workers: Mapping[str, WorkerInfo]


class HostInfo(TypedDict):
    """What a worker says of its machine, as far as it is looked at."""

    python: str


class Versions(TypedDict):
    """What a worker says of its versions, as far as it is looked at."""

    host: HostInfo


class Scheduler(Protocol):
    """The calls to a scheduler that are made here."""

    def identity(self) -> Awaitable[ClusterInfo]:
        """Which workers there are."""
        ...

    def processing(self, workers: Sequence[str] | None) -> Awaitable[Mapping[str, Sequence[str]]]:
        """The tasks of each worker."""
        ...

    def broadcast(
        self, *, msg: Mapping[str, object], workers: Sequence[str], on_error: str
    ) -> Awaitable[Mapping[str, Versions]]:
        """The answers of workers; the only question that is asked this way is for versions."""
        ...


TIMEOUT = 60.0
"""Seconds that a scheduler or worker may be silent, unless another time was asked for."""
TIMEOUT_SETTING = "llrkit.timeout"
"""Where the time is kept while a cluster is used: in Dask's configuration, which users can set too."""
MORE_TIME = "allow more with --timeout (timeout=...)"


def timeout_now() -> float:
    """The seconds that a scheduler or worker may be silent at present."""
    from dask import config

    return float(config.get(TIMEOUT_SETTING, TIMEOUT))


def results_of(client: Client, futures: Sequence[Future[Any]]) -> list[Any]:
    """The results of futures; what goes wrong with the cluster itself is said plainly."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm.core import CommClosedError

    try:
        finished(client, set(futures), "ALL_COMPLETED")
        return synchronous(client.gather(list(futures)), list)
    except KilledWorker as error:
        raise ClusterError(
            f"workers died repeatedly at the same partition, probably for lack of memory ({error})"
        ) from None
    except (CancelledError, CommClosedError, TimeoutError, OSError) as error:
        raise ClusterError(
            f"the scheduler at {address_of(client)} has disappeared, so there is no result ({error!r})"
        ) from None


def synchronous(answer: object, kind: type[T]) -> T:
    """What a client answers; an asynchronous one, which only promises an answer, is refused.

    Examples
    --------
    >>> synchronous([1.0], list)
    [1.0]
    """
    if isinstance(answer, kind):
        return answer
    if isinstance(answer, Coroutine):
        answer.close()
    raise ClusterError("the client of the cluster is asynchronous; make it with asynchronous=False")


def scheduler_of(client: Client) -> Scheduler:
    """How to call the scheduler of a client."""
    if client.scheduler is None:
        raise ClusterError("the client of the cluster has been closed")
    return cast(Scheduler, client.scheduler)  # Dask makes up the calls when they are made, so has no types


def address_of(client: Client) -> str:
    """Where the scheduler of a client is."""
    return str(client.scheduler.address) if client.scheduler is not None else "its address"


def finished(client: Client, futures: set[Future[T]], enough: str) -> set[Future[T]]:
    """Wait for futures as long as somebody works on them; those that are done."""
    from distributed import wait

    watch = Watch(client, timeout_now())
    while True:
        try:
            with client.as_current():
                told = wait(futures, timeout=watch.step, return_when=enough)
            done, _ = synchronous(told, tuple)
            return set(done)
        except TimeoutError:
            watch.look()


class Watch:
    """Looks after a cluster while its results are waited for.

    A worker is silent if the scheduler has had no sign of life of it for the whole time-out. Dask gives the
    tasks of a silent worker to others only after minutes, and of none if there are no others. So it is an
    error if there is no worker at all for that time, or if every task is at a worker that is silent. As long
    as one worker computes nothing is said.
    """

    def __init__(self, client: Client, timeout: float) -> None:
        self.client, self.timeout = client, timeout
        self.step = min(2.0, timeout / 4)
        self._seen: dict[str, tuple[float, float]] = {}
        self._last_worker = time.monotonic()

    def look(self) -> None:
        """Raise if no result can be expected any more."""
        workers, processing = self._ask()
        now = time.monotonic()
        # Clocks of machines differ: only whether the sign of life is another one than before is looked at.
        self._seen = {
            name: self._seen[name] if name in self._seen and self._seen[name][0] == sign else (sign, now)
            for name, sign in workers.items()
        }
        if workers:
            self._last_worker = now
        elif now - self._last_worker > self.timeout:
            raise ClusterError(
                f"there has been no worker at {address_of(self.client)} for {self.timeout:g} s; {MORE_TIME}"
            )
        silent = {name for name, (_, since) in self._seen.items() if now - since > self.timeout}
        busy = {name for name, tasks in processing.items() if tasks}
        if silent and (silent >= set(workers) or (busy and silent >= busy)):
            raise ClusterError(
                f"no answer for {self.timeout:g} s from {', '.join(sorted(silent))}, and no other worker "
                f"is busy with the result; {MORE_TIME}"
            )

    def _ask(self) -> tuple[dict[str, float], Mapping[str, Sequence[str]]]:
        """The last signs of life of the workers, and what they are at, as the scheduler knows it."""
        scheduler, limit = scheduler_of(self.client), {"callback_timeout": self.timeout}
        try:
            told = synchronous(self.client.sync(scheduler.identity, **limit), dict)
            processing = synchronous(self.client.sync(scheduler.processing, workers=None, **limit), dict)
        except TimeoutError:
            raise ClusterError(
                f"the scheduler at {address_of(self.client)} has not answered for {self.timeout:g} s; "
                f"{MORE_TIME}"
            ) from None
        return {name: worker["last_seen"] for name, worker in told["workers"].items()}, processing
