"""An option that takes one value is given once: of two values, one would be dropped without a word."""

from __future__ import annotations

from collections import Counter

import click

from llrkit.errors import InputError


def refuses_repeated(command: click.Command) -> None:
    """Let a command refuse an option that is given more than once and takes one value."""
    parse = command.parse_args

    def parse_once(context: click.Context, args: list[str]) -> list[str]:
        if not context.resilient_parsing:
            try:
                _, _, order = command.make_parser(context).parse_args(list(args))
            except click.UsageError as error:
                error.ctx = error.ctx or context
                raise
            for option, n in Counter(order).items():
                if n > 1 and _takes_one_value(option):
                    name = max(option.opts, key=len)
                    raise InputError(f"{name} is given {_times_given(n)}; it takes one value")
        return parse(context, args)

    command.parse_args = parse_once  # type: ignore[method-assign, assignment]


def _takes_one_value(option: click.Parameter) -> bool:
    """Whether a second value would replace the first; a flag that is set twice is set."""
    if not isinstance(option, click.Option) or option.multiple or option.count:
        return False
    return not option.is_flag or bool(option.secondary_opts)


def _times_given(n: int) -> str:
    return "twice" if n == 2 else f"{n} times"
