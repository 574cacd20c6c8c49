"""Delimited text and score matrices.

Rows of text as columns of a table, piece by piece. polars reads what is regular; any other piece is read
again line by line, which is slow and decides. Either way every line that is not blank is a row, or an error
names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TypeAlias

import numpy as np
import polars as pl

from llrkit.base.arguments import Array
from llrkit.base.process import in_order, thread_count
from llrkit.base.text import counted
from llrkit.errors import FileFormatError
from llrkit.io import table_columns, text_lines
from llrkit.io.read_options import Reading
from llrkit.io.table_columns import Scan, TrialTable, folded, has_header, header_roles, kinds_of, named
from llrkit.io.text_lines import COMMA_NUMBER, NO_SCORE, NUMBER, PATTERN, Piece, TextFile, count_byte
from llrkit.scores.arrays import EXACT, INEXACT, beyond_exact
from llrkit.scores.source import Roles

NA = "NA"
"""How R writes what is missing; as an id it is a name like any other."""
Types: TypeAlias = dict[str, type[pl.DataType]]


def parse(
    text: TextFile,
    names: Sequence[str],
    *,
    header: bool,
    numbers: Sequence[str],
    ids: Sequence[str] = (),
    wanted: Sequence[str] | None = None,
) -> Iterator[tuple[Piece, pl.DataFrame]]:
    """The pieces of a text, each with a table of its rows (at least one table, perhaps without rows).

    ``numbers`` are read as floats, the other columns as they are written, null where empty or, except for
    ``ids``, NA. With ``wanted`` only these columns are pieces, which is faster.
    """
    wishes = set(names if wanted is None else wanted)
    columns = [name for name in names if name in wishes]
    types, id_columns = _column_types(names, numbers), set(ids)
    # what stands for a missing value beside nothing at all: in scores the word of the first lines that does,
    # since polars takes one
    missing = dict.fromkeys((name for name in names if name not in id_columns), NA)
    place = {name: at for at, name in enumerate(names)}
    for name in numbers:
        fields = {fields[place[name]] for _, fields in text.head if len(fields) == len(names)}
        missing[name] = min((word for word in fields - {"", NA} if word.lower() in NO_SCORE), default=NA)

    def tabled(piece: Piece | FileFormatError) -> tuple[Piece, pl.DataFrame]:
        if isinstance(piece, FileFormatError):
            raise piece
        table = _parse_by_polars(piece, types, missing, columns)
        if table is not None and piece.decimal == ",":
            table = _with_points(table, numbers)
        if table is None:
            table = _parse_by_rows(piece, types, missing, header).select(columns)
        elif piece.quoted:  # nothing between quotes is nothing, too
            table = table.with_columns(pl.col(pl.String).replace("", None))
        if piece.decimal == ",":
            plain = [name for name in columns if name not in ids and name not in numbers]
            table = table.with_columns(pl.col(plain).str.replace(PATTERN, "$1.$2"))
        # Scores beyond 2^53 are compared with their text, which only this function still has.
        for name in numbers:
            if name in wishes:
                _refuse_inexact(piece, table[name], names)
        return piece, table

    def pieces_and_fault() -> Iterator[Piece | FileFormatError]:
        """The pieces, and last what was wrong with the text, so that a fault before it is named first."""
        # Pieces are parsed ahead by a pool. Raising at once would report an error at the end of the file
        # before one in an earlier piece.
        try:
            # The header ends on the line of its last name; a quoted name may go on for several lines.
            line, fields = text.head[0]
            yield from text.pieces(skip=line + "".join(fields).count("\n") if header else 0)
        except FileFormatError as fault:
            yield fault

    rest, workers, empty = pieces_and_fault(), thread_count(), True
    # Two pieces are taken to see whether there is a second: a small file is read without starting
    # threads.
    ahead = list(islice(rest, 2))
    pieces = chain(ahead, rest)
    with ThreadPoolExecutor(workers) as pool:  # the next pieces are read and made meanwhile
        several = len(ahead) > 1 and workers > 1
        for piece, table in in_order(pool, tabled, pieces, workers) if several else map(tabled, pieces):
            if table.height:
                yield piece, table
                empty = False
    if empty:
        # The schema must be seen even if there are only blank lines or a header.
        yield Piece(text.file, b"", text.delimiter), pl.DataFrame(schema=types).select(columns)


def _column_types(names: Sequence[str], numbers: Sequence[str]) -> Types:
    """Numbers are floats, everything else is kept as it is written."""
    floats = set(numbers)
    return {name: pl.Float64 if name in floats else pl.String for name in names}


def _parse_by_polars(
    piece: Piece, types: Types, missing: Mapping[str, str], columns: Sequence[str]
) -> pl.DataFrame | None:
    """The rows as polars reads them, or None if a line may not have become a whole row."""
    names = list(types)

    def read(some: Sequence[str]) -> pl.DataFrame | None:
        wishes = set(some)
        try:
            return pl.read_csv(
                piece.data,
                has_header=False,
                separator=piece.delimiter,
                # polars knows decimal commas only for all columns at once and takes points beside them,
                # so such numbers are read as text and converted here.
                schema=types if piece.decimal == "." else dict.fromkeys(names, pl.String),
                columns=[i for i, name in enumerate(names) if name in wishes],
                null_values=dict(missing),
            )
        # PanicException too: some broken input makes polars panic, and the reader by rows names the
        # line.
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError):
            return None

    # Reading fewer columns is faster, but polars fills up short lines with nulls; the last column is
    # read along to see whether every line reaches it.
    if len(columns) < len(names):
        last = names[-1]
        table = read([*columns, *([] if last in columns else [last])])
        if table is not None and _lines_are_regular(piece, table[last], len(names)):
            return table.select(columns)
    table = read(names)
    return table.select(columns) if table is not None and _rows_are_regular(piece, table) else None


def _with_points(table: pl.DataFrame, numbers: Sequence[str]) -> pl.DataFrame | None:
    """Columns of text as numbers with decimal commas, or None if some are not; polars takes points too."""
    there = [name for name in numbers if name in table.columns]
    plain = table.select(pl.col(there).str.strip_chars())
    read = plain.select(pl.all().str.replace(PATTERN, "$1.$2").cast(pl.Float64, strict=False))
    for text, column in zip(plain, read, strict=True):
        # A point beside commas would be read as a number of another meaning, so it is left to the reader
        # by rows, which refuses it.
        if column.null_count() > text.null_count() or text.str.contains(".", literal=True).any():
            return None
    return table.with_columns(read)


def _lines_are_regular(piece: Piece, last: pl.Series, width: int) -> bool:
    """Whether every line has as many fields as there are columns, though not all of them were read.

    No line has fewer if all have a last field; then none has more if the delimiters are just as many.
    """
    if piece.quoted or last.has_nulls():
        return False
    marks = last.len() * (width - 1)
    if piece.delimiter == " ":
        return _single_blanks(piece.data) == marks
    return count_byte(piece.data, piece.delimiter.encode()) == marks


def _single_blanks(data: bytes) -> int | None:
    """How many blanks there are; None if not each of them is a delimiter.

    That is so with tabs, with two blanks in a row, and with one before the first field.
    """
    if b"\t" in data or data.startswith(b" "):
        return None
    # Compared in blocks of 1 MB: an array of booleans for the whole piece would be a second copy of it.
    raw, step, count = np.frombuffer(data, dtype=np.uint8), 1 << 20, 0
    for i in range(0, len(raw), step):
        blank = raw[i : i + step + 1] == ord(" ")  # one more than the step: the next block starts with it
        count += int(np.count_nonzero(blank[:step]))
        if (blank[1:] & (raw[i : i + len(blank) - 1] <= ord(" "))).any():
            return None
    return count


def _rows_are_regular(piece: Piece, table: pl.DataFrame) -> bool:
    """Whether every line became a row of as many fields as there are columns, all of which were read."""
    data = piece.data
    # between blanks, two of them would be an empty field and a tab would be part of one
    if piece.delimiter == " " and (b"\t" in data or any(column.has_nulls() for column in table)):
        return False
    if table.width == 1 and table.schema.dtypes() == [pl.String]:  # a line of blanks is no row
        return bool((table[:, 0].str.strip_chars() != "").fill_null(False).all()) and b'"' not in data
    if b'"' not in data and not table[:, -1].has_nulls():
        return True
    lines = count_byte(data, b"\n") + (not data.endswith(b"\n"))
    if b'"' in data:
        return table.height == lines and not table[:, -1].has_nulls()
    if table.width == 1:
        return False
    return count_byte(data, piece.delimiter.encode()) == lines * (table.width - 1)


def _refuse_inexact(piece: Piece, column: pl.Series, names: Sequence[str]) -> None:
    """Refuse whole numbers that are written out and are not exact as floating point."""
    highest, lowest = column.max(), column.min()
    # The extremes are cheap and settle nearly every file.
    if highest is None or (float(highest) < EXACT and float(lowest) > -EXACT):  # type: ignore[arg-type]
        return
    beyond = ((column.abs() >= EXACT) & column.is_finite()).fill_null(False)
    if not beyond.any():
        return
    at = list(names).index(column.name)
    # Rows are read again as text, since the float no longer shows what was written; this costs time only
    # with such large scores.
    for (line, fields), is_beyond in zip(piece.rows(), beyond, strict=False):
        if is_beyond and beyond_exact(fields[at]):
            shown = fields[at] if len(fields[at]) <= 40 else fields[at][:40] + "..."
            raise FileFormatError(f"{piece.file}, line {line}, column {column.name!r}: {shown} {INEXACT}")


def _parse_by_rows(piece: Piece, types: Types, missing: Mapping[str, str], header: bool) -> pl.DataFrame:
    names = list(types)
    columns: list[list[str | None]] = [[] for _ in names]
    at_numbers = [(at, name) for at, name in enumerate(names) if types[name] == pl.Float64]
    for line, fields in piece.rows():
        # The slow reader is what refuses a line: it alone knows its number.
        if len(fields) != len(names):
            there = "the header names" if header else "the first line has"
            other = f"{counted(len(fields), 'field')}, but {there} {counted(len(names), 'column')}"
            raise FileFormatError(f"{piece.file}, line {line}: {other}")
        for at, name in at_numbers:
            field = fields[at].strip()
            if field.lower() in NO_SCORE:
                fields[at] = ""
                continue
            accepted = NUMBER.fullmatch(field) is not None
            if piece.decimal == ",":
                accepted = (accepted and "." not in field) or COMMA_NUMBER.fullmatch(field) is not None
            if not accepted:
                raise text_lines.not_a_number(
                    f"{piece.file}, line {line}, column {name!r}", field, piece.decimal
                )
            fields[at] = text_lines.with_point(field) if piece.decimal == "," else field
        for name, column, field in zip(names, columns, fields, strict=True):
            column.append(None if field in ("", missing.get(name)) else field)
    table = pl.DataFrame(dict(zip(names, columns, strict=True)), schema=dict.fromkeys(names, pl.String))
    # polars does the conversion here too; NUMBER has admitted only what the cast understands.
    return table.with_columns(pl.col(name).cast(pl.Float64) for _, name in at_numbers)


def scan_delimited(file: Path, reading: Reading) -> Scan | TrialTable:
    """A text file to be read piece by piece; ``columns`` names its columns, else the header or its layout.

    Numbers have a decimal comma if ``decimal`` says so, or if the scores of the first lines can be nothing
    else. A matrix is read at once: its rows are no trials.
    """
    decimal, score, label = reading.decimal, reading.score, reading.own_label
    text = text_lines.open_text(file, decimal=decimal or ".", encoding=reading.encoding)
    # With decimal commas possible, a column of 0,5 must count as numbers for the layout to be
    # recognized.
    rows = text.heads() if decimal != "." else [fields for _, fields in text.head]
    family, names, header = _family_names_and_header(text, rows, reading)
    if family == "matrix":
        return read_matrix(_text_with_decimal(text, decimal, range(1, len(names)), header), names)
    roles = header_roles(names, score=score, label=label, where=f"{file}, line {text.head[0][0]}")
    score_columns = roles.roles.score
    text = _text_with_decimal(text, decimal, [names.index(name) for name in score_columns], header)
    # Names given by --columns replace those of a header, if there is one; otherwise the first row is a
    # trial.
    if reading.columns is not None:
        header = table_columns.header_is_renamed(rows, names, roles.roles)
    empty = pl.DataFrame(schema=_column_types(names, score_columns))
    like = roles.assigned_to(TrialTable(str(file), family, empty))

    # roles may need columns that were not asked for, such as two subjects whose equality is the label.
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
    # Where commas separate columns they cannot be decimal marks.
    if decimal is not None or text.delimiter == ",":
        return text
    rows = [fields for _, fields in text.head[header:]]
    for at in scores:
        column = [fields[at] for fields in rows if at < len(fields)]
        if text_lines.means_decimal_commas([one for one in column if one.strip().lower() not in NO_SCORE]):
            return replace(text, decimal=",")
    return text


def _family_names_and_header(
    text: TextFile, rows: list[list[str]], reading: Reading
) -> tuple[str, list[str], bool]:
    """The family of the file, the names of its columns and whether the first row holds them."""
    where = f"{text.file}, line {text.head[0][0]}"
    format, columns = reading.format, reading.columns  # noqa: A001
    # own_label is None without --label-column, which no field equals.
    asked = {*(reading.score or ()), reading.own_label}
    is_key = reading.score == ()  # nothing is asked for but labels
    if columns is not None:
        if len(columns) != len(rows[0]):
            fields = counted(len(rows[0]), "field")
            raise FileFormatError(f"{where}: {fields}, but --columns names {len(columns)}")
        return "table", table_columns.distinct_names(columns, "--columns"), False
    # A header of ids whose corner is empty, above rows of an id and numbers; known names in the first row
    # make it a table that was written with an index, as pandas does.
    known = {folded(field) for field in rows[0]} & table_columns.KNOWN_NAMES
    if format in (None, "matrix") and len(rows[0]) > 1 and not rows[0][0].strip() and not known:
        kinds = kinds_of([row for row in rows[1:] if len(row) == len(rows[0])])
        if kinds and all("N" in kind for kind in kinds[1:]):
            return "matrix", table_columns.unique_names(rows[0]), True
    # Judged without the first row, which may be a header.
    below = kinds_of(rows[1:])
    may_have_header = format in (None, "table", "matrix", "nist", "bob", "asvspoof")
    # a first row that names the ids of both sides and the labels of a key, or what was asked for
    roles_of_key = (table_columns.ENROLL_NAMES, table_columns.TEST_NAMES, table_columns.LABEL_NAMES)
    names_key = all(named(rows[0], usual) for usual in roles_of_key)
    names_roles = {field.strip() for field in rows[0]} & asked or (
        may_have_header and names_key and has_header(rows)
    )
    for key in table_columns.NIST_KEYS:
        if format in (None, "nist") and key.fits(below, text.delimiter) and not names_roles:
            first = kinds_of(rows[:1])
            # How many fields of the first row fit the kinds of the columns, to tell a damaged trial from
            # names.
            alike = sum(want != "*" and want in kind for want, kind in zip(key.holds, first, strict=False))
            header = not key.fits(first, text.delimiter)
            # a damaged trial must not be taken for a header; a name of one letter may be a side, or n
            if header and (len(first) != len(key.holds) or alike > 1):
                width = counted(len(key.holds), "column")
                raise FileFormatError(f"{where}: neither a trial nor names for {width}")
            return "nist", key.names.split(), header
    if names_roles or (may_have_header and has_header(rows)):
        if format == "matrix":
            return "matrix", table_columns.unique_names(rows[0]), True
        return "table", table_columns.distinct_names(rows[0], where), True
    # Short or long lines are refused later, with their number; they must not decide the layout.
    same_width = [row for row in rows if len(row) == len(rows[0])]
    kinds = kinds_of(same_width)
    has_ids = len(kinds) == 4 and format is None
    if (has_ids or len(kinds) == 2) and all("B" in kind for kind in kinds[-2:]):
        after, ids = (" after the ids", "enroll,test,") if has_ids else ("", "")
        raise FileFormatError(
            f"{where}: two columns of nothing but 0 and 1 (or -1 and 1){after}, so which one has the labels "
            f"cannot be told; name them with --columns {ids}label,score or --columns {ids}score,label"
        )
    for layout in table_columns.KEY_LAYOUTS if is_key else table_columns.LAYOUTS:
        if format in (None, layout.format) and layout.fits(kinds, text.delimiter):
            return layout.format, layout.names.split(), False
    if format is not None:
        shapes = "; ".join(layout.names for layout in table_columns.LAYOUTS if layout.format == format)
        if format == "table":
            shapes = "columns under a header line; without one, name them with --columns"
        shown = f", which is: {shapes}" if shapes else ""
        raise FileFormatError(f"{where}: not of format {format}{shown}")
    example = "--key-columns enroll,test,label" if is_key else "--columns enroll,test,score"
    unknown = f"no header line and no known layout ({counted(len(rows[0]), 'column')})"
    raise FileFormatError(f"{where}: {unknown}; name the columns, for example {example}")


def long_table(
    values: Array,
    row_ids: Sequence[str] | pl.Series,
    column_ids: Sequence[str] | pl.Series,
    *,
    name: str = "score",
    mask: Array | None = None,
    more: Mapping[str, Array] | None = None,
) -> pl.DataFrame:
    """One row per cell of a matrix, row by row; only where the mask says so.

    ``more`` holds what else is known of each cell: name -> values that broadcast to the matrix.

    Examples
    --------
    >>> long_table(np.array([[1.0, 2.0]]), ["m"], ["a", "b"], mask=np.array([[False, True]])).rows()
    [('m', 'b', 2.0)]
    """
    # nonzero goes row by row, so the trials come in the order of the matrix.
    rows, columns = np.nonzero(np.ones(values.shape, bool) if mask is None else mask)
    ids = {
        "enroll": pl.Series(row_ids, dtype=pl.String).gather(rows),
        "test": pl.Series(column_ids, dtype=pl.String).gather(columns),
    }
    cells = {name: values, **(more or {})}
    return pl.DataFrame(
        {
            **ids,
            **{key: np.broadcast_to(all_of, values.shape)[rows, columns] for key, all_of in cells.items()},
        }
    )


def read_matrix(text: TextFile, names: Sequence[str]) -> TrialTable:
    """A text with the ids of the columns in its header and the id of each row in its first column."""
    if len(names) < 2:
        raise FileFormatError(f"{text.file}, line 1: a matrix has a column of ids and columns of scores")
    ids = [field.strip() for field in text.head[0][1][1:]]
    # Read whole: the header has the ids of the columns, and one row holds many trials.
    table = pl.concat(piece for _, piece in parse(text, names, header=True, numbers=names[1:], ids=names[:1]))
    row_ids = table.to_series(0)
    if row_ids.has_nulls() or row_ids.n_unique() < table.height:
        raise FileFormatError(f"{text.file}: ids of rows are missing or repeated")
    if "" in ids or len(set(ids)) < len(ids):
        raise FileFormatError(f"{text.file}, line 1: ids are missing or repeated")
    cells = table[:, 1:]
    there = cells.select(pl.all().is_not_null()).to_numpy()  # an empty cell is no trial
    trials = long_table(cells.to_numpy(), row_ids.to_list(), ids, mask=there)
    return TrialTable(text.file, "matrix", trials, Roles(("score",), None, "enroll", "test"))
