"""Reading and writing log-likelihoods of several classes, and telling such files from those of two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from llrkit._format import counted
from llrkit.errors import FileFormatError, InputError, LabelError, LlrkitError
from llrkit.io.binary.numpy_files import read_arrays
from llrkit.io.binary.parquet_check import refuse_impossible
from llrkit.io.classes.class_layouts import (
    HYPOTHESIS_NAMES,
    LOGLIK_NAMES,
    LRE07_COLUMNS,
    NPZ_LABELS,
    TRUTH_NAMES,
    from_long,
    from_npz,
    from_wide,
    is_lre07,
    wide_roles,
)
from llrkit.io.column_roles import with_roles
from llrkit.io.formats import detect
from llrkit.io.join_key import join_key
from llrkit.io.polars_panics import no_panic_messages
from llrkit.io.reading_options import CLASSES, PathArg, Reading, require_text_name
from llrkit.io.tables_of_paths import files_of, read_table
from llrkit.io.text.header_row import has_header, named, unique_names
from llrkit.io.text.layouts import SCORE_NAMES
from llrkit.io.text.lines import open_text
from llrkit.io.trial_table import TrialTable
from llrkit.scores.class_labels import listed
from llrkit.scores.class_scores import ClassScores
from llrkit.scores.target_labels import classify_words

_GLANCE = 200


def read_classes(
    path: PathArg,
    key: PathArg | None = None,
    *,
    classes: Sequence[str] | None = None,
    label: str | None = None,
    missing: str = "error",
) -> ClassScores:
    """Read log-likelihoods of several classes from a file.

    A table with one column per class (all numeric columns, or those in ``classes``), a table with one row
    per trial and class, rows of the NIST LRE 2007 scorer, or NPZ with ``logits`` and ``target``. The true
    classes are in the column ``label``, or in another file, ``key``, joined on the ids of the trials.

    Parameters
    ----------
    path
        The file.
    key
        A file with the classes, if they are not in the first one.
    classes
        The classes, in the order wanted; by default all that the file has.
    label
        The column with the true classes; by default the one with a usual name.
    missing
        A trial without scores or label when joining with a key: 'error' or 'drop'.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = file.write_text("id,en,de,nl,label\\na,2.0,0.1,-1,en\\nb,0.5,1.5,1.0,nl\\n")
    >>> read_classes(file)
    ClassScores(2 trials of 3 classes)
    """
    reading = Reading(
        key=key, classes=None if classes is None else tuple(classes), label=label, missing=missing
    )
    return class_scores_of_table(read_class_table(path, reading))


def read_class_table(path: PathArg, reading: Reading) -> TrialTable:
    """A table whose score columns are the classes, with labels where they are known."""
    reading.require(CLASSES)
    trials = _read_any_class_layout(path, reading.classes, reading.label if reading.key is None else None)
    if len(trials.score) < 2:
        raise FileFormatError(
            f"{trials.file}: {counted(len(trials.score), 'column')} with numbers, at least two classes are "
            f"needed; there are the columns {listed(trials.table.columns)}"
        )
    if reading.key is not None:
        key = _read_class_key(reading.key, reading.label)
        trials = join_key(trials, key, missing=reading.missing, duplicates="error")
    return trials


def read_class_systems(paths: Sequence[PathArg], reading: Reading) -> list[TrialTable]:
    """One table per system with the same classes and the same trials, in the order of the first.

    Trials are matched by their ids; files without ids must have as many rows, in the same order.
    """
    first = read_class_table(paths[0], reading)
    label = reading.label if reading.key is None else None
    like_first = Reading(classes=first.score, label=label)
    return [first, *(_classes_like_first(first, read_class_table(path, like_first)) for path in paths[1:])]


def _classes_like_first(first: TrialTable, other: TrialTable) -> TrialTable:
    if first.test is None or other.test is None:
        if first.table.height != other.table.height:
            raise FileFormatError(
                f"{other.file}: {counted(other.table.height, 'row')}, but {first.table.height:,} in "
                f"{first.file}, and no ids to match them by"
            )
        return other
    wanted = first.table.select(pl.col(first.test).cast(pl.String).alias(other.test))
    there = other.table.with_columns(pl.col(other.test).cast(pl.String))
    for table, name in ((wanted, first.file), (there, other.file)):
        if table[other.test].is_duplicated().any():
            raise FileFormatError(f"{name}: trials that occur more than once cannot be matched")
    for left, right, name in ((wanted, there, other.file), (there, wanted, first.file)):
        gone = left.join(right, on=other.test, how="anti")
        if gone.height:
            shown = "; ".join(gone[other.test].head(5).to_list())
            raise FileFormatError(f"{name}: no scores for {counted(gone.height, 'trial')}: {shown}")
    joined = wanted.join(there, on=other.test, how="left", maintain_order="left")
    return replace(other, table=joined, lines=None)


def class_scores_of_table(trials: TrialTable) -> ClassScores:
    """Checked scores of a table with labels; faults are named by their line."""
    if trials.label is None:
        raise FileFormatError(
            f"{trials.file}: no column with the true classes; name it with --label-column, or give --key. "
            f"There are the columns {listed(trials.table.columns)}"
        )
    labels = trials.table[trials.label].cast(pl.String).str.strip_chars()
    bad = labels.is_null() | ~labels.is_in(list(trials.score))
    if bad.any():
        row = int(bad.arg_max() or 0)
        said = "no label" if labels[row] is None else f"unknown class {labels[row]!r}"
        raise LabelError(
            f"{trials.place(row)}, column {trials.label!r}: {said}; the classes are {listed(trials.score)}"
        )
    values = trials.table.select(trials.score).to_numpy()
    ids = None if trials.test is None else trials.table[trials.test].cast(pl.String).to_numpy()
    others = [name for name in trials.table.columns if name not in (*trials.score, trials.label)]
    columns = {name: trials.table[name].to_numpy() for name in others}
    try:
        return ClassScores(values, labels.to_numpy(), trials.score, ids, columns=columns)
    except InputError as error:
        where = f", after row {trials.first_row}" if trials.first_row else ""  # a batch counts its own trials
        raise type(error)(f"{trials.file}{where}: {error}") from None


def _read_any_class_layout(path: PathArg, classes: Sequence[str] | None, label: str | None) -> TrialTable:
    first = files_of(path)[0]
    kind = detect(first)
    if kind == "npz":
        return from_npz(first, classes)
    if kind == "text" and is_lre07([fields for _, fields in open_text(first).head]):
        trials = read_table(path, columns=LRE07_COLUMNS, score=[])
        lower = pl.col(pl.String).str.to_lowercase()
        return from_long(replace(trials, table=trials.table.with_columns(lower)), classes, "label")
    trials = read_table(path, score=[], label=label)
    if _is_long_class_table(trials.table.columns):
        return from_long(trials, classes, label)
    return from_wide(trials, classes, label)


def _is_long_class_table(columns: Sequence[str]) -> bool:
    return named(columns, SCORE_NAMES) is not None and named(columns, HYPOTHESIS_NAMES) is not None


def _read_class_key(path: PathArg, label: str | None) -> TrialTable:
    """Ids and true classes; two columns without header are an id and a class (Kaldi's utt2lang)."""
    first = files_of(path)[0]
    rows = [fields for _, fields in open_text(first).head] if detect(first) == "text" else []
    if rows and all(len(row) == 2 for row in rows) and not has_header(rows):
        return read_table(path, columns=("test", "label"), score=[]).with_roles(label="label", test="test")
    key = read_table(path, score=[], label=label)
    role = key.label or named(key.table.columns, TRUTH_NAMES)
    return key.with_roles(label=role, score=())


def class_file(path: PathArg, key: PathArg | None = None, *, label: str | None = None) -> bool:
    """Whether a file holds log-likelihoods of several classes; never by the values of scores.

    It does if it is an NPZ archive with a matrix of logits and labels, has rows of the LRE 2007 scorer, or
    is a table without a column of scores whose labels (or those of the key) are mostly names of its numeric
    columns, or one with scores, hypothesized classes and labels that are not just target and non-target.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = file.write_text("id,en,de,label\\na,2.0,0.1,en\\n")
    >>> class_file(file)
    True
    >>> _ = file.write_text("id,score,label\\na,2.0,target\\n")
    >>> class_file(file)
    False
    """
    try:
        return _is_class_file(files_of(path)[0], key, label)
    except (LlrkitError, OSError):
        return False  # whoever reads it as trials of two classes says what is wrong


def _is_class_file(file: Path, key: PathArg | None, label: str | None) -> bool:
    kind = detect(file)
    if kind == "npz":
        arrays = read_arrays(file)
        name = named(list(arrays), LOGLIK_NAMES)
        return name is not None and arrays[name].ndim == 2 and named(list(arrays), NPZ_LABELS) is not None
    if kind == "text" and is_lre07([fields for _, fields in open_text(file).head]):
        return True
    head = _glance_at_class_table(file, kind)
    if head is None or not (
        _is_long_class_table(head.table.columns) or named(head.table.columns, SCORE_NAMES) is None
    ):
        return False
    if _is_long_class_table(head.table.columns):
        role = label or named([c for c in head.table.columns if c not in HYPOTHESIS_NAMES], TRUTH_NAMES)
        return role is not None and None in classify_words(_distinct_classes(head.table[role]))
    if named(head.table.columns, SCORE_NAMES) is not None:
        return False
    wide = wide_roles(head, None, label if key is None else None)
    labels = wide if key is None else _read_class_key(key, label)
    if len(wide.score) < 2 or labels.label is None:
        return False
    there = set(_distinct_classes(labels.table[labels.label]))
    # half of them, so that a label nobody knows is an error with its line, not another kind of file
    return len(there) > 0 and 2 * len(there & set(wide.score)) >= len(there)


def _glance_at_class_table(file: Path, kind: str) -> TrialTable | None:
    """The first rows of a table with a header; None where there is none."""
    if kind == "text":
        rows = [fields for _, fields in open_text(file).head]
        if not has_header(rows):
            return None
        whole = [row for row in rows[1:] if len(row) == len(rows[0])]
        table = pl.DataFrame(whole, schema=dict.fromkeys(unique_names(rows[0]), pl.String), orient="row")
    elif kind in ("parquet", "arrow"):
        try:
            require_text_name(file)
            if kind == "parquet":
                refuse_impossible(file, pages=False)
            with no_panic_messages():
                lazy = pl.scan_parquet(file) if kind == "parquet" else pl.scan_ipc(file)
                table = lazy.head(_GLANCE).collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError):
            return None
    else:
        return None
    return with_roles(TrialTable(str(file), kind, table), score=[], label=None)


def _distinct_classes(column: pl.Series) -> list[str]:
    return column.drop_nulls().cast(pl.String).str.strip_chars().unique().to_list()


def with_loglik(trials: TrialTable, loglik: npt.NDArray[np.float64]) -> TrialTable:
    """The table with other log-likelihoods in the columns of its classes."""
    columns = [pl.Series(name, loglik[:, i]) for i, name in enumerate(trials.score)]
    return replace(trials, table=trials.table.with_columns(columns))
