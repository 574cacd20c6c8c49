"""The numbers of spoofing trials, and their intervals by leaving out one speaker at a time.

A trial between two speakers is left out with either of them, so that a jackknife counts twice what it adds by
itself. At its threshold an a-DCF is a sum of error rates, and an EER moves with them (``dEER = w dPmiss +
(1 - w) dPfa``); of a rate it is known how much that is, and so which share of a number's variance is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from llrkit.base.arguments import FloatArray, IntArray
from llrkit.base.text import counted
from llrkit.core.groups import BONA_FIDE
from llrkit.core.numerics import probit
from llrkit.core.order import Ranking
from llrkit.core.pav import ScoreBins, error_path, pav_blocks
from llrkit.errors import EmptyClassError, InputError, TooFewTrialsError
from llrkit.metrics.discrimination import eer_from_blocks, eer_roc_from_ranking
from llrkit.scores.labels import KINDS, Kind
from llrkit.spoof.costs import (
    SpoofCosts,
    TandemTerms,
    decision_score,
    min_a_dcf_from_bins,
    min_from_terms,
    path_costs,
    t_eer_from_bins,
    until_crossing,
)
from llrkit.spoof.counts import KindBins, nearest_point
from llrkit.spoof.trials import SpoofTrials, System
from llrkit.trust.influence import MOST_CELLS, false_alarm_share
from llrkit.trust.intervals import curve_rates
from llrkit.trust.jackknife import Jackknife, Scale, Uncertainty, few_speakers_note, from_scale
from llrkit.trust.speakers import CellSet, SpeakerCells, Speakers, speaker_cells

EERS: Mapping[str, Callable[[ScoreBins], float]] = {
    "roc": lambda bins: eer_roc_from_ranking(Ranking(bins)),
    "hull": lambda bins: eer_from_blocks(pav_blocks(bins)),
    "nearest": lambda bins: nearest_point(bins).eer,
}
"""Conventions of equal error rates: on the interpolated ROC, on its convex hull, at the nearest point."""
PAIRS: Mapping[str, tuple[bool, bool]] = {
    "sv_eer": (True, False),
    "spf_eer": (False, True),
    "sasv_eer": (True, True),
}
"""Whether the others of an EER are non-targets, and whether they are spoofs."""


@dataclass(frozen=True, eq=False)
class SpoofCounts:
    """What the numbers are made of; None where a system has no scores."""

    decision: KindBins | None
    """Scores of the system that decides alone."""
    asv: KindBins | None
    cm: ScoreBins | None
    """Bona fide trials against spoofs."""
    decision_rates: FloatArray | None
    """Pmiss and both Pfa at the thresholds of the costs, one row for each."""
    asv_rates: tuple[float, float, float] | None
    """Pmiss and both Pfa of the ASV system where it decides."""
    cm_rates: FloatArray | None
    """Pmiss and Pfa of the CM system at the thresholds of the tandem costs, one row for each."""


@dataclass(frozen=True)
class SpoofSettings:
    """Which numbers are asked for, of which spoofs, by which convention, and how sure their intervals are."""

    costs: tuple[SpoofCosts, ...]
    tandem: tuple[SpoofCosts, ...]
    eer: str = "roc"
    level: float = 0.95
    seed: int = 0
    asv_fixed: float | None = None
    """Where the ASV system of a tandem decides, if not at its equal error rate."""
    attack: str | None = None
    """The attack whose spoofs are meant; None for all of them."""


def spoof_numbers(counts: SpoofCounts, settings: SpoofSettings) -> tuple[dict[str, float], dict[str, str]]:
    """The numbers by name, and the reasons why others do not exist."""
    numbers: dict[str, float] = {}
    reasons: dict[str, str] = {}

    def put(name: str, make: Callable[[], float]) -> None:
        try:
            numbers[name] = make()
        except (EmptyClassError, InputError) as error:
            reasons[name] = str(error)

    decision, asv, cm = counts.decision, counts.asv, counts.cm
    if decision is not None:
        for name, others in PAIRS.items():
            # Default arguments bind what this round means; closures would see the last one.
            put(name, lambda others=others: _pair_eer(decision, settings.eer, *others))  # type: ignore[misc]
        for i, costs in enumerate(settings.costs):
            put(f"a_dcf.{i}.min", lambda costs=costs: min_a_dcf_from_bins(decision, costs))  # type: ignore[misc]
            if counts.decision_rates is not None:
                rates = counts.decision_rates[i].tolist()
                put(f"a_dcf.{i}.act", lambda costs=costs, rates=rates: costs.cost(*rates))  # type: ignore[misc]
    if cm is not None:
        put("cm_eer", lambda: EERS[settings.eer](cm))
    if cm is not None and asv is not None:
        path, asv_rates, cm_rates = error_path(cm), counts.asv_rates, counts.cm_rates

        def terms(costs: SpoofCosts) -> TandemTerms:
            if asv_rates is None or np.isnan(asv_rates).any():
                raise EmptyClassError("the t-DCF needs targets, non-targets and spoofs with ASV scores")
            return TandemTerms.of(costs, asv_rates)

        put("t_eer", lambda: t_eer_from_bins(asv, path).t_eer)
        for i, costs in enumerate(settings.tandem):
            put(f"t_dcf.{i}.min", lambda costs=costs: min_from_terms(terms(costs), path))  # type: ignore[misc]
            if cm_rates is not None:
                own = cm_rates[i, :1], cm_rates[i, 1:]
                put(f"t_dcf.{i}.act", lambda costs=costs, own=own: float(terms(costs).cost(*own)[0]))  # type: ignore[misc]
    return numbers, reasons


def _pair_eer(bins: KindBins, convention: str, nontarget: bool, spoof: bool) -> float:
    """The EER of targets against others of one kind, or of both, which must both be there."""
    for kind, n in zip(KINDS, bins.n, strict=True):
        # A pair of both kinds with one of them missing would silently be the EER of the other.
        if nontarget and spoof and not n:
            raise EmptyClassError(f"there are no {kind} trials")
    if convention == "roc":
        return bins.eer_roc(nontarget, spoof)
    return EERS[convention](bins.pair(nontarget, spoof))


def cm_thresholds(settings: SpoofSettings, rates: tuple[float, float, float]) -> FloatArray:
    """Where LLRs of the CM system should be cut, for each of the tandem costs; inf where nowhere."""
    cuts = []
    for costs in settings.tandem:
        try:
            cuts.append(TandemTerms.of(costs, rates).threshold)
        except InputError:
            # A cost that cannot be normalized has no number, and its place must still be filled.
            cuts.append(np.inf)
    return np.array(cuts, dtype=np.float64)


# In small sets the subtraction could leave nothing, or less.
SMALLEST = 0.1
"""No less than this share is ever left."""


_RateSum = tuple[float, tuple[float, ...]]
"""A number as it moves with error rates at a threshold, with weights of targets, non-targets and spoofs."""


def shares_counted_once(
    trials: SpoofTrials, counts: SpoofCounts, settings: SpoofSettings, speakers: Speakers
) -> dict[str, float]:
    """The share of the variance that is left, of a-DCFs and of EERs of the system that decides.

    By name; empty where trials have one column of speakers. Shares are those of the sums of error rates,
    which a jackknife follows to first order.
    """
    bins = counts.decision
    # With one column of speakers no trial is left out with two of them.
    if bins is None or len(speakers.columns) == 1:
        return {}
    sums: dict[str, _RateSum] = {}
    for i, costs in enumerate(settings.costs) if all(bins.n) else ():
        of_kinds = tuple(weight / costs.default for weight in costs.weights)
        # At the best threshold of all trials: to first order a minimum does not move with its threshold.
        best = float(bins.path.threshold[np.argmin(path_costs(bins.path, costs))])
        sums |= {f"a_dcf.{i}.min": (best, of_kinds), f"a_dcf.{i}.act": (costs.threshold, of_kinds)}
    sums |= _eer_sums(bins)
    sums = {name: (threshold, own) for name, (threshold, own) in sums.items() if np.isfinite(threshold)}
    if not sums:
        return {}
    at = np.array([threshold for threshold, _ in sums.values()])
    weights = np.array([own for _, own in sums.values()]).T
    without: FloatArray = np.zeros(())
    twice = np.zeros(len(at))
    kinds: tuple[Kind, ...] = ("nontarget", "spoof")
    for weight, kind, n in zip(weights[1:], kinds, bins.n[1:], strict=True):
        if n:
            attack = settings.attack if kind == "spoof" else None
            source = trials.pair(decision_score(trials), ("target",), (kind,), attack=attack)
            rates = curve_rates(source, at, speakers, 0.95)
            assert rates.by_speaker is not None
            here = np.searchsorted(rates.thresholds, at)
            miss, fa = (one.select([one.names[i] for i in here]) for one in rates.by_speaker)
            # rates are nan where a kind does not matter
            without = without + np.where(weight > 0.0, weight * fa.without, 0.0)
            pairs = np.square(weight * fa.standard_error) * (1.0 - rates.counted_once[here])
            twice += np.where(weight > 0.0, pairs, 0.0)
    linear = replace(miss, values=weights[0] * miss.values, without=without + weights[0] * miss.without)
    shares = 1.0 - twice / np.maximum(np.square(linear.standard_error), 1e-300)
    return dict(zip(sums, np.nan_to_num(np.clip(shares, SMALLEST, 1.0), nan=1.0).tolist(), strict=True))


def _eer_sums(bins: KindBins) -> dict[str, _RateSum]:
    """EERs of targets against non-targets, spoofs, and both: a rate of both is the mean of theirs."""
    n_target, *others = bins.n
    sums: dict[str, _RateSum] = {}
    for name, chosen in PAIRS.items():
        n = [size if one else 0.0 for size, one in zip(others, chosen, strict=True)]
        if not n_target or not all(size for size, one in zip(others, chosen, strict=True) if one):
            continue
        roc = error_path(bins.pair(*chosen))
        # The threshold where both rates cross, from below.
        at = int(np.argmax(roc.p_miss >= roc.p_fa))
        rate = 0.5 * float(roc.p_miss[at] + roc.p_fa[at])
        if 0.0 < rate < 1.0:
            of_misses = false_alarm_share(roc, rate)
            # The rate of both kinds is a mean of theirs, weighted by their numbers.
            of_others = ((1.0 - of_misses) * size / sum(n) for size in n)
            sums[name] = float(roc.threshold[at]), (of_misses, *of_others)
    return sums


FEWEST_ERRORS = 5
"""With fewer errors of a kind there is no interval."""


def spoof_intervals(
    trials: SpoofTrials, counts: SpoofCounts, settings: SpoofSettings, speakers: Speakers
) -> Uncertainty:
    """Intervals of all numbers, from one more pass over the trials of each system.

    Scores are told apart in at most some two thousand cells; what that changes in a number is taken to be the
    same without any of the speakers. Where the ASV system decides at its equal error rate, that is found
    again without each speaker. Of a-DCFs and of EERs of the system that decides, trials between two speakers
    are not counted twice.
    """
    # More than 500 speakers are left out in groups, see trust.speakers.
    groups = speakers.grouped()
    jackknife = _jackknife_of_kinds(trials, counts, settings, groups)
    shares = shares_counted_once(trials, counts, settings, speakers)
    level, seed = settings.level, settings.seed
    exact, _ = spoof_numbers(counts, settings)
    names = [name for name in jackknife.names if name in exact]
    intervals, errors, reasons = {}, {}, {}
    for name in names:
        # The jackknife of each number by itself: shares differ between them.
        one = replace(jackknife.select([name]), counted_once=shares.get(name, 1.0))
        few = _fewest_errors(name, exact[name], counts, settings)
        # A number that vanishes with one speaker rests on that speaker alone.
        if not np.isfinite(one.without).all():
            reasons[name] = "without one of the speakers a kind of trials has none left"
        elif not one.standard_error[0] > 0.0:
            reasons[name] = "it does not vary: no standard error can be given"
        elif few is not None and few < FEWEST_ERRORS:
            seen = counted(round(few), "error")
            reasons[name] = f"{seen} of a kind: fewer than {FEWEST_ERRORS} say too little about their rate"
        if name in reasons:
            continue
        scale: Scale = "cost" if name.endswith(".act") else "rate"
        # The jackknife works on cells; the exact number is kept and only its changes are taken from
        # them.
        shift = exact[name] - one.values
        scaled = replace(one, values=one.values + shift, without=one.without + shift).on_scales([scale])
        if not (np.isfinite(scaled.values).all() and np.isfinite(scaled.without).all()):
            reasons[name] = "without one of the speakers it is at an end of its range"
            continue
        low, high = scaled.interval(level, center=scaled.values, seed=seed)
        if name.endswith(".min"):  # the best threshold on these trials looks better than it is
            up = np.maximum(scaled.corrected, scaled.values)
            # A minimum is optimistic, so its upper end is centered on the jackknife's bias-corrected
            # value.
            _, high = scaled.interval(level, center=up, seed=seed)
        intervals[name] = (float(from_scale(low[0], scale)), float(from_scale(high[0], scale)))
        errors[name] = float(one.standard_error[0])
    least: dict[str, float] = {}  # as how many equal speakers those of a kind are
    for system in trials.systems:
        for kind in ("nontarget", "spoof"):
            source = trials.pair(system, ("target",), (kind,))
            of_targets, of_others = speaker_cells(source, groups, np.empty(0)).effective_speakers
            for name, effective in (("target", of_targets), (kind, of_others)):
                if effective > 0.0:
                    least[name] = min(effective, least.get(name, math.inf))
    n = jackknife.n_speakers
    return Uncertainty(
        kind="speaker",
        level=level,
        intervals=MappingProxyType(intervals),
        standard_error=MappingProxyType(errors),
        no_interval=MappingProxyType(reasons),
        n_speakers=n,
        notes=(f"{counted(n, 'speaker')} left out in turn", *few_speakers_note(least)),
    )


def _jackknife_of_kinds(
    trials: SpoofTrials, counts: SpoofCounts, settings: SpoofSettings, speakers: Speakers
) -> Jackknife:
    system, attack, asv_fixed = decision_score(trials), settings.attack, settings.asv_fixed
    act = np.array([cost.threshold for cost in settings.costs], dtype=np.float64)
    asv_cuts = np.array([] if asv_fixed is None else [asv_fixed])
    cells: dict[System, tuple[SpeakerCells, SpeakerCells]] = {}
    wanted: list[tuple[System, KindBins | None, FloatArray]] = [
        (system, counts.decision, act),
        ("asv", counts.asv, asv_cuts),
    ]
    for name, bins, own in wanted:
        if bins is not None and name != "cm":
            # One system may decide alone and in the tandem: its cells are cut at the thresholds of both.
            used = np.concatenate([act, asv_cuts]) if name == system == "asv" else own
            cuts = _cuts_of_scores(bins, settings, used)
            # targets against others of each kind, cut at the same places
            nontargets = trials.pair(name, ("target",), ("nontarget",))
            spoofs = trials.pair(name, ("target",), ("spoof",), attack=attack)
            cells[name] = speaker_cells(nontargets, speakers, cuts), speaker_cells(spoofs, speakers, cuts)
    cm_cells, cm_act = None, np.array([])
    if counts.cm is not None:
        if counts.asv_rates is not None:
            cm_act = cm_thresholds(settings, counts.asv_rates)
        source = trials.pair("cm", BONA_FIDE, ("spoof",), attack=attack)
        both = counts.cm
        # Bona fide and spoofs in the places of targets and non-targets, to share the function that cuts.
        as_kinds = KindBins(both.target, both.nontarget, np.zeros_like(both.target), both.low, both.high)
        cm_cuts = _cuts_of_scores(as_kinds, SpoofSettings((), ()), cm_act)
        cm_cells = speaker_cells(source, speakers, cm_cuts)
    if not cells and cm_cells is None:
        raise TooFewTrialsError("no number can be computed, so speakers cannot be left out")

    def kept(of: SpeakerCells, speaker: int | None) -> CellSet:
        return of.total if speaker is None else of.without(speaker)

    def kind_bins(name: System, speaker: int | None) -> KindBins | None:
        if name not in cells:
            return None
        first, second = (kept(of, speaker) for of in cells[name])
        kinds = first.counts[0], first.counts[1], second.counts[1]
        # Cells that only the speaker left out had filled would be thresholds without trials.
        filled = np.any([n > 0 for n in kinds], axis=0)
        low = np.concatenate([[-np.inf], first.cuts])[filled]
        target, nontarget, spoof = (n[filled] for n in kinds)
        return KindBins(target, nontarget, spoof, low, low)

    def rates_in(of: KindBins, thresholds: FloatArray) -> FloatArray:
        path, i = of.path, np.searchsorted(of.low, thresholds)
        return np.column_stack([path.p_miss[i], path.p_fa[i], path.p_fa_spoof[i]])

    def numbers(speaker: int | None) -> dict[str, float]:
        decision, asv = kind_bins(system, speaker), kind_bins("asv", speaker)
        cm = cm_rates = asv_rates = None
        if cm_cells is not None:
            cm = kept(cm_cells, speaker).bins()
            if counts.cm_rates is not None:
                path, i = error_path(cm), np.searchsorted(cm.low, cm_act)
                cm_rates = np.column_stack([path.p_miss[i], path.p_fa[i]])
        if asv is not None and counts.asv_rates is not None:
            if asv_fixed is None:  # misses and false alarms of non-targets are equal there
                # At the equal error rate both are the same by interpolation, whatever cells there are.
                p_miss, _, p_fa_spoof = until_crossing(asv.path)[:, -1].tolist()
                asv_rates = p_miss, p_miss, p_fa_spoof
            else:
                asv_rates = tuple(rates_in(asv, asv_cuts)[0].tolist())
        made = SpoofCounts(
            decision,
            asv,
            cm,
            None if decision is None or counts.decision_rates is None else rates_in(decision, act),
            asv_rates,
            cm_rates,
        )
        # a nearest point jumps from trial to trial, which cells do not have
        plain = replace(settings, eer="hull" if settings.eer == "hull" else "roc")
        return spoof_numbers(made, plain)[0]

    whole = numbers(None)
    # NaN where a number does not exist without a speaker.
    without = np.full((speakers.n, len(whole)), np.nan)
    for speaker in range(speakers.n):
        found = numbers(speaker)
        without[speaker] = [found.get(name, math.nan) for name in whole]
    return Jackknife(tuple(whole), np.array(list(whole.values())), without)


def _cuts_of_scores(bins: KindBins, settings: SpoofSettings, more: FloatArray) -> FloatArray:
    """Where scores are cut into cells: at all that matter if they are few, else evenly in all rates."""
    path = bins.path
    lows = bins.low
    if len(lows) > MOST_CELLS:
        # A kind without trials has NaN throughout.
        rates = [rate for rate in (path.p_miss, path.p_fa, path.p_fa_spoof) if not np.isnan(rate[0])]
        chosen = [_even_along_rates(rate[1:-1]) for rate in rates]
        best = [int(np.argmin(path_costs(path, costs))) for costs in settings.costs if len(rates) == 3]
        inner = np.unique(np.concatenate([*chosen, np.array(best, dtype=np.intp)]))
        lows = np.append(path.threshold[np.minimum(inner, len(path.threshold) - 1)], lows[0])
    cuts = np.unique(np.concatenate([lows, more]))
    return np.asarray(cuts[np.isfinite(cuts)])


def _even_along_rates(rates: FloatArray) -> IntArray:
    """Places that are even along a rate, in shares and on a probit axis, which looks into the corners."""
    rising = rates if rates[-1] >= rates[0] else 1.0 - rates
    # Half the smallest step keeps the probit finite at rates of 0 and 1.
    smallest = max(float(np.min(np.diff(np.unique(rising)), initial=1.0)) / 2.0, 1e-12)
    clipped = np.clip(rising, smallest, 1.0 - smallest)
    along = (rising, probit(clipped))
    # Three rates, each on two axes: together MOST_CELLS places.
    each = MOST_CELLS // 6
    places = [np.searchsorted(a, np.linspace(a[0], a[-1], each)) for a in along]
    return np.unique(np.concatenate(places)) + 1


def _fewest_errors(name: str, value: float, counts: SpoofCounts, settings: SpoofSettings) -> float | None:
    """The fewest errors of a kind that a number rests on, where that is plain."""
    bins = counts.decision
    if name.startswith("a_dcf.") and bins is not None:
        _, i, kind = name.split(".")
        costs, path = settings.costs[int(i)], bins.path
        if kind == "min":
            at = int(np.argmin(path_costs(path, costs)))
            rates = np.array([path.p_miss[at], path.p_fa[at], path.p_fa_spoof[at]])
        else:
            assert counts.decision_rates is not None
            rates = counts.decision_rates[int(i)]
        # errors that add nothing to speak of need not be many
        charged = np.array(costs.weights) > 0.0
        cost = np.array(costs.weights) * rates
        # A kind that contributes less than a twentieth of the cost need not have many errors.
        matter = charged & (cost > 0.05 * cost.sum()) if cost.sum() > 0 else charged
        return float((rates * np.array(bins.n))[matter].min()) if matter.any() else 0.0
    both = None
    if name in PAIRS and bins is not None:
        both = bins.pair(*PAIRS[name])
    elif name == "cm_eer":
        both = counts.cm
    # An EER has that many errors in the smaller class.
    return None if both is None else float(value * min(both.n_target, both.n_nontarget))
