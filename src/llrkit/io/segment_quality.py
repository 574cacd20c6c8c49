"""Quality measures of segments (durations, noise levels, ...) as columns of the trials they take part in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Unpack

import numpy as np
import polars as pl

from llrkit._format import agreeing, counted, left_out
from llrkit._warn import warn_caller
from llrkit.errors import FileFormatError, InputError, LeftOutWarning
from llrkit.io.binary.bosaris_hdf5 import read_hdf5_quality
from llrkit.io.formats import TextOptions, detect
from llrkit.io.tables_of_paths import read_table
from llrkit.io.text.header_row import named
from llrkit.io.text.layouts import ENROLL_NAMES, TEST_NAMES
from llrkit.io.trial_table import TrialTable

ID_NAMES = ("id", "ids", *TEST_NAMES, *ENROLL_NAMES)


def read_quality(path: str | PathLike[str], **options: Unpack[TextOptions]) -> pl.DataFrame:
    """A table with the id of a segment or model in the column ``id`` and numbers in all others.

    BOSARIS Seg_Quality files (HDF5: ``/ids`` and ``/values``) give ``quality_1``, ``quality_2``, ...; a table
    has a column with an id (``id``, ``segment``, ``utt``, ..., else the first one) and names of its own.
    """
    file = Path(path)
    if file.is_file() and detect(file) == "bosaris":
        ids, values = read_hdf5_quality(file)
        columns: dict[str, object] = {f"quality_{i}": row for i, row in enumerate(values, 1)}
        table = pl.DataFrame({"id": ids, **columns})
    else:
        measures = read_table(path, score=[], **options)
        name = named(measures.table.columns, ID_NAMES) or measures.table.columns[0]
        table = measures.table.rename({name: "id"}).with_columns(pl.col("id").cast(pl.String))
        table = table.select(
            "id", *(_quality_numbers(table[column], measures) for column in table.columns if column != "id")
        )
    if table["id"].is_duplicated().any():
        twice = table["id"].filter(table["id"].is_duplicated())[0]
        raise FileFormatError(f"{path}: {twice!r} occurs more than once")
    return table


def _quality_numbers(column: pl.Series, trials: TrialTable) -> pl.Series:
    numbers = column.cast(pl.Float64, strict=False)
    bad = numbers.is_null() | numbers.is_nan()
    if bad.any():
        row = int(bad.arg_max() or 0)
        raise FileFormatError(f"{trials.place(row)}, column {column.name!r}: {column[row]!r} is not a number")
    return numbers


def with_quality(
    trials: TrialTable,
    path: str | PathLike[str],
    *,
    missing: str = "error",
    **options: Unpack[TextOptions],
) -> TrialTable:
    """Trials with the measures of both sides, as far as their ids are in the file.

    The columns are named ``enroll_<name>`` and ``test_<name>``. A side none of whose ids is known gets none;
    if some are known and some are not, that is an error, or the trials are left out (``missing='drop'``).
    """
    quality = read_quality(path, **options)
    added: list[str] = []
    table = trials.table
    for side, name in (("enroll", trials.enroll), ("test", trials.test)):
        if name is None:
            continue
        renamed = {column: f"{side}_{column}" for column in quality.columns if column != "id"}
        wanted = table.select(pl.col(name).cast(pl.String).alias("id"))
        joined = wanted.join(quality.rename(renamed), on="id", how="left", maintain_order="left").drop("id")
        if joined.width and joined[:, 0].null_count() < joined.height:
            table = table.with_columns(joined)
            added += joined.columns
    if not added:
        raise InputError(f"{path}: none of its ids occurs in {trials.file}")
    return _complete_quality(replace(trials, table=table), added, path, missing)


def _complete_quality(
    trials: TrialTable, added: Sequence[str], path: str | PathLike[str], missing: str
) -> TrialTable:
    lacking = trials.table.select(pl.any_horizontal(pl.col(added).is_null())).to_series()
    if not lacking.any():
        return trials
    n = int(np.count_nonzero(lacking.to_numpy()))
    if missing == "drop":
        lacks = f"no quality measures in {path}"
        said = left_out(n, trials.table.height, f"has {lacks}", f"have {lacks}")
        warn_caller(LeftOutWarning(f"{trials.file}: {said}", n))
        return replace(trials, table=trials.table.filter(~lacking), lines=None)
    row = int(lacking.arg_max() or 0)
    some = f"{counted(n, 'trial')} {agreeing(n, 'has', 'have')}"
    raise FileFormatError(f"{trials.place(row)}: no quality measures in {path}; {some} none")
