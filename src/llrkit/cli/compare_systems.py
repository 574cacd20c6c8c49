"""``llrkit compare-systems``: is one system better than another on the same trials?"""

from __future__ import annotations

from typing import Any

import click

from llrkit.cli.interval_options import interval_arguments, interval_details
from llrkit.cli.options import parse_points, split_names
from llrkit.cli.output import json_option, print_table, write_json
from llrkit.cli.shared_options import point_option, unconfirmed_option
from llrkit.cli.trial_input import TrialInput, cluster_options, reading_options
from llrkit.errors import InputError


@click.command("compare-systems")
@click.argument("scores", nargs=-1, required=True)
@click.option("--all-pairs", is_flag=True, help="Compare every system with every other, not only the first.")
@click.option("--score-columns", metavar="COL,COL", help="For one file: the columns of the systems.")
@click.option("--ids", metavar="COL[,COL]", help="Columns that identify a trial; by default all shared ones.")
@point_option
@click.option("--ci", type=click.Choice(["trial", "speaker", "bootstrap"]),
              help="Intervals and tests: as if trials were independent; for trials that share speakers; "
              "or by drawing speakers with replacement. Default: speaker with --speakers, else trial."
              )  # fmt: skip
@interval_details
@reading_options
@cluster_options
@unconfirmed_option
@json_option
def compare_systems_command(
    scores: tuple[str, ...],
    all_pairs: bool,
    score_columns: str | None,
    points: tuple[str, ...],
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
    """Compare systems on the same trials, with tests.

    One file for each system, joined on the ids of the trials, or several columns of one file. The first
    system is compared with each of the others. With more than one pair, p (Holm) is corrected for their
    number.

    \b
    Examples:
      llrkit compare-systems plda.csv cosine.csv
      llrkit compare-systems a.csv b.csv c.csv --all-pairs --key trials.key
      llrkit compare-systems all.tsv --score-columns plda,cosine --speakers enroll_speaker,test_speaker
    """
    from llrkit.scores.trials import Trials
    from llrkit.trust.differences import compare_many_systems

    if len(scores) == 1 and not score_columns:
        raise InputError("one file: name the columns of the systems with --score-columns a,b")
    if len(scores) > 1 and score_columns:
        raise InputError("--score-columns is for one file; several files have one score each")
    missing = reading.get("missing") or "error"
    given = TrialInput.of({**reading, "missing": "error" if missing == "error" else "subset"})
    columns = tuple(split_names(score_columns) or ()) if score_columns else given.reading.score
    trials = given.open(*scores, score=columns)
    if missing != "error" and isinstance(trials, Trials):
        trials = trials.complete_counted()
    found = compare_many_systems(
        trials,
        points=parse_points(points) or ("sre08", "sre10"),
        all_pairs=all_pairs,
        allow_unconfirmed=allow_unconfirmed,
        **interval_arguments(ci, speakers, recordings, level, replicates, seed),
    )
    to_stderr = json_path == "-"
    first, *others = found.pairs
    for i, pair in enumerate(found.pairs):
        title = f"{pair.names[0]} less {pair.names[1]}" if others else ""
        print_table(*found.table(i), to_stderr=to_stderr, title=title)
        for line in found.not_tested(i):
            click.echo(line, err=to_stderr)
        click.echo("", err=to_stderr)
    click.echo(found.sentence, err=to_stderr)
    for note in first.notes:
        click.echo(f"{note[0].upper()}{note[1:]}.", err=to_stderr)
    write_json({"scores": list(scores), **found.to_dict()}, "compare-systems", json_path)
