"""The program: its commands by name, and what a user sees when one fails: one line and an exit code."""

from __future__ import annotations

import errno
import io
import os
import re
import signal
import sys
import traceback
import warnings
from collections import UserDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from llrkit._version import __version__
from llrkit.base.text import did_you_mean, not_among
from llrkit.cli.jobs import command_of
from llrkit.cli.progress import shown_progress
from llrkit.errors import ClusterError, LlrkitError, LlrkitWarning, OptionError
from llrkit.jobs.table import VERBS


class CommandTable(UserDict[str, click.Command]):
    """The commands of the program; one that is not asked for costs nothing.

    Examples
    --------
    >>> CommandTable()["theory"].name
    'theory'
    """

    def __init__(self) -> None:
        not_made: Any = None
        self.data = dict.fromkeys((verb.split()[0] for verb in VERBS), not_made)

    def __getitem__(self, name: str) -> click.Command:
        if self.data[name] is None:
            self.data[name] = command_of(name)
        return self.data[name]


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


@contextmanager
def shown_warnings() -> Iterator[None]:
    """Warnings of llrkit as one line each on standard error."""
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", LlrkitWarning)
            yield
    finally:
        said = dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, LlrkitWarning))
        for message in said:
            click.echo(f"llrkit: warning: {message}", err=True)
    for warning in caught:
        if not issubclass(warning.category, LlrkitWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


MOVED = {
    "recognize": "speech", "reproduce": "paper", "demo": "paper --small", "compare-systems": "compare",
    "adapt": "shift -o", "differential": "biometrics differential", "identify": "biometrics identify",
    **{model: f"simulate scores --model {model}" for model in
       ("gaussian", "mixture", "gamma", "unequal", "durations")},
}  # fmt: skip
"""Commands of earlier versions; docs/reference/migration.md has their options."""
_NO_COMMAND = re.compile(r"No such command '([^']*)'")
_NO_CHOICE = re.compile(r"'(.*)' is not one of ", re.DOTALL)


class WrongUse(click.ClickException):
    """A command that was not typed as it is used."""

    exit_code = 2

    def show(self, file: object = None) -> None:
        """Print the line as every error is printed."""
        click.echo(f"llrkit: error: {self.message}", err=True)


@contextmanager
def usage_in_one_line() -> Iterator[None]:
    """Instead of click's four lines; the help for a command without arguments stays as it is."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        raise WrongUse(explained_usage(error)) from None


def explained_usage(error: click.UsageError) -> str:
    """What was wrong with what was typed.

    Examples
    --------
    >>> command = click.Command("evaluate", params=[click.Option(["--point"]), click.Option(["--speakers"])])
    >>> explained_usage(click.NoSuchOption("--points", ctx=click.Context(command, info_name="evaluate")))
    "no such option '--points' (did you mean '--point'?); see evaluate --help"
    """
    context = error.ctx
    see = f"; see {context.command_path if context is not None else 'llrkit'} --help"
    text = error.format_message()
    if isinstance(error, click.NoSuchOption):
        params = [] if context is None else context.command.params
        known = [name for param in params for name in (*param.opts, *param.secondary_opts) if name[0] == "-"]
        return f"no such option {error.option_name!r}{did_you_mean(error.option_name, known)}{see}"
    found = _NO_COMMAND.match(text)
    if found and context is not None and isinstance(context.command, click.Group):
        commands = context.command.list_commands(context)
        if found[1] in MOVED:
            return f"no such command {found[1]!r}: it is now llrkit {MOVED[found[1]]}"
        return f"no such command {not_among(found[1], commands, '; there are ')}"
    param = error.param if isinstance(error, click.BadParameter) else None
    chosen = _NO_CHOICE.match(error.message)
    if param is not None and chosen and isinstance(param.type, click.Choice):
        choices = [str(choice) for choice in param.type.choices]
        # an option by its longest name, an argument as the help calls it
        name = max(param.opts, key=len) if isinstance(param, click.Option) else param.human_readable_name
        return f"{name}: {not_among(chosen[1], choices, ': expected one of ')}"
    text = text.strip().removesuffix(".").replace("a valid integer range", "a whole number")
    text = text.replace("a valid float range", "a number").replace("a valid integer", "a whole number")
    return f"{text[:1].lower()}{text[1:]}{see}"


# what goes wrong


WRONG_PATH = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
"""What a user can put right, other than a full disk, say."""
FAILED, WRONG_USE, FAULT = 1, 2, 70
"""Exit codes: something outside failed, the input or an option is wrong, llrkit itself is (EX_SOFTWARE)."""


def exit_code_of(work: Callable[[], None], *, debug: bool) -> int:
    """Run a command and give its exit code; what goes wrong is one line on standard error."""
    try:
        work()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else FAILED if ended.code else 0
    except BrokenPipeError:  # the reader of our output (head, less) has gone
        _forget_waiting_output()
        return FAILED
    except BaseException as error:
        if debug:
            traceback.print_exc()
        line, code = explained(error)
        with suppress(OSError, ValueError):  # nobody listens
            click.echo(line, err=True)
        return code
    return 0


@contextmanager
def ended_cleanly() -> Iterator[None]:
    """SIGTERM and SIGHUP end the block as an error would, so that nothing half-written is left behind.

    Signals that are ignored, as ``nohup`` does, stay so.
    """
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [number for number in (getattr(signal, name) for name in names)
               if signal.getsignal(number) is signal.SIG_DFL]  # fmt: skip
    for number in numbers:
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def explained(error: BaseException) -> tuple[str, int]:
    """The line that says what went wrong, and the exit code.

    Examples
    --------
    >>> explained(LlrkitError("scores.csv, line 3: no label"))
    ('llrkit: error: scores.csv, line 3: no label', 2)
    >>> explained(MemoryError())[0]
    'llrkit: error: not enough memory; set LLRKIT_MAX_MEMORY to what there is, or read larger files in parts'
    >>> explained(KeyError("x"))[1]
    70
    """
    if isinstance(error, LlrkitError):
        said = error.typed if isinstance(error, OptionError) else error
        return f"llrkit: error: {said}", FAILED if isinstance(error, ClusterError) else WRONG_USE
    if isinstance(error, OSError):
        said = error.strerror if error.strerror and error.filename is None else str(error)
        return f"llrkit: error: {said}", WRONG_USE if isinstance(error, WRONG_PATH) else FAILED
    if isinstance(error, MemoryError):
        said = "not enough memory; set LLRKIT_MAX_MEMORY to what there is, or read larger files in parts"
        return f"llrkit: error: {said}", FAILED
    if isinstance(error, KeyboardInterrupt):
        return "llrkit: interrupted", 128 + signal.SIGINT
    if type(error).__name__ == "PanicException":  # of polars, which is not imported here
        return f"llrkit: error: the table library failed ({_first_line_of_error(error)})", FAILED
    return (
        f"llrkit: internal error: {type(error).__name__}: {_first_line_of_error(error)} "
        f"(llrkit {__version__}, Python {sys.version.split()[0]}, {sys.platform}). This should not "
        "happen: please report it to the developers with this line and the command; --debug shows the "
        "traceback",
        FAULT,
    )


def _first_line_of_error(error: BaseException) -> str:
    line = (str(error).strip() or "no message").split("\n", 1)[0]
    return line if len(line) <= 300 else line[:300] + "..."


def _forget_waiting_output() -> None:
    """What is still waiting goes nowhere, so that Python does not complain of it at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nowhere, number)


class ClosedOutput(io.TextIOBase):
    """Stands where standard output was closed: what is written to it is an error, not lost."""

    def writable(self) -> bool:
        """It takes text, in order to refuse it."""
        return True

    def write(self, text: str) -> int:
        """Refuse."""
        raise OSError(errno.EBADF, "standard output is closed")


def make_usable() -> None:
    """Put something in the place of closed streams, and let them take any text.

    A program may be started with closed streams (``>&-``). The numbers of their descriptors would then be
    given to the next files that are opened, and messages would end up in these. A terminal that lacks a
    character, and a file name that is no text, are shown with escapes.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    sys.stdin = sys.stdin or Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    sys.stdout = sys.stdout or ClosedOutput()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def flush_output() -> None:
    """Write what is waiting; a full disk or a reader that has gone shows here, not after the end."""
    if not isinstance(sys.stdout, ClosedOutput):
        sys.stdout.flush()
    with suppress(OSError, ValueError):
        sys.stderr.flush()
