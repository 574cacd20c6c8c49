"""The LLRs of the comparisons in a case: how far they are known, and what is known of LLRs like them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from llrkit._arguments import takes
from llrkit._llr_units import LOG10, llr_unit
from llrkit._plain import Json
from llrkit._random import RNG, seed_of
from llrkit._results import Result
from llrkit._vocabulary import vocabulary
from llrkit.calibrate.bounds.bounded_map import BoundedMap
from llrkit.calibrate.composed_map import ComposedMap
from llrkit.calibrate.maps import Map
from llrkit.calibrate.option_checks import names_of
from llrkit.errors import InputError, LlrkitError, UnknownNameError
from llrkit.scores import ScoreSource
from llrkit.scores.source import as_source
from llrkit.trust.calibration.check_calibration import check_calibration
from llrkit.trust.calibration.verdict import Verdict
from llrkit.validation.case_interval import LLRInterval, llr_intervals
from llrkit.validation.given_calibration import use_calibration
from llrkit.validation.markdown_tables import clean
from llrkit.validation.misleading_evidence import LEVEL, AsExtreme, as_extreme
from llrkit.validation.validated_scope import bounding_map, counts_trials
from llrkit.validation.validation_matrix import is_met_by


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
        met = None if self.verdict is None else is_met_by(self.verdict)
        return "not decided" if met is None else "passed" if met else "failed"

    def to_dict(self) -> dict[str, Json]:
        """Plain values; the first comparison is also at the top."""
        from llrkit.validation.case_words import case_to_dict

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
        from llrkit.validation.case_words import case_markdown

        keep = (*self.names, *(text for pair in made_from for text in pair))
        text = case_markdown(self, made_from, llr_unit(base_10))
        return vocabulary(words).say_of_sources(text, keep=map(clean, keep))


@takes(calibration=Map, h1=str, h2=str, conditions=str)
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
    seed = seed_of(rng)
    first, second = _checked_proposition(h1, "h1"), _checked_proposition(h2, "h2")
    if first == second:
        raise InputError(f"h1 and h2 are the same proposition, {first!r}: an LLR compares two")
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
        known = as_source(validation)
        who = speakers if _has_columns(known, speakers) else None
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
    bounds = _bounds_of_map(calibration)
    comparisons = tuple(
        CaseLLR(
            name, float(values[i]), float(llrs[i]), None if intervals is None else intervals[i],
            _is_at_bound(float(llrs[i]), bounds), _side_outside_training(float(values[i]), calibration),
            in_training[i], in_validation[i],
        )
        for i, name in enumerate(named)
    )  # fmt: skip
    return CaseReport(
        first, second, comparisons, calibration, why_not, bounds, confidence, conditions.strip(), verbal,
        tuple(cautions), checked, trained, verdict, no_verdict,
    )  # fmt: skip


def _has_columns(source: ScoreSource, names: str | Sequence[str] | None) -> bool:
    """Whether trials have the columns that others are known to have."""
    try:
        source.with_columns(*(() if names is None else names_of(names, "speakers")))
    except UnknownNameError:
        return False
    return True


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
    while isinstance(calibration, BoundedMap | ComposedMap):
        if isinstance(calibration, ComposedMap):
            calibration = calibration.second
            continue
        low, high = max(low, calibration.low), min(high, calibration.high)
        calibration = calibration.map
    return None if math.isinf(low) and math.isinf(high) else (low, high)


def _is_at_bound(llr: float, bounds: tuple[float, float] | None) -> str:
    if bounds is None:
        return ""
    return "lower" if llr <= bounds[0] else "upper" if llr >= bounds[1] else ""


def _side_outside_training(score: float, calibration: Map) -> str:
    limits = calibration.training_range
    if limits is None:
        return ""
    low, high = sorted((float(limits[0][0]), float(limits[1][0])))
    return "below" if score < low else "above" if score > high else ""
