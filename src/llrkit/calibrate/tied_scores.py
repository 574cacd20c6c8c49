"""Scores that saturate or tie: probabilities of exactly 1, clipped scores, scores with few digits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from llrkit._arrays import Array
from llrkit._format import agreeing, counted
from llrkit.calibrate.densities.training_points import DistinctScores
from llrkit.core.summary_algebra import FieldwiseSums, SummaryBase
from llrkit.scores import Scores, ScoreSource

SHARE_AT_AN_END = 0.01
"""Of a class, from which on scores count as saturated; and never fewer than ``FEWEST_AT_AN_END`` trials."""
FEWEST_AT_AN_END = 5
FEW_DIFFERENT = 256
"""Different scores up to which ties are looked for."""
TRIALS_PER_SCORE = 4.0
"""Trials that share one score on average, from which on scores count as tied."""


@dataclass(frozen=True, eq=False)
class ClassEnds(SummaryBase):
    """The lowest and the highest score of a class, and how many trials have exactly these."""

    n: float
    low: float
    at_low: float
    high: float
    at_high: float

    @classmethod
    def of(cls, values: Array) -> ClassEnds:
        """Of the scores of one class; none of them may be missing."""
        if len(values) == 0:
            return cls(0.0, np.inf, 0.0, -np.inf, 0.0)
        low, high = values.min(), values.max()
        at_low, at_high = (float(np.count_nonzero(values == end)) for end in (low, high))
        return cls(float(len(values)), float(low), at_low, float(high), at_high)

    def __add__(self, other: ClassEnds) -> ClassEnds:
        low, high = min(self.low, other.low), max(self.high, other.high)
        return ClassEnds(
            self.n + other.n,
            low,
            sum(part.at_low for part in (self, other) if part.low == low),
            high,
            sum(part.at_high for part in (self, other) if part.high == high),
        )

    def __mul__(self, weight: float) -> ClassEnds:
        return ClassEnds(self.n * weight, self.low, self.at_low * weight, self.high, self.at_high * weight)


@dataclass(frozen=True, eq=False)
class TiedScores(FieldwiseSums):
    """How many trials share the ends of the scores, and the different scores if there are few.

    Examples
    --------
    >>> tied = TiedScores.of(Scores([1.0] * 60 + [0.7, 0.9] * 20, np.linspace(0.0, 1.0, 1001)))
    >>> for sentence in tied.sentences():
    ...     print(sentence)
    60.0 % of the target scores are exactly 1, the highest score: they are clipped or saturated
    """

    target: ClassEnds
    nontarget: ClassEnds
    different: DistinctScores
    llrs: bool = field(default=False, kw_only=True)
    """Whether they are LLRs that a calibration wrote: bounds put many of them in one place."""

    @classmethod
    def of_source(cls, source: ScoreSource) -> TiedScores:
        """Of all trials of a source, which knows whether a calibration wrote them."""
        return replace(source.reduce(cls.of), llrs=source.roles.calibrated)

    @classmethod
    def of(cls, chunk: Scores) -> TiedScores:
        """Of a chunk with one system."""
        return cls(
            ClassEnds.of(chunk.target),
            ClassEnds.of(chunk.nontarget),
            DistinctScores.of(chunk, FEW_DIFFERENT),
        )

    @property
    def within_0_and_1(self) -> bool:
        """Whether all scores could be probabilities."""
        ends = (self.target, self.nontarget)
        return min(end.low for end in ends) >= 0.0 and max(end.high for end in ends) <= 1.0

    def sentences(self) -> list[str]:
        """What saturates and what ties, in words; empty for scores that do neither."""
        told = self.at_the_ends()
        if self.different.values is not None:
            n, total = len(self.different.values), self.target.n + self.nontarget.n
            if total >= TRIALS_PER_SCORE * n:
                different = counted(n, f"different {self._what[:-1]}")
                told.append(f"there {agreeing(n, 'is', 'are')} only {different} among {total:,.0f} trials")
        return told

    @property
    def _what(self) -> str:
        return "LLRs" if self.llrs else "scores"

    def at_the_ends(self) -> list[str]:
        """What saturates, in words; LLRs of a calibration that has bounds lie at these."""
        classes = (("target", self.target), ("non-target", self.nontarget))
        highest, lowest = max(end.high for _, end in classes), min(end.low for _, end in classes)
        told = []
        for extreme, name in ((highest, "highest"), (lowest, "lowest")):
            shares = []
            for class_name, ends in classes:
                end, count = (ends.high, ends.at_high) if name == "highest" else (ends.low, ends.at_low)
                if end == extreme and count >= max(FEWEST_AT_AN_END, SHARE_AT_AN_END * ends.n):
                    shares.append(f"{100.0 * count / ends.n:.1f} % of the {class_name}")
            if shares and np.isfinite(extreme):
                where = f"{' and '.join(shares)} {self._what} are exactly {extreme:.6g}, the {name}"
                told.append(
                    f"{where} LLR: a bound of the calibration, or its scores were saturated"
                    if self.llrs
                    else f"{where} score: they are clipped or saturated"
                )
        return told
