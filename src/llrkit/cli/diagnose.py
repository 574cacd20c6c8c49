"""``llrkit diagnose``: what the scores look like, and which calibrators suit them."""

from __future__ import annotations

from typing import Any

import click

from llrkit.cli.output import json_option, write_json
from llrkit.cli.reading import TrialInput, cluster_options, reading_options


@click.command("diagnose")
@click.argument("scores")
@reading_options
@cluster_options
@json_option
def diagnose_command(scores: str, json_path: str | None, **reading: Any) -> None:
    """Say what the scores look like and which calibrators suit them.

    \b
    Example:
      llrkit diagnose dev.csv
    """
    from llrkit.evaluation.diagnose import diagnose

    diagnosis = diagnose(TrialInput.of(reading).open(scores))
    click.echo(repr(diagnosis), err=json_path == "-")
    write_json(diagnosis.to_dict(), "diagnose", json_path)
