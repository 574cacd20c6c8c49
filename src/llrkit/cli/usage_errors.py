"""Wrong options, arguments and commands in one line: what was wrong, what was meant, what is accepted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import click

from llrkit.base.text import did_you_mean, not_among

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
        return f"no such command {not_among(found[1], commands, '; there are ')}"
    param = error.param if isinstance(error, click.BadParameter) else None
    chosen = _NO_CHOICE.match(error.message)
    if param is not None and chosen and isinstance(param.type, click.Choice):
        choices = [str(choice) for choice in param.type.choices]
        return f"{_name(param)}: {not_among(chosen[1], choices, ': expected one of ')}"
    text = text.strip().removesuffix(".").replace("a valid integer range", "a whole number")
    text = text.replace("a valid float range", "a number").replace("a valid integer", "a whole number")
    return f"{text[:1].lower()}{text[1:]}{see}"


def _name(param: click.Parameter) -> str:
    """An option by its longest name, an argument as the help calls it."""
    return max(param.opts, key=len) if isinstance(param, click.Option) else param.human_readable_name
