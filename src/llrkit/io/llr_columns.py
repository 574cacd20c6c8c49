"""A batch of trials with LLRs in place of its scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from llrkit.io.checks import with_scores
from llrkit.io.trial_table import TrialTable
from llrkit.scores.roles import require_column

SCORE, RAW = "score", "raw_score"
"""Where the LLRs go, and where what was there before is kept."""

Llrs = Callable[[npt.NDArray[Any], dict[str, npt.NDArray[Any]]], npt.NDArray[Any]]


def with_llrs(
    trials: TrialTable, llrs: Llrs, *, needs: Sequence[str] = (), missing: bool = False
) -> TrialTable:
    """The same rows with LLRs in the column ``score``; what was there before is in ``raw_score``.

    ``llrs`` gets the scores of all systems and the columns it needs. A missing score is NaN where it is
    allowed, and an error otherwise.
    """
    for name in (*trials.score, *needs):
        require_column(name, trials.table.columns, trials.file)
    table = with_scores(trials, missing=missing).table
    arrays = [table[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in trials.score]
    values = arrays[0] if len(arrays) == 1 else np.column_stack(arrays)
    llr = llrs(values, {name: table[name].to_numpy() for name in needs}) if len(values) else np.empty(0)
    raw = [table[SCORE].alias(RAW)] if SCORE in table.columns else []
    columns = [*raw, pl.Series(SCORE, llr, dtype=pl.Float64)]
    return trials.with_table(table.with_columns(columns), score=(SCORE,))
