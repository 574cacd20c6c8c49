"""Columns of numbers: which of them NumPy has, and whether floating point holds them exactly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl

from llrkit._arrays import Array
from llrkit.errors import InputError
from llrkit.scores.checked_arrays import EXACT, INEXACT
from llrkit.scores.weights import WEIGHTS_IN_WORDS, acceptable_weights

_WEIGHT_TYPES = (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Null)


def inexact_row(column: pl.Series) -> int | None:
    """The first row with a whole number beyond 2^53, which is not exact as floating point; None without.

    Examples
    --------
    >>> inexact_row(pl.Series([1, 2**53 + 1])), inexact_row(pl.Series([1, 2]))
    (1, None)
    """
    if not column.dtype.is_integer() or column.len() == 0:
        return None
    low, high = column.min(), column.max()
    if low is None or (int(low) >= -EXACT and int(high) <= EXACT):  # type: ignore[arg-type]
        return None
    return next(i for i, value in enumerate(column) if value is not None and abs(value) > EXACT)


def is_wide(dtype: pl.DataType) -> bool:
    """Whether these are whole numbers of more than 64 bits, which NumPy does not have."""
    return dtype.is_integer() and str(dtype).endswith("128")


def is_plain_number(dtype: pl.DataType) -> bool:
    """Whether these are numbers that NumPy has too; decimals and 128 bits are not.

    Examples
    --------
    >>> is_plain_number(pl.Int64()), is_plain_number(pl.Decimal(10, 2)), is_plain_number(pl.Int128())
    (True, False, False)
    """
    return dtype.is_numeric() and not dtype.is_decimal() and not is_wide(dtype)


def as_array(column: pl.Series) -> Array:
    """The values of a column; whole numbers of 128 bits as Python has them."""
    return np.array(column.to_list()) if is_wide(column.dtype) else column.to_numpy()


def require_exact(column: pl.Series, place: Callable[[int], str]) -> None:
    """Refuse scores that are whole numbers beyond 2^53, naming the first."""
    row = inexact_row(column)
    if row is not None:
        raise InputError(f"{place(row)}, column {column.name!r}: {column[row]} {INEXACT}")


def groupable(column: pl.Series, origin: str) -> pl.Series:
    """A column whose values can be told apart: lists, structures and objects are refused."""
    if column.dtype.is_nested() or column.dtype == pl.Object:
        where = f"{origin}, " if origin else ""
        raise InputError(
            f"{where}column {column.name!r}: holds {column.dtype}, expected numbers, text, dates or booleans"
        )
    return column


def weight_numbers(column: pl.Series, origin: str, place: Callable[[int], str]) -> npt.NDArray[np.float64]:
    """The weights of trials; what is none is named by its row."""
    if not column.dtype.is_numeric() and column.dtype not in _WEIGHT_TYPES:
        where = f"{origin}, " if origin else ""
        raise InputError(f"{where}column {column.name!r}: holds {column.dtype}, not weights")
    words = column.dtype in (pl.Categorical, pl.Enum)
    numbers = (column.cast(pl.String) if words else column).cast(pl.Float64, strict=False)
    weights = numbers.fill_null(np.nan).to_numpy()
    bad = ~acceptable_weights(weights)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{place(row)}, column {column.name!r}: the weight is {column[row]!r}, "
            f"expected {WEIGHTS_IN_WORDS}"
        )
    return np.asarray(weights)
