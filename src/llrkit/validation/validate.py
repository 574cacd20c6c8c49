"""validate(): the validation matrix of a system, filled in and judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from llrkit._arguments import takes
from llrkit._llr_units import llr_unit
from llrkit._plain import Json
from llrkit._random import RNG, seed_of
from llrkit._results import Result
from llrkit._vocabulary import vocabulary
from llrkit.calibrate.maps import Map
from llrkit.evaluation.evaluate import evaluate
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.scores import ScoreSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.scores.source import as_source
from llrkit.trust.calibration.check_calibration import CalibrationCheck, check_calibration
from llrkit.trust.intervals.curve_bands import CurveBands, curve_bands
from llrkit.validation.criteria import Criteria, criteria_from_dict, read_criteria
from llrkit.validation.given_calibration import TRAINED_ON, TRAINED_ON_NOTE, same_losses, use_calibration
from llrkit.validation.markdown_tables import clean
from llrkit.validation.misleading_evidence import MisleadingTrial, misleading_trials
from llrkit.validation.validated_scope import ValidatedScope, find_scope
from llrkit.validation.validation_matrix import CriteriaJudge, ValidationRow
from llrkit.validation.validation_words import markdown, summary_lines


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
        return "\n".join(summary_lines(self))


@takes_labels
@takes(calibration=Map)
def validate(
    source: ScoreSource,
    criteria: Criteria | Mapping[str, object] | str | Path,
    *,
    calibration: Map | None = None,
    apply: bool | None = None,
    curves: bool = False,
    worst: int = 10,
    replicates: int = 200,
    rng: RNG = 0,
    trained_on_these: bool = False,
    cautions: Sequence[str] = (),
) -> Validation:
    """Validate LLRs against criteria: the validation matrix of Meuwly, Ramos & Haraksim (2017).

    Metrics are ``eer``, ``eer_roc``, ``auc``, ``cllr``, ``min_cllr``, ``cllr_cal``, ``dev_pav``, ``cv_loss``,
    ``"act_dcf sre08"`` and the like, ``misleading_target`` and ``misleading_nontarget`` (the strongest LLR
    for the wrong side, in nats), and ``verdict`` (no evidence of miscalibration).
    A criterion with ``use = "interval"`` is met if the whole interval is within its limits, failed if the
    whole interval is beyond one of them, and not decided otherwise, or where the number has no interval.
    Where few speakers make the errors there is an upper bound instead: it is met if the bound is within.

    Parameters
    ----------
    criteria
        A TOML file, what such a file holds as a dict, or :class:`Criteria`. Each ``[[criterion]]`` names
        a performance characteristic, a metric and the values it may have; ``[options]`` are keywords of
        :func:`evaluate` (intervals, speakers, operating points); ``[report]`` holds what a report states
        in words.
    calibration
        The map that makes the LLRs: it is applied to raw scores, and the report says how it was trained,
        which bounds it puts on LLRs and why. Scores outside its training range, trials that trained it, and
        a shift since then (tested with the ``speakers`` of the criteria, see :func:`check_shift`) are listed
        in :attr:`Validation.cautions`.
    apply
        Whether the calibration is applied. Trials that were read from a file say what they hold: LLRs that a
        calibration wrote are taken as they are, other scores are raw. Arrays, and LLRs made in Python, do not
        say it: ``apply=True`` for raw scores, ``apply=False`` for LLRs.
    curves
        Also find what a page shows: bands of the curves, and the LLR of the LLR estimated in several ways.
    worst
        How many of the most misleading trials of each class are listed.
    replicates, rng
        Number of draws for the null distributions of the calibration losses, and their random generator or
        seed.
    trained_on_these
        Say that these trials trained the calibration, if you know it; trials with the counts, the moments
        and the range of its training scores are recognized anyway.
    cautions
        Sentences that stand before the numbers wherever the result is shown.

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
    seed = seed_of(rng)
    source = as_source(source)
    if isinstance(criteria, (str, Path)):
        criteria = read_criteria(criteria)
    elif not isinstance(criteria, Criteria):
        criteria = criteria_from_dict(criteria)
    options = criteria.keywords()
    speakers = options.get("speakers")
    given = use_calibration(source, calibration, apply, speakers)
    source = given.llrs
    result = evaluate(source, ece=True, **options)
    check = check_calibration(source, speakers=speakers, replicates=replicates, rng=seed, curves=curves)
    listed = misleading_trials(source, worst)
    setting = find_scope(
        source, result, speakers=speakers, recordings=options.get("recordings"), calibration=calibration
    )
    judge = CriteriaJudge(
        source, criteria, options, result, check, listed, calibration if given.applied else None
    )
    rows = tuple(judge.row(criterion) for criterion in criteria.rows)
    trained = trained_on_these or given.on_training_trials
    if trained or (calibration is not None and same_losses(result, calibration)):
        rows = tuple(replace(row, note="; ".join(filter(None, (row.note, TRAINED_ON_NOTE)))) for row in rows)
        cautions = (*cautions, TRAINED_ON)
    cautions = tuple(
        filter(None, (*cautions, given.not_its_llrs, given.outside and f"{given.outside}.", given.shift))
    )
    level = options.get("level", 0.95)
    bands = curve_bands(source, result, speakers=speakers, level=level) if curves else None
    return Validation(rows, result, check, listed, criteria.report, setting, bands, cautions)
