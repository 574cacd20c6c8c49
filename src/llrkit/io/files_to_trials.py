"""The one way from files to trials: at once, or as batches that are to be written again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from llrkit._progress import stage
from llrkit.errors import FileFormatError, InputError, LabelError
from llrkit.io.binary.numpy_files import two_classes
from llrkit.io.checked_trials import as_trials_checked, by_policy_on_repeated, require_roles, with_positive
from llrkit.io.column_roles import usual_label
from llrkit.io.formats import TableOptions, TextOptions, detect
from llrkit.io.join_key import join_key
from llrkit.io.join_systems import join_systems, named_alike, system_names, trial_columns
from llrkit.io.missing_scores_and_labels import scan_without_missing_scores, without_missing_scores
from llrkit.io.reading_options import MEMORY, REWRITE, PathArg, Reading
from llrkit.io.segment_quality import with_quality
from llrkit.io.tables_of_paths import files_of, read_table, scan_tables
from llrkit.io.text.layouts import LLR, LOG10_LR
from llrkit.io.trial_table import Scan, TrialTable, one_after_another
from llrkit.io.write import table_of
from llrkit.scores.trials import Trials


def read_whole(paths: Sequence[PathArg], reading: Reading, *, held: bool = False) -> Trials:
    """The trials of a file, a directory or a glob in memory; of several, those of one system each, joined.

    With ``held`` the scores are left as the file holds them, whatever they are to be multiplied by.
    """
    reading.require(MEMORY)
    _require_text(paths, reading)
    table = (
        _one_file_of_scores(paths[0], reading) if len(paths) == 1 else _file_for_each_system(paths, reading)
    )
    absent = "error" if reading.missing == "error" else "drop"
    if reading.key is not None:
        key = _read_key_file(reading, table.score)
        with stage("joining scores and key"):
            table = join_key(table, key, missing=absent, duplicates=reading.repeated)
    if reading.quality is not None:
        table = with_quality(table, reading.quality, missing=absent, **_how_text_is_written(reading))
    if reading.selection is not None:
        table = reading.selection.of_table(table)
    if reading.missing_scores != "error":
        table = without_missing_scores(table, reading.instead_of_missing(table.roles))
    trials = as_trials_checked(table, positive=reading.positive, missing=reading.missing == "subset")
    if reading.weight is not None:
        trials = trials.weighed_by(reading.weight)
    factor = 1.0 if held else reading.factor_for(table.roles)
    trials = trials.read_with(factor=factor, positive=reading.positive)
    return trials.holding(table.roles.factor) if held else trials


def open_batches(path: PathArg, reading: Reading, *, held: bool = False, trained: Sequence[str] = ()) -> Scan:
    """The trials of a file, a directory or a glob as batches that are to be written again.

    What must be seen as a whole (a key, a second file of non-targets, repeated trials) is read at once.
    Labels may be missing unless an option is about them. With ``held`` the scores are left as the file holds
    them; otherwise LLRs to base ten that a calibration wrote become natural ones, in the column ``llr``.
    ``trained`` are the columns of training, for a message.
    """
    reading.require(REWRITE)
    if reading.joins:
        return Scan.of(table_of(read_whole([path], reading, held=held)))
    _require_text([path], reading)
    scan = one_after_another(scan_tables(path, **table_options(reading)))
    require_roles(scan.like, labeled=False, trained=trained)
    if reading.quality is not None:
        text = _how_text_is_written(reading)
        scan = Scan.of(with_quality(scan.whole(), reading.quality, missing=reading.missing, **text))
    if reading.selection is not None:
        scan = reading.selection.of_scan(scan)
    if reading.missing_scores != "error":
        scan = scan_without_missing_scores(scan, reading.instead_of_missing(scan.like.roles))
    if reading.positive is not None:
        scan = _with_positive_label(scan, reading.positive)
    factor = 1.0 if held else reading.factor_for(scan.like.roles)
    return scan if factor == 1.0 else _rescaled_scores(scan, factor)


def table_options(reading: Reading) -> TableOptions:
    """What one file needs to know; the label is that of the key where there is one."""
    own = reading.key is None or reading.key_label is not None
    return {
        "format": reading.format,
        "columns": reading.columns,
        "score": reading.score,
        "label": reading.label if own else None,
        **_how_text_is_written(reading),
    }


def _how_text_is_written(reading: Reading) -> TextOptions:
    return {"decimal": reading.decimal, "encoding": reading.encoding}


def _read_key_file(reading: Reading, scores: Sequence[str]) -> TrialTable:
    """The file with the labels; those of a countermeasure if the scores are its."""
    assert reading.key is not None
    label = reading.key_label or reading.label
    key = read_table(
        reading.key, score=[], label=label, columns=reading.key_columns, **_how_text_is_written(reading)
    )
    usual = usual_label(key.table.columns, scores, key.file) if label is None and key.label else None
    return key if usual is None else key.with_roles(label=usual)


def _require_text(paths: Sequence[PathArg], reading: Reading) -> None:
    """Refuse options about text where no file is text."""
    if reading.decimal is None and reading.encoding is None:
        return
    files = (file for path in (*paths, *reading.files) for file in files_of(path))
    if all(detect(file) != "text" for file in files):
        flag = "--decimal" if reading.decimal is not None else "--encoding"
        raise InputError(f"{flag} is for text, but {paths[0]} is {detect(files_of(paths[0])[0])}")


def _one_file_of_scores(path: PathArg, reading: Reading) -> TrialTable:
    if reading.nontargets is not None:
        return _targets_and_nontargets_files(path, reading.nontargets, reading)
    table = read_table(path, **table_options(reading))
    return table if reading.key is not None else by_policy_on_repeated(table, reading.repeated)


def _targets_and_nontargets_files(targets: PathArg, nontargets: PathArg, reading: Reading) -> TrialTable:
    text = _how_text_is_written(reading)
    tables = [read_table(path, format=reading.format, **text) for path in (targets, nontargets)]
    if reading.missing_scores != "error":
        tables = [without_missing_scores(table, reading.instead_of_missing(table.roles)) for table in tables]
    for table in tables:
        if len(table.score) != 1:
            raise FileFormatError(f"{table.file}: expected the scores of one class, one per line")
        as_trials_checked(table.with_roles(label=None), labeled=False)
    target, nontarget = (table.table[table.score[0]].to_numpy() for table in tables)
    return two_classes(target, nontarget, f"{targets} and {nontargets}", tables[0].format, "score", None)


def _file_for_each_system(paths: Sequence[PathArg], reading: Reading) -> TrialTable:
    """One score per file, joined on the ids of the trials: on ``ids`` or all columns the files share."""
    if reading.nontargets is not None:
        raise InputError("--nontargets is for one system; several need to know which trials are the same")
    if reading.duplicates == "keep":
        raise InputError("trials that occur more than once cannot be joined; use --duplicates error or drop")
    tables = [read_table(path, **table_options(reading)) for path in paths]
    if reading.duplicates == "drop":
        tables = [tables[0], *(named_alike(tables[0], table) for table in tables[1:])]
        keys = trial_columns(tables, reading.ids)
        tables = [by_policy_on_repeated(table, "drop", keys) for table in tables]
    names = [str(path) for path in paths]
    settled = reading.missing_scores != "error"
    joined = join_systems(
        tables, system_names(names), ids=reading.ids, missing=reading.missing, unscored=settled
    )
    return replace(joined, file=" + ".join(names))


def _rescaled_scores(scan: Scan, factor: float) -> Scan:
    def change(trials: TrialTable) -> TrialTable:
        names = [name for name in trials.score if name in trials.table.columns]
        scaled = (pl.col(name).cast(pl.Float64) * factor for name in names)
        return replace(trials, table=trials.table.with_columns(scaled))

    scaled = scan.changed(change)
    return (
        _as_natural_llrs(scaled) if scan.like.roles.calibrated and scan.like.score == (LOG10_LR,) else scaled
    )


def _as_natural_llrs(scan: Scan) -> Scan:
    """LLRs that are no longer to base ten, in the column of natural ones."""

    def renamed(trials: TrialTable) -> TrialTable:
        table = trials.table.rename({LOG10_LR: LLR}, strict=False)
        return trials.with_table(table, score=(LLR,), factor=1.0)

    def read(wanted: Sequence[str]) -> Iterator[TrialTable]:
        return map(renamed, scan.read([LOG10_LR if name == LLR else name for name in wanted]))

    return Scan(renamed(scan.like), read)


def _with_positive_label(scan: Scan, positive: str) -> Scan:
    label = scan.like.label
    if label is None:
        raise InputError(f"{scan.like.file}: --positive {positive}, but there are no labels")
    empty = scan.like.table.with_columns(pl.lit(None, dtype=pl.Boolean).alias(label))

    def read(wanted: Sequence[str]) -> Iterator[TrialTable]:
        seen = label not in wanted
        for batch in scan.read(wanted):
            changed = batch if label not in wanted else with_positive(batch, positive)
            seen = seen or bool(changed.table[label].any())
            yield changed
        if not seen:
            raise LabelError(f"{scan.like.file}, column {label!r}: no label {positive!r}")

    return Scan(replace(scan.like, table=empty), read)
