"""Numbers and labels as other libraries hold them, made into NumPy arrays; none of these is imported here."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

import numpy as np

from llrkit._arrays import Array, DType
from llrkit.errors import InputError
from llrkit.scores.roles import unnamed_systems

if TYPE_CHECKING:
    from typing_extensions import CapsuleType


@runtime_checkable
class LazyTable(Protocol):
    """A LazyFrame of polars."""

    def collect(self) -> object:
        """The table."""

    def collect_schema(self) -> Mapping[str, object]:
        """The names and types of its columns."""
        ...


@runtime_checkable
class Tensor(Protocol):
    """A tensor of torch."""

    dtype: object

    def detach(self) -> Self:
        """The same without gradients."""
        ...

    def cpu(self) -> Self:
        """The same in the memory of the CPU."""
        ...

    def float(self) -> Self:
        """The same as float32."""
        ...


@runtime_checkable
class SpeaksDLPack(Protocol):
    """An array of another library that can hand over its memory."""

    def __dlpack__(self, *, stream: None = None) -> CapsuleType:
        """The memory."""
        ...


def as_numpy(values: object, what: str) -> Array:
    """A NumPy array of lists, columns of pandas, polars and Arrow, tensors, and whatever speaks DLPack.

    Tensors are detached from their gradients and brought to the CPU; bfloat16, which NumPy does not know,
    becomes float32. A lazy frame of one column is collected. Trailing dimensions of length 1 are left to
    whoever asked.

    Examples
    --------
    >>> import polars as pl
    >>> as_numpy(pl.LazyFrame({"score": [1.5, -0.5]}), "scores").shape
    (2, 1)
    """
    if isinstance(values, np.ndarray):
        # whoever made a masked array imported numpy.ma, which plain arrays need not wait for
        if "numpy.ma" in sys.modules and isinstance(values, np.ma.MaskedArray):
            return _unmasked(values, what)
        return values
    if isinstance(values, LazyTable):
        values = values.collect()
    if isinstance(values, Tensor):
        values = values.detach().cpu()
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values
    try:
        if isinstance(values, SpeaksDLPack) and not hasattr(values, "__array__"):
            return np.from_dlpack(values)
        return np.asarray(values)
    except ValueError as error:  # lists of different lengths
        raise InputError(f"{what} are not an array of numbers ({error})") from None


def column_names(given: object) -> list[object]:
    """The names of the columns of a table, whatever library it is of; none where there are no columns.

    Examples
    --------
    >>> import polars as pl
    >>> column_names(pl.DataFrame({"plda": [1.5], "ecapa": [0.5]})), column_names(np.zeros((1, 2)))
    (['plda', 'ecapa'], [])
    """
    if isinstance(given, Mapping):
        return list(given)
    if isinstance(given, LazyTable):  # its columns are not known at once
        return list(given.collect_schema())
    names = getattr(given, "column_names", getattr(given, "columns", None))  # Arrow, pandas
    return list(names) if isinstance(names, Iterable) else []


def named_systems(scores: object) -> tuple[str, ...]:
    """The names of the systems whose scores are in the columns of a table; () where they have none.

    Columns that pandas numbers are called as those of arrays are, by their numbers: in another order they are
    still told apart. The row of a pandas table has names, too.

    Examples
    --------
    >>> import pandas as pd
    >>> named_systems(pd.DataFrame(np.zeros((1, 2)))[[1, 0]])
    ('system2', 'system1')
    """
    columns = column_names(scores)
    if columns and set(columns) == set(range(len(columns))):
        unnamed = unnamed_systems(len(columns))
        return tuple(unnamed[int(str(number))] for number in columns)
    names: object = columns or getattr(scores, "index", None)
    found = tuple(names) if isinstance(names, Iterable) else ()  # a list has a method of this name
    return found if all(isinstance(name, str) for name in found) else ()


def _unmasked(values: np.ma.MaskedArray[tuple[int, ...], DType], what: str) -> Array:
    """The data of a masked array, where nothing is masked: what the mask hides must not count."""
    hidden = np.argwhere(np.ma.getmaskarray(values))
    if len(hidden):
        raise InputError(f"{what}: masked at index {hidden[0][0]}; leave masked trials out")
    return np.asarray(values.data)


def flat_labels(values: object) -> Array:
    """Labels as an array of one dimension; columns of width one are taken for what they are."""
    array = as_numpy(values, "labels")
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
