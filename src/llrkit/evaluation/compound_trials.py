"""Compound LLRs of a table: every model of a test segment against the other models and the unknown."""

from __future__ import annotations

import numpy as np
import polars as pl

from llrkit.errors import InputError
from llrkit.metrics.primary import compound_llr
from llrkit.scores.roles import require_column
from llrkit.scores.trials import Trials

COLUMN = "compound_llr"


def compound_trials(trials: Trials, *, p_known: float = 0.5, enroll: str = "", test: str = "") -> Trials:
    """LLRs against "another enrolled speaker or an unknown one", for a table with all models of each segment.

    The models that a test segment was compared with are the enrolled speakers; every one must occur once, and
    at least two must. The LLRs are in the new column ``compound_llr``, which becomes the score.

    Parameters
    ----------
    p_known
        The share of known impostors among non-targets, as in :func:`llrkit.compound_llr`.
    enroll, test
        The columns with the models and the test segments; by default those of the table.

    Examples
    --------
    >>> table = {"score": [2.0, -1.0, -3.0], "label": [1, 0, 0], "model": ["a", "b", "c"], "test": ["x"] * 3}
    >>> trials = Trials(table, enroll="model", test="test")
    >>> compound_trials(trials).table["compound_llr"].round(3).to_list()
    [2.503, -1.859, -3.892]
    """
    if trials.roles.n_systems != 1:
        raise InputError(f"compound LLRs are of one system, got {trials.roles.n_systems}")
    models, segments = enroll or trials.enroll, test or trials.test
    if models is None or segments is None:
        raise InputError("compound LLRs need the columns of the models and of the test segments")
    for name in (models, segments):
        require_column(name, trials.table.columns, trials.origin)
    table = trials.table.with_row_index("row number of the trial")
    repeated = table.filter(pl.struct(models, segments).is_duplicated())
    if len(repeated):
        row = repeated.row(0, named=True)
        raise InputError(
            f"{trials.place(row['row number of the trial'])}: model {row[models]!r} meets segment "
            f"{row[segments]!r} more than once; a compound LLR needs one LLR of each enrolled speaker"
        )
    llrs = np.empty(len(table))
    score = table[trials.score[0]].cast(pl.Float64).to_numpy()
    for (segment,), rows in table.group_by(segments, maintain_order=True):
        where = rows["row number of the trial"].to_numpy()
        if len(where) < 2:
            raise InputError(
                f"{trials.place(int(where[0]))}: segment {segment!r} was compared with one model only; a "
                "compound LLR needs at least two enrolled speakers"
            )
        llrs[where] = compound_llr(score[where], p_known)
    with_llrs = trials.table.with_columns(pl.Series(COLUMN, llrs))
    return Trials(
        with_llrs, score=COLUMN, label=trials.label, enroll=models, test=segments, origin=trials.origin
    )
