"""``llrkit apply``: turn scores into LLRs with a calibration or a fusion."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from llrkit.base.text import counted
from llrkit.cli.calibrate import sha256_of
from llrkit.cli.kinds.asked_options import ToApply
from llrkit.cli.kinds.two_classes import TwoClassFiles
from llrkit.cli.kinds.which_kind import files_of_map
from llrkit.cli.options import asking, parse_points, parse_share
from llrkit.cli.output import is_standard_output
from llrkit.cli.trial_input import TrialInput, accept_changed_option, reading_options, worker_options
from llrkit.errors import InputError


@click.command("apply")
@click.argument("calibration")
@click.argument("scores", nargs=-1, required=True)
@click.option("-o", "--output", required=True, metavar="FILE", help="File or folder to write the LLRs to.")
@click.option("--to", metavar="NAME", help="Format to write; by default chosen by the ending of FILE.")
@click.option(
    "--key-output", metavar="FILE", help="File to write the labels to, for Kaldi, NIST and BOSARIS."
)
@click.option("--ids", metavar="COL[,COL]", help="For several files: the columns that identify a trial.")
@click.option("--outside", type=click.Choice(["warn", "error", "bound"]), default="warn", show_default=True,
              help="What to do with scores outside the range of the training scores: warn, refuse them, "
              "or use the nearest score of the range.")  # fmt: skip
@click.option("--shift", type=click.Choice(["ignore", "warn", "error"]), default="warn", show_default=True,
              help="What to do with scores so unlike those of training that the calibration suffers: do not "
              "check, warn, or refuse them.")  # fmt: skip
@click.option("--base-10", is_flag=True, help="Write LLRs to base ten, in the column 'log10_lr'.")
@click.option("--force", is_flag=True, help="Calibrate even if the scores are LLRs that a calibration wrote.")
@click.option(
    "--posterior",
    metavar="PRIOR",
    help="Also write the probability of a target at this prior (column 'posterior').",
)
@click.option(
    "--decide",
    metavar="NAME|P[,CMISS,CFA]",
    help="Also write whether to accept at this operating point (column 'decision').",
)
@accept_changed_option
@reading_options
@worker_options
@asking(ToApply)
def apply_command(asked: ToApply, scores: tuple[str, ...], **reading: Any) -> None:
    """Turn scores into LLRs with a saved calibration or fusion.

    All columns are kept as they are; the LLRs are in the column 'llr', and 'llr_map' says which calibration
    made them. Scores are read as the calibration was trained: distances, log10 LLRs. Tables are streamed, so
    their size does not matter. A fusion takes one file with a column per system, named as in training, or one
    file per system in the order of training; if these do not have the same trials in the same order, they are
    joined in memory. The output may have any format that 'llrkit convert' writes. If it ends in '/', every
    file of a directory or pattern becomes a Parquet file of that folder, and an interrupted run can be
    continued.

    \b
    Examples:
      llrkit apply cal.json eval.parquet -o llrs.parquet
      llrkit apply cal.json scores.txt --key trials.txt -o llrs.csv
      llrkit apply fusion.json a.csv b.csv c.csv -o llrs.csv
      llrkit apply cal.json scores/ -o llrs/ --workers 4
      llrkit apply cal.json eval.csv -o decisions.csv --posterior 0.01 --decide sre08
    """
    given = TrialInput.of(reading)
    files_of_map(asked.calibration, scores, given, accept_changed=asked.accept_changed).apply(asked)


def apply_to_scores(files: TwoClassFiles, asked: ToApply) -> None:
    """Write the LLRs that a saved map makes of scores."""
    from llrkit.engine.apply_files import ApplyOptions, apply_map
    from llrkit.maps.files import load_map
    from llrkit.shift.shift_check import judge_for
    from llrkit.theory.operating_points import operating_point

    scores, given = files.paths, files.given
    fitted = load_map(asked.calibration, accept_changed=asked.accept_changed)
    how = given.reading
    if fitted.n_systems > 1 and len(scores) == 1 and how.score:
        how = replace(how, score=tuple(how.score[0].split(",")))
    name = f"{Path(asked.calibration).name} {sha256_of(asked.calibration)[:12]}"
    options = ApplyOptions(
        name=name,
        outside=asked.outside,
        shift=asked.shift,
        base_10=asked.base_10,
        force=asked.force,
        posterior=None if asked.posterior is None else parse_share(asked.posterior, "--posterior"),
        decide=None if asked.decide is None else operating_point(parse_points([asked.decide])[0]),
    )
    judge = judge_for(fitted, asked.shift)
    if asked.output.endswith("/") or Path(asked.output).is_dir():
        from llrkit.engine.apply_files import apply_parts

        path, *others = scores
        if others or asked.key_output or asked.to not in (None, "parquet"):
            raise InputError(
                f"{asked.output}: output to a folder needs one input directory or pattern, and is written "
                "as Parquet"
            )
        done = apply_parts(fitted, path, asked.output, how, options, run=given.part_runner(), judge=judge)
    elif given.cluster.any:
        raise InputError("a cluster writes to a folder: end the name of the output with '/'")
    else:
        done = apply_map(
            fitted, scores, asked.output, how, options, to=asked.to, key_output=asked.key_output, judge=judge
        )
    for note in done.notes:
        click.echo(note, err=True)
    column = "log10_lr" if asked.base_10 else "llr"
    if done.files_before:
        click.echo(f"{_all_finished(done.files_before)} already: no LLRs were written to {asked.output}")
        return
    click.echo(
        f"{counted(done.rows - done.rows_before, 'LLR')} written to {asked.output} (column {column!r})",
        err=is_standard_output(asked.output),
    )


def _all_finished(files: int) -> str:
    """That no file is left to do, in words."""
    if files <= 2:
        return "The file was finished" if files == 1 else "Both files were finished"
    return f"All {files:,} files were finished"
