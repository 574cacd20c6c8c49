"""The numbers of an evaluation as linear combinations of sums over trials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._format import counted
from llrkit.core.elementary_functions import LN2
from llrkit.core.summary_algebra import SummaryBase
from llrkit.metrics.measurements import Measurements
from llrkit.scores import Scores, ScoreSource
from llrkit.theory.operating_points import OperatingPoint
from llrkit.trust.intervals.evaluation_numbers import decision_thresholds
from llrkit.trust.intervals.influence_functions import (
    LARGEST_LOSS,
    StepInfluences,
    StepTable,
    false_alarm_share,
)

Scale = Literal["rate", "cost"]
FEWEST_ERRORS = 5
"""With fewer errors of a kind, or trials of a class, the normal approximation says nothing about them."""

COUNTED = "counted, not estimated"
GIVEN = "given, not estimated"
REASONS = {
    "n_target": COUNTED,
    "n_nontarget": COUNTED,
    "cllr_cal": "its distribution is not normal where calibration is good, and its mean is not zero there: "
    "compare it with its null distribution (check_calibration)",
    "prbep": "a number of errors, which depends on the numbers of trials",
    "det_slope": "no closed form; resampling speakers (bootstrap) gives one",
}


@dataclass(frozen=True, eq=False)
class Functional:
    """One number: to first order, ``coefficients`` times the sums of the influences.

    A rate gets its interval on the logit scale, a cost on the logarithmic one. Minimum costs and minimum Cllr
    cannot exceed 1, what saying nothing costs, and are on the scale of rates.
    """

    name: str
    value: float
    scale: Scale
    coefficients: FloatArray
    reason: str = ""
    """Why an interval would be misleading, if it would."""


@dataclass(frozen=True, eq=False)
class Functionals:
    """All numbers of an evaluation, and the influences they are made of."""

    influences: StepInfluences
    numbers: tuple[Functional, ...]
    reasons: dict[str, str]
    """Why other numbers have no interval."""

    def __getitem__(self, name: str) -> Functional:
        return {number.name: number for number in self.numbers}[name]


def functionals(
    result: Measurements, trials: tuple[float, float] | None = None, cuts: FloatArray | None = None
) -> Functionals:
    """The numbers of an evaluation with their influence functions.

    ``trials`` are the numbers of trials of the classes, where they are not the sums of their weights. With
    ``cuts`` influences are the same for all scores between two of them, see :class:`StepTable`.
    """
    return _FunctionalsBuilder(result, StepTable(result, decision_thresholds(result), cuts), trials).build()


@dataclass(frozen=True)
class _UnweightedCounts(SummaryBase):
    """How many trials there are, whatever they weigh."""

    n: tuple[int, int]

    @classmethod
    def of(cls, chunk: Scores) -> _UnweightedCounts:
        return cls((chunk.n_target, chunk.n_nontarget))

    def __add__(self, other: _UnweightedCounts) -> _UnweightedCounts:
        return _UnweightedCounts((self.n[0] + other.n[0], self.n[1] + other.n[1]))

    def __mul__(self, weight: float) -> _UnweightedCounts:
        return self


def trial_numbers(source: ScoreSource) -> tuple[float, float] | None:
    """The numbers of trials of the two classes where they are weighted; one pass, or none."""
    if source.roles.weight is None:
        return None
    n_target, n_nontarget = source.reduce(_UnweightedCounts.of).n
    return float(n_target), float(n_nontarget)


class _FunctionalsBuilder:
    def __init__(
        self, result: Measurements, table: StepTable, trials: tuple[float, float] | None = None
    ) -> None:
        self.result, self.table = result, table
        ranking = result.summaries.ranking  # weighted trials need not add up to a whole number
        self.n = (float(ranking.n_target), float(ranking.n_nontarget))
        self.trials = self.n if trials is None else trials
        self.recorded: list[tuple[str, float, Scale, dict[int, tuple[float, float]], str]] = []
        self.reasons = dict(REASONS)

    def record(
        self, name: str, value: float, scale: Scale, terms: dict[int, tuple[float, float]], reason: str = ""
    ) -> None:
        """Record a number by the weights of the two class means of each influence."""
        self.recorded.append((name, value, scale, terms, reason))

    def build(self) -> Functionals:
        result, table = self.result, self.table
        half = 1.0 / (2.0 * LN2)
        no_overlap = "" if result.eer > 0.0 else "the classes do not overlap: no error was seen"
        no_variance = "Cllr is too large for a standard error" if result.cllr >= LARGEST_LOSS else ""
        if np.isinf(result.cllr):
            no_variance = "Cllr is infinite"
        self.record("cllr", result.cllr, "cost", {0: (half, half)}, no_variance)
        self.record("min_cllr", result.min_cllr, "rate", {table.add_pav_loss(): (half, half)}, no_overlap)
        self.record("auc", result.auc, "rate", {table.add_placements(): (1.0, 1.0)})
        crossing = table.add_crossing(table.hull)  # of the ROC as well: to first order both move alike
        for name, rate in (("eer", result.eer), ("eer_roc", result.eer_roc)):
            share = false_alarm_share(table.roc, rate) if 0.0 < rate < 1.0 else 0.5
            reason = no_overlap or self.too_few_errors(rate, rate)
            self.record(name, rate, "rate", {crossing: (share, 1.0 - share)}, reason)
        for i in range(len(result.points)):
            self.add_point(i)
        if result.fixed is not None:
            self.add_fixed()
        self.add_primaries()
        return self.assemble()

    def too_few_errors(self, p_miss: float, p_fa: float) -> str:
        """Why rates that rest on few errors have no interval."""
        kinds = (("miss", "misses", p_miss), ("false alarm", "false alarms", p_fa))
        for (one, several, rate), n in zip(kinds, self.trials, strict=True):
            errors = round(rate * n)
            if errors < FEWEST_ERRORS:
                few = counted(errors, one, several)
                return f"{few}: fewer than {FEWEST_ERRORS} say too little about their rate"
        return ""

    def too_few_trials(self) -> str:
        """Why numbers of a class of few trials get no interval."""
        for what, n in zip(("target", "non-target"), self.trials, strict=True):
            if n < FEWEST_ERRORS:
                few = counted(round(n), what)
                return f"{few}: fewer than {FEWEST_ERRORS} say too little about the others"
        return ""

    def add_point(self, i: int) -> None:
        for name in ("p_target", "c_miss", "c_fa", "threshold"):
            self.reasons[f"points.{i}.{name}"] = GIVEN
        result = self.result.points[i]
        at_bayes = self.table.add_threshold(result.point.threshold, result.p_miss, result.p_fa)
        few = self.too_few_errors(result.p_miss, result.p_fa)
        self.record(f"points.{i}.act_dcf", result.act_dcf, "cost", {at_bayes: error_costs(result.point)}, few)
        self.add_rates(f"points.{i}", at_bayes, result.p_miss, result.p_fa)
        vertex = int(np.searchsorted(self.table.blocks.llr, result.point.threshold))
        p_miss, p_fa = float(self.table.hull.p_miss[vertex]), float(self.table.hull.p_fa[vertex])
        terms = {self.table.add_vertex(vertex): error_costs(result.point)}
        self.record(f"points.{i}.min_dcf", result.min_dcf, "rate", terms, self.too_few_errors(p_miss, p_fa))

    def add_rates(self, prefix: str, number: int, p_miss: float, p_fa: float) -> None:
        self.record(
            f"{prefix}.p_miss", p_miss, "rate", {number: (1.0, 0.0)}, self.too_few_errors(p_miss, 1.0)
        )
        self.record(f"{prefix}.p_fa", p_fa, "rate", {number: (0.0, 1.0)}, self.too_few_errors(1.0, p_fa))

    def add_fixed(self) -> None:
        fixed = self.result.fixed
        assert fixed is not None
        number = self.table.add_threshold(fixed.threshold, fixed.p_miss, fixed.p_fa)
        few = self.too_few_errors(fixed.p_miss, fixed.p_fa)
        self.record("fixed_threshold.hter", fixed.hter, "rate", {number: (0.5, 0.5)}, few)
        self.add_rates("fixed_threshold", number, fixed.p_miss, fixed.p_fa)
        self.reasons["fixed_threshold.threshold"] = "fixed on other trials"

    def add_primaries(self) -> None:
        recorded = {name: (terms, reason) for name, _, _, terms, reason in self.recorded}
        for i, primary in enumerate(self.result.primaries):
            for kind, value in (("min", primary.min), ("act", primary.act)):
                members = [recorded[f"points.{member}.{kind}_dcf"] for member in primary.members]
                terms = {
                    number: (t / len(members), n / len(members))
                    for member, _ in members for number, (t, n) in member.items()
                }  # fmt: skip
                reason = next((reason for _, reason in members if reason), "")
                scale: Scale = "rate" if kind == "min" else "cost"
                self.record(f"primaries.{i}.{kind}", value, scale, terms, reason)

    def assemble(self) -> Functionals:
        influences = self.table.influences()
        few = self.too_few_trials()
        numbers = []
        for name, value, scale, terms, reason in self.recorded:
            coefficients = np.zeros(influences.size)
            for number, by_class in terms.items():
                for class_index in (0, 1):
                    coefficients[2 * number + class_index] = by_class[class_index] / self.n[class_index]
            numbers.append(Functional(name, value, scale, coefficients, few or reason))
        return Functionals(influences, tuple(numbers), self.reasons)


def error_costs(point: OperatingPoint) -> tuple[float, float]:
    """What a miss rate and a false-alarm rate of 1 cost at an operating point."""
    return point.cost(1.0, 0.0), point.cost(0.0, 1.0)
