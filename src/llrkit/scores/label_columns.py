"""Which rows of a column of a table are targets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from operator import or_
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from llrkit.errors import LabelError
from llrkit.scores.target_labels import ACCEPTED, classify_words

Label: TypeAlias = str | int | float | bool
"""A value of a column of labels."""


def target_rows(
    column: pl.Series, place: Callable[[int], str], expected: Iterable[str] = ()
) -> tuple[npt.NDArray[np.bool_], frozenset[str]]:
    """Which rows of a column of labels are targets, and the words in it (none if it is boolean).

    ``expected`` are words that are likely to occur, for speed.
    """
    if column.has_nulls():
        row = int(column.is_null().arg_max() or 0)
        raise LabelError(f"{place(row)}: no label in column {column.name!r}")
    if column.dtype == pl.Boolean:
        return column.to_numpy(), frozenset()
    if not is_label_type(column.dtype):
        raise LabelError(f"column {column.name!r} holds {column.dtype}, not labels; accepted are {ACCEPTED}")
    distinct, masks = distinct_labels(column, expected)
    words = [
        str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
        for value in distinct
    ]
    meaning = classify_words(words)
    unknown = [value for value, known in zip(distinct, meaning, strict=True) if known is None]
    if unknown or {"0", "-1"} <= set(words):
        where = place(int((column == unknown[0]).arg_max() or 0)) if unknown else column.name
        seen = ", ".join(repr(value) for value in distinct[:5]) + (", ..." if len(distinct) > 5 else "")
        raise LabelError(
            f"{where}: labels in column {column.name!r} are not two classes: saw {seen}; "
            f"accepted are {ACCEPTED}"
        )
    targets = [value for value, known in zip(distinct, meaning, strict=True) if known]
    only = masks.get(targets[0]) if len(targets) == 1 else None
    mask = column.is_in(targets) if only is None else only
    return mask.to_numpy(), frozenset(words)


def is_label_type(dtype: pl.DataType) -> bool:
    """Whether a column of this type can hold labels: words, numbers, or true and false."""
    words = dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null, pl.Boolean)
    return words or dtype.is_integer() or dtype.is_float()


def distinct_labels(
    column: pl.Series, expected: Iterable[str] = ()
) -> tuple[list[Label], dict[Label, pl.Series]]:
    """The values of a column of labels, as they come first, and where some of them are.

    Comparing all rows with the words that are likely is several times faster than looking for distinct ones.
    """
    likely = list(expected) or column.head(1000).unique(maintain_order=True).to_list()
    if column.dtype != pl.String or not 0 < len(likely) <= 4:
        return column.unique(maintain_order=True).to_list(), {}
    masks = {word: column == word for word in likely}
    known = reduce(or_, masks.values())
    there = [word for word, mask in masks.items() if mask.any()]
    return [*there, *([] if known.all() else column.filter(~known).unique(maintain_order=True))], masks
