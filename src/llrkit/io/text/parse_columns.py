"""Rows of text as columns of a table, piece by piece.

polars reads what is regular; any other piece is read again line by line, which is slow and decides. Either
way every line that is not blank is a row, or an error names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from dataclasses import field as field_of
from itertools import chain, islice

import numpy as np
import polars as pl

from llrkit._format import counted
from llrkit.errors import FileFormatError
from llrkit.io.polars_panics import no_panic_messages
from llrkit.io.text.delimiter_and_decimals import COMMA_NUMBER, PATTERN, with_point
from llrkit.io.text.lines import NO_SCORE, NUMBER, Piece, TextFile, count_byte, not_a_number
from llrkit.scores.checked_arrays import EXACT, INEXACT, beyond_exact
from llrkit.scores.source import in_order, thread_count

NA = "NA"
"""How R writes what is missing; as an id it is a name like any other."""


@dataclass(frozen=True)
class Columns:
    """The columns of a text: which of them are numbers, and which are ids."""

    names: Sequence[str]
    numbers: Sequence[str]
    ids: Sequence[str] = ()
    no_score: Mapping[str, str] = field_of(default_factory=dict)
    """What stands for a missing score in some columns, where it is not NA."""

    @property
    def types(self) -> dict[str, type[pl.DataType]]:
        """Numbers are floats, everything else is kept as it is written."""
        numbers = set(self.numbers)
        return {name: pl.Float64 if name in numbers else pl.String for name in self.names}

    @property
    def missing(self) -> dict[str, str]:
        """What stands for a missing value in each column, beside nothing at all."""
        ids = set(self.ids)
        return {name: self.no_score.get(name, NA) for name in self.names if name not in ids}


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
    wishes = None if wanted is None else set(wanted)
    columns = [name for name in names if wishes is None or name in wishes]
    whole = Columns(names, numbers, ids, _words_for_none(text, names, numbers))

    def tabled(piece: Piece | FileFormatError) -> tuple[Piece, pl.DataFrame]:
        if isinstance(piece, FileFormatError):
            raise piece
        table = _parse_by_polars(piece, whole, columns)
        if table is not None and piece.decimal == ",":
            table = _with_points(table, whole)
        if table is None:
            table = _parse_by_rows(piece, whole, header).select(columns)
        elif piece.quoted:  # nothing between quotes is nothing, too
            table = table.with_columns(pl.col(pl.String).replace("", None))
        if piece.decimal == ",":
            plain = [name for name in columns if name not in ids and name not in numbers]
            table = table.with_columns(pl.col(plain).str.replace(PATTERN, "$1.$2"))
        for name in numbers:
            if wishes is None or name in wishes:
                _refuse_inexact(piece, table[name], names)
        return piece, table

    pieces = 0
    for piece, table in _tables_in_threads(tabled, text.pieces(skip=text.first_row_ends if header else 0)):
        if table.height:
            yield piece, table
            pieces += 1
    if not pieces:
        yield Piece(text.file, b"", text.delimiter), pl.DataFrame(schema=whole.types).select(columns)


def _words_for_none(text: TextFile, names: Sequence[str], numbers: Sequence[str]) -> dict[str, str]:
    """The word that stands for a missing score in the first lines of some columns; polars takes one."""
    place = {name: at for at, name in enumerate(names)}
    words = {}
    for name in numbers:
        fields = {fields[place[name]] for _, fields in text.head if len(fields) == len(names)}
        said = sorted(word for word in fields - {"", NA} if word.lower() in NO_SCORE)
        if said:
            words[name] = said[0]
    return words


def _tables_in_threads(
    tabled: Callable[[Piece | FileFormatError], tuple[Piece, pl.DataFrame]], pieces: Iterator[Piece]
) -> Iterator[tuple[Piece, pl.DataFrame]]:
    """The tables of pieces in their order; the next ones are read and made meanwhile if there are several."""
    rest = _pieces_and_fault(pieces)
    ahead, workers = list(islice(rest, 2)), thread_count()
    if len(ahead) < 2 or workers == 1:
        yield from map(tabled, chain(ahead, rest))
        return
    with ThreadPoolExecutor(workers) as pool:
        yield from in_order(pool, tabled, chain(ahead, rest), workers)


def _pieces_and_fault(pieces: Iterator[Piece]) -> Iterator[Piece | FileFormatError]:
    """The pieces, and last what was wrong with the text, so that a fault before it is named first."""
    try:
        yield from pieces
    except FileFormatError as fault:
        yield fault


def _parse_by_polars(piece: Piece, whole: Columns, columns: Sequence[str]) -> pl.DataFrame | None:
    """The rows as polars reads them, or None if a line may not have become a whole row."""
    names = whole.names
    if len(columns) < len(names):
        last = names[-1]
        some = _read_piece_by_polars(piece, whole, [*columns, *([] if last in columns else [last])])
        if some is not None and _lines_are_regular(piece, some[last], len(names)):
            return some.select(columns)
    table = _read_piece_by_polars(piece, whole, names)
    return table.select(columns) if table is not None and _rows_are_regular(piece, table) else None


def _with_points(table: pl.DataFrame, whole: Columns) -> pl.DataFrame | None:
    """Columns of text as numbers with decimal commas, or None if some are not; polars takes points too."""
    there = [name for name in whole.numbers if name in table.columns]
    plain = table.select(pl.col(there).str.strip_chars())
    read = plain.select(pl.all().str.replace(PATTERN, "$1.$2").cast(pl.Float64, strict=False))
    for text, numbers in zip(plain, read, strict=True):
        if numbers.null_count() > text.null_count() or text.str.contains(".", literal=True).any():
            return None
    return table.with_columns(read)


def _read_piece_by_polars(piece: Piece, whole: Columns, columns: Sequence[str]) -> pl.DataFrame | None:
    wishes = set(columns)
    try:
        with no_panic_messages(piece.quoted):  # a quote may be all there is in a field
            return pl.read_csv(
                piece.data,
                has_header=False,
                separator=piece.delimiter,
                schema=whole.types if piece.decimal == "." else dict.fromkeys(whole.names, pl.String),
                columns=[i for i, name in enumerate(whole.names) if name in wishes],
                null_values=whole.missing,
            )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError):
        return None


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
    if highest is None or (float(highest) < EXACT and float(lowest) > -EXACT):  # type: ignore[arg-type]
        return
    beyond = ((column.abs() >= EXACT) & column.is_finite()).fill_null(False)
    if not beyond.any():
        return
    at = list(names).index(column.name)
    for (line, fields), is_beyond in zip(piece.rows(), beyond, strict=False):
        if is_beyond and beyond_exact(fields[at]):
            shown = fields[at] if len(fields[at]) <= 40 else fields[at][:40] + "..."
            raise FileFormatError(f"{piece.file}, line {line}, column {column.name!r}: {shown} {INEXACT}")


def _parse_by_rows(piece: Piece, whole: Columns, header: bool) -> pl.DataFrame:
    names, numbers, missing = whole.names, whole.numbers, whole.missing
    columns: list[list[str | None]] = [[] for _ in names]
    place = {name: at for at, name in enumerate(names)}
    at_numbers = [(place[name], name) for name in numbers]
    for line, fields in piece.rows():
        if len(fields) != len(names):
            there = "the header names" if header else "the first line has"
            raise FileFormatError(
                f"{piece.file}, line {line}: {counted(len(fields), 'field')}, but {there} "
                f"{counted(len(names), 'column')}"
            )
        for at, name in at_numbers:
            fields[at] = _number_as_polars(fields[at].strip(), piece, f"line {line}, column {name!r}")
        for name, column, field in zip(names, columns, fields, strict=True):
            column.append(None if field in ("", missing.get(name)) else field)
    table = pl.DataFrame(dict(zip(names, columns, strict=True)), schema=dict.fromkeys(names, pl.String))
    return table.with_columns(pl.col(name).cast(pl.Float64) for name in numbers)


def _number_as_polars(field: str, piece: Piece, where: str) -> str:
    """A number as polars reads it, nothing where it is missing; anything else is an error."""
    if field.lower() in NO_SCORE:
        return ""
    accepted = NUMBER.fullmatch(field) is not None
    if piece.decimal == ",":
        accepted = (accepted and "." not in field) or COMMA_NUMBER.fullmatch(field) is not None
    if not accepted:
        raise not_a_number(f"{piece.file}, {where}", field, piece.decimal)
    return with_point(field) if piece.decimal == "," else field
