"""Scores of pairs as trials: all pairs of a matrix, or those of a list of trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from llrkit.errors import FileFormatError
from llrkit.io import read_found
from llrkit.io.found import Found
from llrkit.io.layouts import has_header
from llrkit.io.matrices import long_table
from llrkit.io.text import open_text

Places = npt.NDArray[np.intp]


def all_pairs(
    scores: npt.NDArray[Any],
    enroll: Sequence[str],
    test: Sequence[str],
    *,
    is_target: npt.NDArray[np.bool_] | None = None,
) -> Found:
    """One trial per cell of a matrix of scores, with labels where they are known.

    Examples
    --------
    >>> same = np.array([[True, False]])
    >>> all_pairs(np.array([[1.5, -2.0]]), ["a"], ["x", "y"], is_target=same).table.rows()
    [('a', 'x', 1.5, 'target'), ('a', 'y', -2.0, 'nontarget')]
    """
    table = long_table(scores, list(enroll), list(test))
    label = None
    if is_target is not None:
        label = "label"
        table = table.with_columns(pl.Series(label, np.where(is_target.ravel(), "target", "nontarget")))
    return Found("scores", "", table, ("score",), label, "enroll", "test")


def read_pairs(path: str | PathLike[str]) -> Found:
    """Read a list of trials: the ids of both sides, and labels if there are any.

    Every format that has ids will do (Kaldi, VoxCeleb, NIST, tables with a header); so will two columns
    without a header, enrolment first.
    """
    file = Path(path)
    columns = None
    if file.is_file() and file.suffix.lower() not in (".parquet", ".pq", ".arrow", ".ipc", ".npz", ".h5"):
        rows = [fields for _, fields in open_text(file).head]
        if len(rows[0]) == 2 and not has_header(rows):
            columns = ["enroll", "test"]
    found = read_found(file, columns=columns, score=[])
    if found.enroll is None or found.test is None:
        there = ", ".join(found.table.columns)
        raise FileFormatError(f"{file}: a list of trials needs the ids of both sides; there are: {there}")
    return found


def places_of(pairs: Found, enroll: Sequence[str], test: Sequence[str]) -> tuple[Places, Places]:
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


def with_scores(pairs: Found, scores: npt.NDArray[Any]) -> Found:
    """The trials of a list with their scores, in the order of the list."""
    return replace(pairs, table=pairs.table.with_columns(pl.Series("score", scores)), score=("score",))
