"""Pieces of a large trial set that a worker reads by itself: runs of Parquet row groups, or tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import polars as pl

from llrkit.engine.batches import Before, Roles, chunk_of
from llrkit.errors import FileFormatError, InputError, UnknownNameError
from llrkit.scores import Scores

ROWS_A_BATCH = 1 << 20


class Partition(Protocol):
    """Some consecutive trials, read when they are needed."""

    @property
    def origin(self) -> str:
        """Where the trials are, for messages."""
        ...

    def chunks(self, roles: Roles, before: Before) -> Iterator[Scores]:
        """The trials in chunks."""
        ...


@dataclass(frozen=True)
class RowGroups:
    """Consecutive row groups of one Parquet file, on any path that fsspec can open."""

    origin: str
    groups: tuple[int, ...]
    rows: tuple[int, ...]
    first_row: int = 0

    def chunks(self, roles: Roles, before: Before) -> Iterator[Scores]:
        """The trials in chunks of whole row groups."""
        first_row = self.first_row
        with _open(self.origin) as file:
            for groups in _runs(self.rows, ROWS_A_BATCH):
                batch = self._read(file, [self.groups[i] for i in groups], roles.stored)
                where = f"{self.origin} from row {first_row} on" if first_row else self.origin
                chunk = chunk_of(batch, roles, before, origin=where)
                yield chunk
                before, first_row = before + Before.of(chunk), first_row + batch.height

    def _read(self, file: Any, groups: list[int], columns: list[str]) -> pl.DataFrame:
        try:
            table = file.read_row_groups(groups, columns=columns, use_threads=False)
        except (OSError, ValueError) as error:  # pyarrow's own errors are among these
            raise _unreadable(self.origin, error) from None
        made = pl.from_arrow(table)
        assert isinstance(made, pl.DataFrame)
        return made


@dataclass(frozen=True)
class Table:
    """A table that is there already: a partition of a Dask DataFrame, or what a delayed function gave."""

    table: Any
    origin: str

    def chunks(self, roles: Roles, before: Before) -> Iterator[Scores]:
        """The trials in chunks."""
        if isinstance(self.table, Scores):
            if roles.carried:
                raise UnknownNameError(f"{self.origin}: bare scores carry no columns; give tables instead")
            yield self.table
            return
        table = self.table
        if not isinstance(table, pl.DataFrame):
            try:
                table = pl.from_pandas(table) if hasattr(table, "iloc") else pl.DataFrame(table)
            except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
                raise InputError(f"{self.origin}: not a table ({error})") from None
        for batch in table.iter_slices(ROWS_A_BATCH):
            chunk = chunk_of(batch, roles, before, origin=self.origin)
            yield chunk
            before += Before.of(chunk)


def parquet_partitions(path: str, columns: Sequence[str], most: int) -> list[RowGroups]:
    """Cut a Parquet file into runs of row groups of at most ``most`` rows; the columns must be there."""
    with _open(path) as file:
        there = file.schema_arrow.names
        for name in columns:
            if name not in there:
                raise UnknownNameError(f"{path}: there is no column {name!r}; there are: {', '.join(there)}")
        rows = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
    made, first_row = [], 0
    for run in _runs(rows, most):
        sizes = tuple(rows[i] for i in run)
        made.append(RowGroups(path, tuple(run), sizes, first_row))
        first_row += sum(sizes)
    return made


def expand(path: str) -> list[str]:
    """The Parquet files of a path: itself, those of a directory, or those that match a pattern."""
    import fsspec

    files, root = fsspec.core.url_to_fs(path)
    if files.isdir(root):
        found = [name for name in files.ls(root, detail=False) if name.endswith((".parquet", ".pq"))]
    else:
        found = files.glob(root) if "*" in path or "?" in path else [root] if files.exists(root) else []
    if not found:
        raise FileFormatError(f"{path}: no Parquet file, and no directory or pattern with some")
    return sorted(files.unstrip_protocol(name) if "://" in path else name for name in found)


def _runs(rows: Sequence[int], most: int) -> Iterator[range]:
    """Consecutive row groups, together at most ``most`` rows or one group."""
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

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> Any:
        import fsspec
        from pyarrow.parquet import ParquetFile

        try:
            self._file = fsspec.open(self.path).open()
            return ParquetFile(self._file)
        except (OSError, ValueError) as error:
            raise _unreadable(self.path, error) from None

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _unreadable(path: str, error: Exception) -> FileFormatError:
    return FileFormatError(
        f"{path}: cannot be read ({str(error).splitlines()[0] if str(error) else error!r})"
    )
