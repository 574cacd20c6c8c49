"""Pmiss at a given Pfa whose threshold was found on the same trials."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit.metrics.measurements import Measurements
from llrkit.scores import ScoreSource
from llrkit.trust.intervals.curve_rates import CurveRates, curve_rates
from llrkit.trust.intervals.evaluation_numbers import score_cuts
from llrkit.trust.intervals.speakers import Speakers

_STEEPEST = 20.0


class MissAtFa(NamedTuple):
    """Rates at ascending thresholds, and the ends of Pmiss at the Pfa that each threshold has."""

    rates: CurveRates
    low: FloatArray
    high: FloatArray

    def interval(self, threshold: float) -> tuple[float, float] | None:
        """The ends at one of the thresholds; None where errors, or those who make them, are too few."""
        at = int(np.searchsorted(self.rates.thresholds, threshold))
        return None if np.isnan(self.low[at]) else (float(self.low[at]), float(self.high[at]))


def miss_at_fa(
    source: ScoreSource,
    result: Measurements,
    thresholds: npt.ArrayLike,
    speakers: Speakers | None,
    level: float,
) -> MissAtFa:
    """Intervals that take into account that finite thresholds were found on these trials."""
    rates = curve_rates(source, thresholds, speakers, level, along=score_cuts(result))
    return MissAtFa(rates, *rates.along_roc(_roc_slopes(result, rates.thresholds)))


def _roc_slopes(result: Measurements, thresholds: FloatArray) -> FloatArray:
    """The slope of the ROC, which is the likelihood ratio."""
    blocks = result.summaries.blocks
    block = np.maximum(np.searchsorted(blocks.low, thresholds, side="right") - 1, 0)
    return np.asarray(np.exp(np.clip(blocks.llr[block], -_STEEPEST, _STEEPEST)))
