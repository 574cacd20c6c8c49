"""``llrkit reproduce``: the paper's experiments, on simulated and on real data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from llrkit.cli.output import (
    json_option,
    made_by_command,
    print_table,
    write_json,
)
from llrkit.cli.reading import TrialInput, reading_options
from llrkit.cli.reproduce_scan import out_option, prior_scan_command, scale_option, seed_option
from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.experiments.list_results import ListTable


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
    from llrkit._format import counted
    from llrkit.experiments.durations import run_durations
    from llrkit.experiments.result_tables import one_map_table, shortcut_table

    if start == "frames":
        from llrkit.experiments.frame_corpora import run_from_frames

        durations = run_from_frames(scale, seed=seed, seeds=seeds)
    else:
        durations = run_durations(scale, seed=seed, seeds=seeds)
    _show(durations.table, json_path)
    _say("", json_path)
    header, rows = one_map_table(durations.table)
    print_table(header, rows, to_stderr=json_path == "-")
    if durations.shortcut is not None:
        _say("", json_path)
        header, rows = shortcut_table(durations.table, durations.shortcut)
        print_table(header, rows, to_stderr=json_path == "-")
    runs = counted(len(durations.seeds), "seed")
    _say(f"\n{runs}, {durations.table.trials:,} trials each, in {durations.seconds:.1f} s.", json_path)
    if out:
        from llrkit.experiments.result_folder import write_experiments

        page = write_experiments(out, durations=durations, made_from=made_by_command())
        _say(f"The report is in {page}", json_path)
    write_json({"experiment": "durations", **durations.to_dict()}, "reproduce", json_path)


reproduce_command.add_command(prior_scan_command)


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
def real_command(
    embeddings: str | None, scores: str | None, out: str | None, json_path: str | None, **options: Any
) -> None:
    """The same comparison on real data: embeddings from scratch, or scored trials with conditions.

    Embeddings need an id and a speaker for each row and the columns split (train, dev, eval), duration,
    side (A enrolls, B tests) and gender.

    \b
    Examples:
      llrkit reproduce real --embeddings embeddings.npz --vectors ivector
      llrkit reproduce real --scores scores.tsv --by train_condition,test_condition
    """
    if (embeddings is None) == (scores is None):
        raise InputError("give either --embeddings or --scores")
    results = _embeddings(embeddings, options) if embeddings else _scores(str(scores), options)
    names = options["by"].split(",") if scores else ["enroll", "test"]
    _show(results.table, json_path, (names[0], "/".join(names[1:])))
    for name, reason in results.skipped.items():
        click.echo(f"{name} left out: {reason}", err=True)
    for name in results.regularized:
        click.echo(f"{name}: the training classes do not overlap; logistic regression regularized", err=True)
    if out:
        from llrkit.experiments.result_folder import write_experiments

        files = [embeddings or scores, *(options[name] for name in ("key", "nontargets", "quality_file"))]
        page = write_experiments(out, real=results, made_from=made_by_command(files))
        _say(f"The report is in {page}", json_path)
    content = {"experiment": "real", "file": embeddings or scores, **results.to_dict()}
    write_json(content, "reproduce", json_path)


def _embeddings(path: str, options: dict[str, Any]) -> Any:
    from llrkit.experiments.real_embeddings import run_real_embeddings
    from llrkit.recognize.embedding_files import read_embeddings

    given = read_embeddings(path, vectors=options["vectors"])
    return run_real_embeddings(given, scorer=options["scorer"])


def _scores(path: str, options: dict[str, Any]) -> Any:
    from llrkit.experiments.real_scores import run_real_scores
    from llrkit.io.files_to_trials import read_whole

    if not options["by"]:
        raise InputError("--scores needs the columns of the conditions (--by)")
    own = ("by", "groups", "training", "vectors", "scorer")
    given = TrialInput.of({name: value for name, value in options.items() if name not in own})
    trials = read_whole([path], given.reading)
    groups = options["groups"].split(",") if options["groups"] else None
    return run_real_scores(trials, options["by"].split(","), training=options["training"], groups=groups)


def _show(table: ListTable, json_path: str | None, labels: tuple[str, str] = ("enroll", "test")) -> None:
    from llrkit.experiments.result_tables import list_table, paper_table, verdict

    to_stderr = json_path == "-"
    header, rows = list_table(table, labels=labels)
    print_table(header, rows, to_stderr=to_stderr, left=(0, 1))
    _say("", json_path)
    header, rows = paper_table(table)
    print_table(header, rows, to_stderr=to_stderr)
    _say(f"\n{verdict(table)}", json_path)


def _say(text: str, json_path: str | None) -> None:
    click.echo(text, err=json_path == "-")
