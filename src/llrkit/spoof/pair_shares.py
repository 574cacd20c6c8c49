"""How much of the variance of an a-DCF is left when trials between two speakers are counted once.

A trial between two speakers is left out with either of them, so that a jackknife counts twice what it adds by
itself. At its threshold an a-DCF is a sum of error rates, and of a rate it is known how much that is.
"""

from __future__ import annotations

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.scores.kinds import Kind
from llrkit.spoof.detection_costs import path_costs
from llrkit.spoof.spoof_numbers import SpoofCounts, SpoofSettings
from llrkit.spoof.spoof_trials import SpoofTrials, System
from llrkit.trust.intervals.curve_rates import curve_rates
from llrkit.trust.intervals.speakers import Speakers

SMALLEST = 0.1
"""No less than this share is ever left."""


def counted_twice(
    trials: SpoofTrials,
    system: System,
    counts: SpoofCounts,
    settings: SpoofSettings,
    speakers: Speakers,
    attack: str | None,
) -> dict[str, float]:
    """By name of an a-DCF, what pairs that are counted twice add to its variance; empty for one column."""
    bins = counts.decision
    if bins is None or len(speakers.columns) == 1 or not all(bins.n):
        return {}
    path = bins.path()
    cuts = {}
    for i, costs in enumerate(settings.costs):
        cuts[f"a_dcf.{i}.min"] = float(path.threshold[np.argmin(path_costs(path, costs))])
        cuts[f"a_dcf.{i}.act"] = costs.threshold
    finite = {name: cut for name, cut in cuts.items() if np.isfinite(cut)}
    if not finite:
        return {}
    at = np.array(list(finite.values()))
    added = np.zeros(len(at))
    for place, kind in enumerate(("nontarget", "spoof"), start=1):
        own = _of_rates(trials, system, at, kind, speakers, attack)  # type: ignore[arg-type]
        prices = [_price(settings, name, place) for name in finite]
        added += np.square(prices) * own
    return dict(zip(finite, added.tolist(), strict=True))


def _price(settings: SpoofSettings, name: str, place: int) -> float:
    costs = settings.costs[int(name.split(".")[1])]
    return costs.weights[place] / costs.default


def _of_rates(
    trials: SpoofTrials, system: System, cuts: FloatArray, kind: Kind, speakers: Speakers, attack: str | None
) -> FloatArray:
    """The same of the rate of false alarms of one kind at each threshold."""
    source = trials.pair(system, ("target",), (kind,), attack=attack if kind == "spoof" else None)
    rates = curve_rates(source, cuts, speakers, 0.95)
    assert rates.by_speaker is not None
    error = np.nan_to_num(rates.by_speaker[1].standard_error)
    twice = np.square(error) * (1.0 - rates.counted_once)
    return np.asarray(twice[np.searchsorted(rates.thresholds, cuts)])


def share_counted_once(variance: float, twice: float) -> float:
    """The share of a variance that is left."""
    return float(np.clip(1.0 - twice / max(variance, 1e-300), SMALLEST, 1.0))
