"""Text files of every layout: tables with a header, and the known layouts without one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from llrkit._format import counted
from llrkit.errors import FileFormatError
from llrkit.io.column_roles import header_roles
from llrkit.io.text.delimiter_and_decimals import means_decimal_commas
from llrkit.io.text.header_row import (
    distinct_names,
    has_header,
    header_is_renamed,
    header_names_both_sides,
    nist_key_has_header,
    unique_names,
)
from llrkit.io.text.layouts import (
    KEY_LAYOUTS,
    KNOWN_NAMES,
    LAYOUTS,
    NIST_KEYS,
    folded,
    kinds_of,
)
from llrkit.io.text.lines import NO_SCORE, TextFile, open_text
from llrkit.io.text.parse_columns import Columns, parse
from llrkit.io.trial_table import Scan, TrialTable

TEXT_FORMATS = tuple(dict.fromkeys(layout.format for layout in LAYOUTS))


def scan_delimited(
    file: Path,
    *,
    format: str | None = None,  # noqa: A002
    columns: Sequence[str] | None = None,
    score: Sequence[str] | None = None,
    label: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> Scan | TrialTable:
    """A text file to be read piece by piece; ``columns`` names its columns, else the header or its layout.

    Numbers have a decimal comma if ``decimal`` says so, or if the scores of the first lines can be nothing
    else. A matrix is read at once: its rows are no trials.
    """
    text = open_text(file, decimal=decimal or ".", encoding=encoding)
    rows = text.heads() if decimal != "." else [fields for _, fields in text.head]
    asked = {*(score or ()), *(() if label is None else (label,))}
    family, names, header = _family_names_and_header(
        text, rows, format, columns, asked, is_key=score is not None and not score
    )
    if family == "matrix":
        from llrkit.io.score_matrices import read_matrix

        return read_matrix(_text_with_decimal(text, decimal, range(1, len(names)), header), names)
    roles = header_roles(names, score=score, label=label, where=f"{file}, line {text.head[0][0]}")
    score_columns = roles.roles.score
    text = _text_with_decimal(text, decimal, [names.index(name) for name in score_columns], header)
    if columns is not None:
        header = header_is_renamed(rows, names, roles.roles)
    types = Columns(names, score_columns).types
    like = roles.assigned_to(TrialTable(str(file), family, pl.DataFrame(schema=types)))

    def read(wanted: Sequence[str]) -> Iterator[TrialTable]:
        first_row = 0
        physical = roles.needed_for(names, wanted)
        parsed = parse(text, names, header=header, numbers=score_columns, ids=roles.ids, wanted=physical)
        for piece, table in parsed:
            batch = TrialTable(str(file), family, table, lines=piece.lines, first_row=first_row)
            yield roles.assigned_to(batch, wanted)
            first_row += table.height

    return Scan(like, read)


def _text_with_decimal(text: TextFile, decimal: str | None, scores: Iterable[int], header: bool) -> TextFile:
    """The text with the decimal comma its scores must have, if nothing was said about it."""
    if decimal is not None or text.delimiter == ",":
        return text
    rows = [fields for _, fields in text.head[header:]]
    columns = [[fields[at] for fields in rows if at < len(fields)] for at in scores]
    said = [[field for field in column if field.strip().lower() not in NO_SCORE] for column in columns]
    return replace(text, decimal=",") if any(means_decimal_commas(column) for column in said) else text


def _family_names_and_header(
    text: TextFile,
    rows: list[list[str]],
    format: str | None,  # noqa: A002
    columns: Sequence[str] | None,
    asked: Collection[str],
    *,
    is_key: bool,
) -> tuple[str, list[str], bool]:
    """The family of the file, the names of its columns and whether the first row holds them."""
    where = f"{text.file}, line {text.head[0][0]}"
    if columns is not None:
        if len(columns) != len(rows[0]):
            fields = counted(len(rows[0]), "field")
            raise FileFormatError(f"{where}: {fields}, but --columns names {len(columns)}")
        return "table", distinct_names(columns, "--columns"), False
    if format in (None, "matrix") and _is_matrix(rows):
        return "matrix", unique_names(rows[0]), True
    below = kinds_of(rows[1:])
    may_have_header = format in (None, "table", "matrix", "nist", "bob", "asvspoof")
    names_roles = {field.strip() for field in rows[0]} & {*asked} or (
        may_have_header and header_names_both_sides(rows)
    )
    for key in NIST_KEYS:
        if format in (None, "nist") and key.fits(below, text.delimiter) and not names_roles:
            return "nist", key.names.split(), nist_key_has_header(rows[0], key, where)
    if names_roles or (may_have_header and has_header(rows)):
        if format == "matrix":
            return "matrix", unique_names(rows[0]), True
        return "table", distinct_names(rows[0], where), True
    same_width = [row for row in rows if len(row) == len(rows[0])]
    kinds = kinds_of(same_width)
    if len(kinds) == 2 and all("B" in kind for kind in kinds):
        raise FileFormatError(
            f"{where}: two columns of nothing but 0 and 1 (or -1 and 1), so which one has the labels cannot "
            "be told; name them with --columns label,score or --columns score,label"
        )
    if len(kinds) == 4 and "B" in kinds[2] and "B" in kinds[3] and format is None:
        raise FileFormatError(
            f"{where}: two columns of nothing but 0 and 1 (or -1 and 1) after the ids, so which one has the "
            "labels cannot be told; name them with --columns enroll,test,label,score or "
            "--columns enroll,test,score,label"
        )
    for layout in KEY_LAYOUTS if is_key else LAYOUTS:
        if format in (None, layout.format) and layout.fits(kinds, text.delimiter):
            return layout.format, layout.names.split(), False
    if format is not None:
        shapes = "; ".join(layout.names for layout in LAYOUTS if layout.format == format)
        if format == "table":
            shapes = "columns under a header line; without one, name them with --columns"
        raise FileFormatError(
            f"{where}: not of format {format}" + (f", which is: {shapes}" if shapes else "")
        )
    flag, example = ("--key-columns", "enroll,test,label") if is_key else ("--columns", "enroll,test,score")
    raise FileFormatError(
        f"{where}: no header line and no known layout ({counted(len(rows[0]), 'column')}); "
        f"name the columns, for example {flag} {example}"
    )


def _is_matrix(rows: list[list[str]]) -> bool:
    """A header of ids whose first field is empty, and rows of an id and numbers."""
    below = [row for row in rows[1:] if len(row) == len(rows[0])]
    known = {folded(field) for field in rows[0]} & KNOWN_NAMES
    named_square = len(rows[0]) > 1 and not rows[0][0].strip() and not known
    return bool(below) and named_square and all("N" in kind for kind in kinds_of(below)[1:])
