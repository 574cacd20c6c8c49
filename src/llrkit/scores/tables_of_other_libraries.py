"""Tables as other libraries hold them."""

from __future__ import annotations

from typing import Any

import polars as pl

from llrkit.errors import InputError


def as_table(table: object) -> pl.DataFrame:
    """A polars table of anything that can be one: a dict of columns, a pandas table, ..."""
    try:
        if isinstance(table, pl.LazyFrame):
            return table.collect()
        foreign: Any = table  # polars finds out itself what it is
        return pl.from_pandas(foreign) if hasattr(table, "iloc") else pl.DataFrame(foreign)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"cannot make a table of {type(table).__name__}: {error}") from None
