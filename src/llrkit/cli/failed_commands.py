"""What a user sees when a command fails: one line and an exit code, never a traceback unless asked for."""

from __future__ import annotations

import os
import platform
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from llrkit._version import __version__
from llrkit.errors import ClusterError, LlrkitError, OptionError

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
        _say_on_standard_error(line)
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
        f"(llrkit {__version__}, Python {platform.python_version()}, {sys.platform}). This should not "
        "happen: please report it to the developers with this line and the command; --debug shows the "
        "traceback",
        FAULT,
    )


def _first_line_of_error(error: BaseException) -> str:
    line = (str(error).strip() or "no message").split("\n", 1)[0]
    return line if len(line) <= 300 else line[:300] + "..."


def _say_on_standard_error(line: str) -> None:
    try:
        click.echo(line, err=True)
    except (OSError, ValueError):  # nobody listens
        return


def _forget_waiting_output() -> None:
    """What is still waiting goes nowhere, so that Python does not complain of it at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nowhere, number)
