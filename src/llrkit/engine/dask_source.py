"""Trials on a cluster: every partition is summarized where it is read, and only summaries travel."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from itertools import accumulate, repeat
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from llrkit._progress import stage
from llrkit.engine import worker_tasks
from llrkit.engine.batches import COUNTED, Roles
from llrkit.engine.cluster import result_of
from llrkit.engine.partitions import RowGroups, Table, expand, runs
from llrkit.engine.worker_tasks import Unreadable
from llrkit.errors import FileFormatError, InputError, LlrkitError, UnreadableWarning
from llrkit.io.column_roles import ids_among
from llrkit.scores import Scores
from llrkit.scores.source import S

if TYPE_CHECKING:
    from distributed import Client

ROWS_A_TASK = 1 << 23
"""At least about so many rows are one task, so that the cost of a task is small."""
MOST_ROWS_A_TASK = 1 << 25
"""And at most so many, as a task may have to be done again. Large sets need large tasks: summaries that wait
to be merged are what fills the memory of workers."""
MANY_TASKS = 32
"""With so many tasks they are made larger rather than more."""

MERGED_AT_ONCE = 2
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
        ids: tuple[str | None, str | None] = (None, None),
    ) -> None:
        if unreadable not in ("error", "skip"):
            raise InputError(f"unreadable must be 'error' or 'skip', got {unreadable!r}")
        if not partitions:
            raise InputError("there are no partitions to read" + _listed(skipped))
        self.client, self.partitions, self.roles = client, tuple(partitions), roles or Roles()
        self.unreadable, self.skipped = unreadable, tuple(skipped)
        self.enroll, self.test = ids
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
            client.map(worker_tasks.footer, files, roles=roles, most=ROWS_A_TASK, pure=False)
        )
        skipped = [str(found) for found in footers if isinstance(found, LlrkitError)]
        if skipped and unreadable == "error":
            raise next(found for found in footers if isinstance(found, LlrkitError))
        _warn_of(skipped)
        partitions = [part for found in footers if not isinstance(found, LlrkitError) for part in found]
        ids = _ids(roles, partitions[0].columns, partitions[0].origin) if partitions else (None, None)
        return cls(client, partitions, roles, unreadable=unreadable, skipped=skipped, ids=ids)

    @classmethod
    def from_dataframe(
        cls, frame: Any, client: Client, *, score: str | Sequence[str] = "score", label: str = "label"
    ) -> DaskSource:
        """A Dask DataFrame with columns for the scores and the label."""
        made = cls.from_delayed(frame.to_delayed(), client, score=score, label=label)
        made.enroll, made.test = _ids(made.roles, list(frame.columns), "the table")
        return made

    @classmethod
    def from_arrays(cls, scores: Any, is_target: Any, client: Client) -> DaskSource:
        """Two Dask arrays, or NumPy arrays to be cut: the scores and whether each is of a target."""
        import dask.array as da

        scores = da.asarray(scores)
        labels = da.asarray(is_target).rechunk(scores.chunks[0])
        pairs = zip(scores.to_delayed().ravel(), labels.to_delayed().ravel(), strict=True)
        from dask.delayed import delayed

        pair = delayed(worker_tasks.pairs, pure=False)
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
            ids=(self.enroll, self.test),
        )
        made._before = self._before
        return made

    def reduce(self, summarize: Callable[[Scores], S]) -> S:
        """Summarize every partition on the cluster and merge the summaries in the order of the rows."""
        from dask import config
        from dask.delayed import delayed

        level, merge = self._leaves(summarize, self.roles), delayed(worker_tasks.merge, pure=False)
        while len(level) > 1:
            level = [merge(level[i : i + MERGED_AT_ONCE]) for i in range(0, len(level), MERGED_AT_ONCE)]
        with (
            config.set({"distributed.admin.large-graph-warning-threshold": _LARGE_GRAPH}),
            self._told_of_progress(),
        ):
            found = result_of(self.client, self.client.compute(level[0]))
        _warn_of(name for name in found.skipped if name not in self.skipped)
        self.skipped = tuple(dict.fromkeys((*self.skipped, *found.skipped)))
        if found.summary is None:
            raise FileFormatError("no partition could be read" + _listed(self.skipped))
        return found.summary  # type: ignore[no-any-return]

    @cached_property
    def _tasks(self) -> list[list[Any]]:
        """The partitions that one task reads: small files together, everything else by itself."""
        rows = [sum(part.rows) if isinstance(part, RowGroups) else ROWS_A_TASK for part in self.partitions]
        most = max(ROWS_A_TASK, min(sum(rows) // MANY_TASKS, MOST_ROWS_A_TASK))
        return [[self.partitions[i] for i in run] for run in runs(rows, most)]

    def _places(self) -> tuple[Any, ...]:
        """How many trials come before each task, by one more pass over the labels."""
        if self._before is None:
            counted = result_of(
                self.client, self.client.compute(self._leaves(self.roles.counted, self.roles.carrying(())))
            )
            none = self.roles.nothing_before()
            each = (none if part.summary is None else part.summary for part in counted)
            self._before = tuple(accumulate(each, initial=none))
        return self._before[:-1]

    def _leaves(self, summarize: Callable[[Scores], Any], roles: Roles) -> list[Any]:
        from dask.delayed import delayed

        starts = self._places() if set(roles.carried) & set(COUNTED) else repeat(roles.nothing_before())
        # One object in the graph: it reaches each worker once, and again where a worker had to be replaced.
        work = delayed(worker_tasks.Work(summarize, roles, self.unreadable, self._topic), pure=False)
        leaf = delayed(worker_tasks.summarize, pure=False)
        return [leaf(work, parts, start) for parts, start in zip(self._tasks, starts, strict=False)]

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


def _ids(roles: Roles, names: Sequence[str], where: str) -> tuple[str | None, str | None]:
    return ids_among([name for name in names if name not in (*roles.score, roles.label)], where)


def _warn_of(names: Iterable[str]) -> None:
    skipped = list(names)
    if skipped:
        text = f"{len(skipped)} partitions could not be read and are left out" + _listed(skipped)
        warnings.warn(text, UnreadableWarning, stacklevel=3)


def _listed(names: Sequence[str]) -> str:
    shown = "; ".join(names[:5]) + ("; ..." if len(names) > 5 else "")
    return f": {shown}" if names else ""
