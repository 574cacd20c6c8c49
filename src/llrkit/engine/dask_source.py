"""Trials on a cluster: every partition is summarized where it is read, and only summaries travel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import accumulate, repeat
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

import numpy.typing as npt

from llrkit._cached import cached_property
from llrkit._memory import at_once
from llrkit._progress import stage
from llrkit._warn import warn_caller
from llrkit.engine import cluster_worker_tasks as worker_tasks
from llrkit.engine.chunks_of_rows import Chunking, TwoClassChunking, settle_words
from llrkit.engine.cluster_files import header_on_cluster, parquet_files, partitions_on_cluster
from llrkit.engine.cluster_results import results_of
from llrkit.engine.cluster_same_program import require_agreement, sources_digest
from llrkit.engine.cluster_worker_tasks import T, Unreadable
from llrkit.engine.partitions import RowGroups, Table, runs
from llrkit.errors import FileFormatError, InputError, UnreadableWarning
from llrkit.io.column_roles import HeaderRoles, header_roles
from llrkit.io.reading_options import PathArg
from llrkit.scores import Scores
from llrkit.scores.roles import COUNTED, Roles, require_column, row_in_words
from llrkit.scores.source import S, ScoreSource
from llrkit.scores.weights import weighted

if TYPE_CHECKING:
    from dask.array import Array as DaskArray
    from dask.dataframe import DataFrame
    from dask.delayed import Delayed
    from distributed import Client

AnyChunking: TypeAlias = Chunking[Any, Any]
"""Dask does not say what its tasks give, so neither does a source whose chunks only tasks see."""

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


class DaskSource(ScoreSource):
    """Trials in the partitions of a Dask cluster, as a source.

    Made by :meth:`from_parquet`, :meth:`from_dataframe`, :meth:`from_arrays` or :meth:`from_delayed`. How the
    trials are cut depends on the data alone, never on the workers, and so does every bit of the answer.
    A worker that dies costs only the tasks it was at.

    Parameters
    ----------
    client
        A client of the Dask cluster.
    partitions
        What the cluster computes: one table of trials each.
    chunking
        How partitions are cut into chunks, and the roles of their columns.
    unreadable
        ``"error"`` or ``"skip"``: what to do with a file that cannot be read.
    skipped
        Files that were left out already.

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
        partitions: Sequence[Delayed | RowGroups],
        chunking: AnyChunking | None = None,
        *,
        unreadable: Unreadable = "error",
        skipped: Sequence[str] = (),
    ) -> None:
        if unreadable not in ("error", "skip"):
            raise InputError(f"unreadable must be 'error' or 'skip', got {unreadable!r}")
        if not partitions:
            raise InputError("there are no partitions to read" + _listed_names(skipped))
        self.client, self.partitions = client, tuple(partitions)
        self.chunking: AnyChunking = chunking or TwoClassChunking(Roles(label="label"))
        self.unreadable: Unreadable = unreadable
        self.skipped = tuple(skipped)
        self._before: tuple[object, ...] | None = None
        self._topic = f"llrkit-{uuid4().hex}"
        self._warned = False

    @property
    def roles(self) -> Roles:
        """Which columns hold what, and which of them chunks carry."""
        return self.chunking.roles

    def place(self, row: int) -> str:
        """The number of a row among those of all partitions.

        Parameters
        ----------
        row
            Number of the row, from 0.
        """
        return row_in_words(row)

    @classmethod
    def from_parquet(
        cls,
        paths: PathArg | Sequence[PathArg],
        client: Client,
        *,
        score: str | Sequence[str] | None = None,
        label: str | None = None,
        positive: str | None = None,
        factor: float = 1.0,
        weight: str | None = None,
        unreadable: Unreadable = "error",
    ) -> DaskSource:
        """Parquet files, directories or patterns, on any path that fsspec can open.

        The columns of scores and labels are found by their names, as :func:`llrkit.read_trials` does, unless
        ``score`` and ``label`` say which they are. ``positive`` is the label that means target, where the
        usual words do not say it; scores are multiplied by ``factor``; ``weight`` is the column that says how
        often each trial counts. ``unreadable="skip"`` leaves out what cannot be read, with a warning.

        Parameters
        ----------
        paths
            A file, a directory, a pattern, or several of them.
        client
            A client of the Dask cluster.
        score
            Column, or columns, of the scores; by default found by their names.
        label
            Column of the labels.
        positive
            The label that means target; all other labels mean non-target.
        factor
            What scores are multiplied by.
        weight
            Column that says how often each trial counts.
        unreadable
            ``"error"`` or ``"skip"``: what to do with a file that cannot be read.
        """
        names, files = ((score,) if isinstance(score, str) else score), parquet_files(paths)
        require_agreement(client)
        header = header_on_cluster(files, client, score=names, label=label, unreadable=unreadable)
        roles = replace(header.roles, positive=positive, factor=factor * header.roles.factor, weight=weight)
        return cls._of_parquet(files, client, TwoClassChunking(roles), header, unreadable)

    @classmethod
    def of_files(
        cls, paths: PathArg | Sequence[PathArg], client: Client, chunking: AnyChunking
    ) -> DaskSource:
        """Parquet files whose roles are known, of any kind of trials.

        Parameters
        ----------
        paths
            A file, a directory, a pattern, or several of them.
        client
            A client of the Dask cluster.
        chunking
            How files are cut into chunks, and the roles of their columns.
        """
        header = HeaderRoles(chunking.roles)
        require_agreement(client)
        return cls._of_parquet(parquet_files(paths), client, chunking, header, "error")

    @classmethod
    def _of_parquet(
        cls,
        files: Sequence[str],
        client: Client,
        chunking: AnyChunking,
        header: HeaderRoles,
        unreadable: Unreadable,
    ) -> DaskSource:
        partitions, skipped = partitions_on_cluster(
            files, client, header, most=at_once(ROWS_A_TASK, unit=8), unreadable=unreadable
        )
        _warn_of_unreadable(skipped)
        weight = chunking.roles.weight
        if partitions and weight is not None:
            require_column(weight, partitions[0].columns, partitions[0].origin)
        return cls(client, partitions, chunking, unreadable=unreadable, skipped=skipped)

    @classmethod
    def from_dataframe(
        cls,
        frame: DataFrame,
        client: Client,
        *,
        score: str | Sequence[str] | None = None,
        label: str | None = None,
    ) -> DaskSource:
        """A Dask DataFrame with columns for the scores and the label, found by their names or as given.

        Parameters
        ----------
        frame
            A Dask DataFrame.
        client
            A client of the Dask cluster.
        score
            Column, or columns, of the scores; by default found by their names.
        label
            Column of the labels.
        """
        names = (score,) if isinstance(score, str) else score
        header = header_roles(list(frame.columns), score=names, label=label, where="the table")
        return cls._of_tables(frame.to_delayed(), client, header.roles)

    @classmethod
    def from_arrays(
        cls, scores: DaskArray | npt.ArrayLike, is_target: DaskArray | npt.ArrayLike, client: Client
    ) -> DaskSource:
        """Two Dask arrays, or NumPy arrays to be cut: the scores and whether each is of a target.

        Parameters
        ----------
        scores
            Scores, higher meaning more target-like.
        is_target
            Whether each score is of a target.
        client
            A client of the Dask cluster.
        """
        import dask.array as da

        values = da.asarray(scores)
        labels = da.asarray(is_target).rechunk(values.chunks[0])
        pairs = zip(values.to_delayed().ravel(), labels.to_delayed().ravel(), strict=True)
        from dask.delayed import delayed

        pair = delayed(worker_tasks.pairs, pure=False)
        return cls.from_delayed([pair(part, mask) for part, mask in pairs], client)

    @classmethod
    def from_delayed(
        cls,
        parts: Sequence[Delayed],
        client: Client,
        *,
        score: str | Sequence[str] = "score",
        label: str = "label",
    ) -> DaskSource:
        """Delayed tables: polars, pandas, or dicts of columns.

        Parameters
        ----------
        parts
            Delayed tables.
        client
            A client of the Dask cluster.
        score
            Column, or columns, of the scores; by default found by their names.
        label
            Column of the labels.
        """
        names = (score,) if isinstance(score, str) else tuple(score)
        return cls._of_tables(parts, client, Roles(names, label))

    @classmethod
    def _of_tables(cls, tables: Sequence[Delayed], client: Client, roles: Roles) -> DaskSource:
        from dask.delayed import delayed

        require_agreement(client)
        wrap = delayed(Table, pure=False)
        partitions = [wrap(table, f"partition {i}") for i, table in enumerate(tables)]
        return cls(client, partitions, TwoClassChunking(roles))

    def with_columns(self, *names: str) -> DaskSource:
        """The same trials, each chunk carrying these columns.

        Parameters
        ----------
        *names
            Names of columns.
        """
        return self._with_roles(self.roles.carrying(*names))

    def _with_roles(self, roles: Roles) -> DaskSource:
        source = DaskSource(
            self.client,
            self.partitions,
            replace(self.chunking, roles=roles),
            unreadable=self.unreadable,
            skipped=self.skipped,
        )
        source._before, source._warned = self._before, self._warned
        return source

    @property
    def _where(self) -> str:
        first = self.partitions[0]
        return first.origin if isinstance(first, RowGroups) else "the table"

    def reduce(self, summarize: Callable[[Scores], S]) -> S:
        """Summarize every partition on the cluster and merge the summaries in the order of the rows.

        Parameters
        ----------
        summarize
            Function of one chunk whose results can be merged with ``+``.
        """
        from dask import config
        from dask.delayed import delayed

        if self.roles.weight is not None:
            carrying = self._with_roles(self.roles.carrying_weight())
            return carrying.reduce(weighted(summarize, self.roles.weight))
        level, merge = self._leaves(summarize, self.chunking), delayed(worker_tasks.merge, pure=False)
        while len(level) > 1:
            level = [merge(level[i : i + MERGED_AT_ONCE]) for i in range(0, len(level), MERGED_AT_ONCE)]
        with (
            config.set({"distributed.admin.large-graph-warning-threshold": _LARGE_GRAPH}),
            self._told_of_progress(),
        ):
            (total,) = self._sums(summarize, level)
        _warn_of_unreadable(name for name in total.skipped if name not in self.skipped)
        self.skipped = tuple(dict.fromkeys((*self.skipped, *total.skipped)))
        if not self._warned:
            self._warned = True
            settle_words(total.words, f"{self._where}, column {self.roles.label!r}")
        if total.summary is None:
            raise FileFormatError("no partition could be read" + _listed_names(self.skipped))
        return total.summary

    @cached_property
    def _tasks(self) -> list[list[Delayed | RowGroups]]:
        """The partitions that one task reads: small files together, everything else by itself."""
        least = at_once(ROWS_A_TASK, unit=8)
        rows = [sum(one.rows) if isinstance(one, RowGroups) else least for one in self.partitions]
        most = max(least, min(sum(rows) // MANY_TASKS, MOST_ROWS_A_TASK))
        return [[self.partitions[i] for i in run] for run in runs(rows, most)]

    def _places(self) -> tuple[object, ...]:
        """How many trials come before each task, by one more pass over the labels."""
        if self._before is None:
            count = self.chunking.counted
            counted = self._sums(count, self._leaves(count, self.chunking.carrying()))
            none = self.chunking.nothing_before()
            each = (none if total.summary is None else total.summary for total in counted)
            self._before = tuple(accumulate(each, initial=none))
        return self._before[:-1]

    def _sums(
        self, summarize: Callable[[Scores], T], tasks: list[Delayed]
    ) -> list[worker_tasks.PartialSum[T]]:
        """The results of tasks that hold such summaries, which Dask's own types do not say."""
        futures = self.client.compute(tasks)
        assert isinstance(futures, list)  # as of a list of tasks
        return results_of(self.client, futures)

    def _leaves(self, summarize: Callable[[Scores], T], chunking: AnyChunking) -> list[Delayed]:
        from dask.delayed import delayed

        needed = set(chunking.roles.carried) & set(COUNTED)
        starts = self._places() if needed else repeat(chunking.nothing_before())
        # One object in the graph: it reaches each worker once, and again where a worker had to be replaced.
        work = worker_tasks.Work(summarize, chunking, self.unreadable, self._topic, sources_digest())
        shared = delayed(work, pure=False)
        leaf = delayed(worker_tasks.summarize, pure=False)
        return [leaf(shared, parts, start) for parts, start in zip(self._tasks, starts, strict=False)]

    @contextmanager
    def _told_of_progress(self) -> Iterator[None]:
        sized = [one for one in self.partitions if isinstance(one, RowGroups)]
        total = sum(sum(one.rows) for one in sized) if len(sized) == len(self.partitions) else None
        with stage("trials on the cluster", total) as done:
            self.client.subscribe_topic(self._topic, lambda event: done(event[1]))
            try:
                yield
            finally:
                with suppress(Exception):  # the scheduler may be gone, which is said elsewhere
                    self.client.unsubscribe_topic(self._topic)

    def __getstate__(self) -> dict[str, object]:
        # What is done to a chunk may hold on to the source it is of; of that nothing is needed on a worker.
        return {"chunking": self.chunking}

    def __repr__(self) -> str:
        names = ", ".join((*self.roles.score, self.roles.label or ""))
        return f"DaskSource({len(self.partitions)} partitions; {names})"


def _warn_of_unreadable(names: Iterable[str]) -> None:
    skipped = list(names)
    if skipped:
        text = f"{len(skipped)} partitions could not be read and are left out" + _listed_names(skipped)
        warn_caller(text, UnreadableWarning)


def _listed_names(names: Sequence[str]) -> str:
    shown = "; ".join(names[:5]) + ("; ..." if len(names) > 5 else "")
    return f": {shown}" if names else ""
