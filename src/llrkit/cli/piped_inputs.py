"""Input that comes through a pipe: copied to a temporary file, since trials are read more than once."""

from __future__ import annotations

import os
import select
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path

import click

from llrkit.cli.read_and_written_paths import READ, paths_in
from llrkit.errors import InputError, LlrkitError

STANDARD_INPUT = "-"
_COPIES = "llrkit.copies"
"""Where the context of a command keeps which pipe each copy is of."""
WAIT_SECONDS = 5.0
"""How long a pipe may be without a program that writes to it."""
_BLOCK = 1 << 20


def takes_pipes(command: click.Command) -> None:
    """Let a command read ``-`` and pipes wherever it takes the name of a file to be read."""
    call = command.callback
    if call is None or isinstance(command, click.Group):
        return
    inputs = [param.name for param in command.params if param.name in READ]

    @wraps(call)
    def with_copies(*args: object, **given: object) -> object:
        with (
            tempfile.TemporaryDirectory(prefix="llrkit-")
            if _is_any_pipe(given, inputs)
            else _no_copies() as home
        ):
            changed = copied(given, inputs, home)
            try:
                return call(*args, **{**given, **changed})
            except LlrkitError as error:
                error.args = tuple(as_given(arg) if isinstance(arg, str) else arg for arg in error.args)
                raise

    command.callback = with_copies


def as_given(text: str) -> str:
    """A text with pipes as they were given where it names their copies: "standard input", not a path.

    Examples
    --------
    >>> as_given("scores.csv, line 3")
    'scores.csv, line 3'
    """
    context = click.get_current_context(silent=True)
    copies = {} if context is None else context.meta.get(_COPIES, {})
    for copy, given in copies.items():
        text = text.replace(copy, given)
    return text


def _is_any_pipe(given: Mapping[str, object], inputs: Sequence[str]) -> bool:
    return any(_is_pipe(path) for name in inputs for path in paths_in(given.get(name)))


def copied(
    given: Mapping[str, object], inputs: Sequence[str], home: str | None
) -> dict[str, str | tuple[str, ...]]:
    """The arguments that name pipes, with names of copies in the folder ``home``."""
    changed: dict[str, str | tuple[str, ...]] = {}
    if home is None:
        return changed
    used = [path for name in inputs for path in paths_in(given.get(name)) if path == STANDARD_INPUT]
    if len(used) > 1:
        raise InputError("standard input (-) can be read once only; it is given more than once")
    for name in inputs:
        value = given.get(name)
        paths = [_copy_of_pipe(path, Path(home)) if _is_pipe(path) else path for path in paths_in(value)]
        if paths:
            changed[name] = tuple(paths) if isinstance(value, tuple) else paths[0]
    return changed


def _is_pipe(path: str) -> bool:
    if path == STANDARD_INPUT:
        return True
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode)


def _copy_of_pipe(path: str, home: Path) -> str:
    standard = path == STANDARD_INPUT
    copy = home / ("standard input" if standard else f"{len(list(home.iterdir()))}-{Path(path).name}")
    copies = click.get_current_context().meta.setdefault(_COPIES, {})
    copies[str(copy)] = copy.name if standard else path
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


@contextmanager
def _no_copies() -> Iterator[None]:
    yield None
