"""The command line: parse, call the library, print. Nothing is computed here.

Only click is imported at the top of these modules; the library is imported by the command that runs, so
that ``llrkit --help`` answers at once.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterator
from typing import Any

import click

from llrkit._memory import address_space, in_words
from llrkit._version import __version__
from llrkit.cli.app import app_command
from llrkit.cli.apply import apply_command
from llrkit.cli.biometrics import differential_command, identify_command
from llrkit.cli.calibrate import calibrate_command
from llrkit.cli.case import case_command
from llrkit.cli.compare import compare_command
from llrkit.cli.compare_systems import compare_systems_command
from llrkit.cli.compound import compound_command
from llrkit.cli.convert import convert_command
from llrkit.cli.demo import demo_command
from llrkit.cli.diagnose import diagnose_command
from llrkit.cli.evaluate import evaluate_command
from llrkit.cli.fuse import fuse_command
from llrkit.cli.isolate import limit_this_process, run_isolated
from llrkit.cli.last_net import exit_code_of
from llrkit.cli.output import shown_warnings
from llrkit.cli.paths import guard_inputs
from llrkit.cli.piped_inputs import takes_pipes
from llrkit.cli.plot import plot_command
from llrkit.cli.progress import shown_progress
from llrkit.cli.recognize import recognize_command
from llrkit.cli.repeated_options import refuses_repeated
from llrkit.cli.report import report_command
from llrkit.cli.reproduce import reproduce_command
from llrkit.cli.schema import schema_command
from llrkit.cli.shift import adapt_command, shift_command
from llrkit.cli.simulate import simulate_command
from llrkit.cli.simulate_sample import sample_command
from llrkit.cli.simulate_speech import embeddings_command, frames_command, plda_command
from llrkit.cli.spoof import spoof_command
from llrkit.cli.streams import flush_output, make_usable
from llrkit.cli.termination import ended_cleanly
from llrkit.cli.theory import theory_command
from llrkit.cli.threshold import threshold_command
from llrkit.cli.validate import validate_command
from llrkit.errors import InputError

SMALLEST_SPACE = 1_900_000_000
"""With less, the libraries for tables and matrices cannot start their threads, and wait for ever."""


class Program(click.Group):
    """All commands: llrkit's warnings are one line each, and long work is shown on a terminal."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with shown_warnings(), shown_progress():
            return super().invoke(ctx)


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
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


for command in (
    demo_command,
    evaluate_command,
    spoof_command,
    differential_command,
    identify_command,
    calibrate_command,
    apply_command,
    case_command,
    app_command,
    shift_command,
    adapt_command,
    compare_command,
    compare_systems_command,
    fuse_command,
    diagnose_command,
    threshold_command,
    plot_command,
    report_command,
    validate_command,
    convert_command,
    compound_command,
    recognize_command,
    simulate_command,
    reproduce_command,
    theory_command,
    schema_command,
):
    cli.add_command(command)


def all_commands(group: click.Group) -> Iterator[click.Command]:
    """A group, and every command in it."""
    yield group
    for command in group.commands.values():
        yield from all_commands(command) if isinstance(command, click.Group) else (command,)


for kind in (plda_command, embeddings_command, frames_command, sample_command):
    simulate_command.add_command(kind)

guard_inputs(cli)


for one in all_commands(cli):
    takes_pipes(one)
    refuses_repeated(one)
    one.params.append(
        click.Option(["--debug"], is_flag=True, expose_value=False, help="Show the traceback of an error.")
    )
    one.params.append(
        click.Option(
            ["--isolate"], is_flag=True, expose_value=False,
            help="Run in a separate process with limited memory, for files that are not trusted.",
        )
    )  # fmt: skip


def main() -> None:
    """Entry point: whatever goes wrong is one clear line, and a traceback only with ``--debug``."""
    arguments = sys.argv[1:]
    make_usable()
    # pictures are written to files; what the variable asks for is a window, or cannot be had
    os.environ["MPLBACKEND"] = "agg"

    limit_this_process()

    def refuse_small_space() -> None:
        if 0 < (space := address_space()) < SMALLEST_SPACE:
            raise InputError(
                f"the address space is limited to {in_words(space)} (ulimit -v); at least "
                f"{in_words(SMALLEST_SPACE)} are needed"
            )

    def work() -> None:
        if "--isolate" in arguments:
            sys.exit(run_isolated([one for one in arguments if one != "--isolate"]))
        refuse_small_space()
        cli.main(arguments, prog_name="llrkit", standalone_mode=True)

    def run() -> None:
        try:
            with ended_cleanly():
                work()
        finally:
            flush_output()

    code = exit_code_of(run, debug="--debug" in arguments)
    if address_space():  # threads of libraries that find no memory at the end would abort after the answer
        atexit._run_exitfuncs()
        os._exit(code)
    sys.exit(code)
