"""``llrkit compare`` and ``llrkit diagnose``: which calibrator suits the scores."""

from __future__ import annotations

from typing import Any

import click

from llrkit.cli.output import (
    json_option,
    parse_points,
    point_option,
    print_table,
    read_options,
    reading_options,
    write_json,
)


@click.command("compare")
@click.argument("train")
@click.argument("evaluation")
@click.option("--methods", metavar="NAME,NAME", help="Calibrators to compare; by default a good selection.")
@point_option
@reading_options
@json_option
def compare_command(
    train: str,
    evaluation: str,
    methods: str | None,
    points: tuple[str, ...],
    json_path: str | None,
    **reading: Any,
) -> None:
    """Train calibrators on TRAIN and show what they give on EVALUATION, raw scores first.

    \b
    Example:
      llrkit compare dev.csv eval.csv --methods cmlg,logistic,pav
    """
    from llrkit.choose.compare import compare
    from llrkit.choose.methods import CANDIDATES
    from llrkit.io import read_trials

    sets = [read_trials(path, **read_options(**reading)) for path in (train, evaluation)]
    found = compare(
        sets[0], sets[1], methods or CANDIDATES, points=parse_points(points) or ("sre08", "sre10")
    )
    to_stderr = json_path == "-"
    header, rows = found.table()
    print_table(header, rows, to_stderr=to_stderr)
    for name, reason in found.failed.items():
        click.echo(f"{name} could not be trained: {reason}", err=True)
    click.echo(f"\n{found.sentence}", err=to_stderr)
    if train == evaluation:
        click.echo("Trained and evaluated on the same trials: the figures are too good.", err=True)
    write_json(found.to_dict(), "compare", json_path)


@click.command("diagnose")
@click.argument("scores")
@reading_options
@json_option
def diagnose_command(scores: str, json_path: str | None, **reading: Any) -> None:
    """Say what the scores look like and which calibrators suit them.

    \b
    Example:
      llrkit diagnose dev.csv
    """
    from llrkit.choose.diagnose import diagnose
    from llrkit.io import read_trials

    found = diagnose(read_trials(scores, **read_options(**reading)))
    click.echo(repr(found), err=json_path == "-")
    write_json(found.to_dict(), "diagnose", json_path)
