"""Standard input, output and error that can be used: none of them closed, every text printable."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from pathlib import Path
from typing import TextIO


class ClosedOutput(io.TextIOBase):
    """Stands where standard output was closed: what is written to it is an error, not lost."""

    def writable(self) -> bool:
        """It takes text, in order to refuse it."""
        return True

    def write(self, text: str) -> int:
        """Refuse."""
        raise OSError(errno.EBADF, "standard output is closed")


def make_usable() -> None:
    """Put something in the place of closed streams, and let them take any text.

    A program may be started with closed streams (``>&-``). The numbers of their descriptors would then be
    given to the next files that are opened, and messages would end up in these. A terminal that lacks a
    character, and a file name that is no text, are shown with escapes.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    sys.stdin = sys.stdin or Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    sys.stdout = sys.stdout or _closed_output()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _closed_output() -> TextIO:
    return ClosedOutput()  # type: ignore[return-value]


def flush_output() -> None:
    """Write what is waiting; a full disk or a reader that has gone shows here, not after the end."""
    if not isinstance(sys.stdout, ClosedOutput):
        sys.stdout.flush()
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
