"""validate(): a system against criteria, with its validation matrix."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from llrkit._version import __version__
from llrkit.base.arguments import of_kind, seed_of
from llrkit.base.options import documented
from llrkit.base.text import (
    Json,
    clean,
    counted,
    decimals_beside,
    markdown_rows,
    markdown_table,
    not_among,
    number,
    percent,
)
from llrkit.engine.open import open_trials
from llrkit.errors import InputError, UnknownNameError
from llrkit.io.read_options import PLAIN, Reading
from llrkit.maps.map import Map
from llrkit.results.result import Result, text_table
from llrkit.results.vocabulary import LOG10, NATS, Amount, LlrUnit, in_unit, llr_unit, vocabulary
from llrkit.scores import ScoreSource
from llrkit.scores.derived import AnyTrials, Labels, as_source
from llrkit.trust.bands import CurveBands, curve_bands
from llrkit.trust.calibration_check import HEADER as TESTS_HEADER
from llrkit.trust.calibration_check import (
    LEGEND,
    CalibrationCheck,
    Verdict,
    check_calibration,
    p_with_level,
    rows_of_tests,
)
from llrkit.trust.misleading import MisleadingTrial, misleading_trials
from llrkit.verbs import evaluate as words
from llrkit.verbs.criteria import LLRS as WORST
from llrkit.verbs.criteria import (
    NO_INTERVAL,
    REPORT_FIELDS,
    Criteria,
    Criterion,
    criteria_from_dict,
    read_criteria,
)
from llrkit.verbs.evaluate import NUMBERS, Evaluation, evaluate, group_name
from llrkit.verbs.given_calibration import ValidatedScope, find_scope, same_losses, use_calibration
from llrkit.verbs.options import ValidateOptions

if TYPE_CHECKING:
    from llrkit.keywords import ValidateKeywords

TRAINED_ON = "These trials trained the calibration: its LLRs look better on them than on others."
TRAINED_ON_NOTE = "measured on the trials that trained the calibration"
AT_POINTS = ("min_dcf", "act_dcf", "p_miss", "p_fa")
CHECKED = ("dev_pav", "cv_loss")
DECISIONS = {True: "passed", False: "failed", None: "not decided"}

HEADER = ("characteristic", "metric", "criterion", "result", "decision", "note")
SHOWN = {"passed": "PASS", "failed": "FAIL", "not decided": "NOT DECIDED"}
"""Decisions as they stand in the matrix and above it."""
FULL_HEADER = ("characteristic", "metric", "graph", "criterion", "data", "result", "decision", "note")
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


@dataclass(frozen=True, eq=False, repr=False)
class Validation(Result):
    """The result of :func:`validate`."""

    rows: tuple[ValidationRow, ...]
    """The validation matrix: each criterion with its result."""
    evaluation: Evaluation
    """All metrics and curves of the trials."""
    check: CalibrationCheck
    """Whether the LLRs are calibrated."""
    misleading: tuple[MisleadingTrial, ...]
    """The trials of each class whose LLRs mislead most."""
    report: Mapping[str, str]
    """What the owner of the system states in words."""
    setting: ValidatedScope
    """What was counted: trials, sources, recordings, range and bounds of the LLRs."""
    bands: CurveBands | None = None
    """Of the DET, Tippett and ECE curves, where they were asked for."""
    cautions: tuple[str, ...] = ()
    """What a reader must know before the numbers: that the trials trained the calibration, say."""
    applied: bool = False
    """Whether the trials were raw scores, to which the calibration was applied."""

    @property
    def passed(self) -> bool:
        """Whether every criterion is met; False also where one is not decided."""
        return all(row.passed is True for row in self.rows)

    @property
    def outcome(self) -> str:
        """``"passed"``, ``"failed"``, or ``"not decided"``: none failed, but the trials do not decide all."""
        if self.passed:
            return "passed"
        return "failed" if any(row.passed is False for row in self.rows) else "not decided"

    def to_dict(self) -> dict[str, Json]:
        """Plain values, as in the JSON of the command line."""
        return {
            "passed": self.passed,
            "outcome": self.outcome,
            "matrix": [row.to_dict() for row in self.rows],
            "report": dict(self.report),
            "cautions": list(self.cautions),
            "setting": self.setting.to_dict(),
            "evaluation": self.evaluation.to_dict(),
            "calibration": {name: value for name, value in self.check.to_dict().items() if name != "curves"},
            "misleading": [trial.to_dict() for trial in self.misleading],
        }

    def _frame_rows(self) -> list[dict[str, Json]]:
        rows = [row.to_dict() for row in self.rows]
        return [{**row, "result": str(row["result"])} for row in rows]

    @property
    def names(self) -> tuple[str, ...]:
        """Names and texts of the user, which no vocabulary changes."""
        places = (trial.words_of_place for trial in self.misleading)
        points = (point.point.name for point in self.evaluation.points)
        return (*self.report.values(), *places, *points)

    def to_markdown(
        self,
        *,
        verbal: bool = False,
        words: str = "forensic",
        base_10: bool = False,
        made_from: Sequence[tuple[str, str]] = (),
    ) -> str:
        """A validation report: what was validated, the matrix, the numbers, the worst trials, their origin.

        ``words`` is the vocabulary: 'nist', 'forensic' or 'biometrics'. ``base_10`` shows LLRs as log10 LR
        instead of nats.

        ``made_from`` says where the numbers come from, as pairs of a name and a text, see
        ``Provenance.lines``; without it date and version are stated.

        Parameters
        ----------
        verbal
            Add the strength of evidence in words (ENFSI 2015).
        words
            The vocabulary: ``"nist"``, ``"forensic"`` or ``"biometrics"``.
        base_10
            Show LLRs to base ten only, not in nats.
        made_from
            Lines on the origin of the report, as pairs of a name and a text.
        """
        keep = (*self.names, *(text for pair in made_from for text in pair))
        text = markdown(self, verbal=verbal, unit=llr_unit(base_10), made_from=made_from)
        return vocabulary(words).say_of_sources(text, keep=map(clean, keep))

    def __repr__(self) -> str:
        matrix = text_table(HEADER, [matrix_cells(row) for row in self.rows], range(len(HEADER)))
        return "\n".join([*self.cautions, matrix, "", outcome(self)])


@documented(ValidateOptions)
def validate(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    options: ValidateOptions | None = None,
    **changes: Unpack[ValidateKeywords],
) -> Validation:
    """Validate LLRs against criteria: the validation matrix of Meuwly, Ramos & Haraksim (2017).

    Metrics are ``eer``, ``eer_roc``, ``auc``, ``cllr``, ``min_cllr``, ``cllr_cal``, ``dev_pav``, ``cv_loss``,
    ``"act_dcf sre08"`` and the like, ``misleading_target`` and ``misleading_nontarget`` (the strongest LLR
    for the wrong side, in nats), and ``verdict`` (no evidence of miscalibration).
    A criterion is met if the whole interval of its number is within its limits, failed if the whole interval
    is beyond one of them, and not decided otherwise, or where these trials give the number no interval.
    Where few speakers make the errors there is an upper bound instead: it is met if the bound is within.
    With ``use = "estimate"``, and where intervals are not asked for or a metric never has one, the number
    itself decides; the note of the row says so.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    options
        Options made before; those that are given as keywords replace theirs.
    {options}

    References
    ----------
    Meuwly, Ramos & Haraksim, Forensic Science International 276 (2017) 142.

    Notes
    -----
    The criteria are a file, what such a file holds as a dict, or :class:`Criteria`. Each
    ``[[criterion]]`` names a performance characteristic, a metric and the values it may have;
    ``[options]`` are keywords of :func:`evaluate` (intervals, speakers, operating points); ``[report]``
    holds what a report states in words.

    Scores outside the training range of the calibration, trials that trained it, and a shift since then
    (tested with the ``speakers`` of the criteria, see :func:`check_shift`) are listed in
    :attr:`Validation.cautions`. LLRs that another calibration made are refused.

    Trials that were read from a file say what they hold: LLRs that a calibration wrote are taken as they
    are, other scores are raw. Arrays, and LLRs made in Python, do not say it: ``apply=True`` for raw
    scores, ``apply=False`` for LLRs.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> scores = lk.Scores(*lk.theory.GaussianLLR.from_eer(0.05).rvs(300, 3000, np.random.default_rng(2)))
    >>> rows = [{"characteristic": "accuracy", "at_most": 0.25},
    ...         {"characteristic": "discriminating power", "metric": "eer", "at_most": 0.01},
    ...         {"characteristic": "calibration", "metric": "verdict"}]
    >>> validation = lk.validate(scores, criteria={"criterion": rows}, replicates=50)
    >>> [row.passed for row in validation.rows], validation.passed
    ([True, False, True], False)
    """
    asked = ValidateOptions.of(options, changes)
    source = as_source(source, labels)
    criteria, calibration = asked.criteria, asked.calibration
    if criteria is None:
        raise asked.error("{} is missing: what are the LLRs validated against?", "criteria")
    if calibration is not None:
        of_kind(calibration, Map, "calibration")
    seed = seed_of(asked.rng)
    if isinstance(criteria, (str, Path)):
        criteria = read_criteria(criteria)
    elif not isinstance(criteria, Criteria):
        criteria = criteria_from_dict(criteria)
    of_evaluation = criteria.keywords()
    speakers = of_evaluation.get("speakers")
    raw = not source.roles.calibrated and asked.apply is not False  # or may be
    if raw and calibration is not None and asked.reading is not None:
        from llrkit.engine.apply_files import refuse_other_scale

        refuse_other_scale(calibration, asked.reading)
    # first, because everything else is measured on the LLRs
    given = use_calibration(source, calibration, asked.apply, speakers)
    source = given.llrs
    result = evaluate(source, ece=True, **of_evaluation)
    check = check_calibration(
        source, speakers=speakers, replicates=asked.replicates, rng=seed, curves=asked.curves
    )
    listed = misleading_trials(source, n=asked.worst)
    setting = find_scope(
        source, result, speakers=speakers, recordings=of_evaluation.get("recordings"), calibration=calibration
    )
    elsewhere, not_for_it = _read_elsewhere(asked.reading or PLAIN, criteria)
    judge = CriteriaJudge(
        source, criteria, of_evaluation, result, check, listed, calibration if given.applied else None,
        elsewhere,
    )  # fmt: skip
    rows = tuple(judge.row(criterion) for criterion in criteria.rows)
    cautions = (*asked.cautions, not_for_it)
    # told by the caller, recognized by the scores, or by the losses that the file states
    trained = asked.trained_on_these or given.on_training_trials
    if trained or (calibration is not None and same_losses(result, calibration)):
        # every row says so, since rows are read alone
        rows = tuple(replace(row, note="; ".join(filter(None, (row.note, TRAINED_ON_NOTE)))) for row in rows)
        cautions = (*cautions, TRAINED_ON)
    cautions = tuple(
        filter(None, (*cautions, given.not_its_llrs, given.outside and f"{given.outside}.", given.shift))
    )
    level = of_evaluation.get("level", 0.95)
    bands = curve_bands(source, result=result, speakers=speakers, level=level) if asked.curves else None
    return Validation(rows, result, check, listed, criteria.report, setting, bands, cautions, given.applied)


def _read_elsewhere(reading: Reading, criteria: Criteria) -> tuple[Reading, str]:
    """How files are read that changes are counted from, and what is to be said of what is not for them.

    The key of the trials, their non-targets and what was chosen of them are not those of other files.
    """
    own = {"key": "the key", "nontargets": "the file of non-targets", "where": "the conditions"}
    left_out = [words for name, words in own.items() if name in reading.given()]
    files = dict.fromkeys(Path(row.change_from).name for row in criteria.rows if row.change_from)
    elsewhere = reading.with_files(key=None, nontargets=None, where=())
    if not left_out or not files:
        return elsewhere, ""
    which = "which is" if len(left_out) == 1 and not reading.where else "which are"
    return elsewhere, (
        f"{' and '.join(files)}, from which a change is counted: read without {' and '.join(left_out)}, "
        f"{which} for the scores that are validated."
    )


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
        # an infinite value stays beyond any limit
        if criterion.use == "interval" and not math.isinf(self.value):  # no chance makes that finite
            if self.interval is None and self.upper_bound is None:
                return None
            # what has an upper bound only is a rate or a cost, and these are 0 at least
            low, high = self.interval or (0.0, self.upper_bound or 0.0)
        if math.isnan(low) or math.isnan(high):
            return None
        # the whole interval beyond a limit fails; a limit inside it decides nothing
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
    # every other outcome (evidence, reversed, infinite, uninformative) fails
    return {"none_found": True, "too_few": None}.get(verdict.outcome, False)


@dataclass(frozen=True, eq=False)
class CriteriaJudge:
    """What criteria are judged by."""

    source: ScoreSource
    criteria: Criteria
    options: Mapping[str, Any]
    result: Evaluation
    check: CalibrationCheck
    misleading: tuple[MisleadingTrial, ...]
    applied: Map | None = None
    """The calibration, where it made the LLRs of the trials here: other raw scores get it too."""
    elsewhere: Reading = PLAIN
    """How files are read that changes are counted from."""

    def row(self, criterion: Criterion) -> ValidationRow:
        """A row of the matrix, judged: by its interval, or by its estimate where it can have none."""
        why = self.criteria.why_estimate(criterion)
        if why is None:
            return self._row(criterion)
        row = self._row(replace(criterion, use="estimate"))
        # a verdict is a test, and has no estimate
        said = f"judged by its estimate: {why}" if why else ""
        return replace(row, note="; ".join(filter(None, (row.note, said))))

    def _row(self, criterion: Criterion) -> ValidationRow:
        if criterion.metric == "verdict":  # its text has the level beside the p-value, where one was made
            verdict = self.check.verdict
            row = row_of_matrix(criterion, verdict.text, is_met_by(verdict), "")
            return replace(row, amounts=verdict.amounts)
        if criterion.by is not None:
            return self.by_condition(criterion)
        measured = self.measured(criterion)
        if criterion.change_from is not None:
            if criterion.metric in (*CHECKED, *WORST):
                raise InputError(f"{criterion.metric}: change_from is only for the metrics of an evaluation")
            other = open_trials(str(change_path(self.criteria, criterion)), self.elsewhere)
            # the other file holds raw scores too; the change is between LLRs of the same calibration
            if self.applied is not None and not other.roles.calibrated:
                other = self.applied.on(other)
            # only the points: the change has no interval, so none is computed for the other file
            points = {name: value for name, value in self.options.items() if name == "points"}
            before, _ = number_of(evaluate(other, **points), criterion.metric)
            show = percent if criterion.is_rate else "{:.4g}".format
            note = f"{show(measured.value)} instead of {show(before)}"
            measured = Measured(measured.value - before, note=note)
        return row_of_matrix(criterion, measured, measured.met(criterion), measured.words(criterion))

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
        evaluation = evaluate(self.source, **{**self.options, "by": criterion.by})
        if not evaluation.groups:
            raise InputError(f"no value of {criterion.by!r} has trials of both classes")
        groups = {
            group_name(key): of_evaluation(group, criterion.metric)
            for key, group in evaluation.groups.items()
        }

        # first whether it fails, then by how far: a condition that fails narrowly is worse than one undecided
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
    if name in NUMBERS:
        return float(getattr(result, name)), name
    kind, _, point_name = name.replace(":", " ", 1).partition(" ")
    if kind in AT_POINTS:
        for i, point in enumerate(result.points):
            if point.point.name == point_name.strip():
                return float(getattr(point, kind)), f"points.{i}.{kind}"
        known = ", ".join(point.point.name for point in result.points)
        raise UnknownNameError(f"{name!r}: no operating point {point_name!r}; there are {known}")
    costs = [f"{kind} POINT" for kind in AT_POINTS]
    raise UnknownNameError(
        f"unknown metric {not_among(name, (*NUMBERS, *CHECKED, *WORST, *costs, 'verdict'))}"
    )


def row_of_matrix(
    criterion: Criterion, result: Measured | str, passed: bool | None, note: str
) -> ValidationRow:
    """A row of the matrix of what was measured, or said, and decided."""
    shown = result if isinstance(result, str) else result.value
    interval = None if isinstance(result, str) else result.interval
    words = criterion.words + (" with its whole interval" if criterion.use == "interval" else "")
    return ValidationRow(
        criterion.characteristic, criterion.metric, criterion.graph, words, criterion.data, shown, interval,
        passed, note, criterion.is_rate, criterion.is_llr, criterion.amounts,
        (criterion.at_least, criterion.at_most),
    )  # fmt: skip


def full_cells(row: ValidationRow, unit: LlrUnit = NATS) -> list[str]:
    """One row of the matrix for a report: all columns of Meuwly, Ramos & Haraksim (2017)."""
    characteristic, metric, criterion, *rest = matrix_cells(row, unit)
    return [characteristic, metric, row.graph, criterion, row.data or "these trials", *rest]


def matrix_cells(row: ValidationRow, unit: LlrUnit = NATS) -> list[str]:
    """One row of the matrix for a terminal; rates in percent, LLRs in a unit."""

    def show(value: float) -> str:
        digits = decimals_beside(value, row.limits, 4)
        return percent(value, digits - 2) if row.is_rate else number(value, digits)

    if isinstance(row.result, str):
        result = in_unit(row.result, row.amounts, unit)
    else:
        limits = (unit.of(row.limits[0]), unit.of(row.limits[1]))
        digits = decimals_beside(unit.of(row.result), limits, 3)
        result = unit.said(row.result, f".{digits}f") if row.is_llr else show(row.result)
    if row.interval is not None:
        result += f" [{show(row.interval[0]).removesuffix(' %')}, {show(row.interval[1])}]"
    criterion = in_unit(row.criterion, row.amounts, unit)
    return [row.characteristic, row.metric, criterion, result, SHOWN[row.decision], row.note]


def outcome(validation: Validation) -> str:
    """One sentence."""
    n = len(validation.rows)
    failed = [row for row in validation.rows if row.passed is False]
    open_rows = [row for row in validation.rows if row.passed is None]
    if validation.passed:
        if n == 1:
            return "The criterion is met."
        return "Both criteria are met." if n == 2 else f"All {n} criteria are met."
    said = []
    if failed:
        verb = "is" if len(failed) == 1 else "are"
        head = "The criterion" if n == 1 else f"{len(failed)} of {n} criteria"
        said.append(f"{head} {verb} not met: {_criteria_named(failed)}")
    if open_rows:
        head = "the criterion" if n == 1 else f"{len(open_rows)} of {n} criteria"
        these = "these" if failed else "These"
        said.append(f"{these} trials do not decide {head}: {_criteria_named(open_rows)}")
    return "; ".join(said) + "."


def _criteria_named(rows: Sequence[ValidationRow]) -> str:
    return ", ".join(f"{row.characteristic} ({row.metric})" for row in rows)


def markdown(
    validation: Validation, *, verbal: bool, unit: LlrUnit = NATS, made_from: Sequence[tuple[str, str]] = ()
) -> str:
    """The report: what was validated and on what, the matrix, the numbers, the most misleading trials."""
    result = validation.evaluation
    matrix = [full_cells(row, unit) for row in validation.rows]
    lines = ["# Validation report", "", *(f"**{clean(caution)}**\n" for caution in validation.cautions)]
    lines += [f"**{SHOWN[validation.outcome]}**", "", outcome(validation), "", "## What was validated", ""]
    lines += [f"- **{name}**: {clean(text)}" for name, text in stated(validation, unit)]
    lines += ["", "## Validation matrix", "", *markdown_table(FULL_HEADER, matrix)]
    lines += ["", "## Numbers", "", "| | | |", "|---|--:|---|", *markdown_rows(words.rows(result, unit))]
    lines += ["", f"Intervals: {how_intervals(result)}", "", "## Calibration", ""]
    lines += [clean(validation.check.verdict.in_unit(unit).sentence), ""]
    lines += [*markdown_table(TESTS_HEADER, rows_of_tests(validation.check, unit)), "", LEGEND]
    lines += [f"- {clean(note)}" for note in validation.check.notes]
    lines += ["", "## Most misleading trials", "", misleading_shares(validation), ""]
    header, cells = misleading_rows(validation, verbal, unit)
    lines += markdown_table(header, cells) if cells else ["None: no LLR points the wrong way."]
    now = f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S %z}"
    made_from = made_from or [("made", now), ("with", f"llrkit {__version__}")]
    lines += ["", "## Provenance", "", *(f"- **{name}**: {clean(text)}" for name, text in made_from)]
    return "\n".join(lines) + "\n"


def stated(validation: Validation, unit: LlrUnit = NATS) -> list[tuple[str, str]]:
    """What was validated and on what: in the words of its owner, then as counted.

    What a calibration file states of itself is not missing where its owner says nothing.
    """
    counted = validation.setting.words(unit)
    instead = {"calibration": "calibration map", "bounds": "bounds of the map"}
    # what a calibration file states is not missing where the owner says nothing
    missing = [name for name in REPORT_FIELDS if instead.get(name) not in counted]
    said = dict.fromkeys(missing, "not stated") | dict(validation.report)
    return [*((name, said[name]) for name in REPORT_FIELDS if name in said), *counted.items()]


def how_intervals(result: Evaluation) -> str:
    """How the intervals of an evaluation were made, as a sentence."""
    used = result.uncertainty
    if used is None:
        return "none were asked for."
    kinds = {
        "trial": "delta method and Clopper-Pearson, trials taken as independent",
        "speaker": "each speaker left out in turn, bootstrap-t",
        "bootstrap": "speakers resampled with replacement",
    }
    return "; ".join([f"{100 * used.level:g} %, {kinds[used.kind]}", *used.notes]) + "."


def misleading_shares(validation: Validation) -> str:
    """How many LLRs point the wrong way, as a sentence."""
    misses, alarms = validation.evaluation.tippett.misleading
    return (
        f"Misleading LLRs (Tippett at 0): {percent(misses)} of same-source trials below 0, "
        f"{percent(alarms)} of different-source trials at or above 0."
    )


def misleading_rows(
    validation: Validation, verbal: bool, unit: LlrUnit = NATS
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Header and rows of the most misleading trials."""
    units = list(dict.fromkeys((unit, LOG10)))
    header = ("truth", *(one.column for one in units), "trial", *(("in words",) if verbal else ()))
    cells = []
    for trial in validation.misleading:
        truth = "same-source" if trial.is_target else "different-source"
        row = (truth, *(f"{one.of(trial.llr):.3f}" for one in units), trial.words_of_place)
        cells.append((*row, trial.words) if verbal else row)
    return header, tuple(cells)
