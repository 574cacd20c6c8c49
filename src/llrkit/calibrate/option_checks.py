"""Checks of the options that several calibrators share."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable

import numpy as np

from llrkit._arguments import share
from llrkit._arrays import Array, FloatArray
from llrkit._format import not_among
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
        raise UnknownNameError(f"unknown {what} {not_among(value, known)}")


def class_weight(alpha: object) -> float:
    """The weight of the targets, from 0 to 1 with both ends; strictly between them is a ``probability``.

    Examples
    --------
    >>> class_weight(1)
    1.0
    """
    return share(alpha, "alpha")


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
