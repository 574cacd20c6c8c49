"""Writers: Parquet, Arrow, CSV, TSV, Kaldi, NIST and BOSARIS, each written whole or not at all."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import polars as pl

from llrkit._atomic import replacing
from llrkit.errors import InputError, UnknownNameError
from llrkit.io.found import Found
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
    found = Found(trials.origin, "", trials.table, trials.score, trials.label, trials.enroll, trials.test)
    write_found(found, path, format=format, key=key)


def write_found(
    found: Found,
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    key: str | PathLike[str] | None = None,
) -> None:
    """Write a table with roles; labels may be missing."""
    target = Path(path)
    kind = format or WRITTEN.get(target.suffix.lower())
    if kind is None or kind not in WRITE_FORMATS:
        if format:
            raise UnknownNameError(f"cannot write format {format!r}; there are: {', '.join(WRITE_FORMATS)}")
        raise InputError(
            f"{target}: the ending must be one of {', '.join(WRITTEN)}, or name the format with --to"
        )
    if key is not None and kind not in HAS_OWN_KEY:
        raise InputError(f"{target}: {kind} holds scores and labels in one file; no key is written")
    if kind in ("parquet", "arrow"):
        write_columns(found.table, target, kind)
        return
    if kind == "bosaris":
        from llrkit.io.bosaris import write_hdf5

        write_hdf5(found, target)
        if key is not None:
            write_hdf5(found, Path(key), key=True)
        return
    write_text(found, target, kind)
    if key is not None:
        write_text(found, Path(key), kind, key=True)


def write_columns(table: pl.DataFrame, path: Path, kind: str) -> None:
    """All columns, as Parquet or Arrow."""
    with replacing(path) as temporary:
        if kind == "parquet":
            table.write_parquet(temporary)
        else:
            table.write_ipc(temporary)


def write_text(found: Found, path: Path, kind: str, *, key: bool = False) -> None:
    """A delimited text; Kaldi without header, NIST with the names that NIST uses."""
    table = found.table if kind in ("csv", "tsv") else _trial_table(found, path, kind, key)
    # the shortest digits of a 32-bit float are not those of the same number in 64 bits
    table = table.with_columns(pl.col(pl.Float32).cast(pl.Float64))
    separator = {"csv": ",", "tsv": "\t", "kaldi": " ", "nist": "\t"}[kind]
    with replacing(path) as temporary:
        table.write_csv(
            temporary,
            separator=separator,
            include_header=kind != "kaldi",
            quote_style="necessary" if kind in ("csv", "tsv") else "never",
        )


def _trial_table(found: Found, path: Path, kind: str, key: bool) -> pl.DataFrame:
    if found.enroll is None or found.test is None:
        raise InputError(f"{path}: {kind} needs the ids of both sides of each trial; the table has none")
    if key and found.label is None:
        raise InputError(f"{path}: there are no labels to write")
    if not key and len(found.score) != 1:
        raise InputError(f"{path}: {kind} holds one score per trial, not {len(found.score)}")
    ids = [pl.col(found.enroll).cast(pl.String), pl.col(found.test).cast(pl.String)]
    if kind == "nist":
        side = pl.col("side").cast(pl.String) if "side" in found.table.columns else pl.lit("a")
        ids = [ids[0].alias("modelid"), ids[1].alias("segmentid"), side.alias("side")]
    if key:
        is_target = Trials(
            found.table.select(pl.col(found.label or "").alias("label"), score=0.0), origin=found.file
        ).is_target
        words = pl.Series("targettype", is_target).replace_strict(
            {True: "target", False: "nontarget"}, return_dtype=pl.String
        )
        table = found.table.select(*ids).with_columns(words)
    else:
        table = found.table.select(*ids, pl.col(found.score[0]).alias("LLR"))
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
            raise InputError(f"{path}: {kind} cannot hold the id {value!r}")
