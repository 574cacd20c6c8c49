"""``llrkit evaluate``: the numbers of a score file."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from llrkit.cli.output import (
    interval_options,
    json_option,
    parse_points,
    parse_share,
    point_option,
    print_table,
    read_options,
    reading_options,
    split_names,
    unconfirmed_option,
    write_json,
)
from llrkit.cli.progress import progress

if TYPE_CHECKING:
    from llrkit.metrics.evaluation import Evaluation


@click.command("evaluate")
@click.argument("scores")
@click.option("--key", metavar="KEY", help="A file with the labels, joined on the columns both files share.")
@point_option
@click.option("--by", metavar="COLUMN", help="Also evaluate each value of this column.")
@click.option("--threshold-from", metavar="DEV", help="Development file whose EER threshold gives the HTER.")
@click.option(
    "--equalise",
    metavar="COL[,COL]",
    help="Give each value of these columns (each combination) the same weight, as NIST does.",
)
@interval_options
@reading_options
@unconfirmed_option
@json_option
def evaluate_command(
    scores: str,
    key: str | None,
    points: tuple[str, ...],
    by: str | None,
    threshold_from: str | None,
    allow_unconfirmed: bool,
    json_path: str | None,
    equalise: str | None,
    ci: str,
    speakers: str | None,
    recordings: str | None,
    level: str,
    replicates: int,
    seed: int,
    **reading: Any,
) -> None:
    """Evaluate a file of scores: EER, Cllr, detection costs.

    SCORES is a file of any usual format (table, Kaldi, VoxCeleb, NIST, BOSARIS, ASVspoof, bob, NumPy,
    Parquet, ...), recognised by its content. Scores are read as natural-log LLRs, higher meaning more
    target-like.

    \b
    Examples:
      llrkit evaluate scores.csv
      llrkit evaluate scores.parquet --point sre12 --point 0.05 --by gender
      llrkit evaluate scores.tsv --key key.tsv
      llrkit evaluate targets.txt --nontargets nontargets.txt --log10
      llrkit evaluate eval.tsv --threshold-from dev.tsv --json -
      llrkit evaluate eval.parquet --ci speaker --speakers enroll_speaker,test_speaker
    """
    from llrkit.io import read_trials
    from llrkit.trust.evaluate import evaluate

    options = read_options(**reading)
    trials = read_trials(scores, key, **options)
    dev = read_trials(threshold_from, **options) if threshold_from else None
    bar = progress("resampling", replicates) if ci == "bootstrap" else nullcontext(lambda more: None)
    with bar as advance:
        result = evaluate(
            trials,
            parse_points(points) or ("sre08", "sre10"),
            by=by,
            threshold_from=dev,
            allow_unconfirmed=allow_unconfirmed,
            equalise=split_names(equalise),
            ci=ci,
            speakers=split_names(speakers),
            recordings=split_names(recordings),
            level=parse_share(level, "--level"),
            replicates=replicates,
            seed=seed,
            progress=advance,
        )
    print_evaluation(result, title=scores, by=by, to_stderr=json_path == "-")
    write_json({"scores": scores, **result.to_dict()}, "evaluate", json_path)


def print_evaluation(result: Evaluation, *, title: str, by: str | None, to_stderr: bool) -> None:
    """The table of an evaluation, its groups, and the sentence."""
    from llrkit.metrics import wording

    print_table(("", "", ""), wording.rows(result), to_stderr=to_stderr, title=title, left=(0, 2))
    if result.groups:
        click.echo("", err=to_stderr)
        header, rows = wording.group_rows(result.groups, by or "")
        print_table(header, rows, to_stderr=to_stderr)
    skipped = list(result.skipped_groups.items())
    for name, reason in skipped[:5]:
        click.echo(f"{by} = {name} left out: {reason}", err=True)
    if len(skipped) > 5:
        click.echo(f"... and {len(skipped) - 5:,} more values of {by} left out", err=True)
    for note in result.uncertainty.notes if result.uncertainty is not None else ():
        click.echo(f"\nIntervals: {note}", err=to_stderr)
    click.echo(f"\n{result.sentence}", err=to_stderr)
