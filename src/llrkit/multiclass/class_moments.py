"""Means of every class, and scatter around them: what the Gaussian back-ends are made of."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from llrkit._arrays import Array, FloatArray
from llrkit.core.summary_algebra import FieldwiseSums, SummaryBase
from llrkit.errors import InfiniteScoreError, SystemCountError
from llrkit.multiclass.class_blocks import gram, trial_blocks
from llrkit.multiclass.class_counts_and_priors import ClassCounts, as_classes, require_all_classes
from llrkit.scores.class_scores import ClassSource, ClassVectors


def vectors_of(chunk: ClassVectors, block: slice = slice(None)) -> FloatArray:
    """Vectors as they are; of scores, the log-likelihood-ratios over the last class."""
    values = np.asarray(chunk.values[block], dtype=np.float64)
    if not has_loglik(chunk):
        return values
    if values.ndim != 2:
        raise SystemCountError(f"one system expected, got {values.shape[2]}; fuse them first or choose one")
    return np.asarray(values[:, :-1] - values[:, -1:])


def has_loglik(chunk: ClassVectors) -> bool:
    """Whether a chunk holds log-likelihoods, and not just any vectors."""
    return type(chunk).loglik is not ClassVectors.loglik


def first_infinite(chunk: ClassVectors) -> float:
    """The place of the first trial with an infinite value; inf where all are finite."""
    values = chunk.values
    if not len(values) or (np.isfinite(values.min()) and np.isfinite(values.max())):
        return math.inf
    return float(np.argmax(~np.isfinite(values).reshape(len(values), -1).all(axis=1)))


def require_finite(place: float) -> None:
    """Refuse trials with infinite values."""
    if math.isfinite(place):
        raise InfiniteScoreError(f"trial {place:.0f} has an infinite value; a fit needs finite ones")


def class_means(source: ClassSource) -> ClassMeans:
    """The means of all classes; an empty class and infinite values are refused."""
    means = as_classes(source).reduce(ClassMeans.of)
    require_all_classes(means.classes, means.n)
    require_finite(means.first_infinite)
    return means


@dataclass(frozen=True, eq=False)
class ClassMeans(SummaryBase):
    """Number of trials and mean vector of each class; the place of the first infinite value, if any."""

    classes: tuple[str, ...]
    n: Array
    mean: FloatArray
    differences: bool
    first_infinite: float = math.inf

    @classmethod
    def of(cls, chunk: ClassVectors) -> ClassMeans:
        """The means of a chunk; those of classes without trials are 0."""
        n, where = chunk.counts, first_infinite(chunk)
        if math.isfinite(where):
            shape = vectors_of(chunk, slice(0, 0)).shape
            return cls(chunk.classes, n, np.zeros((len(n), shape[1])), has_loglik(chunk), where)
        vectors = vectors_of(chunk)
        order = np.argsort(chunk.codes, kind="stable")
        present = np.flatnonzero(n)
        mean = np.zeros((len(n), vectors.shape[1]))
        if len(present):
            starts = np.cumsum(n[present]) - n[present]
            mean[present] = np.add.reduceat(vectors[order], starts) / n[present, None]
        return cls(chunk.classes, n, mean, has_loglik(chunk))

    def __add__(self, other: ClassMeans) -> ClassMeans:
        n = self.n + other.n
        share = np.divide(other.n, n, out=np.zeros(len(n)), where=n > 0)
        mean = self.mean + (other.mean - self.mean) * share[:, None]
        where = min(self.first_infinite, float(self.n.sum()) + other.first_infinite)
        return ClassMeans(self.classes, n, mean, self.differences, where)

    def __mul__(self, weight: float) -> ClassMeans:
        return replace(self, n=self.n * weight)

    @property
    def counts(self) -> ClassCounts:
        """The number of trials of each class."""
        return ClassCounts(self.classes, self.n)


@dataclass(frozen=True, eq=False)
class Scatter(FieldwiseSums):
    """Sums of products of deviations from given means: ``shared`` by all classes, or of ``each``.

    ``shared`` is the sum over trials of ``weight_of_class (x - mean)(x - mean)'``; ``each[k]`` the sum over
    trials of class k without weights.
    """

    shared: FloatArray
    each: FloatArray

    @classmethod
    def at(cls, mean: FloatArray, weights: FloatArray | None) -> Callable[[ClassVectors], Scatter]:
        """A summarizer around means; with weights for the shared scatter, without for that of each class."""
        k, d = mean.shape

        def make(chunk: ClassVectors) -> Scatter:
            shared = np.zeros((d, d) if weights is not None else (0, 0))
            each = np.zeros((k, d, d) if weights is None else (0, 0, 0))
            for block in trial_blocks(len(chunk.values), d):
                codes = chunk.codes[block]
                away = np.ascontiguousarray((vectors_of(chunk, block) - mean[codes]).T)
                if weights is not None:
                    shared += gram(away * weights[codes], away)
                    continue
                for c in np.unique(codes):
                    mine = np.ascontiguousarray(away[:, codes == c])
                    each[c] += gram(mine, mine)
            return cls(shared, each)

        return make
