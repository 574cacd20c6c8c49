"""Lists of trials: pairs of an enrolled model and a test utterance, with labels if there are any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from llrkit._arrays import Array
from llrkit.errors import FileFormatError
from llrkit.io.tables_of_paths import read_table
from llrkit.io.text.header_row import has_header
from llrkit.io.text.lines import open_text
from llrkit.io.trial_table import TrialTable

_WITHOUT_TEXT = (".parquet", ".pq", ".arrow", ".ipc", ".npz", ".h5")


def read_trial_list(path: str | PathLike[str]) -> TrialTable:
    """Read a list of trials: the ids of both sides, and labels if there are any.

    Every format that has ids will do (Kaldi, VoxCeleb, NIST, tables with a header); so will two columns
    without a header, enrollment first.
    """
    file = Path(path)
    columns = None
    if file.is_file() and file.suffix.lower() not in _WITHOUT_TEXT:
        rows = [fields for _, fields in open_text(file).head]
        if len(rows[0]) == 2 and not has_header(rows):
            columns = ["enroll", "test"]
    trial_list = read_table(file, columns=columns, score=[])
    if trial_list.enroll is None or trial_list.test is None:
        names = ", ".join(trial_list.table.columns)
        raise FileFormatError(f"{file}: a list of trials needs the ids of both sides; there are: {names}")
    return trial_list


def find_listed(
    trial_list: TrialTable, enroll: Sequence[str], test: Sequence[str]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Row and column of each listed trial in the matrix of all pairs; an error names the first unknown id.

    Examples
    --------
    >>> from llrkit.scores.roles import Roles
    >>> table = pl.DataFrame({"model": ["b", "a"], "segment": ["x", "x"]})
    >>> roles = Roles((), enroll="model", test="segment")
    >>> find_listed(TrialTable("list", "", table, roles), ["a", "b"], ["x"])
    (array([1, 0]), array([0, 0]))
    """
    found_at = []
    for column, known, what in (
        (trial_list.enroll, enroll, "enrolled model"),
        (trial_list.test, test, "test utterance"),
    ):
        ids = trial_list.table[column or ""].cast(pl.String)
        numbered = pl.DataFrame({"id": pl.Series(known, dtype=pl.String), "at": np.arange(len(known))})
        places = ids.to_frame("id").join(numbered, on="id", how="left", maintain_order="left")["at"]
        if places.has_nulls():
            row = int(places.is_null().arg_max() or 0)
            raise FileFormatError(f"{trial_list.place(row)}: there is no {what} {ids[row]!r}")
        found_at.append(places.to_numpy().astype(np.intp))
    return found_at[0], found_at[1]


def with_listed_scores(
    trial_list: TrialTable,
    scores: Array,
    labels: npt.NDArray[np.str_] | None = None,
    more: Mapping[str, Array] | None = None,
) -> TrialTable:
    """The list with a score for each of its trials, and labels unless they are None.

    Columns of ``more`` are added, but for those that the list has itself.

    Examples
    --------
    >>> from llrkit.scores.roles import Roles
    >>> table = pl.DataFrame({"m": ["b", "a"], "t": ["x", "x"]})
    >>> pairs = TrialTable("list", "", table, Roles((), enroll="m", test="t"))
    >>> with_listed_scores(pairs, np.array([-2.0, 1.5])).table.rows()
    [('b', 'x', -2.0), ('a', 'x', 1.5)]
    """
    added = [
        pl.Series(name, values)
        for name, values in (more or {}).items()
        if name not in trial_list.table.columns
    ]
    table = trial_list.table.with_columns(pl.Series("score", scores), *added)
    if labels is None:
        return trial_list.with_table(table, score=("score",))
    table = table.with_columns(pl.Series("label", labels))
    return trial_list.with_table(table, score=("score",), label="label")
