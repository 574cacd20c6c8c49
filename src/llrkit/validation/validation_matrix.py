"""Rows of the validation matrix: a number, its interval, and whether the criterion is met."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

from llrkit._format import counted, not_among, percent
from llrkit._llr_units import Amount
from llrkit._plain import Json
from llrkit.calibrate.maps import Map
from llrkit.engine.open_trials import open_trials
from llrkit.errors import InputError, UnknownNameError
from llrkit.evaluation.evaluate import evaluate
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.evaluation.over_groups import group_name
from llrkit.scores import ScoreSource
from llrkit.trust.calibration.check_calibration import CalibrationCheck
from llrkit.trust.calibration.verdict import Verdict
from llrkit.validation.calibration_words import p_with_level
from llrkit.validation.criteria import LLRS as WORST
from llrkit.validation.criteria import NO_INTERVAL, Criteria, Criterion, EvaluationKeywords
from llrkit.validation.misleading_evidence import MisleadingTrial

PLAIN = ("eer", "eer_roc", "auc", "cllr", "min_cllr", "cllr_cal")
AT_POINTS = ("min_dcf", "act_dcf", "p_miss", "p_fa")
CHECKED = ("dev_pav", "cv_loss")
DECISIONS = {True: "passed", False: "failed", None: "not decided"}

Range = tuple[float, float]


@dataclass(frozen=True)
class ValidationRow:
    """One row of the validation matrix: a characteristic, how it was measured, and the decision."""

    characteristic: str
    metric: str
    graph: str
    criterion: str
    data: str
    result: float | str
    interval: Range | None
    passed: bool | None
    """None where the trials do not decide."""
    note: str = ""
    is_rate: bool = False
    """Whether the result is a share, to be shown in percent."""
    is_llr: bool = False
    """Whether the result is an LLR in nats."""
    amounts: tuple[Amount, ...] = ()
    """The LLRs in its words, which are in nats."""
    limits: Range = (-math.inf, math.inf)
    """What the result is at least and at most, if it passes."""

    @property
    def decision(self) -> str:
        """``"passed"``, ``"failed"`` or ``"not decided"``."""
        return DECISIONS[self.passed]

    def to_dict(self) -> dict[str, Json]:
        """Plain values."""
        interval = None if self.interval is None else list(self.interval)
        return {
            "characteristic": self.characteristic, "metric": self.metric, "graph": self.graph,
            "criterion": self.criterion, "data": self.data, "result": self.result, "interval": interval,
            "passed": self.passed, "decision": self.decision, "note": self.note,
        }  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """A number as a criterion sees it."""

    value: float
    interval: Range | None = None
    no_interval: str = ""
    """Why there is no interval."""
    note: str = ""
    upper_bound: float | None = None
    """What it is at most, where errors are too few for an interval."""

    def met(self, criterion: Criterion) -> bool | None:
        """Whether a number, or its whole interval, is within the limits; None where that is not decided."""
        low, high = self.value, self.value
        if criterion.use == "interval" and not math.isinf(self.value):  # no chance makes that finite
            if self.interval is None and self.upper_bound is None:
                return None
            # what has an upper bound only is a rate or a cost, and these are 0 at least
            low, high = self.interval or (0.0, self.upper_bound or 0.0)
        if math.isnan(low) or math.isnan(high):
            return None
        if high < criterion.at_least or low > criterion.at_most:
            return False
        return True if criterion.at_least <= low and high <= criterion.at_most else None

    def words(self, criterion: Criterion) -> str:
        """The note of the row: what is to be said about the number, and why it is not decided."""
        said = [self.note]
        show = percent if criterion.is_rate else "{:.4g}".format
        bound = self.upper_bound if criterion.use == "interval" and self.interval is None else None
        if bound is not None:
            said.append(f"at most {show(bound)}: {self.no_interval}")
        elif self.met(criterion) is None:
            if math.isnan(self.value):
                said.append("could not be computed from these trials")
            elif self.interval is None:
                said.append(f"no interval: {self.no_interval}")
            else:
                said.append("the limit lies inside the interval")
        elif self.met(replace(criterion, use="interval")) is None and self.interval is not None:
            said.append("the limit lies inside the interval, the estimate decides")
        elif self.interval is None and (self.upper_bound or 0.0) > criterion.at_most >= self.value:
            said.append(f"at most {show(self.upper_bound or 0.0)}, beyond the limit; the estimate decides")
        return "; ".join(filter(None, said))


def is_met_by(verdict: Verdict) -> bool | None:
    """Whether a verdict meets the criterion of calibration; None where the trials do not decide."""
    return {"none_found": True, "too_few": None}.get(verdict.outcome, False)


@dataclass(frozen=True, eq=False)
class CriteriaJudge:
    """What criteria are judged by."""

    source: ScoreSource
    criteria: Criteria
    options: EvaluationKeywords
    result: Evaluation
    check: CalibrationCheck
    misleading: tuple[MisleadingTrial, ...]
    applied: Map | None = None
    """The calibration, where it made the LLRs of the trials here: other raw scores get it too."""

    def row(self, criterion: Criterion) -> ValidationRow:
        """A row of the matrix, judged."""
        if criterion.metric == "verdict":
            return self.verdict(criterion)
        if criterion.by is not None:
            return self.by_condition(criterion)
        measured = self.measured(criterion)
        if criterion.change_from is not None:
            before = self.value_before(criterion)
            show = percent if criterion.is_rate else "{:.4g}".format
            note = f"{show(measured.value)} instead of {show(before)}"
            measured = Measured(measured.value - before, note=note)
        return row_of_matrix(criterion, measured, measured.met(criterion), measured.words(criterion))

    def verdict(self, criterion: Criterion) -> ValidationRow:
        """Whether there is evidence of miscalibration; too few trials give none either way.

        Its text has the level beside the p-value, where a test was made.
        """
        verdict = self.check.verdict
        row = row_of_matrix(criterion, verdict.text, is_met_by(verdict), "")
        return replace(row, amounts=verdict.amounts)

    def measured(self, criterion: Criterion) -> Measured:
        """The number, its interval where it has one, and what is to be said about it."""
        name = criterion.metric
        if name in CHECKED:
            value = self.check.dev_pav if name == "dev_pav" else math.nan
            if name == "cv_loss" and self.check.loss is not None:
                value = self.check.loss.loss
            return Measured(value, no_interval=NO_INTERVAL[name], note=p_with_level(self.check, name))
        if name in WORST:
            llrs = [trial.llr for trial in self.misleading if trial.is_target == (name == WORST[0])]
            return Measured(max((abs(llr) for llr in llrs), default=0.0), no_interval=NO_INTERVAL[name])
        note = p_with_level(self.check, name) if name == "cllr_cal" else ""
        return of_evaluation(self.result, name, note)

    def by_condition(self, criterion: Criterion) -> ValidationRow:
        """The worst condition: of those that fail, else of those not decided, else of all."""
        if criterion.change_from is not None or criterion.metric in (*CHECKED, *WORST):
            raise InputError(f"{criterion.metric}: by is only for the metrics of an evaluation")
        options: EvaluationKeywords = {**self.options, "by": criterion.by}
        evaluation = evaluate(self.source, **options)
        if not evaluation.groups:
            raise InputError(f"no value of {criterion.by!r} has trials of both classes")
        groups = {
            group_name(key): of_evaluation(group, criterion.metric)
            for key, group in evaluation.groups.items()
        }

        def badness(name: str) -> tuple[int, float]:
            value, passed = groups[name].value, groups[name].met(criterion)
            beyond = max(value - criterion.at_most, criterion.at_least - value)
            return {False: 2, None: 1, True: 0}[passed], math.inf if math.isnan(beyond) else beyond

        worst = max(groups, key=badness)
        note = f"worst of {len(groups)}: {criterion.by} = {worst}"
        if evaluation.skipped_groups:
            note += f"; {counted(len(evaluation.skipped_groups), 'value')} of {criterion.by} left out"
        words = groups[worst].words(criterion)
        passed = groups[worst].met(criterion)
        return row_of_matrix(criterion, groups[worst], passed, f"{note}; {words}" if words else note)

    def value_before(self, criterion: Criterion) -> float:
        """The number in the file that the change is counted from."""
        other = open_trials(str(change_path(self.criteria, criterion)), self.criteria.reading)
        if self.applied is not None and not other.roles.calibrated:
            other = self.applied.on(other)
        plain: EvaluationKeywords = {"points": self.options["points"]} if "points" in self.options else {}
        if criterion.metric in (*CHECKED, *WORST):
            raise InputError(f"{criterion.metric}: change_from is only for the metrics of an evaluation")
        return number_of(evaluate(other, **plain), criterion.metric)[0]


def change_path(criteria: Criteria, criterion: Criterion) -> Path:
    """The file that a change is counted from, looked for beside the criteria."""
    path = Path(criterion.change_from or "")
    return path if criteria.folder is None else criteria.folder / path


def of_evaluation(result: Evaluation, name: str, note: str = "") -> Measured:
    """A number of an evaluation with its interval, or the reason why it has none."""
    value, key = number_of(result, name)
    used = result.uncertainty
    why = "none was asked for (ci in [options])" if used is None else used.no_interval.get(key, "not known")
    bound = None if used is None else used.upper_bound.get(key)
    return Measured(value, result.intervals.get(key), why, note, bound)


def number_of(result: Evaluation, name: str) -> tuple[float, str]:
    """A number of an evaluation by the name a criterion gives it, and its name among the intervals."""
    if name in PLAIN:
        return float(getattr(result, name)), name
    kind, _, point_name = name.replace(":", " ", 1).partition(" ")
    if kind in AT_POINTS:
        for i, point in enumerate(result.points):
            if point.point.name == point_name.strip():
                return float(getattr(point, kind)), f"points.{i}.{kind}"
        known = ", ".join(point.point.name for point in result.points)
        raise UnknownNameError(f"{name!r}: no operating point {point_name!r}; there are {known}")
    costs = [f"{kind} POINT" for kind in AT_POINTS]
    raise UnknownNameError(f"unknown metric {not_among(name, (*PLAIN, *CHECKED, *WORST, *costs, 'verdict'))}")


def row_of_matrix(
    criterion: Criterion, result: Measured | str, passed: bool | None, note: str
) -> ValidationRow:
    """A row of the matrix of what was measured, or said, and decided."""
    shown = result if isinstance(result, str) else result.value
    interval = None if isinstance(result, str) else result.interval
    return ValidationRow(
        criterion.characteristic, criterion.metric, criterion.graph, criterion.words, criterion.data, shown,
        interval, passed, note, criterion.is_rate, criterion.is_llr, criterion.amounts,
        (criterion.at_least, criterion.at_most),
    )  # fmt: skip
