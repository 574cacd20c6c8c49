"""Column files: Parquet and Arrow IPC, one file, a directory or a glob."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from llrkit.errors import FileFormatError
from llrkit.io.delimited import with_roles
from llrkit.io.found import Found
from llrkit.scores.trials import Trials


def read_parquet(file: Path, *, score: Sequence[str] | None = None, label: str | None = None) -> Found:
    """Read a Parquet table."""
    return _read(file, "parquet", score, label)


def read_arrow(file: Path, *, score: Sequence[str] | None = None, label: str | None = None) -> Found:
    """Read an Arrow IPC table: a file (Feather 2) or a stream."""
    return _read(file, "arrow", score, label)


def _read(file: Path, kind: str, score: Sequence[str] | None, label: str | None) -> Found:
    try:
        with file.open("rb") as raw:
            if kind == "parquet":
                table = pl.read_parquet(raw)
            elif raw.read(6) == b"ARROW1":
                raw.seek(0)
                table = pl.read_ipc(raw)
            else:
                raw.seek(0)
                table = pl.read_ipc_stream(raw.read())  # as bytes: polars loses its place in files
    except (pl.exceptions.PolarsError, OSError, ValueError, pl.exceptions.PanicException) as error:
        words = str(error).strip().split("\n", 1)[0]
        raise FileFormatError(f"{file}: cannot be read as {kind.capitalize()} ({words})") from None
    return with_roles(Found(str(file), kind, table), score=score, label=label)


def together(parts: Sequence[Found], name: str) -> Found:
    """The tables of several files as one, in the order of their names; all must have the same columns."""
    first = parts[0]
    for part in parts[1:]:
        if part.table.columns != first.table.columns:
            here, there = (", ".join(found.table.columns) for found in (first, part))
            raise FileFormatError(f"{part.file}: columns {there}, but in {first.file}: {here}")
    try:
        table = pl.concat([part.table for part in parts], how="vertical_relaxed")
    except pl.exceptions.PolarsError as error:
        words = str(error).strip().split("\n", 1)[0]
        raise FileFormatError(f"{name}: the files do not fit together ({words})") from None
    return Found(name, first.format, table, first.score, first.label, first.enroll, first.test)


def as_trials(table: str | pl.DataFrame, scores: Sequence[str], label: str) -> Trials:
    """Trials of several systems from a file or a table; a missing score is left to whoever uses them."""
    if isinstance(table, str):
        from llrkit.io import read_table

        found = read_table(table, scores=scores)
        return Trials(found, score=scores, label=label, origin=table)
    return Trials(table, score=scores, label=label)
