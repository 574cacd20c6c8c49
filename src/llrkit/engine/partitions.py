"""Pieces of a large trial set that a worker reads by itself: runs of Parquet row groups, or tables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from glob import has_magic
from typing import TYPE_CHECKING, Protocol

import polars as pl

from llrkit._cached import cached_property
from llrkit._inputs import changed_meanwhile
from llrkit.engine.chunks_of_rows import B, C, Chunking
from llrkit.errors import FileFormatError
from llrkit.io.column_roles import HeaderRoles
from llrkit.io.common_types import Wanted, cast_exactly, common_types, types_to_change
from llrkit.io.separate_paths import local_files
from llrkit.io.tables_of_paths import is_taken
from llrkit.io.trial_table import TrialTable
from llrkit.scores.roles import require_column
from llrkit.scores.tables_of_other_libraries import as_table

if TYPE_CHECKING:
    from pyarrow import Field
    from pyarrow.parquet import ParquetFile

ROWS_A_BATCH = 1 << 20


class Partition(Protocol):
    """Some consecutive trials, read when they are needed."""

    @property
    def origin(self) -> str:
        """Where the trials are, for messages."""
        ...

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        ...

    def batches(self, wanted: Sequence[str]) -> Iterator[TrialTable]:
        """The trials in batches with the columns asked for."""
        ...


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

    def batches(self, wanted: Sequence[str]) -> Iterator[TrialTable]:
        """The trials in batches of whole row groups."""
        first_row = self.first_row
        for name in wanted:
            if name != self.header.roles.label:  # which may be made of two other columns
                require_column(name, self.columns, self.origin)
        stored = self.header.needed_for(self.columns, wanted)
        with _require_unchanged_file(self.origin, self.state), _open(self.origin, self.words) as file:
            for groups in runs(self.rows, ROWS_A_BATCH):
                table = self._read(file, [self.groups[i] for i in groups], stored)
                batch = TrialTable(self.origin, "parquet", table, first_row=first_row)
                yield cast_exactly(self.header.assigned_to(batch, wanted), self.casts)
                first_row += table.height

    def _read(self, file: ParquetFile, groups: list[int], columns: Sequence[str]) -> pl.DataFrame:
        try:
            table = file.read_row_groups(groups, columns=list(columns), use_threads=False)
        except (OSError, ValueError) as error:  # pyarrow's own errors are among these
            raise _unreadable_parquet(self.origin, error) from None
        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        return frame


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

    def batches(self, wanted: Sequence[str]) -> Iterator[TrialTable]:
        """The trials in batches."""
        for name in wanted:
            require_column(name, self.columns, self.origin)
        for i, batch in enumerate(self._frame.select(wanted).iter_slices(ROWS_A_BATCH)):
            yield TrialTable(self.origin, "table", batch, first_row=i * ROWS_A_BATCH)


def chunks_of(
    partitions: Iterable[Partition], chunking: Chunking[C, B], before: B, words: set[str]
) -> Iterator[C]:
    """The trials of consecutive partitions in chunks of scores; ``before`` are the trials of earlier ones.

    The words among the labels are added to ``words``.
    """
    for partition in partitions:
        for batch in partition.batches(chunking.roles.to_read(partition.columns)):
            chunk = chunking.chunk(batch, before, words)
            yield chunk
            before = before + chunking.counted(chunk)


def column_names(path: str) -> list[str]:
    """Names of the columns of a Parquet file."""
    with _open(path) as file:
        return list(file.schema_arrow.names)


@dataclass(frozen=True)
class ParquetFooter:
    """What the end of a Parquet file says: its types, with those of labels that are made, and its pieces."""

    path: str
    types: Mapping[str, pl.DataType]
    partitions: tuple[RowGroups, ...]


def parquet_footer(path: str, header: HeaderRoles, most: int) -> ParquetFooter:
    """Cut a Parquet file into runs of row groups of at most ``most`` rows; what has a role must be there."""
    roles, state = header.roles, _state_of_file(path)
    with _open(path) as file:
        names = file.schema_arrow.names
        for name in (*roles.score, *(header.same or (roles.label or "label",))):
            require_column(name, names, path)
        empty = pl.from_arrow(file.schema_arrow.empty_table())
        rows = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
        label = file.schema_arrow.field(roles.label) if roles.label in names else None
        words = (label.name,) if label is not None and _is_text_column(label) else ()
    assert isinstance(empty, pl.DataFrame)
    types = header.assigned_to(TrialTable(path, "parquet", empty)).table.schema
    partitions, first_row = [], 0
    for run in runs(rows, most):
        sizes = tuple(rows[i] for i in run)
        partitions.append(RowGroups(path, tuple(names), header, tuple(run), sizes, first_row, words, state))
        first_row += sum(sizes)
    return ParquetFooter(path, dict(types), tuple(partitions))


def pieces_in_one_schema(footers: Sequence[ParquetFooter]) -> list[RowGroups]:
    """The pieces of all files, with the columns and types that hold the values of all of them."""
    if not footers:
        return []
    common = common_types([(footer.path, footer.types) for footer in footers])
    pieces = []
    for footer in footers:
        casts = types_to_change(footer.types, common)
        pieces += [replace(piece, casts=casts) if casts else piece for piece in footer.partitions]
    return pieces


def expand(path: str) -> list[str]:
    """The files of a path: itself, those of a directory, or those that match a pattern.

    On this machine they are the same as without a cluster; elsewhere they are chosen by the same names.
    """
    import fsspec
    from fsspec.implementations.local import LocalFileSystem

    files, root = fsspec.core.url_to_fs(path)
    if isinstance(files, LocalFileSystem):
        names = [os.path.abspath(file) for file in local_files(root)]
    elif files.isdir(root):
        inside = files.ls(root, detail=True)
        names = [
            one["name"]
            for one in inside
            if one["type"] == "file" and is_taken(_last_part_of_path(one["name"]))
        ]
    elif has_magic(root):
        names = [
            name for name in files.glob(root) if is_taken(_last_part_of_path(name), _last_part_of_path(root))
        ]
    else:
        names = [root] if files.exists(root) else []
    if not names:
        raise FileFormatError(f"{path}: no Parquet file, and no directory or pattern with some")
    return sorted(files.unstrip_protocol(name) if "://" in path else name for name in names)


def _last_part_of_path(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _state_of_file(path: str) -> str:
    """What the file system says of a file: size, times, number, or a tag of its content."""
    import fsspec

    try:
        files, root = fsspec.core.url_to_fs(path)
        return str(files.ukey(root))
    except (OSError, ValueError, NotImplementedError):
        return ""  # whoever opens it says what is wrong


@contextmanager
def _require_unchanged_file(path: str, state: str) -> Iterator[None]:
    """A file that is no longer what it was is an error that names it."""

    def check() -> None:
        if state and _state_of_file(path) != state:
            raise changed_meanwhile(path)

    check()
    try:
        yield
    except FileFormatError:
        check()
        raise
    check()


def runs(rows: Sequence[int], most: int) -> Iterator[range]:
    """Consecutive pieces with so many rows each, together at most ``most`` rows or one piece."""
    start = total = 0
    for i, n in enumerate(rows):
        if i > start and total + n > most:
            yield range(start, i)
            start, total = i, 0
        total += n
    if start < len(rows):
        yield range(start, len(rows))


class _open:  # noqa: N801 - reads as the function it stands for
    """A Parquet file, closed again; what cannot be opened is named."""

    def __init__(self, path: str, words: Sequence[str] = ()) -> None:
        self.path, self.words = path, list(words)

    def __enter__(self) -> ParquetFile:
        import fsspec
        from fsspec.core import OpenFile
        from pyarrow.parquet import ParquetFile

        try:
            file = fsspec.open(self.path)
            assert isinstance(file, OpenFile)  # several only of a list of paths
            self._file = file.open()
            return ParquetFile(self._file, read_dictionary=self.words)
        except (OSError, ValueError) as error:
            raise _unreadable_parquet(self.path, error) from None

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _is_text_column(field: Field) -> bool:
    import pyarrow.types as kinds

    return bool(kinds.is_string(field.type) or kinds.is_large_string(field.type))


def _unreadable_parquet(path: str, error: Exception) -> FileFormatError:
    said = str(error).splitlines()[0] if str(error) else repr(error)
    return FileFormatError(
        f"{path}: cannot be read as Parquet ({said}); 'llrkit convert' makes Parquet of other files"
    )
