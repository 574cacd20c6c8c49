"""case_report(): the LLR of a case, its interval and what it rests on, as a result and in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from scipy.special import ndtr, ndtri

from llrkit.base.arguments import Array, FloatArray, of_kind, seed_of
from llrkit.base.options import documented
from llrkit.base.process import tracked
from llrkit.base.text import Json, clean, counted, markdown_table, printable
from llrkit.core.summaries import UnweightedSummary
from llrkit.errors import InputError, LlrkitError, UnknownNameError
from llrkit.fits.folds import METHODS, fit_quietly
from llrkit.maps.bounds import BoundedMap
from llrkit.maps.map import AffineMap, ComposedMap, Map
from llrkit.results.result import Result, plain
from llrkit.results.vocabulary import LN10, LOG10, NATS, LlrUnit, llr_unit, vocabulary
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived import as_source
from llrkit.theory.operating_points import verbal_word
from llrkit.trust import bootstrap
from llrkit.trust.calibration_check import Verdict, check_calibration
from llrkit.trust.misleading import AsExtreme, as_extreme
from llrkit.trust.recalibration_line import LINES, map_uncertainty
from llrkit.verbs import given_calibration
from llrkit.verbs.options import CaseOptions
from llrkit.verbs.validate import DECISIONS, is_met_by

if TYPE_CHECKING:
    from llrkit.keywords import CaseKeywords

SAME_LLR = 1e-6
"""How close the LLRs of a fit and of the same fit again are; a copy of the trials may hold fewer digits."""
FEWEST_FITS = 0.9
"""The share of the drawn sets that must be fitted for their percentiles to mean something."""
REPLICATES, FEWER = 500, 100
"""Drawn sets to which a calibration is fitted again, and those of methods that are slow to fit."""
SLOW = frozenset({"rule", "saturating", "nig", "tied-nig", "mixture", "gamma", "bigaussian", "unsupervised"})
"""Methods that take five times as long as the others, and more: 500 fits would be minutes."""


@dataclass(frozen=True)
class LLRInterval:
    """Where the LLR of a score lies, given the trials that trained the calibration; in nats."""

    low: float
    high: float
    level: float
    how: str


@dataclass(frozen=True)
class CaseLLR:
    """One comparison of a case."""

    name: str
    """Name of the comparison."""
    score: float
    """The score as it was given."""
    llr: float
    """In nats."""
    interval: LLRInterval | None
    """Interval of the LLR; None where there is none."""
    at_bound: str
    """'lower' or 'upper' where the LLR is as strong as the calibration allows; else empty."""
    outside: str
    """'below' or 'above' where the score is outside the range of the training scores; else empty."""
    in_training: AsExtreme | None
    """How many training trials had such an LLR; None without training trials."""
    in_validation: AsExtreme | None
    """How many validation trials had such an LLR; None without validation trials."""

    @property
    def log10_lr(self) -> float:
        """The LLR to base ten."""
        return LOG10.of(self.llr)


@dataclass(frozen=True)
class CaseReport(Result):
    """The comparisons of a case between two propositions, and what their LLRs rest on."""

    h1: str
    """The first proposition, same source, in the words of the report."""
    h2: str
    """The alternative proposition, in the words of the report."""
    comparisons: tuple[CaseLLR, ...]
    """The LLR of each questioned score, and what it rests on."""
    calibration: Map
    """The map from score to LLR."""
    no_interval: str
    """Why there are no intervals; empty where there are."""
    bounds: tuple[float, float] | None
    """Lowest and highest LLR that the calibration gives, in nats; None without bounds."""
    level: float
    """Confidence level of the intervals."""
    conditions: str = ""
    """In the owner's words: for which recordings the calibration may be used."""
    verbal: bool = False
    """Whether the report adds the verbal equivalents of the ENFSI guideline."""
    cautions: tuple[str, ...] = ()
    """What a reader must know before the numbers."""
    validation: ScoreSource | None = None
    """LLRs of the trials of the validation."""
    training: ScoreSource | None = None
    """The trials that trained the calibration."""
    verdict: Verdict | None = None
    """Whether the LLRs of the validation are calibrated; None without one, or if they cannot be tested."""
    no_verdict: str = ""
    """Why the LLRs of the validation could not be tested; empty if they were."""

    @property
    def validation_outcome(self) -> str | None:
        """``"passed"``, ``"failed"`` or ``"not decided"``, as the criterion of calibration in a validation.

        None without a validation.
        """
        if self.validation is None:
            return None
        return DECISIONS[None if self.verdict is None else is_met_by(self.verdict)]

    def to_dict(self) -> dict[str, Json]:
        """Plain values; the first comparison is also at the top."""
        return case_to_dict(self)

    @property
    def names(self) -> tuple[str, ...]:
        """Names and texts of the user, which no vocabulary changes."""
        return (self.h1, self.h2, self.conditions, *(item.name for item in self.comparisons))

    def to_markdown(
        self, made_from: Sequence[tuple[str, str]] = (), *, words: str = "forensic", base_10: bool = False
    ) -> str:
        """The report as text.

        ``words`` is the vocabulary: 'nist', 'forensic' or 'biometrics'. ``base_10`` shows LLRs as log10 LR
        only, not in nats.

        Parameters
        ----------
        made_from
            Lines on the origin of the report, as pairs of a name and a text.
        words
            The vocabulary: ``"nist"``, ``"forensic"`` or ``"biometrics"``.
        base_10
            Show LLRs to base ten only, not in nats.
        """
        keep = (*self.names, *(text for pair in made_from for text in pair))
        text = case_markdown(self, made_from, llr_unit(base_10))
        return vocabulary(words).say_of_sources(text, keep=map(clean, keep))


@documented(CaseOptions)
def case_report(
    calibration: Map,
    scores: float | Sequence[float] | Mapping[str, float],
    *,
    options: CaseOptions | None = None,
    **changes: Unpack[CaseKeywords],
) -> CaseReport:
    """The LLRs of questioned scores with what a reader of a case report asks for.

    Parameters
    ----------
    calibration
        A map of one score, as a fit or :func:`llrkit.load_map` gives it.
    scores
        The questioned scores as the recognizer gave them: one, several, or several by name.
    options
        Options made before; those that are given as keywords replace theirs.
    {options}

    Notes
    -----
    Trials of the validation are raw scores, or LLRs that this calibration made; those of another are
    refused. If the LLRs are not calibrated, or if that is not decided, every form of the report begins
    with it.

    Without ``speakers`` training trials are taken as independent. If the trials of the validation have
    these columns too, the test for a shift of these allows for them.

    Examples
    --------
    >>> import llrkit as lk
    >>> pair = lk.theory.GaussianLLR.from_eer(0.05)
    >>> train = lk.simulate.simulate_trials(pair, n_target=300, n_nontarget=3000, rng=1).scores()
    >>> case = lk.case_report(lk.fit_cmlg(train), 4.0, train=train,
    ...     h1="the suspect is the speaker", h2="another man of the same region is the speaker")
    >>> comparison = case.comparisons[0]
    >>> round(comparison.llr, 1), comparison.interval.low < comparison.llr < comparison.interval.high
    (4.2, True)
    >>> print(case.to_dict()["statement"])
    The score is about 65 times more probable if the suspect is the speaker rather than if another man of
    the same region is the speaker (95 % interval 45 to 95).
    """
    asked = CaseOptions.of(options, changes)
    of_kind(calibration, Map, "calibration")
    speakers, seed = asked.speakers or None, seed_of(asked.rng)
    # a score alone decides the LLR here; columns or other systems would have to be asked for as well
    if calibration.needs:
        raise InputError(
            "a case report takes one score; this calibration also needs "
            f"{' and '.join(map(repr, calibration.needs))}"
        )
    if calibration.n_systems != 1:
        raise InputError("a case report takes one score; this calibration takes several")
    named = _named_scores(scores)
    values = np.array(list(named.values()))
    llrs = np.asarray(calibration(values, outside="ignore"))
    cautions: list[str] = []
    intervals, why_not = None, "the trials that trained the calibration were not given"
    trained = checked = verdict = None
    no_verdict = ""
    if asked.train is not None:
        source = as_source(asked.train)
        intervals, why_not = llr_intervals(
            calibration, source, values, speakers=speakers, level=asked.level,
            replicates=asked.replicates, seed=seed,
        )  # fmt: skip
        trained = source
        bounded = given_calibration.bounding_map(calibration)
        if speakers is not None and bounded is not None and given_calibration.counts_trials(bounded):
            cautions.append(
                "The bounds of the calibration count every training trial as a source of its own; counted by "
                "speakers, as the interval is, they would be tighter."
            )
    if asked.validation is not None:
        known, who = as_source(asked.validation), speakers
        # speakers may be known in training only; the validation is then judged as of independent trials
        try:
            known.with_columns(*(speakers or ()))
        except UnknownNameError:  # only the training trials have them
            who = None
        # what a calibration did not write is raw here, also an array, which does not say what it holds
        given = given_calibration.use_calibration(
            known, calibration, None if known.roles.calibrated else True, who
        )
        cautions += [given.not_its_llrs] if given.not_its_llrs else []
        cautions += [f"Trials of the validation: {given.shift}"] if given.shift else []
        if given.on_training_trials:
            cautions.append(
                "The trials of the validation trained the calibration: misleading LLRs are rarer among them "
                "than among others."
            )
        checked = given.llrs
        try:
            verdict = check_calibration(checked, speakers=who, rng=seed, curves=False).verdict
        except LlrkitError as error:  # all LLRs are the same, say: the other numbers are still known
            no_verdict = str(error)
    in_training = [None] * len(llrs) if trained is None else as_extreme(calibration.on(trained), llrs)
    in_validation = [None] * len(llrs) if checked is None else as_extreme(checked, llrs)
    bounds, limits = _bounds_of_map(calibration), calibration.training_range
    comparisons = []
    for i, (name, score) in enumerate(named.items()):
        llr, at_bound, outside = float(llrs[i]), "", ""
        if bounds is not None:
            at_bound = "lower" if llr <= bounds[0] else "upper" if llr >= bounds[1] else ""
        if limits is not None:
            low, high = sorted((float(limits[0][0]), float(limits[1][0])))
            outside = "below" if score < low else "above" if score > high else ""
        interval = None if intervals is None else intervals[i]
        comparisons.append(
            CaseLLR(name, score, llr, interval, at_bound, outside, in_training[i], in_validation[i])
        )
    return CaseReport(
        asked.proposition("h1"), asked.proposition("h2"), tuple(comparisons), calibration, why_not, bounds,
        asked.level, asked.conditions.strip(), asked.verbal, tuple(cautions), checked, trained, verdict,
        no_verdict,
    )  # fmt: skip


def _named_scores(scores: float | Sequence[float] | Mapping[str, float]) -> dict[str, float]:
    if not isinstance(scores, Mapping):
        values = np.atleast_1d(np.asarray(scores, dtype=np.float64))
        if values.ndim != 1:
            raise InputError(f"scores must be one number or a list of numbers, got shape {values.shape}")
        scores = {f"comparison {i + 1}": value for i, value in enumerate(values.tolist())}
    named = {str(name): float(value) for name, value in scores.items()}
    if not named:
        raise InputError("there is no questioned score")
    for name, value in named.items():
        if not math.isfinite(value):
            raise InputError(f"{name}: the score {value} is not a finite number")
    return named


def _bounds_of_map(calibration: Map) -> tuple[float, float] | None:
    low, high = -math.inf, math.inf
    # the tightest of nested bounds holds; after a composition only the last map can bound
    while isinstance(calibration, BoundedMap | ComposedMap):
        if isinstance(calibration, ComposedMap):
            calibration = calibration.second
            continue
        low, high = max(low, calibration.low), min(high, calibration.high)
        calibration = calibration.map
    return None if math.isinf(low) and math.isinf(high) else (low, high)


def llr_intervals(
    calibration: Map,
    train: ScoreSource,
    scores: FloatArray,
    *,
    speakers: str | Sequence[str] | None = None,
    level: float = 0.95,
    replicates: int | None = None,
    seed: int = 0,
) -> tuple[list[LLRInterval] | None, str]:
    """Intervals of the LLRs of scores, or None and the reason why there are none.

    ``scores`` are as the training file holds them. Lines (logistic regression, CMLG) are fitted again
    without each speaker, or their covariance is taken if trials are independent; other methods are fitted
    again to drawn speakers, or drawn trials. Bounds of the calibration bound the intervals too.

    Examples
    --------
    >>> import llrkit as lk
    >>> pair = lk.theory.GaussianLLR.from_eer(0.1)
    >>> train = lk.simulate.simulate_trials(pair, n_target=200, n_nontarget=2000, rng=1).scores()
    >>> found, _ = llr_intervals(lk.fit_cmlg(train), train, np.array([3.0]))
    >>> found[0].low < 3.0 < found[0].high
    True
    """
    inner, (low, high) = calibration, _bounds_of_map(calibration) or (-np.inf, np.inf)
    while isinstance(inner, BoundedMap):
        inner = inner.map
    method = inner.method
    # what to ask for again; bounds and speakers are not asked of the map inside
    asked: dict[str, Any] = dict(inner.options)
    options = {name: value for name, value in asked.items() if name not in ("bound", "speakers")}
    if method not in METHODS or inner.n_systems != 1 or inner.needs:
        return None, f"a calibration made by {method or inner.kind!r} cannot be fitted again here"
    # scores read in another unit would be fitted to something else than the file was
    if not np.isclose(inner.input_factor, train.roles.factor):
        raise InputError(
            "the calibration was trained on scores that were read in another way: read the training trials "
            f"as {read_as(inner.input_factor)}, not as {read_as(train.roles.factor)}"
        )
    read = scores * calibration.input_factor
    # options that are 0 or empty are defaults; a closed form exists for the plain lines only
    chosen = {name: value for name, value in options.items() if value}
    if isinstance(inner, AffineMap) and method in LINES and set(chosen) <= {"prior", "alpha"}:
        known = map_uncertainty(train, method=method, speakers=speakers, **chosen)
        # an interval of another calibration would look just as good: the fit must reproduce the file
        _require_training_trials(inner, AffineMap(a=known.a, b=known.b), read)
        ends = np.array([known.interval(float(score), level)[1:] for score in read])
        how = "the covariance of slope and offset, if training trials are independent"
        how = "the calibration fitted again without each speaker" if speakers else how
    else:
        _require_training_trials(inner, fit_quietly(method, train, options), read)
        usual = FEWER if method in SLOW else REPLICATES
        replicates = bootstrap.checked_replicates(usual if replicates is None else replicates)
        drawn = _llrs_of_drawn_trials(method, options, train, read, speakers, replicates, seed)
        # sets that cannot be fitted are not a random part of all sets
        if len(drawn) < FEWEST_FITS * replicates:
            return None, f"only {len(drawn)} of {replicates} drawn sets of trials could be fitted"
        n = bootstrap.speaker_resampling(train, speakers).speakers.n if speakers else 0
        reach = float(ndtri(0.5 + 0.5 * level))
        # few speakers: percentiles further out (Hesterberg 2015), as in the bootstrap of an evaluation
        tails = bootstrap.tail_probabilities(n, level) if n else [float(ndtr(-reach)), float(ndtr(reach))]
        ends = np.quantile(drawn, tails, axis=0).T
        what = "speakers" if speakers else "trials, which are taken as independent"
        how = f"the calibration fitted again to {counted(len(drawn), 'set')} of drawn {what}"
    # what is bounded has an interval within the bounds
    bounded = np.clip(ends, low, high)
    return [LLRInterval(float(a), float(b), level, how) for a, b in bounded], ""


def read_as(factor: float) -> str:
    """What scores are that are multiplied by a factor when they are read, in words."""
    kind = "log10 LLRs" if abs(factor) != 1.0 else "scores"
    return f"{kind} where lower means more similar" if factor < 0.0 else kind


def _require_training_trials(fitted: Map, again: Map, read: FloatArray) -> None:
    """Refuse trials that the calibration was not trained on."""
    first, second = fitted.checked(read, {}), again.checked(read, {})
    if not np.allclose(first, second, rtol=SAME_LLR, atol=SAME_LLR):
        raise InputError(
            "these are not the trials that trained the calibration: fitted to them it gives an LLR of "
            f"{second[0]:.4g} where the calibration file gives {first[0]:.4g}"
        )


def _llrs_of_drawn_trials(
    method: str,
    options: Mapping[str, object],
    train: ScoreSource,
    read: FloatArray,
    speakers: str | Sequence[str] | None,
    replicates: int,
    seed: int,
) -> FloatArray:
    """LLRs of the scores by calibrations of drawn trials, one row for each that could be fitted."""
    resampling = bootstrap.speaker_resampling(train, speakers, seed=seed) if speakers else None
    source = train.with_columns(*resampling.columns) if resampling else train
    classes = source.reduce(_ScoresByClass.at(resampling)).classes
    rows = []
    for number in tracked(range(replicates), "fitting to drawn trials", replicates, "sets"):
        # weights of speakers are whole numbers, so trials are repeated and fits need not know of weights
        draw = resampling.draw(number) if resampling else None
        rng = np.random.default_rng([seed, number])
        target, nontarget = (
            values[rng.integers(len(values), size=len(values))]
            if draw is None
            else np.repeat(values, draw.weights(tuple(indices)).astype(np.int64))
            for values, *indices in classes
        )
        try:
            fitted = fit_quietly(method, Scores.from_classes(target, nontarget), options)
        except LlrkitError:
            continue
        rows.append(fitted.checked(read, {}))
    return np.array(rows).reshape(len(rows), len(read))


@dataclass(frozen=True, eq=False)
class _ScoresByClass(UnweightedSummary):
    """All scores of each class and, where they are asked for, the speakers of both sides of their trials."""

    classes: tuple[tuple[Array, ...], ...]

    @classmethod
    def at(cls, resampling: bootstrap.SpeakerResampling | None) -> Callable[[Scores], _ScoresByClass]:
        def make(chunk: Scores) -> _ScoresByClass:
            return cls(
                tuple(
                    (values, *(resampling.sides(chunk, of_class) if resampling is not None else ()))
                    for of_class, values in enumerate((chunk.target, chunk.nontarget))
                )
            )

        return make

    def __add__(self, other: _ScoresByClass) -> _ScoresByClass:
        return _ScoresByClass(
            tuple(
                tuple(np.concatenate(pair) for pair in zip(one, two, strict=True))
                for one, two in zip(self.classes, other.classes, strict=True)
            )
        )


PLACE_HEADER = ("trials of known origin", "same-source, as low", "different-source, as high")
PLACES_TITLE = "Trials of known origin with LLRs like these"
READER = (
    "A likelihood ratio compares two propositions. It says how much more probable the score is under one of "
    "them than under the other; it does not say how probable either proposition is, which also depends on "
    "everything else that is known of the case."
)


def headline(report: CaseReport, unit: LlrUnit = NATS) -> str:
    """What comes before every statement: that the validation failed, or decides nothing; empty otherwise."""
    if report.validation_outcome in (None, "passed"):
        return ""
    found = report.no_verdict if report.verdict is None else report.verdict.in_unit(unit).text
    end = "" if found.endswith("?") else "."
    if report.validation_outcome == "failed":
        said = "The validation failed: it does not support these LLRs as calibrated."
        return f"{said} Its LLRs are {found}{end}"
    return f"The validation is not decided: {found}{end}"


def ratio(llr: float) -> str:
    """The strength of an LLR as a ratio of at least one, to two digits.

    Examples
    --------
    >>> ratio(0.3), ratio(-4.05), ratio(9.0), ratio(40.0)
    ('1.3', '57', '8,100', '2.4e+17')
    """
    strength = abs(llr)
    # digits and power apart from 20 nats on: further out exp would overflow
    if strength > 20.0:
        power = math.floor(strength / LN10)
        digits = math.exp(strength - power * LN10)
        return f"{digits:.1f}e+{power:02d}"
    value = math.exp(strength)
    if value < 9.95:
        return f"{value:.1f}"
    step = 10 ** (math.floor(math.log10(value)) - 1)
    return f"{round(value / step) * step:,.0f}"


def statement(report: CaseReport, comparison: CaseLLR) -> str:
    """What the LLR of a comparison says, with both propositions."""
    likelier, other = (report.h1, report.h2) if comparison.llr >= 0.0 else (report.h2, report.h1)
    said = (
        f"The score is about {ratio(comparison.llr)} times more probable if {likelier} rather than if {other}"
    )
    return f"{said}{_interval_in_words(report, comparison)}."


def _interval_in_words(report: CaseReport, comparison: CaseLLR) -> str:
    if comparison.interval is None or comparison.interval.low == comparison.interval.high:
        return ""  # none is known, or all of it is at a bound, which is said by itself
    ends = (comparison.interval.low, comparison.interval.high)
    level = f"{100 * comparison.interval.level:g} % interval"
    # the statement is about the likelier proposition, so a negative LLR turns the interval around
    if comparison.llr < 0.0:
        ends = (-ends[1], -ends[0])
    if ends[0] >= 0.0:
        return f" ({level} {ratio(ends[0])} to {ratio(ends[1])})"
    other = report.h2 if comparison.llr >= 0.0 else report.h1
    return f" ({level} from {ratio(ends[0])} times more probable if {other} up to {ratio(ends[1])} times)"


def in_words(report: CaseReport, comparison: CaseLLR) -> str:
    """The verbal equivalent, for the proposition that is supported."""
    word = verbal_word(comparison.llr)
    if word is None:
        return "Verbal equivalent (ENFSI 2015): no support for either proposition."
    supported = "first" if comparison.llr > 0.0 else "second"
    return f"Verbal equivalent (ENFSI 2015): {word} support for the {supported} proposition."


def remarks(report: CaseReport, comparison: CaseLLR) -> Iterator[str]:
    """What a reader must know of one LLR besides its value."""
    head = f"{comparison.name}: " if len(report.comparisons) > 1 else ""
    if comparison.at_bound and report.bounds is not None:
        yield (
            f"{head}the LLR is at the {comparison.at_bound} bound of the calibration; its "
            "training trials cannot support a stronger one."
        )
    if comparison.outside:
        yield (
            f"{head}the score is {comparison.outside} all scores that trained the calibration, "
            "which has no evidence about such scores."
        )
    if comparison.in_validation is not None:
        rate = comparison.in_validation.misleading(comparison.llr)
        kind, strong = (
            ("different-source", "as high or higher")
            if comparison.llr >= 0.0
            else ("same-source", "as low or lower")
        )
        yield (
            f"{head}in the validation {rate.count:,} of {rate.n:,} {kind} trials had an LLR "
            f"{strong}; with {100 * rate.level:g} % confidence the rate of such misleading LLRs is at most "
            f"{100 * rate.upper:.2g} %, if trials are independent."
        )


def table_header(unit: LlrUnit = NATS) -> tuple[str, ...]:
    """The head of the table of comparisons: LLRs in a unit, and always to base ten."""
    return ("comparison", "score", *(one.column for one in _units_of_table(unit)), "LR", "interval of the LR")


def _units_of_table(unit: LlrUnit) -> list[LlrUnit]:
    return list(dict.fromkeys((unit, LOG10)))


def comparison_rows(report: CaseReport, unit: LlrUnit = NATS) -> tuple[tuple[str, ...], ...]:
    """One row for each comparison, under :func:`table_header`."""
    rows = []
    for item in report.comparisons:
        ends = "" if item.interval is None else _interval_ends_in_words(item.interval, report.bounds)
        llrs = (f"{one.of(item.llr):.3f}" for one in _units_of_table(unit))
        rows.append(
            (item.name, f"{item.score:.6g}", *llrs, _signed_ratio(item.llr, exact=bool(item.at_bound)), ends)
        )
    return tuple(rows)


def _interval_ends_in_words(interval: LLRInterval, bounds: tuple[float, float] | None) -> str:
    """An interval as likelihood ratios; an end that is a bound of the calibration is called one."""
    low, high = bounds or (-math.inf, math.inf)
    if interval.low == interval.high and interval.low in (low, high):
        which = "upper" if interval.low == high else "lower"
        return f"{_signed_ratio(interval.low, exact=True)}, all of it at the {which} bound"
    at_low, at_high = interval.low <= low, interval.high >= high
    said = f"{_signed_ratio(interval.low, exact=at_low)}{' (lower bound)' if at_low else ''}"
    said += f" to {_signed_ratio(interval.high, exact=at_high)}"
    return f"{said} (upper bound)" if at_high else said


def _signed_ratio(llr: float, *, exact: bool = False) -> str:
    """A likelihood ratio, as a fraction of one where it is below one.

    A bound is ``exact``: it is a count plus one, not an estimate, so its digits are kept.
    """
    # a bound is a count plus one; up to e^20 it is shown as such
    whole = exact and math.log(9.95) <= abs(llr) <= 20.0
    strength = f"{math.exp(abs(llr)):,.0f}" if whole else ratio(llr)
    return strength if llr >= 0.0 else f"1/{strength}"


def place_rows(report: CaseReport) -> tuple[tuple[str, ...], ...]:
    """How many trials of known origin had LLRs like those of the case, under ``PLACE_HEADER``."""
    rows = []
    for item in report.comparisons:
        for kind, found in (("training", item.in_training), ("validation", item.in_validation)):
            if found is not None:
                pairs = ((found.as_low, found.n_target), (found.as_high, found.n_nontarget))
                shares = (f"{count:,} of {n:,} ({100 * count / n:.3g} %)" for count, n in pairs)
                rows.append((f"{kind}, {item.name}", *shares))
    return tuple(rows)


def facts(report: CaseReport, unit: LlrUnit = NATS) -> list[tuple[str, str]]:
    """What the LLRs rest on: propositions, calibration, intervals, bounds, conditions of use."""
    known = report.calibration.provenance
    bounds = "none"
    if report.bounds is not None:
        low, high = report.bounds
        bounds = f"LR from {_signed_ratio(low)} to {_signed_ratio(high)} ({unit.span(low, high)})"
        bounded = given_calibration.bounding_map(report.calibration)
        bounds += "" if bounded is None else f", {given_calibration.why_bounded(bounded)}"
    interval = report.comparisons[0].interval
    how = f"none: {report.no_interval}"
    if interval is not None:
        how = f"{100 * interval.level:g} %, the uncertainty due to the training trials: {interval.how}"
    found = report.comparisons[0].in_validation
    validated = "no trials of a validation were given"
    if found is not None:
        validated = f"{found.n_target:,} same-source and {found.n_nontarget:,} different-source trials: "
        validated += report.no_verdict if report.verdict is None else report.verdict.in_unit(unit).text
    rows = [
        ("first proposition", report.h1),
        ("second proposition", report.h2),
        ("calibration", given_calibration.words_on_calibration(report.calibration)),
        ("bounds of the LLR", bounds),
        ("interval", how),
        ("conditions of use", report.conditions or "not stated"),
        ("validation", validated),
    ]
    if "training_sha256" in known:
        rows.append(("SHA-256 of the training file", str(known["training_sha256"])))
    return rows


def case_to_dict(report: CaseReport) -> dict[str, Json]:
    """Plain values; what the first comparison says is at the top too."""
    rows = [_comparison_to_dict(report, item) for item in report.comparisons]
    bounds = None if report.bounds is None else {"low": report.bounds[0], "high": report.bounds[1]}
    return {
        **rows[0],
        "headline": headline(report),
        "validation_outcome": report.validation_outcome,
        "validation_verdict": plain(report.verdict),
        "bounds": bounds,
        "h1": report.h1,
        "h2": report.h2,
        "no_interval": report.no_interval,
        "conditions": report.conditions,
        "cautions": list(report.cautions),
        "calibration": plain({**report.calibration.provenance, "method": report.calibration.method}),
        "comparisons": rows,
    }


def _comparison_to_dict(report: CaseReport, item: CaseLLR) -> dict[str, Json]:
    found = item.in_validation
    return {
        "name": item.name,
        "score": item.score,
        "llr": item.llr,
        "log10_lr": item.log10_lr,
        # JSON has no infinity, and exp of more than 709 is one
        "lr": math.exp(item.llr) if abs(item.llr) < 700.0 else None,
        "interval": plain(item.interval),
        "at_bound": item.at_bound,
        "outside_training_range": item.outside,
        "statement": statement(report, item),
        "words": in_words(report, item) if report.verbal else None,
        "training": plain(item.in_training),
        "validation": plain(found),
        "misleading": None if found is None else found.misleading(item.llr).to_dict(),
    }


def statements(report: CaseReport) -> list[str]:
    """All statements, with verbal equivalents if they were asked for; named where there are several."""
    said = []
    for item in report.comparisons:
        head = f"{item.name}: " if len(report.comparisons) > 1 else ""
        said.append(head + statement(report, item))
        if report.verbal:
            said.append(head + in_words(report, item))
    return said


def all_remarks(report: CaseReport) -> list[str]:
    """Cautions, and what must be known of each LLR."""
    return [
        *report.cautions,
        *(text[0].upper() + text[1:] for item in report.comparisons for text in remarks(report, item)),
    ]


def case_markdown(report: CaseReport, made_from: Sequence[tuple[str, str]] = (), unit: LlrUnit = NATS) -> str:
    """The report in Markdown."""
    lines = ["# Case report", ""]
    if first := headline(report, unit):
        lines += [f"**{clean(first)}**", ""]
    for text in (*statements(report), *all_remarks(report), READER):
        lines += [clean(text), ""]
    lines += ["## Comparisons", "", *markdown_table(table_header(unit), comparison_rows(report, unit)), ""]
    places = place_rows(report)
    if places:
        lines += [f"## {PLACES_TITLE}", "", *markdown_table(PLACE_HEADER, places), ""]
    lines += ["## What the LLRs rest on", ""]
    lines += [f"- **{name}**: {clean(text)}" for name, text in facts(report, unit)]
    if made_from:
        lines += ["", "## Provenance", "", *(f"- **{name}**: {clean(text)}" for name, text in made_from)]
    return printable("\n".join(lines) + "\n")
