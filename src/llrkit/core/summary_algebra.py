"""The algebra of summaries: add and weight; two at once, one per group."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, Self, TypeAlias, TypeVar, cast, overload

import numpy as np

from llrkit._arrays import Array, IntArray
from llrkit.scores import Scores
from llrkit.scores.source import S, Summary

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


class FieldwiseSums(SummaryBase):
    """Summaries whose fields are all sums: they are added and weighted field by field."""

    __match_args__: ClassVar[tuple[str, ...]]

    def __add__(self, other: Self) -> Self:
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in self.__match_args__))

    def __mul__(self, weight: float) -> Self:
        return type(self)(*(getattr(self, name) * weight for name in self.__match_args__))


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
    >>> from llrkit.core.moments import Moments
    >>> from llrkit.core.loss_sums import LossSums
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


def grouped(summarize: Summarizer[S], column: str | Sequence[str]) -> Summarizer[Grouped[Hashable, S]]:
    """A summarizer that makes one summary for each value of ``column``, or each combination of several.

    Examples
    --------
    >>> from llrkit.core.moments import Moments
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
    target, nontarget = chunk.with_columns(column).columns[column]  # names a column that is missing
    values = np.unique(np.concatenate([np.unique(target), np.unique(nontarget)]))
    names = chunk.categories.get(column)
    chunks: dict[Hashable, Scores] = {}
    if len(values) == 0:
        return chunks
    t_positions, n_positions = _positions_of_groups(target, values), _positions_of_groups(nontarget, values)
    for value, t, n in zip(values, t_positions, n_positions, strict=True):
        key = names[value] if names is not None else value.item()
        key = None if key != key else key  # a missing number is a missing value, and equal to itself
        chunks[key] = chunk.select(t, n)
    return chunks


def _positions_of_groups(column: Array, values: Array) -> list[IntArray]:
    # a stable sort keeps the order of the trials within each group
    order = np.argsort(column, kind="stable")
    return np.split(order, np.searchsorted(column[order], values[1:]))
