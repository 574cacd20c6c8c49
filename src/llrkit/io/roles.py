"""From a table as read to trials: every score and label is looked at, and a fault is named by its line."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from llrkit.errors import FileFormatError, InputError, LabelError
from llrkit.io.found import Found
from llrkit.io.text import not_a_number
from llrkit.scores.labels import ACCEPTED, classify_words
from llrkit.scores.trials import Trials

MISSING, DUPLICATES = ("error", "drop"), ("keep", "error", "drop")
SHOWN = 5


def as_trials_checked(found: Found, *, positive: str | None = None, labelled: bool = True) -> Trials:
    """Trials of a table whose scores are all numbers and whose labels are two classes."""
    columns = ", ".join(found.table.columns)
    if not found.score:
        raise FileFormatError(
            f"{found.file}, line 1: there is no column 'score'; there are: {columns}. "
            "Name the column of the scores with --score-column"
        )
    _check_scores(found)
    if not labelled:
        return Trials(found.table.with_columns(label=True), score=found.score)
    if found.label is None:
        if found.table.columns == ["score"]:
            raise FileFormatError(
                f"{found.file}: scores of one class; give the file of the others too (--nontargets)"
            )
        raise FileFormatError(
            f"{found.file}, line 1: there is no column 'label'; there are: {columns}. Name the column of the "
            "labels with --label-column, or the file that has them with --key"
        )
    if positive is not None:
        found = _with_positive(found, positive)
    trials = Trials(
        found.table, score=found.score, label=found.label or "label", enroll=found.enroll, test=found.test,
        origin=found.file,
    )  # fmt: skip
    try:
        _ = trials.is_target, trials.score_array
    except LabelError as error:
        _name_label(found)
        raise LabelError(f"{found.file}: {error}") from None
    return trials


def _check_scores(found: Found) -> None:
    for name in found.score:
        column = found.table[name]
        if not column.dtype.is_numeric():
            number = column.cast(pl.Float64, strict=False) if column.dtype == pl.String else None
            row = 0 if number is None else int((number.is_null()).arg_max() or 0)
            if column.len() == 0:
                raise FileFormatError(f"{found.file}: column {name!r} is empty")
            raise not_a_number(f"{found.place(row)}, column {name!r}", str(column[row]))
        if column.has_nulls():
            row = int(column.is_null().arg_max() or 0)
            raise not_a_number(f"{found.place(row)}, column {name!r}", "")
        if column.dtype.is_float() and column.is_nan().any():
            row = int(column.is_nan().arg_max() or 0)
            raise FileFormatError(
                f"{found.place(row)}, column {name!r}: the score is NaN; every trial needs a score "
                "(+-inf is allowed)"
            )


def _with_positive(found: Found, positive: str) -> Found:
    label = found.label or ""
    column = found.table[label]
    if column.has_nulls():
        _name_label(found)
    words = column.cast(pl.String).str.strip_chars().str.to_lowercase()
    is_target = words == positive.strip().lower()
    if not is_target.any():
        seen = ", ".join(repr(word) for word in column.unique(maintain_order=True).head(SHOWN).to_list())
        raise LabelError(f"{found.file}, column {label!r}: no label {positive!r}; there are: {seen}")
    return replace(found, table=found.table.with_columns(is_target.alias(label)))


def _name_label(found: Found) -> None:
    """Raise an error that names the first label that is none; there is none if all are known words."""
    label = found.label or ""
    column = found.table[label]
    if column.has_nulls():
        row = int(column.is_null().arg_max() or 0)
        raise LabelError(f"{found.place(row)}, column {label!r}: no label")
    words = column.cast(pl.String)
    known = {word for word in words.unique() if classify_words([word.removesuffix(".0")]) != [None]}
    strange = ~words.is_in(list(known))
    if strange.any():
        row = int(strange.arg_max() or 0)
        raise LabelError(
            f"{found.place(row)}, column {label!r}: {words[row]!r} is not a label of two classes; accepted "
            f"are {ACCEPTED}, or say which means target with --positive"
        )


def id_columns(found: Found) -> list[str]:
    """The columns that identify a trial."""
    ids = [name for name in (found.enroll, found.test) if name is not None]
    return [*ids, "side"] if ids and "side" in found.table.columns else ids


def repeated(found: Found, policy: str, ids: list[str] | None = None) -> Found:
    """Trials that occur more than once kept, refused, or dropped after the first."""
    ids = id_columns(found) if ids is None else ids
    if policy == "keep":
        return found
    if not ids:
        raise InputError(f"{found.file}: no columns with the ids of the trials, so none can be repeated")
    first = found.table.select(pl.struct(ids).is_first_distinct()).to_series()
    if first.all():
        return found
    if policy == "error":
        rows = (~first).arg_true().head(SHOWN).to_list()
        raise FileFormatError(f"{found.file}: {describe(found, ids, rows[:1])} occurs more than once"
                              f" (again: {places(found, rows)})")  # fmt: skip
    return replace(found, table=found.table.filter(first), lines=None)


def describe(found: Found, ids: list[str], rows: list[int]) -> str:
    """The ids of trials, in words."""
    shown = ["trial " + " ".join(map(str, found.table.select(ids).row(row))) for row in rows]
    return "; ".join(shown)


def places(found: Found, rows: list[int]) -> str:
    """Where rows stand in their file, in words."""
    if found.lines is None:
        return "rows " + ", ".join(map(str, rows))
    return "lines " + ", ".join(map(str, found.lines(rows)))
