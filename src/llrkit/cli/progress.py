"""A progress bar with rate and time left, on a terminal, for anything that takes over two seconds."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from llrkit.base.process import watched_by

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn, Task, TaskID

AFTER_SECONDS = 2.0
"""Shorter work is not worth a bar."""


@contextmanager
def shown_progress(after: float = AFTER_SECONDS) -> Iterator[None]:
    """Work in this block that takes longer than ``after`` seconds is shown on standard error, a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    bar = Bar(after=after)
    with watched_by(bar), closing(bar):
        yield


class Bar:
    """Watches work; draws nothing before ``after`` seconds are over, and leaves nothing behind."""

    def __init__(
        self,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        auto: bool = True,
        after: float = AFTER_SECONDS,
    ) -> None:
        self._console, self._clock, self._auto, self._after = console, clock, auto, after
        self._progress: Progress | None = None
        self._due: float | None = None
        self._shown = False
        self._timer: threading.Timer | None = None

    def begin(self, what: str, total: float | None, unit: str) -> TaskID:
        """A piece of work begins."""
        if self._progress is None:
            self._progress = self._make()
            self._due = self._clock() + self._after
            if self._auto:  # also for work that says nothing on the way
                self._timer = threading.Timer(self._after, self._show)
                self._timer.daemon = True
                self._timer.start()
        task = self._progress.add_task(what, total=total, unit=unit)
        self._show_if_due()
        return task

    def advance(self, work: TaskID, amount: float) -> None:
        """So much more of it is done."""
        if self._progress is not None:
            self._progress.advance(work, amount)
            self._show_if_due()

    def end(self, work: TaskID) -> None:
        """It is finished."""
        if self._progress is not None:
            self._progress.remove_task(work)

    def close(self) -> None:
        """Take the bar away."""
        if self._timer is not None:
            self._timer.cancel()
        if self._progress is not None and self._shown:
            self._progress.stop()
        self._progress, self._shown = None, False

    def _show_if_due(self) -> None:
        if self._due is not None and self._clock() >= self._due:
            self._show()

    def _show(self) -> None:
        if self._progress is not None and not self._shown:
            self._shown = True
            self._progress.start()

    def _make(self) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        class CalmProgress(Progress):
            def refresh(self) -> None:
                """Nothing: a thread redraws it ten times a second, however many pieces of work begin."""

        return (CalmProgress if self._auto else Progress)(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            _bar_rate_column(),
            TimeRemainingColumn(compact=True, elapsed_when_finished=True),
            TextColumn("left"),
            console=self._console or Console(stderr=True),
            auto_refresh=self._auto,
            transient=True,
            get_time=self._clock,
        )


def _bar_rate_column() -> ProgressColumn:
    from rich.progress import ProgressColumn
    from rich.text import Text

    class RateColumn(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(speed_in_words(task.finished_speed or task.speed, task.fields["unit"]))

    return RateColumn()


def speed_in_words(speed: float | None, unit: str) -> str:
    """A speed in words.

    Examples
    --------
    >>> speed_in_words(12_345_678.0, "bytes"), speed_in_words(1234.5, "trials")
    ('12.3 MB/s', '1,234 trials/s')
    >>> speed_in_words(0.25, "steps"), speed_in_words(None, "trials")
    ('0.25 steps/s', '')
    """
    if speed is None:
        return ""
    if unit == "bytes":
        return f"{speed / 1e6:.1f} MB/s"
    return f"{speed:,.0f} {unit}/s" if speed >= 10 else f"{speed:.2f} {unit}/s"
