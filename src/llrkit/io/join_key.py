"""Scores joined with the labels of a key in another file, on the ids of the trials."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from llrkit._format import agreeing, counted, left_out
from llrkit._memory import require_memory
from llrkit._warn import warn_caller
from llrkit.errors import FileFormatError, InputError, LeftOutWarning
from llrkit.io.checked_trials import SHOWN, by_policy_on_repeated, refuse_two_labels
from llrkit.io.trial_table import TrialTable
from llrkit.scores.target_labels import classify_words

_ROW, _OWN, _KEYED = "_row_of_the_key", "_label_of_the_scores", "_label_of_the_key"
_CHANNELS = ("side", "channel", "chan")


def join_key(scores: TrialTable, key: TrialTable, *, missing: str, duplicates: str) -> TrialTable:
    """Scores with the labels of a key that is in another file, joined on the ids of the trials.

    Rows keep the order of the scores. What ``missing`` and ``duplicates`` accept is in ``roles.py``. The
    labels come from the key whatever columns the scores have: one of the same name is left out.
    """
    if key.label is None:
        raise FileFormatError(
            f"{key.file}: a key without labels; its columns: {', '.join(key.table.columns)}"
        )
    if scores.label is not None:
        scores = scores.with_table(scores.table.rename({scores.label: _OWN}), label=_OWN)
    renamed = key.with_table(key.table.rename({key.label: _KEYED}), label=_KEYED)
    renamed, ids = _ids_shared_with_key(scores, renamed)
    left, right = _ids_of_same_types(scores.table, renamed.table, ids)
    scores, renamed = replace(scores, table=left), replace(renamed, table=right)
    require_memory(_joined_size(left, right, ids), f"{scores.file} and {key.file}")
    table = _join_on_ids(left, right, ids)
    if not _is_one_to_one_join(table, left, right):
        refuse_two_labels(renamed, ids)
        scores = by_policy_on_repeated(scores, duplicates, ids)
        if duplicates == "error":
            by_policy_on_repeated(renamed, duplicates, ids)
        renamed = _key_once_each(renamed, ids)
        if missing == "error":
            _refuse_unmatched_trials(scores, renamed, ids, "no label", renamed.file)
            _refuse_unmatched_trials(renamed, scores, ids, "no score", scores.file)
        table = _join_on_ids(scores.table, renamed.table, ids).filter(pl.col(_ROW).is_not_null())
        _say_left_out(scores, renamed, table, key.file)
        scores = replace(scores, lines=None)
    taken = {*ids, *scores.score}
    label = next(name for name in (key.label, "label", "label_of_key") if name not in taken)
    table = table.select(pl.exclude(_ROW, label)).rename({_KEYED: label})
    joined = scores.with_table(table, label=label)
    return joined if _OWN not in table.columns else _without_own_labels(joined, key.file)


def _say_left_out(scores: TrialTable, key: TrialTable, joined: pl.DataFrame, key_file: str) -> None:
    """Say how many trials only one of the two files has; if no trial is in both, that is an error."""
    unlabeled, unscored = scores.table.height - joined.height, key.table.height - joined[_ROW].n_unique()
    if not joined.height and scores.table.height:
        raise FileFormatError(f"{scores.file}: none of its {counted(unlabeled, 'trial')} is in {key_file}")
    for here, n, lacks in (
        (scores, unlabeled, f"no label in {key_file}"),
        (key, unscored, f"no score in {scores.file}"),
    ):
        if n:
            said = left_out(n, here.table.height, f"has {lacks}", f"have {lacks}")
            warn_caller(LeftOutWarning(f"{here.file}: {said}", n))


def _without_own_labels(joined: TrialTable, key: str) -> TrialTable:
    """The labels of the key alone; it is an error if the scores came with labels that say otherwise."""
    ours, theirs = (_meaning_of_key_labels(joined.table[name]) for name in (_OWN, joined.label or ""))
    differs = (ours != theirs).fill_null(False)
    if differs.any():
        row, n = int(differs.arg_max() or 0), int(differs.sum())
        raise FileFormatError(
            f"{joined.place(row)}: the label here is {str(joined.table[_OWN][row])!r}, but "
            f"{str(joined.table[joined.label or ''][row])!r} in {key}; {counted(n, 'trial')} "
            f"{agreeing(n, 'differs', 'differ')}. "
            "Leave the key out, or the labels in this file"
        )
    return replace(joined, table=joined.table.drop(_OWN))


def _meaning_of_key_labels(labels: pl.Series) -> pl.Series:
    """True for targets, false for non-targets, null where a label is missing or no known word."""
    words = labels.cast(pl.String)
    known = [word for word in words.unique().to_list() if word is not None]
    meaning = classify_words([word.removesuffix(".0") for word in known])
    return words.replace_strict(known, meaning, default=None, return_dtype=pl.Boolean)


def _ids_shared_with_key(scores: TrialTable, key: TrialTable) -> tuple[TrialTable, list[str]]:
    """The key with its ids named as in the scores, and the names that both share."""
    pairs = [(scores.enroll, key.enroll), (scores.test, key.test)]
    both = [(ours, theirs) for ours, theirs in pairs if ours is not None and theirs is not None]
    names = [name for name in key.table.columns if name in scores.table.columns]
    if both and all((ours is None) == (theirs is None) for ours, theirs in pairs):
        other = {theirs: ours for ours, theirs in both}
        free = [name for name in key.table.columns if name in other or name not in other.values()]
        table = key.table.select(free).rename(other)
        wanted = [*other.values(), *(name for name in _CHANNELS if name in names)]
        return replace(key, table=table), wanted
    ids = [name for name in scores.table.columns if name in names and name not in scores.score]
    if not ids:
        raise InputError(f"{key.file}: shares no column with {scores.file} that would identify the trials")
    return key, ids


def _ids_of_same_types(
    left: pl.DataFrame, right: pl.DataFrame, ids: list[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    other = [
        pl.col(name).cast(pl.String)
        for name in ids
        if left.schema[name] != right.schema[name] and name not in _CHANNELS
    ]
    # channels are a and b in one file and A and B in another
    other += [pl.col(name).cast(pl.String).str.to_lowercase() for name in ids if name in _CHANNELS]
    return left.with_columns(other), right.with_columns(other)


def _joined_size(left: pl.DataFrame, right: pl.DataFrame, ids: list[str]) -> float:
    """Both tables, and their ids once more: polars puts those of a trial together to compare them."""
    sides = (table[name] for table in (left, right) for name in ids)
    texts = sum(
        int(side.str.len_bytes().sum()) if side.dtype == pl.String else 9 * len(side) for side in sides
    )
    return float(left.estimated_size() + right.estimated_size() + texts)


def _join_on_ids(left: pl.DataFrame, right: pl.DataFrame, ids: list[str]) -> pl.DataFrame:
    wanted = [*ids, *(name for name in right.columns if name not in left.columns)]
    right = right.select(wanted).with_row_index(_ROW)
    return left.join(right, on=ids, how="left", maintain_order="left", nulls_equal=True)


def _is_one_to_one_join(joined: pl.DataFrame, left: pl.DataFrame, right: pl.DataFrame) -> bool:
    """Whether every row of one side met exactly one of the other."""
    rows = joined[_ROW]
    if not joined.height == left.height == right.height or rows.has_nulls():
        return False
    return joined.height == 0 or bool((np.bincount(rows.to_numpy()) == 1).all())


def _key_once_each(key: TrialTable, ids: list[str]) -> TrialTable:
    """A key in which no trial occurs twice; its labels are known to agree."""
    distinct = key.table.unique(subset=ids, maintain_order=True)
    return key if distinct.height == key.table.height else key.without_lines(distinct)


def _refuse_unmatched_trials(
    here: TrialTable, there: TrialTable, ids: list[str], what: str, lacking: str
) -> None:
    left = here.table.select(ids).with_row_index(_ROW)
    gone = left.join(there.table, on=ids, how="anti", nulls_equal=True, maintain_order="left")
    if gone.height:
        first = gone.head(SHOWN)
        shown = "; ".join(" ".join(map(str, row)) for row in first.select(ids).rows())
        where = here.places(first[_ROW].to_list())
        trials = counted(gone.height, "trial")
        raise FileFormatError(f"{lacking}: {what} for {trials}: {shown} ({here.file}, {where})")
