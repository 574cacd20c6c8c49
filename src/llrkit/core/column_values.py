"""The values of a column: what they are, where each of them is, and the trials that have one."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from llrkit._arrays import Array, BoolArray, IntArray
from llrkit.core.summary_algebra import SummaryBase
from llrkit.errors import InputError
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived_sources import DerivedSource

By: TypeAlias = str | Sequence[str]
"""A column whose values are groups, or several whose combinations are."""
_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def plain_value(value: Hashable) -> Hashable:
    """A value as a plain Python one; a missing number is a missing value."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and math.isnan(value) else value


def truth_of(value: object) -> bool | None:
    """What a value of a column of true and false says, also in words; None if it is none.

    Examples
    --------
    >>> [truth_of(value) for value in (True, "No", "1", "maybe")]
    [True, False, True, None]
    """
    return _TRUTH.get(str(value).lower())


def columns_of(by: By) -> tuple[str, ...]:
    """One or several names of columns as several.

    Examples
    --------
    >>> columns_of("room"), columns_of(["room", "noise"])
    (('room',), ('room', 'noise'))
    """
    names = (by,) if isinstance(by, str) else tuple(by)
    if not names or len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
        raise InputError(f"by is the name of a column, or several different ones, got {by!r}")
    return names


def natural_order(value: object) -> tuple[object, ...]:
    """A key to sort values by: numbers by size, words with the numbers in them by size, missing ones last.

    Examples
    --------
    >>> sorted(["10 s", None, "3 s", "100 s"], key=natural_order)
    ['3 s', '10 s', '100 s', None]
    >>> sorted([30, 3.5, True, "a"], key=natural_order)
    [True, 3.5, 30, 'a']
    """
    if isinstance(value, tuple):
        return (2, tuple(map(natural_order, value)))
    if value is None:
        return (3,)
    if isinstance(value, (bool, int, float)):
        return (0, value)
    if not isinstance(value, str):
        return (1, ((2, 0, str(value)),), str(type(value)))
    pieces = re.split(r"(\d+(?:\.\d+)?)", value)
    return (1, tuple((0, float(p), "") if i % 2 else (1, 0, p) for i, p in enumerate(pieces) if p), value)


def decoded(chunk: Scores, column: str, class_index: int) -> Array:
    """A column of one class of a chunk (0: targets, 1: non-targets) with values in place of codes."""
    codes = chunk.columns[column][class_index]
    names = chunk.categories.get(column)
    return codes if names is None else np.asarray(names, dtype=object)[codes]


def positions_by_value(values: Array) -> dict[Hashable, IntArray]:
    """Where each value is.

    Examples
    --------
    >>> positions_by_value(np.array(["b", "a", "b"]))
    {'a': array([1]), 'b': array([0, 2])}
    """
    if values.dtype.kind in "biufUS":
        distinct, codes = np.unique(values, return_inverse=True)
        keys = [plain_value(value) for value in distinct]
    else:
        seen: dict[Hashable, int] = {}
        codes = np.fromiter(
            (seen.setdefault(plain_value(v), len(seen)) for v in values), np.intp, len(values)
        )
        keys = list(seen)
    return dict(zip(keys, _positions_in_column(codes, len(keys)), strict=True)) if len(values) else {}


def positions_by_name(column: Array, names: tuple[Hashable, ...] | None) -> dict[Hashable, IntArray]:
    """Where each value is in a column of values, or of codes where there are names.

    Examples
    --------
    >>> positions_by_name(np.array([1, 0, 1]), ("a", "b"))
    {'a': array([1]), 'b': array([0, 2])}
    """
    if names is None:
        return positions_by_value(column)
    return {plain_value(names[code]): at for code, at in positions_by_code(column).items()}


def positions_by_code(codes: IntArray) -> dict[int, IntArray]:
    """Where each of some whole numbers is."""
    distinct, places = np.unique(codes, return_inverse=True)
    return (
        dict(zip(distinct.tolist(), _positions_in_column(places, len(distinct)), strict=True))
        if len(codes)
        else {}
    )


def _positions_in_column(codes: IntArray, n: int) -> list[IntArray]:
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.searchsorted(codes[order], np.arange(1, n)))


def trials_with_values(source: ScoreSource, columns: Sequence[str], values: Sequence[object]) -> ScoreSource:
    """The trials of a source that have these values in several columns."""
    for column, value in zip(columns, values, strict=True):
        source = trials_with_value(source, column, value)
    return source


def trials_with_value(source: ScoreSource, column: str, value: object) -> DerivedSource:
    """The trials of a source that have one value in a column.

    Examples
    --------
    >>> scores = Scores([1.0, 4.0], [0.0, 2.0], {"room": (["a", "b"], ["b", "b"])})
    >>> trials_with_value(scores, "room", "b").reduce(lambda chunk: ValueCounts.of(chunk, "room")).counts
    {'b': (1, 2)}
    """

    def select_value(chunk: Scores) -> Scores:
        names = chunk.categories.get(column)
        return chunk.select(*(_has_value(values, value, names) for values in chunk.columns[column]))

    return DerivedSource(source, select_value, (column,))


def _has_value(values: Array, value: object, names: tuple[Hashable, ...] | None) -> BoolArray:
    """Which trials have a value, of a column of values or of codes for the names."""
    if names is not None:
        codes = [code for code, name in enumerate(names) if plain_value(name) == value]
        return np.isin(values, codes)
    return np.asarray(np.isnan(values) if value is None else values == value)


@dataclass(frozen=True, eq=False)
class ValueCounts(SummaryBase):
    """How many targets and non-targets have each value, in one or more columns."""

    counts: dict[Hashable, tuple[float, float]]

    @classmethod
    def of(cls, chunk: Scores, *columns: str) -> ValueCounts:
        """Counts of a chunk."""
        total: dict[Hashable, list[float]] = {}
        for column in columns:
            names = chunk.categories.get(column)
            for class_index in (0, 1):
                values, counts = _distinct_values(chunk.columns[column][class_index])
                for key, n in zip(_keys_of_values(values, names), counts.tolist(), strict=True):
                    total.setdefault(key, [0, 0])[class_index] += n
        return cls({key: (t, n) for key, (t, n) in total.items()})

    def __add__(self, other: ValueCounts) -> ValueCounts:
        merged = dict(self.counts)
        for key, (t, n) in other.counts.items():
            have = merged.get(key, (0, 0))
            merged[key] = (have[0] + t, have[1] + n)
        return ValueCounts(merged)

    def __mul__(self, weight: float) -> ValueCounts:
        return ValueCounts({key: (t * weight, n * weight) for key, (t, n) in self.counts.items()})


def numbered(chunk: Scores, name: str, class_index: int, number_of: Mapping[Hashable, int]) -> IntArray:
    """A column of one class of a chunk (0: targets, 1: non-targets) with a number for each value.

    Examples
    --------
    >>> scores = Scores([1.0, 2.0], [0.0], {"who": (["b", "a"], ["b"])})
    >>> numbered(scores, "who", 0, {"a": 0, "b": 1})
    array([1, 0])
    """
    return numbers_of(chunk.columns[name][class_index], chunk.categories.get(name), number_of)


def numbers_of(
    column: Array, names: tuple[Hashable, ...] | None, number_of: Mapping[Hashable, int]
) -> IntArray:
    """A number for each value of a column, which holds codes for names where there are names.

    Examples
    --------
    >>> numbers_of(np.array(["b", "a", "b"]), None, {"a": 0, "b": 1})
    array([1, 0, 1])
    """
    if column.dtype.kind in "iu" and len(column) and type(number_of) is dict:
        low, high = int(column.min()), int(column.max())
        # so few that each gets a number, whether it occurs or not
        if high - low <= 4 * len(number_of) + 1024:
            keys = _keys_of_values(np.arange(low, high + 1), names)
            every = np.array([number_of.get(key, -1) for key in keys], dtype=np.int64)
            return every[column if low == 0 else column.astype(np.int64) - low]
    values, _ = _distinct_values(column)
    numbers = np.array([number_of[key] for key in _keys_of_values(values, names)], dtype=np.int64)
    if len(column) == 0:
        return numbers
    if _lowest_of_few(column) is None:
        return numbers[np.searchsorted(values, column)]
    low = int(values[0])
    table = np.zeros(int(values[-1]) - low + 1, dtype=np.int64)
    table[values - low] = numbers
    return table[column if low == 0 else column.astype(np.int64) - low]


def _keys_of_values(values: Array, names: tuple[Hashable, ...] | None) -> list[Hashable]:
    """Distinct values, or codes for names, as plain values."""
    if names is not None:
        return [plain_value(names[value]) for value in values.tolist()]
    whole = values.dtype.kind in "biu"  # these are plain already
    return list(values.tolist()) if whole else [plain_value(value) for value in values.tolist()]


def _distinct_values(column: Array) -> tuple[Array, Array]:
    """The distinct values in ascending order, and how often each occurs."""
    low = _lowest_of_few(column)
    if low is None:
        return np.unique(column, return_counts=True)
    counts = np.bincount(column if low == 0 else column.astype(np.int64) - low)
    present = np.flatnonzero(counts)
    return present + low, counts[present]


def _lowest_of_few(column: Array) -> int | None:
    """The lowest of whole numbers if counting all in their range is quicker than sorting, otherwise None."""
    if column.dtype.kind not in "iu" or len(column) == 0:
        return None
    low = int(column.min())
    return low if int(column.max()) - low <= 4 * len(column) + 1024 else None
