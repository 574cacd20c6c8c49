"""``llrkit fuse``: one LLR from several systems."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from llrkit.cli.calibrate import sha256_of
from llrkit.cli.class_options import classes_option
from llrkit.cli.kinds.asked import ToFuse
from llrkit.cli.kinds.score_files import ScoreFiles
from llrkit.cli.kinds.spoof_files import SpoofFiles
from llrkit.cli.kinds.two_classes import TwoClassFiles
from llrkit.cli.kinds.which_kind import score_files
from llrkit.cli.output import bound_options, json_option, parse_share, split_names, write_json
from llrkit.cli.reading import reading_options
from llrkit.cli.sasv import require_sasv, sasv_options
from llrkit.errors import InputError


@click.command("fuse")
@click.argument("scores", nargs=-1, required=True)
@click.option("-o", "--output", required=True, metavar="FILE", help="The fusion file (JSON).")
@click.option("--method", default="logistic", show_default=True, help="logistic, gaussian or precalibrated.")
@click.option("--prior", metavar="P|flat|counts|A=P,B=P",
              help="Target prior for which the fit is optimized (0.5); for several classes, "
              "flat.")  # fmt: skip
@classes_option
@click.option("--ids", metavar="COL[,COL]", help="Columns that identify a trial; by default all shared ones.")
@click.option("--score-columns", metavar="COL,COL", help="For one file: the columns of the systems.")
@click.option("--quality", metavar="COL[,COL]", help="Columns with side information of each trial.")
@click.option("--features", default="linear", show_default=True, help="linear, durations or bilinear.")
@click.option(
    "--regularization",
    default=0.0,
    show_default=True,
    help="Weight of a penalty that keeps the fit finite if the classes do not overlap, e.g. 0.01.",
)
@sasv_options
@bound_options
@reading_options
@click.option("--missing", type=click.Choice(["error", "drop", "subset"]), default="error", show_default=True,
              help="What to do with trials that some system has not scored.")  # fmt: skip
@json_option
def fuse_command(
    scores: tuple[str, ...],
    classes: str | None,
    sasv: bool,
    asv_column: str | None,
    cm_column: str | None,
    costs: str | None,
    evaluation: tuple[str, ...],
    **options: Any,
) -> None:
    """Train the fusion of several systems: one file each, joined on the ids of the trials.

    With --sasv the first file holds the scores of speaker verification, with labels target, nontarget and
    spoof, and the second those of a countermeasure, for trials or for segments.

    \b
    Examples:
      llrkit fuse a.csv b.csv c.csv -o fusion.json
      llrkit fuse dev.tsv --score-columns plda,ecapa --quality duration -o fusion.json
      llrkit fuse --sasv asv.tsv cm.tsv -o sasv.json
      llrkit fuse --sasv dev.tsv --asv-column ecapa --cm-column aasist --on eval.tsv -o sasv.json
    """
    asked, given = ToFuse.split(options)
    files: ScoreFiles
    if sasv:
        columns = {"asv": asv_column, "cm": cm_column}
        files = SpoofFiles(scores, given, columns=columns, costs=(costs,) if costs else (), others=evaluation)
    else:
        require_sasv(asv_column=asv_column, cm_column=cm_column, costs=costs, on=evaluation)
        files = score_files(scores, given, classes=classes, score_columns=asked.score_columns)
    files.fuse(asked)


def fuse_scores(files: TwoClassFiles, asked: ToFuse) -> None:
    """One LLR from the scores of several systems."""
    from llrkit.calibrate.bounds.named_bounds import bound_map, bound_sentence, parse_bound
    from llrkit.calibrate.composite.fusion import fit_fusion
    from llrkit.evaluation.evaluate import evaluate
    from llrkit.scores.trials import Trials

    scores, missing = files.paths, files.given.reading.missing
    # trials that some system has not scored are kept until the fit decides what becomes of them
    how = replace(files.given.reading, missing="error" if missing == "error" else "subset")
    given = replace(files.given, reading=how)
    if len(scores) == 1 and not asked.score_columns:
        raise InputError("one file: name the columns of the systems with --score-columns a,b,c")
    if len(scores) > 1 and asked.score_columns:
        raise InputError("--score-columns is for one file; several files have one score each")
    if given.reading.nontargets is not None:
        raise InputError("--nontargets is for one system; a fusion needs to know which trials are the same")
    parse_bound(asked.bound)
    columns = {"score": tuple(asked.score_columns.split(","))} if asked.score_columns else {}
    trials = given.open(*scores, **columns)
    fitted = fit_fusion(
        trials,
        method=asked.method,
        prior=parse_share(asked.prior or "0.5", "--prior"),
        quality_columns=asked.quality.split(",") if asked.quality else (),
        features=asked.features,
        missing=missing,
        regularization=asked.regularization,
    )
    complete = trials.complete() if isinstance(trials, Trials) and missing != "error" else trials
    linear = repr(fitted)
    bounded = bound_map(fitted, complete, asked.bound, speakers=split_names(asked.speakers))
    fused = evaluate(bounded.on(complete))
    bounded = bounded.with_provenance(
        training_files=list(scores),
        training_sha256=[sha256_of(path) for path in scores],
        training_cllr=fused.cllr,
        training_eer=fused.eer,
    )
    bounded.save(asked.output)
    click.echo(f"{linear}\n{bound_sentence(bounded)}", err=asked.to_stderr)
    click.echo(
        f"On the training trials the fusion has EER {100 * fused.eer:.2f} % and Cllr {fused.cllr:.4f} bits. "
        f"Saved in {asked.output}",
        err=asked.to_stderr,
    )
    write_json(bounded.to_dict(), "fuse", asked.json_path)
