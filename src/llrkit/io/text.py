"""Delimited text: delimiter, header or none, the columns, and the line of every row.

polars reads what is regular; anything else is read again line by line, which is slow and decides. Either
way every line that is not blank is a row, or an error names it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from llrkit.errors import FileFormatError
from llrkit.io.packed import GZIP, ZSTD, unpacked

HEAD_LINES, HEAD_BYTES, LONGEST_LINE = 200, 1 << 17, 1 << 20
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?|inf|infinity|nan)\s*", re.I | re.A)
NULLS = ("", "NA")
BLANK = " \t\r\n\v\f"  # what bytes.split takes for blank too


@dataclass(frozen=True)
class Text:
    """A text file and what stands between its columns; ``head`` are its first rows with their lines."""

    file: str
    data: bytes
    delimiter: str
    head: list[tuple[int, list[str]]]


def open_text(file: Path) -> Text:
    """Read a file as text and look at its first lines."""
    data = unpacked(file)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise FileFormatError(f"{file}, line 1: UTF-16 text; save it as UTF-8")
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\n" not in data and b"\r" in data:
        data = data.replace(b"\r", b"\n")
    head = data[:HEAD_BYTES]
    if not head.strip():
        raise FileFormatError(f"{file}, line 1: empty; expected rows, or a header line with names of columns")
    if b"\x00" in head:
        raise FileFormatError(f"{file}, line 1: binary; expected text with a header line, or rows of scores")
    if len(data) > HEAD_BYTES:  # whole lines only
        head = head[: head.rfind(b"\n") + 1] or data[:LONGEST_LINE].split(b"\n")[0]
    delimiter = _delimiter(head)
    rows = []
    for line, fields in rows_of(head, delimiter, str(file)):
        rows.append((line, fields))
        if len(rows) == HEAD_LINES:
            break
    if not rows:
        raise FileFormatError(f"{file}, line 1: nothing but delimiters and blanks")
    return Text(str(file), data, delimiter, rows)


def delimiter_of(file: Path) -> str:
    """What stands between the columns of a text table, from its first line."""
    with file.open("rb") as raw:
        head = raw.read(LONGEST_LINE)
    if head.startswith((GZIP, ZSTD)):
        head = unpacked(file)[:LONGEST_LINE]
    return _delimiter(head.removeprefix(b"\xef\xbb\xbf"))


def _delimiter(head: bytes) -> str:
    first = next((line for line in head.split(b"\n") if line.strip()), b"")
    delimiter = max("\t,;", key=lambda mark: first.count(mark.encode()))
    if delimiter.encode() not in first:  # blanks, unless there is only one column
        delimiter = " " if len(first.split()) > 1 else ","
    return delimiter


def rows_of(data: bytes, delimiter: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of every line that is not blank."""
    quoted = b'"' in data
    line = 1
    try:
        if delimiter == " " and not quoted:
            for line, raw in enumerate(data.split(b"\n"), 1):
                if raw.strip():
                    yield line, [field.decode() for field in raw.split()]
            return
        with io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="") as text:
            rows = csv.reader(text, delimiter=delimiter, skipinitialspace=delimiter == " ")
            for fields in rows:
                if delimiter == " ":
                    fields = [field for field in fields if field]
                if any(field.strip(BLANK) for field in fields) or len(fields) > 1:
                    yield line, fields
                line = rows.line_num + 1
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, _fault(data)) + 1
        raise FileFormatError(f"{file}, line {line}: not UTF-8 text ({error.reason})") from None
    except csv.Error as error:
        raise FileFormatError(f"{file}, line {line}: cannot be read as a table ({error})") from None


def _fault(data: bytes) -> int:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return 0


def parse(text: Text, names: Sequence[str], *, header: bool, numbers: Sequence[str]) -> pl.DataFrame:
    """The columns of a text: ``numbers`` as floats, the others as they are written, null where empty."""
    types = {name: pl.Float64 if name in numbers else pl.String for name in names}
    if header and any("\n" in field for field in text.head[0][1]):
        return _parse_slowly(text, names, header=header, numbers=numbers)
    try:
        table = pl.read_csv(
            text.data,
            has_header=False,
            skip_lines=text.head[0][0] if header else 0,
            separator=text.delimiter,
            schema=types,
            null_values=list(NULLS),
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError):
        return _parse_slowly(text, names, header=header, numbers=numbers)
    return table if _regular(text, table, header) else _parse_slowly(
        text, names, header=header, numbers=numbers
    )  # fmt: skip


def _regular(text: Text, table: pl.DataFrame, header: bool) -> bool:
    """Whether every line became a row of as many fields as there are columns."""
    # between blanks, two of them would be an empty field and a tab would be part of one
    if text.delimiter == " " and (b"\t" in text.data or any(column.has_nulls() for column in table)):
        return False
    if b'"' not in text.data and not table[:, -1].has_nulls():
        return True
    lines = text.data.count(b"\n") + (not text.data.endswith(b"\n"))
    if b'"' in text.data:
        return table.height == lines - header and not table[:, -1].has_nulls()
    if table.width == 1:
        return False
    fields = lines * (table.width - 1)
    return text.data.count(text.delimiter.encode()) == fields


def _parse_slowly(text: Text, names: Sequence[str], *, header: bool, numbers: Sequence[str]) -> pl.DataFrame:
    columns: list[list[str | None]] = [[] for _ in names]
    at_numbers = [(list(names).index(name), name) for name in numbers]
    for line, fields in data_rows(text, header):
        if len(fields) != len(names):
            there = "the header names" if header else "the first line has"
            raise FileFormatError(
                f"{text.file}, line {line}: {len(fields)} fields, but {there} {len(names)} columns"
            )
        for at, name in at_numbers:
            fields[at] = fields[at].strip()
            if fields[at] not in NULLS and not NUMBER.fullmatch(fields[at]):
                raise not_a_number(f"{text.file}, line {line}, column {name!r}", fields[at])
        for column, field in zip(columns, fields, strict=True):
            column.append(None if field in NULLS else field)
    made = pl.DataFrame(dict(zip(names, columns, strict=True)), schema=dict.fromkeys(names, pl.String))
    return made.with_columns(pl.col(name).cast(pl.Float64) for name in numbers)


def data_rows(text: Text, header: bool) -> Iterator[tuple[int, list[str]]]:
    """Line and fields of every row of data."""
    rows = rows_of(text.data, text.delimiter, text.file)
    if header:
        next(rows, None)
    return rows


def lines_of_rows(text: Text, header: bool, rows: Sequence[int]) -> list[int]:
    """The lines on which these rows of the table stand."""
    wanted, found = set(rows), {}
    for row, (line, _) in enumerate(data_rows(text, header)):
        if row in wanted:
            found[row] = line
            if len(found) == len(wanted):
                break
    return [found[row] for row in rows]


def not_a_number(where: str, field: str) -> FileFormatError:
    """The error for a score that is not a number."""
    shown = field if len(field) <= 40 else field[:40] + "..."
    hint = "; decimals are written with a point" if re.fullmatch(r"\s*[+-]?\d+,\d+\s*", field) else ""
    return FileFormatError(f"{where}: {shown!r} is not a number{hint}")
