"""Scores of pairs as trials: all pairs of a matrix, or those of a list of trials."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from llrkit.errors import FileFormatError
from llrkit.io.score_matrices import long_table
from llrkit.io.tables import read_table
from llrkit.io.text.layouts import has_header
from llrkit.io.text.lines import open_text
from llrkit.io.trial_table import TrialTable
from llrkit.scores.roles import Roles

Places = npt.NDArray[np.intp]


def all_pairs(
    scores: npt.NDArray[Any],
    enroll: Sequence[str],
    test: Sequence[str],
    *,
    speakers: tuple[Sequence[str], Sequence[str]] | None = None,
) -> TrialTable:
    """One trial per cell of a matrix of scores, but none of a segment against itself (the same id).

    ``speakers`` of both sides give the labels, if they are known.

    Examples
    --------
    >>> all_pairs(np.array([[1.5, -2.0]]), ["a"], ["x", "y"], speakers=(["ann"], ["ann", "bo"])).table.rows()
    [('a', 'x', 1.5, 'target'), ('a', 'y', -2.0, 'nontarget')]
    """
    here, there = (np.asarray(ids, dtype=np.str_) for ids in (enroll, test))
    labels = {} if speakers is None else {"label": _labels(speakers)}
    table = long_table(scores, list(enroll), list(test), mask=here[:, None] != there, more=labels)
    return TrialTable(
        "scores", "", table, Roles(("score",), None if speakers is None else "label", "enroll", "test")
    )


def _labels(speakers: tuple[Sequence[str], Sequence[str]]) -> npt.NDArray[np.str_]:
    """The label of every pair."""
    left, right = (np.asarray(names, dtype=np.str_) for names in speakers)
    return np.where(left[:, None] == right, "target", "nontarget")


def read_pairs(path: str | PathLike[str]) -> TrialTable:
    """Read a list of trials: the ids of both sides, and labels if there are any.

    Every format that has ids will do (Kaldi, VoxCeleb, NIST, tables with a header); so will two columns
    without a header, enrollment first.
    """
    file = Path(path)
    columns = None
    if file.is_file() and file.suffix.lower() not in (".parquet", ".pq", ".arrow", ".ipc", ".npz", ".h5"):
        rows = [fields for _, fields in open_text(file).head]
        if len(rows[0]) == 2 and not has_header(rows):
            columns = ["enroll", "test"]
    found = read_table(file, columns=columns, score=[])
    if found.enroll is None or found.test is None:
        there = ", ".join(found.table.columns)
        raise FileFormatError(f"{file}: a list of trials needs the ids of both sides; there are: {there}")
    return found


def places_of(pairs: TrialTable, enroll: Sequence[str], test: Sequence[str]) -> tuple[Places, Places]:
    """Where the two sides of each trial are among the known ids; the first unknown one is named."""
    at = []
    for column, known, what in (
        (pairs.enroll, enroll, "enrolled model"),
        (pairs.test, test, "test utterance"),
    ):
        ids = pairs.table[column or ""].cast(pl.String)
        order = pl.DataFrame({"id": pl.Series(known, dtype=pl.String), "at": np.arange(len(known))})
        found = ids.to_frame("id").join(order, on="id", how="left", maintain_order="left")["at"]
        if found.has_nulls():
            row = int(found.is_null().arg_max() or 0)
            raise FileFormatError(f"{pairs.place(row)}: there is no {what} {ids[row]!r}")
        at.append(found.to_numpy().astype(np.intp))
    return at[0], at[1]


def listed_pairs(
    scores: npt.NDArray[Any],
    pairs: TrialTable,
    enroll: Sequence[str],
    test: Sequence[str],
    *,
    speakers: tuple[Sequence[str], Sequence[str]] | None = None,
) -> TrialTable:
    """The trials of a list with their scores, in its order.

    Where it has no labels they come from the ``speakers`` of both sides, if these are known.

    Examples
    --------
    >>> table = pl.DataFrame({"m": ["b", "a"], "t": ["x", "x"]})
    >>> pairs = TrialTable("list", "", table, Roles((), enroll="m", test="t"))
    >>> listed_pairs(np.array([[1.5], [-2.0]]), pairs, ["a", "b"], ["x"]).table.rows()
    [('b', 'x', -2.0), ('a', 'x', 1.5)]
    """
    rows, columns = places_of(pairs, enroll, test)
    table = pairs.table.with_columns(pl.Series("score", scores[rows, columns]))
    label = pairs.label
    if label is None and speakers is not None:
        label, table = "label", table.with_columns(pl.Series("label", _labels(speakers)[rows, columns]))
    return pairs.with_table(table, score=("score",), label=label)
