"""Arrays that were given by a user: made of numbers, checked, and protected from being written to."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array
from llrkit._format import counted
from llrkit.errors import InputError, NaNScoreError
from llrkit.scores.arrays_of_other_libraries import as_numpy
from llrkit.scores.source import each_in_threads, thread_count

Result = TypeVar("Result")

_WORTH_THREADS = 1 << 19
_PIECE = 1 << 21
"""Numbers that a thread copies at a time, at most: many are still in the cache when looked at again."""
EXACT = 1 << 53
INEXACT = (
    "is a whole number beyond 2^53, where different scores become equal; scale or shift the scores first"
)


UNCHANGING_OWNERS = ("bytes", "mmap", "PySeries")
"""Owners of memory that read-only arrays may share: bytes, a file that is mapped, a column of polars."""


def number_array(values: object, what: str) -> Array:
    """An array of float32 or float64; what is not a number is named by its place."""
    return _as_floats(as_numpy(values, what), what)


def _as_floats(array: Array, what: str) -> Array:
    if array.dtype == object or array.dtype.kind in "USOcmM":
        return _floats_from_objects(array, what)
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def score_array(values: object, what: str) -> Array:
    """Scores of one system or of several, read-only."""
    given = as_numpy(values, what)
    array = _as_floats(given, what)
    refuse_inexact(given, what)
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] == 0):
        raise InputError(f"{what} must have shape (n,) or (n, K), got {array.shape}")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    return read_only(array)


def refuse_inexact(whole: Array, what: str) -> None:
    """Refuse whole numbers beyond 2^53 as scores: floating point would make ties of different ones.

    Examples
    --------
    >>> refuse_inexact(np.array([2**53, 2**53 + 1]), "target")
    Traceback (most recent call last):
    llrkit.errors.InputError: target: 9007199254740993 at index 1 is a whole number beyond 2^53, where ...
    """
    if whole.dtype.kind not in "iuO" or whole.size == 0:
        return
    if whole.dtype.kind == "O":
        is_beyond = np.frompyfunc(lambda value: isinstance(value, int) and abs(value) > EXACT, 1, 1)
        beyond = np.asarray(is_beyond(whole), dtype=bool)
    else:
        beyond = (whole > EXACT) | (whole < -EXACT if whole.dtype.kind == "i" else False)
    if beyond.any():
        index = tuple(int(i) for i in np.argwhere(beyond)[0])
        place = index[0] if len(index) == 1 else index
        raise InputError(f"{what}: {whole[index]} at index {place} {INEXACT}")


def beyond_exact(text: str) -> bool:
    """Whether a text is a whole number, written out, that floating point may not hold exactly.

    Examples
    --------
    >>> beyond_exact("9007199254740992"), beyond_exact("-9007199254740993"), beyond_exact("1e300")
    (False, True, False)
    """
    digits = text.strip().lstrip("+-")
    return digits.isdecimal() and (len(digits) > 400 or int(digits) > EXACT)


def _floats_from_objects(array: Array, what: str) -> npt.NDArray[np.float64]:
    converted = np.empty(array.shape, dtype=np.float64)
    for index, value in np.ndenumerate(array):
        try:
            converted[index] = np.nan if value is None else _real_number(value)
        except (TypeError, ValueError):
            place = f" at index {index[0] if len(index) == 1 else index}" if index else ""
            shown = value.item() if isinstance(value, np.generic) else value
            raise InputError(f"{what}: {shown!r}{place} is not a number") from None
    return converted


def _real_number(value: float | str) -> float:
    if isinstance(value, (complex, np.complexfloating)):
        raise TypeError("complex")  # float() would drop the imaginary part
    return float(value)


def read_only(array: Array) -> Array:
    """A view that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def frozen(fresh: Array) -> Array:
    """An array that nobody else has, made read-only."""
    fresh.flags.writeable = False
    return fresh


def unchanging(array: Array, given: object) -> Array:
    """An array made of what was given, or a copy of it if whoever gave it could still write to it.

    What has been counted is kept, so the scores must stay what they were.

    Examples
    --------
    >>> mine = np.array([1.0, 2.0])
    >>> unchanging(mine, mine) is mine, unchanging(frozen(mine), mine) is mine
    (False, True)
    """
    return frozen(array.copy()) if _could_change(array, given) else array


def unchanging_and_smallest(array: Array, given: object) -> tuple[Array, float]:
    """The same array and its smallest value, NaN if there is any; found while what is copied is in the cache.

    Examples
    --------
    >>> unchanging_and_smallest(np.array([1.0, np.nan]), None)
    (array([ 1., nan]), nan)
    """
    if not _could_change(array, given):
        return array, _smallest_of_array(array)
    if array.size < _WORTH_THREADS:
        copy = frozen(array.copy())
        return copy, _smallest_of_array(copy)
    copy = np.empty_like(array)

    def copy_piece(piece: slice) -> float:
        np.copyto(copy[piece], array[piece])
        return float(copy[piece].min())

    smallest = float(np.min(_pieces_in_threads(array, copy_piece)))
    return frozen(copy), smallest


def _could_change(array: Array, given: object) -> bool:
    """Whether an array made of what was given can be written to by whoever gave it."""
    if isinstance(given, (list, tuple)) or (
        isinstance(given, np.ndarray) and not np.may_share_memory(array, given)
    ):
        return False  # a new array was made of it already
    foreign = hasattr(given, "__dlpack__") and not hasattr(given, "__array__")
    return foreign or _is_writeable(array)


def _smallest_of_array(array: Array) -> float:
    if not array.size:
        return math.inf
    if array.size < _WORTH_THREADS:
        return float(array.min())
    return float(np.min(_pieces_in_threads(array, lambda piece: array[piece].min())))


def _pieces_in_threads(array: Array, work: Callable[[slice], Result]) -> list[Result]:
    """What ``work`` makes of the pieces of an array, by a pool of threads."""
    rows = max(1, min(_PIECE * len(array) // array.size, -(-len(array) // thread_count())))
    return each_in_threads(work, [slice(at, at + rows) for at in range(0, len(array), rows)])


def _is_writeable(array: object) -> bool:
    """Whether an array, or what it is a view of, can be written to; Arrow hides arrays of NumPy, for one."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return True
        array = array.base
    return array is not None and type(array).__name__ not in UNCHANGING_OWNERS


def first_nan(array: Array) -> tuple[int, ...] | None:
    """Where the first NaN of an array of numbers is; None if there is none.

    Examples
    --------
    >>> first_nan(np.array([[1.0, np.inf], [0.0, np.nan]])), first_nan(np.array([1.0]))
    ((1, 1), None)
    """
    # min() hands a NaN through and needs no temporary array
    if array.size == 0 or not np.isnan(array.min()):
        return None
    return tuple(np.argwhere(np.isnan(array))[0].tolist())


def refuse_nan(array: Array, what: str, smallest: float | None = None) -> None:
    """Refuse NaN, naming its place; nothing is searched where the smallest value is known and a number."""
    if math.isnan(_smallest_of_array(array) if smallest is None else smallest):
        place = ", system ".join(map(str, first_nan(array) or ()))
        raise NaNScoreError(f"{what}: NaN at index {place}; every trial needs a score (+-inf is allowed)")


def column_array(values: object, scores: Array, name: str) -> Array:
    """The values of a column, one for each score."""
    array = np.asarray(values)
    if array.shape[:1] != scores.shape[:1]:
        has = counted(len(array), "value") if array.ndim else "no values"
        raise InputError(f"column {name!r} has {has} for {counted(scores.shape[0], 'trial')}")
    return unchanging(read_only(array), values)
