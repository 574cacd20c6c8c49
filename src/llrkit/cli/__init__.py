"""The command line: parse, call the library, print. Nothing is computed here.

Only click is imported at the top of these modules; the library is imported by the command that runs, and a
command when it is asked for, so that ``llrkit`` answers at once.
"""

from __future__ import annotations

import os
import sys

import click

from llrkit._version import __version__
from llrkit.cli.command_table import CommandTable, add_common_options
from llrkit.cli.failed_commands import ended_cleanly, exit_code_of
from llrkit.cli.progress import shown_progress
from llrkit.cli.shown_warnings import shown_warnings
from llrkit.cli.standard_streams import flush_output, make_usable
from llrkit.cli.usage_errors import usage_in_one_line


class Program(click.Group):
    """All commands: llrkit's warnings are one line each, and long work is shown on a terminal."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: object
    ) -> click.Context:
        """Read the options of the program itself."""
        with usage_in_one_line():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command."""
        with usage_in_one_line(), shown_warnings(), shown_progress():
            return super().invoke(ctx)


@click.group(
    cls=Program, commands=CommandTable(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)  # fmt: skip
@click.version_option(__version__, prog_name="llrkit")
def cli() -> None:
    """Turn detection scores into log-likelihood-ratios that can be trusted.

    \b
    Examples:
      llrkit demo
      llrkit evaluate scores.csv --point sre08 --point 0.05
      llrkit calibrate dev.csv --method logistic -o cal.json
      llrkit apply cal.json eval.csv -o llrs.csv
      llrkit report llrs.csv -o report.html
      llrkit theory --eer 5%
    """


add_common_options(cli)


def main() -> None:
    """Entry point: whatever goes wrong is one clear line, and a traceback only with ``--debug``."""
    arguments = sys.argv[1:]
    make_usable()
    # pictures are written to files; what the variable asks for is a window, or cannot be had
    os.environ["MPLBACKEND"] = "agg"

    def run() -> None:
        try:
            with ended_cleanly():
                cli.main(arguments, prog_name="llrkit", standalone_mode=True)
        finally:
            flush_output()

    sys.exit(exit_code_of(run, debug="--debug" in arguments))
