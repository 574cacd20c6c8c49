"""Text that is not UTF-8, made into UTF-8 block by block."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator

from llrkit.errors import FileFormatError


def as_utf8(blocks: Iterable[bytes], encoding: str | None, file: str) -> Iterator[bytes]:
    """Blocks of a file in another encoding as UTF-8; without one they are handed on as they are.

    Examples
    --------
    >>> [block.decode() for block in as_utf8([b"caf", b"\\xe9 1.5"], "latin-1", "scores.txt")]
    ['caf', 'é 1.5', '']
    >>> list(as_utf8([b"1.5 a", b"\\xff\\xff"], "ascii", "scores.txt"))
    Traceback (most recent call last):
    llrkit.errors.FileFormatError: scores.txt, line 1: not ascii text (ordinal not in range(128))
    """
    if encoding is None:
        yield from blocks
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    try:
        for block in blocks:
            text = decoder.decode(block)
            line += text.count("\n")
            yield text.encode()
        yield decoder.decode(b"", final=True).encode()
    except UnicodeError as error:
        if isinstance(error, UnicodeDecodeError):
            line += error.object[: error.start].decode(encoding, "ignore").count("\n")
        reason = getattr(error, "reason", error)
        raise FileFormatError(f"{file}, line {line}: not {encoding} text ({reason})") from None
