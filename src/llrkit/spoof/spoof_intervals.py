"""Intervals of all numbers of spoofing trials that share speakers: a jackknife over the speakers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from llrkit._arrays import FloatArray, IntArray
from llrkit._format import counted
from llrkit.core.elementary_functions import probit
from llrkit.core.score_bins import ScoreBins
from llrkit.core.spoof_kinds import BONA_FIDE
from llrkit.errors import TooFewTrialsError
from llrkit.scores.spoof_kind_words import Kind
from llrkit.spoof.a_dcf_costs import decision_score, path_costs
from llrkit.spoof.kind_counts import KindBins
from llrkit.spoof.speaker_pair_shares import shares_counted_once
from llrkit.spoof.spoof_numbers import (
    SpoofCounts,
    SpoofSettings,
    cm_rates_in,
    cm_thresholds,
    crossing_rates,
    rates_in,
    spoof_numbers,
)
from llrkit.spoof.spoof_trials import SpoofTrials, System
from llrkit.trust.intervals.evaluation_numbers import MOST_CELLS
from llrkit.trust.intervals.few_speakers_or_errors import few_speakers_note
from llrkit.trust.intervals.jackknife import Jackknife, Scale, from_scale
from llrkit.trust.intervals.speaker_cells import SpeakerCells, speaker_cells
from llrkit.trust.intervals.speakers import Speakers
from llrkit.trust.intervals.uncertainty_result import Uncertainty

FEWEST_ERRORS = 5
"""With fewer errors of a kind there is no interval."""


@dataclass(frozen=True, eq=False)
class _KindCells:
    """Counts of three kinds by speaker and cell of one system's score."""

    nontarget: SpeakerCells
    """Targets and non-targets."""
    spoof: SpeakerCells
    """Targets and spoofs."""

    def bins(self, speaker: int | None) -> KindBins:
        """All trials, or all but those of one speaker."""
        first, second = (
            c.total if speaker is None else c.without(speaker) for c in (self.nontarget, self.spoof)
        )
        target, nontarget, spoof = first.counts[0], first.counts[1], second.counts[1]
        filled = (target > 0) | (nontarget > 0) | (spoof > 0)
        low = np.concatenate([[-np.inf], first.cuts])[filled]
        return KindBins(target[filled], nontarget[filled], spoof[filled], low, low)


def spoof_intervals(
    trials: SpoofTrials,
    counts: SpoofCounts,
    settings: SpoofSettings,
    speakers: Speakers,
    level: float,
    seed: int = 0,
    *,
    attack: str | None = None,
    asv_fixed: float | None = None,
) -> Uncertainty:
    """Intervals of all numbers, from one more pass over the trials of each system.

    Scores are told apart in at most some two thousand cells; what that changes in a number is taken to be the
    same without any of the speakers. Where the ASV system decides at its equal error rate, that is found
    again without each speaker. Of a-DCFs and of EERs of the system that decides, trials between two speakers
    are not counted twice.
    """
    jackknife = _jackknife_of_kinds(trials, counts, settings, speakers.grouped(), attack, asv_fixed)
    shares = shares_counted_once(trials, decision_score(trials), counts, settings, speakers, attack)
    exact, _ = spoof_numbers(counts, settings)
    names = [name for name in jackknife.names if name in exact]
    intervals, errors, reasons = {}, {}, {}
    for name in names:
        one = replace(jackknife.select([name]), counted_once=shares.get(name, 1.0))
        reason = _reason_for_no_spoof_interval(name, one, counts, settings)
        if reason:
            reasons[name] = reason
            continue
        scale = _scale_of_number(name)
        shift = exact[name] - one.values
        scaled = replace(one, values=one.values + shift, without=one.without + shift).on_scales([scale])
        if not (np.isfinite(scaled.values).all() and np.isfinite(scaled.without).all()):
            reasons[name] = "without one of the speakers it is at an end of its range"
            continue
        low, high = scaled.interval(level, center=scaled.values, seed=seed)
        if name.endswith(".min"):  # the best threshold on these trials looks better than it is
            up = np.maximum(scaled.corrected, scaled.values)
            _, high = scaled.interval(level, center=up, seed=seed)
        intervals[name] = (float(from_scale(low[0], scale)), float(from_scale(high[0], scale)))
        errors[name] = float(one.standard_error[0])
    n = jackknife.n_speakers
    return Uncertainty(
        kind="speaker",
        level=level,
        intervals=MappingProxyType(intervals),
        standard_error=MappingProxyType(errors),
        no_interval=MappingProxyType(reasons),
        n_speakers=n,
        notes=(f"{counted(n, 'speaker')} left out in turn", *_few_speakers_of_kind(trials, speakers)),
    )


def _few_speakers_of_kind(trials: SpoofTrials, speakers: Speakers) -> list[str]:
    """Says so where the trials of a kind are of few speakers, or mostly of few."""
    groups = speakers.grouped()
    least: dict[str, float] = {}
    for system in trials.systems:
        for kind in ("nontarget", "spoof"):
            source = trials.pair(system, ("target",), (kind,))
            of_targets, of_others = speaker_cells(source, groups, np.empty(0)).effective_speakers
            for name, effective in (("target", of_targets), (kind, of_others)):
                if effective > 0.0:
                    least[name] = min(effective, least.get(name, math.inf))
    return few_speakers_note(least)


def _jackknife_of_kinds(
    trials: SpoofTrials,
    counts: SpoofCounts,
    settings: SpoofSettings,
    speakers: Speakers,
    attack: str | None,
    asv_fixed: float | None,
) -> Jackknife:
    system = decision_score(trials)
    act = np.array([cost.threshold for cost in settings.costs], dtype=np.float64)
    asv_cuts = np.array([] if asv_fixed is None else [asv_fixed])
    cells: dict[System, _KindCells] = {}
    wanted: list[tuple[System, KindBins | None, FloatArray]] = [
        (system, counts.decision, act),
        ("asv", counts.asv, asv_cuts),
    ]
    for name, bins, cuts in wanted:
        if bins is not None and name != "cm":
            used = np.concatenate([act, asv_cuts]) if name == system == "asv" else cuts
            cells[name] = _kind_cells(trials, name, speakers, _cuts_of_scores(bins, settings, used), attack)
    cm_cells, cm_act = None, np.array([])
    if counts.cm is not None:
        if counts.asv_rates is not None:
            cm_act = cm_thresholds(settings, counts.asv_rates)
        source = trials.pair("cm", BONA_FIDE, ("spoof",), attack=attack)
        cm_cells = speaker_cells(source, speakers, _cm_cuts(counts.cm, cm_act))
    if not cells and cm_cells is None:
        raise TooFewTrialsError("no number can be computed, so speakers cannot be left out")

    def numbers(speaker: int | None) -> dict[str, float]:
        decision = cells[system].bins(speaker) if system in cells else None
        asv = cells["asv"].bins(speaker) if "asv" in cells else None
        cm: ScoreBins | None = None
        if cm_cells is not None:
            cm = (cm_cells.total if speaker is None else cm_cells.without(speaker)).bins()
        asv_rates = None
        if asv is not None and counts.asv_rates is not None:
            asv_rates = (
                crossing_rates(asv) if asv_fixed is None else tuple(rates_in(asv, asv_cuts)[0].tolist())
            )
        made = SpoofCounts(
            decision,
            asv,
            cm,
            None if decision is None or counts.decision_rates is None else rates_in(decision, act),
            asv_rates,
            None if cm is None or counts.cm_rates is None else cm_rates_in(cm, cm_act),
        )
        # a nearest point jumps from trial to trial, which cells do not have
        plain = replace(settings, eer="hull" if settings.eer == "hull" else "roc")
        return spoof_numbers(made, plain)[0]

    whole = numbers(None)
    without = np.full((speakers.n, len(whole)), np.nan)
    for speaker in range(speakers.n):
        kept = numbers(speaker)
        without[speaker] = [kept.get(name, math.nan) for name in whole]
    return Jackknife(tuple(whole), np.array(list(whole.values())), without)


def _kind_cells(
    trials: SpoofTrials, system: System, speakers: Speakers, cuts: FloatArray, attack: str | None
) -> _KindCells:
    target: tuple[Kind, ...] = ("target",)
    return _KindCells(
        speaker_cells(trials.pair(system, target, ("nontarget",)), speakers, cuts),
        speaker_cells(trials.pair(system, target, ("spoof",), attack=attack), speakers, cuts),
    )


def _cuts_of_scores(bins: KindBins, settings: SpoofSettings, more: FloatArray) -> FloatArray:
    """Where scores are cut into cells: at all that matter if they are few, else evenly in all rates."""
    path = bins.path()
    lows = bins.low
    if len(lows) > MOST_CELLS:
        rates = [rate for rate in (path.p_miss, path.p_fa, path.p_fa_spoof) if not np.isnan(rate[0])]
        chosen = [_even_along_rates(rate[1:-1]) for rate in rates]
        best = [int(np.argmin(path_costs(path, costs))) for costs in settings.costs if len(rates) == 3]
        inner = np.unique(np.concatenate([*chosen, np.array(best, dtype=np.intp)]))
        lows = np.append(path.threshold[np.minimum(inner, len(path.threshold) - 1)], lows[0])
    cuts = np.unique(np.concatenate([lows, more]))
    return np.asarray(cuts[np.isfinite(cuts)])


def _cm_cuts(bins: ScoreBins, more: FloatArray) -> FloatArray:
    as_kinds = KindBins(bins.target, bins.nontarget, np.zeros_like(bins.target), bins.low, bins.high)
    return _cuts_of_scores(as_kinds, SpoofSettings((), ()), more)


def _even_along_rates(rates: FloatArray) -> IntArray:
    """Places that are even along a rate, in shares and on a probit axis, which looks into the corners."""
    rising = rates if rates[-1] >= rates[0] else 1.0 - rates
    smallest = max(float(np.min(np.diff(np.unique(rising)), initial=1.0)) / 2.0, 1e-12)
    clipped = np.clip(rising, smallest, 1.0 - smallest)
    along = (rising, probit(clipped))
    each = MOST_CELLS // 6
    places = [np.searchsorted(a, np.linspace(a[0], a[-1], each)) for a in along]
    return np.unique(np.concatenate(places)) + 1


def _scale_of_number(name: str) -> Scale:
    return "cost" if name.endswith(".act") else "rate"


def _reason_for_no_spoof_interval(
    name: str, one: Jackknife, counts: SpoofCounts, settings: SpoofSettings
) -> str:
    """Why a number has no interval, if it has none."""
    if not np.isfinite(one.without).all():
        return "without one of the speakers a kind of trials has none left"
    if not one.standard_error[0] > 0.0:
        return "it does not vary: no standard error can be given"
    errors = _fewest_errors(name, counts, settings)
    if errors is not None and errors < FEWEST_ERRORS:
        few = counted(round(errors), "error")
        return f"{few} of a kind: fewer than {FEWEST_ERRORS} say too little about their rate"
    return ""


def _fewest_errors(name: str, counts: SpoofCounts, settings: SpoofSettings) -> float | None:
    """The fewest errors of a kind that a number rests on, where that is plain."""
    bins = counts.decision
    if name.startswith("a_dcf.") and bins is not None:
        i, kind = name.split(".")[1:]
        path = bins.path()
        if kind == "min":
            at = int(np.argmin(path_costs(path, settings.costs[int(i)])))
            rates = np.array([path.p_miss[at], path.p_fa[at], path.p_fa_spoof[at]])
        else:
            assert counts.decision_rates is not None
            rates = counts.decision_rates[int(i)]
        own = np.asarray(rates) * np.array(bins.n)
        charged = np.array(settings.costs[int(i)].weights) > 0.0
        # errors that add nothing to speak of need not be many
        cost = np.array(settings.costs[int(i)].weights) * np.asarray(rates)
        matter = charged & (cost > 0.05 * cost.sum()) if cost.sum() > 0 else charged
        return float(own[matter].min()) if matter.any() else 0.0
    if name in ("sv_eer", "spf_eer", "sasv_eer") and bins is not None:
        pair = {"sv_eer": (True, False), "spf_eer": (False, True), "sasv_eer": (True, True)}[name]
        both = bins.pair(*pair)
        rate = spoof_numbers(replace(counts, asv=None, cm=None), settings)[0][name]
        return float(rate * min(both.n_target, both.n_nontarget))
    if name == "cm_eer" and counts.cm is not None:
        rate = spoof_numbers(replace(counts, decision=None, asv=None), settings)[0][name]
        return float(rate * min(counts.cm.n_target, counts.cm.n_nontarget))
    return None
