"""``llrkit report``, and what other commands need to write one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import click

from llrkit.base.process import stage, tracked
from llrkit.cli.class_options import classes_option, prior_option
from llrkit.cli.interval_options import interval_options
from llrkit.cli.kinds.asked_options import ToReport
from llrkit.cli.kinds.two_classes import TwoClassFiles
from llrkit.cli.kinds.which_kind import score_files
from llrkit.cli.options import asking, parse_points, parse_share, split_names
from llrkit.cli.output import input_files, json_option, made_by_command, write_json
from llrkit.cli.quoted_command import full_paths_option, full_paths_wanted
from llrkit.cli.shared_options import (
    base_10_option,
    by_option,
    point_option,
    unconfirmed_option,
    vocabulary_option,
)
from llrkit.cli.shift import map_option, named_shift
from llrkit.cli.shown_warnings import left_out
from llrkit.cli.trial_input import (
    CALIBRATED,
    TrialInput,
    cluster_options,
    names_option,
    reading_options,
    score_columns_option,
)
from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.fits.training_checks import TiedScores
    from llrkit.io.read_options import PathArg
    from llrkit.report.document import Section
    from llrkit.scores import ScoreSource
    from llrkit.trust.bands import CurveBands
    from llrkit.trust.calibration_check import CalibrationCheck
    from llrkit.verbs.compare import Comparison
    from llrkit.verbs.evaluation_result import Evaluation


class PageParts(TypedDict, total=False):
    """Parts of a page that commands give to :func:`llrkit.write_report`."""

    bands: Mapping[str, CurveBands]
    checks: Mapping[str, CalibrationCheck]
    ties: Mapping[str, TiedScores]
    first: Sequence[Section]
    sections: Sequence[Section]
    cautions: Sequence[str]
    llrs: bool
    words: str
    base_10: bool


table_option = click.option(
    "--table", "table_style", type=click.Choice(["latex", "markdown", "csv"]),
    help="Print the numbers as a table for a paper instead.",
)  # fmt: skip


def html_option(command: Callable[..., object]) -> Callable[..., object]:
    """The options of commands that may write a report."""

    @wraps(command)
    def with_a_report(**options: object) -> object:
        written = ("html_path", "docx_path", "report_path")
        if full_paths_wanted() and not any(options.get(name) for name in written):
            raise InputError("--full-paths needs a report (--html)")
        return command(**options)

    page = click.option(
        "--html", "html_path", metavar="FILE", help="Also write a report: one HTML page that opens anywhere."
    )
    return page(full_paths_option(with_a_report))


docx_option = click.option(
    "--docx", "docx_path", metavar="FILE", help="Also write a Word document, which can be edited."
)


def require_word(docx_path: str | None) -> None:
    """Refuse before any work is done what only Word could read, or what cannot be written."""
    if docx_path is None:
        return
    if not docx_path.lower().endswith(".docx"):
        raise InputError(f"{docx_path}: a Word document ends in .docx")
    from llrkit.report.layouts import require_docx

    require_docx()


@click.command("report")
@click.argument("scores", nargs=-1, required=True)
@click.option(
    "-o", "--output", metavar="FILE", help="The page, usually report.html; needed unless --docx is given."
)
@docx_option
@click.option("--title", default="Evaluation of detection scores", show_default=True)
@score_columns_option
@names_option
@point_option
@by_option
@click.option("--train", metavar="FILE", help="Trials to train calibrators on, compared on SCORES.")
@click.option(
    "--train-key", metavar="KEY", help="Labels of the training trials, if they are in a separate file."
)
@click.option("--methods", metavar="NAME,NAME", help="With --train: the calibrators; by default a selection.")
@classes_option
@prior_option
@click.option("--check", is_flag=True, help="Also test the calibration and draw confidence bands.")
@click.option(
    "--theory", is_flag=True, help="Also plot costs against the EER, with the curves that theory predicts."
)
@map_option
@vocabulary_option
@base_10_option
@interval_options
@reading_options
@cluster_options
@unconfirmed_option
@full_paths_option
@json_option
@asking(ToReport)
def report_command(
    asked: ToReport,
    scores: tuple[str, ...],
    classes: str | None,
    prior: str | None,
    **reading: Any,
) -> None:
    """Write a report on one or several score files.

    One HTML page that needs no network: plain words, numbers, interactive plots, an operating-point panel,
    methods text and provenance. Several files, or several columns of a file, are shown side by side.

    \b
    Examples:
      llrkit report scores.csv -o report.html
      llrkit report a.csv b.csv c.csv --names PLDA,cosine,fusion -o report.html
      llrkit report eval.csv --by gender --train dev.csv -o report.html
      llrkit report llrs.csv --ci speaker --speakers left,right --check -o report.html
      llrkit report llrs.csv --map cal.json -o report.html
      llrkit report scores.csv --docx report.docx
    """
    given = TrialInput.of(reading)
    if asked.output is None and asked.docx_path is None:
        raise InputError("the output is missing: -o report.html writes a page, --docx a Word document")
    require_word(asked.docx_path)
    files = score_files(scores, given, classes=classes, prior=prior, score_columns=asked.score_columns)
    files.report(asked)


def report_scores(files: TwoClassFiles, asked: ToReport) -> None:
    """A report on scores of targets and non-targets, of one or several systems."""
    from llrkit.fits.folds import CANDIDATES
    from llrkit.trust.bands import curve_bands
    from llrkit.trust.calibration_check import check_calibration
    from llrkit.verbs.compare import compare
    from llrkit.verbs.evaluate import evaluate

    scores, given = files.paths, files.given
    columns = split_names(asked.by)
    chosen = parse_points(asked.points) or ("sre08", "sre10")
    systems = given.open_systems(scores, asked.score_columns, asked.names)
    if asked.train and len(systems) > 1:
        raise InputError(f"--train takes one system, got {len(systems)}")
    if asked.map_path and len(systems) > 1:
        raise InputError(f"--map takes one system, got {len(systems)}")
    who, confidence = split_names(asked.speakers), parse_share(asked.level, "--level")
    moved, of_shift = named_shift(
        asked.map_path, next(iter(systems.values())), who, accept_changed=asked.accept_changed
    )
    results = {
        name: evaluate(
            trials, points=chosen, by=columns, ece=True,
            allow_unconfirmed=asked.allow_unconfirmed, ci=asked.ci,
            # the check looks at speakers by itself
            speakers=None if asked.ci == "none" and asked.check else who,
            recordings=split_names(asked.recordings), level=confidence, replicates=asked.replicates,
            rng=asked.seed,
        )
        for name, trials in tracked(systems.items(), "systems", len(systems), unit="systems")
    }  # fmt: skip
    parts: PageParts = {
        "ties": ties_of(results, systems),
        "words": asked.words,
        "base_10": asked.base_10,
        "cautions": [moved] if moved else [],
        "llrs": all(trials.roles.calibrated for trials in systems.values()),
    }
    if asked.check:
        watched = tracked(systems.items(), "tests of calibration", len(systems), unit="systems")
        parts["checks"] = {name: check_calibration(trials, speakers=who) for name, trials in watched}
        parts["bands"] = {
            name: curve_bands(trials, result=results[name], speakers=who, level=confidence)
            for name, trials in systems.items()
        }
    if asked.theory:
        from llrkit.report.sections import theory_section

        parts["sections"] = [theory_section(results)]
    if asked.words == "biometrics":
        from llrkit.biometrics.verification import verification_rates
        from llrkit.cli.biometrics import rates_section

        rates = {name: verification_rates(t, speakers=who, level=confidence) for name, t in systems.items()}
        parts["sections"] = [rates_section(rates), *parts.get("sections", [])]
    comparison = None
    if asked.train:
        how = given.reading
        column = how.score or ((asked.score_columns,) if asked.score_columns else None)
        trained = given.open(asked.train, key=asked.train_key or how.key, score=column, nontargets=None)
        with stage("calibrators"):
            comparison = compare(
                trained, next(iter(systems.values())), asked.methods or CANDIDATES, points=chosen
            )
    write_page(
        results,
        asked.output,
        asked.docx_path,
        files=input_files(given.reading, *scores, asked.train, asked.train_key, asked.map_path),
        title=asked.title,
        by=asked.by,
        comparison=comparison,
        to_stderr=asked.to_stderr,
        **parts,
    )
    told = {"systems": {name: result.to_dict() for name, result in results.items()}, **of_shift}
    write_json(told, "report", asked.json_path)


def ties_of(results: Mapping[str, Evaluation], systems: Mapping[str, ScoreSource]) -> dict[str, TiedScores]:
    """Clipped, saturated and tied scores, of systems that need advice: where an error was found."""
    from llrkit.fits.training_checks import TiedScores

    wrong = (name for name, result in results.items() if result.verdict.outcome == "evidence")
    return {name: TiedScores.of_source(systems[name]) for name in wrong}


def write_page(
    results: Evaluation | Comparison | Mapping[str, Evaluation],
    *paths: str | None,
    files: Sequence[PathArg],
    title: str = "Evaluation of detection scores",
    by: str | None = None,
    comparison: Comparison | None = None,
    to_stderr: bool = False,
    **parts: Unpack[PageParts],
) -> None:
    """Write the report of a command, with the hashes of its files and the command line, and say where.

    ``parts`` are further keywords of :func:`llrkit.write_report`.
    """
    from llrkit.report.page import write_report

    read: Sequence[str] = click.get_current_context().meta.get(CALIBRATED, ())
    without = [f"{text}." for text in left_out()]
    for file in () if full_paths_wanted() else files:
        without = [text.replace(str(file), Path(file).name) for text in without]
    parts["cautions"] = [*parts.get("cautions", ()), *dict.fromkeys(read), *without]
    made_from = made_by_command(files)
    for path in filter(None, paths):
        write_report(
            results,
            path,
            title=title,
            by=", ".join(split_names(by) or ()) or "condition",
            comparison=comparison,
            made_from=made_from,
            **parts,
        )
        click.echo(f"The report is in {path}", err=to_stderr)
