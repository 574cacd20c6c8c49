"""Threshold: where to cut scores, the errors that come with it, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Numbers
from llrkit._format import number, percent
from llrkit._plain import Json
from llrkit._results import Result
from llrkit.metrics.threshold_choice import Range
from llrkit.theory.operating_points import OperatingPoint


def rate_in_words(rate: float) -> str:
    """A rate as a percentage, small ones with more digits.

    Examples
    --------
    >>> rate_in_words(0.0562), rate_in_words(0.0000213), rate_in_words(1e-7), rate_in_words(0.0)
    ('5.62 %', '0.0021 %', '1e-05 %', '0.00 %')
    """
    if 0.0 < rate < 1e-6:
        return f"{100 * rate:.2g} %"
    return percent(rate, 2 if rate >= 1e-3 or rate == 0.0 else 4)


@dataclass(frozen=True)
class Threshold(Result):
    """A threshold, which scores to accept, and the errors and the cost that come with it."""

    criterion: str
    """What it was chosen for, in words."""
    threshold: float
    """Scores of at least this are accepted; scores as they were read, natural-log LLRs if they are LLRs."""
    p_miss: float
    """Miss rate at the threshold."""
    p_fa: float
    """False-alarm rate at the threshold."""
    n_target: int
    """Target trials on which the errors were counted."""
    n_nontarget: int
    """Non-target trials on which the errors were counted."""
    point: OperatingPoint | None = None
    """The operating point that it was chosen for, if any."""
    cost: float | None = None
    """Detection cost at the operating point, divided by that of the best decision without scores."""
    lowest_cost: float | None = None
    """The same of the best threshold for these trials."""
    factor: float = 1.0
    """What scores of the file were multiplied by: -1 for distances, ln 10 for log10 LLRs."""
    interval: Range | None = None
    """Thresholds that the trials cannot tell from this one; None if it is not estimated."""
    intervals: Mapping[str, Range] = field(default_factory=dict)
    """Of ``p_miss``, ``p_fa`` and ``cost``, by name."""
    no_interval: Mapping[str, str] = field(default_factory=dict)
    """Numbers without an interval, with the reason."""
    ci: str = "none"
    """Kind of the intervals."""
    level: float = 0.95
    """Confidence level of the intervals."""
    notes: tuple[str, ...] = ()
    """Remarks on the intervals, in words."""

    @property
    def cost_per_trial(self) -> float | None:
        """The mean cost of a decision, in the unit of the costs of the operating point."""
        return None if self.point is None else self.point.cost(self.p_miss, self.p_fa, normalized=False)

    @property
    def in_file(self) -> float:
        """The threshold for the numbers that the file holds: distances, log10 LLRs."""
        return self.threshold / self.factor

    @property
    def rule(self) -> str:
        """Which numbers of the file to accept, in words."""
        side = "at least" if self.factor > 0.0 else "at most"
        return f"accept when the score is {side} {self.in_file:.6g}"

    def decide(self, scores: float | Numbers) -> npt.NDArray[np.bool_]:
        """Which scores are accepted; scores as they were read.

        Parameters
        ----------
        scores
            Scores as they were read.

        Examples
        --------
        >>> import llrkit as lk
        >>> lk.threshold_for([0.1, 2.0, 1.5, -1.0], [0, 1, 1, 0], ci="none").decide([1.4, 1.5])
        array([False,  True])
        """
        return np.asarray(np.asarray(scores, dtype=np.float64) >= self.threshold)

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        plain: dict[str, Json] = {
            "criterion": self.criterion, "threshold": self.in_file, "rule": self.rule,
            "interval": _plain_interval(self.in_file_interval), "p_miss": self.p_miss, "p_fa": self.p_fa,
            "n_target": self.n_target, "n_nontarget": self.n_nontarget,
        }  # fmt: skip
        if self.point is not None:
            plain |= {
                "point": {"name": self.point.name, "p_target": self.point.p_target,
                          "c_miss": self.point.c_miss, "c_fa": self.point.c_fa},
                "cost": self.cost, "lowest_cost": self.lowest_cost, "cost_per_trial": self.cost_per_trial,
            }  # fmt: skip
        ends = {name: list(pair) for name, pair in self.intervals.items()}
        said: dict[str, Json] = {
            "intervals": ends,
            "no_interval": dict(self.no_interval),
            "notes": list(self.notes),
        }
        return plain | said | {"ci": {"kind": self.ci, "level": self.level}}

    @property
    def in_file_interval(self) -> Range | None:
        """The interval of the threshold for the numbers that the file holds."""
        if self.interval is None:
            return None
        low, high = sorted(end / self.factor for end in self.interval)
        return low, high

    @property
    def sentence(self) -> str:
        """The decision rule and its errors, in words."""
        missed, accepted = self._with("p_miss"), self._with("p_fa")
        errors = f"the miss rate is {missed}, the false-alarm rate {accepted}"
        said = f"{self.criterion}: {self.rule}; {errors}"
        if self.point is None or self.cost is None:
            return said + "."
        ends = self.intervals.get("cost")
        shown = f" [{number(ends[0])}, {number(ends[1])}]" if ends else ""
        return (
            f"{said}; the cost is {number(self.cost)}{shown} times that of deciding without scores, "
            f"{self.cost_per_trial:.3g} per trial."
        )

    def _with(self, name: str) -> str:
        ends = self.intervals.get(name)
        shown = f" [{rate_in_words(ends[0])}, {rate_in_words(ends[1])}]" if ends else ""
        return rate_in_words(getattr(self, name)) + shown

    def __repr__(self) -> str:
        return self.sentence


def _plain_interval(ends: Range | None) -> list[float] | None:
    return None if ends is None else list(ends)
