"""A program that is told to end leaves nothing half-written behind."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from llrkit._atomic import leave_when_possible, remove_unfinished

GRACE_SECONDS = 3.0
"""How long the program may take to leave its blocks; a long call into compiled code hears of no signal."""


@contextmanager
def ended_cleanly() -> Iterator[None]:
    """SIGTERM and SIGHUP end the block as an error would, and the program at the latest after some seconds.

    Signals that are ignored, as ``nohup`` does, stay so. What is half-written is removed either way.
    """
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    heard = {number for number in (getattr(signal, name) for name in names)
             if signal.getsignal(number) is signal.SIG_DFL}  # fmt: skip
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    before = {number: signal.signal(number, _leave_on_signal) for number in heard}
    # unlike a handler, this is written to at once, whatever the main thread is doing
    wakeup = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_end_program_at_last, args=(reader, heard), daemon=True).start()
    try:
        yield
    except BaseException:
        remove_unfinished()  # what was claimed, but whose block had not begun
        raise
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
        writer.close()


def _leave_on_signal(number: int, _: FrameType | None) -> None:
    leave_when_possible(lambda: sys.exit(128 + number))


def _end_program_at_last(reader: socket.socket, heard: set[int]) -> None:
    with reader:
        while signals := reader.recv(64):
            deadly = heard & set(signals)
            if deadly:
                reader.settimeout(GRACE_SECONDS)
                try:
                    while reader.recv(64):
                        pass
                    return  # the block was left
                except TimeoutError:
                    remove_unfinished()
                    os._exit(128 + min(deadly))
