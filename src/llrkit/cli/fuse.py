"""``llrkit fuse``: one LLR from several systems; with ``--sasv``, from verification and a countermeasure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from llrkit.base.process import warn_caller
from llrkit.cli.calibrate import sha256_of, warn_of_few
from llrkit.cli.class_options import classes_option
from llrkit.cli.kinds.asked_options import ToFuse
from llrkit.cli.kinds.score_files import ScoreFiles
from llrkit.cli.kinds.spoof_files import SpoofFiles, open_spoof_trials, speaking_of_kinds
from llrkit.cli.kinds.two_classes import TwoClassFiles
from llrkit.cli.kinds.which_kind import score_files
from llrkit.cli.options import Command, asking, parse_share, split_names
from llrkit.cli.output import json_option, print_table, write_json
from llrkit.cli.shared_options import bound_options
from llrkit.cli.shown_warnings import trained_without, unwarned
from llrkit.cli.spoof import parse_costs
from llrkit.cli.trial_input import TrialInput, reading_options
from llrkit.errors import InputError, PooledClassesWarning, PoorFitWarning

if TYPE_CHECKING:
    from llrkit.spoof.trials import SpoofTrials


def sasv_options(command: Command) -> Command:
    """The options of ``fuse`` that are about spoofing."""
    for option in (
        click.option("--on", "evaluation", multiple=True, metavar="FILE",
                     help="With --sasv: other trials for the table, given like SCORES (one file, or two)."),
        click.option("--costs", metavar="NAME|PTAR,PNON,PSPF[,CMISS,CFA,CFASPF]",
                     help="With --sasv: the costs to decide for; asvspoof5 by default."),
        click.option("--cm-column", metavar="NAME", help="With --sasv: the scores of the countermeasure."),
        click.option("--asv-column", metavar="NAME", help="With --sasv: the scores of speaker verification."),
        click.option("--sasv", is_flag=True,
                     help="SCORES are of speaker verification and of a countermeasure: a spoofing-robust "
                     "LLR. --method bayes, bayes-trained (default) or linear."),
    ):  # fmt: skip
        command = option(command)
    return command


def require_sasv(**given: str | tuple[str, ...] | None) -> None:
    """Refuse what goes with --sasv only."""
    for name, value in given.items():
        if value:
            raise InputError(f"--{name.replace('_', '-')} is for --sasv")


def fuse_sasv(files: SpoofFiles, asked: ToFuse) -> None:
    """Train the fusion, save it, and print the a-DCF of every method."""
    from llrkit.spoof.fusion import RIDGE, compare, fit_sasv, sasv_method

    costs = parse_costs(files.costs[0] if files.costs else "asvspoof5")
    wanted = sasv_method("bayes-trained" if asked.method == "logistic" else asked.method)
    with unwarned(PooledClassesWarning), speaking_of_kinds():
        dev, held = _sasv_trials(files, files.paths)
        others = _sasv_trials(files, files.others)[0] if files.others else None
        fusion = fit_sasv(dev, wanted, costs=costs, regularization=asked.regularization or RIDGE)
        compared = compare(dev, dev if others is None else others, costs=costs)
    # as the columns of the files are called, by which 'apply' finds them again
    fusion = replace(fusion, reading={**(fusion.reading or {}), "score": list(held)})
    ids = files.given.reading.ids
    fusion = fusion.with_provenance(
        training_files=list(files.paths),
        **trained_without(),
        training_sha256=[sha256_of(path) for path in files.paths],
        **({"joined_on": list(ids)} if ids else {}),
    )
    fusion.save(asked.output)
    print_table(*compared.table(), to_stderr=asked.to_stderr, title=f"a-DCF {compared.costs}")
    click.echo(f"\n{fusion!r}\nSaved in {asked.output}", err=asked.to_stderr)
    write_json({**compared.to_dict(), "chosen": wanted, "fusion": fusion.to_dict()}, "fuse", asked.json_path)


def _sasv_trials(files: SpoofFiles, paths: tuple[str, ...]) -> tuple[SpoofTrials, tuple[str, ...]]:
    """The trials, and the columns of their files that hold the scores."""
    ids, given = files.given.reading.ids, files.given.reading.with_files(ids=())
    if len(paths) == 1:
        trials = open_spoof_trials(paths[0], files.columns, None, replace(files.given, reading=given))
        return trials, tuple(trials.systems[system] for system in ("asv", "cm") if system in trials.systems)
    if len(paths) != 2:
        raise InputError(f"--sasv takes one file with both scores, or ASV and CM files; got {len(paths)}")
    from llrkit.io.formats import read_table
    from llrkit.io.joins import join_countermeasure
    from llrkit.io.read_options import TANDEM
    from llrkit.spoof.trials import SpoofTrials

    given.require(TANDEM)
    columns = (files.columns["asv"], files.columns["cm"])
    named = (replace(given, score=(name,)) if name else given for name in columns)
    asv, cm = (read_table(file, one) for file, one in zip(paths, named, strict=True))
    joined = join_countermeasure(asv, cm, ids)
    asv_name, cm_name = joined.score
    trials = SpoofTrials(joined.table, asv=asv_name, cm=cm_name, label=joined.label or "")
    return trials, (asv.score[0], cm.score[0])


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
@asking(ToFuse)
def fuse_command(
    asked: ToFuse,
    scores: tuple[str, ...],
    classes: str | None,
    sasv: bool,
    asv_column: str | None,
    cm_column: str | None,
    costs: str | None,
    evaluation: tuple[str, ...],
    **reading: Any,
) -> None:
    """Train the fusion of several systems.

    Takes one file for each system, joined on the ids of the trials, or one file with several columns.

    With --sasv the first file holds the scores of speaker verification, with labels target, nontarget and
    spoof, and the second those of a countermeasure, for trials or for segments.

    \b
    Examples:
      llrkit fuse a.csv b.csv c.csv -o fusion.json
      llrkit fuse dev.tsv --score-columns plda,ecapa --quality duration -o fusion.json
      llrkit fuse --sasv asv.tsv cm.tsv -o sasv.json
      llrkit fuse --sasv dev.tsv --asv-column ecapa --cm-column aasist --on eval.tsv -o sasv.json
    """
    given = TrialInput.of(reading)
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
    from llrkit.fits.fusion import fit_fusion
    from llrkit.fits.judge import judge_fit, with_densities
    from llrkit.maps.bounds import bound_map, bound_sentence, parse_bound
    from llrkit.maps.training_range import with_group_spread
    from llrkit.scores.trials import Trials
    from llrkit.verbs.evaluate import evaluate

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
    columns = tuple(asked.score_columns.split(",")) if asked.score_columns else given.reading.score
    trials, prior = given.open(*scores, score=columns), parse_share(asked.prior or "0.5", "--prior")
    fitted = fit_fusion(
        trials,
        method=asked.method,
        prior=prior,
        quality_columns=asked.quality.split(",") if asked.quality else (),
        features=asked.features,
        missing=missing,
        regularization=asked.regularization,
    )
    complete = trials.complete() if isinstance(trials, Trials) and missing != "error" else trials
    fitted = with_densities(fitted, complete)
    if problem := judge_fit(fitted, complete, prior=prior, compared=not asked.regularization):
        warn_caller(problem, PoorFitWarning)
    speakers = split_names(asked.speakers)
    if speakers:
        fitted = with_group_spread(fitted, complete, speakers)
    linear = repr(fitted)
    bounded = bound_map(fitted, complete, asked.bound, speakers=speakers)
    fused = evaluate(bounded.on(complete))
    bounded = bounded.with_provenance(
        training_files=list(scores),
        **trained_without(),
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
    warn_of_few(fused)
    write_json(bounded.to_dict(), "fuse", asked.json_path)
