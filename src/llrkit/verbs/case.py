"""case_report(): the LLR of a case, its interval, and what it rests on."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from llrkit.base.arguments import RNG, Array, FloatArray, names_of, of_kind, seed_of, yes_or_no
from llrkit.base.process import tracked
from llrkit.base.text import Json, clean, counted
from llrkit.core.summaries import SummaryBase
from llrkit.errors import InputError, LlrkitError, UnknownNameError
from llrkit.fits.folds import METHODS, fit_quietly
from llrkit.io.formats import read_table
from llrkit.maps.bounds import BoundedMap
from llrkit.maps.map import AffineMap, ComposedMap, Map
from llrkit.results.result import Result
from llrkit.results.vocabulary import LOG10, llr_unit, vocabulary
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived import as_source
from llrkit.scores.source import no_column
from llrkit.trust.bootstrap import (
    SpeakerResampling,
    checked_replicates,
    speaker_resampling,
    tail_probabilities,
)
from llrkit.trust.calibration_check import Verdict, check_calibration
from llrkit.trust.misleading import LEVEL, AsExtreme, as_extreme
from llrkit.trust.recalibration_line import LINES, map_uncertainty
from llrkit.verbs.given_calibration import bounding_map, counts_trials, use_calibration
from llrkit.verbs.validate import DECISIONS, is_met_by

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
        from llrkit.verbs.case_words import case_to_dict

        return case_to_dict(self)

    @property
    def names(self) -> tuple[str, ...]:
        """Names and texts of the user, which no vocabulary changes."""
        return (self.h1, self.h2, self.conditions, *(item.name for item in self.comparisons))

    def to_markdown(
        self,
        made_from: Sequence[tuple[str, str]] = (),
        *,
        words: str = "forensic",
        base_10: bool = False,
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
        from llrkit.verbs.case_words import case_markdown

        keep = (*self.names, *(text for pair in made_from for text in pair))
        text = case_markdown(self, made_from, llr_unit(base_10))
        return vocabulary(words).say_of_sources(text, keep=map(clean, keep))


def case_report(
    calibration: Map,
    scores: float | Sequence[float] | Mapping[str, float],
    *,
    h1: str,
    h2: str,
    train: ScoreSource | None = None,
    validation: ScoreSource | None = None,
    speakers: str | Sequence[str] | None = None,
    level: float | None = None,
    replicates: int | None = None,
    rng: RNG = 0,
    conditions: str = "",
    verbal: bool = False,
) -> CaseReport:
    """The LLRs of questioned scores with what a reader of a case report asks for.

    Parameters
    ----------
    calibration
        A map of one score, as a fit or :func:`llrkit.load_map` gives it.
    scores
        The questioned scores as the recognizer gave them: one, several, or several by name.
    h1, h2
        The propositions in words that can follow "if": the first of same source, the second of different
        sources.
    train
        The trials that trained the calibration. With them LLRs have intervals; other trials are refused.
    validation
        Other trials of known origin, raw scores or files of LLRs that this calibration made: how often LLRs
        as strong as those of the case were misleading, and whether such LLRs are calibrated. If they are not,
        or if that is not decided, every form of the report begins with it.
    speakers
        One or two columns of the training trials. Without them training trials are taken as independent.
        If the trials of the validation have them too, the test for a shift of these allows for them.
    level
        Confidence level of the interval, between 0 and 1; 0.95 if it is not given.
    replicates
        Number of times that speakers are drawn for the interval; if it is not given, 500, and 100 for
        methods that are slow to fit.
    rng
        Seed of the random numbers; the same seed gives the same result.
    conditions
        For which recordings the calibration may be used, in your words.
    verbal
        Whether the strength of evidence is also expressed in the words of the ENFSI guideline (2015).

    Examples
    --------
    >>> import llrkit as lk
    >>> pair = lk.theory.GaussianLLR.from_eer(0.05)
    >>> train = lk.simulate_trials(pair, n_target=300, n_nontarget=3000, rng=1).scores()
    >>> case = lk.case_report(lk.fit_cmlg(train), 4.0, train=train,
    ...     h1="the suspect is the speaker", h2="another man of the same region is the speaker")
    >>> comparison = case.comparisons[0]
    >>> round(comparison.llr, 1), comparison.interval.low < comparison.llr < comparison.interval.high
    (4.2, True)
    >>> print(case.to_dict()["statement"])
    The score is about 65 times more probable if the suspect is the speaker rather than if another man of
    the same region is the speaker (95 % interval 45 to 95).
    """
    of_kind(calibration, Map, "calibration")
    for text, name in ((h1, "h1"), (h2, "h2"), (conditions, "conditions")):
        of_kind(text, str, name)
    yes_or_no(verbal, "verbal")
    columns = None if speakers is None else names_of(speakers, "speakers")
    seed = seed_of(rng)
    first, second = _checked_proposition(h1, "h1"), _checked_proposition(h2, "h2")
    if first == second:
        raise InputError(f"h1 and h2 are the same proposition, {first!r}: an LLR compares two")
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
    # none and not a number is the default, so that an option of
    # the interval without training trials is noticed
    confidence = LEVEL if level is None else level
    cautions: list[str] = []
    intervals, why_not = None, "the trials that trained the calibration were not given"
    trained = checked = verdict = None
    no_verdict = ""
    if train is not None:
        source = as_source(train)
        intervals, why_not = llr_intervals(
            calibration, source, values, speakers=speakers, level=confidence,
            replicates=replicates, seed=seed,
        )  # fmt: skip
        trained = source
        bounded = bounding_map(calibration)
        if speakers is not None and bounded is not None and counts_trials(bounded):
            cautions.append(
                "The bounds of the calibration count every training trial as a source of its own; counted by "
                "speakers, as the interval is, they would be tighter."
            )
    else:
        for name, value in {"speakers": speakers, "level": level, "replicates": replicates}.items():
            if value is not None:
                raise InputError(
                    f"{name} is an option of the interval, which needs the training trials (train=)"
                )
    if validation is not None:
        known, who = as_source(validation), speakers
        # speakers may be known in training only; the validation is then judged as of independent trials
        try:
            known.with_columns(*(columns or ()))
        except UnknownNameError:  # only the training trials have them
            who = None
        # LLRs that a calibration wrote are taken as they are; raw scores are mapped here
        given = use_calibration(known, calibration, apply=not known.roles.calibrated, speakers=who)
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
        first, second, tuple(comparisons), calibration, why_not, bounds, confidence, conditions.strip(),
        verbal, tuple(cautions), checked, trained, verdict, no_verdict,
    )  # fmt: skip


def _checked_proposition(text: str, name: str) -> str:
    cleaned = " ".join(str(text).split()).rstrip(".")
    if not cleaned:
        raise InputError(
            f"{name} is missing: an LLR says nothing without the two propositions it compares, in words that "
            'can follow "if"'
        )
    return cleaned


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
    >>> train = lk.simulate_trials(pair, n_target=200, n_nontarget=2000, rng=1).scores()
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
    plain = {name: value for name, value in options.items() if value}
    if isinstance(inner, AffineMap) and method in LINES and set(plain) <= {"prior", "alpha"}:
        known = map_uncertainty(train, method=method, speakers=speakers, **plain)
        # an interval of another calibration would look just as good: the fit must reproduce the file
        _require_training_trials(inner, AffineMap(a=known.a, b=known.b), read)
        ends = np.array([known.interval(float(score), level)[1:] for score in read])
        how = "the covariance of slope and offset, if training trials are independent"
        how = "the calibration fitted again without each speaker" if speakers else how
    else:
        _require_training_trials(inner, fit_quietly(method, train, options), read)
        usual = FEWER if method in SLOW else REPLICATES
        replicates = checked_replicates(usual if replicates is None else replicates)
        drawn = _llrs_of_drawn_trials(method, options, train, read, speakers, replicates, seed)
        # sets that cannot be fitted are not a random part of all sets
        if len(drawn) < FEWEST_FITS * replicates:
            return None, f"only {len(drawn)} of {replicates} drawn sets of trials could be fitted"
        n = speaker_resampling(train, speakers).speakers.n if speakers else 0
        reach = float(ndtri(0.5 + 0.5 * level))
        # few speakers: percentiles further out (Hesterberg 2015), as in the bootstrap of an evaluation
        tails = tail_probabilities(n, level) if n else [float(ndtr(-reach)), float(ndtr(reach))]
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
    resampling = speaker_resampling(train, speakers, seed=seed) if speakers else None
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
class _ScoresByClass(SummaryBase):
    """All scores of each class and, where they are asked for, the speakers of both sides of their trials."""

    classes: tuple[tuple[Array, ...], ...]

    @classmethod
    def at(cls, resampling: SpeakerResampling | None) -> Callable[[Scores], _ScoresByClass]:
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

    def __mul__(self, weight: float) -> _ScoresByClass:
        return self


NAMES = ("name", "comparison")
"""Columns that name a comparison by themselves."""


def as_it_was_trained(calibration: Map) -> dict[str, Any]:
    """Options of reading that a calibration states of its training file, for reading that file again.

    Examples
    --------
    >>> import llrkit as lk
    >>> as_it_was_trained(lk.fit_cmlg(lk.Scores([1.0, 3.0], [0.0, 2.0])))
    {}
    """
    known = calibration.reading or {}
    stated: dict[str, Any] = {name: True for name in ("log10", "distance") if known.get(name)}
    # LLRs of an earlier calibration are a column of that file, not the scores to be read
    if (names := known.get("score")) and not known.get("calibrated"):
        stated["score"] = tuple(names)
    if (positive := known.get("positive")) is not None:
        stated["positive"] = positive
    return stated


def questioned_scores(path: str | Path, calibration: Map) -> dict[str, float]:
    """The scores of a file without labels by name: of a column of names, else by ids of trials or by rows."""
    _refuse_decimal_commas(Path(path))
    table = read_table(Path(path)).table
    known = (calibration.reading or {}).get("score") or ["score"]
    column = next((name for name in (*known, "score") if name in table.columns), None)
    if column is None:
        raise InputError(no_column(known[0], table.columns, str(path), typed=False))
    names_of_trials = [name for name in NAMES if name in table.columns][:1]
    ids = names_of_trials or [name for name in ("enroll", "test") if name in table.columns]
    names: dict[str, float] = {}
    for i, row in enumerate(table.select(*ids, column).iter_rows(named=True)):
        name = " and ".join(str(row[one]) for one in ids) or f"row {i + 1}"
        if name in names:
            raise InputError(f"{path}: the comparison {name} occurs twice")
        try:
            names[name] = float(row[column])
        except (TypeError, ValueError):
            raise InputError(f"{path}: the score of {name}, {row[column]!r}, is not a number") from None
    return names


def _refuse_decimal_commas(path: Path) -> None:
    """Refuse a file that begins with ``2,5``: a name and a score, or a number with a decimal comma."""
    if not path.is_file():
        return  # said by its reader
    with path.open("rb") as raw:
        # one line is enough to tell, and a large file is not read for it
        first = raw.readline(200)
    if re.fullmatch(rb"\s*[+-]?[0-9]+,[0-9]+\s*", first):
        shown = first.decode("ascii").strip()
        raise InputError(
            f"{path}, line 1: {shown!r} is a name and a score, or one number with a decimal comma; write "
            "numbers with a point, or a header such as test,score above the rows"
        )
