"""apply, shift and convert: LLRs in place of scores, whether their calibration still holds, other formats."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from llrkit import multiclass
from llrkit.base.text import counted
from llrkit.engine import apply_files
from llrkit.engine.apply_files import apply_map, apply_parts, refuse_other_scale
from llrkit.errors import InputError
from llrkit.io.class_files import read_class_systems, with_loglik
from llrkit.io.formats import sha256_of
from llrkit.io.read import convert, read_whole
from llrkit.io.read_options import Reading
from llrkit.io.write import write_table, write_trials
from llrkit.jobs.job import STANDARD, Run, named_file
from llrkit.jobs.kinds import class_reading, refuse_for_two
from llrkit.jobs.options import (
    AdaptedOutput,
    ClusterChoice,
    ConvertFiles,
    LlrOutput,
    MapFile,
    ScoreFile,
    ScoreFiles,
)
from llrkit.maps.files import load_map, read_json
from llrkit.maps.map import Map
from llrkit.shift.shift_check import check_shift, judge_for
from llrkit.theory.operating_points import operating_point
from llrkit.verbs.given_calibration import adapt
from llrkit.verbs.options import AdaptOptions, ApplyOptions


def apply_to_files(run: Run) -> None:
    """Write the LLRs that a saved map makes of scores, or its log-likelihoods of several classes."""
    calibration, files = run.job[MapFile], run.job[ScoreFiles].scores
    plain = read_json(calibration.calibration, accept_changed=calibration.accept_changed)
    if isinstance(plain, dict) and str(plain.get("format", "")).startswith("llrkit.class_map/"):
        _apply_to_classes(run, files)
        return
    asked, written = run.job[ApplyOptions], run.job[LlrOutput]
    fitted = load_map(calibration.calibration, accept_changed=calibration.accept_changed)
    reading = run.job[Reading]
    if fitted.n_systems > 1 and len(files) == 1 and reading.score:
        reading = replace(reading, score=tuple(reading.score[0].split(",")))
    name = f"{Path(calibration.calibration).name} {sha256_of(calibration.calibration)[:12]}"
    options = apply_files.ApplyOptions(
        name=name,
        outside=asked.outside,
        shift=asked.shift,
        base_10=written.base_10,
        force=written.force,
        posterior=written.posterior,
        decide=None if written.decide is None else operating_point(written.decide),
    )
    done = _written_llrs(run, fitted, files, reading, options)
    for note in done.notes:
        run.note(note)
    output = written.output
    if done.files_before:
        run.say(f"{_all_finished(done.files_before)} already: no LLRs were written to {output}")
        return
    column = "log10_lr" if written.base_10 else "llr"
    text = f"{counted(done.rows - done.rows_before, 'LLR')} written to {output} (column {column!r})"
    (run.note if is_standard_output(output) else run.say)(text)


def _written_llrs(
    run: Run, fitted: Map, files: Sequence[str], reading: Reading, options: apply_files.ApplyOptions
) -> apply_files.Applied:
    """Write them to a file, or to a folder, part by part."""
    written, clusters = run.job[LlrOutput], run.job[ClusterChoice]
    judge = judge_for(fitted, options.shift)
    if written.output.endswith("/") or Path(written.output).is_dir():
        if len(files) > 1 or written.key_output or written.to not in (None, "parquet"):
            raise InputError(
                f"{written.output}: output to a folder needs one input directory or pattern, and is written "
                "as Parquet"
            )
        run_parts: apply_files.Run = map
        if clusters.any:
            from llrkit.engine.cluster import done_on

            run_parts = partial(done_on, run.client())
        return apply_parts(fitted, files[0], written.output, reading, options, run=run_parts, judge=judge)
    if clusters.any:
        raise InputError("a cluster writes to a folder: end the name of the output with '/'")
    return apply_map(
        fitted, files, written.output, reading, options, to=written.to, key_output=written.key_output,
        judge=judge,
    )  # fmt: skip


def _all_finished(files: int) -> str:
    """That no file is left to do, in words."""
    if files <= 2:
        return "The file was finished" if files == 1 else "Both files were finished"
    return f"All {files:,} files were finished"


def _apply_to_classes(run: Run, files: Sequence[str]) -> None:
    """Write a table with calibrated log-likelihoods in the columns of the classes."""
    refuse_for_two(run, LlrOutput, ApplyOptions, but=("output", "to", "outside"))
    calibration, written = run.job[MapFile], run.job[LlrOutput]
    fitted = multiclass.load_map(calibration.calibration, accept_changed=calibration.accept_changed)
    tables = read_class_systems(files, replace(class_reading(run), classes=tuple(fitted.classes)))
    values = [table.table.select(table.score).to_numpy() for table in tables]
    trials = values[0] if len(values) == 1 else np.stack(values, axis=2)
    with named_file(", ".join(files)):
        calibrated = with_loglik(tables[0], fitted(trials))
    write_table(calibrated, written.output, format=written.to)
    names, more = ", ".join(fitted.classes[:5]), ", ..." if len(fitted.classes) > 5 else ""
    where = f"log-likelihoods in the columns {names}{more}"
    run.say(f"{counted(calibrated.table.height, 'trial')} written to {written.output} ({where})")


def convert_file(run: Run) -> None:
    """Write the trials of a file in another format, or their compound LLRs."""
    asked, reading = run.job[ConvertFiles], run.job[Reading]
    if asked.target is not None and asked.output is not None:
        raise InputError(f"the output is named twice: {asked.target} and --output {asked.output}")
    target = asked.target or asked.output
    if not target:
        raise InputError("the output is missing: llrkit convert IN OUT, or -o OUT")
    if target == STANDARD:  # as for --json
        target = "/dev/stdout"
    if asked.compound is None:
        rows = convert(asked.source, target, reading, to=asked.to, key_output=asked.key_output)
    else:
        from llrkit.metrics.costs import compound_trials

        with named_file(asked.source):
            made = compound_trials(read_whole([asked.source], reading), p_known=asked.compound)
        write_trials(made, target, format=asked.to, key=asked.key_output)
        rows = len(made)
    text = f"{counted(rows, 'trial')} written to {target}"
    (run.note if is_standard_output(target) else run.say)(text)


def is_standard_output(path: str) -> bool:
    """Whether what is written to this path comes out where words do, which are then said beside."""
    with suppress(OSError, ValueError):
        return os.path.samestat(os.stat(path), os.fstat(sys.stdout.fileno()))
    return False


# whether the calibration still holds


def check_file(run: Run) -> None:
    """Say how the scores of a file have moved; with an output, adapt the calibration to them."""
    calibration, asked = run.job[MapFile], run.job[AdaptOptions]
    output, scores = run.job[AdaptedOutput].output, run.job[ScoreFile].scores
    if asked.labeled is not None and output is None:
        raise AdaptOptions.error("{} is for an adapted calibration (-o)", "labeled")
    fitted = load_map(calibration.calibration, accept_changed=calibration.accept_changed)
    columns = run.job[Reading].score
    if fitted.n_systems > 1:  # the columns of its systems, as typed or as in training
        columns = tuple(columns[0].split(",")) if columns else tuple(fitted.system_names)
    refuse_other_scale(fitted, run.job[Reading])
    if output is None:
        trials = run.open_unlabeled(scores, score=columns)
        run.result = check = check_shift(fitted, trials, speakers=asked.speakers or None, share=asked.shares)
        run.say(check.text)
        run.content = {**check.to_dict()}
        return
    few = None
    if asked.labeled is not None:  # it has labels of its own
        few = run.open(str(asked.labeled), score=columns, key=None, nontargets=None)
    trials = run.open_unlabeled(scores, score=columns)
    made = adapt(fitted, trials, options=asked, labeled=few)
    adapted = made.map.with_provenance(adapted_from=sha256_of(calibration.calibration))
    adapted.save(output)
    run.say(made.text, f"The calibration is saved {made.how} in {output}")
    run.result, run.content = made, {"schema": "llrkit.adapt/1", **adapted.to_dict()}
