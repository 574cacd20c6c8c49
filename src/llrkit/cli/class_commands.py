"""What the commands do with files of several classes; the commands themselves hand these files over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from llrkit.cli.output import (
    input_files,
    made_by_command,
    named_file,
    parse_points,
    print_table,
    write_json,
)
from llrkit.cli.reading import TrialInput
from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.io.reading import PathArg, Reading
    from llrkit.scores.classes import ClassScores

classes_option: Callable[[Any], Any] = click.option(
    "--classes", metavar="A,B,C",
    help="Several classes: their names, in order; by default the columns that the labels name.",
)  # fmt: skip
prior_option: Callable[[Any], Any] = click.option(
    "--prior", metavar="flat|counts|A=P,B=P",
    help="Several classes: the prior; by default flat.",
)  # fmt: skip
posteriors_option: Callable[[Any], Any] = click.option(
    "--posteriors", is_flag=True,
    help="Several classes: the scores are log-posteriors, or logits, at the proportions of the labels.",
)  # fmt: skip
SAME_IDEA = {"logistic": "scale-offset", "cmlg": "gaussian"}
"""What a method for two classes is called for several."""


def has_classes(
    path: str, classes: str | None, prior: str | None, given: TrialInput, score_columns: str | None = None
) -> bool:
    """Whether a file is to be read as one of several classes."""
    from llrkit.io.classes.read_classes import class_file

    reading = given.reading
    for_two = {
        "--score-column": reading.score or score_columns, "--columns": reading.columns,
        "--nontargets": reading.nontargets, "--positive": reading.positive,
        "--scheduler": given.cluster.scheduler, "--workers": given.cluster.workers,
    }  # fmt: skip
    insisted = [flag for flag, value in for_two.items() if value]
    if classes and insisted:
        raise InputError(f"--classes and {insisted[0]} do not go together")
    several = bool(classes) or (not insisted and class_file(path, reading.key, label=reading.label))
    if prior is not None and not several:
        raise InputError(
            f"--prior is for several classes, but {path} holds scores of two; give --classes, or an "
            "operating point (--point) or an option of the method (--option prior=...)"
        )
    return several


def refuse_for_classes(**options: Any) -> None:
    """Refuse options that files of several classes have no use for."""
    for name, value in options.items():
        if value:
            raise InputError(f"--{name.replace('_', '-')} is for scores of two classes")


def parse_prior(text: str | None) -> Any:
    """A prior as given on the command line.

    Examples
    --------
    >>> parse_prior("en=0.5,de=50%"), parse_prior(None)
    ({'en': 0.5, 'de': 0.5}, 'flat')
    """
    from llrkit.cli.output import parse_share

    if text is None or text in ("flat", "counts"):
        return text or "flat"
    shares = {}
    for item in text.split(","):
        name, equals, share = item.rpartition("=")
        if not equals:
            raise InputError(f"--prior {text}: expected flat, counts, or CLASS=PROBABILITY for each class")
        shares[name] = parse_share(share, "--prior")
    return shares


def evaluate_classes(
    path: str,
    *,
    classes: str | None,
    prior: str | None,
    points: Sequence[str],
    posteriors: bool,
    allow_unconfirmed: bool,
    html_path: str | None,
    json_path: str | None,
    given: TrialInput,
    table_style: str | None = None,
    command: str = "evaluate",
) -> None:
    """The numbers of a file of several classes; points named lre... are costs over all classes."""
    from llrkit.multiclass import evaluate
    from llrkit.multiclass.class_words import class_rows, rows, sentence

    costs = tuple(point for point in points if point.lower().startswith("lre"))
    others = parse_points([point for point in points if point not in costs])
    scores = read_class_file(path, classes, given)
    if posteriors:
        scores = scores.without_prior("counts")
    result = evaluate(
        scores,
        prior=parse_prior(prior),
        cavg=costs or ("lre07", "lre22"),
        points=others or (0.5, 0.1),
        detection=True if html_path else None,
        allow_unconfirmed=allow_unconfirmed,
    )
    to_stderr = json_path == "-"
    if table_style is not None:
        _echo_table(result, table_style, to_stderr)
    else:
        print_table(("", "", ""), rows(result), to_stderr=to_stderr, title=path, left=(0, 2))
        click.echo("", err=to_stderr)
        print_table(*class_rows(result), to_stderr=to_stderr)
        click.echo(f"\n{sentence(result)}", err=to_stderr)
    if html_path is not None:
        _write_page(result, scores, html_path, input_files(given.reading, path))
        click.echo(f"The report is in {html_path}", err=to_stderr or table_style is not None)
    write_json({"scores": path, **result.to_dict()}, command, json_path)


def _write_page(result: Any, scores: ClassScores, path: str, files: Sequence[PathArg]) -> None:
    from llrkit.errors import ConstantScoreError, InfiniteScoreError
    from llrkit.multiclass import idempotence, pair_histograms
    from llrkit.report.class_page import write_class_report

    try:
        means = idempotence(scores)
    except (ConstantScoreError, InfiniteScoreError):  # nothing to show
        means = None
    made_from = made_by_command(files)
    write_class_report(result, path, pairs=pair_histograms(scores), idempotence=means, made_from=made_from)


def _echo_table(results: Any, style: str, to_stderr: bool) -> None:
    from llrkit.report.paper_tables import format_table

    click.echo(format_table(results, style), nl=False, err=to_stderr)


def compare_classes(
    train: str,
    evaluation: str,
    *,
    methods: str | None,
    evaluation_key: str | None,
    classes: str | None,
    prior: str | None,
    json_path: str | None,
    given: TrialInput,
    table_style: str | None = None,
) -> None:
    """Train calibrators on one file and show what they give on another."""
    from llrkit.multiclass.class_methods import CANDIDATES
    from llrkit.multiclass.compare_methods import compare

    key = evaluation_key or given.reading.key
    other = replace(given, reading=replace(given.reading, key=key))
    names = [SAME_IDEA.get(name, name) for name in methods.split(",")] if methods else CANDIDATES
    comparison = compare(
        read_class_file(train, classes, given),
        read_class_file(evaluation, classes, other),
        names,
        prior=parse_prior(prior),
    )
    to_stderr = json_path == "-"
    with named_file(train):  # where not one could be trained
        best, raw = comparison.evaluations[comparison.best], comparison.evaluations["raw"]
    if table_style is not None:
        _echo_table(comparison, table_style, to_stderr)
    else:
        print_table(*comparison.table(), to_stderr=to_stderr)
    for name, reason in comparison.failed.items():
        click.echo(f"{name} could not be trained: {reason}", err=True)
    said = (
        f"Best is {comparison.best}: Cllr {best.cllr:.4f} bits instead of {raw.cllr:.4f} with the raw scores."
        if best.cllr < raw.cllr
        else f"None of them is better than the raw scores, whose Cllr is {raw.cllr:.4f} bits."
    )
    click.echo(f"\n{said}", err=to_stderr or table_style is not None)
    if train == evaluation:
        click.echo("Trained and evaluated on the same trials: the figures are too good.", err=True)
    write_json(comparison.to_dict(), "compare", json_path)


def class_curves(kind: str, path: str, options: dict[str, Any], given: TrialInput) -> list[Any]:
    """What a plot of several classes draws of a file: one curve object, or one for each pair of classes."""
    from llrkit.multiclass import evaluate, idempotence, pair_histograms

    scores = read_class_file(path, options["classes"], given)
    if kind == "pair-histogram":
        return list(pair_histograms(scores))
    if kind == "class-idempotence":
        return [idempotence(scores)]
    refine_by = "scale-offset" if kind == "class-calibration" else None
    prior = parse_prior(options["prior"])
    return [evaluate(scores, prior=prior, refine_by=refine_by, detection=kind == "class-det")]


def class_reading(classes: str | None, given: TrialInput) -> Reading:
    """How a file of several classes is read; what is for two classes only is refused when it is read."""
    refuse_for_classes(scheduler=given.cluster.scheduler, workers=given.cluster.workers)
    return replace(given.reading, classes=tuple(classes.split(",")) if classes else None)


def read_class_file(path: str, classes: str | None, given: TrialInput) -> ClassScores:
    """The trials of a file of several classes, some of each."""
    from llrkit.io.classes.read_classes import read_class_table, scores_of
    from llrkit.multiclass.priors import require_all_classes

    scores = scores_of(read_class_table(path, class_reading(classes, given)))
    with named_file(path):
        require_all_classes(scores.classes, scores.counts)
    return scores
