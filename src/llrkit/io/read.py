"""The one way from files to trials, and from one format to another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from llrkit.base.process import stage
from llrkit.errors import FileFormatError, InputError, LabelError
from llrkit.io import trial_checks
from llrkit.io.array_files import two_classes
from llrkit.io.formats import detect, files_of, read_table, require_separate, scan_tables
from llrkit.io.joins import join_key, join_systems, named_alike, system_names, trial_columns, with_quality
from llrkit.io.read_options import MEMORY, PLAIN, REWRITE, PathArg, Reading
from llrkit.io.table_columns import LLR, LOG10_LR, Scan, TrialTable, one_after_another, usual_label
from llrkit.io.trial_checks import as_trials_checked, require_roles, with_scores
from llrkit.io.write import table_of, write_batches
from llrkit.scores.trials import Trials


def read_whole(paths: Sequence[PathArg], reading: Reading, *, held: bool = False) -> Trials:
    """The trials of a file, a directory or a glob in memory; of several, those of one system each, joined.

    With ``held`` the scores are left as the file holds them, whatever they are to be multiplied by.
    """
    reading.require(MEMORY)
    _require_text(paths, reading)
    if len(paths) > 1:
        table = _file_for_each_system(paths, reading)
    elif reading.nontargets is not None:
        table = _targets_and_nontargets_files(paths[0], reading.nontargets, reading)
    else:
        table = read_table(paths[0], reading)
        # With a key, repeated trials are judged by the join, which knows the columns that identify them.
        if reading.key is None:
            table = trial_checks.by_policy_on_repeated(table, reading.repeated)
    # "subset" is about scores of systems; for the key and the quality measures it means to leave trials
    # out.
    absent = "error" if reading.missing == "error" else "drop"
    if reading.key is not None:
        wanted = reading.key_label or reading.label
        of_key = reading.for_other_file(score=(), label=wanted, columns=reading.key_columns)
        key = read_table(reading.key, of_key)
        if wanted is None and key.label is not None:  # a countermeasure has labels of its own
            key = key.with_roles(label=usual_label(key.table.columns, table.score, key.file) or key.label)
        with stage("joining scores and key"):
            table = join_key(table, key, missing=absent, duplicates=reading.repeated)
    if reading.quality is not None:
        table = with_quality(table, reading.quality, missing=absent, reading=reading)
    # After the joins, so that a condition may name a column of the key or a quality measure.
    (table,) = selected(Scan.of(table), reading).read(table.table.columns)
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
    # A join needs every id in memory, so the file is read whole and handed on as a single batch.
    if reading.joins:
        return Scan.of(table_of(read_whole([path], reading, held=held)))
    _require_text([path], reading)
    scan = one_after_another(scan_tables(path, reading))
    require_roles(scan.like, labeled=False, trained=trained)
    if reading.quality is not None:
        measured = with_quality(scan.whole(), reading.quality, missing=reading.missing, reading=reading)
        scan = Scan.of(measured)
    scan = selected(scan, reading)
    if reading.positive is not None:
        scan = _with_positive_label(scan, reading.positive)
    factor = 1.0 if held else reading.factor_for(scan.like.roles)
    return scan if factor == 1.0 else _rescaled_scores(scan, factor)


def selected(scan: Scan, reading: Reading) -> Scan:
    """Only the trials that satisfy ``where``, and those without a score as ``missing_scores`` says."""
    if reading.selection is not None:
        scan = reading.selection.of_scan(scan)
    if reading.missing_scores != "error":
        scan = trial_checks.without_missing_scores(scan, reading.instead_of_missing(scan.like.roles))
    return scan


def _require_text(paths: Sequence[PathArg], reading: Reading) -> None:
    """Refuse options about text where no file is text."""
    if reading.decimal is None and reading.encoding is None:
        return
    files = (file for path in (*paths, *reading.files) for file in files_of(path))
    if all(detect(file) != "text" for file in files):
        flag = "--decimal" if reading.decimal is not None else "--encoding"
        raise InputError(f"{flag} is for text, but {paths[0]} is {detect(files_of(paths[0])[0])}")


def _targets_and_nontargets_files(targets: PathArg, nontargets: PathArg, reading: Reading) -> TrialTable:
    either = reading.for_other_file(format=reading.format)
    policy = replace(reading, where=())  # which is about the trials of both
    tables = []
    for path in (targets, nontargets):
        table = read_table(path, either)
        (table,) = selected(Scan.of(table), policy).read(table.table.columns)
        if len(table.score) != 1:
            raise FileFormatError(f"{table.file}: expected the scores of one class, one per line")
        # Checked here: after the two arrays are put together, no message could name the file and its line.
        with_scores(table)
        tables.append(table)
    target, nontarget = (table.table[table.score[0]].to_numpy() for table in tables)
    return two_classes(target, nontarget, f"{targets} and {nontargets}", tables[0].format, "score", None)


def _file_for_each_system(paths: Sequence[PathArg], reading: Reading) -> TrialTable:
    """One score per file, joined on the ids of the trials: on ``ids`` or all columns the files share."""
    if reading.nontargets is not None:
        raise InputError("--nontargets is for one system; several need to know which trials are the same")
    if reading.duplicates == "keep":
        raise InputError("trials that occur more than once cannot be joined; use --duplicates error or drop")
    tables = [read_table(path, reading) for path in paths]
    # join_systems refuses repeated trials, so they are dropped from each file before it; the ids must
    # have the same names in all files for that.
    if reading.duplicates == "drop":
        tables = [tables[0], *(named_alike(tables[0], table) for table in tables[1:])]
        keys = trial_columns(tables, reading.ids)
        tables = [trial_checks.by_policy_on_repeated(table, "drop", keys) for table in tables]
    names, settled = [str(path) for path in paths], reading.missing_scores != "error"
    systems = system_names(names)
    joined = join_systems(tables, systems, ids=reading.ids, missing=reading.missing, unscored=settled)
    return replace(joined, file=" + ".join(names))


def _rescaled_scores(scan: Scan, factor: float) -> Scan:
    """Scores times a factor; LLRs that are no longer to base ten are in the column of natural ones."""
    # Only LLRs that a calibration wrote change their column: log10_lr would be a wrong name after the
    # multiplication, while the user's own column keeps its name.
    renames = scan.like.roles.calibrated and scan.like.score == (LOG10_LR,)

    def change(trials: TrialTable) -> TrialTable:
        names = [name for name in trials.score if name in trials.table.columns]
        table = trials.table.with_columns(pl.col(name).cast(pl.Float64) * factor for name in names)
        if not renames:
            return replace(trials, table=table)
        return trials.with_table(table.rename({LOG10_LR: LLR}, strict=False), score=(LLR,), factor=1.0)

    def read(wanted: Sequence[str]) -> Iterator[TrialTable]:
        return map(change, scan.read([LOG10_LR if renames and name == LLR else name for name in wanted]))

    return Scan(change(scan.like), read)


def _with_positive_label(scan: Scan, positive: str) -> Scan:
    label = scan.like.label
    if label is None:
        raise InputError(f"{scan.like.file}: --positive {positive}, but there are no labels")
    # The schema of later batches must be known before any is read, and the label is a boolean from here
    # on.
    empty = scan.like.table.with_columns(pl.lit(None, dtype=pl.Boolean).alias(label))

    def read(wanted: Sequence[str]) -> Iterator[TrialTable]:
        seen = label not in wanted
        for batch in scan.read(wanted):
            changed = batch if label not in wanted else trial_checks.with_positive(batch, positive)
            seen = seen or bool(changed.table[label].any())
            yield changed
        # Only after all batches: the word may first occur in the last of them.
        if not seen:
            raise LabelError(f"{scan.like.file}, column {label!r}: no label {positive!r}")

    return Scan(replace(scan.like, table=empty), read)


def convert(
    source: PathArg,
    target: PathArg,
    reading: Reading = PLAIN,
    *,
    to: str | None = None,
    key_output: PathArg | None = None,
) -> int:
    """Read ``source`` as ``read_trials`` does and write it, batch by batch; gives the number of trials.

    A file of scores without labels is converted as it is. What is read is not written over.
    """
    require_separate([source, *reading.files], [target] if key_output is None else [target, key_output])
    scan = open_batches(source, reading)

    def checked() -> Iterator[TrialTable]:
        for batch in scan.read(scan.columns):
            if batch.label is not None:
                # For its errors only; labels are written as they were read.
                trial_checks.target_mask_of(batch)
            yield with_scores(batch)

    return write_batches(checked(), with_scores(scan.like), target, format=to, key=key_output)
