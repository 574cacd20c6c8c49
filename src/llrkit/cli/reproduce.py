"""``llrkit reproduce``: the paper's experiments, on simulated and on real data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from llrkit.cli.options import asking
from llrkit.cli.output import (
    input_files,
    json_option,
    made_by_command,
    print_table,
    write_json,
)
from llrkit.cli.reproduce_scan import out_option, prior_scan_command, scale_option, seed_option
from llrkit.cli.trial_input import TrialInput, reading_options
from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.experiments.lists import ListTable
    from llrkit.experiments.real import RealResult
    from llrkit.io.read_options import Reading


@click.group("reproduce")
def reproduce_command() -> None:
    """Repeat the experiments of the paper.

    Compares the results with those that van Leeuwen & Brümmer (2013) report.

    \b
    Examples:
      llrkit reproduce durations
      llrkit reproduce durations --scale paper --out out/durations --json durations.json
      llrkit reproduce prior-scan
      llrkit reproduce prior-scan --scores scores.tsv --point sre08
      llrkit reproduce real --scores scores.tsv --by condition
    """


@reproduce_command.command("durations")
@scale_option
@seed_option
@click.option(
    "--from",
    "start",
    type=click.Choice(["embeddings", "frames"]),
    default="embeddings",
    show_default=True,
    help="Simulate embeddings, or simulate frames and train everything from them (minutes).",
)
@click.option(
    "--seeds",
    default=5,
    show_default=True,
    help="Number of seeds, starting at --seed; results are means over seeds.",
)
@out_option
@json_option
def durations_command(
    scale: str, seed: int, start: str, seeds: int, out: str | None, json_path: str | None
) -> None:
    """25 trial lists of different durations: CMLG against logistic regression (figure 1).

    Two simulated corpora without a speaker in common; a PLDA recognizer trained on whole recordings scores
    length-normalized embeddings of all durations; calibration is trained on one corpus, evaluated on the
    other. All numbers are means over seeds.

    \b
    Examples:
      llrkit reproduce durations --scale paper
      llrkit reproduce durations --scale 25x --seeds 1 --json -
      llrkit reproduce durations --from frames --seeds 2
    """
    from llrkit.base.text import counted
    from llrkit.experiments.durations import run_durations
    from llrkit.experiments.folder import one_map_table, shortcut_table

    if start == "frames":
        from llrkit.experiments.durations import run_from_frames

        durations = run_from_frames(scale, seed=seed, seeds=seeds)
    else:
        durations = run_durations(scale, seed=seed, seeds=seeds)
    _show_experiment(durations.table, json_path)
    _say_beside_json("", json_path)
    header, rows = one_map_table(durations.table)
    print_table(header, rows, to_stderr=json_path == "-")
    if durations.shortcut is not None:
        _say_beside_json("", json_path)
        header, rows = shortcut_table(durations.table, durations.shortcut)
        print_table(header, rows, to_stderr=json_path == "-")
    runs = counted(len(durations.seeds), "seed")
    _say_beside_json(
        f"\n{runs}, {durations.table.trials:,} trials each, in {durations.seconds:.1f} s.", json_path
    )
    if out:
        from llrkit.experiments.folder import write_experiments

        page = write_experiments(out, durations=durations, made_from=made_by_command())
        _say_beside_json(f"The report is in {page}", json_path)
    write_json({"experiment": "durations", **durations.to_dict()}, "reproduce", json_path)


reproduce_command.add_command(prior_scan_command)


@dataclass(frozen=True, kw_only=True)
class ToRunReal:
    """Options of ``reproduce real`` that are about what was given."""

    embeddings: str | None
    vectors: str | None
    scorer: str
    scores: str | None
    by: str | None
    training: str
    groups: str | None


@reproduce_command.command("real")
@click.option(
    "--embeddings", metavar="FILE", help="NPZ or Kaldi file of embeddings with splits, durations, sides."
)
@click.option("--vectors", metavar="NAME", help="With --embeddings: which matrix of the file.")
@click.option(
    "--scorer", default="plda", show_default=True, help="With --embeddings: plda, plda-moments or cosine."
)
@click.option("--scores", metavar="FILE", help="Scored trials with conditions.")
@click.option("--by", metavar="COL[,COL]", help="With --scores: the columns of the conditions.")
@click.option(
    "--training",
    default="folds",
    show_default=True,
    help="With --scores: train on other folds, or on the same trials (optimistic).",
)
@click.option(
    "--groups", metavar="COL[,COL]", help="With --scores: columns whose values are kept in one fold."
)
@out_option
@reading_options
@json_option
@asking(ToRunReal)
def real_command(asked: ToRunReal, out: str | None, json_path: str | None, **reading: Any) -> None:
    """The same comparison on real data: embeddings from scratch, or scored trials with conditions.

    Embeddings need an id and a speaker for each row and the columns split (train, dev, eval), duration,
    side (A enrolls, B tests) and gender.

    \b
    Examples:
      llrkit reproduce real --embeddings embeddings.npz --vectors ivector
      llrkit reproduce real --scores scores.tsv --by train_condition,test_condition
    """
    if (asked.embeddings is None) == (asked.scores is None):
        raise InputError("give either --embeddings or --scores")
    given, file = TrialInput.of(reading).reading, asked.embeddings or asked.scores
    results = (
        _real_result_of_embeddings(asked.embeddings, asked)
        if asked.embeddings
        else _real_result_of_scores(asked, given)
    )
    names = asked.by.split(",") if asked.scores and asked.by else ["enroll", "test"]
    _show_experiment(results.table, json_path, (names[0], "/".join(names[1:])))
    for name, reason in results.skipped.items():
        click.echo(f"{name} left out: {reason}", err=True)
    for name in results.regularized:
        click.echo(f"{name}: the training classes do not overlap; logistic regression regularized", err=True)
    if out:
        from llrkit.experiments.folder import write_experiments

        page = write_experiments(out, real=results, made_from=made_by_command(input_files(given, file)))
        _say_beside_json(f"The report is in {page}", json_path)
    content = {"experiment": "real", "file": file, **results.to_dict()}
    write_json(content, "reproduce", json_path)


def _real_result_of_embeddings(path: str, asked: ToRunReal) -> RealResult:
    from llrkit.experiments.real import run_real_embeddings
    from llrkit.speech.embeddings import read_embeddings

    given = read_embeddings(path, vectors=asked.vectors)
    return run_real_embeddings(given, scorer=asked.scorer)


def _real_result_of_scores(asked: ToRunReal, given: Reading) -> RealResult:
    from llrkit.experiments.real import run_real_scores
    from llrkit.io.read import read_whole

    if not asked.by:
        raise InputError("--scores needs the columns of the conditions (--by)")
    trials = read_whole([str(asked.scores)], given)
    groups = asked.groups.split(",") if asked.groups else None
    return run_real_scores(trials, asked.by.split(","), training=asked.training, groups=groups)


def _show_experiment(
    table: ListTable, json_path: str | None, labels: tuple[str, str] = ("enroll", "test")
) -> None:
    from llrkit.experiments.folder import list_table, paper_table, verdict

    to_stderr = json_path == "-"
    header, rows = list_table(table, labels=labels)
    print_table(header, rows, to_stderr=to_stderr, left=(0, 1))
    _say_beside_json("", json_path)
    header, rows = paper_table(table)
    print_table(header, rows, to_stderr=to_stderr)
    _say_beside_json(f"\n{verdict(table)}", json_path)


def _say_beside_json(text: str, json_path: str | None) -> None:
    click.echo(text, err=json_path == "-")
