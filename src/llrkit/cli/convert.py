"""``llrkit convert``: the same trials in another format."""

from __future__ import annotations

from typing import Any

import click

from llrkit.base.text import counted
from llrkit.cli.options import parse_share
from llrkit.cli.output import is_standard_output, named_file
from llrkit.cli.trial_input import TrialInput, reading_options


@click.command("convert")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT", required=False)
@click.option("-o", "--output", metavar="FILE", help="The same as OUT.")
@click.option("--to", metavar="NAME", help="Format to write; by default chosen by the ending of OUT.")
@click.option(
    "--key-output", metavar="FILE", help="File to write the labels to, for Kaldi, NIST and BOSARIS."
)
@click.option(
    "--compound",
    metavar="SHARE",
    help="Write compound LLRs, as in SRE12, where this share of the impostors are other enrolled speakers.",
)
@reading_options
def convert_command(
    source: str,
    target: str | None,
    output: str | None,
    to: str | None,
    key_output: str | None,
    compound: str | None,
    **reading: Any,
) -> None:
    """Convert trials from any format to another.

    Writes Parquet, Arrow, CSV, TSV, Kaldi, NIST or BOSARIS.

    Numbers are written with enough digits to read the same numbers back. OUT is written whole or
    not at all. Tables are converted in batches, so their size does not matter; a key and BOSARIS take memory.

    With --compound each test segment must have been compared with all enrolled speakers, once with each; a
    missing pair is an error. Separate lists, say of men and of women, may share a file. The result is in the
    column 'compound_llr'; all other columns are kept.

    \b
    Examples:
      llrkit convert scores.txt --key trials.txt scores.parquet
      llrkit convert scores.csv scores.kaldi --key-output trials
      llrkit convert scores.csv -o scores.arrow
      llrkit convert scores.parquet scores.h5 --key-output key.h5
      llrkit convert llrs.csv compound.csv --compound 0.5
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
    how = TrialInput.of(reading).reading
    if compound is None:
        rows = convert(source, target, how, to=to, key_output=key_output)
    else:
        from llrkit.io.read import read_whole
        from llrkit.io.write import write_trials
        from llrkit.verbs.conditions import compound_trials

        with named_file(source):
            made = compound_trials(read_whole([source], how), p_known=parse_share(compound, "--compound"))
        write_trials(made, target, format=to, key=key_output)
        rows = len(made)
    click.echo(f"{counted(rows, 'trial')} written to {target}", err=is_standard_output(target))
