"""Folds: which trials may train the map that is applied to which trials.

With groups, no trial is calibrated by a map that has seen a trial with the same speaker. A trial belongs to
the speakers of both its sides: the map for a trial whose speakers are in folds f and g is trained on the
trials that have no speaker in either.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from llrkit._arguments import whole_number
from llrkit._arrays import Array, BoolArray, IntArray
from llrkit._cached import cached_property
from llrkit.calibrate.maps import Map
from llrkit.calibrate.option_checks import names_of
from llrkit.core.column_values import ValueCounts, numbered, numbers_of
from llrkit.core.moments import Moments
from llrkit.errors import InputError, TooFewTrialsError
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.class_scores import ClassVectors
from llrkit.scores.derived_sources import DerivedSource
from llrkit.scores.roles import POSITION
from llrkit.scores.source import as_source

Pair = tuple[int, int]
MOST_LEFT_OUT = 16
"""Groups that are left out one at a time; more are dealt into as many folds."""


@dataclass(frozen=True)
class Folds:
    """A way to give each trial the folds of its two sides (the same fold twice without groups)."""

    n: int
    columns: tuple[str, ...] = (POSITION,)
    values: tuple[Hashable, ...] | None = None
    """The groups, in an order that does not depend on that of the trials; None without groups."""
    seed: int = 0
    """Another seed assigns the folds differently."""
    named: bool = False
    """Whether the values of the column are the folds, in their order, instead of groups to be dealt out."""
    one_group: tuple[int, ...] = ()
    """Classes of a single group (bona fide speech, say): their trials are dealt out one by one."""

    @property
    def carried(self) -> tuple[str, ...]:
        """The columns that trials must carry to be dealt out."""
        return (*self.columns, POSITION) if self.one_group else self.columns

    @property
    def groups(self) -> list[str]:
        """The columns whose values never share two folds; none when trials are dealt out one by one."""
        return [] if self.values is None else list(self.columns)

    @property
    def name(self) -> str:
        """Of the column of a chunk that holds what :meth:`of` gives, where it was made before."""
        return f"{self.n} folds, deal {self.seed}"

    @cached_property
    def place_of(self) -> dict[Hashable, int]:
        """Where each group comes out when they are shuffled; its fold is that modulo ``n``."""
        values = self.values or ()
        order = (
            range(len(values)) if self.named else np.random.default_rng(self.seed).permutation(len(values))
        )
        return {values[i]: place for place, i in enumerate(order)}

    @property
    def pairs(self) -> list[Pair]:
        """All combinations of the folds of two sides that can occur."""
        if len(self.columns) < 2:
            return [(f, f) for f in range(self.n)]
        return [(f, g) for f in range(self.n) for g in range(f, self.n)]

    def of(self, chunk: Scores) -> tuple[IntArray, IntArray]:
        """The pair of each trial as one number, lower fold * n + higher fold, for each class."""
        if self.name in chunk.columns:
            return chunk.columns[self.name]
        target, nontarget = (self._of_class(chunk, class_index) for class_index in (0, 1))
        return target, nontarget

    def _of_class(self, chunk: Scores, class_index: int) -> IntArray:
        if self.values is None or class_index in self.one_group:
            return deal_folds(chunk.columns[POSITION][class_index], self.n, self.seed)
        return self._pairs_of([numbered(chunk, name, class_index, self.place_of) for name in self.columns])

    def of_rows(self, chunk: ClassVectors) -> IntArray:
        """The same for trials of several classes, one number for each trial."""
        if self.values is None:
            return deal_folds(chunk.columns[POSITION], self.n, self.seed)
        return self._pairs_of([numbers_of(chunk.columns[name], None, self.place_of) for name in self.columns])

    def _pairs_of(self, places: Sequence[IntArray]) -> IntArray:
        one, other = places[0] % self.n, places[-1] % self.n
        return np.minimum(one, other) * self.n + np.maximum(one, other)


def make_folds(
    source: ScoreSource,
    groups: str | Sequence[str] | None,
    folds: int | str,
    seed: int = 0,
    *,
    leave_one_out: bool = False,
) -> Folds:
    """Folds by the values of one or two columns, or by trial without groups; or those that a column names.

    A column that has several values in one class only (attacks) is left out group by group: what happens with
    a group that was not there is what is asked. The trials of the other class are dealt out one by one.

    Without groups, a table with enrollment and test ids is divided by those; other trials are dealt out
    one by one. Groups are shuffled and dealt out.
    """
    source = as_source(source)
    seed = whole_number(seed, 0, "seed")
    columns = group_columns(groups, folds, source.roles.ids or None)
    if columns is None:
        moments = source.reduce(Moments.of)
        fewest = min(moments.target.count, moments.nontarget.count)
        if fewest < int(folds):
            raise TooFewTrialsError(f"{fewest:g} trials of a class are too few for {folds} folds")
        return Folds(int(folds), seed=seed)
    values = source.with_columns(*columns).reduce(lambda chunk: ValueCounts.of(chunk, *columns))
    if isinstance(folds, str):
        return folds_of_values(columns, values.counts, folds)
    several = [sum(1 for trials in values.counts.values() if trials[i] > 0) > 1 for i in (0, 1)]
    one_group = tuple(i for i in (0, 1) if len(columns) == 1 and not several[i] and several[1 - i])
    of_several = [
        value for value, trials in values.counts.items() if any(trials[i] for i in (0, 1) if several[i])
    ]
    dealt = folds_of_values(
        columns,
        of_several if one_group else values.counts,
        folds,
        seed,
        leave_one_out=leave_one_out or bool(one_group),
    )
    return replace(dealt, one_group=one_group)


def group_columns(
    groups: str | Sequence[str] | None, folds: int | str, default: tuple[str, ...] | None = None
) -> tuple[str, ...] | None:
    """The columns that say which trials stay together; None where trials are dealt out one by one."""
    if isinstance(folds, str):
        if groups is not None:
            raise InputError(f"give either groups or a column of folds ({folds!r}), not both")
        return (folds,)
    if not isinstance(folds, int) or folds < 2:
        raise InputError(f"cross-validation needs at least 2 folds, got {folds!r}")
    groups = default if groups is None else groups
    if groups is None:
        return None
    columns = names_of(groups, "groups")
    if len(columns) not in (1, 2):
        raise InputError(f"groups are one or two columns (the two sides of a trial), got {list(columns)}")
    if len(columns) == 2 and folds < 3:
        raise InputError("trials between two groups need at least 3 folds: two are left out at a time")
    return columns


def folds_of_values(
    columns: tuple[str, ...],
    values: Iterable[Hashable],
    folds: int | str,
    seed: int = 0,
    *,
    leave_one_out: bool = False,
) -> Folds:
    """Groups dealt into folds or left out one at a time, unless there are very many; or folds by name."""
    distinct = tuple(sorted(values, key=str))
    if isinstance(folds, str):
        if len(distinct) < 2:
            raise InputError(f"column {folds!r} names fewer than 2 folds")
        return Folds(len(distinct), columns, distinct, named=True)
    n = folds
    if leave_one_out:
        n = len(distinct) if len(distinct) <= MOST_LEFT_OUT else max(n, MOST_LEFT_OUT)
    if len(distinct) < n or n < 2:
        raise InputError(f"{len(distinct)} groups in {', '.join(columns)} are too few for {n} folds")
    return Folds(n, columns, distinct, seed)


def training_source(source: ScoreSource, folds: Folds, pair: Pair) -> ScoreSource:
    """The trials that share no fold with a pair."""

    def kept(chunk: Scores) -> Scores:
        return chunk.select(*(apart_from(code, folds.n, pair) for code in folds.of(chunk)))

    return DerivedSource(source, kept, folds.carried)


def apart_from(code: IntArray, n: int, pair: Pair) -> BoolArray:
    """Whether trials with these pairs of n folds share no fold with a pair."""
    codes = np.arange(n * n)
    low, high = codes // n, codes % n
    apart = (low != pair[0]) & (low != pair[1]) & (high != pair[0]) & (high != pair[1])
    return np.asarray(apart[code])


def crossed_source(source: ScoreSource, folds: Folds, maps: Mapping[Pair, Map]) -> ScoreSource:
    """All trials, each with the LLR of the map that has not seen its groups."""
    needed = (name for fitted in maps.values() for name in fitted.needs)
    change = partial(_crossed_chunk, folds=folds, maps=maps)
    return DerivedSource(source, change, tuple(dict.fromkeys((*folds.carried, *needed))))


def _crossed_chunk(chunk: Scores, folds: Folds, maps: Mapping[Pair, Map]) -> Scores:
    llrs = crossed_llrs(chunk, folds, [maps])
    return Scores.part(llrs[0][:, 0], llrs[1][:, 0], chunk.columns, chunk.categories)


def crossed_llrs(
    chunk: Scores, folds: Folds, methods: Sequence[Mapping[Pair, Map]]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The LLRs of each class under maps that have not seen the trials' groups; a column for each method."""
    codes = folds.of(chunk)
    llrs = np.empty((chunk.n_target, len(methods))), np.empty((chunk.n_nontarget, len(methods)))
    for f, g in folds.pairs:
        rows = [np.flatnonzero(code == f * folds.n + g) for code in codes]
        trials = chunk.select(*rows)
        for column, maps in enumerate(methods):
            mapped = maps[f, g](trials)
            llrs[0][rows[0], column], llrs[1][rows[1], column] = mapped.target, mapped.nontarget
    return llrs


def deal_folds(position: Array, n: int, seed: int) -> IntArray:
    """A fold for each trial of a class: n neighbors get all n folds, turned by a hash of where they are."""
    with np.errstate(over="ignore"):  # the arithmetic is meant to wrap around
        bits = (position // n).astype(np.uint64) + np.uint64(seed + 1) * np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        bits ^= bits >> np.uint64(31)
    fold = (position + (bits % np.uint64(n)).astype(np.int64)) % n
    return np.asarray(fold * n + fold, dtype=np.int64)
