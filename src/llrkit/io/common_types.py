"""The types of the columns of several files as one table: those that hold the values of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import polars as pl

from llrkit.errors import FileFormatError
from llrkit.io.trial_table import Scan, TrialTable

_WIDTHS: dict[type[pl.DataType], int] = {
    pl.Int8: 8, pl.Int16: 16, pl.Int32: 32, pl.Int64: 64, pl.Int128: 128,
    pl.UInt8: 8, pl.UInt16: 16, pl.UInt32: 32, pl.UInt64: 64,
}  # fmt: skip
_UNITS: tuple[Literal["ms", "us", "ns"], ...] = ("ms", "us", "ns")


@dataclass(frozen=True)
class Wanted:
    """The type that a column gets, the file that needs it, and one that it differs from."""

    type: pl.DataType
    file: str
    differs_from: str = ""

    def file_beside(self, file: str) -> str:
        """A file that is to blame if the values of this one do not fit."""
        return self.differs_from if file == self.file else self.file


def common_type(one: pl.DataType, other: pl.DataType) -> pl.DataType | None:
    """The type that takes the values of both, or None if they are of different kinds.

    Integers next to floats become floats, whose values :func:`cast_exactly` then looks at; integers next to
    text become text, as they are written; truth values, numbers with a fraction and text stay apart.

    Examples
    --------
    >>> common_type(pl.Int64(), pl.Float32()), common_type(pl.Int8(), pl.UInt8())
    (Float64, Int16)
    >>> common_type(pl.Int64(), pl.String()), common_type(pl.Boolean(), pl.Int64())
    (String, None)
    """
    if one == other or other == pl.Null:
        return one
    if one == pl.Null:
        return other
    if one.is_integer() and other.is_integer():
        return _common_integer(one, other)
    if one.is_numeric() and other.is_numeric() and not (one.is_decimal() or other.is_decimal()):
        return pl.Float64()
    if _is_text(one) and _is_text(other):
        return pl.String()
    if (_is_text(one) and other.is_integer()) or (one.is_integer() and _is_text(other)):
        return pl.String()
    if isinstance(one, pl.Datetime) and isinstance(other, pl.Datetime) and one.time_zone == other.time_zone:
        finer = max(_UNITS.index(one.time_unit), _UNITS.index(other.time_unit))
        return pl.Datetime(_UNITS[finer], one.time_zone)
    return None


def _common_integer(one: pl.DataType, other: pl.DataType) -> pl.DataType:
    if one.is_signed_integer() == other.is_signed_integer():
        return max(one, other, key=lambda kind: _WIDTHS.get(type(kind), 128))
    signed, unsigned = (one, other) if one.is_signed_integer() else (other, one)
    needed = max(_WIDTHS.get(type(signed), 128), min(2 * _WIDTHS.get(type(unsigned), 128), 64))
    return {16: pl.Int16, 32: pl.Int32, 64: pl.Int64}.get(needed, pl.Int128)()


def _is_text(kind: pl.DataType) -> bool:
    return kind in (pl.String, pl.Categorical, pl.Enum)


def common_types(files: Sequence[tuple[str, Mapping[str, pl.DataType]]]) -> dict[str, Wanted]:
    """The types of the columns of a table made of several files, in the order of the first file's columns.

    Files with other columns are refused, and so are columns of different kinds.
    """
    (first, schema), *others = files
    common = {name: Wanted(kind, first) for name, kind in schema.items()}
    for file, columns in others:
        if sorted(columns) != sorted(common):
            here, there = ", ".join(common), ", ".join(columns)
            raise FileFormatError(f"{file}: columns {there}, but in {first}: {here}")
        for name, kind in columns.items():
            before = common[name]
            both = common_type(before.type, kind)
            if both is None:
                raise FileFormatError(
                    f"{file}, column {name!r}: holds {kind}, but in {before.file} it holds {before.type}; "
                    "files that are read together need columns of one kind"
                )
            if both != before.type:
                common[name] = Wanted(both, file, before.file)
    return common


def cast_exactly(trials: TrialTable, wanted: Mapping[str, Wanted]) -> TrialTable:
    """A table with its columns as these types; a value that would not stay what it is is an error."""
    table = trials.table
    changed = []
    for name, to in wanted.items():
        if name not in table.columns or table.schema[name] == to.type:
            continue
        before = table[name]
        after = before.cast(to.type, strict=False)
        lost = ~after.cast(before.dtype, strict=False).eq_missing(before)
        if lost.any():
            row = int(lost.arg_max() or 0)
            raise FileFormatError(
                f"{trials.place(row)}, column {name!r}: {before[row]} is not exact as {to.type}, which "
                f"{to.file_beside(trials.file)} needs"
            )
        changed.append(after)
    return replace(trials, table=table.with_columns(changed)) if changed else trials


def types_to_change(schema: Mapping[str, pl.DataType], common: Mapping[str, Wanted]) -> dict[str, Wanted]:
    """The columns of one file that need another type."""
    return {name: to for name, to in common.items() if schema[name] != to.type}


def in_one_schema(scans: Sequence[Scan]) -> list[Scan]:
    """Files that are read one after another, all with the same columns and types."""
    common = common_types([(scan.like.file, scan.like.table.schema) for scan in scans])
    return [_with_types(scan, common) for scan in scans]


def _with_types(scan: Scan, common: Mapping[str, Wanted]) -> Scan:
    changes = types_to_change(scan.like.table.schema, common)
    if not changes and scan.columns == list(common):
        return scan
    like = cast_exactly(replace(scan.like, table=scan.like.table.select(list(common))), changes)

    def read(wanted: Sequence[str]) -> Iterator[TrialTable]:
        return (cast_exactly(batch, changes) for batch in scan.read(wanted))

    return replace(scan, like=like, read=read)


def together(tables: Sequence[TrialTable], name: str) -> TrialTable:
    """The tables of several files as one, in the order of the files."""
    first = tables[0]
    common = common_types([(one.file, one.table.schema) for one in tables])
    parts = [cast_exactly(one, common).table.select(list(common)) for one in tables]
    return TrialTable(name, first.format, pl.concat(parts), first.roles)
