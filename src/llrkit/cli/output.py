"""What commands share: options, tables that line up, and JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import click

from llrkit._atomic import write_atomically
from llrkit._plain import Json, spelled
from llrkit.cli.piped_inputs import as_given
from llrkit.cli.quoted_command import full_paths_wanted, quoted_command
from llrkit.cli.typed_options import Command

if TYPE_CHECKING:
    import warnings

    from llrkit.io.reading_options import PathArg, Reading
    from llrkit.report.provenance import Provenance
    from llrkit.theory.operating_points import OperatingPoint

_WARNED = "llrkit.warned"
"""Where a command finds the warnings that were given while it ran."""

json_option = click.option(
    "--json", "json_path", metavar="PATH|-", help="Write the numbers as JSON; '-' for standard output."
)
point_option = click.option(
    "--point", "points", multiple=True, metavar="NAME|P[,CMISS,CFA]",
    help="Operating point: a preset (sre08, sre10, sre12, ...) or a target prior with costs. Repeatable.",
)  # fmt: skip
by_option = click.option(
    "--by",
    metavar="COL[,COL]",
    help="Also evaluate each value of a column, or each combination of several.",
)
unconfirmed_option = click.option(
    "--allow-unconfirmed", is_flag=True, help="Accept presets whose definition could not be confirmed."
)


def words_option(default: str) -> Callable[[Command], Command]:
    """The option that chooses the words of tables, plots and reports, with its default."""
    from llrkit._vocabulary import VOCABULARIES

    return click.option(
        "--vocabulary", "words", type=click.Choice(list(VOCABULARIES)), default=default, show_default=True,
        help="The words of tables and plots: NIST's, forensic science's, or those of biometrics (FMR, FNMR).",
    )  # fmt: skip


vocabulary_option = words_option("nist")


base_10_option = click.option(
    "--base-10", "base_10", is_flag=True,
    help="Show LLRs, thresholds and log-odds to base ten: log10 LR instead of nats. JSON stays in nats.",
)  # fmt: skip


def bound_options(command: Command) -> Command:
    """The options that bound the LLRs of a calibration by what its training trials can show."""
    for option in (
        click.option("--speakers", metavar="COL[,COL]",
                     help="For --bound sources: the columns with the speakers of the two sides of a trial."),
        click.option("--bound", default="sources", show_default=True,
                     metavar="none|elub|invariance|sources|fixed:LOW,HIGH",
                     help="Bound the LLRs: by independent sources of the training trials, by ELUB, by "
                     "invariance, or by two LLRs (natural logarithms)."),
    ):  # fmt: skip
        command = option(command)
    return command


def interval_options(command: Command, otherwise: str = "none") -> Command:
    """The options that ask for intervals; ``otherwise`` is their kind without speakers."""
    ask = click.option(
        "--ci", type=click.Choice(["none", "trial", "speaker", "bootstrap"]),
        help="Intervals: as if trials were independent; for trials that share speakers; or by drawing "
        f"speakers with replacement. Default: speaker with --speakers, else {otherwise}.",
    )  # fmt: skip
    return ask(interval_details(command))


def interval_details(command: Command) -> Command:
    """The options that say how intervals are made."""
    for option in (
        click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True,
                     help="Seed of the bootstrap."),
        click.option("--replicates", type=int, default=1000, show_default=True,
                     help="Number of bootstrap samples."),
        click.option("--level", default="95%", show_default=True, help="Confidence level."),
        click.option("--recordings", metavar="COL,COL",
                     help="For the bootstrap: columns with the recordings, drawn within speakers."),
        click.option("--speakers", metavar="COL[,COL]",
                     help="The columns with the speakers of the two sides of a trial."),
    ):  # fmt: skip
        command = option(command)
    return command


def split_names(text: str | None) -> list[str] | None:
    """Names of columns separated by commas.

    Examples
    --------
    >>> split_names("enroll_speaker, test_speaker")
    ['enroll_speaker', 'test_speaker']
    """
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def parse_options(settings: Sequence[str]) -> dict[str, Json]:
    """``NAME=VALUE`` pairs; values are numbers, true, false or none where they look like it.

    Examples
    --------
    >>> parse_options(["alpha=0.3", "laplace=none"])
    {'alpha': 0.3, 'laplace': 'none'}
    """
    from llrkit.errors import InputError

    options: dict[str, Json] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not (equals and name.isidentifier()):
            raise InputError(f"--option {setting}: expected NAME=VALUE")
        if name in options:
            raise InputError(f"--option {name} is given twice; it takes one value")
        try:
            options[name] = json.loads(text)
        except json.JSONDecodeError:
            options[name] = text
    return options


@contextmanager
def named_file(file: str) -> Iterator[None]:
    """Faults that are found after reading are told with the file they came from."""
    from llrkit.errors import FileFormatError, InputError

    try:
        yield
    except FileFormatError:  # names its file itself
        raise
    except InputError as error:
        if str(error).startswith(f"{file}, line "):  # found at a trial that knows its place
            raise
        raise type(error)(f"{file}: {error}") from None


@contextmanager
def shown_warnings() -> Iterator[None]:
    """Warnings of llrkit as one line each on standard error."""
    import warnings

    from llrkit.errors import LlrkitWarning

    caught: list[warnings.WarningMessage] = []
    context = click.get_current_context(silent=True)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", LlrkitWarning)
            if context is not None:
                context.meta.setdefault(_WARNED, []).append(caught)
            yield
    finally:
        said = dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, LlrkitWarning))
        for message in said:
            click.echo(f"llrkit: warning: {as_given(message)}", err=True)
    for warning in caught:
        if not issubclass(warning.category, LlrkitWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def left_out() -> dict[str, int]:
    """How many trials this command has left out so far, as it was told to, by what it said of them."""
    from llrkit.errors import LeftOutWarning

    context = click.get_current_context(silent=True)
    lists: list[list[warnings.WarningMessage]] = [] if context is None else context.meta.get(_WARNED, [])
    said = (warning.message for warnings_ in lists for warning in warnings_)
    return {str(one): one.trials for one in said if isinstance(one, LeftOutWarning) and one.trials}


def trained_without() -> dict[str, int]:
    """What a calibration file records of the training trials that were left out; nothing if none was."""
    n = sum(left_out().values())
    return {"training_left_out": n} if n else {}


@contextmanager
def unwarned(*categories: type[Warning], when: bool = True) -> Iterator[None]:
    """Without warnings of what the command says in its own words."""
    import warnings

    with warnings.catch_warnings():
        for category in categories if when else ():
            warnings.simplefilter("ignore", category)
        yield


@contextmanager
def options_as_typed() -> Iterator[None]:
    """What to do about classes that do not overlap, with the options of the command line."""
    from llrkit.calibrate.class_gap import REMEDY, REMEDY_TYPED
    from llrkit.errors import SeparationError

    try:
        yield
    except SeparationError as error:
        raise SeparationError(str(error).replace(REMEDY, REMEDY_TYPED)) from None


def parse_points(texts: Sequence[str]) -> list[OperatingPoint | str]:
    """Operating points as given on the command line."""
    from llrkit.errors import InputError
    from llrkit.theory.presets import point_of_text

    try:
        return [point_of_text(text) or text for text in texts]
    except InputError as error:
        raise InputError(f"--point: {error}") from None


def parse_share(text: str, option: str) -> float:
    """A number that may be written with a percent sign.

    Examples
    --------
    >>> parse_share("5%", "--eer"), parse_share("0.05", "--eer")
    (0.05, 0.05)
    """
    from llrkit.errors import InputError

    digits = text.strip()
    try:
        return float(digits[:-1]) / 100.0 if digits.endswith("%") else float(digits)
    except ValueError:
        raise InputError(f"{option}: {text!r} is not a number") from None


def print_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    to_stderr: bool,
    title: str = "",
    left: Sequence[int] = (0,),
) -> None:
    """A table: drawn by rich on a terminal, aligned text in a pipe. Columns not ``left`` are numbers."""
    stream = sys.stderr if to_stderr else sys.stdout
    title = as_given(title)
    if stream.isatty():
        from rich.console import Console
        from rich.table import Table

        table = Table(title=title or None, show_header=any(header))
        for i, name in enumerate(header):
            table.add_column(name, justify="left" if i in left else "right", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        Console(file=stream, markup=False, highlight=False).print(table)
        return
    lines = [list(header), *map(list, rows)] if any(header) else list(map(list, rows))
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    if title:
        click.echo(title, file=stream)
    for line in lines:
        cells = [
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        click.echo("  ".join(cells).rstrip(), file=stream)


def write_json(content: Mapping[str, Json], command: str, path: str | None) -> None:
    """Write a command's numbers; nothing half-written is ever left behind."""
    if path is None:
        return
    without = [{"trials": n, "text": text} for text, n in left_out().items()]
    more = {"left_out": without} if without else {}
    members = {"schema": f"llrkit.{command}/1", **spelled(content), **more}
    text = json.dumps(members, indent=2, allow_nan=False) + "\n"
    text = as_given(text)
    if path == "-":
        click.echo(text, nl=False)
    else:
        write_atomically(path, text)


def is_standard_output(path: str) -> bool:
    """Whether what is written to this path comes out where messages do; these then go to standard error."""
    with suppress(OSError, ValueError):
        return os.path.samestat(os.stat(path), os.fstat(sys.stdout.fileno()))
    return False


def input_files(reading: Reading, *files: PathArg | None) -> list[PathArg]:
    """Every file that a command read: those it was given, and those that its reading options name."""
    return [*(file for file in files if file), *reading.files]


def made_by_command(files: Sequence[PathArg | None] = ()) -> Provenance:
    """What a page says about its origin: files with their hashes, the command line, the date."""
    from llrkit.report.provenance import provenance

    full_paths, context = full_paths_wanted(), click.get_current_context(silent=True)
    program = context.find_root().command if context is not None else click.Command("llrkit")
    command = quoted_command(sys.argv[1:], program, full_paths=full_paths)
    return provenance([str(file) for file in files if file], command=command, full_paths=full_paths)
