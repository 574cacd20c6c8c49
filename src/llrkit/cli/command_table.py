"""CommandTable: the commands by name, each imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module

import click

from llrkit.cli.piped_inputs import takes_pipes
from llrkit.cli.read_and_written_paths import guard_inputs
from llrkit.cli.repeated_options import refuses_repeated

MODULES = {
    "demo": "demo",
    "evaluate": "evaluate",
    "spoof": "spoof",
    "differential": "biometrics",
    "identify": "biometrics",
    "calibrate": "calibrate",
    "apply": "apply",
    "case": "case",
    "app": "app",
    "shift": "shift",
    "adapt": "shift",
    "compare": "compare",
    "compare-systems": "compare_systems",
    "fuse": "fuse",
    "diagnose": "diagnose",
    "threshold": "threshold",
    "plot": "plot",
    "report": "report",
    "validate": "validate",
    "convert": "convert",
    "recognize": "recognize",
    "simulate": "simulate_kinds",
    "reproduce": "reproduce",
    "theory": "theory",
}
"""The module of ``llrkit.cli`` in which a command is: ``evaluate_command`` in ``evaluate``, and so on."""


class CommandTable(MutableMapping[str, click.Command]):
    """The commands of the program; one that is not asked for costs nothing.

    Examples
    --------
    >>> table = CommandTable()
    >>> len(table) == len(MODULES)
    True
    >>> table["theory"].name
    'theory'
    """

    def __init__(self) -> None:
        self._known: dict[str, click.Command | None] = dict.fromkeys(MODULES)

    def __getitem__(self, name: str) -> click.Command:
        found = self._known[name]
        if found is None:
            module = import_module(f"llrkit.cli.{MODULES[name]}")
            found = self._known[name] = getattr(module, f"{name.replace('-', '_')}_command")
            _prepare_command(name, found)
        return found

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._known[name] = command

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._known  # without importing it

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def _prepare_command(name: str, command: click.Command) -> None:
    """Give a command, and all commands in it, what every command has."""
    guard_inputs(name, command)
    for one in with_subcommands(command):
        add_common_options(one)


def with_subcommands(command: click.Command) -> Iterator[click.Command]:
    """A command, and every command in it if it is a group."""
    yield command
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            yield from with_subcommands(inner)


def add_common_options(command: click.Command) -> None:
    """Pipes for files, no option twice, and ``--debug``."""
    takes_pipes(command)
    refuses_repeated(command)
    command.params.append(
        click.Option(["--debug"], is_flag=True, expose_value=False, help="Show the traceback of an error.")
    )
