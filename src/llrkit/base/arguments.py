"""Types of arrays, and the small vocabulary in which functions check their arguments.

A public function checks what it was given in its first lines, by visible calls::

    of_kind(fitted, Map, "fitted")              # an instance of a class, or of one of several
    one_of(policy, ("error", "drop"), "policy") # one of some names
    columns = names_of(columns, "columns")      # one name or several, as a tuple
    bounded = yes_or_no(bounded, "bounded")     # true or false
    repeats = whole_number(repeats, 1, "repeats")
    seed = seed_of(rng)                         # a seed, a generator, or None

and numbers by the range they must be in: :func:`real_number`, :func:`not_negative`, :func:`positive`,
:func:`share` (0 to 1, both ends too). What is refused raises an ``InputError`` that says the name of the
argument, what is accepted and what was given; numbers, names and flags are returned in their plain types.
"""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Iterable, Sequence
from types import UnionType
from typing import Any, Protocol, TypeAlias, get_args, overload

import numpy as np
import numpy.typing as npt

from llrkit.base.text import not_among
from llrkit.errors import InputError, UnknownNameError

ArrayLike: TypeAlias = npt.ArrayLike  # what NumPy makes an array of
Array = npt.NDArray[Any]  # the scalar types of NumPy have no common parent that says more
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.signedinteger]  # counts (int64) and positions (intp)
ComplexArray = npt.NDArray[np.complex128]
BoolArray = npt.NDArray[np.bool_]
DType = np.dtype[Any]
Rows: TypeAlias = slice | IntArray | BoolArray | Sequence[int] | Sequence[bool]
"""Which rows to take: a slice, places, or a mask."""
Counts = Array  # int64, or float64 once weighted


class SupportsArray(Protocol):
    """What NumPy can make an array of: arrays, columns of pandas and polars, tensors."""

    def __array__(self) -> Array:
        """The values as an array."""
        ...


Numbers: TypeAlias = SupportsArray | Sequence["float | Numbers"]
"""Several numbers, as an array or in lists; functions of ``float | Numbers`` return arrays of these."""


class Elementwise(Protocol):
    """A function of a number that gives a number, and of several that gives an array."""

    @overload
    def __call__(self, x: float, /) -> float: ...
    @overload
    def __call__(self, x: Numbers, /) -> FloatArray: ...


RNG = np.random.Generator | int | None
"""A seed, a generator that is drawn from, or None: other numbers each time."""
Kind = type | UnionType
"""A class, or several: ``Frames | Embeddings``."""
_NUMBER = (int, float, np.integer, np.floating)


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


def one_of(value: object, known: Collection[str], what: str) -> None:
    """Refuse a name that is not known.

    Examples
    --------
    >>> one_of("guess", ("error", "drop"), "policy")
    Traceback (most recent call last):
    llrkit.errors.UnknownNameError: unknown policy 'guess'; known are error, drop
    """
    if value not in tuple(known):  # which need not be hashable, as in a dict
        raise UnknownNameError(f"unknown {what} {not_among(value, known)}")


def names_of(value: object, what: str) -> tuple[str, ...]:
    """One name or several, as a tuple.

    Examples
    --------
    >>> names_of("snr", "columns"), names_of(["one", "two"], "groups")
    (('snr',), ('one', 'two'))
    """
    if isinstance(value, str):
        return (value,)
    names = tuple(value) if isinstance(value, Iterable) else (None,)  # an iterator can be read only once
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"{what} must be the name of a column or several names, got {reprlib.repr(value)}")
    return names


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
    return _whole(value, f"{name} must be a whole number of at least {at_least}", at_least)


def _whole(value: object, accepted: str, at_least: int) -> int:
    # True is an int, but not a number of anything
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < at_least:
        raise InputError(f"{accepted}, got {value!r}")
    return int(value)


def real_number(value: object, name: str) -> float:
    """A number, which NaN is not; thresholds may be infinite.

    Examples
    --------
    >>> real_number(float("nan"), "threshold")
    Traceback (most recent call last):
    llrkit.errors.InputError: threshold must be a number, got nan
    """
    if not isinstance(value, _NUMBER) or value != value:  # NaN is not equal to itself
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
    if not (isinstance(value, _NUMBER) and 0.0 <= value < np.inf):
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
        number = np.nan  # refused below like any other
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
    if not (isinstance(value, _NUMBER) and 0.0 <= value <= 1.0):
        raise InputError(f"{name} must be between 0 and 1, got {value!r}")
    return float(value)


def class_weight(alpha: object) -> float:
    """The weight of the targets, from 0 to 1 with both ends; strictly between them is a ``probability``.

    Examples
    --------
    >>> class_weight(1)
    1.0
    """
    return share(alpha, "alpha")


def seed_of(rng: object) -> int:
    """A whole number to begin with: a seed as it is, one drawn from a generator, or a new one for None.

    Examples
    --------
    >>> seed_of(7)
    7
    >>> seed_of(np.random.default_rng(1)) == seed_of(np.random.default_rng(1))
    True
    >>> seed_of(-1)
    Traceback (most recent call last):
    llrkit.errors.InputError: rng must be a whole number of at least 0, a numpy.random.Generator or None, ...
    """
    if rng is None:
        rng = np.random.default_rng()
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**31))
    return _whole(rng, "rng must be a whole number of at least 0, a numpy.random.Generator or None", 0)


def checked_seed(seed: object) -> int:
    """A seed is a whole number from 0 on."""
    return whole_number(seed, 0, "seed")


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
        where = int(np.argmin(np.isfinite(numbers)))  # the first that is not
        raise InputError(f"column {name!r}: {numbers[where]} at index {where} is not a finite number")
    return numbers


def number_or_array(values: float | FloatArray) -> float | FloatArray:
    """A plain number, if an array has no dimensions.

    Examples
    --------
    >>> number_or_array(np.array(2.0)), number_or_array(np.array([2.0]))
    (2.0, array([2.]))
    """
    return float(values) if np.ndim(values) == 0 else values
