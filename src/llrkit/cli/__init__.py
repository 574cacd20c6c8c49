"""The command line: parse, call the library, print. Nothing is computed here.

Only click is imported at the top of these modules; the library is imported by the command that runs, so
that ``llrkit --help`` answers at once.
"""

from __future__ import annotations

import sys

import click

from llrkit._version import __version__
from llrkit.cli.calibrate import apply_command, calibrate_command
from llrkit.cli.compare import compare_command, diagnose_command
from llrkit.cli.convert import convert_command
from llrkit.cli.demo import demo_command
from llrkit.cli.evaluate import evaluate_command
from llrkit.cli.fuse import fuse_command
from llrkit.cli.simulate import simulate_command
from llrkit.cli.theory import theory_command
from llrkit.cli.validate import validate_command
from llrkit.errors import LlrkitError


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="llrkit")
def cli() -> None:
    """Turn detection scores into log-likelihood-ratios that can be trusted.

    \b
    Examples:
      llrkit demo
      llrkit evaluate scores.csv --point sre08 --point 0.05
      llrkit calibrate dev.csv --method logistic -o cal.json
      llrkit apply cal.json eval.csv -o llrs.csv
      llrkit theory --eer 5%
    """


for command in (
    demo_command,
    evaluate_command,
    calibrate_command,
    apply_command,
    compare_command,
    fuse_command,
    diagnose_command,
    validate_command,
    convert_command,
    simulate_command,
    theory_command,
):
    cli.add_command(command)


def main() -> None:
    """Entry point: a user's mistake gives one clear line and exit code 2, never a traceback."""
    try:
        cli.main(prog_name="llrkit")
    except LlrkitError as error:
        click.echo(f"llrkit: error: {error}", err=True)
        sys.exit(2)
    except BrokenPipeError:  # the reader of our output (head, less) has gone
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        click.echo(f"llrkit: error: {error}", err=True)
        sys.exit(1)
