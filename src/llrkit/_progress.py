"""How far a long piece of work is, told to whoever is watching; without a watcher nothing happens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Watcher(Protocol):
    """Who is told, for example a progress bar."""

    def begin(self, what: str, total: float | None, unit: str) -> Any:
        """A piece of work begins; gives something to know it by."""

    def advance(self, work: Any, amount: float) -> None:
        """So much more of it is done."""

    def end(self, work: Any) -> None:
        """It is finished, or given up."""


_WATCHER: ContextVar[Watcher | None] = ContextVar("llrkit watcher", default=None)


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Everything in this block is told to a watcher."""
    before = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(before)


@contextmanager
def stage(what: str, total: float | None = None, unit: str = "trials") -> Iterator[Callable[[float], None]]:
    """A piece of work: call what it gives with how much was done since the last call.

    Examples
    --------
    >>> with stage("counting", total=2) as done:
    ...     done(1)
    ...     done(1)
    """
    watcher = _WATCHER.get()
    if watcher is None:
        yield _ignore
        return
    work = watcher.begin(what, total, unit)
    try:
        yield partial(watcher.advance, work)
    finally:
        watcher.end(work)


def tracked(items: Iterable[T], what: str, total: float | None = None, unit: str = "steps") -> Iterator[T]:
    """The same items, each one a step of a piece of work.

    Examples
    --------
    >>> list(tracked("ab", "spelling", total=2))
    ['a', 'b']
    """
    with stage(what, total, unit) as done:
        for item in items:
            yield item
            done(1)


def _ignore(_: float) -> None:
    """Nobody is watching."""
