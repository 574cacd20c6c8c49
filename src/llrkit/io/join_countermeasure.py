"""Scores of a countermeasure, one for each segment, beside those of speaker verification for each trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from llrkit._format import counted
from llrkit.errors import FileFormatError, LabelError
from llrkit.io.join_systems import named_alike, one_score, trial_columns
from llrkit.io.trial_table import TrialTable


def join_countermeasure(
    asv: TrialTable,
    cm: TrialTable,
    ids: Sequence[str] = (),
    names: Sequence[str] = ("asv", "cm"),
    *,
    labeled: bool = True,
) -> TrialTable:
    """The trials of the first file with the CM scores of their segments, in two columns of these names.

    Files are joined on the columns ``ids``, or all they share but score and label; the second file may have
    segments that no trial needs, and its labels are not looked at. Those of the first are needed if
    ``labeled``.
    """
    asv = one_score(asv)
    cm = named_alike(asv, one_score(cm))
    if labeled and asv.label is None:
        raise LabelError(f"{asv.file}: there are no labels; target, nontarget and spoof are needed")
    keys = trial_columns([asv, cm], ids)
    repeated = cm.table.select(keys).is_duplicated()
    if repeated.any():
        row = cm.table.select(keys).row(int(repeated.arg_max() or 0))
        raise FileFormatError(
            f"{cm.file}: {' '.join(map(str, row))} has more than one score; name the columns that identify "
            "a segment with --ids"
        )
    left = asv.table.rename({asv.score[0]: names[0]})
    if names[1] in left.columns:
        left = left.drop(names[1])
    right = cm.table.select(*(pl.col(key).cast(left.schema[key]) for key in keys),
                            pl.col(cm.score[0]).cast(pl.Float64).alias(names[1]))  # fmt: skip
    joined = left.join(right, on=keys, how="left", maintain_order="left", nulls_equal=True)
    lacking = joined.filter(pl.col(names[1]).is_null())
    if lacking.height:
        shown = "; ".join(" ".join(map(str, row)) for row in lacking.select(keys).head(5).rows())
        raise FileFormatError(f"{cm.file}: no score for {counted(lacking.height, 'trial')}: {shown}")
    return replace(asv.with_table(joined, score=tuple(names)), lines=None)
