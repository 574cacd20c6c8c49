"""Whether a Parquet file can be what it says: polars ends the whole program where some numbers cannot be.

The footer of every file is looked at, and the headers of all pages of a small one. The numbers of the fields
are those of parquet.thrift of the Apache Parquet format.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias, Union

from llrkit.io.decompress import ALWAYS_FINE, LARGEST_RATIO

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_DEEPEST = 16


Value: TypeAlias = Union[int, bytes, "ThriftStruct", list["Value"], tuple["Value", "Value"]]


class ThriftStruct(dict[int, Value]):
    """The fields of a structure by their numbers; one that is of another kind is a TypeError."""

    def whole(self, number: int) -> int:
        """A whole number."""
        value = self[number]
        if not isinstance(value, int):
            raise TypeError("not a number")
        return value

    def struct(self, number: int) -> ThriftStruct:
        """A structure."""
        return _thrift_struct(self[number])

    def listed(self, number: int) -> list[Value]:
        """A list."""
        value = self[number]
        if not isinstance(value, list):
            raise TypeError("not a list")
        return value

    def structs(self, number: int) -> list[ThriftStruct]:
        """A list of structures."""
        return [_thrift_struct(value) for value in self.listed(number)]


def _thrift_struct(value: Value) -> ThriftStruct:
    if not isinstance(value, ThriftStruct):
        raise TypeError("not a structure")
    return value


@dataclass
class ThriftReader:
    """Reads one structure after another; anything that cannot be is a ValueError or an IndexError."""

    data: bytes
    at: int = 0

    def varint(self) -> int:
        """An unsigned number of up to 64 bits."""
        result = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return result
            shift += 7
            if shift > 63:
                raise ValueError("a number of more than 64 bits")

    def struct(self, depth: int = 0) -> ThriftStruct:
        """The fields of a structure by their numbers."""
        fields = ThriftStruct()
        number = 0
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else _unzigzag(self.varint())
            kind = head & 0x0F
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return fields

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _value(self, kind: int, depth: int) -> Value:
        if depth > _DEEPEST:
            raise ValueError("values inside values without end")
        if kind in (_I16, _I32, _I64):
            return _unzigzag(self.varint())
        if kind in (_TRUE, _FALSE, _BYTE):  # booleans inside lists take a byte
            return self._byte()
        if kind == _DOUBLE:
            return self._bytes(8)
        if kind == _BINARY:
            return self._bytes(self.varint())
        if kind in (_LIST, _SET):
            head = self._byte()
            size = self.varint() if head >> 4 == 15 else head >> 4
            return [self._item(head & 0x0F, depth) for _ in range(self._fits(size))]
        if kind == _MAP:
            size = self._fits(self.varint())
            kinds = self._byte() if size else 0
            return [(self._item(kinds >> 4, depth), self._item(kinds & 0x0F, depth)) for _ in range(size)]
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise ValueError(f"a field of type {kind}")

    def _item(self, kind: int, depth: int) -> Value:
        return self._value(kind, depth + 1)

    def _bytes(self, size: int) -> bytes:
        self.at += self._fits(size)
        return self.data[self.at - size : self.at]

    def _fits(self, size: int) -> int:
        if size > len(self.data) - self.at:
            raise ValueError("more is announced than there is")
        return size


def _unzigzag(value: int) -> int:
    return (value >> 1) ^ -(value & 1)


MAGIC = b"PAR1"
_LARGEST_HEADER = 1 << 16
_DATA, _DICTIONARY, _DATA_2 = 5, 7, 8
_WIDTHS = {0: 1, 1: 4, 2: 8, 3: 12, 4: 4, 5: 8}  # boolean, int32, int64, int96, float, double
_TEXT = (6, 7)  # bytes of any length, and of one length


def refuse_impossible(file: Path, *, pages: bool) -> None:
    """Raise a ValueError that says what cannot be."""
    with file.open("rb") as raw:
        try:
            size = file.stat().st_size
            footer = _parquet_footer_struct(raw, size)
            for chunk in _column_chunks(footer, size):
                if pages:
                    _look_at_pages(raw, chunk, size)
        except (IndexError, KeyError, TypeError, AttributeError):
            raise ValueError("its description is broken") from None


@dataclass(frozen=True)
class ParquetSize:
    """What the values of a Parquet file take in memory, whatever its footer says of their bytes."""

    rows: int
    largest_group: float
    """Bytes of the largest group of rows."""
    total: float


def decoded_size(file: Path) -> ParquetSize:
    """From numbers of values and their widths; the bytes in a footer are those of packed dictionaries."""
    with file.open("rb") as raw:
        try:
            size = file.stat().st_size
            footer = _parquet_footer_struct(raw, size)
            groups = [
                sum(_decoded_bytes(column.struct(3)) for column in group.structs(1) if 3 in column)
                for group in footer.structs(4)
            ]
            return ParquetSize(footer.whole(3), max(groups, default=0.0), float(sum(groups)))
        except (IndexError, KeyError, TypeError, AttributeError):
            raise ValueError("its description is broken") from None


def _decoded_bytes(chunk: ThriftStruct) -> float:
    """Values times their width; text has a reference of 16 bytes for each value beside its letters."""
    width = _WIDTHS.get(chunk.whole(1), 16)
    letters = max(chunk.whole(6), 0) if chunk.whole(1) in _TEXT else 0
    return float(max(chunk.whole(5), 0)) * width + letters


def _parquet_footer_struct(raw: BinaryIO, size: int) -> ThriftStruct:
    if size < 12:
        raise ValueError("too short")
    raw.seek(size - 8)
    tail = raw.read(8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or length > size - 12:
        raise ValueError("the end of the file is missing")
    raw.seek(size - 8 - length)
    return ThriftReader(raw.read(length)).struct()


def _column_chunks(footer: ThriftStruct, size: int) -> Iterator[ThriftStruct]:
    """The description of each column of each group of rows."""
    rows, groups = footer.whole(3), footer.structs(4)
    of_groups = [group.whole(3) for group in groups]
    if rows < 0 or rows != sum(of_groups) or any(n < 0 for n in of_groups):
        raise ValueError("the numbers of rows do not fit together")
    if rows > ALWAYS_FINE and rows > LARGEST_RATIO * size:
        raise ValueError(f"{rows:,} rows in {size:,} bytes")
    for group, n in zip(groups, of_groups, strict=True):
        for column in group.structs(1):
            chunk = column.struct(3)
            values, unpacked, packed = chunk.whole(5), chunk.whole(6), chunk.whole(7)
            if not 0 <= packed <= size or unpacked < 0 or not 0 <= _start_of_chunk(chunk) <= size - packed:
                raise ValueError("a column lies outside of the file")
            nested = len(chunk.listed(3)) > 1  # a list in each row, say: as many values as it likes
            if values < 0 or (values != n and not nested):
                raise ValueError(f"{values:,} values in {n:,} rows")
            _refuse_large_page(unpacked, packed)
            yield chunk


def _start_of_chunk(chunk: ThriftStruct) -> int:
    data = chunk.whole(9)
    return min(data, (chunk.whole(11) if 11 in chunk else data) or data)


def _refuse_large_page(size: int, packed: int) -> None:
    if size < 0 or packed < 0 or (size > ALWAYS_FINE and size > LARGEST_RATIO * packed):
        raise ValueError(f"{packed:,} bytes that unpack to {size:,}")


def _look_at_pages(raw: BinaryIO, chunk: ThriftStruct, size: int) -> None:
    at, end, left = _start_of_chunk(chunk), _start_of_chunk(chunk) + chunk.whole(7), chunk.whole(5)
    while at < end:
        raw.seek(at)
        reader = ThriftReader(raw.read(min(_LARGEST_HEADER, size - at)))
        page = reader.struct()
        unpacked, packed = page.whole(2), page.whole(3)
        at += reader.at + packed
        if unpacked < 0 or packed < 0 or at > end:
            raise ValueError("a page lies outside of its column")
        _refuse_large_page(unpacked, packed)
        about = next((page.struct(kind) for kind in (_DATA, _DICTIONARY, _DATA_2) if kind in page), None)
        if about is None:
            continue
        values = about.whole(1)
        if values < 0 or (_DICTIONARY in page and values > unpacked):
            raise ValueError(f"a page of {unpacked:,} bytes with {values:,} values")
        if _DATA_2 in page and not (
            0 <= about.whole(2) <= values and about.whole(5) >= 0 and about.whole(6) >= 0
        ):
            raise ValueError("a page whose counts do not fit together")
        left -= 0 if _DICTIONARY in page else values
    if left:
        raise ValueError("the values in the pages are not as many as announced")
