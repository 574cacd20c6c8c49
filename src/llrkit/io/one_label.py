"""Files without labels, for what looks at scores alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from llrkit.io.checked_trials import require_roles
from llrkit.io.trial_table import Scan, TrialTable

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
