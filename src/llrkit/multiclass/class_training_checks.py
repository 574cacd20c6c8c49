"""What fits of several classes share: the checks of the trials, a sample of them, what is written down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from llrkit._arrays import Array, FloatArray
from llrkit._plain import Json
from llrkit._version import __version__
from llrkit.core.sample import ClassSample
from llrkit.core.summary_algebra import SummaryBase
from llrkit.errors import ConstantScoreError, InputError
from llrkit.multiclass.class_counts_and_priors import ClassCounts, as_classes, require_all_classes
from llrkit.multiclass.class_moments import first_infinite, has_loglik, require_finite
from llrkit.scores.class_scores import ClassSource, ClassVectors

_SAMPLE = 1 << 16  # trials in the first guess, of all classes together
_FEWEST = 64  # but of each class at least these


@dataclass(frozen=True, eq=False)
class TrainingTrials(SummaryBase):
    """Counts, extremes, the first infinite value, and an evenly spread sample of each class."""

    classes: tuple[str, ...]
    n: Array
    low: FloatArray
    high: FloatArray
    first_infinite: float
    samples: tuple[ClassSample, ...]
    vectors: bool

    @classmethod
    def at(cls, limit: int = _SAMPLE) -> Callable[[ClassVectors], TrainingTrials]:
        """A summarizer that keeps at most about ``limit`` numbers' worth of trials."""

        def make(chunk: ClassVectors) -> TrainingTrials:
            values = chunk.values
            cap = max(_FEWEST, limit // len(chunk.classes))
            low = values.min(axis=0, initial=np.inf).astype(np.float64)
            high = values.max(axis=0, initial=-np.inf).astype(np.float64)
            samples = tuple(ClassSample.of(values[chunk.codes == k], cap) for k in range(len(chunk.classes)))
            return cls(
                chunk.classes, chunk.counts, low, high, first_infinite(chunk), samples, not has_loglik(chunk)
            )

        return make

    def __add__(self, other: TrainingTrials) -> TrainingTrials:
        return TrainingTrials(
            self.classes,
            self.n + other.n,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            min(self.first_infinite, float(self.n.sum()) + other.first_infinite),
            tuple(a + b for a, b in zip(self.samples, other.samples, strict=True)),
            self.vectors,
        )

    def __mul__(self, weight: float) -> TrainingTrials:
        return replace(self, n=self.n * weight)

    @property
    def counts(self) -> ClassCounts:
        """The number of trials of each class."""
        return ClassCounts(self.classes, self.n)

    def sample(self) -> ClassVectors:
        """The sampled trials."""
        values = np.concatenate([sample.values for sample in self.samples])
        codes = np.repeat(np.arange(len(self.samples)), [len(sample.values) for sample in self.samples])
        return ClassVectors.part(values, codes, self.classes)


def training_trials(source: ClassSource, limit: int = _SAMPLE) -> TrainingTrials:
    """A first look at the trials: an empty class, infinite and constant values are refused."""
    training = as_classes(source).reduce(TrainingTrials.at(limit))
    require_all_classes(training.classes, training.n)
    require_finite(training.first_infinite)
    if (training.low == training.high).all():
        raise ConstantScoreError("all trials are the same: there is nothing to calibrate")
    if not np.isfinite((training.high - training.low) ** 2).all():
        raise InputError("the scores are too large to calibrate: their squares are beyond float64")
    return training


def provenance(training: TrainingTrials) -> dict[str, Json]:
    """What is written down about the training trials."""
    return {
        "llrkit": __version__,
        "n": {name: int(n) for name, n in zip(training.classes, training.n, strict=True)},
    }
