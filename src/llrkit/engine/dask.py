"""Trials on a cluster: every partition is summarised where it is read, and only summaries travel."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, repeat
from operator import add
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from uuid import uuid4

from llrkit._progress import stage
from llrkit.engine.batches import COUNTED, Roles
from llrkit.engine.partitions import Partition, RowGroups, Table, chunks_of, expand, parquet_partitions
from llrkit.errors import (
    ClusterError,
    FileFormatError,
    InputError,
    LlrkitError,
    MissingPackageError,
    UnreadableWarning,
)
from llrkit.scores import Scores
from llrkit.scores.source import S

if TYPE_CHECKING:
    from distributed import Client

Unreadable = Literal["error", "skip"]
T = TypeVar("T")

ROWS_A_PARTITION = 1 << 23
"""About so many rows are one task: enough to make the cost of a task small, few enough to do again."""

MERGED_AT_ONCE = 4
"""Summaries merged by one task. A tree of few branches keeps few of them in memory."""

_LARGE_GRAPH = "1GiB"  # a grid of 10 million targets is 80 MB; Dask would warn of it


class DaskSource:
    """Trials in the partitions of a Dask cluster, as a source.

    Made by :meth:`from_parquet`, :meth:`from_dataframe`, :meth:`from_arrays` or :meth:`from_delayed`. How the
    trials are cut depends on the data alone, never on the workers, and so does every bit of the answer.
    A worker that dies costs only the tasks it was at.

    Examples
    --------
    >>> import llrkit as lk
    >>> with lk.cluster(workers=2) as client:  # doctest: +SKIP
    ...     trials = lk.DaskSource.from_parquet("scores/*.parquet", client)
    ...     print(lk.eer(trials))
    """

    def __init__(
        self,
        client: Client,
        partitions: Sequence[Any],
        roles: Roles | None = None,
        *,
        unreadable: Unreadable = "error",
        skipped: Sequence[str] = (),
    ) -> None:
        if unreadable not in ("error", "skip"):
            raise InputError(f"unreadable must be 'error' or 'skip', got {unreadable!r}")
        if not partitions:
            raise InputError("there are no partitions to read" + _listed(skipped))
        self.client, self.partitions, self.roles = client, tuple(partitions), roles or Roles()
        self.unreadable, self.skipped = unreadable, tuple(skipped)
        self._before: tuple[Any, ...] | None = None
        self._topic = f"llrkit-{uuid4().hex}"

    @classmethod
    def from_parquet(
        cls,
        paths: str | PathLike[str] | Sequence[str | PathLike[str]],
        client: Client,
        *,
        score: str | Sequence[str] = "score",
        label: str = "label",
        positive: str | None = None,
        factor: float = 1.0,
        unreadable: Unreadable = "error",
        roles: Roles | None = None,
    ) -> DaskSource:
        """Parquet files, directories or patterns, on any path that fsspec can open.

        ``positive`` is the label that means target, where the usual words do not say it; scores are
        multiplied by ``factor``. ``unreadable="skip"`` leaves out what cannot be read, with a warning.
        ``roles`` takes the place of score, label, positive and factor for other kinds of trials.
        """
        given = [paths] if isinstance(paths, (str, PathLike)) else list(paths)
        files = [name for path in given for name in expand(fspath(path))]
        names = (score,) if isinstance(score, str) else tuple(score)
        roles = roles or Roles(names, label, positive, factor)
        footers = client.gather(
            client.map(_footer, files, columns=roles.stored([]), most=ROWS_A_PARTITION, pure=False)
        )
        skipped = [str(found) for found in footers if isinstance(found, LlrkitError)]
        if skipped and unreadable == "error":
            raise next(found for found in footers if isinstance(found, LlrkitError))
        _warn_of(skipped)
        partitions = [part for found in footers if not isinstance(found, LlrkitError) for part in found]
        return cls(client, partitions, roles, unreadable=unreadable, skipped=skipped)

    @classmethod
    def from_dataframe(
        cls, frame: Any, client: Client, *, score: str | Sequence[str] = "score", label: str = "label"
    ) -> DaskSource:
        """A Dask DataFrame with columns for the scores and the label."""
        return cls.from_delayed(frame.to_delayed(), client, score=score, label=label)

    @classmethod
    def from_arrays(cls, scores: Any, is_target: Any, client: Client) -> DaskSource:
        """Two Dask arrays, or NumPy arrays to be cut: the scores and whether each is of a target."""
        import dask.array as da

        scores = da.asarray(scores)
        labels = da.asarray(is_target).rechunk(scores.chunks[0])
        pairs = zip(scores.to_delayed().ravel(), labels.to_delayed().ravel(), strict=True)
        from dask.delayed import delayed

        pair = delayed(_pairs, pure=False)
        return cls.from_delayed([pair(values, mask) for values, mask in pairs], client)

    @classmethod
    def from_delayed(
        cls,
        parts: Sequence[Any],
        client: Client,
        *,
        score: str | Sequence[str] = "score",
        label: str = "label",
    ) -> DaskSource:
        """Delayed tables: polars, pandas, or dicts of columns."""
        from dask.delayed import delayed

        wrap = delayed(Table, pure=False)
        roles = Roles((score,) if isinstance(score, str) else tuple(score), label)
        return cls(client, [wrap(part, f"partition {i}") for i, part in enumerate(parts)], roles)

    def with_columns(self, *names: str) -> DaskSource:
        """The same trials, each chunk carrying these columns."""
        made = DaskSource(
            self.client,
            self.partitions,
            self.roles.carrying(names),
            unreadable=self.unreadable,
            skipped=self.skipped,
        )
        made._before = self._before
        return made

    def reduce(self, summarise: Callable[[Scores], S]) -> S:
        """Summarise every partition on the cluster and merge the summaries in the order of the rows."""
        from dask import config
        from dask.delayed import delayed

        level, merge = self._leaves(summarise, self.roles), delayed(_merge, pure=False)
        while len(level) > 1:
            level = [merge(level[i : i + MERGED_AT_ONCE]) for i in range(0, len(level), MERGED_AT_ONCE)]
        with (
            config.set({"distributed.admin.large-graph-warning-threshold": _LARGE_GRAPH}),
            self._told_of_progress(),
        ):
            found = _result(self.client, self.client.compute(level[0]))
        _warn_of(name for name in found.skipped if name not in self.skipped)
        self.skipped = tuple(dict.fromkeys((*self.skipped, *found.skipped)))
        if found.summary is None:
            raise FileFormatError("no partition could be read" + _listed(self.skipped))
        return found.summary  # type: ignore[no-any-return]

    def _places(self) -> tuple[Any, ...]:
        """How many trials come before each partition, by one more pass over the labels."""
        if self._before is None:
            counted = _result(
                self.client, self.client.compute(self._leaves(self.roles.counted, self.roles.carrying(())))
            )
            none = self.roles.nothing_before()
            each = (none if part.summary is None else part.summary for part in counted)
            self._before = tuple(accumulate(each, initial=none))
        return self._before[:-1]

    def _leaves(self, summarise: Callable[[Scores], Any], roles: Roles) -> list[Any]:
        from dask.delayed import delayed

        starts = self._places() if set(roles.carried) & set(COUNTED) else repeat(roles.nothing_before())
        # One object in the graph: it reaches each worker once, and again where a worker had to be replaced.
        work = delayed(_Work(summarise, roles, self.unreadable, self._topic), pure=False)
        leaf = delayed(_summarise, pure=False)
        return [leaf(work, part, start) for part, start in zip(self.partitions, starts, strict=False)]

    @contextmanager
    def _told_of_progress(self) -> Iterator[None]:
        sized = [part for part in self.partitions if isinstance(part, RowGroups)]
        total = sum(sum(part.rows) for part in sized) if len(sized) == len(self.partitions) else None
        with stage("trials on the cluster", total) as done:
            self.client.subscribe_topic(self._topic, lambda event: done(event[1]))
            try:
                yield
            finally:
                with suppress(Exception):  # the scheduler may be gone, which is said elsewhere
                    self.client.unsubscribe_topic(self._topic)

    def __getstate__(self) -> dict[str, Any]:
        # What is done to a chunk may hold on to the source it is of; of that nothing is needed on a worker.
        return {"roles": self.roles}

    def __repr__(self) -> str:
        names = ", ".join((*self.roles.score, self.roles.label))
        return f"DaskSource({len(self.partitions)} partitions; {names})"


def done_on(client: Client, work: Callable[[T], T], items: Sequence[T]) -> Iterator[T]:
    """The results of ``work`` on each item, as they are done."""
    from distributed import as_completed

    futures = client.map(work, items, pure=False)
    for future in as_completed(futures, loop=client.loop):
        yield _result(client, future)


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
    local = LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address=":0",
        memory_limit=memory_limit,
        silence_logs="CRITICAL",
    )
    client = Client(local, set_as_default=False)
    try:
        yield client
    except BaseException:  # also Ctrl-C: nobody waits for what is still being computed
        _kill(local)
        raise
    finally:
        with suppress(TimeoutError):
            client.close(timeout=1)
            local.close(timeout=3)
        _kill(local)


def _kill(local: Any) -> None:
    """End the workers by force; those that have ended are none."""
    for nanny in local.workers.values():
        nanny.auto_restart = False
        if nanny.process is not None and nanny.process.is_alive():
            with suppress(ProcessLookupError):
                os.kill(nanny.process.pid, signal.SIGKILL)


@dataclass(frozen=True)
class _Work:
    """What is done to each partition."""

    summarise: Callable[[Scores], Any]
    roles: Roles
    unreadable: Unreadable
    topic: str


@dataclass(frozen=True)
class _Part:
    """The summary of some partitions, if any could be read, and those that could not."""

    summary: Any
    skipped: tuple[str, ...] = ()


def _summarise(work: _Work, partition: Partition, before: Any) -> _Part:
    """The task of a worker: read a partition chunk by chunk, summarise, forget."""
    from distributed import get_worker

    summary, rows = None, 0
    try:
        for chunk in chunks_of(partition, work.roles, before):
            part = work.summarise(chunk)
            summary = part if summary is None else summary + part
            rows += work.roles.rows_of(chunk)
    except FileFormatError as error:
        if work.unreadable == "error":
            raise
        return _Part(None, (str(error),))
    get_worker().log_event(work.topic, rows)
    return _Part(summary)


def _merge(parts: Sequence[_Part]) -> _Part:
    there = [part.summary for part in parts if part.summary is not None]
    return _Part(
        reduce(add, there) if there else None, tuple(name for part in parts for name in part.skipped)
    )


def _footer(path: str, columns: list[str], most: int) -> list[RowGroups] | LlrkitError:
    try:
        return parquet_partitions(path, columns, most)
    except FileFormatError as error:
        return error  # the policy is the client's


def _pairs(values: Any, is_target: Any) -> dict[str, Any]:
    return {"score": values, "label": is_target}


def _result(client: Client, future: Any) -> Any:
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


def _warn_of(names: Iterable[str]) -> None:
    skipped = list(names)
    if skipped:
        text = f"{len(skipped)} partitions could not be read and are left out" + _listed(skipped)
        warnings.warn(text, UnreadableWarning, stacklevel=3)


def _listed(names: Sequence[str]) -> str:
    shown = "; ".join(names[:5]) + ("; ..." if len(names) > 5 else "")
    return f": {shown}" if names else ""
