"""Which columns of a table are what, from their names and those that were asked for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import polars as pl

from llrkit.errors import FileFormatError
from llrkit.io.text.layouts import (
    ENROLL_NAMES,
    LABEL_NAMES,
    LLR,
    LLR_MAP,
    LOG10_LR,
    ONE_OF_TWO_SCORES,
    RAW_SCORE,
    SAME_SUBJECT,
    SCORE_NAMES,
    TEST_NAMES,
    folded,
)
from llrkit.io.trial_table import TrialTable
from llrkit.scores.roles import Roles, require_column

SASV_LABELS = {"1": "target", "1.0": "target", "2": "nontarget", "2.0": "nontarget", "0": "spoof", "0.0": "spoof"}  # fmt: skip # noqa: E501

PAIR_OF_FILES = {"file1", "file2", "reference"}


@dataclass(frozen=True)
class HeaderRoles:
    """The roles that the names of columns give, and how labels come about that no column holds as such.

    ``same`` are two columns whose equality makes the label, where the file has none.
    """

    roles: Roles
    same: tuple[str, str] | None = None

    @property
    def ids(self) -> list[str]:
        """Columns that are text whatever their values look like."""
        return list(dict.fromkeys((*self.roles.ids, *(self.same or ()))))

    def needed_for(self, names: Sequence[str], wanted: Iterable[str]) -> list[str]:
        """The columns of the file that must be read to have the wanted ones."""
        wishes = set(wanted)
        if self.same is not None and self.roles.label in wishes:
            wishes.update(self.same)
        return [name for name in names if name in wishes]

    def assigned_to(self, trials: TrialTable, wanted: Sequence[str] | None = None) -> TrialTable:
        """A table with its roles and, if its labels had to be made, with those; only the wanted columns."""
        table, label = trials.table, self.roles.label
        if self.same is not None and label is not None and set(self.same) <= set(table.columns):
            table = table.with_columns((pl.col(self.same[0]) == pl.col(self.same[1])).alias(label))
        elif label == "sasv_label" and label in table.columns:
            table = table.with_columns(pl.col(label).cast(pl.String).replace(SASV_LABELS))
        if wanted is not None:
            table = table.select(wanted)
        return replace(trials, table=table, roles=self.roles)


def header_roles(
    names: Sequence[str], *, score: Sequence[str] | None, label: str | None, where: str
) -> HeaderRoles:
    """The roles of columns with these names; ``score`` and ``label`` insist on some."""
    for name in (*(score or ()), *(() if label is None else (label,))):
        require_column(name, names, where)
    written = llrs_written_by_a_map(names)
    calibrated = written is not None and score in (None, [written], (written,))
    if score is None:
        usual = (
            written
            or _column_named_one_of(names, SCORE_NAMES, where)
            or _column_named_only_one_of(names, ONE_OF_TWO_SCORES, where)
        )
        score = [usual] if usual else []
    free = [name for name in names if name not in score]
    role = label or usual_label(free, score, where)
    same = next((pair for pair in SAME_SUBJECT if set(pair) <= set(names)), None) if role is None else None
    if same is not None:
        role = "label"
    free = [name for name in free if name != role]
    factor = math.log(10.0) if calibrated and written == LOG10_LR else 1.0
    roles = Roles(tuple(score), role, *ids_among(free, where), factor=factor, calibrated=calibrated)
    return HeaderRoles(roles, same)


def usual_label(names: Sequence[str], scores: Sequence[str], where: str) -> str | None:
    """The column with the labels of these scores: those of a countermeasure have labels of their own.

    Examples
    --------
    >>> usual_label(["filename", "cm-label", "asv-label"], ["cm-score"], "key.tsv")
    'cm-label'
    >>> usual_label(["filename", "cm-label", "asv-label"], ["sasv-score"], "key.tsv")
    'asv-label'
    """
    # pyannote calls the label of a pair of files its reference
    if {folded(name) for name in names} >= PAIR_OF_FILES:
        return _column_named_one_of(names, ("label", "reference"), where)
    own = ("cm_label",) if [folded(name) for name in scores] == ["cm_score"] else ()
    return _column_named_one_of(names, (*own, *LABEL_NAMES), where)


def llrs_written_by_a_map(names: Sequence[str]) -> str | None:
    """The column with LLRs that a calibration wrote, if there is one.

    Examples
    --------
    >>> llrs_written_by_a_map(["cosine", "label", "llr", "llr_map"]), llrs_written_by_a_map(["llr", "label"])
    ('llr', None)
    >>> llrs_written_by_a_map(["score", "raw_score"])  # as files were written before
    'score'
    """
    if LLR_MAP in names:
        return next((name for name in (LLR, LOG10_LR) if name in names), None)
    return "score" if {"score", RAW_SCORE} <= set(names) else None


def ids_among(names: Sequence[str], where: str) -> tuple[str | None, str | None]:
    """The columns with the ids of the two sides of a trial, where there are any."""
    return _column_named_one_of(names, ENROLL_NAMES, where), _column_named_one_of(names, TEST_NAMES, where)


def with_roles(trials: TrialTable, *, score: Sequence[str] | None, label: str | None) -> TrialTable:
    """A table with its roles, from the names of its columns and those that were asked for."""
    roles = header_roles(trials.table.columns, score=score, label=label, where=trials.file)
    return roles.assigned_to(trials)


def _column_named_one_of(names: Sequence[str], candidates: Sequence[str], where: str) -> str | None:
    """The column with the first of these names, however it is capitalized; two such are an error."""
    known = set(candidates)
    usual = [name for name in names if folded(name) in known]
    for candidate in candidates:
        same = [name for name in usual if folded(name) == candidate]
        if len(same) > 1:
            raise FileFormatError(
                f"{where}: the columns {' and '.join(map(repr, same))} differ only in capitals or hyphens; "
                "say which is meant with --score-column or --label-column"
            )
        if same:
            return same[0]
    return None


def _column_named_only_one_of(names: Sequence[str], candidates: Sequence[str], where: str) -> str | None:
    """The column with one of these names, where no column has another of them."""
    there = {folded(name) for name in names} & {*candidates}
    return _column_named_one_of(names, candidates, where) if len(there) == 1 else None
