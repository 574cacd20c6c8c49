"""Trials that count more than once, or for a part: summaries are weighted value by value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import SupportsFloat

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array
from llrkit.errors import InputError
from llrkit.scores.arrays import Scores
from llrkit.scores.class_vectors import ClassVectors
from llrkit.scores.roles import Roles
from llrkit.scores.source import S, ScoreSource, WrappedSource, as_source

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
    >>> lk.auc(scores), lk.auc(lk.weigh(scores, "times"))
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
    >>> from llrkit.core.moments import Moments
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
        parts = [
            summarize(chunk.select(target == value, nontarget == value)) * float(value)
            for value in values if value > 0
        ]  # fmt: skip
        return reduce(add, parts) if parts else summarize(chunk.select(slice(0), slice(0)))

    return make


def _weight_number(word: object) -> float:
    if not isinstance(word, (str, SupportsFloat)):
        raise TypeError("not a number")
    return float(word)


def _weight_numbers(chunk: Scores, column: str, side: int) -> Array:
    """The weights of one class; columns of text are codes with the words they stand for."""
    values, words = chunk.columns[column][side], chunk.categories.get(column)
    try:
        if any(isinstance(word, bytes) for word in words or ()):
            raise TypeError("bytes")  # float() would read them
        given = values if words is None else np.array([_weight_number(word) for word in words])[values]
        if np.asarray(given).dtype.kind in "mMS":
            raise TypeError("dates")
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


def acceptable_weights(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Which weights can be used: 0, and those whose sums and products are still numbers.

    Examples
    --------
    >>> acceptable_weights(np.array([0.0, 0.5, 1e-170, -1.0, np.nan])).tolist()
    [True, True, False, False, False]
    """
    with np.errstate(invalid="ignore"):
        return np.asarray((weights == 0.0) | ((weights >= LIGHTEST) & (weights <= HEAVIEST)))


@dataclass(frozen=True, eq=False)
class WeightedClasses:
    """The trials of several classes, each counted as often as a column of positive numbers says.

    As :func:`llrkit.weigh` does for two classes: trials of the same weight are summarized together, and the
    summary is multiplied.

    Examples
    --------
    >>> from llrkit.multiclass.class_counts_and_priors import ClassCounts
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
        if len(np.unique(self.trials.columns[column])) > MOST_WEIGHTS:
            raise InputError(f"{column}: more than {MOST_WEIGHTS:,} different weights; round them to fewer")

        def make(chunk: ClassVectors) -> S:
            weights = chunk.columns[column]
            values = np.unique(weights)
            if len(values) == 1:
                return summarize(chunk) * float(values[0])
            return reduce(add, (summarize(chunk.take(weights == one)) * float(one) for one in values))

        return self.trials.with_columns(*dict.fromkeys((*self.carried, column))).reduce(make)

    def with_columns(self, *names: str) -> WeightedClasses:
        """The same trials carrying these columns."""
        return replace(self, carried=names)
