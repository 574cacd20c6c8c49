"""evaluate(): all numbers of spoofing trials."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Literal

import numpy as np

from llrkit._arguments import number
from llrkit._random import RNG, seed_of
from llrkit.core.counting import count_bins
from llrkit.core.elementary_functions import probability
from llrkit.core.trial_counts import BelowCounts
from llrkit.errors import EmptyClassError, InputError
from llrkit.scores.spoof_kind_words import KINDS, Kind
from llrkit.spoof.a_dcf_costs import Costs, SpoofCosts, decision_score, spoof_costs
from llrkit.spoof.kind_counts import KindCounts, at_thresholds, attack_names, count_kinds
from llrkit.spoof.nearest_eer import t_eer_nearest
from llrkit.spoof.spoof_evaluation_result import SpoofEvaluation
from llrkit.spoof.spoof_intervals import spoof_intervals
from llrkit.spoof.spoof_numbers import SpoofCounts, SpoofSettings, cm_thresholds, spoof_numbers
from llrkit.spoof.spoof_trials import SpoofTrials, System
from llrkit.spoof.t_dcf_costs import asv_eer_threshold, cm_source
from llrkit.trust.intervals.speakers import Columns, find_speakers


def evaluate(
    trials: SpoofTrials,
    costs: Sequence[Costs] | Costs = ("asvspoof5", "a-dcf1"),
    *,
    tandem: Sequence[Costs] | Costs = ("asvspoof5", "asvspoof2019"),
    eer: Literal["roc", "hull", "nearest"] = "roc",
    asv_threshold: float | Literal["eer"] = "eer",
    speakers: Columns | None = None,
    level: float = 0.95,
    rng: RNG = 0,
) -> SpoofEvaluation:
    """Evaluate targets, non-targets and spoofs: EERs of each pair, a-DCF, t-DCF, t-EER, and every attack.

    Parameters
    ----------
    trials
        The trials.
    costs, tandem
        Priors and prices of the a-DCF and of the t-DCF: names of presets, or :class:`SpoofCosts`.
    eer
        The convention of equal error rates: on the interpolated ROC, on its convex hull, or at the nearest
        observed point, as the organizers of ASVspoof take it.
    asv_threshold
        Where the ASV system of the tandem decides: its equal-error threshold, or a number.
    speakers
        The column, or the two columns, with the speakers of the two sides of a trial: all numbers get
        intervals for trials that share speakers (a jackknife).
    level, rng
        Of the intervals.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> labels = ["target"] * 300 + ["nontarget"] * 300 + ["spoof"] * 300
    >>> asv, cm = np.repeat([3.0, -3.0, 2.0], 300), np.repeat([3.0, 3.0, -3.0], 300)
    >>> trials = SpoofTrials({"asv": asv + 2 * rng.normal(size=900), "cm": cm + 2 * rng.normal(size=900),
    ...                       "label": labels})
    >>> result = evaluate(trials)
    >>> [round(rate, 3) for rate in (result.sv_eer, result.spf_eer, result.cm_eer, result.t_eer)]
    [0.06, 0.397, 0.073, 0.088]
    >>> result.t_dcf[0].name, round(result.t_dcf[0].min, 3)
    ('asvspoof5', 0.322)
    """
    seed = seed_of(rng)
    if not isinstance(trials, SpoofTrials):
        raise InputError(
            f"expected SpoofTrials, got {type(trials).__name__}: SpoofTrials(table, asv=, cm=, sasv=)"
        )
    probability(level, "level")
    settings = SpoofSettings(_all_costs(costs), _all_costs(tandem), eer)
    system = decision_score(trials)
    counted, uncounted = _count_alone(trials)
    _number_or_none(asv_threshold)
    where = _asv_decision(trials, counted, asv_threshold)
    attacks = [] if trials.attack is None else _attacks_of_trials(trials, counted)
    people = None
    if speakers is not None:  # once for all attacks
        people = find_speakers(trials.source_of(next(iter(trials.systems))), speakers)

    def one(attack: str | None) -> SpoofEvaluation:
        counts = _spoof_counts(trials, settings, counted, where, attack)
        numbers, reasons = spoof_numbers(counts, settings)
        if eer == "nearest" and "t_eer" in numbers:
            numbers["t_eer"] = t_eer_nearest(trials, attack=attack)
        n = _sizes_of_kinds(trials, counts)
        result = SpoofEvaluation(
            n=MappingProxyType(n),
            score=trials.systems[system],
            numbers=MappingProxyType(numbers),
            cost_names=tuple(cost.name for cost in settings.costs),
            tandem_names=tuple(cost.name for cost in settings.tandem),
            eer_convention=eer,
            reasons=MappingProxyType({**uncounted, **reasons}),
            asv_threshold=where,
            asv_rates=counts.asv_rates,
        )
        if people is None:
            return result
        made = spoof_intervals(
            trials,
            counts,
            settings,
            people,
            level,
            seed,
            attack=attack,
            asv_fixed=_number_or_none(asv_threshold),
        )
        return replace(result, uncertainty=made)

    whole = one(None)
    if not whole.numbers:
        raise InputError(f"nothing can be evaluated: {'; '.join(dict.fromkeys(whole.reasons.values()))}")
    return replace(whole, attacks=MappingProxyType({attack: one(attack) for attack in attacks}))


def _all_costs(costs: Sequence[Costs] | Costs) -> tuple[SpoofCosts, ...]:
    given = (costs,) if isinstance(costs, str) or not isinstance(costs, Sequence) else costs
    return tuple(spoof_costs(cost) for cost in given)


def _number_or_none(asv_threshold: float | str) -> float | None:
    return None if isinstance(asv_threshold, str) else number(asv_threshold, "asv_threshold")


def _asv_decision(
    trials: SpoofTrials, counted: dict[System, KindCounts], asv_threshold: float | str
) -> float | None:
    """The threshold of the ASV system of a tandem, if there is one."""
    if isinstance(asv_threshold, str) and asv_threshold != "eer":
        raise InputError(f"asv_threshold must be 'eer' or a number, got {asv_threshold!r}")
    if "asv" not in counted or "cm" not in trials.systems:
        if asv_threshold != "eer":
            raise InputError("asv_threshold (--asv-threshold) is for a tandem of ASV and CM scores")
        return None
    if not isinstance(asv_threshold, str):
        return float(asv_threshold)
    try:
        return asv_eer_threshold(trials, counted["asv"].bins())
    except EmptyClassError:
        return None


def _count_alone(trials: SpoofTrials) -> tuple[dict[System, KindCounts], dict[str, str]]:
    """The counts of the systems that decide alone, and why there are none where a countermeasure remains."""
    counted: dict[System, KindCounts] = {}
    reasons: dict[str, str] = {}
    for name in trials.systems:
        try:
            if name != "cm":
                counted[name] = count_kinds(trials, name)
        except EmptyClassError as error:
            if "cm" not in trials.systems:
                raise
            reasons[name] = str(error)
    return counted, reasons


def _attacks_of_trials(trials: SpoofTrials, counted: dict[System, KindCounts]) -> list[str]:
    return next(iter(counted.values())).attacks if counted else attack_names(trials, "cm")


def _spoof_counts(
    trials: SpoofTrials,
    settings: SpoofSettings,
    counted: dict[System, KindCounts],
    where: float | None,
    attack: str | None,
) -> SpoofCounts:
    """What the numbers of all spoofs, or of one attack, are made of; ``where`` the ASV system decides."""
    system = decision_score(trials)
    decision, asv = counted.get(system), counted.get("asv")
    decision_rates, asv_rates, cm, cm_rates = None, None, None, None
    if decision is not None and settings.costs:
        cuts = [cost.threshold for cost in settings.costs]
        decision_rates = at_thresholds(trials, system, cuts, attack)
    if where is not None:
        p_miss, p_fa, p_fa_spoof = at_thresholds(trials, "asv", [where], attack)[0].tolist()
        asv_rates = p_miss, p_fa, p_fa_spoof
    if "cm" in trials.systems:
        source = cm_source(trials, attack)
        with suppress(EmptyClassError):
            cm = count_bins(source)
        if cm is not None and asv_rates is not None:
            below = source.reduce(BelowCounts.at(cm_thresholds(settings, asv_rates)))
            accepted = cm.n_nontarget - below.nontarget
            cm_rates = np.column_stack([below.target / cm.n_target, accepted / cm.n_nontarget])
    return SpoofCounts(
        decision=None if decision is None else decision.bins(attack),
        asv=None if asv is None else asv.bins(attack),
        cm=cm,
        decision_rates=decision_rates,
        asv_rates=asv_rates,
        cm_rates=cm_rates,
    )


def _sizes_of_kinds(trials: SpoofTrials, counts: SpoofCounts) -> dict[Kind, float]:
    """Trials of each kind that have a score of the system that decides, or of the countermeasure."""
    bins = counts.decision
    if bins is None:
        have = trials.counts("cm")
        return have if counts.cm is None else {**have, "spoof": counts.cm.n_nontarget}
    return dict(zip(KINDS, bins.n, strict=True))
