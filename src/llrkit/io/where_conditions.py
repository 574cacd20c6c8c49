"""Which trials are wanted: conditions such as ``seconds >= 5``, parsed and never evaluated as code."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_, or_

import numpy as np
import polars as pl
from numpy.typing import NDArray

from llrkit._arrays import Array, BoolArray
from llrkit.core.column_values import truth_of
from llrkit.errors import InputError
from llrkit.io.trial_table import Scan, TrialTable
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived_sources import DerivedSource
from llrkit.scores.roles import require_column

_CONDITION = re.compile(
    r"""\s*(?:"(?P<quoted>[^"]+)"|(?P<plain>.+?))\s*(?P<op>==|!=|<=|>=|=|<|>|\bnot\s+in\b|\bin\b)\s*(?P<value>.*?)\s*$"""
)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_SHOWN, _LOOKED_AT = 3, 10_000
"""So many values are shown of a column in which none was found, from among so many of its first rows."""
ACCEPTED = 'COLUMN OP VALUE with OP one of = != < <= > >=, or "in" and "not in" with VALUE,VALUE'


@dataclass(frozen=True)
class Condition:
    """One comparison of a column with a value, or with several.

    Numbers are compared as numbers, also where a text file holds them, text as text; ``<`` and its like need
    numbers. A missing value satisfies no condition. Quotation marks keep a value together.

    Examples
    --------
    >>> Condition.parse("seconds >= 5")
    Condition(column='seconds', op='>=', values=('5',))
    >>> Condition.parse('room not in "the hall", kitchen').values
    ('the hall', 'kitchen')
    >>> Condition.parse("seconds")
    Traceback (most recent call last):
    llrkit.errors.InputError: --where 'seconds': expected COLUMN OP VALUE with OP one of = != < <= > >=, ...
    """

    column: str
    op: str
    values: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Condition:
        """From text; whatever is not a comparison is refused."""
        found = _CONDITION.match(text) if isinstance(text, str) else None
        if found is None or not found["value"]:
            raise InputError(f"--where {text!r}: expected {ACCEPTED}")
        op = " ".join(found["op"].split())
        several = op in ("in", "not in")
        values = (
            re.findall(r"""\s*("[^"]*"|'[^']*'|[^,]+)""", found["value"]) if several else [found["value"]]
        )
        unquoted = tuple(_unquoted_value(value.strip()) for value in values)
        return cls(found["quoted"] or found["plain"], "=" if op == "==" else op, unquoted)

    def holds(self, column: pl.Series) -> pl.Series:
        """For each value of a column whether it satisfies the condition."""
        if column.dtype.is_float():
            column = column.fill_nan(None)
        if column.dtype == pl.Boolean:
            wanted: list[bool] | list[float] = [self._truth(value) for value in self.values]
        elif column.dtype.is_numeric():
            wanted = [self._number(value) for value in self.values]
        elif self.op in ("<", "<=", ">", ">="):
            column, wanted = self._as_numbers(column), [self._number(self.values[0])]
        else:
            return self._text_holds(column.cast(pl.String))
        found: pl.Series
        match self.op:
            case "=" | "in":
                found = reduce(or_, (column == value for value in wanted))
            case "!=" | "not in":
                found = ~reduce(or_, (column == value for value in wanted))
            case "<":
                found = column < wanted[0]
            case "<=":
                found = column <= wanted[0]
            case ">":
                found = column > wanted[0]
            case _:
                found = column >= wanted[0]
        return found.fill_null(value=False) & column.is_not_null()

    def _text_holds(self, column: pl.Series) -> pl.Series:
        """Of text, which is what every column of a text file is: a number equals every way to write it."""
        found = reduce(or_, (column == value for value in self.values))
        for value in self.values:
            if value.lower() in ("true", "false"):
                found |= column.str.to_lowercase() == value.lower()
            elif _NUMBER.fullmatch(value):
                found |= column.cast(pl.Float64, strict=False).fill_null(float("nan")) == float(value)
        wanted = found.fill_null(value=False)
        return (wanted if self.op in ("=", "in") else ~wanted) & column.is_not_null()

    def _number(self, value: str) -> float:
        try:
            number = int(value) if value.lstrip("+-").isdecimal() else float(value)
            if math.isnan(number):  # nothing is above, below or equal to it
                raise ValueError
            return number
        except ValueError:
            raise InputError(
                f"--where {self}: the column {self.column!r} is compared with numbers, got {value!r}"
            ) from None

    def _truth(self, value: str) -> bool:
        truth = truth_of(value)
        if truth is None or self.op not in ("=", "!=", "in", "not in"):
            raise InputError(f"--where {self}: the column {self.column!r} is true or false")
        return truth

    def _as_numbers(self, column: pl.Series) -> pl.Series:
        text = column.cast(pl.String)
        numbers = text.cast(pl.Float64, strict=False)
        bad = text.filter(numbers.is_null() & text.is_not_null())
        if len(bad):
            raise InputError(f"--where {self}: the column {self.column!r} holds text ({bad[0]!r})")
        return numbers

    def __str__(self) -> str:
        return repr(f"{self.column} {self.op} {', '.join(self.values)}")


@dataclass(frozen=True)
class Where:
    """Conditions that must all hold.

    Examples
    --------
    >>> where = Where.parse(["room = a", "seconds > 5"])
    >>> table = pl.DataFrame({"room": ["a", "a", "b"], "seconds": [3, 9, 9]})
    >>> where.mask(table).to_list()
    [False, True, False]
    """

    conditions: tuple[Condition, ...]

    @classmethod
    def parse(cls, texts: Sequence[str]) -> Where:
        """From the texts of all conditions."""
        return cls(tuple(Condition.parse(text) for text in texts))

    @property
    def columns(self) -> list[str]:
        """The columns that are looked at."""
        return list(dict.fromkeys(condition.column for condition in self.conditions))

    def mask(self, table: pl.DataFrame) -> pl.Series:
        """Which rows satisfy all conditions."""
        return reduce(and_, (condition.holds(table[condition.column]) for condition in self.conditions))

    def of_table(self, trials: TrialTable) -> TrialTable:
        """The rows of a table that satisfy all conditions; none at all is an error."""
        self._require(trials)
        kept = trials.only(self.mask(trials.table))
        if kept.table.is_empty():
            raise self._nothing_left(trials.file, self._values(trials.table))
        return kept

    def of_scan(self, scan: Scan) -> Scan:
        """The rows of a file that satisfy all conditions, batch by batch."""
        self._require(scan.like)

        def read(wanted: Sequence[str]) -> Iterator[TrialTable]:
            n_rows, values = 0, ""
            for batch in scan.read([*dict.fromkeys([*wanted, *self.columns])]):
                kept = batch.only(self.mask(batch.table))
                n_rows += kept.table.height
                values = values or self._values(batch.table)
                yield replace(kept, table=kept.table.select(wanted))
            if n_rows == 0:
                raise self._nothing_left(scan.like.file, values)

        return Scan(scan.like, read, in_memory=scan.in_memory)

    def of_source(self, source: ScoreSource) -> ScoreSource:
        """The trials of a source that satisfy all conditions, chunk by chunk, wherever chunks are made."""
        return DerivedSource(source, self._select, tuple(self.columns))

    def _select(self, chunk: Scores) -> Scores:
        return chunk.select(*(self._of_class(chunk, class_index) for class_index in (0, 1)))

    def _of_class(self, chunk: Scores, class_index: int) -> BoolArray:
        kept = np.ones(chunk.n_nontarget if class_index else chunk.n_target, dtype=bool)
        for condition in self.conditions:
            values, names = (
                chunk.columns[condition.column][class_index],
                chunk.categories.get(condition.column),
            )
            if names is None:
                kept &= condition.holds(pl.Series(values)).to_numpy()
            elif len(values):  # codes of names
                kept &= condition.holds(pl.Series(list(names), strict=False)).to_numpy()[values]
        return kept

    def _require(self, trials: TrialTable) -> None:
        for name in self.columns:
            require_column(name, trials.table.columns, f"{trials.file}: --where")

    def _nothing_left(self, file: str, values: str) -> InputError:
        asked = " and ".join(map(str, self.conditions))
        return InputError(f"{file}: no trial satisfies --where {asked}{values}")

    def _values(self, table: pl.DataFrame) -> str:
        """What the columns begin with, for who asked for "true" and has 1.0."""
        shown = ""
        for name in self.columns:
            values = table[name].head(_LOOKED_AT).drop_nulls().unique(maintain_order=True).head(_SHOWN)
            if len(values):
                shown += f"; the first values of {name!r} are {', '.join(map(_short_value, values))}"
        return shown


def rows_where(
    columns: Mapping[str, Sequence[object] | Array], texts: Sequence[str], file: str
) -> NDArray[np.intp]:
    """Which rows of some columns satisfy all conditions; none at all is an error.

    Examples
    --------
    >>> rows_where({"split": ["dev", "eval", "dev"]}, ["split = dev"], "x.npz")
    array([0, 2])
    """
    conditions = Where.parse(texts)
    for name in conditions.columns:
        require_column(name, list(columns), f"{file}: --where")
    table = pl.DataFrame({name: np.asarray(columns[name]) for name in conditions.columns})
    rows = np.flatnonzero(conditions.mask(table).to_numpy())
    if len(rows) == 0:
        raise InputError(f"{file}: no utterance satisfies --where {' and '.join(texts)}")
    return rows


def _unquoted_value(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def _short_value(value: object) -> str:
    """A value as it could be typed, or its beginning."""
    text = repr(value)
    return text if len(text) <= 30 else f"{text[:27]}..."
