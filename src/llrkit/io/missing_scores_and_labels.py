"""Trials without a score, left out or rejected and counted; files without labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import polars as pl

from llrkit._format import counted, left_out
from llrkit._warn import warn_caller
from llrkit.errors import FileFormatError, MissingScoresWarning
from llrkit.io.checked_trials import require_roles, with_scores
from llrkit.io.trial_table import Scan, TrialTable


@dataclass
class _CountsOfMissing:
    """How many trials there were, and how many of them had no score."""

    rows: int = 0
    missing: int = 0

    def say(self, file: str, instead: float | None) -> None:
        """Warn of what became of them; nothing left at all is an error."""
        if self.rows and self.missing == self.rows:
            raise FileFormatError(f"{file}: none of the {counted(self.rows, 'trial')} has a score")
        if self.missing:
            said = left_out(self.missing, self.rows, "has no score", "have no score")
            if instead is not None:
                said = said.replace("left out", "rejected at every threshold")
            warn_caller(MissingScoresWarning(f"{file}: {said}", self.missing if instead is None else 0))


def without_missing_scores(trials: TrialTable, instead: float | None = None) -> TrialTable:
    """The trials that have a score of every system, or all with another score ``instead``.

    A warning says how many have none.

    Examples
    --------
    >>> import warnings
    >>> from llrkit.scores.roles import Roles
    >>> table = pl.DataFrame({"score": [1.5, None, float("nan")], "label": [1, 0, 0]})
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     kept = without_missing_scores(TrialTable("a.csv", "table", table, Roles(label="label")))
    >>> kept.table.height, str(caught[0].message)
    (1, 'a.csv: 2 of 3 trials have no score and are left out')
    """
    counts = _CountsOfMissing()
    kept = _trials_with_scores(trials, counts, instead)
    counts.say(trials.file, instead)
    return kept


def scan_without_missing_scores(scan: Scan, instead: float | None = None) -> Scan:
    """The same for a file that is read in batches; the first pass says how many have none."""
    said: list[_CountsOfMissing] = []

    def read(wanted: Sequence[str]) -> Iterator[TrialTable]:
        counts = _CountsOfMissing()
        for batch in scan.read([*dict.fromkeys([*wanted, *scan.like.score])]):
            kept = _trials_with_scores(batch, counts, instead)
            yield replace(kept, table=kept.table.select(wanted))
        if not said:
            said.append(counts)
            counts.say(scan.like.file, instead)

    return Scan(scan.like, read, in_memory=scan.in_memory)


def _trials_with_scores(trials: TrialTable, counts: _CountsOfMissing, instead: float | None) -> TrialTable:
    trials = with_scores(trials, missing=True)
    columns = [trials.table[name] for name in trials.score]
    mask = pl.Series([True]).new_from_index(0, trials.table.height)
    for column in columns:
        mask &= column.is_not_null() & (column.is_not_nan() if column.dtype.is_float() else True)
    counts.rows += trials.table.height
    counts.missing += trials.table.height - int(mask.sum())
    if mask.all():
        return trials
    if instead is None:
        return trials.only(mask)
    filled = [column.cast(pl.Float64).fill_nan(None).fill_null(instead) for column in columns]
    return replace(trials, table=trials.table.with_columns(filled))


_ONE_LABEL = "label of all trials"


def with_one_label(scan: Scan) -> Scan:
    """A file in which every trial has the same label."""

    def labeled(batch: TrialTable) -> TrialTable:
        table = batch.table.with_columns(pl.lit("target").alias(_ONE_LABEL))
        return replace(batch, table=table, roles=replace(batch.roles, label=_ONE_LABEL))

    def read(wanted: Sequence[str]) -> Iterator[TrialTable]:
        return map(labeled, scan.read([name for name in wanted if name != _ONE_LABEL]))

    require_roles(scan.like, labeled=False)
    return Scan(labeled(scan.like), read, rows=scan.rows)
