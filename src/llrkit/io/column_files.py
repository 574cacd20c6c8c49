"""Parquet and Arrow files, read by polars batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import polars as pl

from llrkit.base.files import naming_file
from llrkit.base.process import at_once, fits, memory_limit, require_memory, stage
from llrkit.errors import FileFormatError
from llrkit.io.read_options import require_text_name
from llrkit.io.table_columns import IN_BATCHES, Scan, TrialTable, header_roles, held_size, with_roles

BATCH_ROWS = 1 << 20
_ARROW_FILE = b"ARROW1"
_FEWEST_ROWS = 1 << 16
_PIECES = 16
"""A piece takes one part in so many of the memory that may be used."""


def scan_columns(
    file: Path, kind: str, *, score: Sequence[str] | None = None, label: str | None = None
) -> Scan | TrialTable:
    """A Parquet or Arrow file (Feather 2) to be read batch by batch; an Arrow stream is read at once."""
    if kind == "arrow" and _is_arrow_stream(file):
        with _naming_file(file, kind), stage(f"reading {file.name}"):
            require_memory(decoded_size(file, kind), str(file), IN_BATCHES)
            table = pl.read_ipc_stream(file.read_bytes())  # as bytes: polars loses its place in files
            _require_equal_lengths(table)
        return with_roles(TrialTable(str(file), kind, table), score=score, label=label)
    require_text_name(file)
    with _naming_file(file, kind):
        lazy, rows, width = _description(file, kind)
        schema = lazy.collect_schema()
    roles = header_roles(schema.names(), score=score, label=label, where=str(file))
    like = roles.assigned_to(TrialTable(str(file), kind, pl.DataFrame(schema=schema)))

    def read(wanted: Sequence[str]) -> Iterator[TrialTable]:
        lazy_wanted = lazy.select(roles.needed_for(schema.names(), wanted))
        # Row numbers are counted here: polars does not say where in the file a batch stands.
        first_row = 0
        with _naming_file(file, kind), stage(f"reading {file.name}", rows) as done:
            for batch in _batches(lazy_wanted, rows, width):
                _require_equal_lengths(batch)
                if batch.height:
                    yield roles.assigned_to(TrialTable(str(file), kind, batch, first_row=first_row), wanted)
                first_row += batch.height
                done(batch.height)
        # Damaged files can end early without an error of polars.
        if first_row != rows:
            raise FileFormatError(f"{file}: {first_row:,} rows were read, but the file says it has {rows:,}")
        if first_row == 0:
            yield replace(like, table=like.table.select(wanted))

    return Scan(like, read, rows=rows, size=rows * width + file.stat().st_size)


def glance(file: Path, kind: str, rows: int) -> pl.DataFrame:
    """The first rows of a Parquet or Arrow file."""
    require_text_name(file)
    with _naming_file(file, kind):
        return _description(file, kind)[0].head(rows).collect()


def decoded_size(file: Path, kind: str) -> float:
    """About what the values of a file take in memory: rows times widths, and its size for letters of texts.

    The bytes in the footer of a Parquet file are those of packed dictionaries, so they are not asked for. An
    Arrow stream does not say how many rows it has.
    """
    size = float(file.stat().st_size)
    if kind == "arrow" and _is_arrow_stream(file):
        return size
    with _naming_file(file, kind):
        _, rows, width = _description(file, kind)
    return rows * width + size


def _description(file: Path, kind: str) -> tuple[pl.LazyFrame, int, float]:
    """A file that is not read yet, its number of rows, and the bytes that each takes in memory."""
    lazy = pl.scan_parquet(file) if kind == "parquet" else pl.scan_ipc(file)
    # From the metadata; no column is read for it.
    rows = int(lazy.select(pl.len()).collect().item())
    # 1,024 rows of nulls, since fixed costs would distort the width of a single one.
    return lazy, rows, held_size(pl.DataFrame(schema=lazy.collect_schema()).clear(1024)) / 1024


def _batches(table: pl.LazyFrame, rows: int, width: float) -> Iterator[pl.DataFrame]:
    # Groups of rows may be too large to be decoded as a whole, and polars decodes several ahead. So a file
    # that does not fit is read in pieces. Each looks for its first row again, so it is as large as memory
    # allows with several in work at a time.
    step = rows if fits(rows * width) else max(_FEWEST_ROWS, int(memory_limit() / (_PIECES * width)))
    for start in range(0, rows, max(step, 1)):
        piece = table if step == rows else table.slice(start, step)
        yield from piece.collect_batches(chunk_size=at_once(BATCH_ROWS, unit=8), maintain_order=True)


def _is_arrow_stream(file: Path) -> bool:
    with file.open("rb") as raw:
        return raw.read(len(_ARROW_FILE)) != _ARROW_FILE


def _require_equal_lengths(table: pl.DataFrame) -> None:
    if any(column.len() != table.height for column in table):  # of a damaged file
        raise ValueError("its columns have different lengths")


def _naming_file(file: Path, kind: str) -> AbstractContextManager[None]:
    # PanicException is no PolarsError: polars panics on some damaged files.
    errors = pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError
    return naming_file(file, kind.capitalize(), *errors)
