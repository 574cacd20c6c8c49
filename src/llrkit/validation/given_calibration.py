"""The calibration a validation is given: applied to raw scores, and asked what it knows of these trials."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from llrkit._arrays import Array, FloatArray
from llrkit._format import counted
from llrkit.calibrate.composed_map import ComposedMap
from llrkit.calibrate.maps import Map
from llrkit.calibrate.monotone.lineup.lineup_map import LineupMap
from llrkit.calibrate.training_checks import provenance
from llrkit.calibrate.training_range import RangeWatch
from llrkit.core.column_values import ValueCounts, decoded
from llrkit.core.moments import Moments
from llrkit.core.summary_algebra import Both, SummaryBase
from llrkit.errors import InputError, UnknownNameError
from llrkit.evaluation.evaluation_result import Evaluation
from llrkit.io.text.layouts import LLR, LLR_MAP, RAW_SCORE, SCORE_NAMES
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived_sources import DerivedSource
from llrkit.shift.apply_judge import shift_note

TRAINED_ON = "These trials trained the calibration: its LLRs look better on them than on others."
TRAINED_ON_NOTE = "measured on the trials that trained the calibration"
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
    >>> from llrkit.calibrate.affine.cmlg import fit_cmlg
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
    if _holds_raw_scores(source, calibration) if apply is None else apply:
        source = calibration.in_trained_order(source)
        llrs = calibration.on(source)
        factor = 1.0 if calibration.reading is None else source.roles.factor
        moments, seen = source.reduce(
            partial(_moments_and_range, fitted=calibration, factor=factor)
        ).summaries
        outside = "" if isinstance(calibration, LineupMap) else seen.note(calibration)  # it looks at ranks
        trained = _same_as_training_trials(moments, calibration)
        unasked = trained or isinstance(calibration, LineupMap)
        shift = "" if unasked else shift_note(calibration, source, llrs, speakers)
    else:
        llrs, outside = source, ""
        trained = any(
            _same_as_training_trials(kept, calibration) for kept in _kept_scores(source, calibration)
        )
        kept = None if trained or isinstance(calibration, LineupMap) else scores_beside(source, calibration)
        shift = "" if kept is None else shift_note(calibration, kept, source, speakers)
    wrong = "" if llrs is not source else _other_llrs(source, calibration)
    return GivenCalibration(llrs, llrs is not source, trained, outside, wrong, shift)


def makers_of(source: ScoreSource) -> tuple[str, ...]:
    """The calibrations that wrote the LLRs of a file, as the file names them; empty where it does not.

    Examples
    --------
    >>> makers_of(Scores([2.0], [-1.0], {"llr_map": (["dev.json 85fddfdd35ec"], ["dev.json 85fddfdd35ec"])}))
    ('dev.json 85fddfdd35ec',)
    """
    try:
        counts = source.with_columns(LLR_MAP).reduce(_count_makers).counts
    except UnknownNameError:
        return ()
    return tuple(sorted(str(name) for name in counts if name is not None))


def _count_makers(chunk: Scores) -> ValueCounts:
    return ValueCounts.of(chunk, LLR_MAP)


def _holds_raw_scores(source: ScoreSource, calibration: Map) -> bool:
    """Whether trials hold raw scores, from what they know of the file they were read from."""
    roles, trained_on_llrs = source.roles, bool((calibration.reading or {}).get("calibrated"))
    if roles.calibrated and not trained_on_llrs:
        return False
    if roles.calibrated or roles.label is None or roles.score == (LLR,):
        raise InputError(
            "these trials do not say whether they are raw scores or the LLRs of this calibration: "
            "apply=True applies it to raw scores, apply=False takes LLRs as they are"
        )
    return True


@dataclass(frozen=True)
class ScoresOutside(SummaryBase):
    """What a :class:`RangeWatch` saw in some chunks."""

    n_outside: int
    n_trials: int
    furthest: float
    furthest_by: float

    @classmethod
    def of(cls, chunk: Scores, fitted: Map, factor: float) -> ScoresOutside:
        """Look at a chunk whose scores were multiplied by ``factor`` when they were read."""
        watch = RangeWatch(fitted.training_range)
        for values in (chunk.target, chunk.nontarget):
            watch.seen(values.astype(np.float64, copy=False) / factor)
        return cls(watch.n_outside, watch.n_trials, watch.furthest, watch.furthest_by)

    def __add__(self, other: ScoresOutside) -> ScoresOutside:
        far = self if self.furthest_by >= other.furthest_by else other
        counts = self.n_outside + other.n_outside, self.n_trials + other.n_trials
        return ScoresOutside(*counts, far.furthest, far.furthest_by)

    def __mul__(self, weight: float) -> ScoresOutside:
        return self  # scores are counted, however much they weigh

    def note(self, fitted: Map) -> str:
        """What is to be said, in the words of everywhere else."""
        seen = self.n_outside, self.n_trials, self.furthest, self.furthest_by
        return RangeWatch(fitted.training_range, "warn", *seen).note


def _moments_and_range(chunk: Scores, fitted: Map, factor: float) -> Both[tuple[Moments, ScoresOutside]]:
    as_trained = fitted.input_factor / factor
    moments = Moments.of(Scores.part(chunk.target * as_trained, chunk.nontarget * as_trained))
    return Both((moments, ScoresOutside.of(chunk, fitted, factor)))


def scores_beside(source: ScoreSource, calibration: Map) -> ScoreSource | None:
    """The scores that a file of LLRs keeps in the columns of training; None if it keeps none.

    Examples
    --------
    >>> from llrkit.calibrate.maps import AffineMap
    >>> trained = AffineMap(a=1.0, b=-2.0, reading={"score": ["raw"]})
    >>> llrs = Scores([2.0], [-3.0], {"raw": ([4.0], [0.5])})
    >>> scores_beside(llrs, trained).reduce(lambda chunk: chunk).target
    array([4.])
    """
    names = tuple((calibration.reading or {}).get("score") or ())
    if calibration.needs or len(names) != calibration.n_systems or names == source.roles.score:
        return None
    try:
        source.with_columns(*names)
    except UnknownNameError:
        return None
    change = partial(_as_scores, names=names)
    return DerivedSource(source, change, needs=names, score=names, factor=1.0, calibrated=False)


def _as_scores(chunk: Scores, names: tuple[str, ...]) -> Scores:
    return Scores.part(
        _columns_as_held(chunk, names, 0), _columns_as_held(chunk, names, 1), chunk.columns, chunk.categories
    )


def _kept_scores(source: ScoreSource, calibration: Map) -> Iterator[Moments]:
    """Moments of the columns beside LLRs that may be the scores they were made of."""
    trained = tuple((calibration.reading or {}).get("score") or ())
    usual = [(name,) for name in (RAW_SCORE, *SCORE_NAMES)] if calibration.n_systems == 1 else []
    for names in dict.fromkeys((trained, *usual)):
        if len(names) != calibration.n_systems or names == source.roles.score:
            continue
        try:
            wide = source.with_columns(*names)
        except UnknownNameError:
            continue
        yield wide.reduce(partial(_moments_of_columns, names=names, factor=calibration.input_factor))


def _moments_of_columns(chunk: Scores, names: tuple[str, ...], factor: float) -> Moments:
    return Moments.of(
        Scores.part(_columns_as_held(chunk, names, 0) * factor, _columns_as_held(chunk, names, 1) * factor)
    )


def _other_llrs(source: ScoreSource, calibration: Map) -> str:
    """What is to be said if LLRs are not those of the calibration, where the file keeps its scores."""
    names: tuple[str, ...] = tuple((calibration.reading or {}).get("score") or ())
    if calibration.needs or len(names) != 1 or names == source.roles.score:
        return ""
    try:
        wide = source.with_columns(*names)
    except UnknownNameError:
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
    columns = [_column_as_numbers(decoded(chunk, name, class_index)) for name in names]
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


def _column_as_numbers(column: Array) -> Array:
    """A column as numbers; one of words is no score, and like nothing."""
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError):
        return np.full(len(column), np.nan)


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
    pairs = (known["training_cllr"], result.cllr), (known["training_min_cllr"], result.min_cllr)
    return all(
        isinstance(one, (int, float)) and math.isclose(one, other, rel_tol=1e-9) for one, other in pairs
    )


def _training_of_calibration(calibration: Map) -> dict[str, object]:
    """What is known of the trials that trained a calibration, or the first of two in a row."""
    if isinstance(calibration, ComposedMap) and "n_target" not in calibration.provenance:
        return _training_of_calibration(calibration.first)
    return dict(calibration.provenance)
