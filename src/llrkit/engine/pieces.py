"""Pieces of Parquet files, and tables, that workers of a cluster read batch by batch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from glob import has_magic
from os import PathLike, fspath
from typing import TYPE_CHECKING, Literal

import polars as pl

from llrkit.base.files import changed_meanwhile
from llrkit.base.process import cached_property
from llrkit.errors import FileFormatError, LlrkitError
from llrkit.io.formats import is_taken, local_files
from llrkit.io.read_options import PathArg
from llrkit.io.table_columns import (
    HeaderRoles,
    TrialTable,
    Wanted,
    cast_exactly,
    common_types,
    header_roles,
)
from llrkit.io.trial_checks import require_named_roles
from llrkit.scores.source import Roles, require_column
from llrkit.scores.trials import as_table

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

ROWS_A_BATCH = 1 << 20
Unreadable = Literal["error", "skip"]


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
            names = [name for name in inside if is_taken(_last_part(name))]
        elif has_magic(root):
            names = [name for name in files.glob(root) if is_taken(_last_part(name), _last_part(root))]
        else:
            names = [root] if files.exists(root) else []
        if not names:
            raise FileFormatError(f"{path}: no Parquet file, and no directory or pattern with some")
        # Names come back without their protocol, which workers need to open them.
        found += sorted(files.unstrip_protocol(name) if "://" in fspath(path) else name for name in names)
    return found


def _last_part(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def header_of_files(
    files: Sequence[str], score: Sequence[str] | None, label: str | None, unreadable: Unreadable
) -> HeaderRoles:
    """The roles of the columns of the first file that can be read; where none can, the usual names."""
    for file in files:
        try:
            with _opened_parquet(file) as opened:
                names = list(opened.schema_arrow.names)
        except FileFormatError:
            if unreadable == "error":
                raise
            continue
        header = header_roles(names, score=score, label=label, where=file)
        require_named_roles(header.roles, names, file)
        return header
    # Workers report each unreadable file; the usual names only keep the source constructible.
    return HeaderRoles(Roles(tuple(score or ("score",)), label or "label"))


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
