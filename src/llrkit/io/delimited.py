"""Text files of every layout: tables with a header, and the known layouts without one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from llrkit.errors import FileFormatError, UnknownNameError
from llrkit.io.found import Found, Lines
from llrkit.io.layouts import (
    ENROLL_NAMES,
    KNOWN_NAMES,
    LABEL_NAMES,
    LAYOUTS,
    SAME_SUBJECT,
    SCORE_NAMES,
    TEST_NAMES,
    has_header,
    kinds_of,
    named,
    unique_names,
)
from llrkit.io.text import Text, lines_of_rows, open_text, parse

SASV_LABELS = {"1": "target", "1.0": "target", "2": "nontarget", "2.0": "nontarget", "0": "spoof", "0.0": "spoof"}  # fmt: skip # noqa: E501
TEXT_FORMATS = tuple(dict.fromkeys(layout.format for layout in LAYOUTS))


def read_delimited(
    file: Path,
    *,
    format: str | None = None,  # noqa: A002
    columns: Sequence[str] | None = None,
    score: Sequence[str] | None = None,
    label: str | None = None,
) -> Found:
    """Read a text file; ``columns`` names its columns, else the header does, else its layout."""
    text = open_text(file)
    rows = [fields for _, fields in text.head]
    family, names, header = _names(text, rows, format, columns)
    if family == "matrix":
        from llrkit.io.matrices import read_matrix

        return read_matrix(text, names)
    where = f"{file}, line {text.head[0][0]}"
    scores = _scores(names, score, where)
    table = parse(text, names, header=header, numbers=scores)
    return with_roles(
        Found(str(file), family, table, lines=_lines(text, header)), score=scores, label=label, where=where
    )


def _lines(text: Text, header: bool) -> Lines:
    return lambda rows: lines_of_rows(text, header, rows)


def _names(
    text: Text,
    rows: list[list[str]],
    format: str | None,  # noqa: A002
    columns: Sequence[str] | None,
) -> tuple[str, list[str], bool]:
    """The family of the file, the names of its columns and whether the first row holds them."""
    where = f"{text.file}, line {text.head[0][0]}"
    if columns is not None:
        if len(columns) != len(rows[0]):
            raise FileFormatError(f"{where}: {len(rows[0])} fields, but --columns names {len(columns)}")
        header = has_header(rows) and len(rows) > 1
        return "table", unique_names(columns), header
    if format in (None, "matrix") and _is_matrix(rows):
        return "matrix", unique_names(rows[0]), True
    if format in (None, "table", "matrix", "nist", "bob", "asvspoof") and has_header(rows):
        return "matrix" if format == "matrix" else "table", unique_names(rows[0]), True
    same_width = [row for row in rows if len(row) == len(rows[0])]
    kinds = kinds_of(same_width)
    for layout in LAYOUTS:
        if format in (None, layout.format) and layout.fits(kinds, text.delimiter):
            return layout.format, layout.names.split(), False
    if format is not None:
        shapes = "; ".join(layout.names for layout in LAYOUTS if layout.format == format)
        raise FileFormatError(
            f"{where}: not of format {format}" + (f", which is: {shapes}" if shapes else "")
        )
    raise FileFormatError(
        f"{where}: no header line and no known layout ({len(rows[0])} columns); "
        "name the columns, for example --columns enroll,test,score"
    )


def _is_matrix(rows: list[list[str]]) -> bool:
    """A header of ids whose first field is empty, and rows of an id and numbers."""
    below = [row for row in rows[1:] if len(row) == len(rows[0])]
    known = {field.strip().lower() for field in rows[0]} & KNOWN_NAMES
    named_square = len(rows[0]) > 1 and not rows[0][0].strip() and not known
    return bool(below) and named_square and all("N" in kind for kind in kinds_of(below)[1:])


def _scores(names: list[str], score: Sequence[str] | None, where: str) -> list[str]:
    if score is None:
        name = named(names, SCORE_NAMES)
        return [name] if name else []
    for name in score:
        if name not in names:
            raise UnknownNameError(f"{where}: there is no column {name!r}; there are: {', '.join(names)}")
    return list(score)


def with_roles(
    found: Found, *, score: Sequence[str] | None, label: str | None, where: str | None = None
) -> Found:
    """A table with its roles, from the names of its columns and those that were asked for."""
    table, names = found.table, found.table.columns
    where = where or found.file
    scores = _scores(names, score, where)
    if label is not None and label not in names:
        raise UnknownNameError(f"{where}: there is no column {label!r}; there are: {', '.join(names)}")
    free = [name for name in names if name not in scores]
    role = label or named(free, LABEL_NAMES)
    pair = next((pair for pair in SAME_SUBJECT if set(pair) <= set(names)), None)
    if role is None and pair is not None:
        role = "label"
        table = table.with_columns((pl.col(pair[0]) == pl.col(pair[1])).alias(role))
    elif role == "sasv_label":
        table = table.with_columns(pl.col(role).cast(pl.String).replace(SASV_LABELS))
    free = [name for name in free if name != role]
    return Found(
        found.file, found.format, table, tuple(scores), role,
        named(free, ENROLL_NAMES), named(free, TEST_NAMES), found.lines,
    )  # fmt: skip
