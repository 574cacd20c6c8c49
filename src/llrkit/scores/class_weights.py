"""Trials of several classes that count more than once, or for a part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from llrkit.errors import InputError
from llrkit.scores.class_vectors import ClassVectors
from llrkit.scores.source import S
from llrkit.scores.weights import MOST_WEIGHTS


@dataclass(frozen=True, eq=False)
class WeightedClasses:
    """The trials of several classes, each counted as often as a column of positive numbers says.

    As :func:`llrkit.weigh` does for two classes: trials of the same weight are summarized together, and the
    summary is multiplied.

    Examples
    --------
    >>> from llrkit.multiclass.class_priors import ClassCounts
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
