"""``llrkit compound``: LLRs against the other enrolled speakers and the unknown, as in SRE12."""

from __future__ import annotations

from typing import Unpack

import click

from llrkit.base.text import counted
from llrkit.cli.output import named_file
from llrkit.cli.trial_input import TrialInput, reading_options
from llrkit.cli.typed_options import ReadingAsTyped
from llrkit.cli.typed_values import parse_share


@click.command("compound")
@click.argument("scores")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="File to write the trials to, with the compound LLRs in an additional column.",
)
@click.option("--p-known", default="0.5", show_default=True, metavar="SHARE",
              help="The share of known impostors among non-targets.")  # fmt: skip
@click.option(
    "--model-column", metavar="NAME", help="Column of the enrolled speakers; by default found by its name."
)
@click.option(
    "--segment-column", metavar="NAME", help="Column of the test segments; by default found by its name."
)
@reading_options
def compound_command(
    scores: str,
    output: str,
    p_known: str,
    model_column: str | None,
    segment_column: str | None,
    **reading: Unpack[ReadingAsTyped],
) -> None:
    """Compute compound LLRs, against all enrolled speakers.

    LLRs against an unknown speaker become LLRs against another enrolled speaker or an unknown one.

    Each test segment must have been compared with all enrolled speakers, once with each; a missing pair
    is an error. Separate lists, say of men and of women, may share a file. The result is in the column
    'compound_llr'; all other columns are kept.

    \b
    Examples:
      llrkit compound llrs.csv -o compound.csv
      llrkit compound llrs.csv --p-known 0 -o unknown.csv
      llrkit evaluate compound.csv --score-column compound_llr --point sre12 --known known
    """
    from llrkit.io.read import read_whole
    from llrkit.io.write import write_trials
    from llrkit.verbs.conditions import compound_trials

    trials = read_whole([scores], TrialInput.of(reading).reading)
    share = parse_share(p_known, "--p-known")
    with named_file(scores):
        made = compound_trials(trials, p_known=share, enroll=model_column or "", test=segment_column or "")
    write_trials(made, output)
    click.echo(f"{counted(len(made), 'compound LLR')} written to {output} (column 'compound_llr')")
