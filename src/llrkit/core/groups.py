"""Groups of trials: values of columns, kinds of trials, and a class that all groups share."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from llrkit.base.arguments import Array, BoolArray, FloatArray, IntArray, Rows
from llrkit.base.text import Json
from llrkit.core.cells import ClassName
from llrkit.core.summaries import FieldwiseSums, Grouped, Summarizer, SummaryBase, UnweightedSummary
from llrkit.errors import InputError, LabelError, PooledClassesWarning, UnknownNameError
from llrkit.scores import DerivedSource, Scores, ScoreSource
from llrkit.scores.labels import KIND, KINDS, SPOOF_WORDS, Kind, classify_words, kind_of, plain_word
from llrkit.scores.source import S

EXACT_UP_TO = 1 << 20
"""Distinct numbers that are counted one by one, at 8 bytes each; beyond, their number is an estimate."""


@dataclass(frozen=True, eq=False)
class DistinctNumbers(UnweightedSummary):
    """How many distinct whole numbers occur: exact up to ``limit``, an estimate beyond, in bounded memory.

    Numbers are scattered over all 64-bit words by a map that is one to one, and the ``limit`` smallest
    words are kept. As long as no word was dropped, the words are the numbers. Afterwards ``(limit - 1) / u``
    estimates how many there are, with ``u`` the largest word kept as a share of all words; its relative
    standard error is ``1 / sqrt(limit)``, 0.1 % by default.

    References
    ----------
    Bar-Yossef, Jayram, Kumar, Sivakumar & Trevisan, "Counting distinct elements in a data stream",
    RANDOM 2002; Beyer et al., "On synopses for distinct-value estimation", SIGMOD 2007.

    Examples
    --------
    >>> both = DistinctNumbers.of(np.array([3, 5, 3])) + DistinctNumbers.of(np.array([5, 9]))
    >>> both.count, both.exact
    (3, True)
    >>> many = DistinctNumbers.of(np.arange(100_000), limit=10_000)
    >>> many.count, many.exact
    (100166, False)
    """

    words: npt.NDArray[np.uint64]
    exact: bool = True
    limit: int = EXACT_UP_TO

    @classmethod
    def of(cls, numbers: IntArray, limit: int = EXACT_UP_TO) -> DistinctNumbers:
        """Those of an array."""
        return cls._smallest(_scattered(numbers), True, limit)

    @classmethod
    def _smallest(cls, words: npt.NDArray[np.uint64], exact: bool, limit: int) -> DistinctNumbers:
        words = np.sort(words)  # np.unique would fill a hash table, which takes fifty times as long
        # the complement of the first word differs from it, so the first is kept
        words = words[np.flatnonzero(np.diff(words, prepend=~words[:1]))]
        # the smallest words of a merged set are among those kept of its parts, so merging loses nothing
        return cls(words[:limit], exact and len(words) <= limit, limit)

    def __add__(self, other: DistinctNumbers) -> DistinctNumbers:
        words = np.concatenate([self.words, other.words])
        return self._smallest(words, self.exact and other.exact, min(self.limit, other.limit))

    @property
    def count(self) -> int:
        """How many distinct numbers there are, or about how many if not ``exact``."""
        if self.exact:
            return len(self.words)
        return round((len(self.words) - 1) / ((int(self.words[-1]) + 1) / 2.0**64))  # 2^64 words in all


def _scattered(numbers: IntArray) -> npt.NDArray[np.uint64]:
    """Other 64-bit words, one for each number, that look drawn at random (the last steps of splitmix64)."""
    with np.errstate(over="ignore"):  # the arithmetic is meant to wrap around
        words = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(words ^ (words >> np.uint64(31)))


@dataclass(frozen=True, eq=False)
class JoinedNumbers(UnweightedSummary):
    """Which of the numbers below n belong together, as pairs of them say: connected components.

    Examples
    --------
    >>> joined = JoinedNumbers.of(5, np.array([0, 3]), np.array([2, 3])) + JoinedNumbers.of(
    ...     5, np.array([2]), np.array([4])
    ... )
    >>> joined.lowest  # 0, 2 and 4 are one
    array([0, 1, 0, 3, 0])
    """

    lowest: IntArray
    """For each number the lowest of those it belongs to."""

    @classmethod
    def of(cls, n: int, left: IntArray, right: IntArray) -> JoinedNumbers:
        """Join the two numbers of each pair."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        pairs = _distinct_values(left * n + right)[0]
        left, right = pairs // max(n, 1), pairs % max(n, 1)
        # one byte for each edge: only where they are matters
        edges = coo_array((np.ones(len(left), dtype=np.int8), (left, right)), shape=(n, n))
        _, group = connected_components(edges, directed=False)
        lowest_of_group = np.full(n, n, dtype=np.int64)
        np.minimum.at(lowest_of_group, group, np.arange(n))
        return cls(lowest_of_group[group])

    def __add__(self, other: JoinedNumbers) -> JoinedNumbers:
        n = len(self.lowest)
        own = np.arange(n)
        # a star around the lowest number joins a group as well as all its pairs
        return self.of(n, np.concatenate([own, own]), np.concatenate([self.lowest, other.lowest]))

    @property
    def any_joined(self) -> bool:
        """Whether some number belongs to another one."""
        return bool((self.lowest != np.arange(len(self.lowest))).any())


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
    # the first number ranks the kinds, so that values of different types are never compared
    if isinstance(value, tuple):
        return (2, tuple(map(natural_order, value)))
    if value is None:
        return (3,)
    if isinstance(value, (bool, int, float)):
        return (0, value)
    if not isinstance(value, str):
        return (1, ((2, 0, str(value)),), str(type(value)))
    pieces = re.split(r"(\d+(?:\.\d+)?)", value)
    # the text itself last: "1" and "01" are equal as numbers
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
        return dict(zip(_keys_of_values(_distinct_values(values)[0], None), _positions(values), strict=True))
    # columns of objects may mix types, which cannot be sorted
    seen: dict[Hashable, int] = {}
    codes = np.fromiter((seen.setdefault(plain_value(v), len(seen)) for v in values), np.intp, len(values))
    return dict(zip(seen, _positions(codes), strict=True))


def positions_by_name(column: Array, names: tuple[Hashable, ...] | None) -> dict[Hashable, IntArray]:
    """Where each value is in a column of values, or of codes where there are names.

    Examples
    --------
    >>> positions_by_name(np.array([1, 0, 1]), ("a", "b"))
    {'a': array([1]), 'b': array([0, 2])}
    """
    if names is None:
        return positions_by_value(column)
    found: dict[Hashable, IntArray] = {}
    for code, at in positions_by_code(column).items():
        key = plain_value(names[code])  # None for both None and NaN
        found[key] = np.sort(np.concatenate([found[key], at])) if key in found else at
    return found


def positions_by_code(codes: IntArray) -> dict[int, IntArray]:
    """Where each of some whole numbers is."""
    return dict(zip(_distinct_values(codes)[0].tolist(), _positions(codes), strict=True))


def _positions(column: Array) -> list[IntArray]:
    order = np.argsort(column, kind="stable")  # stable: positions within a value ascend
    distinct = _distinct_values(column)[0]
    return np.split(order, np.searchsorted(column[order], distinct[1:])) if len(distinct) else []


def grouped(summarize: Summarizer[S], column: str | Sequence[str]) -> Summarizer[Grouped[Hashable, S]]:
    """A summarizer that makes one summary for each value of ``column``, or each combination of several.

    Examples
    --------
    >>> from llrkit.core.summaries import Moments
    >>> scores = Scores([1.0, 2.0], [0.0], {"sex": (["f", "m"], ["f"])})
    >>> by_sex = scores.reduce(grouped(Moments.of, "sex"))
    >>> {sex: moments.target.n for sex, moments in sorted(by_sex.groups.items())}
    {'f': 1, 'm': 1}
    """

    def make(chunk: Scores) -> Grouped[Hashable, S]:
        return Grouped({key: summarize(group) for key, group in split_by(chunk, column).items()})

    return make


def split_by(chunk: Scores, column: str | Sequence[str]) -> dict[Hashable, Scores]:
    """Cut a chunk into one chunk per value of a column, in the order of the values.

    With several columns the keys are tuples of their values.
    """
    if not isinstance(column, str):
        groups: dict[tuple[Hashable, ...], Scores] = {(): chunk}
        for name in column:
            pieces = ((key, split_by(group, name)) for key, group in groups.items())
            groups = {(*key, value): piece for key, split in pieces for value, piece in split.items()}
        return dict(groups.items())
    # asking for the column names it if it is missing
    columns, names = chunk.with_columns(column).columns[column], chunk.categories.get(column)
    target, nontarget = (positions_by_name(values, names) for values in columns)
    # each class by itself first: only the distinct values are put together
    values = np.unique(np.concatenate([_distinct_values(values)[0] for values in columns]))
    none = np.empty(0, dtype=np.intp)
    return {
        key: chunk.select(target.get(key, none), nontarget.get(key, none))
        for key in _keys_of_values(values, names)
    }


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
        names, both = chunk.categories.get(column), chunk.columns[column]
        if names is not None:
            codes = [code for code, name in enumerate(names) if plain_value(name) == value]
            return chunk.select(*(np.isin(values, codes) for values in both))
        # NaN equals nothing
        return chunk.select(*(np.isnan(values) if value is None else values == value for values in both))

    return DerivedSource(source, select_value, (column,))


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
            # -1: a number in between that no trial has
            every = np.array([number_of.get(key, -1) for key in keys], dtype=np.int64)
            return every[column if low == 0 else column.astype(np.int64) - low]
    values, _ = _distinct_values(column)
    numbers = np.array([number_of[key] for key in _keys_of_values(values, names)], dtype=np.int64)
    first = _lowest_of_few(column)
    if first is None:
        return numbers[np.searchsorted(values, column)]
    table = np.zeros(int(values[-1]) - first + 1, dtype=np.int64)
    table[values - first] = numbers
    return table[column if first == 0 else column.astype(np.int64) - first]


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
    # a table as long as a few times the column costs less than sorting it
    return low if int(column.max()) - low <= 4 * len(column) + 1024 else None


MOST_GROUPS = 4096
"""More than these are thrown together by chance, which loses next to nothing."""


@dataclass(frozen=True, eq=False)
class GroupCells(FieldwiseSums):
    """Counts by group and cell of each class; the last row is that of all trials, each counted once.

    A trial belongs to one group (speaker, attack, device) or, with two columns, to the groups of its two
    sides, and is counted in both, which errs on the side of a larger variance.
    """

    target: FloatArray
    nontarget: FloatArray

    @classmethod
    def at(
        cls, columns: Sequence[str], numbers: Mapping[Hashable, int], cuts: FloatArray
    ) -> Callable[[Scores], GroupCells]:
        """A summarizer; cell ``i`` holds the scores with ``i`` cuts at or below them."""
        n_groups, n_cells = max(numbers.values()) + 1, len(cuts) + 1

        def of_class(values: Array, sides: list[Array]) -> FloatArray:
            cell = np.searchsorted(cuts, values, side="right")
            counts = np.zeros((n_groups + 1, n_cells))
            counts[-1] = np.bincount(cell, minlength=n_cells)
            for i, side in enumerate(sides):
                # a trial with the same group on both sides touches it once
                fresh = np.ones(len(side), dtype=bool) if i == 0 else side != sides[0]
                place = side[fresh] * n_cells + cell[fresh]
                counts[:-1] += np.bincount(place, minlength=n_groups * n_cells).reshape(n_groups, n_cells)
            return counts

        def make(chunk: Scores) -> GroupCells:
            sides = [[numbered(chunk, name, i, numbers) for name in columns] for i in (0, 1)]
            return cls(of_class(chunk.target, sides[0]), of_class(chunk.nontarget, sides[1]))

        return make


def group_cells(source: ScoreSource, columns: Sequence[str], cuts: FloatArray) -> GroupCells:
    """Counts of the trials of a source by group and cell; two passes.

    Examples
    --------
    >>> scores = Scores([1.0, 2.0], [-1.0], {"who": (["a", "b"], ["a"])})
    >>> group_cells(scores, ["who"], np.array([1.5])).target
    array([[1., 0.],
           [0., 1.],
           [1., 1.]])
    """
    if len(columns) not in (1, 2):
        raise InputError(f"groups are one or two columns (the two sides of a trial), got {list(columns)}")
    wide = source.with_columns(*columns)
    values = wide.reduce(lambda chunk: ValueCounts.of(chunk, *columns)).counts
    # sorted, so that numbers do not depend on how the trials are cut into chunks
    numbers = {value: i % MOST_GROUPS for i, value in enumerate(sorted(values, key=str))}
    return wide.reduce(GroupCells.at(columns, numbers, cuts))


def share_covariance(cells: FloatArray) -> tuple[FloatArray, float]:
    """Covariance of the shares of trials below each cut, and its degrees of freedom.

    It is that of sums over groups: with ``t_p`` the deviations of all trials that touch group p, ``sum_p t_p
    t_p'``.

    ``cells`` are counts by group, with those of all trials in the last row. Never smaller than that of
    independent trials, group by group being a way to see more spread, not less.
    """
    groups, total = cells[:-1], cells[-1]
    n = total.sum()
    groups = groups[groups.sum(1) > 0]
    share = np.cumsum(total)[:-1] / n
    # covariance of an empirical distribution function: (min(F, G) - F G) / n
    independent = (np.minimum.outer(share, share) - np.outer(share, share)) / n
    sizes = groups.sum(1)
    if len(groups) < 2:
        return independent, float(n - 1)
    away = np.cumsum(groups, axis=1)[:, :-1] - np.outer(sizes, share)
    # S / (S - 1), as for speakers (docs/notes/decisions-statistics.md)
    spread = away.T @ away / n**2 * len(groups) / (len(groups) - 1)
    if np.trace(spread) < np.trace(independent):
        return independent, float(n - 1)
    # the number of equally large groups that would be as uneven, less one
    return spread, max(float(sizes.sum() ** 2 / (sizes**2).sum()) - 1.0, 1.0)


UNNAMED = "(no name)"
"""The attack of spoofs that have none in the column of attacks."""


def spoof_mask(chunk: Scores, column: str) -> BoolArray:
    """Which trials of a chunk that are no targets are spoofs."""
    codes, names = chunk.columns[column][1], chunk.categories.get(column)
    if column == KIND:
        return np.asarray(codes == KINDS.index("spoof"))
    if names is None and codes.dtype.kind not in "OSU":
        return np.zeros(len(codes), dtype=bool)  # numbers and booleans tell two classes only
    if names is None:
        distinct, codes = np.unique(codes.astype(str), return_inverse=True)
        names = tuple(distinct.tolist())
    is_spoof = np.array([kind_of(name) == "spoof" for name in names], dtype=bool)
    return np.asarray(is_spoof[codes], dtype=bool) if len(codes) else np.zeros(0, dtype=bool)


def regrouped(
    chunk: Scores,
    column: str,
    positive: Sequence[Kind],
    negative: Sequence[Kind],
    attack: tuple[str, str] | None,
) -> Scores:
    """Two classes made of these kinds; ``attack`` (a column, a value) keeps the spoofs of one attack."""
    spoof = spoof_mask(chunk, column)
    chosen: dict[Kind, Rows] = {"target": slice(None), "nontarget": ~spoof, "spoof": spoof}
    if attack is not None:
        own = attack_positions(chunk, attack[0], spoof).get(attack[1], np.empty(0, dtype=np.intp))
        chosen["spoof"] = np.flatnonzero(spoof)[own]

    def joined(arrays: tuple[Array, Array], kinds: Sequence[Kind]) -> Array:
        parts = [arrays[0 if kind == "target" else 1][chosen[kind]] for kind in kinds]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def both(arrays: tuple[Array, Array]) -> tuple[Array, Array]:
        return joined(arrays, positive), joined(arrays, negative)

    columns = {name: both(arrays) for name, arrays in chunk.columns.items()}
    return Scores.part(*both((chunk.target, chunk.nontarget)), columns, chunk.categories)


def attack_positions(chunk: Scores, column: str, spoof: BoolArray) -> dict[str, IntArray]:
    """For each attack, where its trials are among the spoofs of a chunk."""
    found = positions_by_name(chunk.columns[column][1][spoof], chunk.categories.get(column))
    return {attack_name(value): own for value, own in found.items()}


def attack_name(value: object) -> str:
    """What an attack is called.

    Examples
    --------
    >>> attack_name("A07"), attack_name(None)
    ('A07', '(no name)')
    """
    return UNNAMED if value is None else str(value)


def gated(chunk: Scores, place: tuple[int, int], threshold: float) -> Scores:
    """The scores of the second system, -inf where the first rejects."""
    first, second = place

    def passed(scores: Array) -> Array:
        # -inf: no second threshold lets it pass again
        return np.where(scores[:, first] >= threshold, scores[:, second], -np.inf)

    return Scores.part(passed(chunk.target), passed(chunk.nontarget), chunk.columns, chunk.categories)


BONA_FIDE: tuple[Kind, ...] = ("target", "nontarget")


MARKERS = frozenset({
    "", "-", "--", "none", "n/a", "na", "bonafide", "bona-fide", "bona fide", "bona_fide", "genuine", "human",
    "live", "real", "target", "nontarget",
})  # fmt: skip
"""Words that stand in a column of attacks for trials that are none; so does a missing value."""


@dataclass(frozen=True)
class SharedClass:
    """The class whose trials all groups of a column share, and the values that mark it.

    Examples
    --------
    >>> counts = {"-": (20, 0), "A01": (0, 5), "A02": (0, 7)}
    >>> shared = find_shared_class(counts)
    >>> shared.name, shared.markers, shared.groups(counts)
    ('target', ('-',), ['A01', 'A02'])
    """

    name: ClassName
    markers: tuple[Hashable, ...]
    """Values of the column that are no groups: they mark the shared class."""
    automatic: bool
    """Whether nobody asked for it."""
    of_kinds: bool = False
    """Whether targets and non-targets together are the bona fide trials, and the others spoofs."""

    @property
    def _other(self) -> int:
        return 1 if self.name == "target" else 0

    def groups(self, counts: Mapping[Hashable, tuple[float, float]]) -> list[Hashable]:
        """The values that are groups, in their order."""
        values = [v for v, n in counts.items() if n[self._other] > 0 and v not in self.markers]
        return sorted(values, key=natural_order)

    def skipped(self, counts: Mapping[Hashable, tuple[float, float]]) -> dict[Hashable, str]:
        """Markers that trials of the other class have as well, which are then in no group."""
        return {
            value: f"it marks the trials that the groups share ({self.name})"
            for value in self.markers
            if counts[value][self._other] > 0
        }

    def split(self, chunk: Scores, column: str, groups: Iterable[Hashable]) -> dict[Hashable, Scores]:
        """One chunk for each group, all with the whole shared class; also where the group has no trials."""
        other, every = self._other, slice(None)
        positions = positions_by_name(chunk.columns[column][other], chunk.categories.get(column))
        nothing = np.empty(0, dtype=np.intp)
        rows = {group: positions.get(group, nothing) for group in groups}
        return {
            group: chunk.select(*((every, own) if other else (own, every))) for group, own in rows.items()
        }

    def trials_of(self, source: ScoreSource, column: str, group: Hashable) -> DerivedSource:
        """The trials of one group with the shared class."""

        return DerivedSource(source, lambda chunk: self.split(chunk, column, [group])[group], (column,))

    def sentence(self, by: str) -> str:
        """What the groups are compared with, in words."""
        why = ", because no group has any of its own" if self.automatic else ""
        name = {"target": "bona fide", "nontarget": "spoofed"}[self.name] if self.of_kinds else self.name
        which = " (targets and non-targets)" if name == "bona fide" else ""
        return f"Each {by} is evaluated against all {name} trials{which}, which the groups share{why}."

    def to_dict(self) -> dict[str, Json]:
        """Plain values, as in the JSON of the command line."""
        return {
            "class": self.name,
            "markers": [str(value) for value in self.markers],
            "automatic": self.automatic,
        }


def class_to_share(word: str) -> ClassName:
    """The class that a word means: target, bonafide, ..., or nontarget, spoof, ...

    Examples
    --------
    >>> class_to_share("bonafide"), class_to_share("spoof")
    ('target', 'nontarget')
    """
    meaning = classify_words([word])[0] if isinstance(word, str) else None
    if meaning is None:
        raise UnknownNameError(
            f"unknown class {word!r} to share; known are target (or bonafide) and nontarget (or spoof)"
        )
    return "target" if meaning else "nontarget"


def find_shared_class(
    counts: Mapping[Hashable, tuple[float, float]], asked: ClassName | None = None
) -> SharedClass | None:
    """The class that groups share: the one asked for, or one that has nothing but a marker; else None.

    ``counts`` are the numbers of targets and non-targets by value of the column. Without being asked for, a
    class is shared where no group could be evaluated otherwise: all of its trials have a word that says they
    belong to no group (``-``, ``bonafide``), or one value that no trial of the other class has, which has
    several.
    """
    for name, own, other in (("target", 0, 1), ("nontarget", 1, 0)):
        if asked is not None and asked != name:
            continue
        here = [value for value, n in counts.items() if n[own] > 0]
        there = [value for value, n in counts.items() if n[other] > 0]
        alone = [value for value in here if value not in there]
        marked = [value for value in here if value is None or str(value).strip().lower() in MARKERS]
        class_name: ClassName = "target" if own == 0 else "nontarget"
        if asked is not None:
            shared = SharedClass(class_name, tuple(dict.fromkeys([*alone, *marked])), automatic=False)
            if not shared.groups(counts):
                raise InputError(f"no group is left: all values mark the {name} trials, which are shared")
            return shared
        groups = [value for value in there if value not in here]
        if groups and (len(marked) == len(here) or (len(here) == 1 == len(alone) and len(there) > 1)):
            return SharedClass(class_name, tuple(here), automatic=True)
    return None


def each_group(
    split: Callable[[Scores], Mapping[Hashable, Scores]], summarize: Callable[[Hashable, Scores], S | None]
) -> Summarizer[Grouped[Hashable, S]]:
    """A summarizer of each group of a chunk, which is told the group too and may return ``None``."""

    def make(chunk: Scores) -> Grouped[Hashable, S]:
        summaries = {key: summarize(key, group) for key, group in split(chunk).items()}
        return Grouped({key: summary for key, summary in summaries.items() if summary is not None})

    return make


def speaks_of_spoofs(word: str | None) -> bool:
    """Whether a class to share is named as countermeasures do: bona fide, or spoof.

    Examples
    --------
    >>> [speaks_of_spoofs(word) for word in ("bonafide", "Bona fide", "spoof", "target", None)]
    [True, True, True, False, False]
    """
    plain = plain_word(word) if isinstance(word, str) else ""
    return plain in ("bonafide", "bona-fide") or plain in SPOOF_WORDS


def bona_fide_and_spoofs(source: ScoreSource, word: str | None) -> ScoreSource:
    """Targets and non-targets against spoofs, if the class to share is named so and labels tell all three.

    Both are bona fide, so that a countermeasure is to accept them. Other trials stay as they are; one pass.

    Examples
    --------
    >>> import llrkit as lk
    >>> table = {"score": [2.0, 3.0, -1.0], "label": ["target", "nontarget", "spoof"], "attack": list("--A")}
    >>> lk.evaluate(lk.Trials(table), by="attack", shared="bonafide").n_target
    2
    """
    column = source.roles.label
    if column is None or not speaks_of_spoofs(word):
        return source
    with warnings.catch_warnings():  # no two kinds are taken as one
        warnings.simplefilter("ignore", PooledClassesWarning)
        words = source.with_columns(column).reduce(lambda chunk: ValueCounts.of(chunk, column)).counts
    try:
        kinds = {kind_of(label) for label in words}
    except LabelError:  # labels of its own, which the label of the targets tells apart
        return source
    if not {"nontarget", "spoof"} <= kinds:
        return source
    change = partial(regrouped, column=column, positive=BONA_FIDE, negative=("spoof",), attack=None)
    return DerivedSource(source, change, (column,))
