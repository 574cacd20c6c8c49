"""One declaration per option: what a field of an Options class says, every surface shows.

A job (evaluate, calibrate, reading a file) declares its options as a frozen dataclass that derives from
:class:`Options`; each field is made by :func:`opt`, which takes its default, its help and its kind. From that
declaration come the options of the command line (``cli/options.py``), the parameters in Python's
documentation (:func:`documented`), the forms of the app and the JSON Schema (:func:`schema`), and every check
of a value. An option that a surface does not know from here does not exist.

This module imports nothing that takes time: the help of a command needs it.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from os import PathLike, fspath
from textwrap import indent, wrap
from typing import Any, Literal, Self, TypeVar, cast

from llrkit.base.text import Json
from llrkit.errors import OptionError

Kind = Literal["text", "name", "names", "texts", "share", "number", "whole", "flag", "read", "write"]
"""What the values of an option are.

``names`` are several names, between commas where they are typed, and ``name`` is one or, in Python, several;
``texts`` may be typed several times; a ``share`` is a number from 0 to 1 that may be typed with a percent
sign; ``read`` and ``write`` are files.
"""
SEVERAL = frozenset({"name", "names", "texts"})
_SCHEMA_TYPES: dict[Kind, dict[str, Json]] = {
    "share": {"type": "number", "minimum": 0, "maximum": 1},
    "number": {"type": "number"},
    "whole": {"type": "integer"},
    "flag": {"type": "boolean"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "names": {"type": "array", "items": {"type": "string"}},
    "name": {"type": "string"},
}


@dataclass(frozen=True, kw_only=True)
class Option:
    """What is declared of an option besides its name, type and default."""

    help: str
    kind: Kind = "text"
    flag: str = ""
    """As it is typed in commands, where that is not ``--`` and its name."""
    metavar: str = ""
    """What stands for the value in the help of a command; by default its kind says it."""
    choices: tuple[str, ...] = ()
    """The words it takes."""
    unspoken: tuple[str, ...] = ()
    """Further words that only code of ours gives."""
    low: float | None = None
    high: float | None = None
    needs: tuple[str, ...] = ()
    """Other options of the job without which this one says nothing."""
    against: tuple[str, ...] = ()
    """Other options of the job that contradict this one."""
    default_text: str = ""
    """The default in words, where its value does not say it."""
    accepts: str = ""
    """The type of what it takes in Python, where its kind does not say it."""


def opt(default: Any, help: str, kind: Kind = "text", **declared: Any) -> Any:  # noqa: A002
    """Declare an option: the field of an :class:`Options` class.

    Examples
    --------
    >>> @dataclass(frozen=True, kw_only=True)
    ... class ToGreet(Options):
    ...     name: str = opt("you", "Who is greeted.")
    ...     loudness: float = opt(0.5, "How loud.", "share")
    ...     echo: int = opt(0, "How often it comes back.", "whole", low=0, needs=("name",))
    >>> ToGreet(loudness="80%").given()
    {'loudness': 0.8}
    >>> ToGreet.of(None, {"echo": 2})
    Traceback (most recent call last):
    llrkit.errors.OptionError: echo needs name
    >>> ToGreet.of(None, {"loudnes": 0.1})
    Traceback (most recent call last):
    llrkit.errors.OptionError: there is no option 'loudnes'; did you mean 'loudness'?
    """
    return field(default=default, metadata={"option": Option(help=help, kind=kind, **declared)})


def _declared(job: type[Options]) -> Mapping[str, Option]:
    return {item.name: item.metadata["option"] for item in fields(job)}


def _defaults(job: type[Options]) -> Mapping[str, Any]:
    return {item.name: None if item.default is MISSING else item.default for item in fields(job)}


# options are made with every call of a verb, and what is declared does not change
declared = cast("Callable[[type[Options]], Mapping[str, Option]]", cache(_declared))
"""The options of a job by name, in the order of their declaration."""
defaults = cast("Callable[[type[Options]], Mapping[str, Any]]", cache(_defaults))
"""The default of each option of a job; an option without one must be given."""


def flag_of(job: type[Options], name: str) -> str:
    """How an option is typed in a command."""
    return declared(job)[name].flag or "--" + name.replace("_", "-")


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a job, checked when they are made; see :func:`opt`."""

    def __post_init__(self) -> None:
        for name, option in declared(type(self)).items():
            value = getattr(self, name)
            # defaults are taken as they were declared
            if value is not None and value != defaults(type(self))[name]:
                object.__setattr__(self, name, self._checked(name, option, value))
        given = self.given()  # after the checks, which may turn a value into its default
        for name in given:
            option = declared(type(self))[name]
            for other in option.needs:
                if other not in given:
                    raise self.error("{} needs {}", name, other)
            for other in option.against:
                if other in given:
                    raise self.error("{} and {} cannot be combined", name, other)
        self.check()

    def check(self) -> None:
        """Refuse what no single declaration can; a job with such rules defines it."""

    @classmethod
    def of(cls, options: Self | None, changes: Mapping[str, Any]) -> Self:
        """Options with changes, as the keywords of a verb give them."""
        known = declared(cls)
        for name, value in changes.items():
            if name not in known:
                # who knows the command may write its spelling, such as score_column
                typed = {flag_of(cls, one).strip("-").replace("-", "_"): one for one in known}
                near = [typed[name]] if name in typed else difflib.get_close_matches(name, known, 1)
                there = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
                raise OptionError(f"there is no option {name!r}; {there}")
            if value in known[name].unspoken:  # keywords of a verb come from users
                raise cls._unknown_word(name, value)
        return replace(options, **changes) if options is not None else cls(**changes)

    @classmethod
    def error(cls, template: str, *names: str) -> OptionError:
        """An error about options, which each surface spells in its own way: ``{}`` stands for each name."""
        return OptionError(template.format(*names), template.format(*(flag_of(cls, name) for name in names)))

    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        usual = defaults(type(self))
        return {name: value for name in declared(type(self)) if (value := getattr(self, name)) != usual[name]}

    def to_dict(self) -> dict[str, Json]:
        """The given options as JSON has them; :meth:`of` takes them back."""
        return {
            name: list(value)
            if isinstance(value, tuple)
            else fspath(value)
            if isinstance(value, PathLike)
            else value
            for name, value in self.given().items()
        }

    @classmethod
    def _checked(cls, name: str, option: Option, value: Any) -> Any:
        """A value as the field holds it, or an error that says what is accepted."""
        if option.kind in SEVERAL:
            return (value,) if isinstance(value, str) else tuple(value)
        if option.kind in ("share", "number", "whole"):
            return cls._number(name, option, value)
        if option.kind == "flag" and not isinstance(value, bool):
            raise cls.error(f"{{}} must be true or false, got {_literal(value)}", name)
        if option.choices and value not in (*option.choices, *option.unspoken):
            raise cls._unknown_word(name, value)
        return value

    @classmethod
    def _unknown_word(cls, name: str, value: object) -> OptionError:
        words = ", ".join(declared(cls)[name].choices)
        return cls.error(f"{{}}={_literal(value)}: expected one of {words}", name)

    @classmethod
    def _number(cls, name: str, option: Option, value: Any) -> float:
        text = value.strip() if isinstance(value, str) else ""
        try:
            number = float(text[:-1]) / 100.0 if text.endswith("%") else float(value)
        except (TypeError, ValueError):
            number = math.nan
        whole = option.kind == "whole"
        # float(True) is a number
        if math.isnan(number) or isinstance(value, bool) or (whole and not number.is_integer()):
            raise cls.error(f"{{}}: {_literal(value)} is not a {'whole ' if whole else ''}number", name)
        low, high = (0.0, 1.0) if option.kind == "share" else (option.low, option.high)
        if (low is not None and number < low) or (high is not None and number > high):
            one_end = f"at least {low:g}" if high is None else f"at most {high:g}"
            accepted = one_end if None in (low, high) else f"between {low:g} and {high:g}"
            raise cls.error(f"{{}} must be {accepted}, got {_literal(value)}", name)
        return int(number) if whole else number


def _literal(value: object) -> str:
    """A value in a template: its braces are no places for names."""
    return repr(value).replace("{", "{{").replace("}", "}}")


def from_text(option: Option, text: str) -> Any:
    """What someone typed, as a value; what it may be is checked when the options are made.

    Examples
    --------
    >>> from_text(Option(help="", kind="names"), "enroll_speaker, test_speaker")
    ('enroll_speaker', 'test_speaker')
    """
    if option.kind == "names":
        return tuple(name.strip() for name in text.split(",") if name.strip())
    return text


def schema(job: type[Options]) -> dict[str, Json]:
    """The JSON Schema of the options of a job, for editors of study files."""
    properties: dict[str, Json] = {}
    for name, option in declared(job).items():
        kind = {"enum": list(option.choices)} if option.choices else _SCHEMA_TYPES.get(option.kind)
        default = defaults(job)[name]
        properties[name] = {
            **(kind or {"type": "string"}),
            "description": option.help,
            **({} if default in (None, ()) else {"default": default}),
        }
    return {"type": "object", "additionalProperties": False, "properties": properties}


F = TypeVar("F", bound=Callable[..., object])


def _described(option: Option) -> str:
    words = " or ".join(f'``"{word}"``' for word in option.choices)
    return "\n".join(wrap(f"{option.help} {words}".strip() + ("." if words else ""), 98))


def documented(*jobs: type[Options], without: Iterable[str] = ()) -> Callable[[F], F]:
    """Put the options of jobs where the docstring of a function says ``{options}``.

    Examples
    --------
    >>> @dataclass(frozen=True, kw_only=True)
    ... class ToGreet(Options):
    ...     name: str = opt("you", "Who is greeted.")
    >>> @documented(ToGreet)
    ... def greet(**changes):
    ...     '''Greet someone.
    ...
    ...     Parameters
    ...     ----------
    ...     {options}
    ...     '''
    >>> from inspect import getdoc
    >>> getdoc(greet)
    'Greet someone.\\n\\nParameters\\n----------\\nname\\n    Who is greeted.'
    """

    def fill(function: F) -> F:
        if function.__doc__:  # there is none with python -OO
            before, found, after = function.__doc__.partition("{options}")
            margin = before[before.rfind("\n") + 1 :] if found else ""
            entries = [
                f"{name}\n{indent(_described(option), f'{margin}    ')}"
                for job in jobs
                for name, option in declared(job).items()
                if name not in without
            ]
            function.__doc__ = before + f"\n{margin}".join(entries) + after
        return function

    return fill
