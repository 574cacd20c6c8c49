"""Fusion of an ASV and a CM system into one SASV score that is an LLR."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from llrkit._arguments import takes
from llrkit._arrays import FloatArray
from llrkit._format import not_among
from llrkit.calibrate.affine.logistic_and_rules import fit_logistic
from llrkit.calibrate.composite.linear_map import LinearMap
from llrkit.calibrate.composite.sasv_map import SASV, SasvMap, combined
from llrkit.calibrate.maps import Map
from llrkit.calibrate.recorded_reading import reading_of
from llrkit.calibrate.training_checks import check_moments, provenance
from llrkit.core.elementary_functions import sigmoid, softplus
from llrkit.core.moments import Moments
from llrkit.core.spoof_kinds import BONA_FIDE, spoof_mask
from llrkit.core.summary_algebra import FieldwiseSums
from llrkit.errors import InputError, UnknownNameError
from llrkit.scores import Scores
from llrkit.spoof.a_dcf_costs import Costs, SpoofCosts, spoof_costs
from llrkit.spoof.spoof_trials import SpoofTrials

FusedScore = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""From scores of both systems, shape (n, 2), to one score and its derivatives by the parameters."""


@dataclass(frozen=True, eq=False)
class KindLosses(FieldwiseSums):
    """Sums over targets, non-targets and spoofs: numbers, losses, and gradients (one row each)."""

    n: FloatArray
    loss: FloatArray
    gradient: FloatArray

    @classmethod
    def at(cls, fused: FusedScore, log_odds: float, kinds: str) -> Callable[[Scores], KindLosses]:
        """A summarizer, for a fused score and the prior log-odds of the decision."""

        def make(chunk: Scores) -> KindLosses:
            spoof = spoof_mask(chunk, kinds)
            groups = ((chunk.target, -1.0), (chunk.nontarget[~spoof], 1.0), (chunk.nontarget[spoof], 1.0))
            sums = [
                _loss_sums_of_kind(fused, np.asarray(s, dtype=np.float64), sign, log_odds)
                for s, sign in groups
            ]
            n, loss, gradient = zip(*sums, strict=True)
            return cls(np.array(n), np.array(loss), np.stack(gradient))

        return make

    def weighted(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Loss and gradient with these weights of the means over the kinds."""
        shares = np.divide(weights, self.n, out=np.zeros(3), where=self.n > 0)
        return float(shares @ self.loss), np.asarray(shares @ self.gradient)


def _loss_sums_of_kind(
    fused: FusedScore, scores: FloatArray, sign: float, log_odds: float
) -> tuple[float, float, FloatArray]:
    values, slopes = fused(scores)
    margin = sign * (values + log_odds)
    pull = sign * np.asarray(sigmoid(margin))
    # where the loss no longer falls, the score may be infinite: it pulls at nothing
    return float(len(values)), float(np.sum(softplus(margin))), np.where(pull == 0.0, 0.0, pull) @ slopes


SasvMethod = Literal["bayes", "bayes-trained", "linear"]
METHODS: tuple[SasvMethod, ...] = get_args(SasvMethod)
RIDGE = 1e-4
"""Penalty on slopes of scores of variance 1: keeps the slopes of trials without errors finite."""
SAFEGUARD = 0.01
"""The same for the calibration of each system by itself, see :func:`llrkit.fit_logistic`."""


def spoof_share_of(costs: SpoofCosts) -> float:
    """The share of spoofs in the costly mixture of non-targets and spoofs.

    Examples
    --------
    >>> spoof_share_of(spoof_costs("a-dcf1"))
    0.6666666666666666
    """
    _, fa, fa_spoof = costs.weights
    return fa_spoof / (fa + fa_spoof)


def sasv_method(name: str) -> SasvMethod:
    """A method by its name; any other name is refused.

    Examples
    --------
    >>> sasv_method("linear")
    'linear'
    """
    for method in METHODS:
        if method == name:
            return method
    raise UnknownNameError(f"unknown fusion {not_among(name, METHODS)}")


@takes(trials=SpoofTrials)
def fit_sasv(
    trials: SpoofTrials,
    method: SasvMethod = "bayes-trained",
    *,
    costs: Costs = "asvspoof5",
    regularization: float = RIDGE,
) -> Map:
    """Fuse ASV and CM scores into the LLR of targets against non-targets and spoofs.

    The priors and prices of ``costs`` make the mixture of non-targets and spoofs, and the LLR is cut at
    ``costs.threshold``, as :func:`a_dcf` does.

    Parameters
    ----------
    trials
        The trials.
    method
        ``"bayes"``: each system is calibrated by itself (logistic regression), and the LLRs are
        combined in closed form, ``-log((1 - r) / LR_asv + r / LR_cm)``, the Bayes decision if the two
        systems err independently. ``"bayes-trained"``: the same form, its two straight lines trained
        together by the prior-weighted logarithmic loss. ``"linear"``: a weighted sum of the scores trained
        likewise.
    costs
        Priors and prices: the name of a preset, or :class:`llrkit.spoof.SpoofCosts`.
    regularization
        Of the trained methods: penalty on the slopes, of scores scaled to variance 1.

    References
    ----------
    Wang, Kinnunen, Lee, Noé & Yamagishi, "Revisiting and improving scoring fusion for spoofing-aware
    speaker verification using compositional data analysis", Interspeech 2024 (arXiv 2406.10836).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> labels = np.repeat(["target", "nontarget", "spoof"], 400)
    >>> asv, cm = np.repeat([3.0, -3.0, 2.5], 400), np.repeat([3.0, 3.0, -3.0], 400)
    >>> trials = SpoofTrials({"asv": asv + 2 * rng.normal(size=1200), "cm": cm + 2 * rng.normal(size=1200),
    ...                       "label": labels})
    >>> from llrkit.spoof import min_a_dcf
    >>> for method in ("linear", "bayes", "bayes-trained"):
    ...     print(method, round(min_a_dcf(trials.fused(fit_sasv(trials, method)), "a-dcf1"), 3))
    linear 0.37
    bayes 0.213
    bayes-trained 0.21
    """
    sasv_method(method)
    if not 0.0 <= regularization < np.inf:
        raise InputError(f"regularization must be at least 0 and finite, got {regularization!r}")
    for system in ("asv", "cm"):
        trials.require(system, "target", "nontarget", "spoof")
    chosen = spoof_costs(costs)
    share = spoof_share_of(chosen)
    options = {"costs": chosen.name, "regularization": regularization, "spoof_share": share}
    asv_name, cm_name = trials.systems["asv"], trials.systems["cm"]
    both = trials.source_of_both()
    moments = both.reduce(Moments.of)
    check_moments(both, moments)
    said, origin, read_as = f"{SASV}{method}", provenance(moments), reading_of(both.roles)
    if method == "linear":
        weights = _trained_fusion(trials, chosen, regularization, _linear_form, np.zeros(3), moments)
        return LinearMap(
            weights=weights[:2], offset=float(weights[2]), systems=[asv_name, cm_name], method=said,
            options=options, provenance=origin, reading=read_as,
        )  # fmt: skip
    asv = fit_logistic(trials.pair_to_count("asv", ("target",), ("nontarget",)), regularization=SAFEGUARD)
    cm = fit_logistic(trials.pair_to_count("cm", BONA_FIDE, ("spoof",)), regularization=SAFEGUARD)
    lines = np.array([asv.a, cm.a, asv.b, cm.b])
    if method == "bayes-trained":
        lines = _trained_fusion(trials, chosen, regularization, _bayes_form(share), lines, moments)
    a1, a2, b1, b2 = lines.tolist()
    return SasvMap(
        asv_slope=a1, asv_offset=b1, cm_slope=a2, cm_offset=b2, spoof_share=share, asv_name=asv_name,
        cm_name=cm_name, method=said, options=options, provenance=origin, reading=read_as,
    )  # fmt: skip


def _linear_form(theta: FloatArray) -> FusedScore:
    def fused(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        slopes = np.column_stack([scores, np.ones(len(scores))])
        return theta[0] * scores[:, 0] + theta[1] * scores[:, 1] + theta[2], slopes

    return fused


def _bayes_form(share: float) -> Callable[[FloatArray], FusedScore]:
    def form(theta: FloatArray) -> FusedScore:
        def fused(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
            asv, cm = theta[0] * scores[:, 0] + theta[2], theta[1] * scores[:, 1] + theta[3]
            values = combined(asv, cm, share)
            # how much of what speaks against a target is that it may be a spoof
            of_cm = np.full(len(cm), share) if share in (0.0, 1.0) else np.asarray(
                sigmoid(np.log(share) - np.log1p(-share) + asv - cm)
            )  # fmt: skip
            of_asv = 1.0 - of_cm
            return values, np.column_stack([of_asv * scores[:, 0], of_cm * scores[:, 1], of_asv, of_cm])

        return fused

    return form


def _trained_fusion(
    trials: SpoofTrials,
    costs: SpoofCosts,
    regularization: float,
    form: Callable[[FloatArray], FusedScore],
    start: FloatArray,
    moments: Moments,
) -> FloatArray:
    """The parameters with the lowest loss; the two slopes come first, and are not negative."""
    source = trials.source_of_both()
    spread = np.sqrt(0.5 * (moments.target.variance + moments.nontarget.variance))
    weights, log_odds = _kind_weights(costs), -costs.threshold
    scale = np.ones(len(start))
    scale[:2] = np.where(spread > 0.0, spread, 1.0)

    def objective(scaled: FloatArray) -> tuple[float, FloatArray]:
        sums = source.reduce(KindLosses.at(form(scaled / scale), log_odds, trials.kind_column))
        loss, gradient = sums.weighted(weights)
        slopes = scaled[:2]
        gradient = gradient / scale
        gradient[:2] += regularization * slopes
        return loss + 0.5 * regularization * float(slopes @ slopes), gradient

    from scipy.optimize import minimize  # takes longer to import than all of llrkit

    bounds = [(0.0, None)] * 2 + [(None, None)] * (len(start) - 2)
    solved = minimize(objective, start * scale, jac=True, method="L-BFGS-B", bounds=bounds,
                      options={"maxiter": 500, "ftol": 1e-13, "gtol": 1e-9})  # fmt: skip
    return np.asarray(solved.x / scale)


def _kind_weights(costs: SpoofCosts) -> FloatArray:
    """What the mean loss of each kind counts: the effective priors of the decision."""
    prior = float(sigmoid(-costs.threshold))
    share = spoof_share_of(costs)
    return np.array([prior, (1.0 - prior) * (1.0 - share), (1.0 - prior) * share])
