"""What commands write: tables that line up, JSON, and where their numbers come from."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import click

from llrkit.base.files import write_atomically
from llrkit.base.text import Json, spelled
from llrkit.cli.piped_inputs import as_given
from llrkit.cli.quoted_command import full_paths_wanted, quoted_command
from llrkit.cli.shown_warnings import left_out

if TYPE_CHECKING:
    from llrkit.io.read_options import PathArg, Reading
    from llrkit.report.document import Provenance

json_option = click.option(
    "--json", "json_path", metavar="PATH|-", help="Write the numbers as JSON; '-' for standard output."
)


@contextmanager
def named_file(file: str) -> Iterator[None]:
    """Errors found after reading still name the file."""
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
def options_as_typed() -> Iterator[None]:
    """What to do about classes that do not overlap, with the options of the command line."""
    from llrkit.errors import SeparationError
    from llrkit.maps.training_range import REMEDY, REMEDY_TYPED

    try:
        yield
    except SeparationError as error:
        raise SeparationError(str(error).replace(REMEDY, REMEDY_TYPED)) from None


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
    from llrkit.report.document import provenance

    full_paths, context = full_paths_wanted(), click.get_current_context(silent=True)
    program = context.find_root().command if context is not None else click.Command("llrkit")
    command = quoted_command(sys.argv[1:], program, full_paths=full_paths)
    return provenance([str(file) for file in files if file], command=command, full_paths=full_paths)
