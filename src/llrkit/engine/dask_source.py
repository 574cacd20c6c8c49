"""Trials on a cluster: every partition is summarized where it is read, and only summaries travel."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import reduce
from glob import has_magic
from itertools import accumulate, repeat
from operator import add
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias
from uuid import uuid4

import numpy.typing as npt
import polars as pl

from llrkit.base.arguments import IntArray, names_of, one_of
from llrkit.base.files import changed_meanwhile
from llrkit.base.process import at_once, cached_property, stage, warn_caller
from llrkit.engine.cluster import require_agreement, results_of
from llrkit.engine.open import Chunking, TwoClassChunking, settle_words
from llrkit.errors import FileFormatError, InputError, LlrkitError, UnreadableWarning
from llrkit.io.formats import is_taken, local_files
from llrkit.io.read_options import PathArg
from llrkit.io.table_columns import HeaderRoles, TrialTable, Wanted, cast_exactly, common_types, header_roles
from llrkit.io.trial_checks import require_roles
from llrkit.scores import Scores
from llrkit.scores.derived import weighted
from llrkit.scores.source import COUNTED, Roles, S, ScoreSource, require_column, row_in_words
from llrkit.scores.trials import as_table

if TYPE_CHECKING:
    from dask.array import Array as DaskArray
    from dask.dataframe import DataFrame
    from dask.delayed import Delayed
    from distributed import Client
    from pyarrow.parquet import ParquetFile

Names: TypeAlias = str | Sequence[str]
Unreadable: TypeAlias = Literal["error", "skip"]
AnyChunking: TypeAlias = Chunking[Any]
"""Dask does not say what its tasks give, so neither does a source whose chunks only tasks see."""

ROWS_A_TASK = 1 << 23
"""At least about so many rows are one task, so that the cost of a task is small."""
MOST_ROWS_A_TASK = 1 << 25
"""And at most so many, as a task may have to be done again. Large sets need large tasks: summaries that wait
to be merged are what fills the memory of workers."""
MANY_TASKS = 32
"""With so many tasks they are made larger rather than more."""

ROWS_A_BATCH = 1 << 20
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
        score: Names | None = None,
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
        files, names = parquet_files(paths), None if score is None else names_of(score, "score")
        # Where no file can be read, which workers report, the usual names keep the source constructible.
        header = HeaderRoles(Roles(tuple(names or ("score",)), label or "label"))
        for file in files:
            try:
                with _opened_parquet(file) as opened:
                    columns = list(opened.schema_arrow.names)
            except FileFormatError:
                if unreadable == "error":
                    raise
                continue
            header = header_roles(columns, score=names, label=label, where=file)
            require_roles(TrialTable(file, "parquet", pl.DataFrame(schema=columns), header.roles))
            break
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
            Paths of files, as ``llrkit.engine.dask_source.parquet_files`` gives them.
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
        header, most = header or HeaderRoles(chunking.roles), at_once(ROWS_A_TASK, unit=8)
        # Not pure: Dask would answer from its cache if the same names were read again after the files had
        # changed.
        tasks = client.map(footer_of, files, header=header, most=most, pure=False)
        footers = results_of(client, tasks)
        failed = [one for one in footers if isinstance(one, LlrkitError)]
        if failed and unreadable == "error":
            raise failed[0]
        # What was skipped here is reported once and not again by reduce.
        skipped = list(map(str, failed))
        _warn_of_unreadable(skipped)
        groups = in_one_schema([one for one in footers if not isinstance(one, LlrkitError)])
        weight = chunking.roles.weight
        if groups and weight is not None:
            require_column(weight, groups[0].columns, groups[0].origin)
        return cls(client, groups, chunking, unreadable=unreadable, skipped=skipped)

    @classmethod
    def from_dataframe(
        cls, frame: DataFrame, client: Client, *, score: Names | None = None, label: str | None = None
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
        cls, parts: Sequence[Delayed], client: Client, *, score: Names = "score", label: str = "label"
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
        chunking, policy = replace(self.chunking, roles=roles), self.unreadable
        source = DaskSource(self.client, self.partitions, chunking, unreadable=policy, skipped=self.skipped)
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
        level, merge = self._leaves(summarize, self.chunking), delayed(reduce, pure=False)
        # Neighbors are merged in order, so that sums have the same last bit for any number of workers.
        while len(level) > 1:
            level = [merge(add, level[i : i + MERGED_AT_ONCE]) for i in range(0, len(level), MERGED_AT_ONCE)]
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
        # Small files are read together by one task, everything else by itself; a delayed table of unknown
        # size is taken for a task of its own.
        least = at_once(ROWS_A_TASK, unit=8)
        rows = [sum(one.rows) if isinstance(one, RowGroups) else least for one in self.partitions]
        most = max(least, min(sum(rows) // MANY_TASKS, MOST_ROWS_A_TASK))
        tasks = [[self.partitions[i] for i in run] for run in runs(rows, most)]
        return [leaf(work, parts, start) for parts, start in zip(tasks, starts, strict=False)]

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


@dataclass(frozen=True)
class Table:
    """A table that is there already: a partition of a Dask DataFrame, or what a delayed function gave."""

    table: object
    origin: str

    @cached_property
    def _frame(self) -> pl.DataFrame:
        return as_table(self.table)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._frame.columns

    def read(self, wanted: Sequence[str]) -> Iterator[TrialTable]:
        """The trials in batches."""
        for name in wanted:
            require_column(name, self.columns, self.origin)
        for i, batch in enumerate(self._frame.select(wanted).iter_slices(ROWS_A_BATCH)):
            yield TrialTable(self.origin, "table", batch, first_row=i * ROWS_A_BATCH)


@dataclass(frozen=True)
class RowGroups:
    """Consecutive row groups of one Parquet file, on any path that fsspec can open."""

    origin: str
    columns: tuple[str, ...]
    header: HeaderRoles
    groups: tuple[int, ...]
    rows: tuple[int, ...]
    first_row: int = 0
    words: tuple[str, ...] = ()
    """Columns of few words, which stay coded as they are read: that is three times as fast."""
    state: str = ""
    """What the file system said of the file when it was looked at first."""
    casts: Mapping[str, Wanted] = field(default_factory=dict)
    """Columns that have another type in other files."""

    def read(self, wanted: Sequence[str]) -> Iterator[TrialTable]:
        """The trials in batches of whole row groups."""
        first_row = self.first_row
        for name in wanted:
            if name != self.header.roles.label:  # which may be made of two other columns
                require_column(name, self.columns, self.origin)
        stored = list(self.header.needed_for(self.columns, wanted))
        with _opened_parquet(self.origin, self.state, self.words) as file:
            for run in runs(self.rows, ROWS_A_BATCH):
                groups = [self.groups[i] for i in run]
                # Without threads: a worker has one, and tasks run beside each other already.
                table = pl.from_arrow(file.read_row_groups(groups, columns=stored, use_threads=False))
                assert isinstance(table, pl.DataFrame)
                batch = TrialTable(self.origin, "parquet", table, first_row=first_row)
                yield cast_exactly(self.header.assigned_to(batch, wanted), self.casts)
                first_row += table.height


def parquet_files(paths: PathArg | Sequence[PathArg]) -> list[str]:
    """The files of paths that fsspec can open: each itself, those of a directory, or those of a pattern.

    On this machine they are the same as without a cluster; elsewhere they are chosen by the same names.
    """
    import fsspec
    from fsspec.implementations.local import LocalFileSystem

    found = list[str]()
    for path in [paths] if isinstance(paths, (str, PathLike)) else paths:
        files, root = fsspec.core.url_to_fs(fspath(path))
        # Local paths go through the same function as without a cluster, with its messages about pipes
        # and links.
        if isinstance(files, LocalFileSystem):
            names = [os.path.abspath(file) for file in local_files(root)]
        elif files.isdir(root):
            inside = [one["name"] for one in files.ls(root, detail=True) if one["type"] == "file"]
            names = [name for name in inside if is_taken(posixpath.basename(name))]
        elif has_magic(root):
            pattern = posixpath.basename(root)
            names = [name for name in files.glob(root) if is_taken(posixpath.basename(name), pattern)]
        else:
            names = [root] if files.exists(root) else []
        if not names:
            raise FileFormatError(f"{path}: no Parquet file, and no directory or pattern with some")
        # Names come back without their protocol, which workers need to open them.
        found += sorted(files.unstrip_protocol(name) if "://" in fspath(path) else name for name in names)
    return found


Footer = tuple[str, Mapping[str, pl.DataType], list[RowGroups]]
"""A path, the types of its columns with those of labels that are made, and its pieces."""


def footer_of(path: str, header: HeaderRoles, most: int) -> Footer | LlrkitError:
    """Cut a Parquet file into runs of row groups of at most ``most`` rows; what has a role must be there.

    A file that cannot be read gives the error that says why: what follows from it is the client's policy.
    """
    label, state = header.roles.label, _state_of_file(path)
    try:
        with _opened_parquet(path) as file:
            schema, names = file.schema_arrow, tuple(file.schema_arrow.names)
            # From the footer alone; no data are read.
            rows = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
    except FileFormatError as error:
        return error
    # Raised and not returned: a missing column is a mistake of the call, not damage to one file.
    for name in (*header.roles.score, *(header.same or (label or "label",))):
        require_column(name, names, path)
    empty = pl.from_arrow(schema.empty_table())
    assert isinstance(empty, pl.DataFrame)
    # Labels are few distinct words, which Parquet usually stores as a dictionary; they are kept coded.
    words = (label,) if label is not None and empty.schema.get(label) == pl.String else ()
    # The types after labels are made, as all later batches will have them.
    types = header.assigned_to(TrialTable(path, "parquet", empty)).table.schema
    pieces, first_row = list[RowGroups](), 0
    for run in runs(rows, most):
        sizes = tuple(rows[i] for i in run)
        pieces.append(RowGroups(path, names, header, tuple(run), sizes, first_row, words, state))
        first_row += sum(sizes)
    return path, dict(types), pieces


def in_one_schema(footers: Sequence[Footer]) -> list[RowGroups]:
    """The pieces of all files, with the columns and types that hold the values of all of them."""
    if not footers:
        return []
    common = common_types([(path, types) for path, types, _ in footers])
    cast = list[RowGroups]()
    for _, types, pieces in footers:
        # Only columns whose type differs, so that files of one schema are not touched.
        casts = {name: to for name, to in common.items() if types[name] != to.type}
        cast += [replace(piece, casts=casts) for piece in pieces]
    return cast


def runs(rows: Sequence[int], most: int) -> Iterator[range]:
    """Consecutive pieces with so many rows each, together at most ``most`` rows or one piece.

    Examples
    --------
    >>> list(runs([3, 3, 9, 1], most=6))
    [range(0, 2), range(2, 3), range(3, 4)]
    """
    start = total = 0
    for i, n in enumerate(rows):
        # A piece larger than the limit goes alone: row groups are read whole.
        if i > start and total + n > most:
            yield range(start, i)
            start, total = i, 0
        total += n
    if start < len(rows):
        yield range(start, len(rows))


@contextmanager
def _opened_parquet(path: str, state: str = "", words: Sequence[str] = ()) -> Iterator[ParquetFile]:
    """A Parquet file; one that cannot be read, or is no longer what it was, is an error that names it."""
    import fsspec
    from pyarrow.parquet import ParquetFile

    try:
        with fsspec.open(path) as file:
            # read_dictionary keeps words as codes instead of a text for every row.
            yield ParquetFile(file, read_dictionary=list(words))
    except LlrkitError:
        raise
    except (OSError, ValueError) as error:  # pyarrow's own errors are among these
        said = str(error).splitlines()[0] if str(error) else repr(error)
        raise FileFormatError(
            f"{path}: cannot be read as Parquet ({said}); 'llrkit convert' makes Parquet of other files"
        ) from None
    finally:  # a change may be why it cannot be read, and undoes what was
        if state and _state_of_file(path) != state:
            raise changed_meanwhile(path)


def _state_of_file(path: str) -> str:
    """What the file system says of a file: size, times, number, or a tag of its content."""
    import fsspec

    try:
        files, root = fsspec.core.url_to_fs(path)
        # The file system's own fingerprint: an ETag on object stores, size and time on disks.
        return str(files.ukey(root))
    except (OSError, ValueError, NotImplementedError):
        return ""  # whoever opens it says what is wrong
