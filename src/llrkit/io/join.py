"""Several systems, one file each, joined into one table on the ids of the trials."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from llrkit.errors import FileFormatError, InputError, UnknownNameError
from llrkit.io import read_table

SCORE, LABEL = "score", "label"


def join_key(
    scores: pl.DataFrame, key: pl.DataFrame, label: str, names: tuple[str, str], ids: Sequence[str] = ()
) -> pl.DataFrame:
    """Scores with the labels of a key that is in another file, joined on the ids of the trials.

    ``names`` are the two files, for messages. A trial that occurs twice, or in only one of the files, is
    an error. Rows keep the order of the scores.
    """
    scores = scores.drop(label, strict=False)  # the key is what counts
    shared = [name for name in scores.columns if name in key.columns]
    keys = list(ids) or shared
    if not keys:
        raise InputError(f"{names[1]}: shares no column with {names[0]} that would identify the trials")
    for path, table in zip(names, (scores, key), strict=True):
        _refuse_repeated(table, keys, path)
    _refuse_missing(scores, key.select(keys), keys, names[0], names[1], "error", "no label", "no score")
    wanted = [*keys, *(name for name in key.columns if name not in scores.columns)]
    return scores.join(key.select(wanted), on=keys, how="left", maintain_order="left", nulls_equal=True)


def join_systems(
    paths: Sequence[str], *, ids: Sequence[str] = (), missing: str = "error", labelled: bool = True
) -> tuple[pl.DataFrame, list[str]]:
    """One row per trial with a score column per file, named after the files; gives the table and the names.

    ``ids`` are the columns that identify a trial; by default all columns the files share except score and
    label. Rows keep the order of the first file. A trial that some file lacks is an error, unless
    ``missing`` is something else: then its score is null.
    """
    names = _names(paths)
    tables = [read_table(path, scores=[SCORE]) for path in paths]
    shared = [
        name for name in tables[0].columns
        if name not in (SCORE, LABEL) and all(name in table.columns for table in tables)
    ]  # fmt: skip
    keys = list(ids) or shared
    if not keys:
        raise InputError(f"{paths[0]}: no columns that identify the trials; name them with --ids")
    for path, table in zip(paths, tables, strict=True):
        _refuse_repeated(table, keys, path)
    joined = tables[0].rename({SCORE: names[0]})
    for path, name, table in zip(paths[1:], names[1:], tables[1:], strict=True):
        wanted = [*keys, SCORE, *([LABEL] if labelled and LABEL in table.columns else [])]
        right = table.select(wanted).rename({SCORE: name, **({LABEL: "_other"} if LABEL in wanted else {})})
        _refuse_missing(joined, right, keys, paths[0], path, missing)
        # nothing is missing on either side unless that was allowed, so "full" adds rows only then
        joined = joined.join(
            right, on=keys, how="full", coalesce=True, maintain_order="left", nulls_equal=True
        )
        if "_other" in joined.columns:
            _refuse_other_label(joined, keys, path)
            joined = joined.with_columns(pl.coalesce(LABEL, "_other").alias(LABEL)).drop("_other")
    return joined, names


def _names(paths: Sequence[str]) -> list[str]:
    names = [Path(path).name.split(".")[0] for path in paths]
    taken = {SCORE, LABEL}
    for i, name in enumerate(names):
        if name in taken or names.count(name) > 1:
            names[i] = f"{name}_{i + 1}"
    return names


def _refuse_repeated(table: pl.DataFrame, keys: list[str], path: str) -> None:
    for name in keys:
        if name not in table.columns:
            there = ", ".join(table.columns)
            raise UnknownNameError(f"{path}: there is no column {name!r}; there are: {there}")
    repeated = table.select(keys).is_duplicated()
    if repeated.any():
        row = table.select(keys).row(int(repeated.arg_max() or 0))
        raise FileFormatError(f"{path}: trial {' '.join(map(str, row))} occurs more than once")


def _refuse_missing(
    left: pl.DataFrame,
    right: pl.DataFrame,
    keys: list[str],
    first: str,
    second: str,
    missing: str,
    lacks_second: str = "no score",
    lacks_first: str = "no score",
) -> None:
    if missing != "error":
        return
    for here, there, lacking, what in (
        (left, right, second, lacks_second),
        (right, left, first, lacks_first),
    ):
        gone = here.select(keys).join(there.select(keys), on=keys, how="anti", nulls_equal=True)
        if gone.height:
            shown = "; ".join(" ".join(map(str, row)) for row in gone.head(5).rows())
            raise FileFormatError(f"{lacking}: {what} for {gone.height:,} trials: {shown}")


def _refuse_other_label(joined: pl.DataFrame, keys: list[str], path: str) -> None:
    if LABEL not in joined.columns:
        return
    both = pl.col(LABEL).is_not_null() & pl.col("_other").is_not_null()
    differs = joined.filter(both & (pl.col(LABEL).cast(pl.String) != pl.col("_other").cast(pl.String)))
    if differs.height:
        row = " ".join(map(str, differs.select(keys).row(0)))
        raise FileFormatError(f"{path}: trial {row} has another label than in the first file")
