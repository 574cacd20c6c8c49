"""The calibration that is given with scores: whose it is, and what it was validated for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np

from llrkit.base.arguments import Array, FloatArray, names_of
from llrkit.base.text import Json, agreeing, counted
from llrkit.core.groups import ValueCounts, decoded
from llrkit.core.losses import LossSums
from llrkit.core.summaries import Both, Moments, SummaryBase
from llrkit.errors import InputError, UnknownNameError
from llrkit.fits.lineup import LineupMap
from llrkit.fits.training_checks import provenance
from llrkit.io.table_columns import LLR, LLR_MAP, RAW_SCORE, SCORE_NAMES
from llrkit.maps.bounds import BoundedMap, bound_elub, counted_for_bounds
from llrkit.maps.map import AffineMap, ComposedMap, Map
from llrkit.maps.training_range import RangeWatch
from llrkit.results.result import plain
from llrkit.results.vocabulary import NATS, LlrUnit
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived import DerivedSource
from llrkit.shift.shift_check import shift_note
from llrkit.verbs.evaluation_result import Evaluation

_COUNTS = ("n_target", "n_nontarget")
_SAME = 1e-6
"""How close moments of the same trials are, for a range of 1: a copy may hold fewer digits."""


@dataclass(frozen=True)
class GivenCalibration:
    """What a validation takes from its calibration: the trials as LLRs, and what is to be said about them."""

    llrs: ScoreSource
    applied: bool = False
    """Whether the trials were raw scores, which the calibration turned into LLRs here."""
    on_training_trials: bool = False
    outside: str = ""
    """What is to be said of scores outside the training range."""
    not_its_llrs: str = ""
    """What is to be said of LLRs that the calibration does not make of the scores beside them."""
    shift: str = ""
    """What is to be said of scores that are so unlike those of training that the calibration loses by it."""


def use_calibration(
    source: ScoreSource,
    calibration: Map | None,
    apply: bool | None,
    speakers: str | Sequence[str] | None = None,
) -> GivenCalibration:
    """Apply a calibration to trials that hold raw scores, and compare them with its training trials.

    ``speakers`` are the columns by which a shift is judged, as in :func:`llrkit.check_shift`.

    Examples
    --------
    >>> from llrkit.fits.cmlg import fit_cmlg
    >>> trained = Scores([0.5, 0.7, 0.9], [0.1, 0.2, 0.6])
    >>> use_calibration(trained, fit_cmlg(trained), apply=True).on_training_trials
    True
    >>> use_calibration(Scores([0.5, 2.0], [0.3]), fit_cmlg(trained), apply=True).outside
    '1 of 3 scores is outside the training range [0.1, 0.9], the furthest is 2: the calibration was not
    trained on such scores'
    """
    if calibration is None:
        if apply is not None:
            raise InputError("apply needs a calibration (calibration=)")
        return GivenCalibration(source)
    # a line-up maps ranks, which scores of any range have
    by_rank = isinstance(calibration, LineupMap)  # a range of scores, or a shift, says nothing of ranks
    if _holds_raw_scores(source, calibration) if apply is None else apply:
        source = calibration.in_trained_order(source)
        llrs = calibration.on(source)
        # undone before comparing: training moments are in the unit of the map
        factor = 1.0 if calibration.reading is None else source.roles.factor
        summarize = partial(_moments_and_range, fitted=calibration, factor=factor)
        moments, seen = source.reduce(summarize).summaries
        outside = "" if by_rank else seen.watch.note
        # recognized by moments: a copy in another format has another hash
        trained = _same_as_training_trials(moments, calibration)
        # training trials cannot have moved
        shift = "" if trained or by_rank else shift_note(calibration, source, llrs, speakers)
        return GivenCalibration(llrs, True, trained, outside, "", shift)
    # LLRs may keep their scores beside them, which tell whose trials they are
    trained = any(_same_as_training_trials(kept, calibration) for kept in _kept_scores(source, calibration))
    scores = None if trained or by_rank else scores_beside(source, calibration)
    shift = "" if scores is None else shift_note(calibration, scores, source, speakers)
    return GivenCalibration(source, False, trained, "", _other_llrs(source, calibration), shift)


def makers_of(source: ScoreSource) -> tuple[str, ...]:
    """The calibrations that wrote the LLRs of a file, as the file names them; empty where it does not.

    Examples
    --------
    >>> makers_of(Scores([2.0], [-1.0], {"llr_map": (["dev.json 85fddfdd35ec"], ["dev.json 85fddfdd35ec"])}))
    ('dev.json 85fddfdd35ec',)
    """
    try:
        counts = source.with_columns(LLR_MAP).reduce(lambda chunk: ValueCounts.of(chunk, LLR_MAP)).counts
    except UnknownNameError:
        return ()
    return tuple(sorted(str(name) for name in counts if name is not None))


def _holds_raw_scores(source: ScoreSource, calibration: Map) -> bool:
    """Whether trials hold raw scores, from what they know of the file they were read from."""
    roles, trained_on_llrs = source.roles, bool((calibration.reading or {}).get("calibrated"))
    if roles.calibrated and not trained_on_llrs:
        return False
    # neither file nor column says what the numbers are, and guessing a scale is never done
    if roles.calibrated or roles.label is None or roles.score == (LLR,):
        raise InputError(
            "these trials do not say whether they are raw scores or the LLRs of this calibration: "
            "apply=True applies it to raw scores, apply=False takes LLRs as they are"
        )
    return True


@dataclass(frozen=True)
class ScoresOutside(SummaryBase):
    """What a :class:`RangeWatch` saw in some chunks."""

    watch: RangeWatch

    @classmethod
    def of(cls, chunk: Scores, fitted: Map, factor: float) -> ScoresOutside:
        """Look at a chunk whose scores were multiplied by ``factor`` when they were read."""
        watch = RangeWatch(fitted.training_range)
        for values in (chunk.target, chunk.nontarget):
            watch.seen(values.astype(np.float64, copy=False) / factor)
        return cls(watch)

    def __add__(self, other: ScoresOutside) -> ScoresOutside:
        one, two = self.watch, other.watch
        # the furthest score of either part; the counts of both
        far = one if one.furthest_by >= two.furthest_by else two
        n_outside, n_trials = one.n_outside + two.n_outside, one.n_trials + two.n_trials
        return ScoresOutside(replace(far, n_outside=n_outside, n_trials=n_trials))

    def __mul__(self, weight: float) -> ScoresOutside:
        return self  # scores are counted, however much they weigh


def _moments_and_range(chunk: Scores, fitted: Map, factor: float) -> Both[tuple[Moments, ScoresOutside]]:
    as_trained = fitted.input_factor / factor
    moments = Moments.of(Scores.part(chunk.target * as_trained, chunk.nontarget * as_trained))
    return Both((moments, ScoresOutside.of(chunk, fitted, factor)))


def scores_beside(source: ScoreSource, calibration: Map) -> ScoreSource | None:
    """The scores that a file of LLRs keeps in the columns of training; None if it keeps none.

    Examples
    --------
    >>> from llrkit.maps.map import AffineMap
    >>> trained = AffineMap(a=1.0, b=-2.0, reading={"score": ["raw"]})
    >>> llrs = Scores([2.0], [-3.0], {"raw": ([4.0], [0.5])})
    >>> scores_beside(llrs, trained).reduce(lambda chunk: chunk).target
    array([4.])
    """
    names = _trained_columns(calibration)
    if calibration.needs or _with_scores(source, calibration, names) is None:
        return None
    change = partial(_as_scores, names=names)
    return DerivedSource(source, change, needs=names, score=names, factor=1.0, calibrated=False)


def _as_scores(chunk: Scores, names: tuple[str, ...]) -> Scores:
    return Scores.part(
        _columns_as_held(chunk, names, 0), _columns_as_held(chunk, names, 1), chunk.columns, chunk.categories
    )


def _trained_columns(calibration: Map) -> tuple[str, ...]:
    """The columns that held the scores of training, where that is known."""
    return tuple((calibration.reading or {}).get("score") or ())


def _with_scores(source: ScoreSource, calibration: Map, names: tuple[str, ...]) -> ScoreSource | None:
    """LLRs that carry the columns of their scores, one for each system; None if they do not have them."""
    if len(names) != calibration.n_systems or names == source.roles.score:
        return None
    try:
        return source.with_columns(*names)
    except UnknownNameError:
        return None


def _kept_scores(source: ScoreSource, calibration: Map) -> Iterator[Moments]:
    """Moments of the columns beside LLRs that may be the scores they were made of."""
    # files of earlier versions kept the scores as raw_score; others have the usual names
    usual = [(name,) for name in (RAW_SCORE, *SCORE_NAMES)] if calibration.n_systems == 1 else []
    for names in dict.fromkeys((_trained_columns(calibration), *usual)):
        wide = _with_scores(source, calibration, names)
        if wide is not None:
            yield wide.reduce(partial(_moments_of_columns, names=names, factor=calibration.input_factor))


def _moments_of_columns(chunk: Scores, names: tuple[str, ...], factor: float) -> Moments:
    return Moments.of(
        Scores.part(_columns_as_held(chunk, names, 0) * factor, _columns_as_held(chunk, names, 1) * factor)
    )


def _other_llrs(source: ScoreSource, calibration: Map) -> str:
    """What is to be said if LLRs are not those of the calibration, where the file keeps its scores."""
    names = _trained_columns(calibration)
    wide = _with_scores(source, calibration, names)
    if calibration.needs or len(names) != 1 or wide is None:
        return ""
    differ = wide.reduce(partial(_count_other_llrs, fitted=calibration, names=names)).counts.get(True, (0, 0))
    n = int(sum(differ))
    if n == 0:
        return ""
    return (
        f"{counted(n, 'LLR')} {'differs' if n == 1 else 'differ'} from what the calibration makes of the "
        f"scores in the column {names[0]!r}: did another one make them?"
    )


def _count_other_llrs(chunk: Scores, fitted: Map, names: tuple[str, ...]) -> ValueCounts:
    counts = []
    for class_index, llrs in enumerate((chunk.target, chunk.nontarget)):
        held = _columns_as_held(chunk, names, class_index)
        known = np.isfinite(held) & np.isfinite(llrs)
        if fitted.training_range is not None:  # scores outside may have been held at its ends
            low, high = fitted.training_range
            known &= (held >= low) & (held <= high)
        own = fitted.checked(held[known] * fitted.input_factor, {})
        # what is written in few digits is still the same
        counts.append(int(np.count_nonzero(np.abs(own - llrs[known]) > 1e-3 * np.maximum(1.0, np.abs(own)))))
    return ValueCounts({True: (counts[0], counts[1])})


def _columns_as_held(chunk: Scores, names: tuple[str, ...], class_index: int) -> Array:
    """Columns of one class as the file holds them, one per system."""
    columns = []
    for name in names:
        column = decoded(chunk, name, class_index)
        try:
            columns.append(column.astype(np.float64))
        except (TypeError, ValueError):  # words are no scores, and like nothing
            columns.append(np.full(len(column), np.nan))
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


def _same_as_training_trials(moments: Moments, calibration: Map) -> bool:
    """Whether scores have the counts, the moments and the range of the training scores.

    A file of the same trials may be a copy in another format, or hold their LLRs beside the scores: its hash
    says nothing. Other trials do not agree in both counts and ten real numbers.
    """
    known = _training_of_calibration(calibration)
    if not {*_COUNTS, "mean_target", "mean_nontarget", "low", "high"} <= set(known):
        return False
    if (known["n_target"], known["n_nontarget"]) != (moments.target.count, moments.nontarget.count):
        return False
    found = provenance(moments)
    spread = float(np.max(_as_float_array(found["high"]) - _as_float_array(found["low"])))

    def agrees(name: str) -> bool:
        # skewness and kurtosis have no unit; all else scales with the scores
        reach = _SAME if name.startswith(("skewness", "kurtosis")) else _SAME * spread
        one = _as_float_array(known[name])[: calibration.n_systems]  # features of a fusion follow the scores
        other = _as_float_array(found[name])
        return one.shape == other.shape and bool(np.all(np.abs(one - other) <= reach))

    # a gap between the classes has two ends, and says nothing that counts, moments and range do not
    return all(agrees(name) for name in found if name in known and name not in ("llrkit", "gap"))


def _as_float_array(numbers: object) -> FloatArray:
    return np.atleast_1d(np.asarray(numbers, dtype=np.float64))


def same_losses(result: Evaluation, calibration: Map) -> bool:
    """Whether LLRs have the losses that the calibration file states of its training trials.

    This is how they are recognized where the file has no column with the scores.
    """
    known = _training_of_calibration(calibration)
    if not {*_COUNTS, "training_cllr", "training_min_cllr"} <= set(known):
        return False
    if any(known[name] != getattr(result, name) for name in _COUNTS):
        return False
    # the same trials have the same losses but for rounding
    pairs = (known["training_cllr"], result.cllr), (known["training_min_cllr"], result.min_cllr)
    return all(
        isinstance(one, (int, float)) and math.isclose(one, other, rel_tol=1e-9) for one, other in pairs
    )


def _training_of_calibration(calibration: Map) -> dict[str, object]:
    """What is known of the trials that trained a calibration, or the first of two in a row."""
    if isinstance(calibration, ComposedMap) and "n_target" not in calibration.provenance:
        return _training_of_calibration(calibration.first)
    return dict(calibration.provenance)


WHY = {
    "fixed": "given with the map",
    "sources": "the logarithm of the number of training sources plus one",
    "elub": "empirical lower and upper bounds (Vergeer et al. 2016)",
    "invariance": "invariance-verification method (Alberink et al. 2025)",
}
"""Why LLRs are bounded, by the last part of the name of the method."""


@dataclass(frozen=True)
class DistinctCounts:
    """How many different values occur in columns: at all, in target trials, in non-target trials."""

    columns: tuple[str, ...]
    n: int
    n_target: int
    n_nontarget: int

    def __str__(self) -> str:
        classes = f"{self.n_target:,} in same-source, {self.n_nontarget:,} in different-source trials"
        return f"{self.n:,} ({classes})"


@dataclass(frozen=True)
class Bounds:
    """The bounds a map puts on LLRs in nats, why, and how many of the LLRs lie on them or beyond."""

    low: float
    high: float
    method: str
    n_at_low: int
    n_at_high: int
    n_beyond: int
    why: str
    """In words, with what was counted."""

    def words(self, unit: LlrUnit = NATS) -> str:
        """As a reader is told them."""
        said = f"{unit.span(self.low, self.high)}, {self.why}; "
        said += f"{counted(self.n_at_low, 'LLR')} {agreeing(self.n_at_low, 'lies', 'lie')} at the lower one "
        said += f"and {self.n_at_high:,} at the upper one"
        if self.n_beyond:
            beyond = agreeing(self.n_beyond, "lies", "lie")
            it = agreeing(self.n_beyond, "it", "these LLRs")
            said += f"; {self.n_beyond:,} {beyond} beyond them, so this map did not make {it}"
        return said


@dataclass(frozen=True)
class ValidatedScope:
    """What a validation report must state about trials and LLRs besides what only people know."""

    n_target: int
    n_nontarget: int
    sources: DistinctCounts | None
    recordings: DistinctCounts | None
    lowest: float
    highest: float
    supported: tuple[float, float]
    """Empirical lower and upper bounds of these trials in nats: they do not support stronger LLRs."""
    n_beyond: int
    """LLRs of these trials that are stronger than that."""
    beyond_by: float
    """How far the strongest of them lies outside, in nats; 0 if there is none."""
    calibration: str | None
    """How the calibration map was made, where it is known."""
    bounds: Bounds | None
    n_infinite: int = 0
    """Infinite LLRs, which the lowest and the highest are not."""

    def to_dict(self) -> dict[str, Json]:
        """Plain values."""
        values = asdict(self)
        del values["n_infinite"]
        if values["bounds"] is not None:
            del values["bounds"]["why"]
        return {name: plain(value) for name, value in values.items()}

    def words(self, unit: LlrUnit = NATS) -> dict[str, str]:
        """Everything that is known, by what it is."""
        bounds = self.bounds.words(unit) if self.bounds else "none"
        span = unit.span(self.lowest, self.highest)
        if self.n_infinite:
            others = counted(self.n_infinite, "other")
            span += f"; {others} {agreeing(self.n_infinite, 'is', 'are')} infinite"
        stronger = "no LLR is stronger"
        if self.n_beyond:
            stronger = f"{self.n_beyond:,} {agreeing(self.n_beyond, 'LLR is', 'LLRs are')} stronger"
            if not self.n_infinite:  # it may be little
                stronger += f", by {unit.said(self.beyond_by, '.2g')} at most"
        said = {
            "trials": f"{self.n_target:,} same-source, {self.n_nontarget:,} different-source",
            "sources": str(self.sources) if self.sources else "",
            "recordings": str(self.recordings) if self.recordings else "",
            "calibration map": self.calibration or "",
            "bounds of the map": bounds if self.bounds or self.calibration else "",
            "range of the LLRs": span,
            "range these trials support": f"{unit.span(*self.supported)}, {WHY['elub']}; {stronger}",
        }
        return {name: text for name, text in said.items() if text}


def find_scope(
    source: ScoreSource,
    result: Evaluation,
    *,
    speakers: str | Sequence[str] | None = None,
    recordings: str | Sequence[str] | None = None,
    calibration: Map | None = None,
) -> ValidatedScope:
    """Count what a report states about trials that hold LLRs and their evaluation; a few passes.

    Without ``recordings`` the enrollment and test ids of the trials are counted, if they have both.

    Examples
    --------
    >>> from llrkit.verbs.evaluate import evaluate
    >>> from llrkit.scores import Scores
    >>> speakers = {"left": (["a", "b"], ["a", "c", "d"]), "right": (["a", "b"], ["b", "d", "a"])}
    >>> scores = Scores([2.0, 1.0], [-1.0, 0.5, -3.0], speakers)
    >>> scope = find_scope(scores, evaluate(scores), speakers=("left", "right"))
    >>> scope.words()["sources"]
    '4 (2 in same-source, 4 in different-source trials)'
    """
    bounded = bounding_map(calibration)
    # the LLRs themselves, unmapped: what these trials support is asked, not what the map allows
    supported = bound_elub(AffineMap(a=1.0, b=0.0), source)
    below, above = _count_beyond(source, supported.low, supported.high)
    lowest, highest = result.moments.extremes
    ids = source.roles.ids if len(source.roles.ids) == 2 else None
    return ValidatedScope(
        int(result.n_target), int(result.n_nontarget),
        _distinct_counts_of(source, speakers), _distinct_counts_of(source, recordings or ids),
        lowest, highest,
        (supported.low, supported.high), below + above,
        max(supported.low - lowest, highest - supported.high, 0.0) if below + above else 0.0,
        _words_on_calibration(calibration) if calibration is not None else None,
        _count_at_bounds(source, bounded) if bounded is not None else None,
        int(result.moments.n_infinite),
    )  # fmt: skip


def _distinct_counts_of(source: ScoreSource, names: str | Sequence[str] | None) -> DistinctCounts | None:
    if not names:
        return None
    columns = names_of(names, "columns")
    counts = source.with_columns(*columns).reduce(lambda chunk: ValueCounts.of(chunk, *columns)).counts
    of_class = [sum(1 for size in counts.values() if size[class_index] > 0) for class_index in (0, 1)]
    return DistinctCounts(columns, len(counts), *of_class)


def _count_beyond(source: ScoreSource, low: float, high: float) -> tuple[int, int]:
    """How many LLRs are below ``low``, and how many above ``high``."""
    # nextafter turns "at or above" into "above"
    cuts = [low, np.nextafter(high, np.inf)]
    sums = source.reduce(LossSums.at(thresholds=cuts))
    below = sums.n_miss[0] + sums.n_nontarget - sums.n_fa[0]
    return round(float(below)), round(float(sums.n_target - sums.n_miss[1] + sums.n_fa[1]))


def bounding_map(calibration: Map | None) -> BoundedMap | None:
    """The map that bounds the LLRs last."""
    if isinstance(calibration, ComposedMap):
        return bounding_map(calibration.second)
    return calibration if isinstance(calibration, BoundedMap) else None


def why_bounded(bounded: BoundedMap) -> str:
    """Why a map bounds LLRs, with the sources that were counted where it knows them.

    Examples
    --------
    >>> from llrkit.maps.bounds import bound_sources
    >>> why_bounded(bound_sources(AffineMap(a=1.0, b=0.0), n_sources=(39, 780)))
    'the logarithm of the number of training sources plus one (39 target sources, 780 non-target sources)'
    """
    how = bounded.method.rpartition("+")[2]
    why = WHY.get(how.strip(), how)
    counted = counted_for_bounds(bounded) if how == "sources" else ""
    if not counted:
        return why
    each = ", each taken as a source of its own" if counts_trials(bounded) else ""
    return f"{why} ({counted}{each})"


def counts_trials(bounded: BoundedMap) -> bool:
    """Whether bounds by sources took every training trial for a source of its own."""
    return all(bounded.details.get(name) == "trials" for name in ("target_sources", "nontarget_sources"))


def _count_at_bounds(source: ScoreSource, bounded: BoundedMap) -> Bounds:
    reach = 1e-9 * max(1.0, abs(bounded.low), abs(bounded.high))  # LLRs may have been written as text
    to_low, to_high = _count_beyond(source, bounded.low + reach, bounded.high - reach)
    beyond = _count_beyond(source, bounded.low - reach, bounded.high + reach)
    how = bounded.method.rpartition("+")[2]
    at = to_low - beyond[0], to_high - beyond[1]
    return Bounds(bounded.low, bounded.high, how, *at, sum(beyond), why_bounded(bounded))


def _words_on_calibration(calibration: Map) -> str:
    known = calibration.provenance
    said = calibration.method or calibration.kind
    if "n_target" in known and "n_nontarget" in known:
        sizes = f"{known['n_target']:,} same-source and {known['n_nontarget']:,} different-source trials"
        said += f", trained on {sizes}"
    return said
