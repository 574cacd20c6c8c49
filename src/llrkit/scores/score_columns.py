"""Columns of whole numbers as scores: whether floating point holds them exactly."""

from __future__ import annotations

import polars as pl

from llrkit.scores.checked_arrays import EXACT


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
