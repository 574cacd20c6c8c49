"""Sources made of others: with weights, other scores or other groups; and scores given with their labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Generic, Protocol, Self, TypeAlias, TypeVar

import numpy as np

from llrkit.base.arguments import Array, BoolArray, FloatArray, Numbers, SupportsArray
from llrkit.base.process import cached_property
from llrkit.errors import InputError
from llrkit.scores.arrays import Scores, frozen
from llrkit.scores.classes import ClassVectors
from llrkit.scores.labels import column_names
from llrkit.scores.source import Roles, S, ScoreSource, WrappedSource

ChunkBelow = TypeVar("ChunkBelow")
Chunk = TypeVar("Chunk")
ChunkGiven = TypeVar("ChunkGiven", covariant=True)


class ChunkSource(Protocol[ChunkGiven]):
    """What a source of any kind of chunk can do: of two classes, of several, of three kinds of trials."""

    def reduce(self, summarize: Callable[[ChunkGiven], S]) -> S:
        """Summarize every chunk and merge the summaries."""
        ...

    def with_columns(self, *names: str) -> ChunkSource[ChunkGiven]:
        """The same trials, each chunk carrying these columns."""
        ...


@dataclass(frozen=True, eq=False)
class ChangedChunks(Generic[ChunkBelow, Chunk]):
    """The trials of another source after a change of every chunk, whatever kind of chunk they are.

    ``change`` keeps the columns of the trials that stay; ``needs`` are the columns it looks at.
    """

    source: ChunkSource[ChunkBelow]
    change: Callable[[ChunkBelow], Chunk]
    needs: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()

    def reduce(self, summarize: Callable[[Chunk], S]) -> S:
        """Change every chunk, then summarize it; a chunk may have nothing left."""
        return self._wide.reduce(lambda chunk: summarize(self.change(chunk)))

    def with_columns(self, *names: str) -> Self:
        """The same trials carrying these columns."""
        self.source.with_columns(*names)  # a name that does not exist is refused here already
        return replace(self, carried=names)

    @cached_property
    def _wide(self) -> ChunkSource[ChunkBelow]:
        """The source below with the columns it takes; kept, because it may keep what it has read."""
        names = tuple(dict.fromkeys((*self.carried, *self.needs)))
        return self.source.with_columns(*names) if names else self.source


@dataclass(frozen=True)
class DerivedSource(ChangedChunks[Scores, Scores], WrappedSource):
    """The trials of another source after a change: some of them only, or with other scores.

    Parameters
    ----------
    change
        What becomes of a chunk; it keeps the columns of the trials that stay.
    needs
        The columns that ``change`` looks at.
    score
        The names of the systems, where ``change`` makes other ones.

    Examples
    --------
    >>> scores = Scores([1.0, 4.0], [0.0, 2.0])
    >>> doubled = DerivedSource(scores, lambda chunk: Scores.part(2 * chunk.target, 2 * chunk.nontarget))
    >>> from llrkit.core.summaries import Moments
    >>> doubled.reduce(Moments.of).target.mean
    array([5.])
    """

    source: ScoreSource
    score: tuple[str, ...] | None = None
    """Names of the systems after the change, where it does not leave them as they are."""
    factor: float | None = None
    """What scores of the file were multiplied by, where the change makes that meaningless."""
    calibrated: bool = False
    """Whether the change makes LLRs of scores; known to be so, they are not calibrated again by mistake."""

    @property
    def roles(self) -> Roles:
        """Those of the source below, with the systems and the columns there are here."""
        roles = super().roles
        if self.score is not None:
            roles = replace(roles, score=self.score)
        return (
            roles if self.factor is None else replace(roles, factor=self.factor, calibrated=self.calibrated)
        )

    def __post_init__(self) -> None:
        as_source(self.source)  # refuses what is not a source

    @cached_property
    def _wide(self) -> ScoreSource:
        names = tuple(dict.fromkeys((*self.carried, *self.needs)))
        # the source itself, with what it has read, sorted or counted already
        if not names or self.source.roles.carried == names:
            return self.source
        return self.source.with_columns(*names)

    @cached_property
    def _in_memory(self) -> Scores:
        parts = self.reduce(GatheredChunks.of).parts
        # chunks come in their order, so trials keep theirs
        target, nontarget = (
            frozen(np.concatenate([getattr(part, name) for part in parts]))
            for name in ("target", "nontarget")
        )
        whole = Scores.part(target, nontarget)
        return whole.read_with(self.roles.factor, self.roles.calibrated, self.roles.score)

    def scores(self) -> Scores:
        """All trials in memory, those of each class in their order.

        Examples
        --------
        >>> import llrkit as lk
        >>> scores = lk.Scores([2.0, 4.0], [0.0, 2.0])
        >>> lk.fit_cmlg(scores).on(scores).scores().target
        array([0., 4.])
        """
        return self._in_memory

    @property
    def target(self) -> Array:
        """Scores of the targets, brought into memory."""
        return self._in_memory.target

    @property
    def nontarget(self) -> Array:
        """Scores of the non-targets, brought into memory."""
        return self._in_memory.nontarget


def chosen_systems(chunk: Scores, places: Sequence[int]) -> Scores:
    """The scores of some systems, in this order; those of one system have one shape everywhere."""
    if chunk.n_systems == 1:
        return chunk
    which = list(places) if len(places) > 1 else places[0]
    return Scores.part(chunk.target[:, which], chunk.nontarget[:, which], chunk.columns, chunk.categories)


@dataclass(frozen=True)
class GatheredChunks:
    """Chunks in their order; merging copies nothing."""

    parts: tuple[Scores, ...]

    @classmethod
    def of(cls, chunk: Scores) -> GatheredChunks:
        """A chunk by itself."""
        return cls((chunk,))

    def __add__(self, other: GatheredChunks) -> GatheredChunks:
        return GatheredChunks(self.parts + other.parts)

    def __mul__(self, weight: float) -> GatheredChunks:
        raise InputError("weighted trials are counted, not held: their scores cannot be brought into memory")


MOST_WEIGHTS = 1000
"""Each weight costs a summary of the trials that have it."""
LIGHTEST, HEAVIEST = 1e-50, 1e50
"""Metrics multiply sums of weights, up to the fourth power; beyond, these are 0 or infinite."""
WEIGHTS_IN_WORDS = "0 or between 1e-50 and 1e50"


def weigh(source: ScoreSource, column: str) -> WeightedSource:
    """The same trials, each counting as often as a column says: twice, not at all, or for a half.

    Trials of the same weight are summarized together and the summary is multiplied, so every metric and every
    fit that is made of sums takes weights. ``Trials`` and ``scan_trials`` have a role for it.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`.
    column
        Column that says how often each trial counts.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([1.0, 2.0, -1.0], [0.0, -2.0], {"times": ([1, 1, 2], [1, 1])})
    >>> lk.auc(scores), lk.auc(lk.scores.weigh(scores, "times"))
    (0.8333333333333334, 0.75)
    """
    as_source(source).with_columns(column)  # a name that does not exist is refused here already
    return WeightedSource(source, column)


@dataclass(frozen=True)
class WeightedSource(WrappedSource):
    """The trials of another source, counted as often as a column says."""

    source: ScoreSource
    weight: str
    carried: tuple[str, ...] = ()

    @property
    def roles(self) -> Roles:
        """Those of the source below, and the weight."""
        return replace(super().roles, weight=self.weight)

    def reduce(self, summarize: Callable[[Scores], S]) -> S:
        """Summarize the trials of each weight, and multiply."""
        wide = self.source.with_columns(*dict.fromkeys((*self.carried, self.weight)))
        return wide.reduce(weighted(summarize, self.weight))

    def with_columns(self, *names: str) -> WeightedSource:
        """The same trials carrying these columns."""
        return replace(self, carried=names)


def weighted(summarize: Callable[[Scores], S], column: str) -> Callable[[Scores], S]:
    """A summarizer that counts every trial as often as a column says.

    Examples
    --------
    >>> from llrkit.core.summaries import Moments
    >>> scores = Scores([1.0, 4.0], [0.0], {"w": ([2, 1], [1])})
    >>> scores.reduce(weighted(Moments.of, "w")).target.mean
    array([2.])
    """

    def make(chunk: Scores) -> S:
        target, nontarget = (_weight_numbers(chunk, column, side) for side in (0, 1))
        values = np.unique(np.concatenate([target, nontarget]))
        if len(values) > MOST_WEIGHTS:
            raise InputError(
                f"column {column!r}: more than {MOST_WEIGHTS:,} different weights; round them to fewer"
            )
        # weight 0 is left out: its trials are not there
        parts = [
            summarize(chunk.select(target == value, nontarget == value)) * float(value)
            for value in values if value > 0
        ]  # fmt: skip
        # a chunk without any weight still has to give a summary to add
        return reduce(add, parts) if parts else summarize(chunk.select(slice(0), slice(0)))

    return make


def _weight_numbers(chunk: Scores, column: str, side: int) -> Array:
    """The weights of one class; columns of text are codes with the words they stand for."""
    values, words = chunk.columns[column][side], chunk.categories.get(column)
    try:
        if any(isinstance(word, bytes) for word in words or ()) or values.dtype.kind in "mMS":
            raise TypeError("bytes or dates")  # which would be read as numbers
        given = values if words is None else np.array(words, dtype=object)[values]
        numbers = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"column {column!r}: weights must be numbers, got {list(words or values)[:3]}"
        ) from None
    bad = ~acceptable_weights(numbers)
    if bad.any():
        raise InputError(
            f"column {column!r}: weights must be numbers, each {WEIGHTS_IN_WORDS}, got {numbers[bad][0]:g}"
        )
    return numbers


def acceptable_weights(weights: FloatArray) -> BoolArray:
    """Which weights can be used: 0, and those whose sums and products are still numbers.

    Examples
    --------
    >>> acceptable_weights(np.array([0.0, 0.5, 1e-170, -1.0, np.nan])).tolist()
    [True, True, False, False, False]
    """
    with np.errstate(invalid="ignore"):  # NaN compares as false
        return np.asarray((weights == 0.0) | ((weights >= LIGHTEST) & (weights <= HEAVIEST)))


@dataclass(frozen=True, eq=False)
class WeightedClasses:
    """The trials of several classes, each counted as often as a column of positive numbers says.

    As :func:`llrkit.scores.weigh` does for two classes: trials of the same weight are summarized
    together, and the summary is multiplied.

    Examples
    --------
    >>> from llrkit.multiclass.metrics import ClassCounts
    >>> trials = ClassVectors([[0.0], [1.0], [2.0]], ["a", "b", "b"], columns={"times": [1.0, 2.0, 3.0]})
    >>> WeightedClasses(trials, "times").reduce(ClassCounts.of).n.tolist()
    [1.0, 5.0]
    """

    trials: ClassVectors
    weight: str
    carried: tuple[str, ...] = ()

    def reduce(self, summarize: Callable[[ClassVectors], S]) -> S:
        """Summarize the trials of each weight, and multiply."""
        column = self.weight
        # of all trials: a chunk may hold few of the weights
        if len(np.unique(self.trials.columns[column])) > MOST_WEIGHTS:
            raise InputError(f"{column}: more than {MOST_WEIGHTS:,} different weights; round them to fewer")

        def make(chunk: ClassVectors) -> S:
            weights = chunk.columns[column]
            values = np.unique(weights)
            if len(values) == 1:  # no copy of the chunk
                return summarize(chunk) * float(values[0])
            return reduce(add, (summarize(chunk.take(weights == one)) * float(one) for one in values))

        return self.trials.with_columns(*dict.fromkeys((*self.carried, column))).reduce(make)

    def with_columns(self, *names: str) -> WeightedClasses:
        """The same trials carrying these columns."""
        return replace(self, carried=names)


ROLES = ("score", "label")
"""Columns that make trials of a table."""
SEVERAL_CLASSES = "; several classes are evaluated by lk.multiclass.evaluate"
NAMED_COLUMNS = "; a table with other columns than score and label is lk.Trials(table, score=..., label=...)"
A_PAIR_EACH = "; where two sets of trials are taken, each is a pair, (scores, labels)"
Labels: TypeAlias = "SupportsArray | Sequence[object]"
"""Labels of trials: an array, a list, a column of a table."""
AnyTrials: TypeAlias = "ScoreSource | Numbers | tuple[object, object] | Mapping[str, object]"
"""What may stand for trials: a source, an array of scores (with labels), a pair of both, or a table."""


def as_source(given: object, labels: object = None) -> ScoreSource:
    """The trials that were given in any way: a source, scores with their labels, a pair of both, or a table.

    Parameters
    ----------
    given
        A score source; an array of scores, with ``labels``; a pair ``(scores, labels)``; or a data frame, an
        Arrow table or a dict with the columns ``score`` and ``label``.
    labels
        The label of each score, where the first argument is an array. The usual spellings are known;
        :meth:`llrkit.Scores.from_labels` takes others.

    Examples
    --------
    >>> as_source([0.1, 2.0, 1.5], [0, 1, 1])
    Scores(2 target, 1 nontarget trials)
    >>> as_source({"score": [0.1, 2.0, 1.5], "label": [0, 1, 1]})
    Trials(3 rows: score, label)
    >>> as_source([1.5, -0.5])
    Traceback (most recent call last):
    llrkit.errors.InputError: expected trials, got list: give two arrays, (scores, labels), ...
    """
    if isinstance(given, Iterator):  # it can be read only once, and is looked at several times
        given = list(given)
    if labels is not None:
        if not _is_array(given) or not _is_array(
            labels := list(labels) if isinstance(labels, Iterator) else labels
        ):
            raise InputError(
                f"labels come with an array of scores, got {type(given).__name__} and "
                f"{type(labels).__name__}; everything but trials and labels is given by name"
            )
        return Scores.from_labels(given, labels)
    if isinstance(given, ScoreSource):
        return given
    if isinstance(given, tuple) and len(given) == 2 and all(map(_is_array, given)):
        return Scores.from_labels(*given)
    if set(ROLES) <= set(column_names(given)):
        from llrkit.scores.trials import Trials  # imports polars, which arrays alone do not need

        return Trials(given)
    raise InputError(
        f"expected trials, got {type(given).__name__}: give two arrays, (scores, labels), "
        "lk.Scores(target, nontarget), lk.Trials(table), lk.read_trials(path) or lk.scan_trials(path)"
        f"{_hint_on_source(given)}"
    )


def _hint_on_source(given: object) -> str:
    if hasattr(given, "classes"):
        return SEVERAL_CLASSES
    if isinstance(given, Mapping) or any(hasattr(given, name) for name in ("collect_schema", "columns")):
        return NAMED_COLUMNS
    return A_PAIR_EACH if hasattr(given, "__len__") and not isinstance(given, (str, tuple)) else ""


def _is_array(given: object) -> bool:
    """Whether something may hold scores or labels, and is not a source, a name or a table."""
    if isinstance(given, (ScoreSource, str, bytes, Mapping)):
        return False
    return any(hasattr(given, name) for name in ("__len__", "__array__", "__dlpack__", "collect_schema"))
