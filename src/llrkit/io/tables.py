"""Tables: delimited text with a header, and Parquet."""

from __future__ import annotations

import csv
import gzip
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import polars as pl

from llrkit.errors import FileFormatError, InputError, LabelError
from llrkit.scores.labels import ACCEPTED, classify_words
from llrkit.scores.trials import Trials


def read_parquet(file: Path, scores: Sequence[str], label: str | None) -> pl.DataFrame:
    """Read a Parquet table."""
    try:
        table = pl.read_parquet(file)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise FileFormatError(f"{file}: cannot be read as Parquet ({_first_line(error)})") from None
    _require(table.columns, scores, label, str(file))
    return table


def read_text(file: Path, scores: Sequence[str], label: str | None) -> pl.DataFrame:
    """Read delimited text with a header; whatever is wrong is named by line and column."""
    header, delimiter = _header(file)
    _require(header, scores, label, f"{file}, line 1")
    try:
        if delimiter == " ":  # runs of blanks are one delimiter, which polars does not know
            table = _read_blanks(file, header).with_columns(pl.col(name).cast(pl.Float64) for name in scores)
        else:
            table = pl.read_csv(
                file,
                separator=delimiter,
                schema_overrides={name: pl.Float64 if name in scores else pl.String for name in header},
                null_values=["", "NA"],
            )
        if label and scores:
            # look at every row now: the message can still name the line
            trials = Trials(table, score=scores, label=label, origin=str(file), first_line=2)
            _ = trials.score_array, trials.is_target
    except (pl.exceptions.PolarsError, InputError, OSError, ValueError) as error:
        _find_fault(file, header, delimiter, scores, label)
        if isinstance(error, InputError):
            raise
        raise FileFormatError(f"{file}: cannot be read as a table ({_first_line(error)})") from None
    return table


def as_trials(table: str | pl.DataFrame, scores: Sequence[str], label: str) -> Trials:
    """Trials of several systems from a file or a table; a missing score is left to whoever uses them."""
    if isinstance(table, str):
        from llrkit.io import read_table

        found = read_table(table, scores=scores)
        return Trials(found, score=scores, label=label, origin=table)
    return Trials(table, score=scores, label=label)


def delimiter_of(file: Path) -> str:
    """What stands between the columns of a text table."""
    return _header(file)[1]


def _require(columns: Sequence[str], scores: Sequence[str], label: str | None, where: str) -> None:
    for name in (*scores, *([label] if label else [])):
        if name not in columns:
            there = ", ".join(columns)
            raise FileFormatError(f"{where}: there is no column {name!r}; there are: {there}")


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]


def _open(file: Path) -> IO[str]:
    with file.open("rb") as raw:
        zipped = raw.read(2) == b"\x1f\x8b"
    if zipped:
        return gzip.open(file, "rt", encoding="utf-8-sig", newline="")
    return file.open(encoding="utf-8-sig", newline="")


def _header(file: Path) -> tuple[list[str], str]:
    try:
        with _open(file) as text:
            line = text.readline(1 << 20)
    except (UnicodeDecodeError, OSError, EOFError) as error:
        raise FileFormatError(f"{file}, line 1: not a text table ({_first_line(error)})") from None
    if not line.strip() or "\x00" in line:
        raise FileFormatError(f"{file}, line 1: expected a header line with the names of the columns")
    delimiter = max("\t,;", key=line.count)
    if delimiter not in line:  # blanks, unless there is only one column
        delimiter = " " if len(line.split()) > 1 else ","
    return _split(line.rstrip("\r\n"), delimiter), delimiter


def _split(line: str, delimiter: str) -> list[str]:
    if delimiter == " ":
        return line.split()
    return next(csv.reader([line], delimiter=delimiter), [])


def _rows(file: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of every line after the header that is not blank."""
    with _open(file) as text:
        if delimiter == " ":
            for line_number, line in enumerate(text, 1):
                if line_number > 1 and line.strip():
                    yield line_number, line.split()
            return
        rows = csv.reader(text, delimiter=delimiter)
        next(rows, None)
        line_number = rows.line_num + 1
        for fields in rows:
            if fields:
                yield line_number, fields
            line_number = rows.line_num + 1


def _read_blanks(file: Path, header: list[str]) -> pl.DataFrame:
    columns: list[list[str]] = [[] for _ in header]
    for line_number, fields in _rows(file, " "):
        if len(fields) != len(header):
            raise _wrong_width(f"{file}, line {line_number}", fields, header)
        for column, field in zip(columns, fields, strict=True):
            column.append(field)
    return pl.DataFrame(dict(zip(header, columns, strict=True)))


def _find_fault(
    file: Path, header: list[str], delimiter: str, scores: Sequence[str], label: str | None
) -> None:
    """Read line by line and raise an error that names the first line at fault, if one is."""
    at_scores = [(name, header.index(name)) for name in scores]
    try:
        for line_number, fields in _rows(file, delimiter):
            where = f"{file}, line {line_number}"
            if len(fields) != len(header):
                raise _wrong_width(where, fields, header)
            for name, at in at_scores:
                _check_score(fields[at], f"{where}, column {name!r}")
            if label:
                _check_label(fields[header.index(label)], f"{where}, column {label!r}")
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{file}: not UTF-8 text (byte {error.start} of a block)") from None
    except (csv.Error, EOFError, OSError) as error:
        raise FileFormatError(f"{file}: cannot be read as a table ({_first_line(error)})") from None


def _wrong_width(where: str, fields: list[str], header: list[str]) -> FileFormatError:
    return FileFormatError(f"{where}: {len(fields)} fields, but the header names {len(header)} columns")


def _check_label(text: str, where: str) -> None:
    if not text.strip():
        raise LabelError(f"{where}: no label")
    if classify_words([text]) == [None]:
        raise LabelError(f"{where}: {text!r} is not a label of two classes; accepted are {ACCEPTED}")


def _check_score(text: str, where: str) -> None:
    try:
        value = float(text)
    except ValueError:
        raise FileFormatError(f"{where}: {text!r} is not a number") from None
    if math.isnan(value):
        raise FileFormatError(f"{where}: the score is NaN; every trial needs a score (+-inf is allowed)")
