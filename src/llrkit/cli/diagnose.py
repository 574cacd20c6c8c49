"""``llrkit diagnose``: what the scores look like, and which calibrators suit them."""

from __future__ import annotations

from typing import Any

import click

from llrkit.cli.options import parse_points
from llrkit.cli.output import json_option, write_json
from llrkit.cli.shown_warnings import unwarned
from llrkit.cli.trial_input import TrialInput, cluster_options, reading_options


@click.command("diagnose")
@click.argument("scores")
@click.option(
    "--point",
    metavar="NAME|P[,CMISS,CFA]",
    help="Compare CMLG and logistic regression at this operating point too.",
)
@reading_options
@cluster_options
@json_option
def diagnose_command(scores: str, point: str | None, json_path: str | None, **reading: Any) -> None:
    """Describe the scores and say which calibrators suit them.

    \b
    Examples:
      llrkit diagnose dev.csv
      llrkit diagnose dev.csv --point sre08
    """
    from llrkit.errors import ReversedScoresWarning, ScaleWarning
    from llrkit.maps.training_range import REMEDY, REMEDY_TYPED
    from llrkit.verbs.diagnose import diagnose

    given = TrialInput.of(reading)
    points = parse_points([point]) if point else [None]
    with unwarned(ReversedScoresWarning, ScaleWarning):  # both stand among the problems
        diagnosis = diagnose(given.open(scores), point=points[0])
    chosen = given.reading.where
    if chosen:
        click.echo(f"{scores}, only {' and '.join(chosen)}", err=json_path == "-")
    click.echo(repr(diagnosis).replace(REMEDY, REMEDY_TYPED), err=json_path == "-")
    selection = {"where": list(chosen)} if chosen else {}
    write_json({**diagnosis.to_dict(), **selection}, "diagnose", json_path)
