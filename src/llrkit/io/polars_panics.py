"""Standard error without the messages of panics in polars, which become errors of ours."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl

_ONE_AT_A_TIME = threading.Lock()


@contextmanager
def no_panic_messages(wanted: bool = True) -> Iterator[None]:
    """What is written to standard error in this block is kept back, and thrown away if polars panics.

    Threads of polars print where in its source they gave up; that helps nobody who has a broken file.
    """
    if not wanted:
        yield
        return
    with _ONE_AT_A_TIME, tempfile.TemporaryFile() as kept:
        try:
            standard_error = os.dup(2)
        except OSError:  # there is none
            yield
            return
        panicked = False
        os.dup2(kept.fileno(), 2)
        try:
            yield
        except pl.exceptions.PanicException:
            panicked = True
            raise
        finally:
            os.dup2(standard_error, 2)
            os.close(standard_error)
            kept.seek(0)
            said = kept.read()
            if said and not panicked and b"panicked at" not in said:
                os.write(2, said)
