"""``llrkit compare``: which calibrator is best on other trials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from llrkit.cli.class_options import classes_option, prior_option
from llrkit.cli.kinds.asked_options import ToCompare
from llrkit.cli.kinds.two_classes import TwoClassFiles
from llrkit.cli.kinds.which_kind import score_files
from llrkit.cli.options import asking, parse_points
from llrkit.cli.output import input_files, json_option, print_table, write_json
from llrkit.cli.report import html_option, table_option, write_page
from llrkit.cli.shared_options import point_option
from llrkit.cli.trial_input import TrialInput, cluster_options, reading_options
from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.multiclass.choose import ClassComparison
    from llrkit.scores.source import ScoreSource
    from llrkit.verbs.compare import Comparison

SAME_TRIALS = "Trained and evaluated on the same trials: the numbers are too optimistic."


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
@asking(ToCompare)
def compare_command(
    asked: ToCompare,
    train: str,
    evaluation: str,
    classes: str | None,
    prior: str | None,
    **reading: Any,
) -> None:
    """Train calibrators on one file, evaluate on another.

    Calibrators are trained on TRAIN and evaluated on EVALUATION; the first row has the raw scores. To compare
    two systems on the same trials, use llrkit compare-systems.

    \b
    Examples:
      llrkit compare dev.csv eval.csv --methods cmlg,logistic,pav --html report.html
      llrkit compare dev.csv eval.csv --methods logistic,best
    """
    given = TrialInput.of(reading)
    score_files((train, evaluation), given, classes=classes, prior=prior).compare(asked)


def compare_on_scores(files: TwoClassFiles, asked: ToCompare) -> None:
    """Train calibrators on the first file and show what they give on the second."""
    from llrkit.fits.folds import CANDIDATES
    from llrkit.verbs.compare import compare

    (train, evaluation), given = files.paths, files.given
    trained, tested = given.open(train), given.open(evaluation, key=asked.evaluation_key or given.reading.key)
    same_trials = _same_trials_in_both_files(trained, tested, train, evaluation)
    points = parse_points(asked.points) or ("sre08", "sre10")
    comparison = compare(trained, tested, asked.methods or CANDIDATES, points=points)
    title = f"Calibrators trained on {train} and evaluated on {evaluation}; no bounds are added:"
    show_comparison(comparison, asked, title=title, same_trials=same_trials)
    if asked.html_path is not None:
        beside = asked.to_stderr or asked.table_style is not None
        warned = (SAME_TRIALS,) if same_trials else ()
        read = input_files(given.reading, train, evaluation, asked.evaluation_key)
        write_page(
            comparison, asked.html_path, files=read, title="Calibrators compared", cautions=warned,
            to_stderr=beside,
        )  # fmt: skip


def show_comparison(
    comparison: Comparison | ClassComparison, asked: ToCompare, *, title: str = "", same_trials: bool = False
) -> None:
    """The table of a comparison of any kind, what could not be trained, the sentence, and JSON."""
    if asked.table_style is not None:
        from llrkit.report.tables import format_table

        click.echo(format_table(comparison, asked.table_style), nl=False, err=asked.to_stderr)
    else:
        print_table(*comparison.table(), to_stderr=asked.to_stderr, title=title)
    for name, reason in comparison.failed.items():
        click.echo(f"{name} could not be trained: {reason}", err=True)
    click.echo(f"\n{comparison.sentence}", err=asked.to_stderr or asked.table_style is not None)
    if same_trials:
        click.echo(SAME_TRIALS, err=True)
    write_json(comparison.to_dict(), "compare", asked.json_path)


def _same_trials_in_both_files(
    trained: ScoreSource, tested: ScoreSource, train: str, evaluation: str
) -> bool:
    """Whether both files hold the same trials and scores; other scores of the same trials are refused."""
    from llrkit.scores.trials import Trials, same_trials

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
