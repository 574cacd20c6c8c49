"""Trials held in memory for cross-validation, and fewer points in their place where they are many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import Array, FloatArray
from llrkit.choose.folds import Folds, Pair, apart_from, training_source
from llrkit.core.summary_algebra import SummaryBase
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.weights import weigh

MOST_HELD = 1 << 22
"""Trials; of more, every fit reads those it needs again."""
POINTS = 1 << 12
"""Of a class in a set of trials that maps of folds are fitted on; fewer than twice as many trials stay."""
_TIMES = "times"
_TIED = 0.1  # share of scores that others share, from which on a class is left as it is


@dataclass(frozen=True, eq=False)
class CodedTrials(SummaryBase):
    """Scores with the folds they are in, in the order of the chunks."""

    scores: Scores

    @classmethod
    def at(cls, folds: Sequence[Folds]) -> Callable[[Scores], CodedTrials]:
        """A summarizer."""
        return lambda chunk: cls(
            Scores.part(chunk.target, chunk.nontarget, {each.name: each.of(chunk) for each in folds})
        )

    def __add__(self, other: CodedTrials) -> CodedTrials:
        def joined(own: tuple[Array, Array], more: tuple[Array, Array]) -> tuple[Array, Array]:
            return np.concatenate([own[0], more[0]]), np.concatenate([own[1], more[1]])

        one, two = self.scores, other.scores
        columns = {name: joined(codes, two.columns[name]) for name, codes in one.columns.items()}
        return CodedTrials(
            Scores.part(*joined((one.target, one.nontarget), (two.target, two.nontarget)), columns)
        )

    def __mul__(self, weight: float) -> CodedTrials:
        raise TypeError("trials that are held have no weight")


def training_sets(source: ScoreSource, folds: Folds) -> dict[Pair, ScoreSource]:
    """For each pair of folds the trials that share none with it; as points where they are held and many."""
    if not isinstance(source, Scores):
        return {pair: training_source(source, folds, pair) for pair in folds.pairs}
    codes = source.columns[folds.name]
    kept = {pair: [apart_from(code, folds.n, pair) for code in codes] for pair in folds.pairs}
    return {
        pair: condensed(source.target[in_target], source.nontarget[in_nontarget])
        for pair, (in_target, in_nontarget) in kept.items()
    }


def condensed(target: Array, nontarget: Array) -> ScoreSource:
    """Scores of both classes, or fewer points in their place that count several times.

    In the order of the scores, every few neighbors become two points, one standard deviation on either side
    of their mean; the outermost stay, and so does a class with many ties. Count, mean and variance are kept.

    Examples
    --------
    >>> from llrkit.core.moments import Moments
    >>> rng = np.random.default_rng(1)
    >>> many = Scores(rng.normal(2.0, 1.0, 50_000), rng.normal(0.0, 1.0, 3_000))
    >>> few = condensed(many.target, many.nontarget)
    >>> kept = few.reduce(Moments.of).target
    >>> kept.n, bool(np.isclose(kept.variance[0], many.target.var()))
    (50000.0, True)
    """
    points = [_points_of_class(values) for values in (target, nontarget)]
    (target, times), (nontarget, more) = points
    if len(times) == len(more) == 0:
        return Scores.part(target, nontarget)
    columns = {_TIMES: (_times_or_ones(times, len(target)), _times_or_ones(more, len(nontarget)))}
    return weigh(Scores.part(target, nontarget, columns), _TIMES)


def _times_or_ones(times: FloatArray, n: int) -> FloatArray:
    return times if len(times) else np.ones(n)


def _points_of_class(values: Array) -> tuple[Array, FloatArray]:
    """Points of one class and how often each counts; nothing if the scores stay as they are."""
    untouched = values, np.zeros(0)
    if values.ndim != 1 or len(values) < 2 * POINTS:
        return untouched
    ascending = np.sort(values).astype(np.float64, copy=False)
    if (ascending[1:] == ascending[:-1]).mean() > _TIED:
        return untouched
    end = POINTS // 8
    inner = ascending[end:-end]
    size = -(-len(inner) // (POINTS // 2))
    groups = inner[: len(inner) // size * size].reshape(-1, size)
    mean = groups.mean(axis=1)
    half = np.sqrt(((groups - mean[:, None]) ** 2).mean(axis=1))
    points = np.stack([mean - half, mean + half], axis=1).ravel()
    single = np.concatenate([ascending[:end], inner[len(points) // 2 * size :], ascending[-end:]])
    return (
        np.concatenate([points, single]),
        np.concatenate([np.full(len(points), 0.5 * size), np.ones(len(single))]),
    )
