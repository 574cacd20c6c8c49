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
import json
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields, replace
from functools import cache
from os import PathLike, fspath
from textwrap import indent, wrap
from typing import Any, ClassVar, Literal, Self, TypeVar, cast

from llrkit.base.text import Json
from llrkit.errors import OptionError

Kind = Literal[
    "text", "texts", "name", "names", "column", "columns", "share", "shares", "number", "numbers", "whole",
    "wholes", "flag", "point", "points", "pairs", "seed", "trials", "read", "reads", "write", "folder",
]  # fmt: skip
"""What the values of an option are.

A plural is several of its singular: ``names`` and ``columns`` are typed between commas, the others by giving
the option again, numbers in either way; ``name`` is one, or in Python several. A ``share`` is a number from
0 to 1 that may be typed with a percent sign; a ``point`` is an operating point; ``pairs`` are typed
``NAME=VALUE``. ``read`` and ``write`` are files, ``folder`` is one in which files of fixed names are written;
``trials`` are an object in Python and a file that is read elsewhere. A ``seed`` may be a generator in Python.
"""
BETWEEN_COMMAS = frozenset({"names", "columns"})
REPEATED = frozenset({"texts", "shares", "numbers", "wholes", "points", "pairs", "reads"})
_HELD_AS_TUPLES = BETWEEN_COMMAS | {"name", "texts", "reads"}
_NUMBERS = {
    kind: kind.removesuffix("s") for kind in ("share", "shares", "number", "numbers", "whole", "wholes")
}
FILES_READ = frozenset({"read", "reads", "trials"})
_STRINGS: dict[str, Json] = {"type": "array", "items": {"type": "string"}}
_SHARE: dict[str, Json] = {"type": "number", "minimum": 0, "maximum": 1}
_SCHEMA_TYPES: dict[Kind, dict[str, Json]] = {
    "share": _SHARE,
    "shares": {"type": "array", "items": _SHARE},
    "number": {"type": "number"},
    "numbers": {"type": "array", "items": {"type": "number"}},
    "whole": {"type": "integer"},
    "wholes": {"type": "array", "items": {"type": "integer"}},
    "seed": {"type": "integer"},
    "flag": {"type": "boolean"},
    "pairs": {"type": "object"},
    **dict.fromkeys(("texts", "names", "columns", "points", "reads"), _STRINGS),
}


Job = TypeVar("Job", bound="Options")
F = TypeVar("F", bound=Callable[..., object])


@dataclass(frozen=True, kw_only=True)
class Option:
    """What is declared of an option besides its name, type and default."""

    help: str
    kind: Kind = "text"
    flag: str = ""
    """As it is typed in commands, where that is not ``--`` and its name."""
    label: str = ""
    """What a form calls it; by default its name."""
    short: str = ""
    """One letter that may be typed instead, such as ``-o``."""
    also: tuple[str, ...] = ()
    """Other words that may be typed instead, which other fields use: ``--fmr``."""
    bare: str = ""
    """The value of an option that is typed without one; where it is empty, a value is needed."""
    argument: bool = False
    """Whether a command takes it without its flag, in its place."""
    required: bool = False
    show: Literal["help", "all", "python"] = "help"
    """Whether the help of a command has it, only the whole help has, or only Python has the option."""
    more: str = ""
    """What the documentation of Python says after the help."""
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
    only: tuple[str, ...] = ()
    """Another option, and the words of it with which this one means something."""
    default_text: str = ""
    """The default in words, where its value does not say it."""
    accepts: str = ""
    """The type of what it takes in Python, where its kind does not say it."""


def opt(default: Any, help: str, kind: Kind = "text", **declared: Any) -> Any:  # noqa: A002
    """Declare an option: the field of an :class:`Options` class.

    Examples
    --------
    >>> class ToGreet(Options):
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
    """How an option is typed; what is on by default is typed to turn it off; an argument has a name only."""
    option, off = declared(job)[name], "no-" if is_on(job, name) else ""
    return option.flag or (name.upper() if option.argument else f"--{off}{name.replace('_', '-')}")


def is_on(job: type[Options], name: str) -> bool:
    """Whether an option is a flag that is on unless it is turned off."""
    return declared(job)[name].kind == "flag" and defaults(job)[name] is True


def parameter_of(job: type[Options], name: str) -> str:
    """The name of an option among all those of a command: as it is typed, with underscores."""
    return flag_of(job, name).lstrip("-").replace("-", "_").lower()


def title_of(job: type[Options], name: str) -> str:
    """Under which title an option is shown: that of the class that declares it."""
    return next(one.title for one in job.__mro__ if issubclass(one, Options) and name in one.__annotations__)


class Options:
    """The options of a job, checked when they are made; see :func:`opt`.

    Classes that derive from it are frozen dataclasses, whose methods are written once, here: having Python
    write them for every class would take longer than all else that the help of a command does.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    title: ClassVar[str] = "Options"
    """Under which the help of a command and forms show them."""

    def __init_subclass__(cls, title: str = "") -> None:
        cls.title = title or cls.title
        dataclass(init=False, repr=False, eq=False, match_args=False)(cls)

    def __init__(self, **values: Any) -> None:
        usual = defaults(type(self))
        for name in values:
            if name not in usual:
                raise TypeError(f"{type(self).__name__} has no option {name!r}")
        self.__dict__.update(usual, **values)
        for name, option in declared(type(self)).items():
            value = getattr(self, name)
            if value is None and usual[name] == ():  # in Python, no columns may be None
                self.__dict__[name] = ()
            # defaults are taken as they were declared
            if value is not None and not _is_default(value, usual[name]):
                self.__dict__[name] = self._checked(name, option, value)
            elif option.required and value in (None, "", ()):
                raise self.error("{} is missing", name)
        given = self.given()  # after the checks, which may turn a value into its default
        for name in given:
            option = declared(type(self))[name]
            for other in option.needs:
                if other not in given:
                    raise self.error("{} needs {}", name, other)
            for other in option.against:
                if other in given:
                    raise self.error("{} and {} cannot be combined", name, other)
            if option.only and getattr(self, option.only[0]) not in option.only[1:]:
                words, other = " or ".join(option.only[1:]), getattr(self, option.only[0])
                raise self.error(f"{{}} is for {{}} {words}, not {other}", name, option.only[0])
        self.check()

    def __setattr__(self, name: str, value: object) -> None:
        raise FrozenInstanceError(f"cannot assign to option {name!r}")

    def __repr__(self) -> str:
        values = (f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({', '.join(values)})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def check(self) -> None:
        """Refuse what no single declaration can; a job with such rules defines it."""

    @classmethod
    def of(cls, options: Self | None, changes: Mapping[str, Any]) -> Self:
        """Options with changes, as the keywords of a verb give them."""
        known = declared(cls)
        for name, value in changes.items():
            if name not in known:
                # who knows the command may write its spelling, such as score_column
                typed = {parameter_of(cls, one): one for one in known}
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
        values = ((name, getattr(self, name)) for name in usual)
        return {name: value for name, value in values if not _is_default(value, usual[name])}

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
        if option.kind in _HELD_AS_TUPLES:
            if not isinstance(value, Iterable):
                raise cls.error(f"{{}} is a name, or several, got {_literal(value)}", name)
            held = (value,) if isinstance(value, str) else tuple(value)
            if wrong := [one for one in held if option.choices and one not in option.choices]:
                raise cls._unknown_word(name, wrong[0])
            return held
        if option.kind in _NUMBERS:
            if option.kind in REPEATED:
                several = value if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
                # between commas only where that is shown: elsewhere a comma may be a decimal one
                lists = "," in option.metavar
                parts = (one.split(",") if lists and isinstance(one, str) else (one,) for one in several)
                return tuple(cls._number(name, option, one) for part in parts for one in part)
            return cls._number(name, option, value)
        if option.kind == "pairs":
            return value if isinstance(value, Mapping) else cls._pairs(name, value)
        if option.kind == "flag" and not isinstance(value, bool):
            raise cls.error(f"{{}} must be true or false, got {_literal(value)}", name)
        # generators, which are asked for integers, are NumPy's, which is not imported here
        if option.kind == "seed" and not hasattr(value, "integers"):
            whole = hasattr(value, "__index__") and not isinstance(value, bool)
            if not whole or operator.index(value) < 0:
                accepted = "a generator, or a whole number of at least 0"
                raise cls.error(f"{{}} must be {accepted}, got {_literal(value)}", name)
        if option.choices and value not in (*option.choices, *option.unspoken):
            raise cls._unknown_word(name, value)
        if option.kind == "write" and value == "-" and "-" not in option.metavar:
            raise cls.error("{}: standard output (-) is not taken here; name a file", name)
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
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        kind = _NUMBERS[option.kind]
        whole = kind == "whole"
        # float(True) is a number
        if math.isnan(number) or isinstance(value, bool) or (whole and not number.is_integer()):
            raise cls.error(f"{{}}: {_literal(value)} is not a {'whole ' if whole else ''}number", name)
        low, high = (0.0, 1.0) if kind == "share" else (option.low, option.high)
        if (low is not None and number < low) or (high is not None and number > high):
            one_end = f"at least {low:g}" if high is None else f"at most {high:g}"
            accepted = one_end if None in (low, high) else f"between {low:g} and {high:g}"
            raise cls.error(f"{{}} must be {accepted}, got {_literal(value)}", name)
        return int(number) if whole else number

    @classmethod
    def _pairs(cls, name: str, texts: Iterable[str]) -> dict[str, Json]:
        """``NAME=VALUE`` pairs; values are numbers, true, false or null where they look like it."""
        pairs: dict[str, Json] = {}
        for text in texts:
            key, equals, value = text.partition("=")
            if not (equals and key.isidentifier()):
                raise cls.error(f"{{}} {_literal(text)}: expected NAME=VALUE", name)
            if key in pairs:
                raise cls.error(f"{{}} {key} is given twice; it takes one value", name)
            try:
                pairs[key] = json.loads(value)
            except json.JSONDecodeError:
                pairs[key] = value
        return pairs


def _is_default(value: object, usual: object) -> bool:
    # arrays, tables and generators are compared with nothing
    return value is usual or (type(value) is type(usual) and bool(value == usual))


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
    if option.kind in BETWEEN_COMMAS:
        return tuple(name.strip() for name in text.split(",") if name.strip())
    return text


def typed_options(job: type[Job], typed: Mapping[str, object]) -> Job:
    """The options of a job among what someone typed, by :func:`parameter_of`; all else is left alone.

    Examples
    --------
    >>> class ToGreet(Options):
    ...     whom: tuple[str, ...] = opt((), "Who is greeted.", "names", flag="--people")
    >>> typed_options(ToGreet, {"people": "Ada, Grace", "loud": True})
    ToGreet(whom=('Ada', 'Grace'))
    """
    asked: dict[str, Any] = {}
    for name, option in declared(job).items():
        # what only Python has may be typed under the same name with another meaning
        value = None if option.show == "python" else typed.get(parameter_of(job, name))
        # a flag that was not typed says nothing, also where neither yes nor no is its default
        if value is not None and value != () and not (option.kind == "flag" and value is False):
            asked[name] = from_text(option, value) if isinstance(value, str) else value
            if is_on(job, name):
                asked[name] = not value
    return job(**asked)


def as_typed(options: Options) -> Iterator[tuple[Option, str, list[str]]]:
    """The given options as they are typed: each with its flag and its values; a flag has none."""
    kind = type(options)
    for name, value in options.given().items():
        option = declared(kind)[name]
        if option.show == "python":
            continue
        if option.kind == "flag":
            texts: list[str] = []
        elif option.kind in BETWEEN_COMMAS or (option.kind == "name" and not isinstance(value, str)):
            texts = [",".join(value)]
        elif option.kind == "pairs":
            texts = [
                f"{key}={one if isinstance(one, str) else json.dumps(one)}" for key, one in value.items()
            ]
        else:
            texts = [str(one) for one in (value if option.kind in REPEATED else (value,))]
        yield option, flag_of(kind, name), texts


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


def _described(option: Option) -> str:
    words = " or ".join(f'``"{word}"``' for word in option.choices)
    text = f"{option.help} {option.more}" if option.more else f"{option.help} {words}{'.' if words else ''}"
    return "\n".join(wrap(text.strip(), 98))


def documented(*jobs: type[Options], without: Iterable[str] = ()) -> Callable[[F], F]:
    """Put the options of jobs where the docstring of a function says ``{options}``.

    Examples
    --------
    >>> class ToGreet(Options):
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
