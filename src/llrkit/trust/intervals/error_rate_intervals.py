"""Error rates at some thresholds, without each speaker in turn, and their intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from llrkit._arrays import BoolArray, FloatArray, IntArray
from llrkit.core.summary_algebra import ReadOnlyArrays
from llrkit.trust.intervals.jackknife import Jackknife, from_scale
from llrkit.trust.intervals.number_functionals import FEWEST_ERRORS
from llrkit.trust.intervals.speaker_cells import SpeakerCells

FEWEST_MAKERS = 4.0
"""A speaker who is mistaken for many others makes errors as unequally as four speakers would."""
MANY_MAKERS = 2.0 * FEWEST_MAKERS
"""From so many speakers with errors on, a rate tells how many independent trials would know it as well."""
COST_MAKERS = 6.0 * FEWEST_MAKERS
"""Up to so many speakers with errors, the upper end of a cost is that of its rates."""
_LOOKED_AT = 200
"""Thresholds at which the effective number of trials is looked at."""


@dataclass(frozen=True, eq=False)
class RateIntervals(ReadOnlyArrays):
    """Intervals of the rates of one kind of error at several thresholds."""

    rate: FloatArray
    low: FloatArray
    high: FloatArray
    bound: FloatArray
    """One-sided upper bound."""
    few: BoolArray
    """Where so few speakers make the errors (or all but the errors) that only the bound can be trusted."""
    makers: FloatArray
    """How many speakers who make equally many errors would be as unequal."""


@dataclass(frozen=True, eq=False)
class ErrorRates(ReadOnlyArrays):
    """The rates of one kind of error at some thresholds: of all trials, and without each speaker."""

    jackknife: Jackknife
    makers: FloatArray
    """Effective number of speakers who make the errors, or who make none where errors prevail."""
    events: FloatArray
    """The same divided by the speakers of a trial: one false alarm has two of them, and is one event."""
    errors: FloatArray
    """How many there are; of weighted trials, whose number is not known, the events."""
    effective: float
    """How many independent trials would know the rates as well, in the middle of the curve."""

    @classmethod
    def of(
        cls,
        cells: SpeakerCells,
        class_index: int,
        places: npt.ArrayLike,
        along: npt.ArrayLike | None = None,
    ) -> ErrorRates:
        """Misses (class 0) or false alarms (class 1) at the cuts with these numbers.

        The effective number of trials is looked at ``along`` other cuts, by default all of them.
        """
        where = np.arange(len(cells.cuts)) if along is None else np.asarray(along, dtype=np.intp)
        every = where[np.unique(np.linspace(0, len(where) - 1, _LOOKED_AT).astype(np.intp))]
        looked = _rates_without_speakers(cells, class_index, every)
        rate, error = looked.jackknife.values, looked.jackknife.standard_error
        known = (looked.makers >= MANY_MAKERS) & (error > 0.0)
        effective = looked.effective
        if known.any():
            sizes = rate[known] * (1.0 - rate[known]) / np.square(error[known])
            effective = min(effective, float(np.median(sizes)))
        return replace(
            _rates_without_speakers(cells, class_index, np.asarray(places, dtype=np.intp)),
            effective=effective,
        )

    def intervals(
        self, level: float, *, counted_once: FloatArray | float = 1.0, corrected: bool = True, seed: int = 0
    ) -> RateIntervals:
        """On the logit scale; as of an effective number of independent trials where few make the errors.

        ``corrected`` intervals lie around the rates corrected for bias on that scale.
        """
        rate = self.jackknife.values
        scaled = replace(self.jackknife, counted_once=counted_once).on_scales(["rate" for _ in rate])
        inside = np.isfinite(scaled.values) & np.isfinite(scaled.without).all(axis=0)
        few = ~inside | (self.makers < FEWEST_MAKERS)
        low, high, bound = self._of_effective_trials(level)
        if (~few).any():
            some = scaled.select([scaled.names[i] for i in np.flatnonzero(~few)])
            ends = some.interval(level, center=None if corrected else some.values, seed=seed)
            # where not many make the errors, such sets are among those that show too many of them
            shaky = self.makers[~few] < 1.5 * FEWEST_MAKERS
            lower = from_scale(ends[0], "rate")
            low[~few] = np.where(shaky, np.minimum(lower, low[~few]), lower)
            high[~few] = from_scale(ends[1], "rate")
            if level > 0.5:  # a one-sided bound is the end of a shorter interval of two sides
                center = None if corrected else some.values
                _, upper = some.interval(2.0 * level - 1.0, center=center, seed=seed)
                upper = np.maximum(from_scale(upper, "rate"), rate[~few])
                # a handful of errors, each by other speakers, shows no spread
                handful = self.errors[~few] < FEWEST_ERRORS
                bound[~few] = np.where(handful, np.maximum(upper, bound[~few]), upper)
        return RateIntervals(rate, low, high, bound, few, self.makers)

    def _of_effective_trials(self, level: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Exact intervals and upper bounds, the errors of one speaker, or of one pair, counting as one."""
        from scipy.special import betaincinv

        rate = self.jackknife.values
        rare = np.minimum(rate, 1.0 - rate)
        k = np.minimum(rare * self.effective, self.events)
        with np.errstate(invalid="ignore", divide="ignore"):
            size = np.where(k > 0.0, k / np.where(rare > 0.0, rare, 1.0), self.effective)
        k = np.where(rate > 0.5, size - k, k)
        tail = 0.5 - 0.5 * level
        below, above = np.maximum(k, 1e-9), np.maximum(size - k, 1e-9)
        low = np.where(k > 0.0, betaincinv(below, size - k + 1.0, tail), 0.0)
        high = np.where(size > k, betaincinv(k + 1.0, above, 1.0 - tail), 1.0)
        return low, high, np.where(size > k, betaincinv(k + 1.0, above, level), 1.0)


def _rates_without_speakers(cells: SpeakerCells, class_index: int, places: IntArray) -> ErrorRates:
    counts = (cells.target, cells.nontarget)[class_index]
    below = np.cumsum(counts, axis=1, dtype=np.float64)
    sizes, errors = below[:, -1:], below[:, places]
    if class_index == 1:
        errors = sizes - errors
    with np.errstate(invalid="ignore", divide="ignore"):  # a group may have no trial of the class
        rate = errors[-1] / sizes[-1]
        without = (errors[-1] - errors[:-1]) / (sizes[-1] - sizes[:-1])
        rare = np.where(rate > 0.5, sizes - errors, errors)
        own, total = rare[:-1], rare[-1]
        makers = np.nan_to_num(np.square(own.sum(axis=0)) / np.square(own).sum(axis=0))
        events = np.nan_to_num(makers * total / own.sum(axis=0))
    # rounding of weighted counts must not give rates beyond their ends
    names = tuple(map(str, range(len(places))))
    jackknife = Jackknife(names, rate, np.clip(without, 0.0, 1.0), blocks=cells.blocks)
    known = np.issubdtype(counts.dtype, np.integer)
    return ErrorRates(jackknife, makers, events, total if known else events, float(sizes[-1, 0]))
