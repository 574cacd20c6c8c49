"""Score matrices with ids: one row per model, one column per segment, made into one row per trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from llrkit._arrays import Array
from llrkit.errors import FileFormatError
from llrkit.io.text.lines import TextFile
from llrkit.io.text.parse_columns import parse
from llrkit.io.trial_table import TrialTable
from llrkit.scores.roles import Roles


def long_table(
    values: Array,
    row_ids: Sequence[str] | pl.Series,
    column_ids: Sequence[str] | pl.Series,
    *,
    name: str = "score",
    mask: Array | None = None,
    more: Mapping[str, Array] | None = None,
) -> pl.DataFrame:
    """One row per cell of a matrix, row by row; only where the mask says so.

    ``more`` holds what else is known of each cell: name -> values that broadcast to the matrix.

    Examples
    --------
    >>> long_table(np.array([[1.0, 2.0]]), ["m"], ["a", "b"], mask=np.array([[False, True]])).rows()
    [('m', 'b', 2.0)]
    """
    rows, columns = np.nonzero(np.ones(values.shape, bool) if mask is None else mask)
    return pl.DataFrame(
        {
            "enroll": pl.Series(row_ids, dtype=pl.String).gather(rows),
            "test": pl.Series(column_ids, dtype=pl.String).gather(columns),
            name: values[rows, columns],
            **{
                key: np.broadcast_to(array, values.shape)[rows, columns]
                for key, array in (more or {}).items()
            },
        }
    )


def read_matrix(text: TextFile, names: Sequence[str]) -> TrialTable:
    """A text with the ids of the columns in its header and the id of each row in its first column."""
    if len(names) < 2:
        raise FileFormatError(f"{text.file}, line 1: a matrix has a column of ids and columns of scores")
    ids = [field.strip() for field in text.head[0][1][1:]]
    table = pl.concat(piece for _, piece in parse(text, names, header=True, numbers=names[1:], ids=names[:1]))
    row_ids = table.to_series(0)
    if row_ids.has_nulls() or row_ids.n_unique() < table.height:
        raise FileFormatError(f"{text.file}: ids of rows are missing or repeated")
    if "" in ids or len(set(ids)) < len(ids):
        raise FileFormatError(f"{text.file}, line 1: ids are missing or repeated")
    cells = table[:, 1:]
    there = cells.select(pl.all().is_not_null()).to_numpy()  # an empty cell is no trial
    trials = long_table(cells.to_numpy(), row_ids.to_list(), ids, mask=there)
    return TrialTable(text.file, "matrix", trials, Roles(("score",), None, "enroll", "test"))
