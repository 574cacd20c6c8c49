"""Files joined on the ids of the trials: scores with the labels of a key, and several systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from llrkit.errors import FileFormatError, InputError, UnknownNameError
from llrkit.io import read_table
from llrkit.io.found import Found
from llrkit.io.roles import SHOWN, places, repeated

SCORE, LABEL = "score", "label"
_ROW = "_row_of_the_key"
_CHANNELS = ("side", "channel", "chan")


def join_found(scores: Found, key: Found, *, missing: str, duplicates: str) -> Found:
    """Scores with the labels of a key that is in another file, joined on the ids of the trials.

    Rows keep the order of the scores. What ``missing`` and ``duplicates`` accept is in ``roles.py``.
    """
    if key.label is None:
        raise FileFormatError(
            f"{key.file}: a key without labels; its columns: {', '.join(key.table.columns)}"
        )
    if scores.label is not None:  # the key is what counts
        scores = replace(scores, table=scores.table.drop(scores.label))
    renamed, ids = _shared_ids(scores, key)
    left, right = _same_types(scores.table, renamed.table, ids)
    scores, renamed = replace(scores, table=left), replace(renamed, table=right)
    table = _join(left, right, ids)
    if not _one_to_one(table, left, right):
        if duplicates != "keep":
            scores, renamed = (repeated(found, duplicates, ids) for found in (scores, renamed))
        renamed = _one_label_each(renamed, ids)
        if missing == "error":
            _refuse_unmatched(scores, renamed, ids, "no label", renamed.file)
            _refuse_unmatched(renamed, scores, ids, "no score", scores.file)
        table = _join(scores.table, renamed.table, ids).filter(pl.col(_ROW).is_not_null())
        return replace(scores, table=table.drop(_ROW), label=renamed.label, lines=None)
    return replace(scores, table=table.drop(_ROW), label=renamed.label)


def _shared_ids(scores: Found, key: Found) -> tuple[Found, list[str]]:
    """The key with its ids named as in the scores, and the names that both share."""
    label = key.label or ""
    pairs = [(scores.enroll, key.enroll), (scores.test, key.test)]
    both = [(ours, theirs) for ours, theirs in pairs if ours is not None and theirs is not None]
    names = [name for name in key.table.columns if name in scores.table.columns and name != label]
    if both and all((ours is None) == (theirs is None) for ours, theirs in pairs):
        other = {theirs: ours for ours, theirs in both}
        free = [name for name in key.table.columns if name in other or name not in other.values()]
        table = key.table.select(free).rename(other)
        wanted = [*other.values(), *(name for name in _CHANNELS if name in names)]
        return replace(key, table=table, label=other.get(label, label)), wanted
    ids = [name for name in scores.table.columns if name in names and name not in scores.score]
    if not ids:
        raise InputError(f"{key.file}: shares no column with {scores.file} that would identify the trials")
    return key, ids


def _same_types(left: pl.DataFrame, right: pl.DataFrame, ids: list[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    other = [pl.col(name).cast(pl.String) for name in ids if left.schema[name] != right.schema[name]]
    return left.with_columns(other), right.with_columns(other)


def _join(left: pl.DataFrame, right: pl.DataFrame, ids: list[str]) -> pl.DataFrame:
    wanted = [*ids, *(name for name in right.columns if name not in left.columns)]
    right = right.select(wanted).with_row_index(_ROW)
    return left.join(right, on=ids, how="left", maintain_order="left", nulls_equal=True)


def _one_to_one(joined: pl.DataFrame, left: pl.DataFrame, right: pl.DataFrame) -> bool:
    """Whether every row of one side met exactly one of the other."""
    rows = joined[_ROW]
    if not joined.height == left.height == right.height or rows.has_nulls():
        return False
    return joined.height == 0 or bool((np.bincount(rows.to_numpy()) == 1).all())


def _one_label_each(key: Found, ids: list[str]) -> Found:
    """A key in which no trial occurs twice; two labels for one trial are an error whatever the policy."""
    label = key.label or ""
    distinct = key.table.unique(subset=[*ids, label], maintain_order=True)
    twice = distinct.select(pl.struct(ids).is_duplicated()).to_series()
    if twice.any():
        row = " ".join(map(str, distinct.filter(twice).select(ids).row(0)))
        raise FileFormatError(f"{key.file}: trial {row} has more than one label")
    return key if distinct.height == key.table.height else replace(key, table=distinct, lines=None)


def _refuse_unmatched(here: Found, there: Found, ids: list[str], what: str, lacking: str) -> None:
    left = here.table.select(ids).with_row_index(_ROW)
    gone = left.join(there.table, on=ids, how="anti", nulls_equal=True, maintain_order="left")
    if gone.height:
        first = gone.head(SHOWN)
        shown = "; ".join(" ".join(map(str, row)) for row in first.select(ids).rows())
        where = places(here, first[_ROW].to_list())
        raise FileFormatError(f"{lacking}: {what} for {gone.height:,} trials: {shown} ({here.file}, {where})")


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
    """Names of the systems: those of the files, with what it takes to tell them apart (ending, folders)."""
    files = [Path(path).absolute() for path in paths]
    for path, file in zip(paths, files, strict=True):
        if files.count(file) > 1:
            raise InputError(f"{path} is given more than once: a system cannot be fused with itself")
    for folders in range(max(len(file.parts) for file in files)):
        for ending in (False, True):
            names = [
                "/".join([*file.parts[-1 - folders : -1], file.name if ending else file.name.split(".")[0]])
                for file in files
            ]
            if len({*names, SCORE, LABEL}) == len(names) + 2:
                return names
    return [str(file) for file in files]


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
) -> None:
    if missing != "error":
        return
    for here, there, lacking in ((left, right, second), (right, left, first)):
        gone = here.select(keys).join(there.select(keys), on=keys, how="anti", nulls_equal=True)
        if gone.height:
            shown = "; ".join(" ".join(map(str, row)) for row in gone.head(5).rows())
            raise FileFormatError(f"{lacking}: no score for {gone.height:,} trials: {shown}")


def _refuse_other_label(joined: pl.DataFrame, keys: list[str], path: str) -> None:
    if LABEL not in joined.columns:
        return
    both = pl.col(LABEL).is_not_null() & pl.col("_other").is_not_null()
    differs = joined.filter(both & (pl.col(LABEL).cast(pl.String) != pl.col("_other").cast(pl.String)))
    if differs.height:
        row = " ".join(map(str, differs.select(keys).row(0)))
        raise FileFormatError(f"{path}: trial {row} has another label than in the first file")
