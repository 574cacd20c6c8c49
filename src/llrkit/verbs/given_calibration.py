"""A calibration that meets other scores: apply(), adapt(), whose LLRs they are, what it was validated for."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from llrkit.base.arguments import Array, FloatArray, names_of, of_kind
from llrkit.base.options import documented
from llrkit.base.process import warn_caller
from llrkit.base.text import Json, agreeing, as_object, as_text, counted
from llrkit.core.groups import ValueCounts, decoded
from llrkit.core.histograms import ClassHistogram, ScoreHistogram
from llrkit.core.losses import LossSums
from llrkit.core.summaries import Both, Moments, UnweightedSummary
from llrkit.errors import InputError, ShiftWarning, UnknownNameError
from llrkit.fits.lineup import LineupMap
from llrkit.fits.training_checks import provenance
from llrkit.io.formats import read_table
from llrkit.io.table_columns import LLR, LLR_MAP, RAW_SCORE, SCORE_NAMES
from llrkit.maps.bounds import BoundedMap, bound_elub, counted_for_bounds
from llrkit.maps.map import AffineMap, Columns, ComposedMap, Map
from llrkit.maps.training_range import RangeWatch
from llrkit.results.result import Result, plain
from llrkit.results.vocabulary import NATS, LlrUnit
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived import AnyTrials, DerivedSource
from llrkit.scores.source import no_column
from llrkit.scores.trials import Trials
from llrkit.shift.adapt import fit_adapted
from llrkit.shift.shift_check import as_new_source, is_few_labels, judge_for, labels_text, shift_note
from llrkit.verbs.evaluate import Evaluation
from llrkit.verbs.options import AdaptOptions, ApplyOptions

if TYPE_CHECKING:
    from llrkit.keywords import AdaptKeywords, ApplyKeywords

_COUNTS = ("n_target", "n_nontarget")
_HASH = re.compile(r" ([0-9a-f]{12})$")
"""Ends the name of a calibration in a file of its LLRs."""
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
    makers = _known_makers(source, calibration)
    # a file may be renamed, its hash stays
    own = calibration.loaded_from.rpartition(" ")[2]
    others = [name for name in makers if not name.endswith(f" {own}")]
    if apply is None and makers and _trained_on_llrs(calibration):
        apply = bool(others)  # the LLRs of another one are what it takes
    elif apply is None:
        apply = _holds_raw_scores(source, calibration)
    if apply:
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
    if others:
        made_by = ", ".join(_HASH.sub(r" (\1)", name) for name in others)
        this_one = _HASH.sub(r" (\1)", calibration.loaded_from)
        where = f"{source.origin}: " if isinstance(source, Trials) and source.origin else ""
        raise InputError(
            f"{where}these LLRs were made by {made_by}, not by {this_one}; give the map that made them, or "
            "name the column of the raw scores (score=, --score-column) to have this one applied"
        )
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


def _known_makers(source: ScoreSource, calibration: Map) -> tuple[str, ...]:
    """The calibrations that wrote LLRs, where their names tell them from this one."""
    if not (source.roles.calibrated and calibration.loaded_from) or _made_in_memory(source):
        return ()
    return tuple(name for name in makers_of(source) if _HASH.search(name))  # a name alone says too little


def _made_in_memory(source: ScoreSource) -> bool:
    """Whether LLRs were made of the trials of a file, whose columns then tell nothing of them."""
    while isinstance(source, DerivedSource):
        if source.factor is not None:
            return True
        source = source.source
    return False


def _trained_on_llrs(calibration: Map) -> bool:
    """Whether a calibration takes LLRs that another one made."""
    return bool((calibration.reading or {}).get("calibrated"))


def _holds_raw_scores(source: ScoreSource, calibration: Map) -> bool:
    """Whether trials hold raw scores, from what they know of the file they were read from."""
    roles = source.roles
    if roles.calibrated and not _trained_on_llrs(calibration):
        return False
    # neither file nor column says what the numbers are, and guessing a scale is never done
    if roles.calibrated or roles.label is None or roles.score == (LLR,):
        raise InputError(
            "these trials do not say whether they are raw scores or the LLRs of this calibration: "
            "apply=True (--apply) applies it to raw scores, apply=False takes LLRs as they are"
        )
    return True


@dataclass(frozen=True)
class ScoresOutside(UnweightedSummary):
    """What a :class:`RangeWatch` saw in some chunks; scores are counted, however much they weigh."""

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
    held = _as_scores(chunk, names)
    return Moments.of(Scores.part(held.target * factor, held.nontarget * factor))


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
        words_on_calibration(calibration) if calibration is not None else None,
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


def words_on_calibration(calibration: Map) -> str:
    """How a calibration was made, and on how many trials it was trained."""
    known = calibration.provenance
    said = calibration.method or calibration.kind
    if "n_target" in known and "n_nontarget" in known:
        sizes = f"{known['n_target']:,} same-source and {known['n_nontarget']:,} different-source trials"
        said += f", trained on {sizes}"
    return said


@documented(ApplyOptions)
def apply(
    fitted: Map,
    scores: object,
    columns: Columns | None = None,
    *,
    options: ApplyOptions | None = None,
    **changes: Unpack[ApplyKeywords],
) -> float | FloatArray | Scores:
    """LLRs of new scores, as ``llrkit apply`` makes them: with a look at whether they are as in training.

    Parameters
    ----------
    fitted
        The map.
    scores
        Numbers as the training file held them, :class:`llrkit.Scores`, or trials, which are read into memory.
        The LLRs are as those of ``fitted(scores)``: an array for an array or trials, ``Scores`` for
        ``Scores``.
    columns
        The columns that the map needs beside numbers.
    options
        Options made before; those that are given as keywords replace theirs.
    {options}

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> fitted = lk.calibrate(lk.Scores(rng.normal(4, 1, 500), rng.normal(0, 1, 500)), method="cmlg").map
    >>> lk.apply(fitted, [-9.0, 2.0, 6.0], outside="bound").round(2)
    array([-6.22,  0.2 ,  6.22])
    >>> moved = np.append(rng.normal(6, 1, 500), rng.normal(2, 1, 500))
    >>> lk.apply(fitted, moved, shift="error")
    Traceback (most recent call last):
    llrkit.errors.InputError: A shift: ...
    """
    asked = ApplyOptions.of(options, changes)
    of_kind(fitted, Map, "fitted")
    if columns is not None:
        of_kind(columns, Mapping, "columns")
    judge = judge_for(fitted, asked.shift)
    llrs = fitted(scores, columns, outside=asked.outside)
    if judge is not None:
        # the scores as they came: those outside of the range must not be moved to its ends before
        if isinstance(scores, ScoreSource):
            source = as_new_source(fitted, scores, judge.setting.densities.of)
            counts = source.reduce(ScoreHistogram.of).pooled
        else:
            # a frame names its systems; the map has accepted what it holds
            values: Any = scores if hasattr(scores, "columns") else np.asarray(scores, dtype=np.float64)
            counts = ClassHistogram.of(np.ravel(judge.values(values, columns or {})))
        # a command says that nothing was written; here there is nothing to write
        if said := replace(judge, policy="warn")(counts):
            if asked.shift == "error":
                raise InputError(said)
            warn_caller(said, ShiftWarning)
    return llrs


@dataclass(frozen=True, repr=False)
class Adaptation(Result):
    """A calibration for a new domain, and what the scores of that domain said."""

    map: Map
    """The adapted map; as it was if the scores have not moved so far that it matters."""
    text: str
    """What was found."""
    how: str
    """What became of the map: ``as it was``, ``adapted by labels``, or ``adapted`` with the rung."""

    def to_dict(self) -> dict[str, Json]:
        """The map as in its file."""
        return self.map.to_dict()

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows for people."""
        return ["calibration", "found"], [[self.how, self.text]]

    def __repr__(self) -> str:
        return f"Adaptation({self.how}: {self.text})"


@documented(AdaptOptions)
def adapt(
    fitted: Map | AnyTrials,
    scores: AnyTrials,
    *,
    options: AdaptOptions | None = None,
    **changes: Unpack[AdaptKeywords],
) -> Adaptation:
    """Adapt a calibration to unlabeled scores of a new domain, as ``llrkit shift -o`` does.

    The map is that of :func:`llrkit.fit_adapted`, where the method is described. If the scores do not show
    how they changed, :class:`llrkit.errors.AdaptationError` says why; a few labeled trials then help.

    Parameters
    ----------
    fitted
        A map, or training trials, for which logistic regression is fitted.
    scores
        Scores of the new domain, as the training file held them; or trials, whose labels are not looked at.
    options
        Options made before; those that are given as keywords replace theirs.
    {options}

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> dev = lk.Scores(rng.normal(4.0, 1.0, 2_000), rng.normal(0.0, 1.0, 2_000))
    >>> test = lk.Scores(rng.normal(8.0, 1.5, 500), rng.normal(2.0, 1.5, 9_500))
    >>> made = lk.adapt(lk.calibrate(dev).map, test)
    >>> made.how
    'adapted (free spread)'
    """
    asked = AdaptOptions.of(options, changes)
    adapted = fit_adapted(
        fitted, scores, share=asked.shares, labeled=asked.labeled, speakers=asked.speakers or None
    )
    few_labels = adapted.details.get("few_labels")
    if is_few_labels(few_labels):
        text = f"{few_labels.get('unlabeled')}\n{labels_text(few_labels)}"
        return Adaptation(adapted, text, "adapted by labels")
    told = as_object(adapted.details["adaptation"])
    how = "as it was" if told["rung"] == "no shift" else f"adapted ({told['rung']})"
    return Adaptation(adapted, as_text(told["text"]), how)


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
