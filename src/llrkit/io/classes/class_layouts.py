"""Tables of several classes: one column per class, one row per class, NIST LRE rows, NPZ with logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from llrkit._arrays import Array
from llrkit._format import counted
from llrkit.errors import FileFormatError, LabelError, UnknownNameError
from llrkit.io.binary.numpy_files import Arrays, read_arrays
from llrkit.io.checked_trials import with_scores
from llrkit.io.text.header_row import named
from llrkit.io.text.layouts import LABEL_NAMES, SCORE_NAMES, TEST_NAMES
from llrkit.io.trial_table import TrialTable
from llrkit.scores.class_labels import class_codes, class_names, listed
from llrkit.scores.roles import RoleChanges, Roles
from llrkit.scores.target_labels import classify_words

HYPOTHESIS_NAMES = ("hypothesis", "language", "lang", "target_language", "class_id", "class", "candidate")
"""Columns of a long table that name the class a score is for."""
TRUTH_NAMES = (*LABEL_NAMES, "true_class", "true_language", "language", "language_code", "lang", "class_id")
LOGLIK_NAMES = ("logits", "loglik", "log_likelihoods", "log_posteriors", "logpost")
NPZ_LABELS = ("target", "targets", "label", "labels", "y", "y_true")
LRE07_COLUMNS = ("task", "language", "condition", "segment", "decision", "score", "label")
_HEAD = 200


def is_lre07(rows: Sequence[Sequence[str]]) -> bool:
    """Rows of the NIST LRE 2007 scorer: task, language, condition, segment, decision, score, true language.

    Examples
    --------
    >>> is_lre07([["general_lr", "english", "closed_set", "lid0001", "t", "2.31", "english.american"]])
    True
    """
    return all(
        len(row) == len(LRE07_COLUMNS)
        and row[2].lower() in ("closed_set", "open_set")
        and row[4].lower() in ("t", "f")
        for row in rows
    )


def from_npz(file: Path, classes: Sequence[str] | None) -> TrialTable:
    """An archive with ``logits`` (n, K) and ``target`` (n,), and perhaps ``classes`` and ``ids``."""
    arrays = read_arrays(file)
    name = named(list(arrays), LOGLIK_NAMES)
    if name is None or arrays[name].ndim != 2 or arrays[name].dtype.kind not in "iuf":
        there = ", ".join(f"{key} {array.shape} of {array.dtype}" for key, array in arrays.items()) or "none"
        raise FileFormatError(
            f"{file}: no matrix of log-likelihoods ({', '.join(LOGLIK_NAMES)}); there are: {there}"
        )
    values, k = arrays[name], arrays[name].shape[1]
    given = _npz_texts(arrays, ("classes", "class_names"))
    names = class_names(given if given is not None else range(k))
    if len(names) != k:
        raise FileFormatError(f"{file}: {counted(k, 'column')} in {name!r}, but {len(names)} classes")
    columns: dict[str, Array | list[str]] = {
        one: values[:, i].astype(np.float64) for i, one in enumerate(names)
    }
    ids = _npz_texts(arrays, ("ids", "id", "test", "segments"))
    label = named(list(arrays), NPZ_LABELS)
    roles: RoleChanges = {}
    for role, content in (("label", arrays[label] if label else None), ("test", ids)):
        if content is None:
            continue
        if np.shape(content) != (len(values),):
            raise FileFormatError(f"{file}: {len(values)} rows in {name!r}, but {role}s {np.shape(content)}")
        at = f"_{role}" if role in names else role
        columns[at] = content
        roles |= {"label": at} if role == "label" else {"test": at}
    table = pl.DataFrame(columns)
    of_label = roles.get("label")
    if of_label is not None:
        table = table.with_columns(_label_names(table[of_label], names, str(file)))
    scores = Roles(tuple(chosen_classes(names, classes, str(file))))
    return TrialTable(str(file), "npz", table, replace(scores, **roles))


def _npz_texts(arrays: Arrays, names: Sequence[str]) -> list[str] | None:
    name = named(list(arrays), names)
    return None if name is None else [str(value) for value in arrays[name].ravel().tolist()]


def _label_names(column: pl.Series, names: tuple[str, ...], file: str) -> pl.Series:
    """Labels as names; whole numbers are places where no class has a number as its name."""
    try:
        codes = class_codes(column.to_numpy(), names)
    except LabelError as error:
        raise LabelError(f"{file}: {error}") from None
    return pl.Series(column.name, np.asarray(names, dtype=object)[codes].tolist())


def from_wide(trials: TrialTable, classes: Sequence[str] | None, label: str | None) -> TrialTable:
    """A table with one column per class: all numeric columns that are nothing else, or those named."""
    return with_scores(wide_roles(trials, classes, label), droppable=False)


def wide_roles(trials: TrialTable, classes: Sequence[str] | None, label: str | None) -> TrialTable:
    """Which columns are classes, labels and ids; the scores themselves are not looked at yet."""
    table = trials.table
    role = label or trials.label or named(table.columns, TRUTH_NAMES)
    test = trials.test or named(table.columns, ("id", "ids", *TEST_NAMES, "file_name"))
    if classes is not None:
        names = chosen_classes(table.columns, classes, trials.file)
    else:
        others = {role, test, trials.enroll}
        names = [
            name for name in table.columns if name not in others and class_column_looks_numeric(table[name])
        ]
    if role in names:
        role = None
    return trials.with_roles(score=tuple(names), label=role, test=test)


def from_long(trials: TrialTable, classes: Sequence[str] | None, label: str | None) -> TrialTable:
    """A table with one row per trial and class, turned into one with a column per class.

    The true class is in the column of labels, or it is the class of the row that is marked as a target.
    """
    table = trials.table
    score = named(table.columns, SCORE_NAMES)
    given = label or named(
        [name for name in table.columns if name != _hypothesis_column(table, label)], TRUTH_NAMES
    )
    hypothesis = _hypothesis_column(table, given)
    trial = trials.test or named(table.columns, ("id", "ids", *TEST_NAMES))
    if score is None or hypothesis is None or trial is None:
        raise FileFormatError(
            f"{trials.file}: a long table needs the columns of trial, class and score; there are: "
            + ", ".join(table.columns)
        )
    numbers = with_scores(trials.with_roles(score=(score,)), droppable=False).table.with_columns(
        pl.col(hypothesis).cast(pl.String)
    )
    twice = numbers.select(pl.struct(trial, hypothesis).is_duplicated()).to_series()
    if twice.any():
        row = int(twice.arg_max() or 0)
        raise FileFormatError(
            f"{trials.place(row)}: trial {table[trial][row]} has more than one score for "
            f"class {table[hypothesis][row]}"
        )
    names = chosen_classes(numbers[hypothesis].unique(maintain_order=True).to_list(), classes, trials.file)
    wide = numbers.pivot(on=hypothesis, index=trial, values=score, maintain_order=True)
    wide = wide.select(trial, *names)
    gaps = wide.filter(pl.any_horizontal(pl.col(name).is_null() for name in names))
    if gaps.height:
        row_of = gaps.row(0, named=True)
        absent = next(name for name in names if row_of[name] is None)
        raise FileFormatError(f"{trials.file}: trial {row_of[trial]} has no score for class {absent}")
    role = None
    if given is not None:
        truth = _true_classes(numbers, trial, hypothesis, given, names, trials)
        role = "label" if "label" not in names else "_label"
        wide = wide.join(truth.rename({given: role}), on=trial, how="left", maintain_order="left")
    return TrialTable(trials.file, trials.format, wide, Roles(tuple(names), role, None, trial))


def _hypothesis_column(table: pl.DataFrame, label: str | None) -> str | None:
    return named([name for name in table.columns if name != label], HYPOTHESIS_NAMES)


def _true_classes(
    table: pl.DataFrame, trial: str, hypothesis: str, label: str, names: Sequence[str], trials: TrialTable
) -> pl.DataFrame:
    """The true class of each trial."""
    words = table[label].cast(pl.String).str.strip_chars()
    distinct = words.drop_nulls().unique().to_list()
    if None not in classify_words(distinct) and not set(distinct) <= set(names):
        marked = [word for word, meaning in zip(distinct, classify_words(distinct), strict=True) if meaning]
        rows = table.filter(words.is_in(marked))
        return rows.select(trial, pl.col(hypothesis).alias(label)).unique(maintain_order=True)
    # english.american is english where only that is a class
    parts = {word: next((part for part in word.split(".") if part in names), word) for word in distinct}
    named_words = words.replace({word: part for word, part in parts.items() if word not in names})
    truth = table.select(trial).with_columns(named_words.alias(label)).unique(maintain_order=True)
    several = truth.select(pl.col(trial).is_duplicated()).to_series()
    if several.any():
        raise LabelError(
            f"{trials.file}: trial {truth[trial][int(several.arg_max() or 0)]} has several labels"
        )
    return truth


def chosen_classes(there: Sequence[str], classes: Sequence[str] | None, file: str) -> list[str]:
    """The classes that were asked for, each of which must be there; by default all."""
    if classes is None:
        return list(there)
    for name in classes:
        if name not in there:
            raise UnknownNameError(f"{file}: there is no class {name!r}; there are: {listed(there)}")
    return list(class_names(classes))


def class_column_looks_numeric(column: pl.Series) -> bool:
    """Whether a column holds numbers: by its type, or half of its first values.

    Half, so that one value that is not a number makes an error with its line, not a class less.
    """
    if column.dtype.is_numeric():
        return True
    head = column.head(_HEAD).drop_nulls()
    if column.dtype != pl.String or head.len() == 0:
        return False
    return 2 * head.str.strip_chars().cast(pl.Float64, strict=False).null_count() <= head.len()
