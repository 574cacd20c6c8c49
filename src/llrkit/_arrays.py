"""The array types that the signatures of all rooms name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, overload

import numpy as np
import numpy.typing as npt

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


def number_or_array(values: float | FloatArray) -> float | FloatArray:
    """A plain number, if an array has no dimensions.

    Examples
    --------
    >>> number_or_array(np.array(2.0)), number_or_array(np.array([2.0]))
    (2.0, array([2.]))
    """
    return float(values) if np.ndim(values) == 0 else values
