"""Sample: a bounded, evenly spread part of each class, for a first guess before the full passes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from llrkit._arrays import Array, FloatArray
from llrkit.core.summary_algebra import SummaryBase
from llrkit.scores import Scores


@dataclass(frozen=True, eq=False)
class ClassSample(SummaryBase):
    """Every ``stride``-th trial of one class, at most ``cap`` of them."""

    values: FloatArray
    stride: int
    cap: int

    @classmethod
    def of(cls, values: Array, cap: int) -> ClassSample:
        """Thin an array."""
        return cls(values[:0].astype(np.float64), 1, cap)._with(values, 1)

    def _with(self, values: Array, stride: int) -> ClassSample:
        common = max(self.stride, stride)
        own, more = self.values[:: common // self.stride], values[:: common // stride]
        while len(own) + len(more) > self.cap:
            own, more, common = own[::2], more[::2], 2 * common
        return ClassSample(np.concatenate([own, more.astype(np.float64)]), common, self.cap)

    def __add__(self, other: ClassSample) -> ClassSample:
        return self._with(other.values, other.stride)

    def __mul__(self, weight: float) -> ClassSample:
        return self


@dataclass(frozen=True, eq=False)
class Sample(SummaryBase):
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

    def __add__(self, other: Sample) -> Sample:
        return Sample(self.target + other.target, self.nontarget + other.nontarget)

    def __mul__(self, weight: float) -> Sample:
        return self

    def scores(self) -> Scores:
        """The sampled trials."""
        return Scores.part(self.target.values, self.nontarget.values)
