"""The heaps of HDF5 files, in which text of any length is kept.

The HDF5 library follows the sizes in a heap without looking where they lead; a size of nothing keeps it busy
for ever (version 2.0), which no caller can stop. So heaps are walked through here first.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

from llrkit.errors import FileFormatError

HEAP = b"GCOL\x01\0\0\0"  # signature, version, three bytes that are zero


def refuse_endless_heaps(file: Path) -> None:
    """Raise if a heap holds something that is larger than the heap, or of no size."""
    if not file.stat().st_size:  # nothing cannot be mapped
        return
    with file.open("rb") as raw, mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = data.find(HEAP)
        while at >= 0:
            if not _ends(data, at):
                raise FileFormatError(f"{file}: cannot be read as HDF5 (the heap at byte {at} has no end)")
            at = data.find(HEAP, at + len(HEAP))


def _ends(data: mmap.mmap, start: int) -> bool:
    """Whether going from object to object leads to the end of a heap; sizes have eight bytes."""
    if start + 16 > len(data):
        return False
    end = start + int(struct.unpack_from("<Q", data, start + 8)[0])
    at = start + 16
    if end > len(data):
        return False
    while at + 16 <= end:
        index, size = struct.unpack_from("<H6xQ", data, at)
        step = 16 + (size + 7) // 8 * 8 if index else size  # index 0 is free space, with its header
        if step < 16 or step > end - at:
            return False
        at += step
    return at <= end
