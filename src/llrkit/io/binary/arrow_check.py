"""What the record batches of an Arrow file or stream take in memory, from their headers.

Buffers are packed one by one, each with its unpacked size in front, so nothing needs to be unpacked to know.
The layout is that of Message.fbs, Schema.fbs and File.fbs of the Apache Arrow format, read as flatbuffers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

MAGIC = b"ARROW1"
_CONTINUES = b"\xff\xff\xff\xff"
_DICTIONARY, _RECORDS = 2, 3  # of the union MessageHeader
_LARGEST_HEADER = 1 << 28


def batch_sizes(file: Path) -> list[int]:
    """The unpacked bytes of each record batch and dictionary; ValueError where the headers are broken."""
    size = file.stat().st_size
    with file.open("rb") as raw:
        try:
            is_file = raw.read(len(MAGIC)) == MAGIC
            return list(_blocks_in_footer(raw, size) if is_file else _messages_of_stream(raw, size))
        except (struct.error, IndexError):
            raise ValueError("its description is broken") from None


def _blocks_in_footer(raw: BinaryIO, size: int) -> Iterator[int]:
    """The batches that the footer of a file names; one may be named several times."""
    raw.seek(max(size - 10, 0))
    tail = raw.read(10)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or length > size - 18:
        raise ValueError("the end of the file is missing")
    raw.seek(size - 10 - length)
    footer = _FlatbufferTable.root(raw.read(length))
    for field in (2, 3):  # dictionaries, then batches
        for offset, _, _ in footer.structs(field, "<qi4xq"):
            if not 0 <= offset <= size - 8:
                raise ValueError("a batch lies outside of the file")
            unpacked, _ = _message_at(raw, offset, size)
            yield unpacked or 0


def _messages_of_stream(raw: BinaryIO, size: int) -> Iterator[int]:
    """The batches of a stream, one message after the other."""
    at = 0
    while at + 8 <= size:
        unpacked, at = _message_at(raw, at, size)
        if unpacked is not None:
            yield unpacked


def _message_at(raw: BinaryIO, at: int, size: int) -> tuple[int | None, int]:
    """The unpacked bytes of the message at some place, if it is a batch, and where the next one begins."""
    raw.seek(at)
    head = raw.read(8)
    if head[:4] == _CONTINUES:
        length, at = int.from_bytes(head[4:], "little"), at + 8
    else:  # before version 0.15
        length, at = int.from_bytes(head[:4], "little"), at + 4
    if length == 0:
        return None, size
    if length > min(size - at, _LARGEST_HEADER):
        raise ValueError("a header lies outside of the file")
    raw.seek(at)
    message = _FlatbufferTable.root(raw.read(length))
    at += length
    body = message.number(3, "<q")
    if body < 0 or body > size - at:
        raise ValueError("a batch lies outside of the file")
    kind, header = message.number(1, "<B"), message.table(2)
    if kind == _DICTIONARY and header is not None:
        header = header.table(1)
    is_batch = kind in (_DICTIONARY, _RECORDS) and header is not None
    return _unpacked_buffers(raw, header, at, body) if is_batch and header is not None else None, at + body


def _unpacked_buffers(raw: BinaryIO, batch: _FlatbufferTable, at: int, body: int) -> int:
    packed = batch.table(3) is not None
    total = 0
    for offset, length in batch.structs(2, "<qq"):
        if offset < 0 or length < 0 or offset + length > body:
            raise ValueError("a column lies outside of its batch")
        if packed and length >= 8:
            raw.seek(at + offset)
            announced = int.from_bytes(raw.read(8), "little", signed=True)
            total += length - 8 if announced == -1 else max(announced, 0)
        else:
            total += length
    # a column of nothing but nulls has no buffers, but takes some room for each row
    return max(total, batch.number(0, "<q"))


@dataclass(frozen=True)
class _FlatbufferTable:
    """A table of a flatbuffer: its fields are found through a list of offsets."""

    data: bytes
    at: int

    @classmethod
    def root(cls, data: bytes) -> _FlatbufferTable:
        return cls(data, struct.unpack_from("<I", data, 0)[0])

    def _field(self, number: int) -> int:
        """Where a field is; 0 where it is left out."""
        offsets = self.at - struct.unpack_from("<i", self.data, self.at)[0]
        if offsets < 0:
            raise ValueError("its description is broken")
        size = struct.unpack_from("<H", self.data, offsets)[0]
        place = 4 + 2 * number
        if place + 2 > size:
            return 0
        offset: int = struct.unpack_from("<H", self.data, offsets + place)[0]
        return self.at + offset if offset else 0

    def number(self, field: int, kind: str) -> int:
        where = self._field(field)
        return int(struct.unpack_from(kind, self.data, where)[0]) if where else 0

    def table(self, field: int) -> _FlatbufferTable | None:
        where = self._field(field)
        return (
            _FlatbufferTable(self.data, where + struct.unpack_from("<I", self.data, where)[0])
            if where
            else None
        )

    def structs(self, field: int, kind: str) -> Iterator[tuple[int, ...]]:
        where = self._field(field)
        if not where:
            return
        start = where + struct.unpack_from("<I", self.data, where)[0]
        count, step = struct.unpack_from("<I", self.data, start)[0], struct.calcsize(kind)
        if start + 4 + count * step > len(self.data):
            raise ValueError("its description is broken")
        for i in range(count):
            yield struct.unpack_from(kind, self.data, start + 4 + i * step)
