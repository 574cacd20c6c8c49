"""validate(): the validation matrix of a system, filled in and judged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llrkit.calibrate.maps import Map
from llrkit.engine.open_trials import read_trials
from llrkit.errors import InputError, UnknownNameError
from llrkit.evaluation.evaluate import evaluate
from llrkit.evaluation.result import Evaluation
from llrkit.scores import ScoreSource
from llrkit.scores.source import as_source
from llrkit.trust.calibration.check import CalibrationCheck, check_calibration
from llrkit.trust.intervals.bands import CurveBands, curve_bands
from llrkit.validation.criteria import Criteria, Criterion, criteria_from_dict, read_criteria
from llrkit.validation.misleading import MisleadingTrial, misleading_trials
from llrkit.validation.validated_scope import ValidatedScope, find_scope
from llrkit.validation.validation_report import markdown, summary_lines

PLAIN = ("eer", "eer_roc", "auc", "cllr", "min_cllr", "cllr_cal")
AT_POINTS = ("min_dcf", "act_dcf", "p_miss", "p_fa")
CHECKED = ("dev_pav", "cv_loss")
WORST = ("misleading_target", "misleading_nontarget")


@dataclass(frozen=True)
class ValidationRow:
    """One row of the validation matrix: a characteristic, how it was measured, and the decision."""

    characteristic: str
    metric: str
    graph: str
    criterion: str
    data: str
    result: float | str
    interval: tuple[float, float] | None
    passed: bool
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        interval = None if self.interval is None else list(self.interval)
        return {
            "characteristic": self.characteristic, "metric": self.metric, "graph": self.graph,
            "criterion": self.criterion, "data": self.data, "result": self.result, "interval": interval,
            "passed": self.passed, "note": self.note,
        }  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Validation:
    """The result of :func:`validate`."""

    rows: tuple[ValidationRow, ...]
    evaluation: Evaluation
    check: CalibrationCheck
    misleading: tuple[MisleadingTrial, ...]
    report: Mapping[str, str]
    """What the owner of the system states in words."""
    setting: ValidatedScope
    """What was counted: trials, sources, recordings, range and bounds of the LLRs."""
    bands: CurveBands | None = None
    """Of the DET, Tippett and ECE curves, where they were asked for."""

    @property
    def passed(self) -> bool:
        """Whether every criterion is met."""
        return all(row.passed for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as in the JSON of the command line."""
        return {
            "passed": self.passed,
            "matrix": [row.to_dict() for row in self.rows],
            "report": dict(self.report),
            "setting": self.setting.to_dict(),
            "evaluation": self.evaluation.to_dict(),
            "calibration": {name: value for name, value in self.check.to_dict().items() if name != "curves"},
            "misleading": [trial.to_dict() for trial in self.misleading],
        }

    def to_markdown(self, *, verbal: bool = False) -> str:
        """A validation report: what was validated, the matrix, the numbers, the worst trials."""
        return markdown(self, verbal=verbal)

    def __repr__(self) -> str:
        return "\n".join(summary_lines(self))


def validate(
    source: ScoreSource,
    criteria: Criteria | Mapping[str, Any] | str | Path,
    *,
    calibration: Map | None = None,
    curves: bool = False,
    worst: int = 10,
    replicates: int = 200,
    seed: int = 0,
) -> Validation:
    """Validate LLRs against criteria: the validation matrix of Meuwly, Ramos & Haraksim (2017).

    Parameters
    ----------
    criteria
        A TOML file, what such a file holds as a dict, or :class:`Criteria`. Each ``[[criterion]]`` names
        a performance characteristic, a metric and the values it may have; ``[options]`` are keywords of
        :func:`evaluate` (intervals, speakers, operating points); ``[report]`` holds what a report states
        in words.
    calibration
        The map that made the LLRs, for the report: how it was trained, which bounds it puts on LLRs and
        why. It is not applied.
    curves
        Also find what a page shows: bands of the curves, and the LLR of the LLR estimated in several ways.
    worst
        How many of the most misleading trials of each class are listed.
    replicates, seed
        Of the null distributions of the calibration losses.

    Metrics are ``eer``, ``eer_roc``, ``auc``, ``cllr``, ``min_cllr``, ``cllr_cal``, ``dev_pav``, ``cv_loss``,
    ``"act_dcf sre08"`` and the like, ``misleading_target`` and ``misleading_nontarget`` (the strongest LLR
    for the wrong side, in nats), and ``verdict`` (no evidence of miscalibration).

    References
    ----------
    Meuwly, Ramos & Haraksim, Forensic Science International 276 (2017) 142.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> scores = lk.Scores(*lk.theory.GaussianLLR.from_eer(0.05).rvs(300, 3000, np.random.default_rng(2)))
    >>> rows = [{"characteristic": "accuracy", "at_most": 0.25},
    ...         {"characteristic": "discriminating power", "metric": "eer", "at_most": 0.01},
    ...         {"characteristic": "calibration", "metric": "verdict"}]
    >>> validation = lk.validate(scores, {"criterion": rows}, replicates=50)
    >>> [row.passed for row in validation.rows], validation.passed
    ([True, False, True], False)
    """
    source = as_source(source)
    if isinstance(criteria, (str, Path)):
        criteria = read_criteria(criteria)
    elif not isinstance(criteria, Criteria):
        criteria = criteria_from_dict(criteria)
    options = dict(criteria.options)
    result = evaluate(source, ece=True, **options)
    speakers = options.get("speakers")
    check = check_calibration(source, speakers=speakers, replicates=replicates, seed=seed, curves=curves)
    listed = misleading_trials(source, worst)
    setting = find_scope(
        source, result, speakers=speakers, recordings=options.get("recordings"), calibration=calibration
    )
    judge = _Judge(source, criteria, options, result, check, listed)
    rows = tuple(judge.row(criterion) for criterion in criteria.rows)
    level = options.get("level", 0.95)
    bands = curve_bands(source, result, speakers=speakers, level=level) if curves else None
    return Validation(rows, result, check, listed, criteria.report, setting, bands)


@dataclass(frozen=True, eq=False)
class _Judge:
    source: ScoreSource
    criteria: Criteria
    options: dict[str, Any]
    result: Evaluation
    check: CalibrationCheck
    misleading: tuple[MisleadingTrial, ...]

    def row(self, criterion: Criterion) -> ValidationRow:
        """A row of the matrix, judged."""
        if criterion.metric == "verdict":
            said = self.check.verdict
            return _row(criterion, said.text, None, said.outcome == "none_found", "")
        if criterion.by is not None:
            return self.by_condition(criterion)
        value, interval, note = self.measured(criterion)
        if criterion.change_from is not None:
            if criterion.use == "interval":
                raise InputError(f"{criterion.metric}: a change from another file has no interval")
            before = self.value_before(criterion)
            note, value, interval = f"{value:.4g} instead of {before:.4g}", value - before, None
        return _row(criterion, value, interval, self.met(criterion, value, interval), note)

    def met(self, criterion: Criterion, value: float, interval: tuple[float, float] | None) -> bool:
        """Whether a number, or its whole interval, is within the bounds."""
        if criterion.use == "interval":
            if interval is None:
                raise InputError(f"{criterion.metric} has no interval; ask for one with ci in [options]")
            return criterion.at_least <= interval[0] and interval[1] <= criterion.at_most
        return criterion.at_least <= value <= criterion.at_most  # nan is within no bounds

    def measured(self, criterion: Criterion) -> tuple[float, tuple[float, float] | None, str]:
        """The number, its interval where it has one, and what is to be said about it."""
        name = criterion.metric
        if name in CHECKED:
            value = self.check.dev_pav if name == "dev_pav" else math.nan
            if name == "cv_loss" and self.check.loss is not None:
                value = self.check.loss.loss
            return value, None, self.by_chance(name)
        if name in WORST:
            llrs = [trial.llr for trial in self.misleading if trial.is_target == (name == WORST[0])]
            return max((abs(llr) for llr in llrs), default=0.0), None, ""
        note = self.by_chance(name) if name == "cllr_cal" else ""
        value, key = number_of(self.result, name)
        return value, self.result.intervals.get(key), note

    def by_chance(self, name: str) -> str:
        """How often a calibrated system shows as much, where that is known."""
        p = self.check.p_value(name)
        return "" if math.isnan(p) else f"p = {p:.2g} if calibrated"

    def by_condition(self, criterion: Criterion) -> ValidationRow:
        """The worst condition."""
        if criterion.change_from is not None or criterion.metric in (*CHECKED, *WORST):
            raise InputError(f"{criterion.metric}: by goes with the metrics of an evaluation only")
        evaluation = evaluate(self.source, **{**self.options, "by": criterion.by})
        if not evaluation.groups:
            raise InputError(f"no value of {criterion.by!r} has trials of both classes")
        rows = []
        for name, group in evaluation.groups.items():
            value, key = number_of(group, criterion.metric)
            interval = group.intervals.get(key)
            beyond = max(value - criterion.at_most, criterion.at_least - value)
            rows.append((math.inf if math.isnan(beyond) else beyond, name, value, interval))
        _, name, value, interval = max(rows, key=lambda row: row[0])
        passed = all(self.met(criterion, value, interval) for _, _, value, interval in rows)
        return _row(criterion, value, interval, passed, f"worst of {len(rows)}: {criterion.by} = {name}")

    def value_before(self, criterion: Criterion) -> float:
        """The number in the file that the change is counted from."""
        assert criterion.change_from is not None
        path = Path(criterion.change_from)
        if self.criteria.folder is not None:
            path = self.criteria.folder / path
        other = read_trials(str(path))
        plain = {name: value for name, value in self.options.items() if name == "points"}
        if criterion.metric in (*CHECKED, *WORST):
            raise InputError(f"{criterion.metric}: change_from goes with the metrics of an evaluation only")
        return number_of(evaluate(other, **plain), criterion.metric)[0]


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
    known = ", ".join((*PLAIN, *CHECKED, *WORST, *costs, "verdict"))
    raise UnknownNameError(f"unknown metric {name!r}; known are {known}")


def _row(
    criterion: Criterion, result: float | str, interval: tuple[float, float] | None, passed: bool, note: str
) -> ValidationRow:
    return ValidationRow(
        criterion.characteristic,
        criterion.metric,
        criterion.graph,
        criterion.words,
        criterion.data,
        result,
        interval,
        bool(passed),
        note,
    )
