"""The values of a column: what they are, where each of them is, and the trials that have one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from llrkit.core.summary import SummaryBase
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived import DerivedSource


def plain_value(value: Any) -> Any:
    """A value as a plain Python one; a missing number is a missing value."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and math.isnan(value) else value


def decoded(chunk: Scores, column: str, side: int) -> npt.NDArray[Any]:
    """A column of one class of a chunk (0: targets, 1: non-targets) with values in place of codes."""
    codes = chunk.columns[column][side]
    names = chunk.categories.get(column)
    return codes if names is None else np.asarray(names, dtype=object)[codes]


def places(values: npt.NDArray[Any]) -> dict[Any, npt.NDArray[np.intp]]:
    """Where each value is.

    Examples
    --------
    >>> places(np.array(["b", "a", "b"]))
    {'a': array([1]), 'b': array([0, 2])}
    """
    if values.dtype.kind in "biufUS":
        distinct, codes = np.unique(values, return_inverse=True)
        keys = [plain_value(value) for value in distinct]
    else:
        seen: dict[Any, int] = {}
        codes = np.fromiter(
            (seen.setdefault(plain_value(v), len(seen)) for v in values), np.intp, len(values)
        )
        keys = list(seen)
    order = np.argsort(codes, kind="stable")
    parts = np.split(order, np.searchsorted(codes[order], np.arange(1, len(keys))))
    return dict(zip(keys, parts, strict=True)) if len(values) else {}


def only_value(source: ScoreSource, column: str, value: Any) -> DerivedSource:
    """The trials of a source that have one value in a column.

    Examples
    --------
    >>> scores = Scores([1.0, 4.0], [0.0, 2.0], {"room": (["a", "b"], ["b", "b"])})
    >>> only_value(scores, "room", "b").reduce(lambda chunk: ValueCounts.of(chunk, "room")).counts
    {'b': (1, 2)}
    """

    def part(chunk: Scores) -> Scores:
        names = chunk.categories.get(column)
        return chunk.select(*(_has_value(values, value, names) for values in chunk.columns[column]))

    return DerivedSource(source, part, (column,), score=getattr(source, "score", ()))


def _has_value(values: npt.NDArray[Any], value: Any, names: tuple[Any, ...] | None) -> npt.NDArray[np.bool_]:
    """Which trials have a value, of a column of values or of codes for the names."""
    if names is not None:
        codes = [code for code, name in enumerate(names) if plain_value(name) == value]
        return np.isin(values, codes)
    return np.asarray(np.isnan(values) if value is None else values == value)


@dataclass(frozen=True, eq=False)
class ValueCounts(SummaryBase):
    """How many targets and non-targets have each value, in one or more columns."""

    counts: dict[Any, tuple[float, float]]

    @classmethod
    def of(cls, chunk: Scores, *columns: str) -> ValueCounts:
        """Counts of a chunk."""
        total: dict[Any, list[float]] = {}
        for column in columns:
            names = chunk.categories.get(column)
            for side in (0, 1):
                found = np.unique(chunk.columns[column][side], return_counts=True)
                for value, n in zip(*(part.tolist() for part in found), strict=True):
                    key = plain_value(value if names is None else names[value])
                    total.setdefault(key, [0, 0])[side] += n
        return cls({key: (t, n) for key, (t, n) in total.items()})

    def __add__(self, other: ValueCounts) -> ValueCounts:
        merged = dict(self.counts)
        for key, (t, n) in other.counts.items():
            have = merged.get(key, (0, 0))
            merged[key] = (have[0] + t, have[1] + n)
        return ValueCounts(merged)

    def __mul__(self, weight: float) -> ValueCounts:
        return ValueCounts({key: (t * weight, n * weight) for key, (t, n) in self.counts.items()})
