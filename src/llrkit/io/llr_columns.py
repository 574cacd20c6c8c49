"""A batch of trials with LLRs in place of its scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from llrkit.errors import UnknownNameError
from llrkit.io.checks import with_scores
from llrkit.io.trial_table import Found

SCORE, RAW = "score", "raw_score"
"""Where the LLRs go, and where what was there before is kept."""

Llrs = Callable[[npt.NDArray[Any], dict[str, npt.NDArray[Any]]], npt.NDArray[Any]]


def scored(found: Found, llrs: Llrs, *, needs: Sequence[str] = (), missing: bool = False) -> Found:
    """The same rows with LLRs in the column ``score``; what was there before is in ``raw_score``.

    ``llrs`` gets the scores of all systems and the columns it needs. A missing score is NaN where it is
    allowed, and an error otherwise.
    """
    for name in (*found.score, *needs):
        if name not in found.table.columns:
            there = ", ".join(found.table.columns)
            raise UnknownNameError(f"{found.file}: there is no column {name!r}; there are: {there}")
    table = with_scores(found, missing=missing).table
    arrays = [table[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in found.score]
    values = arrays[0] if len(arrays) == 1 else np.column_stack(arrays)
    made = llrs(values, {name: table[name].to_numpy() for name in needs}) if len(values) else np.empty(0)
    raw = [table[SCORE].alias(RAW)] if SCORE in table.columns else []
    columns = [*raw, pl.Series(SCORE, made, dtype=pl.Float64)]
    return replace(found, table=table.with_columns(columns), score=(SCORE,))
