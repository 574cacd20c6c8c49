"""Warnings that point at the line of the user's program, however deep in llrkit they are given."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_KEPT: ContextVar[tuple[type[Warning], list[str]] | None] = ContextVar("_KEPT", default=None)


def warn_caller(message: str | Warning, category: type[Warning] | None = None) -> None:
    """Warn the first caller that is not llrkit itself, unless somebody keeps such warnings."""
    kept = _KEPT.get()
    if kept is not None and isinstance(message, kept[0]):
        kept[1].append(str(message))
        return
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "llrkit":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def kept_warnings(category: type[Warning]) -> Iterator[list[str]]:
    """What :func:`warn_caller` would warn of, as texts, in this thread only.

    For work that a process elsewhere does: its warnings are shown to nobody, so they travel with the result.

    Examples
    --------
    >>> with kept_warnings(UserWarning) as said:
    ...     warn_caller(UserWarning("2 trials are left out"))
    >>> said
    ['2 trials are left out']
    """
    said: list[str] = []
    token = _KEPT.set((category, said))
    try:
        yield said
    finally:
        _KEPT.reset(token)
