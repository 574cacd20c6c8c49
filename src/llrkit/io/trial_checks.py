"""Checks of every score and label; errors name the file and the line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from llrkit.base.arguments import Array
from llrkit.base.process import warn_caller
from llrkit.base.text import counted, left_out
from llrkit.errors import FileFormatError, InputError, LabelError, LeftOutWarning, MissingScoresWarning
from llrkit.io.table_columns import Scan, TrialTable, first_true
from llrkit.io.text_lines import not_a_number
from llrkit.scores.arrays import EXACT, INEXACT, beyond_exact, first_nan
from llrkit.scores.labels import ACCEPTED, classify_words
from llrkit.scores.source import no_column
from llrkit.scores.trials import Trials, inexact_row, is_label_type, target_rows

SHOWN = 5


def as_trials_checked(table: TrialTable, *, positive: str | None = None, missing: bool = False) -> Trials:
    """Trials of a table whose scores are all numbers and whose labels are two classes.

    With ``missing`` a trial may lack the score of some system.
    """
    require_roles(table)
    table = with_scores(table, missing=missing)
    if positive is not None:
        seen = table.table[table.label or ""].unique(maintain_order=True).to_list()
        if positive.strip().lower() not in {str(word).strip().lower() for word in seen}:
            there = ", ".join(repr(word) for word in seen[:SHOWN])
            where = f"{table.file}, column {table.label!r}"
            raise LabelError(f"{where}: no label {positive!r}; there are: {there}")
        table = with_positive(table, positive)
    trials = Trials.of(table.table, table.roles, origin=table.file, lines=table.lines)
    # Touching the cached properties here makes their errors name the file and line, instead of surfacing
    # in whichever metric asks first.
    with _naming_labels(table):
        _ = trials.is_target
        if not missing:
            _ = trials.score_array
    return trials


def target_mask_of(
    trials: TrialTable, positive: str | None = None, expected: Iterable[str] = ()
) -> tuple[npt.NDArray[np.bool_], frozenset[str]]:
    """Which rows are targets, and the words that occur among the labels; for one batch of a larger table."""
    if positive is not None:
        trials = with_positive(trials, positive)
    with _naming_labels(trials):
        return target_rows(trials.table[trials.label or "label"], trials.place, expected)


def require_roles(trials: TrialTable, *, labeled: bool = True, trained: Sequence[str] = ()) -> None:
    """Refuse a table without a column of scores, or of labels if they are needed.

    ``trained`` are the columns that held the training scores of the map that is to be applied.
    """
    columns, file = trials.table.columns, trials.file
    where = f"{file}, line 1"
    if not trials.score:
        there = f" (in training it was {', '.join(map(repr, trained))})" if trained else ""
        raise FileFormatError(
            f"{no_column('score', columns, where, typed=False)}. Name the column of the scores with "
            f"--score-column{there}, or the classes, a column each, with --classes"
        )
    if labeled and trials.label is None:
        if columns == ["score"]:
            raise FileFormatError(
                f"{file}: scores of one class; give the file of the others too (--nontargets)"
            )
        raise FileFormatError(
            f"{no_column('label', columns, where, typed=False)}. Name the column of the "
            "labels with --label-column, or the file that has them with --key"
        )


def with_scores(trials: TrialTable, *, missing: bool = False, droppable: bool = True) -> TrialTable:
    """A table whose columns of scores hold numbers; a missing one is an error unless it is allowed.

    Trials without a score are ``droppable`` where the reader has an option to leave them out.
    """
    instead = "; --missing-scores drop (missing_scores=) leaves such trials out" if droppable else ""
    for name in trials.score:
        column = trials.table[name]
        # The type of a column without rows says nothing about what it would hold; with rows of text it
        # would become numbers here, and a schema must announce them.
        if column.len() == 0:
            if not column.dtype.is_numeric():
                trials = replace(trials, table=trials.table.with_columns(pl.Series(name, [], pl.Float64)))
            continue
        # pl.Null is the type of a column without a single value; it goes on as text so that its rows are
        # reported as missing.
        if not column.dtype.is_numeric() and column.dtype not in (pl.String, pl.Null):
            raise FileFormatError(f"{trials.file}, column {name!r}: holds {column.dtype}, not numbers")
        if not column.dtype.is_numeric():
            text = column.cast(pl.String, strict=False).str.strip_chars()
            number = text.cast(pl.Float64, strict=False)
            # The text decides, not the float: beyond 2^53 an integer that is written out may be rounded
            # by the cast, while 1e300 was never meant to be exact.
            for row in (number.abs() >= EXACT).fill_null(False).arg_true():
                if beyond_exact(text[row]):
                    raise FileFormatError(f"{trials.place(row)}, column {name!r}: {text[row]} {INEXACT}")
            bad = first_true(number.is_null() & text.is_not_null())
            if bad is not None:
                raise not_a_number(f"{trials.place(bad)}, column {name!r}", str(column[bad]))
            column = number.alias(name)
            trials = replace(trials, table=trials.table.with_columns(column))
        row = inexact_row(column)
        if row is not None:
            raise FileFormatError(f"{trials.place(row)}, column {name!r}: {column[row]} {INEXACT}")
        if missing:
            continue
        row, said = first_true(column.is_null()), "is missing; every trial needs a score"
        if row is None and column.dtype.is_float() and (nan := first_nan(column.to_numpy())) is not None:
            row, said = nan[0], "is NaN; every trial needs a score (+-inf is allowed)"
        if row is not None:
            raise FileFormatError(f"{trials.place(row)}, column {name!r}: the score {said}{instead}")
    return trials


def score_values(trials: TrialTable) -> Array:
    """The scores as an array, shape (n,) or (n, K); one that is missing or no number is named."""
    # Batches of Parquet files are floats as a rule, and one search for NaN is then all that is needed.
    if not all(trials.table[name].dtype.is_float() for name in trials.score):
        trials = with_scores(trials)
    columns = [trials.table[name] for name in trials.score]
    arrays = [(one if one.dtype.is_float() else one.cast(pl.Float64)).to_numpy() for one in columns]
    if any(first_nan(array) is not None for array in arrays):  # which also stands for a null
        with_scores(trials)
    return arrays[0] if len(arrays) == 1 else np.column_stack(arrays)


def with_positive(trials: TrialTable, positive: str) -> TrialTable:
    """Labels as booleans: true where they are this word."""
    label = trials.label or ""
    column = trials.table[label]
    if column.has_nulls() or not is_label_type(column.dtype):
        _name_label(trials)
    words = column.cast(pl.String).str.strip_chars().str.to_lowercase()
    is_target = (words == positive.strip().lower()).alias(label)
    return replace(trials, table=trials.table.with_columns(is_target))


@contextmanager
def _naming_labels(trials: TrialTable) -> Iterator[None]:
    try:
        yield
    except LabelError as error:
        _name_label(trials)
        said = str(error)
        raise LabelError(said if said.startswith(trials.file) else f"{trials.file}: {said}") from None


def _name_label(trials: TrialTable) -> None:
    """Raise an error that names the first label that is none; there is none if all are known words."""
    label = trials.label or ""
    column = trials.table[label]
    row = first_true(column.is_null())
    if row is not None:
        raise LabelError(f"{trials.place(row)}, column {label!r}: no label")
    if not is_label_type(column.dtype):
        raise LabelError(
            f"{trials.file}, column {label!r}: holds {column.dtype}, not labels; accepted are {ACCEPTED}"
        )
    words = column.cast(pl.String)
    # The label 1 is 1.0 in a column of floats.
    known = {word for word in words.unique() if classify_words([word.removesuffix(".0")]) != [None]}
    row = first_true(~words.is_in(list(known)))
    if row is not None:
        raise LabelError(
            f"{trials.place(row)}, column {label!r}: {words[row]!r} is not a label of two classes; accepted "
            f"are {ACCEPTED}, or say which means target with --positive"
        )


def by_policy_on_repeated(trials: TrialTable, policy: str, ids: list[str] | None = None) -> TrialTable:
    """Trials that occur more than once kept, refused, or dropped after the first."""
    if policy == "keep":
        return trials
    ids = trials.roles.identify_trial(trials.table.columns) if ids is None else ids
    if not ids:
        known = trials.roles.ids
        only = f"only {known[0]!r} is known as one" if known else "none is known as one"
        raise InputError(
            f"{trials.file}: --duplicates {policy} needs the columns with the ids of both sides of a trial, "
            f"but {only}; name the columns enroll and test (--columns)"
        )
    # A struct compares all ids of a row at once, so no separator can make two different trials look
    # alike.
    first = trials.table.select(pl.struct(ids).is_first_distinct()).to_series()
    if first.all():
        return trials
    # Before the policy: dropping repeats with two labels would keep whichever came first.
    refuse_two_labels(trials, ids)
    if policy == "error":
        rows = (~first).arg_true().head(SHOWN).to_list()
        trial = " ".join(map(str, trials.table.select(ids).row(rows[0])))
        raise FileFormatError(
            f"{trials.file}: trial {trial} occurs more than once (again: {trials.places(rows)})"
        )
    n, kept = trials.table.height, trials.table.filter(first)
    said = left_out(n - kept.height, n, "is repeated", "are repeated")
    warn_caller(LeftOutWarning(f"{trials.file}: {said}", n - kept.height))
    return trials.without_lines(kept)


def refuse_two_labels(trials: TrialTable, ids: list[str]) -> None:
    """Refuse a trial that has one label here and another one there: no policy can say which is right."""
    if trials.label is None:
        return
    labels = trials.table.select(*ids, trials.label).unique(maintain_order=True)
    twice = labels.select(pl.struct(ids).is_duplicated()).to_series()
    if twice.any():
        trial = labels.filter(twice).select(ids).head(1)
        numbered = trials.table.select(ids).with_row_index("_row")
        # nulls_equal, since is_duplicated above took two nulls for the same id.
        same = numbered.join(trial, on=ids, how="semi", nulls_equal=True, maintain_order="left")
        shown, where = " ".join(map(str, trial.row(0))), trials.places(same["_row"].head(SHOWN).to_list())
        raise FileFormatError(f"{trials.file}: trial {shown} has more than one label ({where})")


def without_missing_scores(scan: Scan, instead: float | None = None) -> Scan:
    """The trials that have a score of every system, or all with another score ``instead``.

    A warning of the first pass says how many have none.

    Examples
    --------
    >>> import warnings
    >>> from llrkit.scores.source import Roles
    >>> table = pl.DataFrame({"score": [1.5, None, float("nan")], "label": [1, 0, 0]})
    >>> trials = Scan.of(TrialTable("a.csv", "table", table, Roles(label="label")))
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     kept = without_missing_scores(trials).whole()
    >>> kept.table.height, str(caught[0].message)
    (1, 'a.csv: 2 of 3 trials have no score and are left out')
    """
    # The warning is given once per file, though every metric may read the file again.
    file, told = scan.like.file, False

    def read(wanted: Sequence[str]) -> Iterator[TrialTable]:
        nonlocal told
        rows = missing = 0
        # The columns of scores are read even if they are not wanted: they decide which rows remain.
        for batch in scan.read([*dict.fromkeys([*wanted, *scan.like.score])]):
            trials = with_scores(batch, missing=True)
            # Integer columns cannot hold an infinity, which is what may stand for a missing score.
            scores = trials.table.select(pl.col(trials.score).cast(pl.Float64).fill_nan(None))
            there = scores.select(pl.all_horizontal(pl.all().is_not_null())).to_series()
            rows += trials.table.height
            missing += trials.table.height - int(there.sum())
            if instead is None and not there.all():
                trials = trials.only(there)
            elif not there.all():
                trials = replace(trials, table=trials.table.with_columns(scores.fill_null(instead)))
            yield replace(trials, table=trials.table.select(wanted))
        # At the end of the pass, since a batch in the middle of a file may well have no scores.
        if rows and missing == rows:
            raise FileFormatError(f"{file}: none of the {counted(rows, 'trial')} has a score")
        if missing and not told:
            said = left_out(missing, rows, "has no score", "have no score")
            if instead is not None:
                said = said.replace("left out", "rejected at every threshold")
            warn_caller(MissingScoresWarning(f"{file}: {said}", missing if instead is None else 0))
        told = True

    return Scan(scan.like, read)


# With blanks, so that it does not collide with a name a file is likely to have.
_ONE_LABEL = "label of all trials"


def with_one_label(scan: Scan) -> Scan:
    """A file in which every trial has the same label."""

    def labeled(batch: TrialTable) -> TrialTable:
        table = batch.table.with_columns(pl.lit("target").alias(_ONE_LABEL))
        return batch.with_table(table, label=_ONE_LABEL)

    def read(wanted: Sequence[str]) -> Iterator[TrialTable]:
        return map(labeled, scan.read([name for name in wanted if name != _ONE_LABEL]))

    require_roles(scan.like, labeled=False)
    return Scan(labeled(scan.like), read, rows=scan.rows)
