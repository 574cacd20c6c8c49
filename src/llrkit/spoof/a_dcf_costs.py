"""Costs of three kinds of trials: the architecture-agnostic detection cost (a-DCF)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from llrkit._arguments import number, takes
from llrkit._arrays import FloatArray
from llrkit._format import not_among
from llrkit.core.elementary_functions import blocks
from llrkit.errors import EmptyClassError, InputError, UnknownNameError
from llrkit.spoof.kind_counts import KindBins, KindPath, at_threshold, count_kinds
from llrkit.spoof.spoof_trials import SpoofTrials, System


@dataclass(frozen=True)
class SpoofCosts:
    """Priors of the three kinds of trials, and what errors cost.

    ``form`` says how a tandem of ASV and CM is charged: "asvspoof5" with the errors of the ASV system that no
    countermeasure can avoid, "asvspoof2019" without them.

    Examples
    --------
    >>> costs = SpoofCosts("mine", p_target=0.9, p_nontarget=0.05, p_spoof=0.05, c_fa=10, c_fa_spoof=20)
    >>> round(costs.default, 3), round(costs.threshold, 3)
    (0.9, 0.511)
    """

    name: str
    """What the costs are called in tables and JSON."""
    p_target: float
    """Prior of a target."""
    p_nontarget: float
    """Prior of a bona fide non-target."""
    p_spoof: float
    """Prior of a spoof; the three priors add up to 1."""
    c_miss: float = 1.0
    """Cost of a rejected target."""
    c_fa: float = 10.0
    """Cost of an accepted non-target."""
    c_fa_spoof: float = 10.0
    """Cost of an accepted spoof."""
    form: str = "asvspoof5"
    """How a tandem of ASV and CM is charged: "asvspoof5" or "asvspoof2019"."""

    def __post_init__(self) -> None:
        priors = (self.p_target, self.p_nontarget, self.p_spoof)
        if not all(0.0 <= p <= 1.0 for p in priors) or not math.isclose(sum(priors), 1.0, abs_tol=1e-9):
            raise InputError(f"priors of target, nontarget and spoof must add up to 1, got {priors}")
        prices = (self.c_miss, self.c_fa, self.c_fa_spoof)
        if not all(0.0 <= c < math.inf for c in prices) or self.default <= 0.0:
            raise InputError(f"costs must be finite, not negative and not all zero, got {prices}")
        if self.form not in ("asvspoof5", "asvspoof2019"):
            raise UnknownNameError(f"unknown form {self.form!r}; known are asvspoof5, asvspoof2019")

    @property
    def weights(self) -> tuple[float, float, float]:
        """The costs of a miss rate of 1 and of false-alarm rates of 1 for non-targets and for spoofs."""
        return self.p_target * self.c_miss, self.p_nontarget * self.c_fa, self.p_spoof * self.c_fa_spoof

    @property
    def default(self) -> float:
        """The cost of the better blind decision: reject all, or accept all."""
        miss, fa, fa_spoof = self.weights
        return min(miss, fa + fa_spoof)

    @property
    def threshold(self) -> float:
        """The Bayes threshold of LLRs against the cost-weighted mixture of non-targets and spoofs."""
        miss, fa, fa_spoof = self.weights
        return math.log(fa + fa_spoof) - math.log(miss) if miss > 0 and fa + fa_spoof > 0 else (
            -math.inf if miss > 0 else math.inf
        )  # fmt: skip

    def cost(self, p_miss: float, p_fa: float, p_fa_spoof: float) -> float:
        """The normalized cost of these error rates; a rate that costs nothing need not be known.

        Parameters
        ----------
        p_miss
            Miss rate, between 0 and 1.
        p_fa
            False-alarm rate, between 0 and 1.
        p_fa_spoof
            Rate at which spoofs are accepted, between 0 and 1.
        """
        return float(self.costs(*(np.array([rate]) for rate in (p_miss, p_fa, p_fa_spoof)))[0])

    def costs(self, p_miss: FloatArray, p_fa: FloatArray, p_fa_spoof: FloatArray) -> FloatArray:
        """The same of arrays.

        Parameters
        ----------
        p_miss
            Miss rate, between 0 and 1.
        p_fa
            False-alarm rate, between 0 and 1.
        p_fa_spoof
            Rate at which spoofs are accepted, between 0 and 1.
        """
        total = np.zeros(len(p_miss))
        kinds = ("target", "nontarget", "spoof")
        for kind, weight, rate in zip(kinds, self.weights, (p_miss, p_fa, p_fa_spoof), strict=True):
            if weight > 0.0:
                if np.isnan(rate[0]):
                    raise EmptyClassError(f"there are no {kind} trials, which the costs {self.name!r} need")
                total += weight * rate
        return total / self.default


def _organizers_costs(name: str, form: str) -> SpoofCosts:
    return SpoofCosts(name, 0.95 * 0.99, 0.95 * 0.01, 0.05, 1.0, 10.0, 10.0, form)


PRESETS = {
    "asvspoof5": _organizers_costs("asvspoof5", "asvspoof5"),
    "asvspoof2019": _organizers_costs("asvspoof2019", "asvspoof2019"),
    "a-dcf1": SpoofCosts("a-dcf1", 0.9, 0.05, 0.05, 1.0, 10.0, 20.0),
}
"""The costs of the ASVspoof 5 and 2019 evaluation plans, and the first of the paper on the a-DCF."""
Costs = SpoofCosts | str
DECIDING: tuple[System, ...] = ("sasv", "asv", "cm")


def spoof_costs(given: Costs) -> SpoofCosts:
    """Costs by name, or as they are.

    Parameters
    ----------
    given
        The name of a preset, or costs.

    Examples
    --------
    >>> spoof_costs("a-dcf1").c_fa_spoof
    20.0
    """
    if isinstance(given, SpoofCosts):
        return given
    if given not in PRESETS:
        raise UnknownNameError(f"unknown costs {not_among(given, PRESETS)}")
    return PRESETS[given]


def decision_score(trials: SpoofTrials) -> System:
    """The system that decides alone: the SASV system if there is one, otherwise the ASV system, or the CM."""
    return next(system for system in DECIDING if system in trials.systems)


@takes(trials=SpoofTrials)
def a_dcf(trials: SpoofTrials, costs: Costs = "asvspoof5", *, threshold: float | None = None) -> float:
    """Actual architecture-agnostic detection cost of the SASV scores, read as LLRs.

    ``(c_miss p_target Pmiss + c_fa p_nontarget Pfa + c_fa_spoof p_spoof Pfa_spoof) / default`` of accepting
    scores at or above ``log((c_fa p_nontarget + c_fa_spoof p_spoof) / (c_miss p_target))``, or at or above a
    ``threshold`` fixed on other trials. A score below which to reject is meant to be the log ratio of targets
    to that mixture of the others.

    Parameters
    ----------
    trials
        The trials.
    costs
        Priors and prices: the name of a preset, or :class:`llrkit.spoof.SpoofCosts`.
    threshold
        Threshold of the SASV scores; by default the Bayes threshold.

    References
    ----------
    Shim, Jung, Kinnunen et al., "a-DCF: an architecture agnostic metric with application to
    spoofing-robust speaker verification", Odyssey 2024.

    Examples
    --------
    >>> labels = ["target", "target", "nontarget", "spoof"]
    >>> trials = SpoofTrials({"sasv": [1.0, 2.0, 0.5, 1.5], "label": labels})
    >>> round(a_dcf(trials, "a-dcf1", threshold=1.0), 4), round(min_a_dcf(trials, "a-dcf1"), 4)
    (1.1111, 0.5)
    """
    costs = spoof_costs(costs)
    where = costs.threshold if threshold is None else number(threshold, "threshold")
    return costs.cost(*at_threshold(trials, decision_score(trials), where))


@takes(trials=SpoofTrials)
def min_a_dcf(trials: SpoofTrials, costs: Costs = "asvspoof5") -> float:
    """The smallest a-DCF that any threshold gives on these trials; see :func:`a_dcf`.

    Parameters
    ----------
    trials
        The trials.
    costs
        Priors and prices: the name of a preset, or :class:`llrkit.spoof.SpoofCosts`.

    Examples
    --------
    >>> labels = ["target", "target", "nontarget", "spoof"]
    >>> min_a_dcf(SpoofTrials({"sasv": [1.0, 2.0, 0.5, 0.7], "label": labels}))
    0.0
    """
    return min_a_dcf_from_bins(count_kinds(trials, decision_score(trials)).bins(), spoof_costs(costs))


def min_a_dcf_from_bins(bins: KindBins, costs: SpoofCosts) -> float:
    """Minimum a-DCF of counted bins."""
    path = bins.path()
    # in blocks, which stay in the cache
    return min(
        float(costs.costs(path.p_miss[here], path.p_fa[here], path.p_fa_spoof[here]).min())
        for here in blocks(len(path.p_miss))
    )


def path_costs(path: KindPath, costs: SpoofCosts) -> FloatArray:
    """The a-DCF at every threshold of a path."""
    return costs.costs(path.p_miss, path.p_fa, path.p_fa_spoof)
