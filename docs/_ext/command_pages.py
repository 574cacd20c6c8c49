"""The pages of the command line, written from the commands themselves."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from llrkit.cli import cli

EVERYWHERE = 12
"""An option of at least so many commands is described once, on the page of common options."""


def commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    """Every command by its full name, groups before their commands."""
    for name, command in sorted(group.commands.items()):
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


def _context(path: str, command: click.Command) -> click.Context:
    return click.Context(command, info_name=path, max_content_width=100, terminal_width=100)


def _cell(text: str) -> str:
    for sign in "\\`*_<>|$[]":
        text = text.replace(sign, "\\" + sign)
    return " ".join(text.split())


def _described_options(records: list[tuple[str, str]]) -> list[str]:
    return [line for flag, text in records for line in (_code(flag), f": {_cell(text)}", "")]


def _code(flag: str) -> str:
    return f"`{flag}`"


def records(path: str, command: click.Command) -> list[tuple[str, str]]:
    """Flags and texts of a command's options, as its help prints them."""
    context = _context(path, command)
    shown = (option.get_help_record(context) for option in command.get_params(context))
    return [record for record in shown if record and record[1]]


def _described(command: click.Command) -> list[str]:
    """The help text: paragraphs, and what stands after a form feed as it is."""
    lines, verbatim = [], False
    for paragraph in (command.help or "").split("\n\n"):
        verbatim = "\b" in paragraph
        text = paragraph.replace("\b\n", "").replace("\b", "").strip("\n")
        if verbatim:
            first, _, rest = text.partition("\n")
            is_title = first.rstrip().endswith(":") and rest
            body = [line.strip() for line in (rest if is_title else text).splitlines()]
            lines += ([_cell(first), ""] if is_title else []) + ["```text", *body, "```", ""]
        else:
            lines += [_cell(text), ""]
    return lines


def _page(path: str, command: click.Command, common: set[tuple[str, str]]) -> str:
    usage = command.get_usage(_context(path, command)).removeprefix("Usage: ")
    lines = [f"# {path}", "", *_described(command)]
    lines += ["## Usage", "", "```text", " ".join(usage.split()), "```", ""]
    found = records(path, command)
    if own := [record for record in found if record not in common]:
        lines += ["## Options", "", *_described_options(own)]
    if shared := [record for record in found if record in common]:
        flags = ", ".join(_code(flag.split(" ")[0].rstrip(",")) for flag, _ in shared)
        lines += ["## Common options", "", f"Described on [one page](common-options.md): {flags}.", ""]
    if isinstance(command, click.Group):
        lines += ["## Commands", ""]
        lines += [f"- [{path} {name}]({_stem(f'{path} {name}')}.md)" for name in sorted(command.commands)]
    return "\n".join(lines)


def _stem(path: str) -> str:
    return path.removeprefix("llrkit ").replace(" ", "-")


def write_command_pages(folder: Path, *, only: Sequence[str] | None = None) -> None:
    """Write a page for each command, or some, one for the options most of them share, and ``index.md``."""
    folder.mkdir(parents=True, exist_ok=True)
    every = list(commands(cli, "llrkit"))
    counts: dict[tuple[str, str], int] = {}
    for path, command in every:
        for record in records(path, command):
            counts[record] = counts.get(record, 0) + 1
    common = {record for record, count in counts.items() if count >= EVERYWHERE}
    if only is not None:
        every = [(path, command) for path, command in every if path in only]
    for path, command in every:
        (folder / f"{_stem(path)}.md").write_text(_page(path, command, common), encoding="utf-8")
    shared = ["# Common options", "", "Options that most commands have.", ""]
    shared += _described_options([record for record in counts if record in common])
    (folder / "common-options.md").write_text("\n".join(shared), encoding="utf-8")
    lines = ["# Command line", "", "Every command, as `llrkit COMMAND --help` describes it.", ""]
    lines += ["| command | what it does |", "|---|---|"]
    for path, command in every:
        lines.append(f"| [{path}]({_stem(path)}.md) | {_cell(command.get_short_help_str(200))} |")
    stems = "\n".join(["common-options", *(_stem(path) for path, _ in every)])
    lines += ["", f"```{{toctree}}\n:hidden:\n\n{stems}\n```", ""]
    (folder / "index.md").write_text("\n".join(lines), encoding="utf-8")
