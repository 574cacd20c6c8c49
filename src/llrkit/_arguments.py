"""Arguments of public functions: what is not of the kind that a signature names is refused with one line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import signature
from itertools import chain
from types import UnionType
from typing import ParamSpec, TypeVar, get_args

import numpy as np

from llrkit.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")
COLUMNS = ("str | Sequence[str]", "str | Sequence[str] | None", "Columns", "Columns | None", "By | None")
"""How signatures say that a parameter names columns."""
Kind = type | UnionType
"""A class, or several: ``Frames | Embeddings``."""


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


def number(value: object, name: str) -> float:
    """A number, which NaN is not; thresholds may be infinite.

    Examples
    --------
    >>> number(float("nan"), "threshold")
    Traceback (most recent call last):
    llrkit.errors.InputError: threshold must be a number, got nan
    """
    if not isinstance(value, (int, float, np.integer, np.floating)) or value != value:
        raise InputError(f"{name} must be a number, got {value!r}")
    return float(value)


def not_negative(value: object, name: str) -> float:
    """A finite number from 0 on.

    Examples
    --------
    >>> not_negative(-1.0, "shrinkage")
    Traceback (most recent call last):
    llrkit.errors.InputError: shrinkage must be a number of at least 0, got -1.0
    """
    if not (isinstance(value, (int, float, np.integer, np.floating)) and 0.0 <= value < np.inf):
        raise InputError(f"{name} must be a number of at least 0, got {value!r}")
    return float(value)


def positive(value: float, name: str) -> float:
    """Check that ``value`` is a finite number above zero.

    Examples
    --------
    >>> positive(2, "sigma")
    2.0
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not 0.0 < number < np.inf:
        raise InputError(f"{name} must be a finite number above 0, got {value!r}")
    return number


def share(value: object, name: str) -> float:
    """A share, from 0 to 1 with both ends.

    Examples
    --------
    >>> share(1.5, "prevalence")
    Traceback (most recent call last):
    llrkit.errors.InputError: prevalence must be between 0 and 1, got 1.5
    """
    if not (isinstance(value, (int, float, np.integer, np.floating)) and 0.0 <= value <= 1.0):
        raise InputError(f"{name} must be between 0 and 1, got {value!r}")
    return float(value)


def of_kind(value: object, kind: Kind, name: str) -> None:
    """Refuse what is not an instance of a class, or of one of several.

    Examples
    --------
    >>> of_kind("scores.csv", dict, "options")
    Traceback (most recent call last):
    llrkit.errors.InputError: options must be a dict, got str
    """
    if not isinstance(value, kind):
        kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
        names = [one.__name__ for one in kinds]
        article = "an" if names[0][0] in "AEIOUaeiou" else "a"
        raise InputError(f"{name} must be {article} {' or '.join(names)}, got {type(value).__name__}")


def argument_check(
    function: Callable[..., object], kinds: Mapping[str, Kind]
) -> Callable[[tuple[object, ...], Mapping[str, object]], None]:
    """A check of the arguments of a call: of what must be of a class, true or false, or a name of columns."""
    named = signature(function).parameters
    columns = {name for name, parameter in named.items() if parameter.annotation in COLUMNS}
    flags = {name for name, parameter in named.items() if parameter.annotation in ("bool", "bool | None")}
    optional = {name for name, parameter in named.items() if parameter.default is None}

    def check(args: tuple[object, ...], options: Mapping[str, object]) -> None:
        for name, value in chain(zip(named, args, strict=False), options.items()):
            if value is None and name in optional:
                continue
            if name in flags:
                yes_or_no(value, name)
            elif name in kinds:
                of_kind(value, kinds[name], name)
            elif name in columns and not isinstance(value, Iterable):
                raise InputError(f"{name} must be the name of a column or several names, got {value!r}")

    return check


def takes(**kinds: Kind) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function some of whose parameters are of a class each; parameters declared ``bool`` are checked too.

    Examples
    --------
    >>> @takes(names=list)
    ... def counted(names: list[str], *, twice: bool = False) -> int:
    ...     return len(names) * (2 if twice else 1)
    >>> counted(["a", "b"], twice=True)
    4
    >>> counted(["a", "b"], twice="no")
    Traceback (most recent call last):
    llrkit.errors.InputError: twice must be true or false, got 'no'
    >>> counted("a")
    Traceback (most recent call last):
    llrkit.errors.InputError: names must be a list, got str
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        check = argument_check(function, kinds)

        @wraps(function)
        def checked(*args: P.args, **options: P.kwargs) -> R:
            check(args, options)
            return function(*args, **options)

        return checked

    return decorate
