"""``llrkit convert``: the same trials in another format."""

from __future__ import annotations

from typing import Unpack

import click

from llrkit.base.text import counted
from llrkit.cli.output import is_standard_output
from llrkit.cli.trial_input import TrialInput, reading_options
from llrkit.cli.typed_options import ReadingAsTyped


@click.command("convert")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT", required=False)
@click.option("-o", "--output", metavar="FILE", help="The same as OUT.")
@click.option("--to", metavar="NAME", help="Format to write; by default chosen by the ending of OUT.")
@click.option(
    "--key-output", metavar="FILE", help="File to write the labels to, for Kaldi, NIST and BOSARIS."
)
@reading_options
def convert_command(
    source: str,
    target: str | None,
    output: str | None,
    to: str | None,
    key_output: str | None,
    **reading: Unpack[ReadingAsTyped],
) -> None:
    """Convert trials from any format to another.

    Writes Parquet, Arrow, CSV, TSV, Kaldi, NIST or BOSARIS.

    Numbers are written with enough digits to read the same numbers back. OUT is written whole or
    not at all. Tables are converted in batches, so their size does not matter; a key and BOSARIS take memory.

    \b
    Examples:
      llrkit convert scores.txt --key trials.txt scores.parquet
      llrkit convert scores.csv scores.kaldi --key-output trials
      llrkit convert scores.csv -o scores.arrow
      llrkit convert scores.parquet scores.h5 --key-output key.h5
    """
    from llrkit.errors import InputError
    from llrkit.io.read import convert

    if target is not None and output is not None:
        raise InputError(f"the output is named twice: {target} and --output {output}")
    target = target or output
    if not target:
        raise InputError("the output is missing: llrkit convert IN OUT, or -o OUT")
    if target == "-":  # as for --json
        target = "/dev/stdout"
    rows = convert(source, target, TrialInput.of(reading).reading, to=to, key_output=key_output)
    click.echo(f"{counted(rows, 'trial')} written to {target}", err=is_standard_output(target))
