"""Speakers that trials share, what follows for covariances, and counts by speaker.

Speakers fall into blocks, such as genders, that are never compared with each other. Where there are a few
large blocks, how many speakers each has was decided by whoever collected the trials. What is the same for all
speakers of a block is then no chance, and is no part of an error.

The covariance of sums over trials takes one pass, whether or not trials share speakers. With ``phi_i`` what
trial ``i`` adds to an estimate (its influence), independent trials give the variance ``sum_i phi_i^2``.
Trials that share a speaker are not independent; the dyadic-robust variance is

    sum_p (sum of phi over the trials of speaker p)^2 - sum_{p<q} (sum over the trials between p and q)^2

where the second sum takes out what the first one counts twice. No resampling is needed. Many speakers are put
into groups first, which makes the pairs few.

:class:`SpeakerCells` holds counts and sums of trials by speaker, from which numbers without one speaker
follow. A trial belongs to one or two speakers. Leaving a speaker out removes all of its trials, on either
side; what is left is the total less the trials of the speaker.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from llrkit.base.arguments import Array, ArrayLike, Counts, FloatArray, IntArray, one_of
from llrkit.core.cells import CellFinder
from llrkit.core.groups import JoinedNumbers, ValueCounts, numbered
from llrkit.core.numerics import BLOCK, blocks, probability
from llrkit.core.pav import ScoreBins
from llrkit.core.summaries import FieldwiseSums, ReadOnlyArrays, SummaryBase, UnweightedSummary
from llrkit.errors import InputError, TooFewTrialsError
from llrkit.scores import Scores, ScoreSource

Columns = str | Sequence[str]
MOST_SINGLE = 500
"""Speakers that are left out one by one; more of them are put into groups."""
GROUPS = 100
"""As many groups."""
FEWEST_IN_BLOCK = 5
MOST_BLOCKS = 4
"""More blocks than these, or smaller ones, are themselves a matter of chance."""


@dataclass(frozen=True)
class Speakers:
    """A number for each speaker in one or two columns of the trials.

    The values of both columns are one set of names: the speaker of an enrollment and the speaker of a test
    are the same person if the values are equal.
    """

    columns: tuple[str, ...]
    number_of: Mapping[Hashable, int]
    targets_cross: bool
    """Whether some target trial has two different values (models and segments, say, in place of speakers)."""
    n_groups: int | None = None
    """Into how many groups the speakers were put, each with one number; None if each has its own."""
    blocks: tuple[int, ...] = ()
    """By number of the speaker, the block of those it is compared with; empty if there is only one block."""

    @property
    def n(self) -> int:
        """How many numbers there are: one for each speaker, or for each group of them."""
        return self.n_speakers if self.n_groups is None else self.n_groups

    @property
    def n_compared(self) -> float:
        """How many of them are compared with each other: those of a block, on average."""
        return self.n / count_blocks(self.blocks)

    @property
    def n_speakers(self) -> int:
        """How many speakers there are."""
        return len(self.number_of)

    def grouped(self, most: int = MOST_SINGLE, groups: int = GROUPS) -> Speakers:
        """The same speakers if they are at most ``most``, otherwise in random groups of nearly equal size.

        Trials within a group count as trials within a speaker. The groups depend on the names of the speakers
        only, not on the order of the trials. Blocks are spread evenly over the groups.

        Examples
        --------
        >>> scores = Scores([1.0, 2.0], [0.0], {"who": (["a", "b"], ["c"])})
        >>> speakers = find_speakers(scores, "who")
        >>> speakers.grouped().n, speakers.grouped(most=2, groups=2).n
        (3, 2)
        """
        if self.n_speakers <= most:
            return self
        # seeded by a constant: the groups depend on the sorted names alone
        places = np.random.default_rng(0).permutation(self.n_speakers)
        if self.blocks:
            # within blocks in random order, then dealt out in turn: every group has its share of each block
            places[np.lexsort((places, np.asarray(self.blocks)))] = np.arange(self.n_speakers)
        places %= groups
        number_of = {name: int(place) for name, place in zip(self.number_of, places, strict=True)}
        # groups mix the blocks, so between groups there are none
        return replace(self, number_of=number_of, n_groups=groups, blocks=())

    def of(self, chunk: Scores, class_index: int) -> tuple[IntArray, IntArray]:
        """The two speakers of each trial of a class; the second is ``n``, nobody, when it is the first again.

        Examples
        --------
        >>> scores = Scores([1.0], [0.0], {"left": (["a"], ["a"]), "right": (["a"], ["b"])})
        >>> speakers = find_speakers(scores, ("left", "right"))
        >>> speakers.of(scores, 0), speakers.of(scores, 1)
        ((array([0]), array([2])), (array([0]), array([1])))
        """
        first = numbered(chunk, self.columns[0], class_index, self.number_of)
        if len(self.columns) == 1:
            return first, np.full(len(first), self.n)
        second = numbered(chunk, self.columns[1], class_index, self.number_of)
        # a trial within a speaker must not be counted for the speaker twice
        second[first == second] = self.n
        return first, second


def find_speakers(source: ScoreSource, columns: Columns) -> Speakers:
    """Number the speakers of a source; one pass over one or two columns."""
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    if len(names) not in (1, 2) or not all(isinstance(name, str) for name in names):
        raise InputError(f"speakers are one or two columns (the two sides of a trial), got {columns!r}")
    seen = source.with_columns(*names).reduce(_SpeakerValues.at(names))
    if None in seen.values:
        raise InputError(f"a trial has no value in {' or '.join(names)}: every trial needs its speakers")
    if len(seen.values) < 2:
        raise TooFewTrialsError(f"there is only one speaker in {' and '.join(names)}; at least 2 are needed")
    # as text, so that numbers read from text give the same draws
    order = sorted(seen.values, key=lambda value: (str(value), str(type(value))))
    number_of = {value: i for i, value in enumerate(order)}
    blocks: tuple[int, ...] = ()
    if len(names) == 2:
        left, right = np.array([[number_of[value] for value in link] for link in seen.links]).T
        blocks = blocks_of(JoinedNumbers.of(len(order), left, right).lowest)
    return Speakers(names, number_of, seen.targets_cross, blocks=blocks)


def kind_asked_for(ci: str | None, speakers: Columns | None, otherwise: str) -> str:
    """The kind of intervals and tests: as given, or for shared speakers where these are named.

    Examples
    --------
    >>> kind_asked_for(None, ("left", "right"), "none"), kind_asked_for(None, None, "trial")
    ('speaker', 'trial')
    """
    return ci if ci is not None else "speaker" if speakers else otherwise


def require_columns(
    ci: str,
    kinds: Sequence[str],
    speakers: Columns | None,
    recordings: Columns | None,
    *,
    trials: bool = False,
) -> None:
    """Refuse an unknown kind of interval, one without its columns, and columns it does not look at.

    ``trials`` says that a bootstrap without speakers draws trials.
    """
    one_of(ci, kinds, "ci")
    by_speaker = ci in ("speaker", "bootstrap")
    if by_speaker and not speakers and not (trials and ci == "bootstrap" and not recordings):
        raise InputError(
            f"ci={ci!r} needs the speakers of each trial: give speakers (--speakers), the names of one "
            "or two columns"
        )
    if (speakers and not by_speaker) or (recordings and ci != "bootstrap"):
        unused = "speakers" if speakers and not by_speaker else "recordings"
        raise InputError(f"ci={ci!r} ignores {unused}; use another kind of interval, or leave {unused} out")


@dataclass(frozen=True, eq=False)
class _SpeakerValues(UnweightedSummary):
    values: frozenset[Hashable]
    targets_cross: bool
    links: frozenset[tuple[Hashable, Hashable]]
    """Each value with another one that some chain of trials connects it with."""

    @classmethod
    def at(cls, columns: tuple[str, ...]) -> Callable[[Scores], _SpeakerValues]:
        def make(chunk: Scores) -> _SpeakerValues:
            values = list(ValueCounts.of(chunk, *columns).counts)
            if len(columns) == 1:
                return cls(frozenset(values), False, frozenset())
            here = {value: i for i, value in enumerate(values)}
            sides = [[numbered(chunk, name, i, here) for i in (0, 1)] for name in columns]
            joined = JoinedNumbers.of(len(values), *map(np.concatenate, sides))
            links = frozenset((value, values[i]) for value, i in zip(values, joined.lowest, strict=True))
            return cls(frozenset(values), bool((sides[0][0] != sides[1][0]).any()), links)

        return make

    def __add__(self, other: _SpeakerValues) -> _SpeakerValues:
        crossed = self.targets_cross or other.targets_cross
        return _SpeakerValues(self.values | other.values, crossed, self.links | other.links)


def blocks_of(joined: IntArray) -> tuple[int, ...]:
    """The block of each speaker, small ones put together; empty where there is one, or too many to be fixed.

    ``joined`` has for each speaker the lowest number of those that trials connect it with.

    Examples
    --------
    >>> blocks_of(np.array([0, 0, 0, 0, 0, 0, 6, 6, 6, 6, 6]))
    (0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1)
    >>> blocks_of(np.array([0, 0, 0, 3, 3, 3]))
    ()
    """
    sizes = np.bincount(joined)
    large = [int(one) for one in np.argsort(-sizes, kind="stable") if sizes[one] >= FEWEST_IN_BLOCK]
    rest = len(joined) - int(sizes[large].sum())
    if len(large) > MOST_BLOCKS or len(large) + (rest >= FEWEST_IN_BLOCK) < 2:
        return ()
    # a few left over are too few for a block of their own
    other = len(large) if rest >= FEWEST_IN_BLOCK else 0
    place = {one: i for i, one in enumerate(large)}
    found = [place.get(one, other) for one in joined.tolist()]
    numbers = {block: i for i, block in enumerate(dict.fromkeys(found))}
    return tuple(numbers[block] for block in found)


def count_blocks(blocks: tuple[int, ...]) -> int:
    """How many blocks there are; no numbers of blocks stand for a single one.

    Examples
    --------
    >>> count_blocks((0, 0, 1, 1, 2)), count_blocks(())
    (3, 1)
    """
    return max(blocks, default=0) + 1


def centered(values: FloatArray, blocks: tuple[int, ...]) -> FloatArray:
    """Values by speaker less their mean in each block, with the sum of squares one mean would leave.

    Examples
    --------
    >>> centered(np.array([1.0, 2.0, 3.0]), ())
    array([-1.,  0.,  1.])
    >>> apart = centered(np.array([1.0, 2.0, 3.0, 11.0, 12.0, 13.0]), (0, 0, 0, 1, 1, 1))
    >>> round(float((apart**2).sum()), 6)  # 4 times 3/2 for the means of two blocks, less 5/6 for one
    5.0
    """
    if not blocks:
        return np.asarray(values - values.mean(axis=0))
    result, n = np.array(values), len(values)
    place = np.asarray(blocks)
    for block in range(count_blocks(blocks)):
        own = place == block
        size = float(own.sum())
        # each block takes a degree of freedom; scaled so that the caller's n (n - 1) is right for all of them
        scale = math.sqrt(size / (size - 1.0) * (n - 1.0) / n)
        result[own] = scale * (values[own] - values[own].mean(axis=0))
    return result


def centered_pairs(values: FloatArray, blocks: tuple[int, ...]) -> FloatArray:
    """Values by pair of speakers (the last two axes) less their mean over the pairs in each block.

    Examples
    --------
    >>> pairs = np.array([[[5.0, 1.0], [3.0, 5.0]]])
    >>> centered_pairs(pairs, (0, 0))
    array([[[ 5., -1.],
            [ 1.,  5.]]])
    """
    result, place = np.array(values), np.asarray(blocks)
    # trials within a speaker are no pairs
    same = (place[:, None] == place[None, :]) & ~np.eye(len(place), dtype=bool)
    for block in range(count_blocks(blocks)):
        own = same & (place == block)[:, None]
        result[:, own] -= values[:, own].mean(axis=1, keepdims=True)
    return result


@dataclass(frozen=True, eq=False)
class Contributions:
    """What each trial adds to several sums.

    Examples
    --------
    >>> powers = Contributions(2, lambda scores, class_index: [scores, scores**2])
    >>> powers.of(np.array([1.0, 3.0]), 0), powers.columns(0)
    ([array([1., 3.]), array([1., 9.])], (0, 1))
    """

    size: int
    """Number of sums."""
    of: Callable[[Array, int], list[FloatArray]]
    """From the scores of a class (0: targets, 1: non-targets) to what each adds to each sum of the class."""
    by_class: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    """The sums to which the trials of each class add anything; None if both add to all."""

    def columns(self, class_index: int) -> tuple[int, ...]:
        """The sums to which trials of a class add anything."""
        return tuple(range(self.size)) if self.by_class is None else self.by_class[class_index]


NO_SUMS = Contributions(0, lambda values, class_index: [])
"""Trials are counted only."""


@dataclass(frozen=True, eq=False)
class Covariance:
    """Covariance matrices of sums over trials."""

    independent: FloatArray
    """If trials were independent."""
    by_speaker: FloatArray | None
    """Trials that share a speaker depend on each other; None where no speakers were given."""
    without_pairs: FloatArray | None
    """The same without taking out the pairs of speakers: too large, never too small."""
    n_compared: float
    """Speakers, or groups of them, that are compared with each other; 0 where none were given."""

    def variance(self, coefficients: FloatArray) -> float:
        """Variance of a linear combination of the sums."""
        own = quadratic(self.independent, coefficients)
        if self.by_speaker is None or self.without_pairs is None:
            return own
        by_speaker = quadratic(self.by_speaker, coefficients)
        # in very small sets taking the pairs out may leave nothing or less: then they stay in
        # a tenth of the independent variance, see docs/notes/decisions-statistics.md
        return by_speaker if by_speaker > 0.1 * own else quadratic(self.without_pairs, coefficients)

    def share_without_pairs(self, coefficients: FloatArray) -> float:
        """What is left of the sum of squares over speakers when no pair of them counts twice."""
        if self.without_pairs is None:
            return 1.0
        whole = quadratic(self.without_pairs, coefficients)
        return self.variance(coefficients) / whole if whole > 0.0 else 1.0


def quadratic(matrix: FloatArray, c: FloatArray) -> float:
    """``c^T matrix c``."""
    return float(c @ matrix @ c)


def covariance(
    source: ScoreSource,
    contributions: Contributions,
    speakers: Speakers | None = None,
    *,
    diagonal: bool = False,
) -> Covariance:
    """Covariance of sums over trials, from one pass.

    The speaker variances are multiplied by S / (S - 1), S being the number of speakers, or of groups of
    them. ``diagonal`` leaves out the covariances between sums over independent trials, which many sums would
    make costly.
    """
    groups = None if speakers is None else speakers.grouped()
    wide = source if groups is None else source.with_columns(*groups.columns)

    def summarize(chunk: Scores) -> InfluenceSums:
        target, nontarget = (
            _influence_sums_of_class(chunk, i, contributions, groups, diagonal) for i in (0, 1)
        )
        return target + nontarget

    return covariance_of(wide.reduce(summarize), contributions.columns, groups)


def covariance_of(
    sums: InfluenceSums, columns: Callable[[int], tuple[int, ...]], speakers: Speakers | None
) -> Covariance:
    """The covariance that sums of one pass give; ``columns`` are those of each class."""
    if speakers is None:
        return Covariance(sums.trials, None, None, 0)
    n = speakers.n
    # sums by speaker are estimates from S of them; without the factor coverage with 20 speakers is lower
    factor = n / (n - 1.0)
    kept = pair_columns(columns, speakers)
    table = sums.pairs.reshape(len(kept), n, n)
    within = np.einsum("kpp->kp", table)
    by_speaker = sums.speakers.copy()
    # row and column of a speaker, less the diagonal that is in both
    by_speaker[kept] += table.sum(axis=1) + table.sum(axis=2) - within
    either = table + table.transpose(0, 2, 1)
    if speakers.blocks:
        by_speaker = centered(by_speaker.T, speakers.blocks).T
        either = centered_pairs(either, speakers.blocks)
    without = (by_speaker @ by_speaker.T) * factor
    # a pair in either order; what is within a speaker does not count twice
    either = either.reshape(len(kept), n * n)
    # either holds each pair twice and the diagonal doubled (4 within^2, halved to 2)
    pairs = 0.5 * (either @ either.T) - 2.0 * (within @ within.T)
    less = without.copy()
    less[np.ix_(kept, kept)] -= pairs * factor
    return Covariance(sums.trials, less, without, speakers.n_compared)


def pair_columns(columns: Callable[[int], tuple[int, ...]], speakers: Speakers) -> list[int]:
    """The sums for which pairs must be kept: targets are between a speaker and itself, nearly always."""
    classes = (0, 1) if speakers.targets_cross else (1,)
    return sorted({column for i in classes for column in columns(i)})


@dataclass(frozen=True, eq=False)
class InfluenceSums(SummaryBase):
    """Sums of products over trials, and sums for each speaker or, where trials are between two, each pair."""

    trials: FloatArray
    speakers: FloatArray
    """By number of the sum and speaker, of the class whose trials are within one speaker."""
    pairs: FloatArray
    """By number of the sum and pair ``first * n + second``, equal for trials within a speaker."""

    def __add__(self, other: InfluenceSums) -> InfluenceSums:
        return InfluenceSums(
            self.trials + other.trials, self.speakers + other.speakers, self.pairs + other.pairs
        )

    def __mul__(self, weight: float) -> InfluenceSums:
        # products over trials carry the weight twice
        return InfluenceSums(self.trials * weight**2, self.speakers * weight, self.pairs * weight)


def _influence_sums_of_class(
    chunk: Scores, class_index: int, contributions: Contributions, speakers: Speakers | None, diagonal: bool
) -> InfluenceSums:
    """Of the trials of one class; without speakers only the sums of products are made."""
    values, columns = (chunk.target, chunk.nontarget)[class_index], contributions.columns(class_index)
    size, n = contributions.size, speakers.n if speakers is not None else 0
    trials, sums = np.zeros((size, size)), np.zeros((size, n))
    crossed = speakers is not None and (class_index == 1 or speakers.targets_cross)
    kept = pair_columns(contributions.columns, speakers) if speakers is not None else []
    pairs = np.zeros((len(kept), n * n))
    if speakers is not None:
        first, second = speakers.of(chunk, class_index)
        # by number of the pair; within one speaker the second is nobody
        keys = np.asarray(first * n + np.where(second == n, first, second)) if crossed else first
    # blocks no smaller than the table, which is added up for each
    # tables of pairs are n^2 long; small blocks would spend their time adding them up
    for block in blocks(len(values), max(BLOCK, n * n if crossed else 0)):
        arrays = contributions.of(values[block], class_index)
        for k, (i, a) in enumerate(zip(columns, arrays, strict=True)):
            # einsum, not dot: BLAS would start threads of its own inside our pool
            trials[i, i] += float(np.einsum("n,n->", a, a))
            for j, b in () if diagonal else zip(columns[:k], arrays[:k], strict=True):
                product = float(np.einsum("n,n->", a, b))
                trials[i, j] += product
                trials[j, i] += product
            if crossed:
                pairs[kept.index(i)] += np.bincount(keys[block], a, minlength=n * n)
            elif speakers is not None:
                sums[i] += np.bincount(keys[block], a, minlength=n)
    return InfluenceSums(trials, sums, pairs)


@dataclass(frozen=True, eq=False)
class CellSet(ReadOnlyArrays):
    """What is known of one set of trials: counts of each class by cell, and sums of contributions."""

    cuts: FloatArray
    counts: tuple[Counts, Counts]
    """For targets and non-targets; cell ``i`` holds the scores with ``i`` cuts at or below them."""
    sums: FloatArray
    """By class and number of the sum."""

    @property
    def n(self) -> tuple[float, float]:
        """Number (or weight) of targets and of non-targets."""
        return self.counts[0].sum().item(), self.counts[1].sum().item()

    @property
    def means(self) -> FloatArray:
        """Mean contribution of the trials of each class to each sum."""
        return np.asarray(self.sums / np.array(self.n)[:, None])

    @property
    def p_miss(self) -> FloatArray:
        """Miss rate at each cut."""
        return np.asarray(np.cumsum(self.counts[0])[:-1] / self.n[0])

    @property
    def p_fa(self) -> FloatArray:
        """False-alarm rate at each cut."""
        return np.asarray(1.0 - np.cumsum(self.counts[1])[:-1] / self.n[1])

    def bins(self) -> ScoreBins:
        """The cells that hold a trial, as bins of equal scores."""
        target, nontarget = self.counts
        filled = np.flatnonzero((target > 0) | (nontarget > 0))
        low = np.concatenate([[-np.inf], self.cuts])[filled]
        return ScoreBins(target[filled], nontarget[filled], low, low)


@dataclass(frozen=True, eq=False)
class SpeakerCells(FieldwiseSums):
    """Counts by class, speaker and cell of the score, and sums of contributions by class and speaker.

    The last row of ``target`` and ``nontarget``, and the last column of ``sums``, are those of all trials.
    """

    cuts: FloatArray
    target: Counts
    nontarget: Counts
    sums: FloatArray
    blocks: tuple[int, ...] = ()
    """Of the speakers, see :class:`Speakers`."""
    _alike: ClassVar[tuple[str, ...]] = ("cuts", "blocks")

    def joined(self, cuts: FloatArray) -> SpeakerCells:
        """The same trials in fewer cells, between some of the cuts only."""
        # cut i begins cell i + 1
        starts = np.concatenate([[0], np.searchsorted(self.cuts, cuts) + 1])
        target, nontarget = (np.add.reduceat(rows, starts, axis=1) for rows in (self.target, self.nontarget))
        return replace(self, cuts=cuts, target=target, nontarget=nontarget)

    @property
    def n_speakers(self) -> int:
        """Number of speakers, or of groups of them."""
        return len(self.target) - 1

    @property
    def counts(self) -> tuple[Counts, Counts]:
        """By class: (speaker, cell), without the row of all trials."""
        return self.target[:-1], self.nontarget[:-1]

    @property
    def total(self) -> CellSet:
        """All trials."""
        return CellSet(self.cuts, (self.target[-1], self.nontarget[-1]), self.sums[:, :, -1])

    def without(self, speaker: int) -> CellSet:
        """All trials but those of one speaker; sums that are infinite are not known without one of them."""
        every, own = self.sums[:, :, -1], self.sums[:, :, speaker]
        known = np.isfinite(every)
        return CellSet(
            self.cuts,
            (self.target[-1] - self.target[speaker], self.nontarget[-1] - self.nontarget[speaker]),
            # inf - inf would be nan with a warning; here it is nan on purpose
            np.where(known, np.where(known, every, 0.0) - np.where(known, own, 0.0), np.nan),
        )

    def __iter__(self) -> Iterator[CellSet]:
        """The sets without each of the speakers."""
        return (self.without(speaker) for speaker in range(self.n_speakers))

    @property
    def effective_speakers(self) -> tuple[float, float]:
        """By class, how many speakers with equally many trials would be as unequal: (sum n)^2 / sum n^2."""
        sizes = [rows.sum(axis=1).astype(np.float64) for rows in self.counts]
        target, nontarget = (float(n.sum() ** 2 / np.square(n).sum()) if n.any() else 0.0 for n in sizes)
        return target, nontarget


def speaker_cells(
    source: ScoreSource, speakers: Speakers, cuts: ArrayLike = (), contributions: Contributions = NO_SUMS
) -> SpeakerCells:
    """Counts and sums by speaker; one pass.

    Examples
    --------
    >>> from llrkit.trust.speakers import find_speakers
    >>> columns = {"left": (["a", "b"], ["a", "b"]), "right": (["a", "b"], ["b", "c"])}
    >>> scores = Scores([1.0, 3.0], [0.0, 2.0], columns)
    >>> cells = speaker_cells(scores, find_speakers(scores, ("left", "right")), cuts=[2.0])
    >>> cells.total.counts, cells.without(0).counts
    ((array([1, 1]), array([1, 1])), (array([0, 1]), array([0, 1])))
    """
    finder = CellFinder(np.unique(np.asarray(cuts, dtype=np.float64)))

    def summarize(chunk: Scores) -> SpeakerCells:
        (target, t_sums), (nontarget, n_sums) = (
            _class_by_speaker(chunk, i, finder, speakers, contributions) for i in (0, 1)
        )
        return SpeakerCells(finder.cuts, target, nontarget, np.stack([t_sums, n_sums]), speakers.blocks)

    return source.with_columns(*speakers.columns).reduce(summarize)


def _class_by_speaker(
    chunk: Scores, class_index: int, finder: CellFinder, speakers: Speakers, terms: Contributions
) -> tuple[IntArray, FloatArray]:
    """Counts by (speaker, cell) and sums by (sum, speaker) of one class; all trials come last."""
    values = (chunk.target, chunk.nontarget)[class_index]
    n, width = speakers.n, finder.n_cells
    first, second = speakers.of(chunk, class_index)
    size = (n + 1) * width
    counts, total = np.zeros(size, dtype=np.int64), np.zeros(width, dtype=np.int64)
    sums, all_sums = np.zeros((terms.size, n + 1)), np.zeros(terms.size)
    # blocks no smaller than the table, which is added up for each
    for block in blocks(len(values), max(BLOCK, size)):
        cell, one, other = finder(values[block]), first[block], second[block]
        total += np.bincount(cell, minlength=width)
        counts += np.bincount(one * width + cell, minlength=size)
        counts += np.bincount(other * width + cell, minlength=size)
        arrays = terms.of(values[block], class_index)
        for column, array in zip(terms.columns(class_index), arrays, strict=True):
            sums[column] += np.bincount(one, array, minlength=n + 1)
            sums[column] += np.bincount(other, array, minlength=n + 1)
            all_sums[column] += array.sum()
    # in the last row there was nobody, the second speaker of trials within one
    table = counts.reshape(n + 1, width)
    table[n], sums[:, n] = total, all_sums
    return table, sums


def quantile(level: float, df: float = math.inf) -> float:
    """Half-width of a two-sided interval in standard errors: normal, or Student t.

    Examples
    --------
    >>> round(quantile(0.95), 4), round(quantile(0.95, 9), 4)
    (1.96, 2.2622)
    """
    from scipy.special import ndtri, stdtrit

    upper = 0.5 + 0.5 * probability(level, "level")
    return float(ndtri(upper) if math.isinf(df) else stdtrit(df, upper))


def on_log_scale(value: float, error: float) -> tuple[float, float]:
    """``value`` times and divided by ``exp(error / value)``: never below zero.

    Examples
    --------
    >>> on_log_scale(1.0, math.log(2.0))
    (0.5, 2.0)
    """
    factor = math.exp(min(error / value, 700.0))
    return value / factor, value * factor


def on_logit_scale(rate: float, error: float) -> tuple[float, float]:
    """A rate moved by ``error`` to either side on the logit scale: never outside 0 to 1.

    Examples
    --------
    >>> low, high = on_logit_scale(0.5, 0.25)
    >>> round(low + high, 12), round(low, 4)
    (1.0, 0.2689)
    """
    step = math.exp(min(error / (rate * (1.0 - rate)), 700.0))
    # in odds, where moving by a factor stays inside 0 to 1 without overflow
    odds = rate / (1.0 - rate)
    return odds / (odds + step), odds * step / (1.0 + odds * step)


def clopper_pearson(errors: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Exact interval of a rate, from the number of errors among independent trials.

    The rates at which so few, and so many, errors have a chance of ``(1 - level) / 2`` (Clopper & Pearson
    1934): it covers at least as often as it says.

    Examples
    --------
    >>> low, high = clopper_pearson(0, 100)
    >>> low, round(high, 6), round(1 - 0.025 ** (1 / 100), 6)
    (0.0, 0.036217, 0.036217)
    """
    if n < 1 or not 0 <= errors <= n:
        raise InputError(f"{errors!r} errors among {n!r} trials: expected 0 <= errors <= n, n at least 1")
    low, high, _ = exact_limits(np.array([float(errors)]), n, probability(level, "level"))
    return float(low[0]), float(high[0])


def exact_limits(
    errors: FloatArray, n: FloatArray | float, level: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Both ends of Clopper and Pearson's interval, and the one-sided upper bound at the same level.

    Numbers of errors and of trials need not be whole: effective numbers are not.

    Examples
    --------
    >>> _, _, bound = exact_limits(np.array([0.0]), 100.0, 0.95)
    >>> round(float(bound[0]), 6), round(1 - 0.05 ** (1 / 100), 6)
    (0.029513, 0.029513)
    """
    from scipy.special import betaincinv

    tail = 0.5 - 0.5 * level
    # betaincinv needs positive arguments also where np.where discards its result
    below, above = np.maximum(errors, 1e-9), np.maximum(n - errors, 1e-9)
    low = np.where(errors > 0.0, betaincinv(below, n - errors + 1.0, tail), 0.0)
    high, bound = (
        np.where(errors < n, betaincinv(errors + 1.0, above, chance), 1.0) for chance in (1.0 - tail, level)
    )
    return low, high, bound


def two_sided_p(value: float, error: float, df: float = math.inf) -> float:
    """Probability of a value at least as far from 0, given its standard error: normal, or Student t.

    Examples
    --------
    >>> round(two_sided_p(0.2, 0.1), 4), two_sided_p(0.0, 0.0), two_sided_p(0.1, 0.0)
    (0.0455, 1.0, 0.0)
    """
    from scipy.special import ndtr, stdtr

    if error == 0.0:
        return 1.0 if value == 0.0 else 0.0
    z = -abs(value) / error
    return 2.0 * float(ndtr(z) if math.isinf(df) else stdtr(df, z))
