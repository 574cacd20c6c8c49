"""How far a long piece of work is, told to whoever is watching; without a watcher nothing happens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from typing import Protocol, TypeAlias, TypeVar

T = TypeVar("T")
Work = TypeVar("Work")


class Watcher(Protocol[Work]):
    """Who is told, for example a progress bar."""

    def begin(self, what: str, total: float | None, unit: str) -> Work:
        """A piece of work begins; gives something to know it by."""
        ...

    def advance(self, work: Work, amount: float) -> None:
        """So much more of it is done."""

    def end(self, work: Work) -> None:
        """It is finished, or given up."""


Done: TypeAlias = Callable[[float], None]
Told: TypeAlias = Callable[[str, float | None, str], AbstractContextManager[Done]]
_TOLD: ContextVar[Told | None] = ContextVar("llrkit watcher", default=None)


@contextmanager
def watched_by(watcher: Watcher[Work]) -> Iterator[None]:
    """Everything in this block is told to a watcher."""
    before = _TOLD.set(partial(_told_of_progress, watcher))
    try:
        yield
    finally:
        _TOLD.reset(before)


@contextmanager
def _told_of_progress(watcher: Watcher[Work], what: str, total: float | None, unit: str) -> Iterator[Done]:
    work = watcher.begin(what, total, unit)
    try:
        yield partial(watcher.advance, work)
    finally:
        watcher.end(work)


def stage(what: str, total: float | None = None, unit: str = "trials") -> AbstractContextManager[Done]:
    """A piece of work: call what it gives with how much was done since the last call.

    Examples
    --------
    >>> with stage("counting", total=2) as done:
    ...     done(1)
    ...     done(1)
    """
    told = _TOLD.get()
    return nullcontext(_ignore_progress) if told is None else told(what, total, unit)


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


def _ignore_progress(_: float) -> None:
    """Nobody is watching."""
