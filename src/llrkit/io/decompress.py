"""The bytes of a file, unpacked if it is gzip or zstd; what would fill the memory is refused."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import polars as pl

from llrkit._memory import require_memory
from llrkit._progress import stage
from llrkit.errors import FileFormatError

GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
LARGEST_RATIO, ALWAYS_FINE = 200, 1 << 26
"""Text packs 3 to 20 times; a file that grows 200 times and beyond 64 MB was made to do harm."""

MOST_EMPTY = 5000
"""Each part of a file that was packed in parts ends with an empty member, but not thousands of them."""

_SOON = 1 << 12
_ZSTD_BLOCK = 1 << 17  # no zstd block holds more than 128 KB


def blocks_of(file: Path, size: int = 1 << 24) -> Iterator[bytes]:
    """The content of a file in blocks of about this size, unpacked if it is gzip or zstd.

    Plain files and gzip are never in memory as a whole; zstd is.

    Examples
    --------
    >>> import gzip, tempfile
    >>> file = Path(tempfile.mkdtemp()) / "scores.gz"
    >>> _ = file.write_bytes(gzip.compress(b"1.5 target"))
    >>> list(blocks_of(file))
    [b'1.5 target']
    """
    try:
        total = file.stat().st_size
        with file.open("rb", buffering=0) as raw, stage(f"reading {file.name}", total, "bytes") as done:
            first = raw.read(len(ZSTD))
            if first.startswith(ZSTD):
                blocks = iter([_unzstd(first + raw.read(), file)])
            elif first.startswith(GZIP):
                blocks = _gunzip(first + raw.read(size), raw, size, file)
            else:
                raw.seek(0)
                blocks = _blocks_of_plain_file(raw, size)
            before = 0
            for block in blocks:
                yield block
                done(raw.tell() - before)
                before = raw.tell()
    except OSError as error:
        raise FileFormatError(f"{file}: cannot be read ({error.strerror or error})") from None


def _blocks_of_plain_file(raw: BinaryIO, size: int) -> Iterator[bytes]:
    """Blocks that end with a line where one ends soon enough, so that nobody has to put lines together."""
    start = 0
    while True:
        raw.seek(start + size)
        end = raw.read(_SOON).find(b"\n") + 1
        raw.seek(start)
        block = raw.read(size + end)
        if not block:
            return
        yield block
        start += len(block)


def _refuse_decompression_bomb(size: int, packed: int, file: Path) -> None:
    if size > ALWAYS_FINE and size > LARGEST_RATIO * packed:
        raise FileFormatError(f"{file}: unpacks to more than {LARGEST_RATIO} times its size; not read")


def _gunzip(data: bytes, raw: BinaryIO, size: int, file: Path) -> Iterator[bytes]:
    member, unpacked, empty, held = zlib.decompressobj(wbits=31), 0, 0, 0
    at, step = 0, _SOON
    while True:
        if at == len(data):
            data, at = raw.read(size), 0
        # what a member leaves over is copied: small pieces at its beginning, larger ones where it goes on
        piece = data[at : at + step]
        try:
            block = member.decompress(piece, size)
        except zlib.error as error:
            raise FileFormatError(f"{file}: broken gzip data ({error})") from None
        at += len(piece) - len(member.unused_data if member.eof else member.unconsumed_tail)
        unpacked, held = unpacked + len(block), held + len(block)
        _refuse_decompression_bomb(unpacked, raw.tell(), file)
        if block:
            yield block
        if not member.eof:
            if not piece and not block:
                raise FileFormatError(f"{file}: the gzip data end too early")
            step = min(2 * step, size)
            continue
        empty = 0 if held else empty + 1
        if empty > MOST_EMPTY:
            raise FileFormatError(f"{file}: thousands of empty gzip members in a row; refused as malicious")
        while at < len(data) or (data := raw.read(size)):  # files are padded with zeros
            at = 0 if at >= len(data) else at
            rest = len(data) - at
            at += rest - len(data[at:].lstrip(b"\x00")) if data[at] == 0 else 0
            if at < len(data):
                break
        if at >= len(data):
            return
        if len(data) - at == 1:  # never half of the two bytes
            data, at = data[at:] + raw.read(size), 0
        if not data.startswith(GZIP, at):
            raise FileFormatError(f"{file}: unexpected data follow the gzip data")
        member, step, held = zlib.decompressobj(wbits=31), _SOON, 0  # a file may hold several members


def _unzstd(raw: bytes, file: Path) -> bytes:
    bound = _zstd_bound(raw, file)
    _refuse_decompression_bomb(bound, len(raw), file)
    require_memory(2.0 * bound, str(file))  # lines have a reference each
    try:  # polars unpacks zstd; every line is one field
        lines = pl.read_csv(
            raw, has_header=False, separator="\x01", quote_char=None, infer_schema=False,
            new_columns=["line"],
        )  # fmt: skip
    except (pl.exceptions.PolarsError, OSError) as error:
        first = str(error).strip().split("\n", 1)[0]
        raise FileFormatError(f"{file}: cannot be read as zstd text ({first})") from None
    if lines.width != 1:
        raise FileFormatError(f"{file}: not text inside the zstd data")
    return "\n".join(line or "" for line in lines["line"]).encode()


def _zstd_bound(raw: bytes, file: Path) -> int:
    """How large zstd data can become at most, from the headers of their blocks (RFC 8878)."""
    at, bound = 0, 0
    while at + 4 <= len(raw):
        if raw[at + 1 : at + 4] == b"\x2a\x4d\x18" and raw[at] >> 4 == 5:  # a frame to be skipped
            at += 8 + int.from_bytes(raw[at + 4 : at + 8], "little")
            continue
        if raw[at : at + 4] != ZSTD or at + 5 > len(raw):
            raise FileFormatError(f"{file}: broken zstd data")
        flags = raw[at + 4]
        single, checksum = bool(flags & 0x20), bool(flags & 0x04)
        size_bytes = (1 if single else 0, 2, 4, 8)[flags >> 6]
        at += 5 + (not single) + (0, 1, 2, 4)[flags & 3] + size_bytes
        last = False
        while not last:
            if at + 3 > len(raw):
                raise FileFormatError(f"{file}: the zstd data end too early")
            header = int.from_bytes(raw[at : at + 3], "little")
            last, kind, size = bool(header & 1), header >> 1 & 3, header >> 3
            bound += _ZSTD_BLOCK if kind == 2 else size
            at += 3 + (1 if kind == 1 else size)
        at += 4 * checksum
    return bound
