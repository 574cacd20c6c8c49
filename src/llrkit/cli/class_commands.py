"""What commands do with files of several classes: evaluate, compare, report."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from llrkit.cli.options import parse_points
from llrkit.cli.output import input_files, made_by_command, named_file, print_table, write_json
from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.cli.kinds.asked_options import ToCompare, ToEvaluate, ToReport, WithIntervals
    from llrkit.cli.kinds.several_classes import SeveralClassFiles
    from llrkit.io.read_options import Reading
    from llrkit.multiclass.choose import ClassComparison
    from llrkit.multiclass.evaluation import ClassEvaluation
    from llrkit.multiclass.metrics import Prior
    from llrkit.scores.classes import ClassScores

SAME_IDEA = {"logistic": "scale-offset", "cmlg": "gaussian"}
"""What a method for two classes is called for several."""


def parse_prior(text: str | None) -> Prior:
    """A prior as given on the command line.

    Examples
    --------
    >>> parse_prior("en=0.5,de=50%"), parse_prior(None)
    ({'en': 0.5, 'de': 0.5}, 'flat')
    """
    from llrkit.cli.options import parse_share

    if text is None or text in ("flat", "counts"):
        return text or "flat"
    shares = {}
    for item in text.split(","):
        name, equals, share = item.rpartition("=")
        if not equals:
            raise InputError(f"--prior {text}: expected flat, counts, or CLASS=PROBABILITY for each class")
        shares[name] = parse_share(share, "--prior")
    return shares


def evaluate_classes(files: SeveralClassFiles, asked: ToEvaluate) -> None:
    """The numbers of a file of several classes; points named lre... are costs over all classes."""
    result, scores = _evaluated_classes(files, asked, detection=True if asked.html_path else None)
    if asked.table_style is not None:
        _echo_class_table(result, asked.table_style, asked.to_stderr)
    else:
        _print_class_evaluation(result, files.paths[0], asked.to_stderr)
    if asked.html_path is not None:
        beside = asked.to_stderr or asked.table_style is not None
        _write_class_page(result, scores, asked.html_path, files, beside)
    write_json({"scores": files.paths[0], **result.to_dict()}, "evaluate", asked.json_path)


def report_classes(files: SeveralClassFiles, asked: ToReport) -> None:
    """The same numbers, and a page."""
    path, *others = files.paths
    if others:
        raise InputError(f"a report on several classes takes one file, got {len(files.paths)}")
    assert asked.output is not None  # a Word document is for two classes
    result, scores = _evaluated_classes(files, asked, detection=True)
    _print_class_evaluation(result, path, asked.to_stderr)
    _write_class_page(result, scores, asked.output, files, asked.to_stderr)
    write_json({"scores": path, **result.to_dict()}, "report", asked.json_path)


def _evaluated_classes(
    files: SeveralClassFiles, asked: WithIntervals, *, detection: bool | None
) -> tuple[ClassEvaluation, ClassScores]:
    from llrkit.multiclass import evaluate

    costs = tuple(point for point in asked.points if point.lower().startswith("lre"))
    others = parse_points([point for point in asked.points if point not in costs])
    scores = read_class_file(files, files.paths[0])
    if files.posteriors:
        scores = scores.without_prior("counts")
    result = evaluate(
        scores,
        prior=parse_prior(files.prior),
        cavg=costs or ("lre07", "lre22"),
        points=others or (0.5, 0.1),
        detection=detection,
        allow_unconfirmed=asked.allow_unconfirmed,
    )
    return result, scores


def _print_class_evaluation(result: ClassEvaluation, title: str, to_stderr: bool) -> None:
    from llrkit.multiclass.evaluation import class_rows, class_sentence, rows

    print_table(("", "", ""), rows(result), to_stderr=to_stderr, title=title, left=(0, 2))
    click.echo("", err=to_stderr)
    print_table(*class_rows(result), to_stderr=to_stderr)
    click.echo(f"\n{class_sentence(result)}", err=to_stderr)


def _write_class_page(
    result: ClassEvaluation, scores: ClassScores, path: str, files: SeveralClassFiles, to_stderr: bool
) -> None:
    from llrkit.errors import ConstantScoreError, InfiniteScoreError
    from llrkit.multiclass import idempotence, pair_histograms
    from llrkit.report.page import write_class_report

    try:
        means = idempotence(scores)
    except (ConstantScoreError, InfiniteScoreError):  # nothing to show
        means = None
    made_from = made_by_command(input_files(files.given.reading, *files.paths))
    write_class_report(result, path, pairs=pair_histograms(scores), idempotence=means, made_from=made_from)
    click.echo(f"The report is in {path}", err=to_stderr)


def _echo_class_table(results: ClassEvaluation | ClassComparison, style: str, to_stderr: bool) -> None:
    from llrkit.report.tables import format_table

    click.echo(format_table(results, style), nl=False, err=to_stderr)


def compare_on_classes(files: SeveralClassFiles, asked: ToCompare) -> None:
    """Train calibrators on one file and show what they give on another."""
    from llrkit.cli.compare import show_comparison
    from llrkit.multiclass.choose import compare
    from llrkit.multiclass.fits import CANDIDATES

    train, evaluation = files.paths
    key = asked.evaluation_key or files.given.reading.key
    other = replace(files.given, reading=replace(files.given.reading, key=key))
    names = [SAME_IDEA.get(name, name) for name in asked.methods.split(",")] if asked.methods else CANDIDATES
    comparison = compare(
        read_class_file(files, train),
        read_class_file(replace(files, given=other), evaluation),
        names,
        prior=parse_prior(files.prior),
    )
    with named_file(train):  # where not one could be trained
        comparison.best  # noqa: B018 - asked for what it refuses
    show_comparison(comparison, asked, same_trials=train == evaluation)


def class_reading(files: SeveralClassFiles) -> Reading:
    """How files of several classes are read; what is for two classes only is refused when they are read."""
    for flag, value in (
        ("scheduler", files.given.cluster.scheduler),
        ("workers", files.given.cluster.workers),
    ):
        if value:
            raise InputError(f"--{flag} is for scores of two classes")
    return replace(files.given.reading, classes=tuple(files.classes.split(",")) if files.classes else None)


def read_class_file(files: SeveralClassFiles, path: str) -> ClassScores:
    """The trials of a file of several classes, some of each."""
    from llrkit.io.class_files import class_scores_of_table, read_class_table
    from llrkit.multiclass.metrics import require_all_classes

    scores = class_scores_of_table(read_class_table(path, class_reading(files)))
    with named_file(path):
        require_all_classes(scores.classes, scores.counts)
    return scores
