"""Checks of the options that several calibrators share."""

from __future__ import annotations

from typing import Any

from llrkit.errors import InputError, UnknownNameError


def one_of(value: Any, known: tuple[str, ...], what: str) -> None:
    """Refuse a name that is not known.

    Examples
    --------
    >>> one_of("guess", ("error", "drop"), "policy")
    Traceback (most recent call last):
    llrkit.errors.UnknownNameError: unknown policy 'guess'; known are error, drop
    """
    if value not in known:
        raise UnknownNameError(f"unknown {what} {value!r}; known are {', '.join(known)}")


def class_weight(alpha: Any) -> float:
    """The weight of the targets, from 0 to 1 with both ends; strictly between them is a ``probability``.

    Examples
    --------
    >>> class_weight(1)
    1.0
    """
    if not (isinstance(alpha, (int, float)) and 0.0 <= alpha <= 1.0):
        raise InputError(f"alpha must be between 0 and 1, got {alpha!r}")
    return float(alpha)
