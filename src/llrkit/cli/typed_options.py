"""Options with types: click hands them over by name, and here they become what commands say they take."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, TypedDict, TypeVar

from llrkit.base.text import unchecked

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Command = TypeVar("Command", bound=Callable[..., object])
"""A function that becomes a command."""
Options = TypeVar("Options", bound="DataclassInstance")
"""The options of a command as one object: a frozen dataclass with their names and types."""


class ReadingAsTyped(TypedDict, total=False):
    """What ``reading_options`` and ``cluster_options`` add to a command, which takes them as ``**reading``.

    A command that has some of them only, or ``ids`` as well, takes the same.
    """

    key: str | None
    key_columns: str | None
    key_label_column: str | None
    score_column: str | None
    label_column: str | None
    format: str | None
    columns: str | None
    decimal: str | None
    encoding: str | None
    nontargets: str | None
    positive: str | None
    log10: bool
    distance: bool
    weight_column: str | None
    quality_file: str | None
    missing: str
    missing_scores: str
    where: tuple[str, ...]
    duplicates: str | None
    ids: str | None
    unreadable: str | None
    scheduler: str | None
    workers: int | None


def asking(kind: type[Options]) -> Callable[[Callable[Concatenate[Options, ...], None]], Callable[..., None]]:
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

    def taking(command: Callable[Concatenate[Options, ...], None]) -> Callable[..., None]:
        @wraps(command)
        def run(**options: object) -> None:
            own = {name: options.pop(name) for name in names & options.keys()}
            command(unchecked(kind)(**own), **options)

        return run

    return taking
