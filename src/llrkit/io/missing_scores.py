"""Trials without a score, left out where that was asked for, and counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import polars as pl

from llrkit._warn import warn_caller
from llrkit.errors import FileFormatError, MissingScoresWarning
from llrkit.io.checks import with_scores
from llrkit.io.trial_table import Scan, TrialTable


@dataclass
class _Counts:
    """How many trials there were, and how many of them had no score."""

    rows: int = 0
    missing: int = 0

    def say(self, file: str) -> None:
        """Warn of what was left out; nothing left at all is an error."""
        if self.rows and self.missing == self.rows:
            raise FileFormatError(f"{file}: none of the {self.rows:,} trials has a score")
        if self.missing:
            warn_caller(
                f"{file}: {self.missing:,} of {self.rows:,} trials have no score and are left out",
                MissingScoresWarning,
            )


def without_missing_scores(trials: TrialTable) -> TrialTable:
    """The trials that have a score of every system; a warning says how many have not.

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
    counts = _Counts()
    kept = _scored(trials, counts)
    counts.say(trials.file)
    return kept


def scan_without_missing_scores(scan: Scan) -> Scan:
    """The same for a file that is read in batches; the first pass says how many are left out."""
    said: list[_Counts] = []

    def read(wanted: Sequence[str]) -> Iterator[TrialTable]:
        counts = _Counts()
        for batch in scan.read([*dict.fromkeys([*wanted, *scan.like.score])]):
            kept = _scored(batch, counts)
            yield replace(kept, table=kept.table.select(wanted))
        if not said:
            said.append(counts)
            counts.say(scan.like.file)

    return Scan(scan.like, read, in_memory=scan.in_memory)


def _scored(trials: TrialTable, counts: _Counts) -> TrialTable:
    trials = with_scores(trials, missing=True)
    columns = [trials.table[name] for name in trials.score]
    mask = pl.Series([True]).new_from_index(0, trials.table.height)
    for column in columns:
        mask &= column.is_not_null() & (column.is_not_nan() if column.dtype.is_float() else True)
    counts.rows += trials.table.height
    counts.missing += trials.table.height - int(mask.sum())
    return trials if mask.all() else trials.only(mask)
