"""Writers: Parquet, Arrow, CSV, TSV, Kaldi, NIST and BOSARIS, each written whole or not at all.

Tables of any size are written batch by batch; only BOSARIS needs all trials at once, for its matrix.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import BinaryIO

import polars as pl

from llrkit._atomic import replacing
from llrkit._format import not_among
from llrkit.errors import InputError, UnknownNameError
from llrkit.io.checked_trials import target_mask_of
from llrkit.io.reading_options import require_text_name
from llrkit.io.trial_table import TrialTable
from llrkit.scores.scores_and_labels import trials_of_table
from llrkit.scores.trials import Trials

WRITTEN = {
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".ipc": "arrow", ".feather": "arrow",
    ".csv": "csv", ".tsv": "tsv", ".h5": "bosaris", ".hdf5": "bosaris", ".kaldi": "kaldi", ".nist": "nist",
}  # fmt: skip
"""What is written for each ending of a name."""
WRITE_FORMATS = tuple(dict.fromkeys(WRITTEN.values()))
HAS_OWN_KEY = ("kaldi", "nist", "bosaris")
"""Formats whose labels are in a file of their own."""


def write_trials(
    trials: Trials,
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    key: str | PathLike[str] | None = None,
) -> None:
    """Write trials in the format of the ending of the name, or in the one that is named.

    Parquet, Arrow, CSV and TSV hold all columns. Kaldi, NIST and BOSARIS hold ids and scores; their labels
    go into a file of their own, ``key``. Numbers are written with the digits it takes to read the same
    number back. BOSARIS files hold a matrix: the order of the trials is lost.

    Parameters
    ----------
    trials
        The trials.
    path
        Where the trials are written.
    format
        Name of the format; by default that of the ending of the file.
    key
        Where labels are written, for formats that keep them apart.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> trials = Trials({"m": ["a", "b"], "t": ["x", "y"], "score": [0.1, -3], "label": [1, 0]},
    ...                 enroll="m", test="t")
    >>> write_trials(trials, folder / "scores.kaldi", key=folder / "trials")
    >>> print((folder / "scores.kaldi").read_text() + (folder / "trials").read_text())
    a x 0.1
    b y -3.0
    a x target
    b y nontarget
    """
    rows = trials_of_table(trials)
    if not isinstance(rows, Trials):
        raise InputError(
            f"write_trials writes rows, got {type(trials).__name__}: give lk.Trials or a data frame with the "
            "columns score and label"
        )
    write_table(table_of(rows), path, format=format, key=key)


def table_of(trials: Trials) -> TrialTable:
    """Trials as a table with roles."""
    return TrialTable(trials.origin, "", trials.table, trials.roles, trials.lines)


def write_table(
    trials: TrialTable,
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    key: str | PathLike[str] | None = None,
) -> None:
    """Write a table with roles; labels may be missing."""
    like = replace(trials, table=trials.table.clear())
    write_batches([trials], like, path, format=format, key=key)


def write_batches(
    batches: Iterable[TrialTable],
    like: TrialTable,
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    key: str | PathLike[str] | None = None,
) -> int:
    """Write tables one after another into one file; gives the number of rows. ``like`` has no rows."""
    target = Path(path)
    kind = written_as(target, format)
    if key is not None and kind not in HAS_OWN_KEY:
        raise InputError(f"{target}: {kind} holds scores and labels in one file; no key is written")
    if kind == "bosaris":
        return _write_matrix(batches, like, target, key)
    if kind in ("parquet", "arrow"):
        return write_columns(batches, like, target, kind)
    return write_text(batches, like, target, kind, None if key is None else Path(key))


def written_as(path: Path, format: str | None) -> str:  # noqa: A002
    """The format to be written: the one that is named, else that of the ending."""
    kind = format or WRITTEN.get(path.suffix.lower())
    if format is not None and format not in WRITE_FORMATS:
        raise UnknownNameError(f"cannot write format {not_among(format, WRITE_FORMATS, '; there are: ')}")
    if kind is None:
        raise InputError(
            f"{path}: the ending must be one of {', '.join(WRITTEN)}, or name the format with --to"
        )
    return kind


def write_columns(batches: Iterable[TrialTable], like: TrialTable, path: Path, kind: str) -> int:
    """All columns, as Parquet or Arrow."""
    from polars.io.plugins import register_io_source

    rows, context = 0, copy_context()
    errors: list[Exception] = []

    def tables(*_: object) -> Iterator[pl.DataFrame]:
        nonlocal rows
        # polars calls this from a thread of its own, which would not know who is watching
        iterator = iter(batches)
        try:
            while (batch := context.run(next, iterator, None)) is not None:
                rows += batch.table.height
                yield batch.table
        except Exception as error:
            errors.append(error)  # polars 1 raises an error of its own instead
            raise

    lazy = register_io_source(tables, schema=like.table.schema)
    require_text_name(path)
    with _writing_fault_named(path), replacing(path) as temporary:
        try:
            if kind == "parquet":
                lazy.sink_parquet(temporary)
            else:
                lazy.sink_ipc(temporary)
        except pl.exceptions.PolarsError:
            if errors:
                raise errors[0] from None
            raise
    return rows


def write_text(
    batches: Iterable[TrialTable], like: TrialTable, path: Path, kind: str, key: Path | None = None
) -> int:
    """A delimited text; Kaldi without header, NIST with the names that NIST uses."""
    rows = 0
    with _writing_fault_named(path), ExitStack() as stack:
        files = [
            (stack.enter_context(stack.enter_context(replacing(name)).open("wb")), of_key)
            for name, of_key in ((path, False), (key, True))
            if name is not None
        ]
        for batch in _first_even_if_empty(batches, like):
            for file, of_key in files:
                _append_batch(_table_as_text(batch, path, kind, of_key), file, kind, header=rows == 0)
            rows += batch.table.height
    return rows


def _first_even_if_empty(batches: Iterable[TrialTable], like: TrialTable) -> Iterator[TrialTable]:
    """Batches with rows; if there is none, one without, so that a header is written."""
    some = False
    for batch in batches:
        if batch.table.height:
            some = True
            yield batch
    if not some:
        yield like


def _table_as_text(trials: TrialTable, path: Path, kind: str, key: bool) -> pl.DataFrame:
    return trials.table if kind in ("csv", "tsv") else _trial_table(trials, path, kind, key)


def _append_batch(table: pl.DataFrame, file: BinaryIO, kind: str, *, header: bool) -> None:
    # the shortest digits of a 32-bit float are not those of the same number in 64 bits
    table.with_columns(pl.col(pl.Float32).cast(pl.Float64)).write_csv(
        file,
        separator={"csv": ",", "tsv": "\t", "kaldi": " ", "nist": "\t"}[kind],
        include_header=header and kind != "kaldi",
        quote_style="necessary" if kind in ("csv", "tsv") else "never",
    )


def _write_matrix(
    batches: Iterable[TrialTable], like: TrialTable, path: Path, key: str | PathLike[str] | None
) -> int:
    from llrkit.io.binary.bosaris_hdf5 import write_hdf5

    table = pl.concat([like.table, *(batch.table for batch in batches)], how="vertical_relaxed")
    trials = replace(like, table=table)
    with _writing_fault_named(path):
        write_hdf5(trials, path)
        if key is not None:
            write_hdf5(trials, Path(key), key=True)
    return table.height


@contextmanager
def _writing_fault_named(path: Path) -> Iterator[None]:
    """What goes wrong in polars while a file is written is a fault of the disk, and named."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        raise OSError(f"{path}: cannot be written ({str(error).strip().splitlines()[0]})") from None


def _trial_table(trials: TrialTable, path: Path, kind: str, key: bool) -> pl.DataFrame:
    if trials.enroll is None or trials.test is None:
        raise InputError(f"{path}: {kind} needs the ids of both sides of each trial; the table has none")
    if key and trials.label is None:
        raise InputError(f"{path}: there are no labels to write")
    if not key and len(trials.score) != 1:
        raise InputError(f"{path}: {kind} holds one score per trial, not {len(trials.score)}")
    ids = [pl.col(trials.enroll).cast(pl.String), pl.col(trials.test).cast(pl.String)]
    if kind == "nist":
        side = pl.col("side").cast(pl.String) if "side" in trials.table.columns else pl.lit("a")
        ids = [ids[0].alias("modelid"), ids[1].alias("segmentid"), side.alias("side")]
    if key:
        is_target, _ = target_mask_of(trials)
        words = pl.Series("targettype", is_target).replace_strict(
            {True: "target", False: "nontarget"}, return_dtype=pl.String
        )
        table = trials.table.select(*ids).with_columns(words)
    else:
        table = trials.table.select(*ids, pl.col(trials.score[0]).alias("LLR"))
    _refuse_blanks(table, path, kind)
    return table


def _refuse_blanks(table: pl.DataFrame, path: Path, kind: str) -> None:
    """Ids are written as they are, so they may not hold what separates them."""
    pattern = r"^$|[\s\"]" if kind == "kaldi" else r"^$|[\t\r\n\"]"
    for name in table.columns:
        if table[name].dtype != pl.String:
            continue
        bad = table[name].is_null() | table[name].str.contains(pattern).fill_null(True)
        if bad.any():
            value = table[name][int(bad.arg_max() or 0)]
            marks = "blanks or quotes" if kind == "kaldi" else "tabs or quotes"
            raise InputError(f"{path}: {kind} cannot hold the id {value!r}: no {marks}; write csv or tsv")
