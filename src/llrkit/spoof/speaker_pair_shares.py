"""How much of the variance of a number is left when trials between two speakers are counted once.

A trial between two speakers is left out with either of them, so that a jackknife counts twice what it adds by
itself. At its threshold an a-DCF is a sum of error rates, and an EER moves with them (``dEER = w dPmiss +
(1 - w) dPfa``); of a rate it is known how much that is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.pav_and_hull import error_path
from llrkit.scores.spoof_kind_words import Kind
from llrkit.spoof.a_dcf_costs import path_costs
from llrkit.spoof.kind_counts import KindBins
from llrkit.spoof.spoof_numbers import SpoofCounts, SpoofSettings
from llrkit.spoof.spoof_trials import SpoofTrials, System
from llrkit.trust.intervals.curve_rates import curve_rates
from llrkit.trust.intervals.influence_functions import false_alarm_share
from llrkit.trust.intervals.speakers import Speakers

SMALLEST = 0.1
"""No less than this share is ever left."""


class _RateSum(NamedTuple):
    """A number as it moves with error rates at a threshold."""

    threshold: float
    weights: tuple[float, float, float]
    """Of the rates of targets, non-targets and spoofs."""


def shares_counted_once(
    trials: SpoofTrials,
    system: System,
    counts: SpoofCounts,
    settings: SpoofSettings,
    speakers: Speakers,
    attack: str | None,
) -> dict[str, float]:
    """The share of the variance that is left, of a-DCFs and of EERs of the system that decides.

    By name; empty where trials have one column of speakers. Shares are those of the sums of error rates,
    which a jackknife follows to first order.
    """
    bins = counts.decision
    if bins is None or len(speakers.columns) == 1:
        return {}
    sums = _cost_sums(bins, settings) | _eer_sums(bins)
    sums = {name: one for name, one in sums.items() if np.isfinite(one.threshold)}
    if not sums:
        return {}
    at = np.array([one.threshold for one in sums.values()])
    weights = np.array([one.weights for one in sums.values()]).T
    without: FloatArray = np.zeros(())
    twice = np.zeros(len(at))
    kinds: tuple[Kind, ...] = ("nontarget", "spoof")
    for weight, kind, n in zip(weights[1:], kinds, bins.n[1:], strict=True):
        if n:
            source = trials.pair(system, ("target",), (kind,), attack=attack if kind == "spoof" else None)
            rates = curve_rates(source, at, speakers, 0.95)
            assert rates.by_speaker is not None
            here = np.searchsorted(rates.thresholds, at)
            miss, fa = (one.select([one.names[i] for i in here]) for one in rates.by_speaker)
            without = without + np.where(
                weight > 0.0, weight * fa.without, 0.0
            )  # nan where a kind does not matter
            own = np.square(weight * fa.standard_error) * (1.0 - rates.counted_once[here])
            twice += np.where(weight > 0.0, own, 0.0)
    linear = replace(miss, values=weights[0] * miss.values, without=without + weights[0] * miss.without)
    shares = 1.0 - twice / np.maximum(np.square(linear.standard_error), 1e-300)
    return dict(zip(sums, np.nan_to_num(np.clip(shares, SMALLEST, 1.0), nan=1.0).tolist(), strict=True))


def _cost_sums(bins: KindBins, settings: SpoofSettings) -> dict[str, _RateSum]:
    sums: dict[str, _RateSum] = {}
    if not all(bins.n):
        return sums
    path = bins.path()
    for i, costs in enumerate(settings.costs):
        miss, fa, fa_spoof = (weight / costs.default for weight in costs.weights)
        weights = miss, fa, fa_spoof
        best = float(path.threshold[np.argmin(path_costs(path, costs))])
        sums |= {
            f"a_dcf.{i}.min": _RateSum(best, weights),
            f"a_dcf.{i}.act": _RateSum(costs.threshold, weights),
        }
    return sums


def _eer_sums(bins: KindBins) -> dict[str, _RateSum]:
    """EERs of targets against non-targets, spoofs, and both: a rate of both is the mean of theirs."""
    n_target, *others = bins.n
    sums: dict[str, _RateSum] = {}
    for name, chosen in (("sv_eer", (True, False)), ("spf_eer", (False, True)), ("sasv_eer", (True, True))):
        n = [size if one else 0.0 for size, one in zip(others, chosen, strict=True)]
        if not n_target or not all(size for size, one in zip(others, chosen, strict=True) if one):
            continue
        roc = error_path(bins.pair(*chosen))
        at = int(np.argmax(roc.p_miss >= roc.p_fa))
        rate = 0.5 * float(roc.p_miss[at] + roc.p_fa[at])
        if 0.0 < rate < 1.0:
            of_misses = false_alarm_share(roc, rate)
            fa, fa_spoof = ((1.0 - of_misses) * size / sum(n) for size in n)
            sums[name] = _RateSum(float(roc.threshold[at]), (of_misses, fa, fa_spoof))
    return sums
