"""Options of commands, made from the declarations of jobs: click's parameters, and what was typed."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, TypeVar

import click

from llrkit.base.options import Option, Options, declared, defaults, flag_of, from_text
from llrkit.base.text import Json, unchecked
from llrkit.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from llrkit.theory.operating_points import OperatingPoint

Command = TypeVar("Command", bound=Callable[..., object])
Job = TypeVar("Job", bound=Options)
Asked = TypeVar("Asked", bound="DataclassInstance")
"""The options of a command as one object: a frozen dataclass with their names and types."""
_METAVARS = {"name": "NAME", "names": "NAME,NAME", "share": "SHARE", "whole": "N", "number": "NUMBER",
             "read": "FILE", "write": "FILE", "text": "NAME"}  # fmt: skip


def parameter_of(job: type[Options], name: str) -> str:
    """The name of an option among the parameters of a command: as it is typed, with underscores.

    Examples
    --------
    >>> from llrkit.io.read_options import Reading
    >>> parameter_of(Reading, "score")
    'score_column'
    """
    return flag_of(job, name).lstrip("-").replace("-", "_")


def options_of(job: type[Options], names: Collection[str] | None = None) -> Callable[[Command], Command]:
    """Give a command the options of a job, or some of them.

    One that the command has already, with a meaning of its own, is left alone. Options that are not typed are
    not handed over: their defaults are those of the job.
    """

    def add(command: Command) -> Command:
        own: list[click.Parameter] = command.__dict__.setdefault("__click_params__", [])
        taken = {parameter.name for parameter in own}
        # click shows the options that were added last first
        for name, option in reversed([*declared(job).items()]):
            if (names is None or name in names) and parameter_of(job, name) not in taken:
                own.append(_click_option(job, name, option))
        return command

    return add


def _click_option(job: type[Options], name: str, option: Option) -> click.Option:
    default = defaults(job)[name]
    shown = option.default_text or (default if isinstance(default, (str, int, float)) else "")
    more: dict[str, Any] = {"metavar": option.metavar or _METAVARS.get(option.kind)}
    if option.kind == "flag":
        more = {"is_flag": True}
    elif option.choices:
        more = {"type": click.Choice(option.choices)}
    elif option.kind == "whole":
        more["type"] = click.INT
    elif option.kind == "texts":
        more["multiple"] = True
    if option.kind != "flag" and shown != "":
        more["show_default"] = str(shown)
    repeatable = " Repeatable." if option.kind == "texts" else ""
    return click.Option(
        [flag_of(job, name), parameter_of(job, name)], help=option.help + repeatable, default=None, **more
    )


def typed_options(job: type[Job], typed: Mapping[str, object]) -> Job:
    """The options of a job as someone typed them; other parameters of the command are left alone.

    Examples
    --------
    >>> from llrkit.io.read_options import Reading
    >>> typed_options(Reading, {"columns": "test,score", "score_column": "score", "key": None}).to_dict()
    {'score': ['score'], 'columns': ['test', 'score']}
    """
    asked: dict[str, Any] = {}
    for name, option in declared(job).items():
        value = typed.get(parameter_of(job, name))
        if value is not None and value != ():
            asked[name] = from_text(option, value) if isinstance(value, str) else value
    return job(**asked)


def asking(kind: type[Asked]) -> Callable[[Callable[Concatenate[Asked, ...], None]], Callable[..., None]]:
    """Hand the options of a command that ``kind`` has fields for over as one object, before all others.

    This is the one place where values without types get theirs; that the names and types are those of the
    options, for every command, is tested.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class ToGreet:
    ...     name: str
    ...     loud: bool = False
    >>> @asking(ToGreet)
    ... def greet(asked: ToGreet, times: int) -> None:
    ...     print(asked, times)
    >>> greet(name="you", times=2)
    ToGreet(name='you', loud=False) 2
    """
    names = frozenset(kind.__dataclass_fields__)

    def taking(command: Callable[Concatenate[Asked, ...], None]) -> Callable[..., None]:
        @wraps(command)
        def run(**options: object) -> None:
            own = {name: options.pop(name) for name in names & options.keys()}
            command(unchecked(kind)(**own), **options)

        return run

    return taking


def split_names(text: str | None) -> list[str] | None:
    """Names of columns separated by commas.

    Examples
    --------
    >>> split_names("enroll_speaker, test_speaker")
    ['enroll_speaker', 'test_speaker']
    """
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def parse_options(settings: Sequence[str]) -> dict[str, Json]:
    """``NAME=VALUE`` pairs; values are numbers, true, false or none where they look like it.

    Examples
    --------
    >>> parse_options(["alpha=0.3", "laplace=none"])
    {'alpha': 0.3, 'laplace': 'none'}
    """
    options: dict[str, Json] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not (equals and name.isidentifier()):
            raise InputError(f"--option {setting}: expected NAME=VALUE")
        if name in options:
            raise InputError(f"--option {name} is given twice; it takes one value")
        try:
            options[name] = json.loads(text)
        except json.JSONDecodeError:
            options[name] = text
    return options


def parse_points(texts: Sequence[str]) -> list[OperatingPoint | str]:
    """Operating points as given on the command line."""
    from llrkit.theory.operating_points import point_of_text

    try:
        return [point_of_text(text) or text for text in texts]
    except InputError as error:
        raise InputError(f"--point: {error}") from None


def parse_share(text: str, option: str) -> float:
    """A number that may be written with a percent sign.

    Examples
    --------
    >>> parse_share("5%", "--eer"), parse_share("0.05", "--eer")
    (0.05, 0.05)
    """
    digits = text.strip()
    try:
        return float(digits[:-1]) / 100.0 if digits.endswith("%") else float(digits)
    except ValueError:
        raise InputError(f"{option}: {text!r} is not a number") from None
