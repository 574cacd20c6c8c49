"""A batch of trials with the LLRs of its scores in a column of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import polars as pl

from llrkit._arrays import Array
from llrkit.errors import InputError
from llrkit.io.checked_trials import with_scores
from llrkit.io.column_roles import llrs_written_by_a_map
from llrkit.io.text.layouts import LLR, LLR_MAP, LOG10_LR
from llrkit.io.trial_table import Scan, TrialTable
from llrkit.scores.roles import require_column

OWN_COLUMNS = (LLR, LOG10_LR, LLR_MAP)
NOTHING_MORE: Mapping[str, Callable[[Array], Array]] = MappingProxyType({})
Llrs = Callable[[Array, dict[str, Array]], Array]


def with_llrs(
    trials: TrialTable,
    llrs: Llrs,
    *,
    made_by: str,
    needs: Sequence[str] = (),
    missing: bool = False,
    base_10: bool = False,
    more: Mapping[str, Callable[[Array], Array]] = NOTHING_MORE,
) -> TrialTable:
    """The same rows with LLRs in the column ``llr`` (``log10_lr`` to base ten); no column is overwritten.

    ``llrs`` gets the scores of all systems and the columns it needs. A missing score is NaN where it is
    allowed, and an error otherwise. ``made_by`` says which map it was, in the column ``llr_map``. Columns of
    these names that were there before are kept as ``llr_before`` and so on, see :func:`kept_as`. ``more``
    are further columns, made of the LLRs in nats.
    """
    for name in (*trials.score, *needs):
        require_column(name, trials.table.columns, trials.file)
    table = with_scores(trials, missing=missing).table
    arrays = [table[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in trials.score]
    values = arrays[0] if len(arrays) == 1 else np.column_stack(arrays)
    llr = llrs(values, {name: table[name].to_numpy() for name in needs}) if len(values) else np.empty(0)
    name, shown = (LOG10_LR, llr / math.log(10.0)) if base_10 else (LLR, llr)
    table = table.rename(kept_as(table.columns, (*OWN_COLUMNS, *more)))
    added: list[pl.Series | pl.Expr] = [pl.Series(name, shown, dtype=pl.Float64)]
    added += [pl.Series(column, np.asarray(make(llr))) for column, make in more.items()]
    added.append(pl.lit(made_by).alias(LLR_MAP))
    return trials.with_table(table.with_columns(added), score=(name,), factor=1.0, calibrated=True)


def kept_as(columns: Sequence[str], names: Sequence[str] = OWN_COLUMNS) -> dict[str, str]:
    """What the columns that make room are called afterwards.

    Examples
    --------
    >>> kept_as(["score", "llr"])
    {'llr': 'llr_before'}
    """
    renamed: dict[str, str] = {}
    for name in names:
        kept = name
        while kept in columns:
            kept += "_before"
        if kept != name:
            renamed[name] = kept
    return renamed


def refuse_calibrated(scan: Scan) -> None:
    """Refuse a file whose scores are LLRs that a calibration wrote, naming the map."""
    written = llrs_written_by_a_map(scan.columns)
    if written is None or scan.like.score != (written,):
        return
    by = ""
    if LLR_MAP in scan.columns:
        first = next(iter(scan.read([LLR_MAP])), None)
        by = f" by {first.table[LLR_MAP][0]}" if first is not None and first.table.height else ""
    raise InputError(
        f"{scan.like.file}: already calibrated{by} (column {written!r}); name the raw scores with "
        "--score-column, or insist with --force"
    )
