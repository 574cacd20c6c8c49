"""Commands that are made from the table of verbs: options, help, pipes that are read, what is shown."""

from __future__ import annotations

import os
import select
import shutil
import stat
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from llrkit.base.options import (
    FILES_READ,
    REPEATED,
    Option,
    Options,
    defaults,
    flag_of,
    is_on,
    parameter_of,
    title_of,
)
from llrkit.errors import InputError, LlrkitError
from llrkit.jobs.table import VERBS

if TYPE_CHECKING:
    from llrkit.jobs.job import Job, Run, ShownTable

_METAVARS = {
    "name": "NAME", "names": "NAME,NAME", "column": "COLUMN", "columns": "COL[,COL]", "share": "SHARE",
    "shares": "SHARE", "whole": "N", "wholes": "N", "seed": "N", "number": "NUMBER", "numbers": "NUMBER",
    "read": "FILE", "reads": "FILE", "write": "FILE", "trials": "FILE", "folder": "FOLDER", "text": "TEXT",
    "texts": "TEXT", "pairs": "NAME=VALUE", "point": "NAME|P[,CMISS,CFA]", "points": "NAME|P[,CMISS,CFA]",
}  # fmt: skip


_EVERY_OPTION = "llrkit.every_option"


class _TakesOptionsOnce(click.Command):
    """A command that refuses an option that is given more than once and takes one value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read what was typed."""
        if not ctx.resilient_parsing:
            try:
                _, _, order = self.make_parser(ctx).parse_args(list(args))
            except click.UsageError as error:
                error.ctx = error.ctx or ctx
                raise
            for option, n in Counter(order).items():
                if n > 1 and _takes_one_value(option):
                    times = "twice" if n == 2 else f"{n} times"
                    raise InputError(f"{max(option.opts, key=len)} is given {times}; it takes one value")
        return super().parse_args(ctx, args)


def _takes_one_value(option: click.Parameter) -> bool:
    """Whether a second value would replace the first; a flag that is set twice is set."""
    if not isinstance(option, click.Option) or option.multiple or option.count:
        return False
    return not option.is_flag or bool(option.secondary_opts)


class JobGroup(_TakesOptionsOnce, click.Group):
    """Commands whose verbs begin with the same word."""


class JobCommand(_TakesOptionsOnce):
    """A command whose help shows its options in groups: the usual ones, or with ``--help-all`` every one."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, by the part of the job that they belong to."""
        every = bool(ctx.meta.get(_EVERY_OPTION))
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        shown = [param for param in options if isinstance(param, JobOption) and (param.usual or every)]
        for title, group in groupby(shown, key=lambda param: param.group):
            rows = [row for param in group if (row := param.get_help_record(ctx)) is not None]
            with formatter.section(title):
                formatter.write_dl(rows)
        general = [param for param in options if not isinstance(param, JobOption)]
        rows = [row for param in general if (row := param.get_help_record(ctx)) is not None]
        with formatter.section("Help"):
            formatter.write_dl(rows)


class JobOption(click.Option):
    """An option that a job declares."""

    group = "Options"
    usual = True


def debug_option() -> click.Option:
    """``--debug``, which :func:`llrkit.cli.main` looks for."""
    return click.Option(["--debug"], is_flag=True, expose_value=False, help="Show the traceback of an error.")


def _printing_option(flag: str, text: str, printed: Callable[[click.Context], str]) -> click.Option:
    """An option that prints something instead of doing the job."""

    def print_it(context: click.Context, _: click.Parameter, wanted: bool) -> None:
        if wanted and not context.resilient_parsing:
            click.echo(printed(context))
            context.exit()

    return click.Option([flag], is_flag=True, is_eager=True, expose_value=False, callback=print_it, help=text)


def _whole_help(context: click.Context) -> str:
    context.meta[_EVERY_OPTION] = True
    return context.get_help()


def _methods(_: click.Context) -> str:
    from llrkit.jobs.calibrate import methods_with_options

    return "\n".join(methods_with_options())


def job_parameters(verb: str) -> list[click.Parameter]:
    """The arguments and options of a verb."""
    arguments: list[click.Parameter] = []
    options: list[click.Parameter] = []
    for part, name, option in VERBS[verb].options():
        made = _parameter(part, name, option)
        if isinstance(made, JobOption) and made.name in VERBS[verb].rare:
            made.usual = False
        (arguments if option.argument else options).append(made)
    # what a part adds comes before what it shares with others; what has one title stands together
    kinds = (kind for part in VERBS[verb].parts for kind in part.__mro__ if issubclass(kind, Options))
    titles = list(dict.fromkeys(kind.title for kind in kinds))
    options.sort(key=lambda option: titles.index(option.group) if isinstance(option, JobOption) else 0)
    printing = [_printing_option("--help-all", "Show every option and exit.", _whole_help)]
    if verb == "calibrate":
        text = "List the methods with their options and exit."
        printing.append(_printing_option("--help-methods", text, _methods))
    return [*arguments, *options, *printing, debug_option()]


def _parameter(part: type[Options], name: str, option: Option) -> click.Parameter:
    parameter = parameter_of(part, name)
    if option.argument:
        several, kind = option.kind in REPEATED, click.Choice(option.choices) if option.choices else None
        shown = option.metavar or (flag_of(part, name) if kind else None)  # instead of all choices
        return click.Argument(
            [parameter], type=kind, nargs=-1 if several else 1, required=option.required, metavar=shown
        )
    default = defaults(part)[name]
    usual = option.default_text or (default if isinstance(default, (str, int, float)) else "")
    more: dict[str, Any] = {"metavar": option.metavar or _METAVARS.get(option.kind)}
    if option.kind == "flag":
        more = {"is_flag": True}
    elif option.choices:
        more = {"type": click.Choice(option.choices)}
    elif option.kind == "seed":
        more["type"] = click.INT
    if option.kind in REPEATED:
        more["multiple"] = True
    if option.bare:
        more |= {"is_flag": False, "flag_value": option.bare}
    text = option.help + (" Repeatable." if option.kind in REPEATED else "")
    if is_on(part, name):
        text = f"Do not {text[0].lower()}{text[1:]}"
    if option.kind != "flag" and usual != "":
        text += f"  [default: {usual}]"
    flags = [*([option.short] if option.short else []), flag_of(part, name), *option.also, parameter]
    made = JobOption(flags, help=text, default=None, required=option.required, **more)
    made.group, made.usual = title_of(part, name), option.show == "help"
    return made


@cache
def helps() -> dict[str, str]:
    """What the help of each command says, by its words: the sections of ``help.txt``."""
    text = Path(__file__).with_name("help.txt").read_text(encoding="utf-8").replace("\\b", "\b")
    sections = (section.partition("\n\n") for section in f"\n{text}".split("\n# ")[1:])
    return {words: said.strip() for words, _, said in sections}


def command_of(words: str) -> click.Command:
    """The command of a verb; where several verbs begin with its words, their group."""
    inner = [verb for verb in VERBS if verb.startswith(f"{words} ")]
    if not inner:
        return job_command(words)
    if words in VERBS:
        group = JobGroup(
            words, help=helps()[words], params=job_parameters(words), callback=_small_or_subcommand,
            invoke_without_command=True,
        )  # fmt: skip
    else:
        group = JobGroup(words, help=helps()[words], params=[debug_option()])
    for verb in inner:
        group.add_command(job_command(verb))
    return group


def job_command(verb: str, does: Callable[[Job], None] | None = None) -> JobCommand:
    """A command that makes a job of what was typed and does it; the verb has its options."""

    def parse(**typed: object) -> None:
        from llrkit.jobs.job import Job, as_given

        options = VERBS[verb].options()
        read = [parameter_of(part, name) for part, name, option in options if option.kind in FILES_READ]
        with ExitStack() as stack:
            copies: dict[str, str] = {}
            typed |= copied_pipes(typed, read, copies, stack)
            job = Job.of(verb, typed, copies)
            try:
                (does or run_and_show)(job)
            except LlrkitError as error:
                error.args = tuple(as_given(arg, job) if isinstance(arg, str) else arg for arg in error.args)
                raise

    word = verb.rpartition(" ")[2]
    return JobCommand(word, callback=parse, help=helps().get(verb), params=job_parameters(verb))


def _small_or_subcommand(**typed: object) -> None:
    """What the group of experiments does by itself."""
    from llrkit.jobs.job import Job
    from llrkit.jobs.options import SmallOptions

    context, job = click.get_current_context(), Job.of("paper", typed)
    small, inner = job[SmallOptions].small, context.invoked_subcommand
    if small and inner is not None:
        raise InputError(f"--small runs all experiments; it does not go with {inner}")
    if small:
        run_and_show(job)
    elif inner is None:
        click.echo(context.get_help())


def run_and_show(job: Job) -> None:
    """Do a job, and print what came of it."""
    if job.verb == "app":
        from llrkit.app.server import run_app
        from llrkit.jobs.options import AppOptions

        run_app(job[AppOptions], say=click.echo)
        return
    from llrkit.jobs.job import run_job

    show(run_job(job))


def show(run: Run) -> None:
    """Print what came of a job: words and tables, or beside them if standard output holds JSON; then exit."""
    from llrkit.jobs.job import ShownTable, as_given

    for note in run.notes:
        click.echo(as_given(note, run.job), err=True)
    for one in run.said:
        if isinstance(one, ShownTable):
            print_table(one, title=as_given(one.title, run.job), to_stderr=bool(run.text))
        else:
            click.echo(as_given(one, run.job), err=bool(run.text))
    click.echo(run.text, nl=False)
    if run.exit_code:
        click.get_current_context().exit(run.exit_code)


def print_table(table: ShownTable, *, to_stderr: bool = False, title: str = "") -> None:
    """A table: drawn by rich on a terminal, aligned text in a pipe."""
    stream = sys.stderr if to_stderr else sys.stdout
    header, rows, left = table.header, table.rows, table.left
    if stream.isatty():
        from rich.console import Console
        from rich.table import Table

        drawn = Table(title=title or None, show_header=any(header))
        for i, name in enumerate(header):
            drawn.add_column(name, justify="left" if i in left else "right", no_wrap=True)
        for row in rows:
            drawn.add_row(*row)
        Console(file=stream, markup=False, highlight=False).print(drawn)
        return
    from llrkit.results.result import text_table

    if title:
        click.echo(title, file=stream)
    click.echo(text_table(header, rows, left), file=stream)


# input that comes through a pipe, copied to a file since trials are read more than once


STANDARD_INPUT = "-"
WAIT_SECONDS = 5.0
"""How long a pipe may be without a program that writes to it."""
_BLOCK = 1 << 20


def copied_pipes(
    typed: Mapping[str, object], names: Sequence[str], copies: dict[str, str], stack: ExitStack
) -> dict[str, str | tuple[str, ...]]:
    """The options that name pipes, with copies instead; ``stack`` removes these in the end.

    ``copies`` is filled with the pipe that each copy is of.
    """
    given = [path for name in names for path in _paths_in(typed.get(name))]
    if not any(map(_is_pipe, given)):
        return {}
    if given.count(STANDARD_INPUT) > 1:
        raise InputError("standard input (-) can be read once only; it is given more than once")
    home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="llrkit-")))
    changed: dict[str, str | tuple[str, ...]] = {}
    for name in names:
        value = typed.get(name)
        paths = [_copy_of_pipe(path, home, copies) if _is_pipe(path) else path for path in _paths_in(value)]
        if paths:
            changed[name] = tuple(paths) if isinstance(value, tuple) else paths[0]
    return changed


def _paths_in(value: object) -> list[str]:
    values = value if isinstance(value, tuple) else (value,)
    return [path for path in values if isinstance(path, str)]


def _is_pipe(path: str) -> bool:
    if path == STANDARD_INPUT:
        return True
    with suppress(OSError, ValueError):
        return stat.S_ISFIFO(os.stat(path).st_mode)
    return False


def _copy_of_pipe(path: str, home: Path, copies: dict[str, str]) -> str:
    standard = path == STANDARD_INPUT
    copy = home / ("standard input" if standard else f"{len(copies)}-{Path(path).name}")
    copies[str(copy)] = path
    most = shutil.disk_usage(home).free // 2
    size = 0
    with copy.open("wb") as file:
        for block in _blocks_of_pipe(path):
            size += len(block)
            if size > most:
                raise InputError(f"{path}: more than the {most:,} bytes there is room for in {home.parent}")
            file.write(block)
    return str(copy)


def _blocks_of_pipe(path: str) -> Iterator[bytes]:
    if path == STANDARD_INPUT:
        if sys.stdin.isatty():
            raise InputError(
                "standard input (-) is a terminal; send a file to it: llrkit evaluate - < scores.csv"
            )
        while block := sys.stdin.buffer.read(_BLOCK):
            yield block
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # does not wait for somebody who writes
    try:
        yield from _read_pipe(descriptor, path)
    finally:
        os.close(descriptor)


def _read_pipe(descriptor: int, path: str) -> Iterator[bytes]:
    """Everything that is written to a pipe; a pipe without a writer is refused after a few seconds."""
    until, met = time.monotonic() + WAIT_SECONDS, False
    while True:
        try:
            block = os.read(descriptor, _BLOCK)
        except BlockingIOError:  # somebody writes, but has not yet
            met = True
            select.select([descriptor], [], [])
            continue
        if block:
            met = True
            yield block
        elif met:
            return
        elif time.monotonic() > until:
            raise InputError(f"{path}: a pipe, and no program has written to it for {WAIT_SECONDS:g} seconds")
        else:
            time.sleep(0.02)
