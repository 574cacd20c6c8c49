"""``llrkit compare``: which calibrator is best on other trials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from llrkit.cli.class_commands import (
    classes_option,
    compare_classes,
    has_classes,
    prior_option,
    refuse_for_classes,
)
from llrkit.cli.output import (
    input_files,
    json_option,
    parse_points,
    point_option,
    print_table,
    write_json,
)
from llrkit.cli.reading import TrialInput, cluster_options, reading_options
from llrkit.cli.report import html_option, table_option, write_page
from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.scores.source import ScoreSource

SAME_TRIALS = "Trained and evaluated on the same trials: the figures are too good."


@click.command("compare")
@click.argument("train")
@click.argument("evaluation")
@click.option(
    "--methods", metavar="NAME,NAME", help="Calibrators to compare, also 'best'; by default a good selection."
)
@click.option("--evaluation-key", metavar="KEY", help="Labels of EVALUATION, if TRAIN has another key.")
@point_option
@classes_option
@prior_option
@reading_options
@table_option
@html_option
@cluster_options
@json_option
def compare_command(
    train: str,
    evaluation: str,
    methods: str | None,
    evaluation_key: str | None,
    points: tuple[str, ...],
    classes: str | None,
    prior: str | None,
    table_style: str | None,
    html_path: str | None,
    json_path: str | None,
    **reading: Any,
) -> None:
    """Train calibrators on TRAIN and evaluate them on EVALUATION.

    The raw scores come first. Two systems on the same trials are compared by llrkit compare-systems.

    \b
    Examples:
      llrkit compare dev.csv eval.csv --methods cmlg,logistic,pav --html report.html
      llrkit compare dev.csv eval.csv --methods logistic,best
    """
    given = TrialInput.of(reading)
    if has_classes(train, classes, prior, given):
        refuse_for_classes(html=html_path)
        compare_classes(
            train, evaluation, methods=methods, evaluation_key=evaluation_key, classes=classes, prior=prior,
            json_path=json_path, given=given, table_style=table_style,
        )  # fmt: skip
        return
    from llrkit.choose.methods import CANDIDATES
    from llrkit.evaluation.compare import compare

    trained, tested = given.open(train), given.open(evaluation, key=evaluation_key or given.reading.key)
    same_trials = _same_trials(trained, tested, train, evaluation)
    points_asked = parse_points(points) or ("sre08", "sre10")
    comparison = compare(trained, tested, methods or CANDIDATES, points=points_asked)
    to_stderr = json_path == "-"
    if table_style is not None:
        from llrkit.report.paper_tables import format_table

        click.echo(format_table(comparison, table_style), nl=False, err=to_stderr)
    else:
        click.echo(
            f"Calibrators trained on {train} and evaluated on {evaluation}; no bounds are added:",
            err=to_stderr,
        )
        header, rows = comparison.table()
        print_table(header, rows, to_stderr=to_stderr)
    for name, reason in comparison.failed.items():
        click.echo(f"{name} could not be trained: {reason}", err=True)
    click.echo(f"\n{comparison.sentence}", err=to_stderr or table_style is not None)
    if same_trials:
        click.echo(SAME_TRIALS, err=True)
    if html_path is not None:
        title = "Calibrators compared"
        beside = to_stderr or table_style is not None
        warned = (SAME_TRIALS,) if same_trials else ()
        files = input_files(given.reading, train, evaluation, evaluation_key)
        write_page(comparison, html_path, files=files, title=title, cautions=warned, to_stderr=beside)
    write_json(comparison.to_dict(), "compare", json_path)


def _same_trials(trained: ScoreSource, tested: ScoreSource, train: str, evaluation: str) -> bool:
    """Whether both files hold the same trials and scores; other scores of the same trials are refused."""
    from llrkit.scores.same_trials import same_trials
    from llrkit.scores.trials import Trials

    if train == evaluation:
        return True
    if not (isinstance(trained, Trials) and isinstance(tested, Trials)):
        return False  # ids are not held in memory for what is read in batches
    common = same_trials(trained, tested)
    if common != "other scores":
        return common == "same scores"
    raise InputError(
        f"{train} and {evaluation} hold the same trials with other scores: two systems, which llrkit "
        "compare-systems compares; to train on one and evaluate on the other, use llrkit calibrate and apply"
    )
