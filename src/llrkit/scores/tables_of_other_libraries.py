"""Tables as other libraries hold them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from llrkit.errors import InputError


def own_table(table: object) -> pl.DataFrame:
    """A polars table of anything that can be one, with memory that whoever gave it cannot write to.

    polars takes over arrays of NumPy, pandas and Arrow without a copy, so their numbers are copied here.
    Tables and columns of polars, which cannot be written to, are used as they are.

    Examples
    --------
    >>> import numpy as np
    >>> mine = np.array([1.5, -0.5])
    >>> table = own_table({"score": mine})
    >>> mine[:] = 0.0
    >>> table["score"].to_list()
    [1.5, -0.5]
    """
    frame = as_table(table)
    if isinstance(table, (pl.DataFrame, pl.LazyFrame)):
        return frame
    safe = (pl.Series, list, tuple)
    columns = table if isinstance(table, Mapping) else {}
    shared = [
        name
        for name, dtype in frame.schema.items()
        if (dtype.is_numeric() or dtype.is_temporal()) and not isinstance(columns.get(name), safe)
    ]
    # Two pieces that become one are always copied; one piece, even a clone, never is.
    numbers = frame.select(shared)
    copy = pl.concat([numbers, numbers.head(1)], rechunk=True).head(frame.height) if shared else numbers
    return frame.with_columns(copy.get_columns())


def as_table(table: object) -> pl.DataFrame:
    """A polars table of anything that can be one: a dict of columns, a pandas table, ..."""
    try:
        if isinstance(table, pl.DataFrame):
            return table
        if isinstance(table, pl.LazyFrame):
            return table.collect()
        foreign: Any = table  # polars finds out itself what it is
        return pl.from_pandas(foreign) if hasattr(table, "iloc") else pl.DataFrame(foreign)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"cannot make a table of {type(table).__name__}: {error}") from None
