"""The command line as a report quotes it: files by their names, so that no folder of its author is shown."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePath

import click

from llrkit.cli.read_and_written_paths import PATHS

_FULL_PATHS = "llrkit.full_paths"


def _remember_full_paths(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta[_FULL_PATHS] = value


full_paths_option = click.option(
    "--full-paths", is_flag=True, expose_value=False, callback=_remember_full_paths,
    help="Show full paths in the report, as they were typed, instead of file names.",
)  # fmt: skip


def full_paths_wanted() -> bool:
    """Whether the command that runs was told to show paths."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_FULL_PATHS))


def quoted_command(arguments: Sequence[str], program: click.Command, *, full_paths: bool = False) -> str:
    """A command line that can be pasted into a shell in the folder of its files.

    Examples
    --------
    >>> from llrkit.cli import cli
    >>> quoted_command(["report", "/home/me/a b.csv", "--title", "A/B", "-o", "out/report.html"], cli)
    "llrkit report 'a b.csv' --title A/B -o report.html"
    """
    shown = list(arguments) if full_paths else list(_shortened_argument(arguments, program))
    return shlex.join(["llrkit", *shown])


def _shortened_argument(arguments: Sequence[str], command: click.Command) -> Iterator[str]:
    words = iter(arguments)
    for word in words:
        if isinstance(command, click.Group) and word in command.commands:
            command = command.commands[word]
            yield word
        elif not word.startswith("-") or word == "-":
            yield name_of_path(word)
        else:
            option, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
            known = _option_named(command, option)
            takes_path = known is None or known.name in PATHS
            if equals:
                yield f"{option}={name_of_path(value) if takes_path else value}"
            elif known is None and len(word) > 2 and not word.startswith("--"):
                yield word[:2] + name_of_path(word[2:])  # -oFILE
            else:
                yield word
                if known is not None and not known.is_flag:
                    value = next(words, "")
                    yield name_of_path(value) if takes_path else value


def _option_named(command: click.Command, name: str) -> click.Option | None:
    for parameter in command.params:
        if isinstance(parameter, click.Option) and name in parameter.opts:
            return parameter
    return None


def name_of_path(path: str) -> str:
    """The last part of a path; of a folder, with its slash.

    Examples
    --------
    >>> [name_of_path(path) for path in ("/home/me/scores.csv", "../trials/", "a/*.csv", "..")]
    ['scores.csv', 'trials/', '*.csv', '..']
    """
    name = PurePath(path).name
    return name + "/" if name and path.endswith(("/", os.sep)) else name or path
