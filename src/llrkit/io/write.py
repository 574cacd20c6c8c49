"""Trials and LLRs written as Parquet, Arrow, CSV, TSV, Kaldi, NIST and BOSARIS.

Each file is written whole or not at all. Tables of any size are written batch by batch; only BOSARIS needs
all trials at once, for its matrix.
"""

# ruff: noqa: A002 - options called format name formats

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl

from llrkit.base.arguments import Array
from llrkit.base.files import replacing, replacing_folder
from llrkit.base.process import reduce_chunks
from llrkit.base.text import not_among
from llrkit.errors import InputError, UnknownNameError
from llrkit.io import table_columns
from llrkit.io.array_files import write_hdf5
from llrkit.io.read_options import PathArg, require_text_name
from llrkit.io.table_columns import LLR, LLR_MAP, LOG10_LR, Scan, TrialTable, first_true
from llrkit.io.trial_checks import target_mask_of, with_scores
from llrkit.scores import Scores
from llrkit.scores.derived import ROLES
from llrkit.scores.labels import column_names
from llrkit.scores.source import require_column
from llrkit.scores.trials import Trials, trials_of

WRITTEN = {
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".ipc": "arrow", ".feather": "arrow",
    ".csv": "csv", ".tsv": "tsv", ".h5": "bosaris", ".hdf5": "bosaris", ".kaldi": "kaldi", ".nist": "nist",
}  # fmt: skip
"""What is written for each ending of a name."""
WRITE_FORMATS = tuple(dict.fromkeys(WRITTEN.values()))
HAS_OWN_KEY = ("kaldi", "nist", "bosaris")
"""Formats whose labels are in a file of their own."""


def write_trials(
    trials: Trials, path: PathArg, *, format: str | None = None, key: PathArg | None = None
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
    if not isinstance(trials, Trials):
        if not set(ROLES) <= set(column_names(trials)):
            raise InputError(
                f"write_trials writes rows, got {type(trials).__name__}: give lk.Trials or a data frame with "
                "the columns score and label"
            )
        trials = Trials(trials)
    write_table(table_of(trials), path, format=format, key=key)


def table_of(trials: Trials) -> TrialTable:
    """Trials as a table with roles."""
    return TrialTable(trials.origin, "", trials.table, trials.roles, trials.lines)


def write_table(
    trials: TrialTable, path: PathArg, *, format: str | None = None, key: PathArg | None = None
) -> None:
    """Write a table with roles; labels may be missing."""
    like = replace(trials, table=trials.table.clear())
    write_batches([trials], like, path, format=format, key=key)


def write_batches(
    batches: Iterable[TrialTable],
    like: TrialTable,
    path: PathArg,
    *,
    format: str | None = None,
    key: PathArg | None = None,
) -> int:
    """Write tables one after another into one file; gives the number of rows. ``like`` has no rows."""
    target = Path(path)
    kind = written_as(target, format)
    if key is not None and kind not in HAS_OWN_KEY:
        raise InputError(f"{target}: {kind} holds scores and labels in one file; no key is written")
    try:
        if kind in ("parquet", "arrow"):
            return _write_columns(batches, like, target, kind)
        if kind != "bosaris":
            return _write_text(batches, like, target, kind, None if key is None else Path(key))
        # vertical_relaxed allows batches whose numbers differ in type.
        table = pl.concat([like.table, *(batch.table for batch in batches)], how="vertical_relaxed")
        trials = replace(like, table=table)
        write_hdf5(trials, target)
        if key is not None:
            write_hdf5(trials, Path(key), key=True)
        return table.height
    except pl.exceptions.PolarsError as error:  # a fault of the disk
        raise OSError(f"{target}: cannot be written ({str(error).strip().splitlines()[0]})") from None


def written_as(path: Path, format: str | None) -> str:
    """The format to be written: the one that is named, else that of the ending."""
    kind = format or WRITTEN.get(path.suffix.lower())
    if format is not None and format not in WRITE_FORMATS:
        raise UnknownNameError(f"cannot write format {not_among(format, WRITE_FORMATS, '; there are: ')}")
    if kind is None:
        raise InputError(
            f"{path}: the ending must be one of {', '.join(WRITTEN)}, or name the format with --to"
        )
    return kind


def _write_columns(batches: Iterable[TrialTable], like: TrialTable, path: Path, kind: str) -> int:
    """All columns, as Parquet or Arrow."""
    from polars.io.plugins import register_io_source

    rows = 0
    errors: list[Exception] = []

    # polars asks with columns, a predicate and limits, none of which a sink needs.
    def tables(*_: object) -> Iterator[pl.DataFrame]:
        nonlocal rows
        try:
            for batch in batches:
                rows += batch.table.height
                yield batch.table
        except Exception as error:
            # Kept aside: polars replaces the exception of a Python source, and its message would lose
            # the file and line.
            errors.append(error)  # polars 1 raises an error of its own instead
            raise

    lazy = register_io_source(tables, schema=like.table.schema)
    require_text_name(path)
    with replacing(path) as temporary:
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


def _write_text(
    batches: Iterable[TrialTable], like: TrialTable, path: Path, kind: str, key: Path | None
) -> int:
    """A delimited text; Kaldi without header, NIST with the names that NIST uses."""
    rows, header = 0, kind != "kaldi"
    with ExitStack() as stack:
        files = [(stack.enter_context(stack.enter_context(replacing(path)).open("wb")), False)]
        if key is not None:
            files.append((stack.enter_context(stack.enter_context(replacing(key)).open("wb")), True))
        # the first without rows, so that a header is written if there are none at all
        for batch in chain([like], batches):
            for file, of_key in files:
                table = batch.table if kind in ("csv", "tsv") else _trial_table(batch, path, kind, of_key)
                # the shortest digits of a 32-bit float are not those of the same number in 64 bits
                table.with_columns(pl.col(pl.Float32).cast(pl.Float64)).write_csv(
                    file,
                    separator={"csv": ",", "tsv": "\t", "kaldi": " ", "nist": "\t"}[kind],
                    include_header=header,
                    quote_style="necessary" if kind in ("csv", "tsv") else "never",
                )
            rows, header = rows + batch.table.height, False
    return rows


def _trial_table(trials: TrialTable, path: Path, kind: str, key: bool) -> pl.DataFrame:
    if trials.enroll is None or trials.test is None:
        raise InputError(f"{path}: {kind} needs the ids of both sides of each trial; the table has none")
    if key and trials.label is None:
        raise InputError(f"{path}: there are no labels to write")
    if not key and len(trials.score) != 1:
        raise InputError(f"{path}: {kind} holds one score per trial, not {len(trials.score)}")
    ids = [pl.col(trials.enroll).cast(pl.String), pl.col(trials.test).cast(pl.String)]
    if kind == "nist":
        # NIST's files have a side; a segment of one channel is side a.
        side = pl.col("side").cast(pl.String) if "side" in trials.table.columns else pl.lit("a")
        ids = [ids[0].alias("modelid"), ids[1].alias("segmentid"), side.alias("side")]
    if key:
        is_target, _ = target_mask_of(trials)
        words = pl.Series("targettype", np.where(is_target, "target", "nontarget"), dtype=pl.String)
        table = trials.table.select(*ids).with_columns(words)
    else:
        table = trials.table.select(*ids, pl.col(trials.score[0]).alias("LLR"))
    # ids are written as they are, so they may not hold what separates them
    separates, marks = (r"\s", "blanks") if kind == "kaldi" else (r"\t\r\n", "tabs")
    for ids_of_side in table.select(pl.col(pl.String)):
        # Never quoted (quote_style above), so an empty id or a quote could not be read back.
        row = first_true(ids_of_side.str.contains(rf"^$|[{separates}\"]").fill_null(True))
        if row is not None:
            said = f"{kind} cannot hold the id {ids_of_side[row]!r}: no {marks} or quotes"
            raise InputError(f"{path}: {said}; write csv or tsv")
    return table


def write_partitions(
    make: Callable[[int], Scores],
    n_parts: int,
    folder: str | Path,
    *,
    on_part: Callable[[int], None] = lambda rows: None,
) -> int:
    """Write ``make(0)``, ``make(1)``, ... as ``part-0000.parquet``, ...; gives the number of rows.

    Parts are made and written by a pool of threads; only as many are in memory as there are threads.
    The folder must be new or empty, and appears when it is complete.

    Parameters
    ----------
    on_part
        Called with the number of rows whenever a part is written, by the thread that wrote it.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "trials"
    >>> write_partitions(lambda i: Scores([1.0 + i], [0.0, -1.0]), 2, folder)
    6
    >>> sorted(file.name for file in folder.iterdir())
    ['part-0.parquet', 'part-1.parquet']
    """
    target = Path(folder)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise InputError(f"{target}: must be a new or an empty folder")
    # Zero-padded, so that the order of names is the order of parts.
    digits = len(str(n_parts - 1))
    with replacing_folder(target) as parts:

        def write(number: int) -> float:
            # Parts are made by threads in any order; each depends on its number only.
            trials = trials_of([make(number)])
            write_trials(trials, parts / f"part-{number:0{digits}d}.parquet")
            on_part(len(trials))
            return float(len(trials))

        return int(reduce_chunks(range(n_parts), write))


Llrs = Callable[[Array, dict[str, Array]], Array]


def with_llrs(
    trials: TrialTable,
    llrs: Llrs,
    *,
    made_by: str,
    needs: Sequence[str] = (),
    missing: bool = False,
    base_10: bool = False,
    more: Mapping[str, Callable[[Array], Array]] | None = None,
) -> TrialTable:
    """The same rows with LLRs in the column ``llr`` (``log10_lr`` to base ten); no column is overwritten.

    ``llrs`` gets the scores of all systems and the columns it needs. A missing score is NaN where it is
    allowed, and an error otherwise. ``made_by`` says which map it was, in the column ``llr_map``. Columns of
    these names that were there before are kept as ``llr_before`` and so on, see :func:`kept_as`. ``more``
    are further columns, made of the LLRs in nats.
    """
    for name in (*trials.score, *needs):
        require_column(name, trials.table.columns, trials.file)
    table = with_scores(trials, missing=missing).table
    arrays = [table[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in trials.score]
    values = arrays[0] if len(arrays) == 1 else np.column_stack(arrays)
    # Maps are not called without trials: the empty table is only asked for its schema.
    llr = llrs(values, {name: table[name].to_numpy() for name in needs}) if len(values) else np.empty(0)
    name, shown = (LOG10_LR, llr / math.log(10.0)) if base_10 else (LLR, llr)
    # Renamed before the new columns are added, so that nothing of the input is overwritten.
    table = table.rename(kept_as(table.columns, more or ()))
    added: list[pl.Series | pl.Expr] = [pl.Series(name, shown, dtype=pl.Float64)]
    added += [pl.Series(column, np.asarray(make(llr))) for column, make in (more or {}).items()]
    added.append(pl.lit(made_by).alias(LLR_MAP))
    return trials.with_table(table.with_columns(added), score=(name,), factor=1.0, calibrated=True)


def kept_as(columns: Sequence[str], more: Iterable[str] = ()) -> dict[str, str]:
    """What the columns that make room for those of LLRs, and for ``more``, are called afterwards.

    Examples
    --------
    >>> kept_as(["score", "llr"])
    {'llr': 'llr_before'}
    """
    renamed: dict[str, str] = {}
    for name in (LLR, LOG10_LR, LLR_MAP, *more):
        kept = name
        while kept in columns:
            # Again and again, since llr_before may be there from an earlier run.
            kept += "_before"
        if kept != name:
            renamed[name] = kept
    return renamed


def refuse_calibrated(scan: Scan) -> None:
    """Refuse a file whose scores are LLRs that a calibration wrote, naming the map."""
    written = table_columns.llrs_written_by_a_map(scan.columns)
    if written is None or scan.like.score != (written,):
        return
    by = ""
    if LLR_MAP in scan.columns:
        # Only the first batch: every row of a file was made by one map.
        first = next(iter(scan.read([LLR_MAP])), None)
        by = f" by {first.table[LLR_MAP][0]}" if first is not None and first.table.height else ""
    raise InputError(
        f"{scan.like.file}: already calibrated{by} (column {written!r}); name the raw scores with "
        "--score-column, or insist with --force"
    )
