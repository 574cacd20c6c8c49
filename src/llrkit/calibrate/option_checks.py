"""Checks of the options that several calibrators share."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable

import numpy as np

from llrkit._arrays import Array, FloatArray
from llrkit.errors import InputError, UnknownNameError


def one_of(value: object, known: tuple[str, ...], what: str) -> None:
    """Refuse a name that is not known.

    Examples
    --------
    >>> one_of("guess", ("error", "drop"), "policy")
    Traceback (most recent call last):
    llrkit.errors.UnknownNameError: unknown policy 'guess'; known are error, drop
    """
    if value not in known:
        raise UnknownNameError(f"unknown {what} {value!r}; known are {', '.join(known)}")


def class_weight(alpha: object) -> float:
    """The weight of the targets, from 0 to 1 with both ends; strictly between them is a ``probability``.

    Examples
    --------
    >>> class_weight(1)
    1.0
    """
    if not (isinstance(alpha, (int, float)) and 0.0 <= alpha <= 1.0):
        raise InputError(f"alpha must be between 0 and 1, got {alpha!r}")
    return float(alpha)


def yes_or_no(value: object, name: str) -> bool:
    """True or false and nothing that merely counts as such: "no" would count as true.

    Examples
    --------
    >>> yes_or_no("no", "monotone")
    Traceback (most recent call last):
    llrkit.errors.InputError: monotone must be true or false, got 'no'
    """
    if not isinstance(value, (bool, np.bool_)) and not (isinstance(value, int) and value in (0, 1)):
        raise InputError(f"{name} must be true or false, got {value!r}")
    return bool(value)


def names_of(value: object, what: str) -> tuple[str, ...]:
    """One name or several, as a tuple.

    Examples
    --------
    >>> names_of("snr", "columns"), names_of(["one", "two"], "groups")
    (('snr',), ('one', 'two'))
    """
    if isinstance(value, str):
        return (value,)
    if not (isinstance(value, Iterable) and all(isinstance(name, str) for name in value)):
        raise InputError(f"{what} must be the name of a column or several names, got {reprlib.repr(value)}")
    return tuple(value)


def whole_number(value: object, at_least: int, name: str) -> int:
    """A whole number that is not too small.

    Examples
    --------
    >>> whole_number(2.5, 1, "repeats")
    Traceback (most recent call last):
    llrkit.errors.InputError: repeats must be a whole number of at least 1, got 2.5
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < at_least:
        raise InputError(f"{name} must be a whole number of at least {at_least}, got {value!r}")
    return int(value)


def finite_numbers(values: Array, name: str, role: str) -> FloatArray:
    """A column of finite numbers, also where they were read as text.

    Examples
    --------
    >>> finite_numbers(np.array(["5", "10"]), "seconds", "a condition")
    array([ 5., 10.])
    >>> finite_numbers(np.array(["5", "full"]), "seconds", "a condition")
    Traceback (most recent call last):
    llrkit.errors.InputError: column 'seconds' must hold numbers to be a condition
    """
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"column {name!r} must hold numbers to be {role}") from None
    if not np.isfinite(numbers).all():
        where = int(np.argmin(np.isfinite(numbers)))
        raise InputError(f"column {name!r}: {numbers[where]} at index {where} is not a finite number")
    return numbers
