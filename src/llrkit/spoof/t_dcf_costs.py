"""Costs of a tandem of ASV and CM systems: the t-DCF."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from llrkit._arguments import number, takes
from llrkit._arrays import FloatArray
from llrkit.core.counting import count_bins
from llrkit.core.elementary_functions import blocks
from llrkit.core.pav_and_hull import ErrorPath, error_path, pav_blocks
from llrkit.core.score_bins import ScoreBins
from llrkit.core.spoof_kinds import BONA_FIDE
from llrkit.errors import InputError, UnknownNameError
from llrkit.metrics.curve_base import Curve
from llrkit.metrics.llr_costs import losses_at
from llrkit.scores import ScoreSource
from llrkit.spoof.a_dcf_costs import Costs, SpoofCosts, path_costs, spoof_costs
from llrkit.spoof.kind_counts import KindBins, KindPath, at_threshold, count_kinds
from llrkit.spoof.nearest_eer import nearest_threshold
from llrkit.spoof.spoof_trials import SpoofTrials

FREE_2019 = (
    "the t-DCF of asvspoof2019 has no free ASV threshold: it does not charge the errors of the ASV system, "
    "so that one which rejects everybody would cost nothing"
)
AsvThreshold = float | Literal["eer", "free"]
Counting = Literal["product", "joint"]
Rates = tuple[float, float, float]


@dataclass(frozen=True)
class TandemTerms:
    """The t-DCF as ``c0 + c1 Pmiss_cm + c2 Pfa_cm``, over ``default``, for an ASV system at one threshold."""

    c0: float
    c1: float
    c2: float
    default: float

    @classmethod
    def of(cls, costs: SpoofCosts, rates: Rates) -> TandemTerms:
        """From the error rates of the ASV system: Pmiss, Pfa of non-targets, Pfa of spoofs."""
        miss, fa, fa_spoof = costs.weights
        asv_errors = miss * rates[0] + fa * rates[1]
        c1, c2 = miss - asv_errors, fa_spoof * rates[2]
        c0 = asv_errors if costs.form == "asvspoof5" else 0.0
        default = c0 + min(c1, c2)
        if not default > 0.0:
            raise InputError(
                f"the ASV system makes so many errors (Pmiss {rates[0]:.3g}, Pfa {rates[1]:.3g}, of spoofs "
                f"{rates[2]:.3g}) that the t-DCF of {costs.name} cannot be normalized"
            )
        return cls(c0, c1, c2, default)

    def cost(self, p_miss: FloatArray, p_fa: FloatArray) -> FloatArray:
        """The normalized cost at these error rates of the CM system."""
        return np.asarray((self.c0 + self.c1 * p_miss + self.c2 * p_fa) / self.default)

    @property
    def threshold(self) -> float:
        """Where LLRs of the CM system should be cut."""
        if self.c1 <= 0.0:
            return np.inf
        return float(np.log(self.c2) - np.log(self.c1)) if self.c2 > 0.0 else -np.inf


@dataclass(frozen=True, eq=False)
class TandemCostCurve(Curve):
    """The t-DCF at every threshold of the CM system."""

    threshold: FloatArray
    """Thresholds of the CM system."""
    cost: FloatArray
    """Normalized t-DCF at each threshold."""
    p_miss_cm: FloatArray
    """Share of bona fide trials that the CM system rejects at each threshold."""
    p_fa_cm: FloatArray
    """Share of spoofs that the CM system accepts at each threshold."""
    asv_threshold: float
    """Threshold of the ASV system."""
    name: str
    """Name of the costs."""

    @property
    def min(self) -> float:
        """The smallest cost."""
        return float(self.cost.min())


def asv_eer_threshold(trials: SpoofTrials, bins: KindBins | None = None) -> float:
    """The equal-error threshold of the ASV system as the organizers take it, see :func:`eer_nearest`."""
    bins = count_kinds(trials, "asv").bins() if bins is None else bins
    pair = trials.pair_to_count("asv", ("target",), ("nontarget",))
    return nearest_threshold(pair, bins.pair(nontarget=True, spoof=False))


def cm_source(trials: SpoofTrials, attack: str | None = None) -> ScoreSource:
    """All bona fide trials against the spoofs, or those of one attack, with CM scores."""
    return trials.pair_to_count("cm", BONA_FIDE, ("spoof",), attack=attack)


@takes(trials=SpoofTrials)
def min_t_dcf(
    trials: SpoofTrials,
    costs: Costs = "asvspoof5",
    *,
    asv_threshold: AsvThreshold = "eer",
    counting: Counting = "product",
) -> float:
    """The smallest normalized tandem detection cost over the thresholds of the CM system.

    Parameters
    ----------
    trials
        The trials.
    costs
        "asvspoof5", "asvspoof2019" (the older form, without the errors of the ASV system), or any
        :class:`SpoofCosts`.
    asv_threshold
        Where the ASV system decides: "eer", its equal-error threshold on these trials as the organizers take
        it; a number; or "free", the best one together with that of the CM system, which needs a form that
        charges the errors of the ASV system (not "asvspoof2019"). A fixed threshold is the
        ASV-constrained t-DCF, normalized by the cheaper of a CM system that accepts all and one that rejects
        all. A free one is normalized by the cheaper of accepting and rejecting all trials.
    counting
        "product" multiplies the error rates of both systems, as if they erred independently and as the
        organizers do; "joint" counts the trials that pass both.

    References
    ----------
    Kinnunen et al., "Tandem assessment of spoofing countermeasures and automatic speaker verification:
    fundamentals", IEEE/ACM TASLP 28, 2020. ASVspoof 2019 and ASVspoof 5 evaluation plans.

    Examples
    --------
    >>> trials = SpoofTrials({"asv": [3.0, 2.0, -1.0, 2.5], "cm": [1.0, 2.0, 3.0, -1.0],
    ...                       "label": ["target", "target", "nontarget", "spoof"]})
    >>> min_t_dcf(trials, asv_threshold=0.0), min_t_dcf(trials, asv_threshold=2.2)
    (0.0, 0.5)
    """
    costs = spoof_costs(costs)
    if counting not in ("product", "joint"):
        raise UnknownNameError(f"unknown counting {counting!r}; known are product, joint")
    if asv_threshold == "free":
        if counting == "joint":
            raise InputError("a free ASV threshold needs counting='product'")
        if costs.form == "asvspoof2019":
            raise InputError(FREE_2019)
        return min_free_t_dcf(count_kinds(trials, "asv").bins(), count_bins(cm_source(trials)), costs)
    threshold = _fixed_asv_threshold(trials, asv_threshold)
    if counting == "joint":
        return _min_joint_t_dcf(trials, costs, threshold)
    terms = TandemTerms.of(costs, at_threshold(trials, "asv", threshold))
    return min_from_terms(terms, error_path(count_bins(cm_source(trials))))


@takes(trials=SpoofTrials)
def t_dcf(
    trials: SpoofTrials,
    costs: Costs = "asvspoof5",
    *,
    cm_threshold: float | None = None,
    asv_threshold: float | Literal["eer"] = "eer",
) -> float:
    """Actual t-DCF: CM scores read as LLRs of bona fide against spoofed speech; see :func:`min_t_dcf`.

    The CM system accepts at or above ``log(c2 / c1)``, with ``c1`` and ``c2`` what its misses and false
    alarms cost behind this ASV system, or at or above ``cm_threshold``.

    Parameters
    ----------
    trials
        The trials.
    costs
        Priors and prices: the name of a preset, or :class:`llrkit.spoof.SpoofCosts`.
    cm_threshold
        Threshold of the countermeasure; by default the Bayes threshold.
    asv_threshold
        Threshold of the ASV system; ``"eer"`` is that of its equal error rate on these trials.

    Examples
    --------
    >>> trials = SpoofTrials({"asv": [3.0, 2.0, -1.0, 2.5], "cm": [1.0, 2.0, 3.0, -1.0],
    ...                       "label": ["target", "target", "nontarget", "spoof"]})
    >>> [round(t_dcf(trials, cm_threshold=cut, asv_threshold=0.0), 4) for cut in (0.5, 1.5)]
    [0.0, 0.627]
    """
    costs = spoof_costs(costs)
    terms = TandemTerms.of(costs, at_threshold(trials, "asv", _fixed_asv_threshold(trials, asv_threshold)))
    if cm_threshold is not None:
        number(cm_threshold, "cm_threshold")
    return act_from_terms(terms, cm_source(trials), cm_threshold)


@takes(trials=SpoofTrials)
def t_dcf_curve(
    trials: SpoofTrials, costs: Costs = "asvspoof5", *, asv_threshold: float | Literal["eer"] = "eer"
) -> TandemCostCurve:
    """The t-DCF at every threshold of the CM system that changes it.

    Parameters
    ----------
    trials
        The trials.
    costs
        Priors and prices: the name of a preset, or :class:`llrkit.spoof.SpoofCosts`.
    asv_threshold
        Threshold of the ASV system; ``"eer"`` is that of its equal error rate on these trials.

    Examples
    --------
    >>> trials = SpoofTrials({"asv": [3.0, 2.0, -1.0, 2.5], "cm": [1.0, 2.0, 3.0, -1.0],
    ...                       "label": ["target", "target", "nontarget", "spoof"]})
    >>> curve = t_dcf_curve(trials, asv_threshold=0.0)
    >>> curve.threshold, curve.min
    (array([-1.,  1., inf]), 0.0)
    """
    costs = spoof_costs(costs)
    threshold = _fixed_asv_threshold(trials, asv_threshold)
    terms = TandemTerms.of(costs, at_threshold(trials, "asv", threshold))
    path = error_path(count_bins(cm_source(trials)))
    cost = terms.cost(path.p_miss, path.p_fa)
    return TandemCostCurve(path.threshold, cost, path.p_miss, path.p_fa, threshold, costs.name)


def min_from_terms(terms: TandemTerms, cm: ErrorPath) -> float:
    """The minimum over the errors of the CM system; in blocks, which stay in the cache."""
    return min(
        float(terms.cost(cm.n_miss[here] / cm.n_target, cm.n_fa[here] / cm.n_nontarget).min())
        for here in blocks(len(cm.threshold))
    )


def act_from_terms(terms: TandemTerms, cm: ScoreSource, threshold: float | None = None) -> float:
    """The cost at the threshold of LLRs, or at a given one."""
    losses = losses_at(cm, thresholds=[terms.threshold if threshold is None else threshold])
    return float(terms.cost(losses.p_miss, losses.p_fa)[0])


def min_free_t_dcf(asv: KindBins, cm: ScoreBins, costs: SpoofCosts) -> float:
    """The minimum over the thresholds of both systems.

    For every threshold of the ASV system the best one of the CM system is a vertex of its convex hull.
    """
    path = asv.path()
    miss, fa, fa_spoof = costs.weights
    asv_errors = miss * path.p_miss + fa * path.p_fa
    c1, c2 = miss - asv_errors, fa_spoof * path.p_fa_spoof
    c0 = asv_errors
    pooled = pav_blocks(cm)
    hull = error_path(pooled)
    with np.errstate(divide="ignore", invalid="ignore"):
        cut = np.where(c1 > 0.0, np.log(c2) - np.log(np.maximum(c1, 0.0)), np.inf)
    vertex = np.searchsorted(pooled.llr, cut)
    return float((c0 + c1 * hull.p_miss[vertex] + c2 * hull.p_fa[vertex]).min() / costs.default)


def _fixed_asv_threshold(trials: SpoofTrials, asv_threshold: float | str) -> float:
    if asv_threshold == "eer":
        return asv_eer_threshold(trials)
    if isinstance(asv_threshold, str):
        raise UnknownNameError(f"asv_threshold must be 'eer', 'free' or a number, got {asv_threshold!r}")
    return number(asv_threshold, "asv_threshold")


def _min_joint_t_dcf(trials: SpoofTrials, costs: SpoofCosts, threshold: float) -> float:
    """Both systems counted together: who fails the ASV system is below every threshold of the CM system."""
    both = trials.gated("asv", threshold, "cm")
    path: KindPath = count_kinds(both, "cm").bins().path()
    terms = TandemTerms.of(costs, at_threshold(trials, "asv", threshold))
    # below the first finite score those who failed the ASV system would be accepted
    allowed = path.threshold > -np.inf
    cost = path_costs(path, costs)[allowed] * costs.default
    left_out = 0.0 if costs.form == "asvspoof5" else costs.weights[0] - terms.c1
    return float((cost.min() - left_out) / terms.default)
