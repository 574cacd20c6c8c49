"""All numbers of spoofing trials as functions of counts: of all, of one attack, or without a speaker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from llrkit._arrays import FloatArray
from llrkit._format import not_among
from llrkit.core.pav_and_hull import ErrorPath, crossing, error_path, pav_blocks
from llrkit.core.ranking import RankedBins
from llrkit.core.score_bins import ScoreBins
from llrkit.errors import EmptyClassError, InputError, UnknownNameError
from llrkit.metrics.discrimination import eer_from_blocks, eer_roc_from_ranking
from llrkit.spoof.a_dcf_costs import SpoofCosts, min_a_dcf_from_bins
from llrkit.spoof.kind_counts import KindBins
from llrkit.spoof.nearest_eer import nearest_point
from llrkit.spoof.t_dcf_costs import TandemTerms, min_from_terms
from llrkit.spoof.tandem_eer import t_eer_from_bins

EERS: Mapping[str, Callable[[ScoreBins], float]] = MappingProxyType(
    {
        "roc": lambda bins: eer_roc_from_ranking(RankedBins(bins)),
        "hull": lambda bins: eer_from_blocks(pav_blocks(bins)),
        "nearest": lambda bins: nearest_point(bins).eer,
    }
)
"""Conventions of equal error rates: on the interpolated ROC, on its convex hull, at the nearest point."""


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
    """Which numbers are asked for, and by which convention."""

    costs: tuple[SpoofCosts, ...]
    tandem: tuple[SpoofCosts, ...]
    eer: str = "roc"

    def __post_init__(self) -> None:
        if self.eer not in EERS:
            raise UnknownNameError(f"unknown convention of the EER {not_among(self.eer, EERS)}")


def spoof_numbers(counts: SpoofCounts, settings: SpoofSettings) -> tuple[dict[str, float], dict[str, str]]:
    """The numbers by name, and the reasons why others do not exist."""
    numbers: dict[str, float] = {}
    reasons: dict[str, str] = {}

    def put(name: str, make: Callable[[], float]) -> None:
        try:
            numbers[name] = make()
        except (EmptyClassError, InputError) as error:
            reasons[name] = str(error)

    eer = EERS[settings.eer]
    decision, asv, cm = counts.decision, counts.asv, counts.cm
    if decision is not None:
        put("sv_eer", lambda: _pair_eer(decision, settings.eer, True, False))
        put("spf_eer", lambda: _pair_eer(decision, settings.eer, False, True))
        put("sasv_eer", lambda: _pair_eer(_with_all_kinds(decision), settings.eer, True, True))
        for i, costs in enumerate(settings.costs):
            put(f"a_dcf.{i}.min", lambda costs=costs: min_a_dcf_from_bins(decision, costs))  # type: ignore[misc]
            if counts.decision_rates is not None:
                rates = counts.decision_rates[i].tolist()
                put(f"a_dcf.{i}.act", lambda costs=costs, rates=rates: costs.cost(*rates))  # type: ignore[misc]
    if cm is not None:
        put("cm_eer", lambda: eer(cm))
    if cm is not None and asv is not None:
        path = error_path(cm)
        put("t_eer", lambda: t_eer_from_bins(asv, path).t_eer)
        for i, costs in enumerate(settings.tandem):
            _put_tandem_numbers(put, i, costs, counts, path)
    return numbers, reasons


def _put_tandem_numbers(
    put: Callable[[str, Callable[[], float]], None],
    i: int,
    costs: SpoofCosts,
    counts: SpoofCounts,
    cm: ErrorPath,
) -> None:
    rates, cm_rates = counts.asv_rates, counts.cm_rates

    def terms() -> TandemTerms:
        if rates is None or np.isnan(rates).any():
            raise EmptyClassError("the t-DCF needs targets, non-targets and spoofs with ASV scores")
        return TandemTerms.of(costs, rates)

    put(f"t_dcf.{i}.min", lambda: min_from_terms(terms(), cm))
    if cm_rates is not None:
        put(f"t_dcf.{i}.act", lambda: float(terms().cost(cm_rates[i, :1], cm_rates[i, 1:])[0]))


def _pair_eer(bins: KindBins, convention: str, nontarget: bool, spoof: bool) -> float:
    """The EER of targets against others of one kind, or of both."""
    if convention == "roc":
        return bins.eer_roc(nontarget, spoof)
    return EERS[convention](bins.pair(nontarget, spoof))


def _with_all_kinds(bins: KindBins) -> KindBins:
    for kind, n in zip(("target", "nontarget", "spoof"), bins.n, strict=True):
        if not n:
            raise EmptyClassError(f"there are no {kind} trials")
    return bins


def crossing_rates(bins: KindBins) -> tuple[float, float, float]:
    """Pmiss and both Pfa where misses and false alarms of non-targets are equal, in straight lines."""
    path = bins.path()
    gap = path.p_miss - path.p_fa
    i = int(np.argmax(gap >= 0.0))
    rate = crossing(path.p_miss, path.p_fa)
    if i == 0 or gap[i] == 0.0:
        return rate, rate, float(path.p_fa_spoof[i])
    share = -gap[i - 1] / (gap[i] - gap[i - 1])
    spoof = path.p_fa_spoof[i - 1] + share * (path.p_fa_spoof[i] - path.p_fa_spoof[i - 1])
    return rate, rate, float(spoof)


def rates_in(bins: KindBins, thresholds: FloatArray) -> FloatArray:
    """Pmiss and both Pfa at thresholds that are ends of bins."""
    path = bins.path()
    i = np.searchsorted(bins.low, thresholds)
    return np.column_stack([path.p_miss[i], path.p_fa[i], path.p_fa_spoof[i]])


def cm_rates_in(bins: ScoreBins, thresholds: FloatArray) -> FloatArray:
    """Pmiss and Pfa at thresholds that are ends of bins."""
    path = error_path(bins)
    i = np.searchsorted(bins.low, thresholds)
    return np.column_stack([path.p_miss[i], path.p_fa[i]])


def cm_thresholds(settings: SpoofSettings, rates: tuple[float, float, float]) -> FloatArray:
    """Where LLRs of the CM system should be cut, for each of the tandem costs; inf where nowhere."""
    cuts = []
    for costs in settings.tandem:
        try:
            cuts.append(TandemTerms.of(costs, rates).threshold)
        except InputError:
            cuts.append(np.inf)
    return np.array(cuts, dtype=np.float64)
