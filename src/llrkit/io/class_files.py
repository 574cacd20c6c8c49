"""Files of several classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from llrkit.base.arguments import Array
from llrkit.base.text import counted
from llrkit.errors import FileFormatError, InputError, LabelError, LlrkitError, UnknownNameError
from llrkit.io import table_columns
from llrkit.io.array_files import Arrays, glance, read_arrays
from llrkit.io.formats import detect, files_of, first_rows, read_table
from llrkit.io.joins import join_key, refuse_unmatched_trials
from llrkit.io.read_options import CLASSES, PathArg, Reading
from llrkit.io.table_columns import LABEL_NAMES, SCORE_NAMES, TrialTable, first_true, has_header, named
from llrkit.io.trial_checks import by_policy_on_repeated, with_scores
from llrkit.scores.classes import ClassScores
from llrkit.scores.labels import class_codes, class_names, classify_words, listed
from llrkit.scores.source import Roles

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
    return bool(rows) and all(
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
    # Without names the classes are called 0, 1, 2, ...
    names = class_names(given if given is not None else range(k))
    if len(names) != k:
        raise FileFormatError(f"{file}: {counted(k, 'column')} in {name!r}, but {len(names)} classes")
    columns: dict[str, Array | list[str]] = dict(zip(names, values.T.astype(np.float64), strict=True))
    label = named(list(arrays), NPZ_LABELS)
    ids = _npz_texts(arrays, ("ids", "id", "test", "segments"))
    places: dict[str, str] = {}
    for role, content in (("label", arrays[label] if label else None), ("test", ids)):
        if content is None:
            continue
        if np.shape(content) != (len(values),):
            raise FileFormatError(f"{file}: {len(values)} rows in {name!r}, but {role}s {np.shape(content)}")
        # A class may itself be called label or test.
        places[role] = f"_{role}" if role in names else role
        columns[places[role]] = content
    if label:
        try:  # whole numbers are places, unless a class has a number as its name
            codes = class_codes(arrays[label], names)
        except LabelError as error:
            raise LabelError(f"{file}: {error}") from None
        columns[places["label"]] = [names[code] for code in codes]
    chosen = tuple(chosen_classes(names, classes, str(file)))
    roles = Roles(chosen, places.get("label"), None, places.get("test"))
    return TrialTable(str(file), "npz", pl.DataFrame(columns), roles)


def _npz_texts(arrays: Arrays, names: Sequence[str]) -> list[str] | None:
    name = named(list(arrays), names)
    return None if name is None else [str(value) for value in arrays[name].ravel().tolist()]


def wide_roles(trials: TrialTable, classes: Sequence[str] | None, label: str | None) -> TrialTable:
    """A table with one column per class: all numeric columns that are nothing else, or those named.

    The scores themselves are not looked at yet.
    """
    table = trials.table
    role = label or trials.label or named(table.columns, TRUTH_NAMES)
    test = trials.test or named(table.columns, ("id", "ids", *table_columns.TEST_NAMES, "file_name"))
    if classes is not None:
        names = chosen_classes(table.columns, classes, trials.file)
    else:
        others = {role, test, trials.enroll}
        names = [name for name in table.columns if name not in others and _looks_numeric(table[name])]
    # A numeric column with a usual name of labels may still be a class that was named.
    if role in names:
        role = None
    return trials.with_roles(score=tuple(names), label=role, test=test)


def from_long(trials: TrialTable, classes: Sequence[str] | None, label: str | None) -> TrialTable:
    """A table with one row per trial and class, turned into one with a column per class.

    The true class is in the column of labels, or it is the class of the row that is marked as a target.
    """
    table = trials.table
    score = named(table.columns, SCORE_NAMES)
    # a column such as ``language`` may be either: it is the hypothesis unless it was asked for as the label
    hypothesis = named([name for name in table.columns if name != label], HYPOTHESIS_NAMES)
    given = label or named([name for name in table.columns if name != hypothesis], TRUTH_NAMES)
    trial = trials.test or named(table.columns, ("id", "ids", *table_columns.TEST_NAMES))
    if score is None or hypothesis is None or trial is None:
        needs = "a long table needs the columns of trial, class and score"
        raise FileFormatError(f"{trials.file}: {needs}; there are: {', '.join(table.columns)}")
    scored = with_scores(trials.with_roles(score=(score,)), droppable=False)
    numbers = scored.table.with_columns(pl.col(hypothesis).cast(pl.String))
    row = first_true(numbers.select(pl.struct(trial, hypothesis).is_duplicated()).to_series())
    if row is not None:
        again = f"more than one score for class {table[hypothesis][row]}"
        raise FileFormatError(f"{trials.place(row)}: trial {table[trial][row]} has {again}")
    names = chosen_classes(numbers[hypothesis].unique(maintain_order=True).to_list(), classes, trials.file)
    # pivot keeps the order in which trials come first, and leaves null where a class has no row.
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


def _true_classes(
    table: pl.DataFrame, trial: str, hypothesis: str, label: str, names: Sequence[str], trials: TrialTable
) -> pl.DataFrame:
    """The true class of each trial."""
    words = table[label].cast(pl.String).str.strip_chars()
    distinct = words.drop_nulls().unique().to_list()
    # target and nontarget mark the row of the true class; but where these words are classes themselves
    # they are names.
    if None not in classify_words(distinct) and not set(distinct) <= set(names):
        marked = [word for word, meaning in zip(distinct, classify_words(distinct), strict=True) if meaning]
        rows = table.filter(words.is_in(marked))
        return rows.select(trial, pl.col(hypothesis).alias(label)).unique(maintain_order=True)
    # english.american is english where only that is a class
    parts = {word: next((part for part in word.split(".") if part in names), word) for word in distinct}
    named_words = words.replace({word: part for word, part in parts.items() if word not in names})
    truth = table.select(trial).with_columns(named_words.alias(label)).unique(maintain_order=True)
    row = first_true(truth[trial].is_duplicated())
    if row is not None:
        raise LabelError(f"{trials.file}: trial {truth[trial][row]} has several labels")
    return truth


def chosen_classes(there: Sequence[str], classes: Sequence[str] | None, file: str) -> list[str]:
    """The classes that were asked for, each of which must be there; by default all."""
    if classes is None:
        return list(there)
    for name in classes:
        if name not in there:
            raise UnknownNameError(f"{file}: there is no class {name!r}; there are: {listed(there)}")
    return list(class_names(classes))


def _looks_numeric(column: pl.Series) -> bool:
    """Whether a column holds numbers: by its type, or half of its first values.

    Half, so that one value that is not a number makes an error with its line, not a class less.
    """
    if column.dtype.is_numeric():
        return True
    head = column.head(_HEAD).drop_nulls()
    if column.dtype != pl.String or head.len() == 0:
        return False
    return 2 * head.str.strip_chars().cast(pl.Float64, strict=False).null_count() <= head.len()


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
    named_classes = None if classes is None else tuple(classes)
    reading = Reading(key=key, classes=named_classes, label=label, missing=missing)
    return class_scores_of_table(read_class_table(path, reading))


def read_class_table(path: PathArg, reading: Reading) -> TrialTable:
    """A table whose score columns are the classes, with labels where they are known."""
    reading.require(CLASSES)
    first, classes, label = files_of(path)[0], reading.classes, reading.own_label
    if detect(first) == "npz":
        trials = from_npz(first, classes)
    elif is_lre07(first_rows(first)):
        rows = read_table(path, Reading(columns=LRE07_COLUMNS, score=()))
        lower = rows.table.with_columns(pl.col(pl.String).str.to_lowercase())
        trials = from_long(replace(rows, table=lower), classes, "label")
    else:
        trials = read_table(path, Reading(score=(), label=label))
        if _is_long_class_table(trials.table.columns):
            trials = from_long(trials, classes, label)
        else:
            trials = with_scores(wide_roles(trials, classes, label), droppable=False)
    # One numeric column is the score of two classes, which another reader takes.
    if len(trials.score) < 2:
        few = f"{counted(len(trials.score), 'column')} with numbers, at least two classes are needed"
        raise FileFormatError(f"{trials.file}: {few}; there are the columns {listed(trials.table.columns)}")
    if reading.key is not None:
        key = _read_class_key(reading.key, reading.label)
        trials = join_key(trials, key, missing=reading.missing, duplicates="error")
    return trials


def read_class_systems(paths: Sequence[PathArg], reading: Reading) -> list[TrialTable]:
    """One table per system with the same classes and the same trials, in the order of the first.

    Trials are matched by their ids; files without ids must have as many rows, in the same order.
    """
    first = read_class_table(paths[0], reading)
    # The key belongs to the first file alone; the others follow its classes and its trials.
    like_first = Reading(classes=first.score, label=reading.own_label)
    return [first, *(_classes_like_first(first, read_class_table(path, like_first)) for path in paths[1:])]


def _classes_like_first(first: TrialTable, other: TrialTable) -> TrialTable:
    if first.test is None or other.test is None:
        if first.table.height != other.table.height:
            raise FileFormatError(
                f"{other.file}: {counted(other.table.height, 'row')}, but {first.table.height:,} in "
                f"{first.file}, and no ids to match them by"
            )
        return other
    ids = [other.test]
    named_alike = pl.col(first.test).cast(pl.String).alias(other.test)
    wanted = first.with_table(first.table.select(named_alike), score=(), label=None)
    there = replace(other, table=other.table.with_columns(pl.col(ids).cast(pl.String)))
    for one in (wanted, there.with_roles(label=None)):
        by_policy_on_repeated(one, "error", ids)
    refuse_unmatched_trials(wanted, there, ids, "no scores")
    refuse_unmatched_trials(there, wanted, ids, "no scores")
    return there.without_lines(wanted.table.join(there.table, on=ids, how="left", maintain_order="left"))


def class_scores_of_table(trials: TrialTable) -> ClassScores:
    """Checked scores of a table with labels; faults are named by their line."""
    if trials.label is None:
        none = "no column with the true classes; name it with --label-column, or give --key"
        raise FileFormatError(f"{trials.file}: {none}. There are the columns {listed(trials.table.columns)}")
    labels = trials.table[trials.label].cast(pl.String).str.strip_chars()
    row = first_true(labels.is_null() | ~labels.is_in(list(trials.score)))
    if row is not None:
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


def _is_long_class_table(columns: Sequence[str]) -> bool:
    return named(columns, SCORE_NAMES) is not None and named(columns, HYPOTHESIS_NAMES) is not None


def _read_class_key(path: PathArg, label: str | None) -> TrialTable:
    """Ids and true classes; two columns without header are an id and a class (Kaldi's utt2lang)."""
    rows = first_rows(files_of(path)[0])
    if rows and all(len(row) == 2 for row in rows) and not has_header(rows):
        key = read_table(path, Reading(columns=("test", "label"), score=()))
        return key.with_roles(label="label", test="test")
    key = read_table(path, Reading(score=(), label=label))
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
    rows = first_rows(file)
    if is_lre07(rows):
        return True
    if kind == "text" and has_header(rows):
        # Lines of another width are errors that the reader names; they do not decide here.
        whole = [row for row in rows[1:] if len(row) == len(rows[0])]
        schema = dict.fromkeys(table_columns.unique_names(rows[0]), pl.String)
        table = pl.DataFrame(whole, schema=schema, orient="row")
    elif kind in ("parquet", "arrow"):
        table = glance(file, kind, _HEAD)
    else:  # no table with a header
        return False
    head = table_columns.with_roles(TrialTable(str(file), kind, table), score=[], label=None)
    columns = head.table.columns
    if _is_long_class_table(columns):
        # language is a hypothesis here, not the truth, although it is among the names of both.
        role = label or named([name for name in columns if name not in HYPOTHESIS_NAMES], TRUTH_NAMES)
        return role is not None and None in classify_words(_distinct_classes(head.table[role]))
    if named(columns, SCORE_NAMES) is not None:
        return False
    wide = wide_roles(head, None, label if key is None else None)
    labels = wide if key is None else _read_class_key(key, label)
    if len(wide.score) < 2 or labels.label is None:
        return False
    there = set(_distinct_classes(labels.table[labels.label]))
    # half of them, so that a label nobody knows is an error with its line, not another kind of file
    return len(there) > 0 and 2 * len(there & set(wide.score)) >= len(there)


def _distinct_classes(column: pl.Series) -> list[str]:
    return column.drop_nulls().cast(pl.String).str.strip_chars().unique().to_list()


def with_loglik(trials: TrialTable, loglik: npt.NDArray[np.float64]) -> TrialTable:
    """The table with other log-likelihoods in the columns of its classes."""
    columns = [pl.Series(name, loglik[:, i]) for i, name in enumerate(trials.score)]
    return replace(trials, table=trials.table.with_columns(columns))
