"""Where few speakers make the errors: which numbers then say too little about other speakers, and why."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._format import counted
from llrkit.metrics.measurements import Measurements
from llrkit.trust.intervals.error_rate_intervals import FEWEST_MAKERS, ErrorRates
from llrkit.trust.intervals.evaluation_numbers import decision_thresholds
from llrkit.trust.intervals.speaker_cells import SpeakerCells

KINDS = ("misses", "false alarms")


def best_threshold(result: Measurements, i: int) -> float:
    """The threshold with the lowest cost at an operating point; infinite if it rejects all trials."""
    blocks = result.summaries.blocks
    vertex = int(np.searchsorted(blocks.llr, result.points[i].point.threshold))
    return float(blocks.low[vertex]) if vertex < len(blocks.low) else math.inf


def thresholds_looked_at(result: Measurements) -> FloatArray:
    """Those of decisions, then the best one of each operating point."""
    best = [best_threshold(result, i) for i in range(len(result.points))]
    return np.concatenate([decision_thresholds(result), best])


def rates_looked_at(cells: SpeakerCells, result: Measurements) -> tuple[ErrorRates, ErrorRates]:
    """Misses and false alarms at these thresholds."""
    used = thresholds_looked_at(result)
    place = np.minimum(np.searchsorted(cells.cuts, used), len(cells.cuts) - 1)
    return ErrorRates.of(cells, 0, place), ErrorRates.of(cells, 1, place)


def makers_of_errors(cells: SpeakerCells, result: Measurements) -> dict[str, float]:
    """By name of a rate, how many speakers make the errors; of an actual cost, the kind that fewer make."""
    miss, alarm = rates_looked_at(cells, result)
    fewer = np.minimum(miss.makers, alarm.makers).tolist()
    makers = {}
    for i in range(len(result.points)):
        makers[f"points.{i}.act_dcf"] = fewer[i]
        makers[f"points.{i}.p_miss"] = float(miss.makers[i])
        makers[f"points.{i}.p_fa"] = float(alarm.makers[i])
    for i, primary in enumerate(result.primaries):
        makers[f"primaries.{i}.act"] = min(fewer[member] for member in primary.members)
    return makers


def few_makers(kind: str, rate: float, makers: float) -> str:
    """Why errors of a kind ("misses", "false alarms") that few speakers make say little about others."""
    if rate == 0.0:
        return f"there are no {kind}"
    if rate == 1.0:
        return f"there is nothing but {kind}"
    return f"the {kind} come from few speakers, effectively {makers:.1f}"


def reasons_for_few(cells: SpeakerCells, result: Measurements) -> dict[str, str]:
    """By name of a number at an operating point, why its errors are too few speakers'."""
    rates = rates_looked_at(cells, result)
    n_fixed = len(decision_thresholds(result))

    def why(place: int, *classes: int) -> str:
        for one in classes:
            makers, rate = float(rates[one].makers[place]), float(rates[one].jackknife.values[place])
            if makers < FEWEST_MAKERS:
                return few_makers(KINDS[one], rate, makers)
        return ""

    reasons = {}
    for i in range(len(result.points)):
        reasons[f"points.{i}.p_miss"], reasons[f"points.{i}.p_fa"] = why(i, 0), why(i, 1)
        reasons[f"points.{i}.act_dcf"], reasons[f"points.{i}.min_dcf"] = why(i, 0, 1), why(n_fixed + i, 0, 1)
    for i, primary in enumerate(result.primaries):
        for kind in ("min", "act"):
            of_members = [reasons[f"points.{member}.{kind}_dcf"] for member in primary.members]
            reasons[f"primaries.{i}.{kind}"] = next(filter(None, of_members), "")
    return {name: reason for name, reason in reasons.items() if reason}


FEWEST_EFFECTIVE = 20.0
"""With fewer speakers, or as unequal ones, intervals are rough."""


def few_speakers_note(effective: Mapping[str, float]) -> list[str]:
    """Says so where the trials of a kind are of few speakers, or mostly of few; by kind, how many they are.

    Examples
    --------
    >>> few_speakers_note({"target": 40.0, "spoof": 25.0})
    []
    """
    kind, least = min(effective.items(), key=lambda item: item[1], default=("", math.inf))
    if least >= FEWEST_EFFECTIVE:
        return []
    what = "non-target" if kind == "nontarget" else kind
    return [
        f"the {what} trials are spread as unevenly as over {counted(round(least), 'equal speaker')}: with "
        f"fewer than {FEWEST_EFFECTIVE:.0f}, intervals are rough, and rather too short"
    ]
