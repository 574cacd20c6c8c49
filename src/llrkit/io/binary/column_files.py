"""Column files: Parquet and Arrow IPC, at once or batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import polars as pl

from llrkit._memory import at_once, fits, memory_limit, require_memory
from llrkit._progress import stage
from llrkit.errors import FileFormatError, LlrkitError
from llrkit.io.binary.arrow_check import batch_sizes
from llrkit.io.binary.parquet_check import decoded_size, refuse_impossible
from llrkit.io.column_roles import header_roles, with_roles
from llrkit.io.polars_panics import no_panic_messages
from llrkit.io.reading_options import require_text_name
from llrkit.io.trial_table import Scan, TrialTable

BATCH_ROWS = 1 << 20
ARROW_FILE = b"ARROW1"
IN_BATCHES = "read it in batches (scan_trials)"
_GROUPS_AT_ONCE = 4  # groups of rows that polars may decode ahead
_FEWEST_ROWS = 1 << 16
_PIECES = 64
"""A piece takes this part of the memory that may be used."""


def read_parquet(file: Path, *, score: Sequence[str] | None = None, label: str | None = None) -> TrialTable:
    """Read a Parquet table."""
    with _polars_fault_named(file, "Parquet"), stage(f"reading {file.name}"), file.open("rb") as raw:
        refuse_impossible(file, pages=_is_small_file(file))
        require_memory(decoded_size(file).total, str(file), IN_BATCHES)
        with no_panic_messages(_is_small_file(file)):
            table = pl.read_parquet(raw)
        _refuse_ragged_arrow(table)
    return with_roles(TrialTable(str(file), "parquet", table), score=score, label=label)


def read_arrow(file: Path, *, score: Sequence[str] | None = None, label: str | None = None) -> TrialTable:
    """Read an Arrow IPC table: a file (Feather 2) or a stream."""
    with _polars_fault_named(file, "Arrow"), file.open("rb") as raw:
        stream = raw.read(len(ARROW_FILE)) != ARROW_FILE
        raw.seek(0)
        require_memory(sum(batch_sizes(file)), str(file), IN_BATCHES)
        with no_panic_messages(_is_small_file(file)):
            # a stream as bytes: polars loses its place in files
            table = pl.read_ipc_stream(raw.read()) if stream else pl.read_ipc(raw)
        _refuse_ragged_arrow(table)
    return with_roles(TrialTable(str(file), "arrow", table), score=score, label=label)


def scan_columns(
    file: Path, kind: str, *, score: Sequence[str] | None = None, label: str | None = None
) -> Scan | TrialTable:
    """A Parquet or Arrow file to be read batch by batch; an Arrow stream is read at once."""
    if kind == "arrow":
        with _polars_fault_named(file, "Arrow"), file.open("rb") as raw:
            stream = raw.read(len(ARROW_FILE)) != ARROW_FILE
        if stream:
            return read_arrow(file, score=score, label=label)
    require_text_name(file)
    with _polars_fault_named(file, kind.capitalize()), no_panic_messages():
        if kind == "parquet":
            refuse_impossible(file, pages=_is_small_file(file))
            size = decoded_size(file)
            largest, width = size.largest_group, size.total / max(size.rows, 1)
        else:
            largest, width = max(batch_sizes(file), default=0), 0.0
            require_memory(largest, str(file), "write it in smaller batches")
        lazy = pl.scan_parquet(file) if kind == "parquet" else pl.scan_ipc(file)
        schema = lazy.collect_schema()
        rows = int(lazy.select(pl.len()).collect().item())
    roles = header_roles(schema.names(), score=score, label=label, where=str(file))
    like = roles.assigned_to(TrialTable(str(file), kind, pl.DataFrame(schema=schema)))

    def read(wanted: Sequence[str]) -> Iterator[TrialTable]:
        table = lazy.select(roles.needed_for(schema.names(), wanted))
        first_row = 0
        with _polars_fault_named(file, kind.capitalize()), stage(f"reading {file.name}", rows) as done:
            in_pieces = kind == "parquet" and not fits(_GROUPS_AT_ONCE * largest)
            for batch in _slices_of_row_groups(table, rows, width) if in_pieces else _parquet_batches(table):
                if batch.height:
                    yield roles.assigned_to(TrialTable(str(file), kind, batch, first_row=first_row), wanted)
                first_row += batch.height
                done(batch.height)
        if first_row != rows:
            raise FileFormatError(f"{file}: {first_row:,} rows were read, but the file says it has {rows:,}")
        if first_row == 0:
            yield replace(like, table=like.table.select(wanted))

    return Scan(like, read, rows=rows)


def _parquet_batches(table: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    yield from table.collect_batches(chunk_size=at_once(BATCH_ROWS, unit=8), maintain_order=True)


def _slices_of_row_groups(table: pl.LazyFrame, rows: int, width: float) -> Iterator[pl.DataFrame]:
    """A table with groups of rows too large to be decoded as a whole, piece by piece.

    Each piece looks for its first row again, so pieces are as large as memory allows; several of them are
    summarized at a time.
    """
    step = max(_FEWEST_ROWS, int(memory_limit() / (_PIECES * max(width, 1.0))))
    for start in range(0, rows, step):
        yield table.slice(start, step).collect()


def _is_small_file(file: Path) -> bool:
    """Whether reading takes no time, so that standard error can be held back meanwhile."""
    return file.stat().st_size < 1 << 26


def _refuse_ragged_arrow(table: pl.DataFrame) -> None:
    if any(column.len() != table.height for column in table):
        raise ValueError("its columns have different lengths")


@contextmanager
def _polars_fault_named(file: Path, kind: str) -> Iterator[None]:
    """Whatever polars finds wrong becomes an error that names the file."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError, ValueError, pl.exceptions.PanicException) as error:
        if isinstance(error, LlrkitError):
            raise
        words = str(error).strip().split("\n", 1)[0]
        raise FileFormatError(f"{file}: cannot be read as {kind} ({words})") from None
