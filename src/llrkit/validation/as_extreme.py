"""How many trials of known origin had LLRs like those of a case, and how often such LLRs misled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.summary import SummaryBase
from llrkit.scores import Scores, ScoreSource
from llrkit.trust.intervals.interval import clopper_pearson

LEVEL = 0.95
"""Of intervals, unless another is asked for."""


@dataclass(frozen=True)
class AsExtreme:
    """How many trials of known origin had an LLR like this one: so low if same-source, so high if not."""

    as_low: int
    n_target: int
    as_high: int
    n_nontarget: int

    def to_dict(self) -> dict[str, int]:
        """Plain numbers."""
        return {
            "same_source_as_low": self.as_low, "n_same_source": self.n_target,
            "different_source_as_high": self.as_high, "n_different_source": self.n_nontarget,
        }  # fmt: skip

    def misleading(self, llr: float, level: float = LEVEL) -> MisleadingRate:
        """How often LLRs as strong as this one pointed the wrong way."""
        count, n = (self.as_high, self.n_nontarget) if llr >= 0.0 else (self.as_low, self.n_target)
        # one-sided: the chance of a true rate above it is 1 - level
        return MisleadingRate(count, n, clopper_pearson(count, n, 2.0 * level - 1.0)[1], level)


@dataclass(frozen=True)
class MisleadingRate:
    """Trials of the other class with LLRs as strong as one: their number, and a bound of their rate."""

    count: int
    n: int
    upper: float
    level: float

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return {"count": self.count, "n": self.n, "rate": self.count / self.n, "upper": self.upper,
                "level": self.level}  # fmt: skip


def as_extreme(llrs: ScoreSource, asked: FloatArray) -> list[AsExtreme | None]:
    """For each LLR that is asked about, the trials of known origin that had one like it; one pass."""
    counts = llrs.reduce(_Counts.at(asked))
    return [
        AsExtreme(int(low), counts.n_target, int(high), counts.n_nontarget)
        for low, high in zip(counts.as_low, counts.as_high, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class _Counts(SummaryBase):
    """Target trials at or below, and non-target trials at or above, each of some LLRs."""

    as_low: FloatArray
    as_high: FloatArray
    n_target: int
    n_nontarget: int

    @classmethod
    def at(cls, asked: FloatArray) -> Callable[[Scores], _Counts]:
        def make(chunk: Scores) -> _Counts:
            low = [np.count_nonzero(chunk.target <= llr) for llr in asked]
            high = [np.count_nonzero(chunk.nontarget >= llr) for llr in asked]
            return cls(
                np.array(low, dtype=np.float64), np.array(high, dtype=np.float64),
                len(chunk.target), len(chunk.nontarget),
            )  # fmt: skip

        return make

    def __add__(self, other: _Counts) -> _Counts:
        return _Counts(
            self.as_low + other.as_low, self.as_high + other.as_high,
            self.n_target + other.n_target, self.n_nontarget + other.n_nontarget,
        )  # fmt: skip

    def __mul__(self, weight: float) -> _Counts:
        return self
