"""Tables of any size: each batch of rows is changed and written before the next is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from llrkit._atomic import replacing
from llrkit.errors import FileFormatError, InputError, LlrkitError, UnknownNameError
from llrkit.io.text import delimiter_of

RAW = "raw_score"
"""Where the score before calibration is kept."""

_WRITERS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".tsv": "tsv", ".txt": "tsv"}


def scan_table(path: str | Path) -> pl.LazyFrame:
    """A Parquet or delimited text table, read when it is needed."""
    file = Path(path)
    if not file.is_file():
        raise FileFormatError(f"{file}: no such file")
    if file.suffix.lower() in (".parquet", ".pq"):
        return pl.scan_parquet(file)
    delimiter = delimiter_of(file)
    if delimiter == " ":
        raise FileFormatError(
            f"{file}: a table with blanks between its columns; use commas or tabs to stream it"
        )
    return pl.scan_csv(file, separator=delimiter, infer_schema=False)


def write_scored(
    table: pl.LazyFrame,
    output: str | Path,
    score_columns: list[str],
    needs: tuple[str, ...],
    llrs: Callable[[npt.NDArray[Any], dict[str, npt.NDArray[Any]], int], npt.NDArray[Any]],
) -> int:
    """Write a table with its scores replaced by LLRs, batch by batch; gives the number of rows.

    ``llrs`` gets the scores of a batch, the columns it needs, and the number of rows before the batch. The
    result is in the column ``score``; a single score that was there before is kept as ``raw_score``.
    """
    target = Path(output)
    kind = _WRITERS.get(target.suffix.lower())
    if kind is None:
        raise InputError(f"{target}: the ending must be one of {', '.join(_WRITERS)}")
    schema = dict(_schema(table))
    for name in (*score_columns, *needs):
        if name not in schema:
            raise UnknownNameError(f"there is no column {name!r}; there are: {', '.join(schema)}")
    keep = RAW if score_columns == ["score"] else None
    out_schema: dict[str, Any] = {**schema, **({keep: pl.Float64} if keep else {}), "score": pl.Float64}
    failure: list[LlrkitError] = []
    rows = 0

    def change(batch: pl.DataFrame) -> pl.DataFrame:
        nonlocal rows
        try:
            columns = [_numbers(batch[name], name, rows) for name in score_columns]
            values = columns[0] if len(columns) == 1 else np.column_stack(columns)
            found = llrs(values, {name: batch[name].to_numpy() for name in needs}, rows)
        except LlrkitError as error:
            failure.append(error)  # polars would wrap it beyond recognition
            raise
        rows += batch.height
        kept = [pl.Series(keep, columns[0])] if keep else []
        return batch.with_columns(*kept, pl.Series("score", found)).select(list(out_schema))

    changed = table.map_batches(change, schema=out_schema, streamable=True)
    try:
        with replacing(target) as temporary:
            if kind == "parquet":
                changed.sink_parquet(temporary)
            else:
                changed.sink_csv(temporary, separator="," if kind == "csv" else "\t")
    except pl.exceptions.PolarsError as error:
        if failure:
            raise failure[0] from None
        raise FileFormatError(f"cannot read the scores ({str(error).splitlines()[0]})") from None
    return rows


def _schema(table: pl.LazyFrame) -> pl.Schema:
    try:
        return table.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise FileFormatError(f"cannot read the table ({str(error).splitlines()[0]})") from None


def _numbers(column: pl.Series, name: str, before: int) -> npt.NDArray[Any]:
    numbers = column.cast(pl.Float64, strict=False)
    bad = numbers.is_null() & column.is_not_null()
    if bad.any():
        row = int(bad.arg_max() or 0)
        raise FileFormatError(f"row {before + row}, column {name!r}: {column[row]!r} is not a number")
    return numbers.fill_null(np.nan).to_numpy()
