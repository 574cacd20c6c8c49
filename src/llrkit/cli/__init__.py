"""The command line: parse, run a job, show what came of it. Nothing is computed here.

Only click is imported at the top of these modules; the library is imported by the command that runs, and a
command when it is asked for, so that ``llrkit`` answers at once.
"""

from __future__ import annotations

import gc
import os
import sys

import click

from llrkit._version import __version__
from llrkit.cli.jobs import debug_option
from llrkit.cli.program import CommandTable, Program, ended_cleanly, exit_code_of, flush_output, make_usable


@click.group(
    cls=Program, commands=CommandTable(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)  # fmt: skip
@click.version_option(__version__, prog_name="llrkit")
def cli() -> None:
    """Turn detection scores into log-likelihood-ratios that can be trusted.

    \b
    Examples:
      llrkit paper --small
      llrkit evaluate scores.csv --point sre08 --point 0.05
      llrkit calibrate dev.csv --method logistic -o cal.json
      llrkit apply cal.json eval.csv -o llrs.csv
      llrkit report llrs.csv -o report.html
      llrkit theory --eer 5%
    """


cli.params.append(debug_option())


def main() -> None:
    """Entry point: whatever goes wrong is one clear line, and a traceback only with ``--debug``."""
    arguments = sys.argv[1:]
    make_usable()
    # importing makes many objects and no garbage: looking for some takes a tenth of a small command
    gc.set_threshold(100_000, 20, 20)
    # pictures are written to files; what the variable asks for is a window, or cannot be had
    os.environ["MPLBACKEND"] = "agg"

    def run() -> None:
        try:
            with ended_cleanly():
                cli.main(arguments, prog_name="llrkit", standalone_mode=True)
        finally:
            flush_output()
            gc.freeze()  # collecting everything once more as the process ends takes as long as a small table

    sys.exit(exit_code_of(run, debug="--debug" in arguments))
