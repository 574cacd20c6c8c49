"""Numbers of several results as a table: rows are results, columns are what to take from each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from llrkit._format import number
from llrkit.errors import InputError
from llrkit.scores.roles import require_column

R = TypeVar("R")
T = TypeVar("T")
Column = tuple[str, str, Callable[[R], float], Callable[[float], str]]
"""Its name in the JSON, its title, the number of a result, and how that is shown."""
ALL = "all"
"""The row of all trials, above those of groups or classes."""


@dataclass(frozen=True)
class Table:
    """A table: the names of its rows, and for each column a key, a title, values and how they are shown."""

    row_title: str
    names: tuple[str, ...]
    keys: tuple[str, ...]
    titles: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    """One tuple for each row."""
    texts: tuple[tuple[str, ...], ...]
    caption: str = ""

    def choose(self, columns: Sequence[str]) -> Table:
        """The same table with these columns only, by key or title, in this order.

        Examples
        --------
        >>> table = table_of({"a": 0.5}, [("x", "x (%)", lambda value: value, rate)], row_title="name")
        >>> table.choose(["x"]).titles
        ('x (%)',)
        """
        places = []
        for name in columns:
            found = [i for i, pair in enumerate(zip(self.keys, self.titles, strict=True)) if name in pair]
            if not found:
                require_column(name, self.keys)
            places.append(found[0])

        def chosen(row: tuple[T, ...]) -> tuple[T, ...]:
            return tuple(row[i] for i in places)

        return replace(
            self,
            keys=chosen(self.keys),
            titles=chosen(self.titles),
            values=tuple(map(chosen, self.values)),
            texts=tuple(map(chosen, self.texts)),
        )


def table_of(
    results: Mapping[str, R], columns: Sequence[Column[R]], *, row_title: str, caption: str = ""
) -> Table:
    """One row for each result.

    Examples
    --------
    >>> table_of({"a": 0.5}, [("x", "x (%)", lambda value: value, rate)], row_title="name").texts
    (('50.00',),)
    """
    values = tuple(tuple(float(of(result)) for _, _, of, _ in columns) for result in results.values())
    return Table(
        row_title,
        tuple(map(str, results)),
        tuple(key for key, *_ in columns),
        tuple(title for _, title, *_ in columns),
        values,
        tuple(tuple(show(v) for (*_, show), v in zip(columns, row, strict=True)) for row in values),
        caption,
    )


def of_one_kind(results: Any, kind: type[R], wanted: str) -> Mapping[str, R]:
    """The results if they are named and all of a kind."""
    if not isinstance(results, Mapping) or not results:
        raise InputError(wanted)
    for name, value in results.items():
        if not isinstance(value, kind):
            raise InputError(f"{name!r}: expected {_article(kind.__name__)}, got {type(value).__name__}")
    return results


def _article(word: str) -> str:
    return f"an {word}" if word[0] in "AEIOU" else f"a {word}"


def whole_number(value: float) -> str:
    """A count."""
    return f"{value:,.0f}"


def rate(value: float) -> str:
    """A rate in percent, without the sign."""
    return number(100.0 * value, 2)
