"""Thrift's compact protocol, as far as Parquet uses it: structures as dictionaries of field numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
