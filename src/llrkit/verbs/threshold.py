"""threshold_for(): a threshold, and what it does on other trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Unpack

import numpy as np
import numpy.typing as npt

from llrkit.base.arguments import FloatArray, Numbers, seed_of
from llrkit.base.options import documented
from llrkit.base.process import warn_caller
from llrkit.base.text import Json, number, percent
from llrkit.core.numerics import probability
from llrkit.core.pav import error_path
from llrkit.errors import ScaleWarning
from llrkit.metrics import discrimination
from llrkit.metrics.costs import eer_threshold
from llrkit.metrics.discrimination import Range
from llrkit.metrics.measure import Measurements, measure
from llrkit.results.result import Result, plain
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived import AnyTrials, DerivedSource, Labels, as_source
from llrkit.theory.operating_points import OperatingPoint, operating_point
from llrkit.trust.bootstrap import bootstrap, speaker_resampling
from llrkit.trust.influence import FEWEST_ERRORS, score_cuts, trial_numbers
from llrkit.trust.intervals import IF_INDEPENDENT, closed_form, curve_rates
from llrkit.trust.jackknife import KINDS as KINDS_OF_ERROR
from llrkit.trust.jackknife import few_makers
from llrkit.trust.speakers import Columns, find_speakers, kind_asked_for, quantile, require_columns
from llrkit.verbs.options import INTERVALS, ThresholdOptions

if TYPE_CHECKING:
    from llrkit.keywords import ThresholdKeywords


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
        numbers: dict[str, Json] = {
            "criterion": self.criterion, "threshold": self.in_file, "rule": self.rule,
            "interval": plain(self.in_file_interval), "p_miss": self.p_miss, "p_fa": self.p_fa,
            "n_target": self.n_target, "n_nontarget": self.n_nontarget,
        }  # fmt: skip
        if self.point is not None:
            numbers |= {
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
        return numbers | said | {"ci": {"kind": self.ci, "level": self.level}}

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


_EVEN = OperatingPoint(0.5)
_NAMES = {"p_miss": "points.0.p_miss", "p_fa": "points.0.p_fa", "cost": "points.0.act_dcf"}
"""Names of the errors and the cost among the intervals of an evaluation."""
INDEPENDENT = f"intervals {IF_INDEPENDENT}"
OTHER_SCALE = (
    "one of the two sets holds LLRs that a calibration wrote, the other does not: "
    "is the threshold of the one on the scale of the other?"
)
SAME_TRIALS = (
    "errors are counted on the trials that chose the threshold, which on average fits other trials less well"
)


@documented(ThresholdOptions)
def threshold_for(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    options: ThresholdOptions | None = None,
    **changes: Unpack[ThresholdKeywords],
) -> Threshold:
    """The threshold for an operating point, for a false-alarm rate, for a miss rate, or for the EER.

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

    Returns
    -------
    Threshold
        With ``threshold``, ``interval``, ``p_miss``, ``p_fa``, ``cost``, ``intervals`` and a ``sentence``.

    Notes
    -----
    Intervals are those of :func:`llrkit.evaluate`; by default ``"speaker"`` if ``speakers`` are given,
    otherwise ``"trial"``.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])
    >>> chosen = lk.threshold_for(scores, false_alarm_rate=0.2)
    >>> chosen.threshold, chosen.p_miss, chosen.p_fa
    (0.5, 0.25, 0.2)
    >>> lk.threshold_for(scores, point=0.01, calibrated=True, ci="none")
    P=0.01: accept when the score is at least 4.59512; the miss rate is 100.00 %, the false-alarm rate 0.00 %;
    the cost is 1.0000 times that of deciding without scores, 0.01 per trial.
    """
    asked = ThresholdOptions.of(options, changes)
    source = as_source(source, labels)
    on = None if asked.on is None else as_source(asked.on)
    seed, level, calibrated = seed_of(asked.rng), probability(asked.level, "level"), asked.calibrated
    speakers, recordings = asked.speakers or None, asked.recordings or None
    ci = kind_asked_for(asked.ci, speakers, asked.otherwise)
    require_columns(ci, INTERVALS, speakers, recordings)
    given = None
    if asked.point is not None:
        given = operating_point(asked.point, allow_unconfirmed=asked.allow_unconfirmed)
    # calibrated LLRs have the Bayes threshold, which is not estimated from the trials
    bayes = given is not None and (source.roles.calibrated if calibrated is None else calibrated)
    if calibrated is not None and given is None:
        raise asked.error("{} needs an operating point ({})", "calibrated", "point")
    result = measure(source, [] if given is None else [given])
    bins, blocks = result.summaries.bins, result.summaries.blocks
    if given is not None:
        criterion = given.name
        chosen = given.threshold if bayes else discrimination.threshold_for_cost(blocks, given)
    elif asked.false_alarm_rate is not None:
        criterion = f"Pfa at most {rate_in_words(asked.false_alarm_rate)}"
        chosen = discrimination.threshold_for_false_alarms(source, bins, asked.false_alarm_rate)
    elif asked.miss_rate is not None:
        criterion = f"Pmiss at most {rate_in_words(asked.miss_rate)}"
        chosen = discrimination.threshold_for_misses(source, bins, asked.miss_rate)
    else:
        criterion, chosen = "EER", eer_threshold(source)

    counted_on = source if on is None else on
    if calibrated is None and counted_on.roles.calibrated != source.roles.calibrated:
        warn_caller(OTHER_SCALE, ScaleWarning)
    # errors are those of decisions: scores above or below the threshold of an operating point
    at_point = given or _EVEN
    # scores become decisions, so every tool for intervals at an operating point serves any threshold
    decided = DerivedSource(counted_on, _Decisions(chosen, at_point.threshold))
    errors = measure(decided, [at_point])
    uncertain = None
    if ci == "bootstrap":
        assert speakers is not None
        resampling = speaker_resampling(decided, speakers, recordings, seed)
        uncertain = bootstrap(decided, errors, resampling, level, asked.replicates)
    elif ci != "none":
        people = None if speakers is None else find_speakers(decided, speakers)
        uncertain = closed_form(decided, errors, people, level)
    intervals: dict[str, Range] = {}
    reasons: dict[str, str] = {}
    effects = 1.0, 1.0
    if uncertain is not None:
        names = {name: long for name, long in _NAMES.items() if given is not None or name != "cost"}
        there, why = uncertain.intervals, uncertain.no_interval
        intervals = {name: there[long] for name, long in names.items() if long in there}
        reasons = {name: why[long] for name, long in names.items() if long in why}
        of_miss, of_fa = (uncertain.design_effect.get(_NAMES[name], 1.0) for name in ("p_miss", "p_fa"))
        effects = max(of_miss, 1.0), max(of_fa, 1.0)
    # with an operating point the cost needs both rates together; rates alone have a rule of their own
    if given is None and ci in ("trial", "speaker") and source.roles.weight is None:
        # the very intervals of FNMR and FMR at this threshold (biometrics rates)
        intervals, reasons, effects = _rates_at(counted_on, chosen, speakers, level)
    interval = None
    if ci != "none":
        if bayes:
            reasons["threshold"] = "given by the operating point, not estimated"
        elif source.roles.weight is not None:
            reasons["threshold"] = "trials are weighted"
        else:
            # errors were counted on other trials, but the threshold varies as the trials that gave it do
            if given is None and on is not None and ci == "speaker":  # the trials that gave the threshold
                effects = _rates_at(source, chosen, speakers, level)[2]
            interval = _interval_of_threshold(source, result, chosen, given, asked, effects)
    cost = lowest_cost = None
    if given is not None:
        cost = errors.points[0].act_dcf
        # the best cost on the trials that errors are counted on, so the two can be compared
        lowest_cost = (result if on is None else measure(on, [given])).points[0].min_dcf
    return Threshold(
        criterion, chosen, errors.points[0].p_miss, errors.points[0].p_fa, errors.n_target,
        errors.n_nontarget, given, cost, lowest_cost, source.roles.factor, interval, intervals, reasons, ci,
        level,
        (*(() if on is not None or bayes else (SAME_TRIALS,)), *(() if ci != "trial" else (INDEPENDENT,))),
    )  # fmt: skip


@dataclass(frozen=True)
class _Decisions:
    """Scores as decisions: above or below the threshold of an operating point, whose errors are counted."""

    threshold: float
    to: float

    def __call__(self, chunk: Scores) -> Scores:
        return Scores.part(self._of(chunk.target), self._of(chunk.nontarget), chunk.columns, chunk.categories)

    def _of(self, scores: FloatArray) -> FloatArray:
        return np.where(scores >= self.threshold, self.to + 1.0, self.to - 1.0)


def _rates_at(
    source: ScoreSource, threshold: float, speakers: Columns | None, level: float
) -> tuple[dict[str, Range], dict[str, str], tuple[float, float]]:
    """Both error rates at a threshold: intervals, why there are none, and design effects."""
    people = None if speakers is None else find_speakers(source, speakers)
    measured = measure(source, [])
    highest = measured.moments.extremes[1]  # of the finite scores, -inf if there are none
    # a threshold above all scores has no cell; just above the highest one counts the same
    above_all = float(np.nextafter(highest, np.inf)) if np.isfinite(highest) else 0.0
    cut = min(threshold, above_all)
    rates = curve_rates(source, [cut], people, level, along=score_cuts(measured))
    sizes = rates.n if people is None else trial_numbers(source) or rates.n
    intervals, reasons = {}, {}
    for name, kind, one, n in zip(
        ("p_miss", "p_fa"), KINDS_OF_ERROR, (rates.miss, rates.fa), sizes, strict=True
    ):
        errors = round(float(one.rate[0]) * n)
        # few errors, or few who make them: an upper bound instead of an interval
        if people is not None and (one.few[0] or errors < FEWEST_ERRORS):
            few = few_makers(kind, float(one.rate[0]), float(one.makers[0]))
            if not one.few[0]:
                few = f"there are only {errors} {kind}"
            reasons[name] = f"{few}: at most {rate_in_words(float(one.bound[0]))}"
        else:
            intervals[name] = (float(one.low[0]), float(one.high[0]))
    return intervals, reasons, (rates.design_effect(0, 0), rates.design_effect(1, 0))


def _interval_of_threshold(
    source: ScoreSource,
    result: Measurements,
    threshold: float,
    point: OperatingPoint | None,
    asked: ThresholdOptions,
    pair: Range,
) -> Range:
    """Thresholds that the trials cannot tell from the chosen one; a pair of design effects."""
    bins, width = result.summaries.bins, quantile(asked.level)
    if point is not None:
        return discrimination.same_cost(error_path(bins), point, threshold, width, pair)
    if asked.false_alarm_rate is not None:
        return discrimination.same_rate(source, bins, "p_fa", asked.false_alarm_rate, width, pair[1])
    if asked.miss_rate is not None:
        return discrimination.same_rate(source, bins, "p_miss", asked.miss_rate, width, pair[0])
    return discrimination.equal_rates(error_path(bins), result.eer, width, pair)
