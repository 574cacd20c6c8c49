"""Whether a Parquet file can be what it says: polars ends the whole program where some numbers cannot be.

The footer of every file is looked at, and the headers of all pages of a small one. The numbers of the fields
are those of parquet.thrift of the Apache Parquet format.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from llrkit.io.decompress import ALWAYS_FINE, LARGEST_RATIO

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_DEEPEST = 16


@dataclass
class Reader:
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

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """The fields of a structure by their numbers."""
        fields: dict[int, Any] = {}
        number = 0
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else _unzigzag(self.varint())
            kind = head & 0x0F
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return fields

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _value(self, kind: int, depth: int) -> Any:
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

    def _item(self, kind: int, depth: int) -> Any:
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
            footer = _footer(raw, size)
            for chunk in _chunks(footer, size):
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
            footer = _footer(raw, size)
            groups = [
                sum(_decoded_bytes(column[3]) for column in group[1] if 3 in column) for group in footer[4]
            ]
            return ParquetSize(int(footer[3]), max(groups, default=0.0), float(sum(groups)))
        except (IndexError, KeyError, TypeError, AttributeError):
            raise ValueError("its description is broken") from None


def _decoded_bytes(chunk: dict[int, Any]) -> float:
    """Values times their width; text has a reference of 16 bytes for each value beside its letters."""
    width = _WIDTHS.get(chunk[1], 16)
    letters = max(chunk[6], 0) if chunk[1] in _TEXT else 0
    return float(max(chunk[5], 0)) * width + letters


def _footer(raw: BinaryIO, size: int) -> dict[int, Any]:
    if size < 12:
        raise ValueError("too short")
    raw.seek(size - 8)
    tail = raw.read(8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or length > size - 12:
        raise ValueError("the end of the file is missing")
    raw.seek(size - 8 - length)
    return Reader(raw.read(length)).struct()


def _chunks(footer: dict[int, Any], size: int) -> Iterator[dict[int, Any]]:
    """The description of each column of each group of rows."""
    rows, groups = footer[3], footer[4]
    if rows < 0 or rows != sum(group[3] for group in groups) or any(group[3] < 0 for group in groups):
        raise ValueError("the numbers of rows do not fit together")
    if rows > ALWAYS_FINE and rows > LARGEST_RATIO * size:
        raise ValueError(f"{rows:,} rows in {size:,} bytes")
    for group in groups:
        for column in group[1]:
            chunk = column[3]
            if not 0 <= chunk[7] <= size or chunk[6] < 0 or not 0 <= _start(chunk) <= size - chunk[7]:
                raise ValueError("a column lies outside of the file")
            nested = len(chunk[3]) > 1  # a list in each row, say: as many values as it likes
            if chunk[5] < 0 or (chunk[5] != group[3] and not nested):
                raise ValueError(f"{chunk[5]:,} values in {group[3]:,} rows")
            _refuse_large(chunk[6], chunk[7])
            yield chunk


def _start(chunk: dict[int, Any]) -> int:
    return int(min(chunk[9], chunk.get(11, chunk[9]) or chunk[9]))


def _refuse_large(size: int, packed: int) -> None:
    if size < 0 or packed < 0 or (size > ALWAYS_FINE and size > LARGEST_RATIO * packed):
        raise ValueError(f"{packed:,} bytes that unpack to {size:,}")


def _look_at_pages(raw: BinaryIO, chunk: dict[int, Any], size: int) -> None:
    at, end, left = _start(chunk), _start(chunk) + chunk[7], chunk[5]
    while at < end:
        raw.seek(at)
        reader = Reader(raw.read(min(_LARGEST_HEADER, size - at)))
        page = reader.struct()
        at += reader.at + page[3]
        if page[2] < 0 or page[3] < 0 or at > end:
            raise ValueError("a page lies outside of its column")
        _refuse_large(page[2], page[3])
        about = next((page[kind] for kind in (_DATA, _DICTIONARY, _DATA_2) if kind in page), None)
        if about is None:
            continue
        if about[1] < 0 or (_DICTIONARY in page and about[1] > page[2]):
            raise ValueError(f"a page of {page[2]:,} bytes with {about[1]:,} values")
        if _DATA_2 in page and not (0 <= about[2] <= about[1] and about[5] >= 0 and about[6] >= 0):
            raise ValueError("a page whose counts do not fit together")
        left -= 0 if _DICTIONARY in page else about[1]
    if left:
        raise ValueError("the values in the pages are not as many as announced")
