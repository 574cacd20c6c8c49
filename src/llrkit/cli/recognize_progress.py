"""How far the commands of ``llrkit recognize`` are: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import click

from llrkit.base.process import stage

Watch = Callable[[str, int, int], None]
"""Is told what is done, how much of it, and of how much."""
SECONDS_BETWEEN_LINES = 10.0
SHORT_STAGE = 2.0
"""Seconds that a stage must take to be worth a line."""


@contextmanager
def watching() -> Iterator[Watch]:
    """A progress bar for each thing that is done, one after the other; without a terminal plain lines."""
    with ExitStack() as stack:
        lines = None if sys.stderr.isatty() else PlainLines(lambda line: click.echo(line, err=True))
        now, before, advance = "", 0, None

        def watch(what: str, done: int, total: int) -> None:
            nonlocal now, before, advance
            if lines is not None:
                lines.tell(what, done, total)
            if advance is None or now != what:
                stack.close()
                now, before, advance = what, 0, stack.enter_context(stage(what, total, "steps"))
            advance(done - before)
            before = done

        yield watch


class PlainLines:
    """How far a long piece of work is, as lines for a log file: every ten seconds, and when it is done.

    Examples
    --------
    >>> clock = iter([0.0, 5.0, 11.0, 12.0])
    >>> lines = PlainLines(print, clock=lambda: next(clock))
    >>> for done in (1, 2, 3, 4):
    ...     lines.tell("frames", done, 4)
    frames: 3 of 4
    frames: 4 of 4, 12 s
    """

    def __init__(self, say: Callable[[str], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._clock = say, clock
        self._what, self._begun, self._last = "", 0.0, 0.0

    def tell(self, what: str, done: int, total: int) -> None:
        """So much is done."""
        now = self._clock()
        if what != self._what:
            self._what, self._begun, self._last = what, now, now
        if done >= total and now - self._begun >= SHORT_STAGE:
            self._say(f"{what}: {done:,} of {total:,}, {now - self._begun:.0f} s")
        elif done < total and now - self._last >= SECONDS_BETWEEN_LINES:
            self._last = now
            self._say(f"{what}: {done:,} of {total:,}")
