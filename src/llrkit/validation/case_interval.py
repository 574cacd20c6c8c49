"""How far a single LLR is known: the calibration fitted again, without each speaker or to drawn trials."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from llrkit._arrays import FloatArray
from llrkit._format import counted
from llrkit._plain import Json
from llrkit._progress import tracked
from llrkit.calibrate.bounds.bounded_map import BoundedMap
from llrkit.calibrate.maps import AffineMap, Map
from llrkit.choose.methods import METHODS, fit_quietly
from llrkit.core.summary_algebra import SummaryBase
from llrkit.errors import InputError, LlrkitError
from llrkit.scores import Scores, ScoreSource
from llrkit.trust.calibration.map_errors import METHODS as LINES
from llrkit.trust.calibration.map_errors import map_uncertainty
from llrkit.trust.intervals.bootstrap import checked_replicates, tail_probabilities
from llrkit.trust.intervals.resampling import SpeakerIndices, SpeakerResampling, speaker_resampling

SAME_LLR = 1e-6
"""How close the LLRs of a fit and of the same fit again are; a copy of the trials may hold fewer digits."""
FEWEST_FITS = 0.9
"""The share of the drawn sets that must be fitted for their percentiles to mean something."""


@dataclass(frozen=True)
class LLRInterval:
    """Where the LLR of a score lies, given the trials that trained the calibration; in nats."""

    low: float
    high: float
    level: float
    how: str

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers."""
        return {"low": self.low, "high": self.high, "level": self.level, "how": self.how}


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
    inner, low, high = _without_bounds(calibration)
    method, options = inner.method, _options_to_refit(inner)
    if method not in METHODS or inner.n_systems != 1 or inner.needs:
        return None, f"a calibration made by {method or inner.kind!r} cannot be fitted again here"
    _require_same_reading(inner, train)
    read = scores * calibration.input_factor
    plain = {name: value for name, value in options.items() if value}
    if isinstance(inner, AffineMap) and method in LINES and set(plain) <= {"prior", "alpha"}:
        known = map_uncertainty(train, method, speakers=speakers, **plain)
        _require_training_trials(inner, AffineMap(a=known.a, b=known.b), read)
        ends = np.array([known.interval(float(score), level)[1:] for score in read])
        how = "the calibration fitted again without each speaker" if speakers else _IF_INDEPENDENT
    else:
        _require_training_trials(inner, fit_quietly(method, train, options), read)
        replicates = checked_replicates(_usual_replicates(method) if replicates is None else replicates)
        drawn = _llrs_of_drawn_trials(method, options, train, read, speakers, replicates, seed)
        if len(drawn) < FEWEST_FITS * replicates:
            return None, f"only {len(drawn)} of {replicates} drawn sets of trials could be fitted"
        n = speaker_resampling(train, speakers).speakers.n if speakers else 0
        tails = tail_probabilities(n, level) if n else _normal_tails(level)
        ends = np.quantile(drawn, tails, axis=0).T
        what = "speakers" if speakers else "trials, which are taken as independent"
        how = f"the calibration fitted again to {counted(len(drawn), 'set')} of drawn {what}"
    bounded = np.clip(ends, low, high)
    return [LLRInterval(float(a), float(b), level, how) for a, b in bounded], ""


REPLICATES, FEWER = 500, 100
"""Drawn sets to which a calibration is fitted again, and those of methods that are slow to fit."""
SLOW = frozenset({"rule", "saturating", "nig", "tied-nig", "mixture", "gamma", "bigaussian", "unsupervised"})
"""Methods that take five times as long as the others, and more: 500 fits would be minutes."""


def _usual_replicates(method: str) -> int:
    return FEWER if method in SLOW else REPLICATES


_IF_INDEPENDENT = "the covariance of slope and offset, if training trials are independent"


def _normal_tails(level: float) -> list[float]:
    reach = float(ndtri(0.5 + 0.5 * level))
    return [float(ndtr(-reach)), float(ndtr(reach))]


def _without_bounds(calibration: Map) -> tuple[Map, float, float]:
    low, high = -np.inf, np.inf
    while isinstance(calibration, BoundedMap):
        low, high = max(low, calibration.low), min(high, calibration.high)
        calibration = calibration.map
    return calibration, low, high


def _options_to_refit(fitted: Map) -> Mapping[str, object]:
    """What to ask for again; bounds and speakers are not asked of the map inside."""
    return {name: value for name, value in fitted.options.items() if name not in ("bound", "speakers")}


def _require_same_reading(fitted: Map, train: ScoreSource) -> None:
    """Refuse trials that were read in another way than those that trained the calibration."""
    if not np.isclose(fitted.input_factor, train.roles.factor):
        raise InputError(
            "the calibration was trained on scores that were read in another way: read the training trials "
            f"as {read_as(fitted.input_factor)}, not as {read_as(train.roles.factor)}"
        )


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
        draw = resampling.draw(number) if resampling else None
        rng = np.random.default_rng([seed, number])
        target, nontarget = (
            values[rng.integers(len(values), size=len(values))]
            if draw is None or indices is None
            else np.repeat(values, draw.weights(indices).astype(np.int64))
            for values, indices in classes
        )
        try:
            fitted = fit_quietly(method, Scores.from_classes(target, nontarget), options)
        except LlrkitError:
            continue
        rows.append(fitted.checked(read, {}))
    return np.array(rows).reshape(len(rows), len(read))


@dataclass(frozen=True, eq=False)
class _ScoresByClass(SummaryBase):
    """All scores of each class, and the speakers of their trials where they are asked for."""

    classes: tuple[tuple[FloatArray, SpeakerIndices | None], ...]

    @classmethod
    def at(cls, resampling: SpeakerResampling | None) -> Callable[[Scores], _ScoresByClass]:
        def make(chunk: Scores) -> _ScoresByClass:
            return cls(
                tuple(
                    (values, None if resampling is None else resampling.speaker_indices(chunk, class_index))
                    for class_index, values in enumerate((chunk.target, chunk.nontarget))
                )
            )

        return make

    def __add__(self, other: _ScoresByClass) -> _ScoresByClass:
        return _ScoresByClass(
            tuple(
                (np.concatenate([first, second]), _joined_classes(of_first, of_second))
                for (first, of_first), (second, of_second) in zip(self.classes, other.classes, strict=True)
            )
        )

    def __mul__(self, weight: float) -> _ScoresByClass:
        return self


def _joined_classes(first: SpeakerIndices | None, second: SpeakerIndices | None) -> SpeakerIndices | None:
    if first is None or second is None:
        return None
    return SpeakerIndices(
        np.concatenate([first.first, second.first]), np.concatenate([first.second, second.second])
    )
