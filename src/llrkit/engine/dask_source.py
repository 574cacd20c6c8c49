"""Trials on a cluster: every partition is summarized where it is read, and only summaries travel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce
from itertools import accumulate, repeat
from operator import add
from typing import TYPE_CHECKING, Any, Generic, TypeAlias
from uuid import uuid4

import numpy.typing as npt

from llrkit.base.arguments import IntArray, names_of, one_of
from llrkit.base.process import at_once, cached_property, stage, warn_caller
from llrkit.engine import pieces
from llrkit.engine.batches import Chunking, TwoClassChunking, settle_words
from llrkit.engine.cluster import require_agreement, results_of
from llrkit.engine.pieces import RowGroups, Table, Unreadable
from llrkit.errors import FileFormatError, InputError, LlrkitError, UnreadableWarning
from llrkit.io.read_options import PathArg
from llrkit.io.table_columns import HeaderRoles, header_roles
from llrkit.scores import Scores
from llrkit.scores.derived import weighted
from llrkit.scores.source import COUNTED, Roles, S, ScoreSource, require_column, row_in_words

if TYPE_CHECKING:
    from dask.array import Array as DaskArray
    from dask.dataframe import DataFrame
    from dask.delayed import Delayed
    from distributed import Client

AnyChunking: TypeAlias = Chunking[Any]
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
        one_of(unreadable, ("error", "skip"), "unreadable")
        if not partitions:
            raise InputError("there are no partitions to read" + _listed_names(skipped))
        self.client, self.partitions = client, tuple(partitions)
        self.chunking: AnyChunking = chunking or TwoClassChunking(Roles(label="label"))
        self.unreadable: Unreadable = unreadable
        self.skipped = tuple(skipped)
        self._before: list[IntArray] | None = None
        # A topic of its own, so that two sources on one cluster do not count each other's progress.
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
        # Files are listed and the first footer is read here, so that a wrong name is an error before any
        # task is sent.
        files, names = pieces.parquet_files(paths), None if score is None else names_of(score, "score")
        header = pieces.header_of_files(files, names, label, unreadable)
        roles = replace(header.roles, positive=positive, factor=factor * header.roles.factor, weight=weight)
        return cls.of_files(files, client, TwoClassChunking(roles), header, unreadable)

    @classmethod
    def of_files(
        cls,
        files: Sequence[str],
        client: Client,
        chunking: AnyChunking,
        header: HeaderRoles | None = None,
        unreadable: Unreadable = "error",
    ) -> DaskSource:
        """Parquet files whose roles are known, of any kind of trials; workers read how each is to be cut.

        Parameters
        ----------
        files
            Paths of files, as :func:`llrkit.engine.pieces.parquet_files` gives them.
        client
            A client of the Dask cluster.
        chunking
            How files are cut into chunks, and the roles of their columns.
        header
            The roles as the files have them, where labels are made of other columns.
        unreadable
            ``"error"`` or ``"skip"``: what to do with a file that cannot be read.
        """
        require_agreement(client)
        tasks = client.map(
            pieces.footer_of,
            files,
            header=header or HeaderRoles(chunking.roles),
            most=at_once(ROWS_A_TASK, unit=8),
            # Not pure: Dask would answer from its cache if the same names were read again after the
            # files had changed.
            pure=False,
        )
        footers = results_of(client, tasks)
        failed = [one for one in footers if isinstance(one, LlrkitError)]
        if failed and unreadable == "error":
            raise failed[0]
        # What was skipped here is reported once and not again by reduce.
        skipped = list(map(str, failed))
        _warn_of_unreadable(skipped)
        groups = pieces.in_one_schema([one for one in footers if not isinstance(one, LlrkitError)])
        weight = chunking.roles.weight
        if groups and weight is not None:
            require_column(weight, groups[0].columns, groups[0].origin)
        return cls(client, groups, chunking, unreadable=unreadable, skipped=skipped)

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
        names = None if score is None else names_of(score, "score")
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
        from dask.delayed import delayed

        values = da.asarray(scores)
        # Both arrays are cut alike, or scores and labels of a partition would not belong together.
        labels = da.asarray(is_target).rechunk(values.chunks[0])
        pairs = zip(values.to_delayed().ravel(), labels.to_delayed().ravel(), strict=True)
        table = delayed(dict, pure=False)
        return cls.from_delayed([table(score=part, label=mask) for part, mask in pairs], client)

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
        return cls._of_tables(parts, client, Roles(names_of(score, "score"), label))

    @classmethod
    def _of_tables(cls, tables: Sequence[Delayed], client: Client, roles: Roles) -> DaskSource:
        from dask.delayed import delayed

        require_agreement(client)
        wrap = delayed(Table, pure=False)
        # The number of the partition is all that messages can say about where a row stands.
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
        # Views share the counts and the warning, so that neither another pass nor another warning is
        # caused by with_columns.
        source._before, source._warned = self._before, self._warned
        return source

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
        level, merge = self._leaves(summarize, self.chunking), delayed(merge_sums, pure=False)
        # Neighbors are merged in order, so that sums have the same last bit for any number of workers.
        while len(level) > 1:
            level = [merge(level[i : i + MERGED_AT_ONCE]) for i in range(0, len(level), MERGED_AT_ONCE)]
        # Partitions that are delayed functions do not say how many rows they have, and then there is no
        # total.
        sized = [sum(one.rows) for one in self.partitions if isinstance(one, RowGroups)]
        rows = sum(sized) if len(sized) == len(self.partitions) else None
        with (
            config.set({"distributed.admin.large-graph-warning-threshold": _LARGE_GRAPH}),
            stage("trials on the cluster", rows) as done,
        ):
            # Workers report rows as events, since no result comes back before the whole tree is merged.
            self.client.subscribe_topic(self._topic, lambda event: done(event[1]))
            try:
                total: PartialSum[S] = results_of(self.client, self.client.compute(level))[0]
            finally:
                with suppress(Exception):  # the scheduler may be gone, which is said elsewhere
                    self.client.unsubscribe_topic(self._topic)
        _warn_of_unreadable(name for name in total.skipped if name not in self.skipped)
        self.skipped = tuple(dict.fromkeys((*self.skipped, *total.skipped)))
        # Labels are judged after the pass over all partitions: each of them may look right by itself.
        if not self._warned:
            self._warned = True
            first = self.partitions[0]
            where = first.origin if isinstance(first, RowGroups) else "the table"
            settle_words(total.words, f"{where}, column {self.roles.label!r}")
        if total.summary is None:
            raise FileFormatError("no partition could be read" + _listed_names(self.skipped))
        return total.summary

    @cached_property
    def _tasks(self) -> list[list[Delayed | RowGroups]]:
        """The partitions that one task reads: small files together, everything else by itself."""
        least = at_once(ROWS_A_TASK, unit=8)
        # A delayed table of unknown size is taken for a task of its own.
        rows = [sum(one.rows) if isinstance(one, RowGroups) else least for one in self.partitions]
        most = max(least, min(sum(rows) // MANY_TASKS, MOST_ROWS_A_TASK))
        return [[self.partitions[i] for i in run] for run in pieces.runs(rows, most)]

    def _leaves(self, summarize: Callable[[Scores], object], chunking: AnyChunking) -> list[Delayed]:
        """The tasks that read; each knows how many trials come before it, where chunks carry their places."""
        from dask.delayed import delayed

        # Positions of trials cost a pass over the labels, so they are counted only for chunks that carry
        # them.
        needs_places = bool(set(chunking.roles.carried) & set(COUNTED))
        starts = self._places() if needs_places else repeat(chunking.nothing())
        # One object in the graph: it reaches each worker once, and again where a worker had to be replaced.
        work = delayed(Work(summarize, chunking, self.unreadable, self._topic), pure=False)
        leaf = delayed(summarize_partitions, pure=False)
        return [leaf(work, parts, start) for parts, start in zip(self._tasks, starts, strict=False)]

    def _places(self) -> list[IntArray]:
        """How many trials of each class come before each task, by one more pass over the labels."""
        if self._before is None:
            plain = replace(self.chunking, roles=self.roles.carrying())
            sums = results_of(self.client, self.client.compute(self._leaves(plain.counted, plain)))
            counts = [plain.nothing() if one.summary is None else one.summary for one in sums]
            self._before = list(accumulate(counts, initial=plain.nothing()))[:-1]
        return self._before

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


@dataclass(frozen=True)
class Work:
    """What is done to each partition."""

    summarize: Callable[[Any], Any]
    chunking: Chunking[Any]
    unreadable: Unreadable
    topic: str
    """The topic of Dask's events under which progress is told."""


@dataclass(frozen=True)
class PartialSum(Generic[S]):
    """The summary of some partitions, if any could be read, and those that could not."""

    summary: S | None = None
    skipped: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    """The words among the labels."""

    def __add__(self, other: PartialSum[S]) -> PartialSum[S]:
        if self.summary is None or other.summary is None:
            # A partition that could not be read contributes nothing, not even a zero of the type of the
            # summary.
            summary = other.summary if self.summary is None else self.summary
        else:
            summary = self.summary + other.summary
        return PartialSum(summary, self.skipped + other.skipped, self.words | other.words)


def summarize_partitions(
    work: Work, partitions: Sequence[RowGroups | Table], before: IntArray
) -> PartialSum[Any]:
    """Read partitions chunk by chunk, summarize, forget; ``before`` are the trials of earlier tasks."""
    from distributed import get_worker

    total, chunking, first = PartialSum[Any](), work.chunking, before
    # Where files may be left out each is summed by itself: nothing of one that breaks off may be in the sum.
    together = [partitions] if work.unreadable == "error" else [[partition] for partition in partitions]
    for some in together:
        # after, and not before, is counted up while reading: a file that breaks off must not move the
        # places of those that follow.
        part, after, words = PartialSum[Any](), before, set(total.words)
        try:
            for chunk in chunking.joined(chunking.chunks(some, before, words)):
                part += PartialSum(work.summarize(chunk))
                after = after + chunking.counted(chunk)
                del chunk  # what was sorted of it is not needed while the next one is read
        except FileFormatError as error:
            if work.unreadable == "error":
                raise
            total += PartialSum(skipped=(str(error),))
        else:
            total += replace(part, words=frozenset(words))
            before = after
    # Events are counted per task; the difference excludes what earlier tasks have reported.
    get_worker().log_event(work.topic, int((before - first).sum()))
    return total


def merge_sums(sums: Sequence[PartialSum[S]]) -> PartialSum[S]:
    """The sum of some parts."""
    return reduce(add, sums)
