"""Summaries that add up: several in one pass, one for each group, moments and a sample.

A summary holds what a metric needs to know of some trials. Those of two chunks are added with ``+``, and a
weight multiplies one, so a metric never sees how the trials were divided.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Generic, Self, TypeAlias, TypeVar, cast, overload

import numpy as np

from llrkit.base.arguments import Array, FloatArray
from llrkit.core.numerics import BLOCK, ScoreRows, blocks, score_rows
from llrkit.scores import Scores, Summary
from llrkit.scores.source import S

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
S2 = TypeVar("S2", bound=Summary)
S3 = TypeVar("S3", bound=Summary)
S4 = TypeVar("S4", bound=Summary)
Parts_co = TypeVar("Parts_co", bound=tuple[Summary, ...], covariant=True)
Summarizer: TypeAlias = Callable[[Scores], T]


class ReadOnlyArrays:
    """Shared by frozen dataclasses whose arrays cannot be written to either."""

    def __post_init__(self) -> None:
        # a frozen dataclass refuses setattr, its __dict__ does not
        own = vars(self)
        for name, value in own.items():
            if isinstance(value, np.ndarray) and value.flags.writeable:
                view = value.view()  # the array itself may be the user's
                view.flags.writeable = False
                own[name] = view

    def __setstate__(self, state: Mapping[str, object]) -> None:
        """Take the values of a pickle or copy, whose arrays could be written to."""
        self.__dict__.update(state)
        ReadOnlyArrays.__post_init__(self)


class SummaryBase(ReadOnlyArrays):
    """Shared by all summaries, which are frozen dataclasses of numbers, arrays and other summaries."""


class UnweightedSummary(SummaryBase):
    """Summaries of what occurs, not of how often: a weight does not change them."""

    def __mul__(self, weight: float) -> Self:
        return self


class FieldwiseSums(SummaryBase):
    """Summaries whose fields are sums, added and weighted one by one, but for those all chunks have alike."""

    __match_args__: ClassVar[tuple[str, ...]]
    _alike: ClassVar[tuple[str, ...]] = ()
    """The fields that say what was asked for (thresholds, the ends of a grid), not what was found."""

    def __add__(self, other: Self) -> Self:
        return self._of(lambda name: getattr(self, name) + getattr(other, name))

    def __mul__(self, weight: float) -> Self:
        return self._of(lambda name: getattr(self, name) * weight)

    def _of(self, value: Callable[[str], object]) -> Self:
        names = self.__match_args__
        return type(self)(*(getattr(self, name) if name in self._alike else value(name) for name in names))


def subclasses_of(cls: type[T]) -> Iterator[type[T]]:
    """All subclasses, and theirs."""
    for sub in cls.__subclasses__():
        yield sub
        yield from subclasses_of(sub)


@dataclass(frozen=True, eq=False)
class Both(SummaryBase, Generic[Parts_co]):
    """Several summaries of the same trials, made in one pass."""

    summaries: Parts_co

    def __add__(self, other: Self) -> Self:
        return self._of(a + b for a, b in zip(self.summaries, other.summaries, strict=True))

    def __mul__(self, weight: float) -> Self:
        return self._of(summary * weight for summary in self.summaries)

    def _of(self, summaries: Iterable[Summary]) -> Self:
        # as many as before, and each of the same class: more than a type checker can follow
        return type(self)(cast(Parts_co, tuple(summaries)))


@overload
def both(one: Summarizer[S], two: Summarizer[S2], /) -> Summarizer[Both[tuple[S, S2]]]: ...
@overload
def both(
    one: Summarizer[S], two: Summarizer[S2], three: Summarizer[S3], /
) -> Summarizer[Both[tuple[S, S2, S3]]]: ...
@overload
def both(
    one: Summarizer[S], two: Summarizer[S2], three: Summarizer[S3], four: Summarizer[S4], /
) -> Summarizer[Both[tuple[S, S2, S3, S4]]]: ...
@overload
def both(*summarize: Summarizer[S]) -> Summarizer[Both[tuple[S, ...]]]: ...
def both(*summarize: Summarizer[Summary]) -> Summarizer[Both[tuple[Summary, ...]]]:
    """One summarizer that makes several summaries of each chunk.

    Examples
    --------
    >>> from llrkit.core.losses import LossSums
    >>> moments, losses = Scores([1.0], [0.0]).reduce(both(Moments.of, LossSums.of)).summaries
    >>> moments.target.n
    1
    """
    return lambda chunk: Both(tuple(make(chunk) for make in summarize))


@dataclass(frozen=True, eq=False)
class Grouped(SummaryBase, Generic[K, S]):
    """One summary for each value of a column."""

    groups: dict[K, S]

    def __add__(self, other: Self) -> Self:
        merged = dict(self.groups)
        for key, summary in other.groups.items():
            merged[key] = merged[key] + summary if key in merged else summary
        return type(self)(merged)

    def __mul__(self, weight: float) -> Self:
        return type(self)({key: summary * weight for key, summary in self.groups.items()})


_LARGEST = 1e70
"""Fourth powers of smaller scores, and sums of them, do not overflow."""


@dataclass(frozen=True, eq=False)
class ClassMoments(SummaryBase):
    """Central moments of the finite scores of one class, for K systems.

    ``m2`` is the K x K matrix of sums of products of deviations from ``mean``; ``m3`` and ``m4`` are the
    sums of third and fourth powers for each system. Merging follows Pébay (2008).
    """

    n: float
    mean: FloatArray
    m2: FloatArray
    m3: FloatArray
    m4: FloatArray
    low: FloatArray
    high: FloatArray
    n_neg_inf: float = 0
    n_pos_inf: float = 0

    @classmethod
    def of(cls, values: Array) -> ClassMoments:
        """The moments of an array of scores of shape (n,) or (n, K)."""
        # the usual chunk: one system in one block, without scores whose fourth powers overflow
        if values.ndim == 1 and 0 < len(values) <= BLOCK:
            ends = float(values.min()), float(values.max())
            if max(abs(ends[0]), abs(ends[1])) < _LARGEST:
                center = float(np.add.reduce(values, dtype=np.float64)) / len(values)
                mean, m2, m3, m4, low, high = _central_of_few(values, center, ends)
                return cls(len(values), mean, m2, m3, m4, low, high)
        moments = cls._of_columns([values] if values.ndim == 1 else list(values.T))
        # infinite scores are looked for only where an extreme says that there are some
        if not len(values) or (np.isfinite(moments.low).all() and np.isfinite(moments.high).all()):
            return moments
        neg, pos = values == -np.inf, values == np.inf
        if values.ndim == 2:
            neg, pos = neg.any(axis=1), pos.any(axis=1)
        finite = values[~(neg | pos)]
        moments = cls._of_columns([finite] if finite.ndim == 1 else list(finite.T))
        # -inf of one system and inf of another count once
        return replace(moments, n_neg_inf=int((neg & ~pos).sum()), n_pos_inf=int(pos.sum()))

    @classmethod
    def _of_columns(cls, columns: list[Array]) -> ClassMoments:
        if len(columns[0]) == 0:
            none, k = np.zeros(len(columns)), len(columns)
            # neutral ends for min and max
            return cls(0, none, np.zeros((k, k)), none, none, none + np.inf, none - np.inf)
        with np.errstate(over="ignore", invalid="ignore"):
            # moments of scores beyond 1e75 are inf or nan; all that goes by order is still right
            # any center near the mean will do, and the first block costs no pass of its own
            guess = [float(column[:BLOCK].mean()) for column in columns]
            mean, m2, m3, m4, low, high = _central(columns, guess)
        return cls(len(columns[0]), mean, m2, m3, m4, low, high)

    def __add__(self, other: ClassMoments) -> ClassMoments:
        n = self.n + other.n
        n_neg_inf, n_pos_inf = self.n_neg_inf + other.n_neg_inf, self.n_pos_inf + other.n_pos_inf
        if self.n == 0 or other.n == 0:
            filled = other if self.n == 0 else self
            return replace(filled, n_neg_inf=n_neg_inf, n_pos_inf=n_pos_inf)
        with np.errstate(over="ignore", invalid="ignore"):
            # shares, so that products of two large numbers of trials are never formed
            a, b = self.n / n, other.n / n
            delta = other.mean - self.mean
            va, vb = np.diag(self.m2), np.diag(other.m2)
            return ClassMoments(
                n,
                self.mean + delta * b,
                self.m2 + other.m2 + np.outer(delta, delta) * (a * other.n),  # (a * other.n) is n_a n_b / n
                self.m3 + other.m3 + delta**3 * (a * other.n) * (a - b) + 3 * delta * (a * vb - b * va),
                self.m4 + other.m4 + delta**4 * (a * other.n) * (a * a - a * b + b * b)
                + 6 * delta**2 * (a * a * vb + b * b * va) + 4 * delta * (a * other.m3 - b * self.m3),
                np.minimum(self.low, other.low), np.maximum(self.high, other.high), n_neg_inf, n_pos_inf,
            )  # fmt: skip

    def __mul__(self, weight: float) -> ClassMoments:
        # weighting is repetition: sums grow with it, means and extremes do not
        return ClassMoments(
            self.n * weight, self.mean, self.m2 * weight, self.m3 * weight, self.m4 * weight,
            self.low, self.high, self.n_neg_inf * weight, self.n_pos_inf * weight,
        )  # fmt: skip

    @property
    def count(self) -> float:
        """All trials of the class, infinite scores included."""
        return self.n + self.n_neg_inf + self.n_pos_inf

    @property
    def n_infinite(self) -> float:
        """Trials with an infinite score."""
        return self.n_neg_inf + self.n_pos_inf

    @property
    def covariance(self) -> FloatArray:
        """Maximum-likelihood (1/N) covariance matrix of the systems."""
        return self.m2 / self.n

    @property
    def variance(self) -> FloatArray:
        """Maximum-likelihood (1/N) variance of each system."""
        return np.diag(self.m2) / self.n

    @property
    def skewness(self) -> FloatArray:
        """Third standardized moment of each system; 0 for a Gaussian, nan for equal scores."""
        return _ratio(self.m3 / self.n, self.variance**1.5)

    @property
    def excess_kurtosis(self) -> FloatArray:
        """Fourth standardized moment of each system, minus 3; 0 for a Gaussian, nan for equal scores."""
        return _ratio(self.m4 / self.n, self.variance**2) - 3.0


@dataclass(frozen=True, eq=False)
class Moments(FieldwiseSums):
    """Moments of both classes.

    Examples
    --------
    >>> moments = Moments.of(Scores([1.0, 3.0], [0.0, -2.0, 2.0]))
    >>> moments.target.mean, moments.nontarget.variance
    (array([2.]), array([2.66666667]))
    """

    target: ClassMoments
    nontarget: ClassMoments

    @classmethod
    def of(cls, scores: Scores) -> Moments:
        """The moments of the scores of a chunk."""
        rows = score_rows(scores)
        classes = zip(rows, (scores.target, scores.nontarget), strict=True)
        return cls(
            *(ClassMoments.of(values) if of is None else moments_of_rows(of) for of, values in classes)
        )

    def weighted(self, target: float, nontarget: float) -> Moments:
        """Count every target ``target`` times and every non-target ``nontarget`` times."""
        return Moments(self.target * target, self.nontarget * nontarget)

    @property
    def n_infinite(self) -> float:
        """Trials of both classes with an infinite score."""
        return self.target.n_infinite + self.nontarget.n_infinite

    @property
    def extremes(self) -> tuple[float, float]:
        """Smallest and largest finite score of both classes (first system)."""
        return (
            float(min(self.target.low[0], self.nontarget.low[0])),
            float(max(self.target.high[0], self.nontarget.high[0])),
        )


def moments_of_rows(rows: ScoreRows) -> ClassMoments:
    """The moments of one class of one system whose scores are in ascending order.

    Examples
    --------
    >>> moments_of_rows(ScoreRows(np.arange(129.0))).variance
    array([1386.66666667])
    """
    moments, n, length = ClassMoments.of(rows.last), rows.table.size, rows.length
    if n:
        d1, d2, d3, d4 = rows.powers
        with np.errstate(over="ignore", invalid="ignore"):
            center = float(rows.middle[len(rows.middle) // 2])  # near the median, so not far from the mean
            e = rows.middle - center
            square = e * e  # powers by multiplication: e**3 and e**4 would call pow() for each
            # powers of e + d, multiplied out, with the sums of d over each row
            m1 = (length * e + d1).sum()
            m2 = (length * square + 2 * e * d1 + d2).sum()
            m3 = (e * (length * square + 3 * (e * d1 + d2)) + d3).sum()
            m4 = (square * (length * square + 4 * e * d1 + 6 * d2) + 4 * e * d3 + d4).sum()
            of_rows = _about_mean(n, center, m1, m2, m3, m4)
        if not np.isfinite(of_rows[3]).all():  # beyond 1e75: infinite or nan, as one by one
            one_by_one = ClassMoments.of(rows.finite)
            return replace(one_by_one, n_neg_inf=rows.n_neg_inf, n_pos_inf=rows.n_pos_inf)
        ends = np.array([[rows.table[0, 0]], [rows.table[-1, -1]]], dtype=np.float64)
        moments = ClassMoments(n, *of_rows, *ends) + moments
    return replace(moments, n_neg_inf=rows.n_neg_inf, n_pos_inf=rows.n_pos_inf)


def _central(columns: list[Array], center: list[float]) -> tuple[FloatArray, ...]:
    """Mean, sums of products, of third and fourth powers of deviations, smallest and largest score.

    Deviations are taken from a guess of the mean and moved to the mean afterwards, which costs no digits
    as long as the guess is not far off; otherwise it is done again with a better one.
    """
    n, k = len(columns[0]), len(columns)
    m1, m2, m3, m4 = np.zeros(k), np.zeros((k, k)), np.zeros(k), np.zeros(k)
    low, high = np.full(k, np.inf), np.full(k, -np.inf)
    deviations, product = np.empty((k, min(n, BLOCK))), np.empty(min(n, BLOCK))
    for block in blocks(n):
        size = block.stop - block.start
        out = product[:size]
        # Products one pair at a time: a matrix product would call BLAS, whose threads fight ours.
        for i, column in enumerate(columns):
            block_values = column[block]
            low[i], high[i] = min(low[i], block_values.min()), max(high[i], block_values.max())
            d = np.subtract(block_values, center[i], out=deviations[i, :size], dtype=np.float64)
            m1[i] += d.sum()
            for j in range(i):
                m2[i, j] += np.multiply(d, deviations[j, :size], out=out).sum()
            m2[i, i] += np.multiply(d, d, out=out).sum()
            m3[i] += np.multiply(out, d, out=out).sum()
            m4[i] += np.multiply(out, d, out=out).sum()
    shift, square = m1 / n, np.diag(m2).copy()
    # the guess is off by more than a standard deviation: moving the moments to the mean would cost digits
    if np.any(n * shift**2 > 0.5 * square) and np.any(shift != 0.0) and np.isfinite(shift).all():
        better = [float(c + s) for c, s in zip(center, shift, strict=True)]
        if better != center:  # else rounding would have it tried forever
            return _central(columns, better)
    # only one triangle was summed
    m2 = np.tril(m2) + np.tril(m2, -1).T - np.outer(m1, m1) / n
    # m4 before m3, whose value about the guess it needs
    m4 = m4 - 4 * shift * m3 + 6 * shift**2 * square - 3 * n * shift**4
    m3 = m3 - 3 * shift * square + 2 * n * shift**3
    return center + shift, m2, m3, m4, low, high


def _central_of_few(values: Array, center: float, ends: tuple[float, float]) -> tuple[FloatArray, ...]:
    """The same sums for one system and one block around its mean, without what several need."""
    d = np.subtract(values, center, dtype=np.float64)
    power = d * d
    m1, m2 = np.add.reduce(d), np.add.reduce(power)
    m3 = np.add.reduce(np.multiply(power, d, out=power))
    m4 = np.add.reduce(np.multiply(power, d, out=power))
    low, high = np.array([[ends[0]], [ends[1]]])
    return *_about_mean(len(values), center, *map(float, (m1, m2, m3, m4))), low, high


def _about_mean(
    n: int, center: float, m1: float, m2: float, m3: float, m4: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Mean and central sums of one system from its sums about another point."""
    shift = m1 / n
    fourth = m4 - 4 * shift * m3 + 6 * shift**2 * m2 - 3 * n * shift**4
    third = m3 - 3 * shift * m2 + 2 * n * shift**3
    moved = np.array([center + shift, m2 - m1 * m1 / n, third, fourth])[:, None]
    return moved[0], moved[1:2], moved[2], moved[3]


def _ratio(a: FloatArray, b: FloatArray) -> FloatArray:
    usable = (b > 0) & np.isfinite(b) & np.isfinite(a)  # equal scores have no shape
    return np.asarray(np.divide(a, b, out=np.full(len(a), np.nan), where=usable))


@dataclass(frozen=True, eq=False)
class ClassSample(UnweightedSummary):
    """Every ``stride``-th trial of one class, at most ``cap`` of them."""

    values: FloatArray
    stride: int
    cap: int

    @classmethod
    def of(cls, values: Array, cap: int) -> ClassSample:
        """Thin an array."""
        return cls(values[:0].astype(np.float64), 1, cap)._with(values, 1)

    def _with(self, values: Array, stride: int) -> ClassSample:
        # strides are powers of two, so the larger is a multiple of the smaller
        common = max(self.stride, stride)
        own, more = self.values[:: common // self.stride], values[:: common // stride]
        # thinned, not drawn: the sample depends on the trials alone, and needs no generator
        while len(own) + len(more) > self.cap:
            own, more, common = own[::2], more[::2], 2 * common
        return ClassSample(np.concatenate([own, more.astype(np.float64)]), common, self.cap)

    def __add__(self, other: ClassSample) -> ClassSample:
        return self._with(other.values, other.stride)


@dataclass(frozen=True, eq=False)
class Sample(FieldwiseSums):
    """Some 8,000 targets and 65,000 non-targets, or all where there are fewer.

    Examples
    --------
    >>> Sample.of(Scores(np.arange(20000.0), [0.0, 1.0])).scores()
    Scores(5,000 target, 2 nontarget trials)
    """

    target: ClassSample
    nontarget: ClassSample

    @classmethod
    def of(cls, scores: Scores, n_target: int = 1 << 13, n_nontarget: int = 1 << 16) -> Sample:
        """A sample of a chunk."""
        return cls(ClassSample.of(scores.target, n_target), ClassSample.of(scores.nontarget, n_nontarget))

    def scores(self) -> Scores:
        """The sampled trials."""
        return Scores.part(self.target.values, self.nontarget.values)
