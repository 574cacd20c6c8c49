"""``llrkit report``, and what other commands need to write one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from llrkit._progress import stage, tracked
from llrkit.cli.class_commands import (
    classes_option,
    evaluate_classes,
    has_classes,
    prior_option,
    refuse_for_classes,
)
from llrkit.cli.named_shift import map_option, named_shift
from llrkit.cli.output import (
    base_10_option,
    by_option,
    input_files,
    interval_options,
    json_option,
    made_by_command,
    parse_points,
    parse_share,
    point_option,
    split_names,
    unconfirmed_option,
    vocabulary_option,
    write_json,
)
from llrkit.cli.quoted_command import full_paths_option, full_paths_wanted
from llrkit.cli.reading import (
    CALIBRATED,
    TrialInput,
    cluster_options,
    names_option,
    reading_options,
    score_columns_option,
)
from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.calibrate.tied_scores import TiedScores
    from llrkit.evaluation.compare import Comparison
    from llrkit.evaluation.result import Evaluation
    from llrkit.io.reading import PathArg
    from llrkit.scores import ScoreSource

table_option: Callable[[Any], Any] = click.option(
    "--table", "table_style", type=click.Choice(["latex", "markdown", "csv"]),
    help="Print the numbers as a table for a paper instead.",
)  # fmt: skip


def html_option(command: Any) -> Any:
    """The options of commands that may write a report."""

    @wraps(command)
    def with_a_report(**options: Any) -> Any:
        written = ("html_path", "docx_path", "report_path")
        if full_paths_wanted() and not any(options.get(name) for name in written):
            raise InputError("--full-paths is for a report (--html)")
        return command(**options)

    page = click.option(
        "--html", "html_path", metavar="FILE", help="Also write a report: one HTML page that opens anywhere."
    )
    return page(full_paths_option(with_a_report))


docx_option: Callable[[Any], Any] = click.option(
    "--docx", "docx_path", metavar="FILE", help="Also write a Word document, which can be edited."
)


def require_word(docx_path: str | None) -> None:
    """Refuse before any work is done what only Word could read, or what cannot be written."""
    if docx_path is None:
        return
    if not docx_path.lower().endswith(".docx"):
        raise InputError(f"{docx_path}: a Word document ends in .docx")
    from llrkit.report.document import require_docx

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
def report_command(
    scores: tuple[str, ...],
    output: str | None,
    docx_path: str | None,
    title: str,
    score_columns: str | None,
    names: str | None,
    points: tuple[str, ...],
    by: str | None,
    train: str | None,
    train_key: str | None,
    methods: str | None,
    classes: str | None,
    prior: str | None,
    check: bool,
    theory: bool,
    map_path: str | None,
    accept_changed: bool,
    words: str,
    base_10: bool,
    ci: str | None,
    speakers: str | None,
    recordings: str | None,
    level: str,
    replicates: int,
    seed: int,
    allow_unconfirmed: bool,
    json_path: str | None,
    **reading: Any,
) -> None:
    """Write a report on one or several score files: one HTML page that needs no network.

    Plain words, numbers, interactive plots, an operating-point panel, methods text and provenance. Several
    files, or several columns of a file, are shown side by side.

    \b
    Examples:
      llrkit report scores.csv -o report.html
      llrkit report a.csv b.csv c.csv --names PLDA,cosine,fusion -o report.html
      llrkit report eval.csv --by gender --train dev.csv -o report.html
      llrkit report llrs.csv --ci speaker --speakers left,right --check -o report.html
      llrkit report llrs.csv --map cal.json -o report.html
      llrkit report scores.csv --docx report.docx
    """
    if output is None and docx_path is None:
        raise InputError("where should the report go? -o report.html writes a page, --docx a Word document")
    require_word(docx_path)
    given = TrialInput.of(reading)
    if has_classes(scores[0], classes, prior, given, score_columns):
        refuse_for_classes(
            by=by, train=train, check=check or None, theory=theory or None, docx=docx_path,
            vocabulary=None if words == "nist" else words, map=map_path, base_10=base_10 or None,
        )  # fmt: skip
        if len(scores) > 1:
            raise InputError(f"a report on several classes takes one file, got {len(scores)}")
        evaluate_classes(
            scores[0], classes=classes, prior=prior, posteriors=False, points=points,
            allow_unconfirmed=allow_unconfirmed, html_path=output, json_path=json_path, given=given,
            command="report",
        )  # fmt: skip
        return
    from llrkit.choose.methods import CANDIDATES
    from llrkit.evaluation.compare import compare
    from llrkit.evaluation.evaluate import evaluate
    from llrkit.trust.calibration.check import check_calibration
    from llrkit.trust.intervals.bands import curve_bands

    columns = split_names(by)
    asked = parse_points(points) or ("sre08", "sre10")
    systems = given.open_systems(scores, score_columns, names)
    if train and len(systems) > 1:
        raise InputError(f"--train goes with one system; these are {len(systems)}")
    if map_path and len(systems) > 1:
        raise InputError(f"--map goes with one system; these are {len(systems)}")
    who, confidence = split_names(speakers), parse_share(level, "--level")
    moved, of_shift = named_shift(map_path, next(iter(systems.values())), who, accept_changed=accept_changed)
    of_intervals: dict[str, Any] = {"ci": ci, "level": confidence, "replicates": replicates, "rng": seed}
    of_intervals |= {"recordings": split_names(recordings)}
    if ci != "none" or not check:  # the check looks at speakers by itself
        of_intervals["speakers"] = who
    results = {
        name: evaluate(
            trials, asked, by=columns, ece=True, allow_unconfirmed=allow_unconfirmed, **of_intervals
        )
        for name, trials in tracked(systems.items(), "systems", len(systems), unit="systems")
    }
    parts: dict[str, Any] = {"ties": ties_of(results, systems), "words": words, "base_10": base_10}
    parts["cautions"] = [moved] if moved else []
    if check:
        watched = tracked(systems.items(), "tests of calibration", len(systems), unit="systems")
        parts["checks"] = {name: check_calibration(trials, speakers=who) for name, trials in watched}
        parts["bands"] = {
            name: curve_bands(trials, results[name], speakers=who, level=confidence)
            for name, trials in systems.items()
        }
    if theory:
        from llrkit.report.theory_section import theory_section

        parts["sections"] = [theory_section(results)]
    if words == "biometrics":
        from llrkit.biometrics.verification import verification_rates
        from llrkit.cli.biometric_rates import rates_section

        rates = {name: verification_rates(t, speakers=who, level=confidence) for name, t in systems.items()}
        parts["sections"] = [rates_section(rates), *parts.get("sections", [])]
    comparison = None
    if train:
        how = given.reading
        column = how.score or ((score_columns,) if score_columns else None)
        trained = given.open(train, key=train_key or how.key, score=column, nontargets=None)
        with stage("calibrators"):
            comparison = compare(trained, next(iter(systems.values())), methods or CANDIDATES, points=asked)
    write_page(
        results,
        output,
        docx_path,
        llrs=all(trials.roles.calibrated for trials in systems.values()),
        files=input_files(given.reading, *scores, train, train_key, map_path),
        title=title,
        by=by,
        comparison=comparison,
        to_stderr=json_path == "-",
        **parts,
    )
    told = {"systems": {name: result.to_dict() for name, result in results.items()}, **of_shift}
    write_json(told, "report", json_path)


def ties_of(results: Mapping[str, Evaluation], systems: Mapping[str, ScoreSource]) -> dict[str, TiedScores]:
    """Clipped, saturated and tied scores, of systems that need advice: where an error was found."""
    from llrkit.calibrate.tied_scores import TiedScores

    wrong = (name for name, result in results.items() if result.verdict.outcome == "evidence")
    return {name: systems[name].reduce(TiedScores.of) for name in wrong}


def write_page(
    results: Any,
    *paths: str | None,
    files: Sequence[PathArg],
    title: str = "Evaluation of detection scores",
    by: str | None = None,
    comparison: Comparison | None = None,
    to_stderr: bool = False,
    **parts: Any,
) -> None:
    """Write the report of a command, with the hashes of its files and the command line, and say where.

    ``parts`` are further keywords of :func:`llrkit.write_report`.
    """
    from llrkit.report.page import write_report

    read = click.get_current_context().meta.get(CALIBRATED, ())
    parts["cautions"] = [*parts.get("cautions", ()), *dict.fromkeys(read)]
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
