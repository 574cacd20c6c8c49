"""``llrkit compare`` and ``llrkit diagnose``: which calibrator suits the scores."""

from __future__ import annotations

from typing import Any

import click

from llrkit.cli.multiclass import classes_option, compare_classes, has_classes, prior_option
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
@click.option("--evaluation-key", metavar="KEY", help="The labels of EVALUATION, if TRAIN has another key.")
@point_option
@classes_option
@prior_option
@reading_options
@json_option
def compare_command(
    train: str,
    evaluation: str,
    methods: str | None,
    evaluation_key: str | None,
    points: tuple[str, ...],
    classes: str | None,
    prior: str | None,
    json_path: str | None,
    **reading: Any,
) -> None:
    """Train calibrators on TRAIN and show what they give on EVALUATION, raw scores first.

    \b
    Example:
      llrkit compare dev.csv eval.csv --methods cmlg,logistic,pav
    """
    if has_classes(train, classes, prior, reading):
        compare_classes(
            train, evaluation, methods=methods, evaluation_key=evaluation_key, classes=classes, prior=prior,
            json_path=json_path, reading=reading,
        )  # fmt: skip
        return
    from llrkit.choose.compare import compare
    from llrkit.choose.methods import CANDIDATES
    from llrkit.engine.files import open_trials

    options = read_options(**reading)
    sets = [
        open_trials(train, **options),
        open_trials(evaluation, **options | {"key": evaluation_key or options["key"]}),
    ]
    found = compare(
        sets[0], sets[1], methods or CANDIDATES, points=parse_points(points) or ("sre08", "sre10")
    )
    to_stderr = json_path == "-"
    header, rows = found.table()
    print_table(header, rows, to_stderr=to_stderr)
    for name, reason in found.failed.items():
        click.echo(f"{name} could not be trained: {reason}", err=True)
    best = found.evaluations[found.best]
    raw = found.evaluations["raw"]
    said = (
        f"Best is {found.best}: Cllr {best.cllr:.4f} bits instead of {raw.cllr:.4f} with the raw scores; "
        f"{best.cllr_cal:.4f} are still lost to calibration."
        if best.cllr < raw.cllr
        else f"None of them is better than the raw scores, whose Cllr is {raw.cllr:.4f} bits."
    )
    click.echo(f"\n{said}", err=to_stderr)
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
    from llrkit.engine.files import open_trials

    found = diagnose(open_trials(scores, **read_options(**reading)))
    click.echo(repr(found), err=json_path == "-")
    write_json(found.to_dict(), "diagnose", json_path)
