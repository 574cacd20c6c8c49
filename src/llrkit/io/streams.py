"""Trials with or without labels as batches, read as ``read_trials`` reads them, for what is written again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import polars as pl

from llrkit.errors import InputError, LabelError
from llrkit.io import factor_of, needs_memory, read_trials, scan_found
from llrkit.io.checks import require_roles, with_positive
from llrkit.io.quality import with_quality
from llrkit.io.trial_table import Found, Scan
from llrkit.io.write import found_of

_READ = ("format", "columns", "score", "label")


def open_scan(
    path: str | PathLike[str],
    key: str | PathLike[str] | None = None,
    *,
    positive: str | None = None,
    log10: bool = False,
    distance: bool = False,
    **options: Any,
) -> Scan:
    """The trials of a file, a directory or a glob as batches; the options are those of ``read_trials``.

    What must be seen as a whole (a key, a second file of non-targets, repeated trials) is read at once.
    Labels may be missing unless an option is about them.
    """
    if needs_memory(key, **options):
        trials = read_trials(path, key, positive=positive, log10=log10, distance=distance, **options)
        return Scan.of(found_of(trials))
    plain = {name: options.get(name) for name in _READ}
    if isinstance(plain["score"], str):
        plain["score"] = [plain["score"]]
    scan = one_after_another(scan_found(path, **plain))
    require_roles(scan.like, labeled=False)
    if positive is not None:
        scan = _with_positive(scan, positive)
    if options.get("quality") is not None:
        scan = Scan.of(
            with_quality(scan.whole(), options["quality"], missing=options.get("missing", "error"))
        )
    factor = factor_of(log10=log10, distance=distance)
    return scan if factor == 1.0 else _rescaled(scan, factor)


def one_after_another(scans: Sequence[Scan]) -> Scan:
    """Several files as one."""
    if len(scans) == 1:
        return scans[0]
    schema = scans[0].like.table.schema

    def read(wanted: Sequence[str]) -> Iterator[Found]:
        for scan in scans:
            for batch in scan.read(wanted):
                # integers of one file may be floats in another
                table = batch.table.cast({name: schema[name] for name in wanted})
                yield replace(batch, table=table)

    return Scan(scans[0].like, read)


def _rescaled(scan: Scan, factor: float) -> Scan:
    def change(table: pl.DataFrame) -> pl.DataFrame:
        there = [name for name in scan.like.score if name in table.columns]
        return table.with_columns(pl.col(name).cast(pl.Float64) * factor for name in there)

    def read(wanted: Sequence[str]) -> Iterator[Found]:
        for batch in scan.read(wanted):
            yield replace(batch, table=change(batch.table))

    return Scan(replace(scan.like, table=change(scan.like.table)), read)


def _with_positive(scan: Scan, positive: str) -> Scan:
    label = scan.like.label
    if label is None:
        raise InputError(f"{scan.like.file}: --positive {positive}, but there are no labels")
    empty = scan.like.table.with_columns(pl.lit(None, dtype=pl.Boolean).alias(label))

    def read(wanted: Sequence[str]) -> Iterator[Found]:
        seen = label not in wanted
        for batch in scan.read(wanted):
            changed = batch if label not in wanted else with_positive(batch, positive)
            seen = seen or bool(changed.table[label].any())
            yield changed
        if not seen:
            raise LabelError(f"{scan.like.file}, column {label!r}: no label {positive!r}")

    return Scan(replace(scan.like, table=empty), read)
