"""The costs a-DCF and t-DCF, and the tandem EER."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from llrkit.base.arguments import FloatArray, IntArray, of_kind, one_of, real_number, share
from llrkit.core.counting import count_bins
from llrkit.core.groups import BONA_FIDE
from llrkit.core.pav import ErrorPath, ScoreBins, error_path, pav_blocks
from llrkit.errors import EmptyClassError, InputError, UnknownNameError
from llrkit.metrics.costs import losses_at
from llrkit.metrics.discrimination import Curve
from llrkit.scores import ScoreSource
from llrkit.spoof import counts
from llrkit.spoof.trials import SpoofTrials, System


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
        # abs_tol: priors such as 0.95 * 0.99 do not add up to 1 to the last bit.
        if not all(0.0 <= p <= 1.0 for p in priors) or not math.isclose(sum(priors), 1.0, abs_tol=1e-9):
            raise InputError(f"priors of target, nontarget and spoof must add up to 1, got {priors}")
        prices = (self.c_miss, self.c_fa, self.c_fa_spoof)
        if not all(0.0 <= c < math.inf for c in prices) or self.default <= 0.0:
            raise InputError(f"costs must be finite, not negative and not all zero, got {prices}")
        one_of(self.form, ("asvspoof5", "asvspoof2019"), "form")

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
        if miss > 0 and fa + fa_spoof > 0:
            # A difference of logarithms, which neither overflows nor loses digits for extreme costs.
            return math.log(fa + fa_spoof) - math.log(miss)
        return -math.inf if miss > 0 else math.inf

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
            # A kind whose errors cost nothing may be missing from the trials.
            if weight > 0.0:
                if np.isnan(rate[0]):
                    raise EmptyClassError(f"there are no {kind} trials, which the costs {self.name!r} need")
                total += weight * rate
        return total / self.default


PRESETS = {
    # 0.95 bona fide, of which 0.99 are targets, and 0.05 spoofs, as the evaluation plans define them.
    "asvspoof5": SpoofCosts("asvspoof5", 0.95 * 0.99, 0.95 * 0.01, 0.05),
    "asvspoof2019": SpoofCosts("asvspoof2019", 0.95 * 0.99, 0.95 * 0.01, 0.05, form="asvspoof2019"),
    "a-dcf1": SpoofCosts("a-dcf1", 0.9, 0.05, 0.05, c_fa_spoof=20.0),
}
"""The costs of the ASVspoof 5 and 2019 evaluation plans, and the first of the paper on the a-DCF."""
Costs = SpoofCosts | str
DECIDING: tuple[System, ...] = ("sasv", "asv", "cm")


def spoof_costs(given: Costs) -> SpoofCosts:
    """Costs by name, from their numbers as text, or as they are.

    Parameters
    ----------
    given
        The name of a preset, ``P_TARGET,P_NONTARGET,P_SPOOF[,C_MISS,C_FA,C_FA_SPOOF]``, or costs.

    Examples
    --------
    >>> spoof_costs("a-dcf1").c_fa_spoof, spoof_costs("0.9,5%,5%,1,10,20").c_fa_spoof
    (20.0, 20.0)
    """
    if isinstance(given, SpoofCosts):
        return given
    if given[:1].isdigit() or given[:1] == ".":
        try:
            numbers = [
                float(one[:-1]) / 100.0 if one.endswith("%") else float(one) for one in given.split(",")
            ]
        except ValueError:
            numbers = []
        if len(numbers) not in (3, 6):
            raise InputError(f"costs {given}: expected a name, or PTAR,PNON,PSPF[,CMISS,CFA,CFASPF]")
        return SpoofCosts(given, *numbers)  # type: ignore[arg-type]
    one_of(given, PRESETS, "costs")
    return PRESETS[given]


def decision_score(trials: SpoofTrials) -> System:
    """The system that decides alone: the SASV system if there is one, otherwise the ASV system, or the CM."""
    return next(system for system in DECIDING if system in trials.systems)


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
    of_kind(trials, SpoofTrials, "trials")
    costs = spoof_costs(costs)
    where = costs.threshold if threshold is None else real_number(threshold, "threshold")
    return costs.cost(*counts.at_threshold(trials, decision_score(trials), where))


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
    of_kind(trials, SpoofTrials, "trials")
    return min_a_dcf_from_bins(counts.count_kinds(trials, decision_score(trials)).bins(), spoof_costs(costs))


def min_a_dcf_from_bins(bins: counts.KindBins, costs: SpoofCosts) -> float:
    """Minimum a-DCF of counted bins."""
    return float(path_costs(bins.path, costs).min())


def path_costs(path: counts.KindPath, costs: SpoofCosts) -> FloatArray:
    """The a-DCF at every threshold of a path."""
    return costs.costs(path.p_miss, path.p_fa, path.p_fa_spoof)


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
        # What the ASV system gets wrong among bona fide trials; a CM that rejects a trial spares that
        # error.
        asv_errors = miss * rates[0] + fa * rates[1]
        c1, c2 = miss - asv_errors, fa_spoof * rates[2]
        # The form of 2019 leaves out this constant, ASVspoof 5 includes it.
        c0 = asv_errors if costs.form == "asvspoof5" else 0.0
        # The cheaper of a CM system that accepts everything and one that rejects everything.
        default = c0 + min(c1, c2)
        # An ASV system that is wrong so often leaves nothing for a countermeasure to do.
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
        # log(c2 / c1): the Bayes threshold for LLRs of bona fide against spoofed speech.
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


def asv_eer_threshold(trials: SpoofTrials, bins: counts.KindBins | None = None) -> float:
    """The equal-error threshold of the ASV system as the organizers take it, see :func:`eer_nearest`."""
    bins = counts.count_kinds(trials, "asv").bins() if bins is None else bins
    pair = trials.pair_to_count("asv", ("target",), ("nontarget",))
    # By the organizers' convention, since published t-DCFs depend on this very threshold.
    return counts.nearest_threshold(pair, bins.pair(nontarget=True, spoof=False))


def cm_source(trials: SpoofTrials, attack: str | None = None) -> ScoreSource:
    """All bona fide trials against the spoofs, or those of one attack, with CM scores."""
    return trials.pair_to_count("cm", BONA_FIDE, ("spoof",), attack=attack)


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
    of_kind(trials, SpoofTrials, "trials")
    costs = spoof_costs(costs)
    one_of(counting, ("product", "joint"), "counting")
    if asv_threshold == "free":
        if counting == "joint":
            raise InputError("a free ASV threshold needs counting='product'")
        if costs.form == "asvspoof2019":
            # Its terms leave out the ASV errors, so rejecting everybody would cost nothing
            # (docs/notes/decisions-models.md).
            raise InputError(FREE_2019)
        return min_free_t_dcf(counts.count_kinds(trials, "asv").bins(), count_bins(cm_source(trials)), costs)
    threshold = _fixed_asv_threshold(trials, asv_threshold)
    if counting == "joint":
        return _min_joint_t_dcf(trials, costs, threshold)
    terms = TandemTerms.of(costs, counts.at_threshold(trials, "asv", threshold))
    return min_from_terms(terms, error_path(count_bins(cm_source(trials))))


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
    of_kind(trials, SpoofTrials, "trials")
    costs = spoof_costs(costs)
    terms = TandemTerms.of(
        costs, counts.at_threshold(trials, "asv", _fixed_asv_threshold(trials, asv_threshold))
    )
    where = terms.threshold if cm_threshold is None else real_number(cm_threshold, "cm_threshold")
    losses = losses_at(cm_source(trials), thresholds=[where])
    return float(terms.cost(losses.p_miss, losses.p_fa)[0])


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
    of_kind(trials, SpoofTrials, "trials")
    costs = spoof_costs(costs)
    threshold = _fixed_asv_threshold(trials, asv_threshold)
    terms = TandemTerms.of(costs, counts.at_threshold(trials, "asv", threshold))
    path = error_path(count_bins(cm_source(trials)))
    cost = terms.cost(path.p_miss, path.p_fa)
    return TandemCostCurve(path.threshold, cost, path.p_miss, path.p_fa, threshold, costs.name)


def min_from_terms(terms: TandemTerms, cm: ErrorPath) -> float:
    """The minimum over the errors of the CM system; in blocks, which stay in the cache."""
    return float(terms.cost(cm.p_miss, cm.p_fa).min())


def min_free_t_dcf(asv: counts.KindBins, cm: ScoreBins, costs: SpoofCosts) -> float:
    """The minimum over the thresholds of both systems.

    For every threshold of the ASV system the best one of the CM system is a vertex of its convex hull.
    """
    path = asv.path
    miss, fa, fa_spoof = costs.weights
    # Terms of every ASV threshold at once.
    c0 = miss * path.p_miss + fa * path.p_fa
    c1, c2 = miss - c0, fa_spoof * path.p_fa_spoof
    # PAV gives the hull of the CM system's ROC, and with it the LLR at which each vertex becomes the
    # best.
    pooled = pav_blocks(cm)
    hull = error_path(pooled)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Where c1 is not positive, a miss of the CM costs nothing, and rejecting everything is best.
        cut = np.where(c1 > 0.0, np.log(c2) - np.log(np.maximum(c1, 0.0)), np.inf)
    vertex = np.searchsorted(pooled.llr, cut)
    return float((c0 + c1 * hull.p_miss[vertex] + c2 * hull.p_fa[vertex]).min() / costs.default)


def _fixed_asv_threshold(trials: SpoofTrials, asv_threshold: float | str) -> float:
    if asv_threshold == "eer":
        return asv_eer_threshold(trials)
    if isinstance(asv_threshold, str):
        raise UnknownNameError(f"asv_threshold must be 'eer', 'free' or a number, got {asv_threshold!r}")
    return real_number(asv_threshold, "asv_threshold")


def _min_joint_t_dcf(trials: SpoofTrials, costs: SpoofCosts, threshold: float) -> float:
    """Both systems counted together: who fails the ASV system is below every threshold of the CM system."""
    both = trials.gated("asv", threshold, "cm")
    path: counts.KindPath = counts.count_kinds(both, "cm").bins().path
    terms = TandemTerms.of(costs, counts.at_threshold(trials, "asv", threshold))
    # below the first finite score those who failed the ASV system would be accepted
    allowed = path.threshold > -np.inf
    cost = path_costs(path, costs)[allowed] * costs.default
    # Counted costs include the ASV errors, which the form of 2019 does not charge.
    left_out = 0.0 if costs.form == "asvspoof5" else costs.weights[0] - terms.c1
    return float((cost.min() - left_out) / terms.default)


# Bits of a double: further halvings change nothing.
_HALVINGS = 60


@dataclass(frozen=True)
class TandemPoint:
    """Where the error rates of a tandem are equal, whatever the prevalence of spoofs."""

    t_eer: float
    p_miss_asv: float
    p_fa_asv: float
    p_fa_spoof_asv: float
    p_miss_cm: float
    p_fa_cm: float


@dataclass(frozen=True, eq=False)
class TandemEerPath(Curve):
    """For one prevalence of spoofs: at every threshold of the ASV system the tandem's equal error rate."""

    prevalence: float
    """Share of spoofs among the trials that should be rejected."""
    asv_threshold: FloatArray
    """Thresholds of the ASV system."""
    cm_threshold: FloatArray
    """For each of them, the CM threshold at which targets are rejected as often as others are accepted."""
    t_eer: FloatArray
    """The equal error rate there."""

    @property
    def min(self) -> float:
        """The smallest equal error rate on the path."""
        return float(np.nanmin(self.t_eer)) if len(self.t_eer) else float("nan")


def t_eer(trials: SpoofTrials) -> float:
    """Concurrent tandem equal error rate, a share: the same whatever the prevalence of spoofs.

    The thresholds of both systems are where three rates are equal: that of rejected targets,
    ``Pmiss_cm + (1 - Pmiss_cm) Pmiss_asv``, of accepted non-targets, ``(1 - Pmiss_cm) Pfa_asv``, and of
    accepted spoofs, ``Pfa_cm Pfa_spoof``. Error rates go in straight lines between thresholds at the
    scores of targets (ASV) and at all scores (CM), ties pooled. :func:`t_eer_nearest` takes
    observed thresholds as the organizers do.

    Parameters
    ----------
    trials
        The trials.

    References
    ----------
    Kinnunen, Lee, Tak, Evans & Nautsch, "t-EER: parameter-free tandem evaluation of countermeasures and
    biometric comparators", IEEE TPAMI 46, 2024.

    Examples
    --------
    >>> trials = SpoofTrials({"asv": [3.0, 2.0, -1.0, 2.5], "cm": [1.0, 2.0, 3.0, -1.0],
    ...                       "label": ["target", "target", "nontarget", "spoof"]})
    >>> t_eer(trials)
    0.0
    """
    of_kind(trials, SpoofTrials, "trials")
    cm = error_path(count_bins(cm_source(trials)))
    return t_eer_from_bins(counts.count_kinds(trials, "asv").bins(), cm).t_eer


def t_eer_from_bins(asv: counts.KindBins, cm: ErrorPath) -> TandemPoint:
    """The concurrent t-EER of counted ASV scores and the errors of the CM system."""
    if not all(asv.n):
        raise InputError("the t-EER needs targets, non-targets and spoofs with ASV scores")
    # the ROC of the CM system has one false-alarm rate for each miss rate, the lowest where it is steep
    last = np.append(cm.n_miss[1:] != cm.n_miss[:-1], True)
    roc = cm.p_miss[last], cm.p_fa[last]

    def cm_rates(rates: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Both rates of the CM system where rejected targets are as frequent as accepted non-targets."""
        ahead = np.maximum(rates[1] - rates[0], 0.0)
        # Solves p + (1 - p) Pmiss = (1 - p) Pfa for the miss rate p of the CM system.
        p_miss = np.asarray(ahead / (1.0 + ahead))
        return p_miss, np.asarray(np.interp(p_miss, *roc))

    def gap(rates: FloatArray) -> FloatArray:
        """Accepted non-targets less accepted spoofs there."""
        p_miss, p_fa = cm_rates(rates)
        return np.asarray((1.0 - p_miss) * rates[1] - p_fa * rates[2])

    def point(rates: FloatArray) -> TandemPoint:
        p_miss_cm, p_fa_cm = (float(rate) for rate in cm_rates(rates))
        p_miss, p_fa, p_fa_spoof = rates.tolist()
        missed = p_miss_cm + (1.0 - p_miss_cm) * p_miss
        return TandemPoint(missed, p_miss, p_fa, p_fa_spoof, p_miss_cm, p_fa_cm)

    def root(start: FloatArray, stop: FloatArray) -> FloatArray:
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            # Bisection: the gap is piecewise smooth, and its sign is all that is needed.
            if gap(start + middle * (stop - start)) > 0.0:
                low = middle
            else:
                high = middle
        return np.asarray(start + high * (stop - start))

    # from the equal error rate of the ASV system on, it alone rejects targets too often
    rates = until_crossing(asv.path)
    gaps = gap(rates)
    # from "all pass the ASV system" on; where the CM system alone does worse, its rates are equal first
    changes = np.flatnonzero((gaps[:-1] > 0.0) & (gaps[1:] <= 0.0))
    if gaps[0] <= 0.0:
        return point(rates[:, 0])
    if len(changes) == 0:  # spoofs are no danger: targets and non-targets alone decide
        return point(rates[:, -1])
    return min((point(root(rates[:, i], rates[:, i + 1])) for i in changes), key=lambda one: one.t_eer)


def until_crossing(path: counts.KindPath) -> FloatArray:
    """Pmiss and both Pfa (rows) up to where misses and false alarms of non-targets are equal."""
    rates = np.stack([path.p_miss, path.p_fa, path.p_fa_spoof])
    # argmax gives the first True: misses only rise along the path.
    end = int(np.argmax(path.p_miss >= path.p_fa))
    if end == 0:
        return rates[:, :1]
    start, stop = rates[:, end - 1], rates[:, end]
    before, after = start[1] - start[0], stop[0] - stop[1]
    # The crossing itself is between two thresholds, on a straight line.
    return np.column_stack([rates[:, :end], start + before / (before + after) * (stop - start)])


def t_eer_paths(trials: SpoofTrials, prevalences: Sequence[float] = (0.0, 0.5, 1.0)) -> list[TandemEerPath]:
    """For each prevalence of spoofs, the tandem's equal error rate at every threshold of the ASV system.

    At a threshold of the ASV system, that of the CM system is chosen so that rejected targets are as frequent
    as accepted others, of which ``prevalence`` are spoofs. Paths of all prevalences meet in the concurrent
    t-EER. ASV thresholds that reject more targets than they accept others have no such point.

    Parameters
    ----------
    trials
        The trials.
    prevalences
        Shares of spoofs among the trials that should be rejected.

    Examples
    --------
    >>> trials = SpoofTrials({"asv": [3.0, 2.0, -1.0, 2.5], "cm": [1.0, 2.0, 3.0, -1.0],
    ...                       "label": ["target", "target", "nontarget", "spoof"]})
    >>> [path.min for path in t_eer_paths(trials, (0.0, 1.0))]
    [0.0, 0.0]
    """
    of_kind(trials, SpoofTrials, "trials")
    asv = counts.count_kinds(trials, "asv").bins().path
    cm = error_path(count_bins(cm_source(trials)))
    rates = np.stack([asv.p_miss, asv.p_fa, asv.p_fa_spoof])

    def path(prevalence: float) -> TandemEerPath:
        accepted = (1.0 - prevalence) * rates[1] + prevalence * rates[2]
        # Elsewhere the ASV system alone rejects more targets than are accepted of others, and no CM
        # threshold can help.
        kept = rates[0] <= accepted
        m, f, s = rates[:, kept]

        def gap(vertex: IntArray) -> FloatArray:
            p_miss, p_fa = cm.p_miss[vertex], cm.p_fa[vertex]
            missed = p_miss + (1.0 - p_miss) * m
            return np.asarray(missed - (1.0 - prevalence) * (1.0 - p_miss) * f - prevalence * p_fa * s)

        # the gap rises along the path of the CM system: the first vertex where it is not negative
        low = counts.first_place_at_level(gap, np.zeros(len(m)), len(cm.threshold))
        before = np.maximum(low - 1, 0)
        below, above = -gap(before), gap(low)
        with np.errstate(invalid="ignore", divide="ignore"):
            # At the first vertex there is nothing before it to interpolate from.
            along = np.where((low > 0) & (below + above > 0.0), below / (below + above), 1.0)
        p_miss = cm.p_miss[before] + along * (cm.p_miss[low] - cm.p_miss[before])
        return TandemEerPath(prevalence, asv.threshold[kept], cm.threshold[low], p_miss + (1.0 - p_miss) * m)

    return [path(share(prevalence, "prevalence")) for prevalence in prevalences]
