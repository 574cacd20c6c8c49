"""A bar on standard error for anything that takes longer than a moment, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(title: str, total: float) -> Iterator[Callable[[float], None]]:
    """A progress bar; the block gets a function that says how much more is done.

    Examples
    --------
    >>> with progress("counting", 2) as advance:
    ...     advance(1)
    ...     advance(1)
    """
    if not sys.stderr.isatty():
        yield lambda amount: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(),
        console=Console(stderr=True), transient=True,
    )  # fmt: skip
    with bar:
        task = bar.add_task(title, total=total)
        yield lambda amount: bar.advance(task, amount)
