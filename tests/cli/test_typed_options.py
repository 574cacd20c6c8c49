"""What click hands over is what the functions of commands say they take, for every option of all commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Literal, Union, get_args, get_origin, get_type_hints

import click
import pytest

from llrkit.cli import cli
from llrkit.cli.read_and_written_paths import leaves

COMMANDS = {" ".join(path): command for path, command in leaves(cli)}


def function_of(command: click.Command) -> Callable[..., object]:
    return inspect.unwrap(command.callback)


def taken_by(function: Callable[..., object]) -> tuple[dict[str, object], set[str]]:
    """The type of everything a command takes by name, and the names it cannot do without."""
    hints, taken, needed = get_type_hints(function), {}, set()
    for name, parameter in inspect.signature(function).parameters.items():
        kind = hints[name]
        if is_dataclass(kind):
            own = get_type_hints(kind)
            taken |= {field.name: own[field.name] for field in fields(kind)}
            needed |= {field.name for field in fields(kind) if field.default is MISSING}
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            several = get_args(kind)  # Unpack[...]
            taken |= get_type_hints(several[0]) if several else {}
        else:
            taken[name] = kind
            needed.add(name)
    return taken, needed


def handed_over(param: click.Parameter) -> object:
    """The type of the value that click makes of an option or argument."""
    if isinstance(param, click.Option) and param.is_flag and param.flag_value is True:
        return bool
    kinds = (
        (click.types.IntParamType, int), (click.types.FloatParamType, float),
        (click.types.BoolParamType, bool),
    )  # fmt: skip
    one: object = str
    if isinstance(param.type, click.Choice):
        one = Literal[tuple(param.type.choices)]
    else:
        for kind, made in kinds:
            if isinstance(param.type, kind):
                one = made
    if getattr(param, "multiple", False) or param.nargs == -1:
        return tuple[one, ...]
    default = param.get_default(click.Context(click.Command("x")))  # None, or a mark that there is none
    may_lack = not param.required and not isinstance(default, (str, int, float))
    return one | None if may_lack else one


def kinds_of(kind: object) -> set[object]:
    """The types that a type is made of; of a choice of words, the words."""
    if get_origin(kind) in (Union, UnionType):
        return {part for one in get_args(kind) for part in kinds_of(one)}
    return set(get_args(kind)) if get_origin(kind) is Literal else {kind}


def accepts(taken: object, given: object) -> bool:
    """Whether a parameter of one type takes every value of another."""
    if get_origin(given) is tuple:
        return get_origin(taken) is tuple and accepts(get_args(taken)[0], get_args(given)[0])
    wide = kinds_of(taken)
    return all(one in wide or (isinstance(one, str) and str in wide) for one in kinds_of(given))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_the_type_that_its_command_says(name):
    command = COMMANDS[name]
    taken, needed = taken_by(function_of(command))
    given = {param.name: handed_over(param) for param in command.params if param.expose_value}
    assert given.keys() - taken.keys() == set(), "options that the function has no type for"
    assert needed - given.keys() == set(), "parameters that no option gives"
    wrong = {
        option: (taken[option], kind) for option, kind in given.items() if not accepts(taken[option], kind)
    }
    assert wrong == {}


def test_a_wrong_type_would_be_seen():
    assert accepts(str | None, Literal["a", "b"])
    assert accepts(Literal["a", "b"], Literal["a"])
    assert not accepts(str, str | None)
    assert not accepts(Literal["a"], Literal["a", "b"])
    assert not accepts(str, tuple[str, ...])
    assert not accepts(tuple[int, ...], tuple[str, ...])
    assert NoneType in kinds_of(int | None)
