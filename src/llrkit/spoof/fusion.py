"""Fusion of ASV and CM scores, and how fusions compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Literal, cast, get_args

import numpy as np

from llrkit.base.arguments import FloatArray, not_negative, of_kind, one_of
from llrkit.base.text import Json, number
from llrkit.core.groups import BONA_FIDE
from llrkit.core.numerics import sigmoid, softplus
from llrkit.core.summaries import Moments
from llrkit.fits.folds import RAW, Compared, Methods, compared_on
from llrkit.fits.logistic import fit_logistic
from llrkit.fits.training_checks import check_moments, provenance
from llrkit.maps.composite import SASV, LinearMap, SasvMap, combined
from llrkit.maps.map import Map, reading_of
from llrkit.scores import Scores
from llrkit.spoof.costs import Costs, SpoofCosts, spoof_costs
from llrkit.spoof.counts import scores_of_kinds
from llrkit.spoof.evaluation import SpoofEvaluation, evaluate
from llrkit.spoof.trials import SpoofTrials

FusedScore = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""From scores of both systems, shape (n, 2), to one score and its derivatives by the parameters."""


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
    one_of(name, METHODS, "fusion")
    return cast(SasvMethod, name)


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
    of_kind(trials, SpoofTrials, "trials")
    sasv_method(method)
    not_negative(regularization, "regularization")
    for system in ("asv", "cm"):
        trials.require(system, "target", "nontarget", "spoof")
    chosen = spoof_costs(costs)
    share = spoof_share_of(chosen)
    options = {"costs": chosen.name, "regularization": regularization, "spoof_share": share}
    asv_name, cm_name = trials.systems["asv"], trials.systems["cm"]
    both = trials.source_of_both()
    moments = both.reduce(Moments.of)
    check_moments(both, moments, several=True)
    said, origin, read_as = f"{SASV}{method}", provenance(moments), reading_of(both.roles)
    if method == "linear":
        weights = _trained_fusion(trials, chosen, regularization, _linear_form, np.zeros(3), moments)
        return LinearMap(
            weights=weights[:2], offset=float(weights[2]), systems=[asv_name, cm_name], method=said,
            options=options, provenance=origin, reading=read_as,
        )  # fmt: skip
    # Safeguarded, so that a system without errors on these trials still gives a finite start.
    asv = fit_logistic(trials.pair_to_count("asv", ("target",), ("nontarget",)), regularization=SAFEGUARD)
    cm = fit_logistic(trials.pair_to_count("cm", BONA_FIDE, ("spoof",)), regularization=SAFEGUARD)
    lines = np.array([asv.a, cm.a, asv.b, cm.b])
    if method == "bayes-trained":
        # Trained from the closed form, which is the answer where both systems are calibrated and
        # independent.
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
            # At the ends the mixture has one component, and the logarithm of its odds would be infinite.
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
    # Slopes are penalized in units of the spread of the scores, so that their scale does not matter.
    spread = np.sqrt(0.5 * (moments.target.variance + moments.nontarget.variance))
    log_odds = -costs.threshold
    # the mean loss of each kind counts as much as its effective prior in the decision
    prior, share = float(sigmoid(log_odds)), spoof_share_of(costs)
    # As if the trials had the priors of the application: the numbers in the file do not count.
    weights = np.array([prior, (1.0 - prior) * (1.0 - share), (1.0 - prior) * share])
    scale = np.ones(len(start))
    scale[:2] = np.where(spread > 0.0, spread, 1.0)

    def objective(scaled: FloatArray) -> tuple[float, FloatArray]:
        fused = form(scaled / scale)

        def losses(chunk: Scores) -> FloatArray:
            rows = []  # of targets, non-targets and spoofs: how many, their loss, and its gradient
            kinds = scores_of_kinds(chunk, (trials.kind_column, None, None))
            for sign, scores in zip((-1.0, 1.0, 1.0), kinds, strict=True):
                values, by_parameter = fused(np.asarray(scores, dtype=np.float64))
                margin = sign * (values + log_odds)
                # The derivative of the loss by the score.
                pull = sign * np.asarray(sigmoid(margin))
                # where the loss no longer falls, the score may be infinite: it pulls at nothing
                gradient = np.where(pull == 0.0, 0.0, pull) @ by_parameter
                rows.append([len(values), np.sum(softplus(margin)), *gradient])
            return np.array(rows)

        sums = source.reduce(losses)
        n, loss = sums[:, 0], sums[:, 1].copy()
        # A kind without trials has no mean; its weight is left out.
        shares = np.divide(weights, n, out=np.zeros(3), where=n > 0)
        slopes = scaled[:2]
        gradient = shares @ sums[:, 2:].copy() / scale
        gradient[:2] += regularization * slopes
        return float(shares @ loss) + 0.5 * regularization * float(slopes @ slopes), gradient

    from scipy.optimize import minimize  # takes longer to import than all of llrkit

    # Slopes are not negative: a higher score of either system must never speak against a target.
    bounds = [(0.0, None)] * 2 + [(None, None)] * (len(start) - 2)
    solved = minimize(objective, start * scale, jac=True, method="L-BFGS-B", bounds=bounds,
                      options={"maxiter": 500, "ftol": 1e-13, "gtol": 1e-9})  # fmt: skip
    return np.asarray(solved.x / scale)


_FITS: Mapping[str, Callable[..., Map]] = {method: partial(fit_sasv, method=method) for method in METHODS}


@dataclass(frozen=True, eq=False, repr=False)
class SasvComparison(Compared[SpoofEvaluation, Map]):
    """The results of each fusion on the evaluation set; the plain sum of both scores comes first."""

    costs: str
    """Priors and prices of the a-DCF."""
    on_training: Mapping[str, SpoofEvaluation]
    """The same on the trials of the training; empty if these are evaluated anyway."""

    @property
    def sentence(self) -> str:
        """The comparison in plain words."""
        return (
            f"The lowest actual a-DCF is that of {self.best}: {number(self._loss(self.best))}; its minimum "
            f"is {number(self._least(self.best))}, that of the plain sum of scores "
            f"{number(self._least(RAW))}."
        )

    # a fusion is trained on all three kinds of trials, with which every a-DCF can be computed

    def _loss(self, name: str) -> float:
        (cost,) = self.evaluations[name].a_dcf
        assert cost.act is not None
        return cost.act

    def _least(self, name: str) -> float:
        (cost,) = self.evaluations[name].a_dcf
        assert cost.min is not None
        return cost.min

    def _row(self, name: str) -> dict[str, Json]:
        return {**self._costs(name)}

    def _costs(self, name: str) -> dict[str, float | None]:
        sets = {"": self.evaluations[name]}
        if self.on_training:
            sets["train_"] = self.on_training[name]
        row: dict[str, float | None] = {}
        for prefix, result in sets.items():
            (cost,) = result.a_dcf
            # the sum of scores is no LLR: the threshold of LLRs means nothing for it
            row |= {f"{prefix}min": cost.min, f"{prefix}act": None if name == RAW else cost.act}
        return row

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers, as in the JSON of the command line."""
        return {"costs": self.costs, **super().to_dict()}

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows for people."""
        rows = {name: self._costs(name) for name in self.evaluations}
        shown = [
            [name, *("-" if value is None else number(value) for value in row.values())]
            for name, row in rows.items()
        ]
        return ["method", *(key.replace("_", " ") for key in rows[RAW])], shown


def compare(
    train: SpoofTrials,
    test: SpoofTrials,
    methods: Methods[Map] = METHODS,
    *,
    costs: Costs = "asvspoof5",
    options: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
) -> SasvComparison:
    """Train fusions of ASV and CM scores on some trials and evaluate them on others by their a-DCF.

    The plain sum of both scores comes first, as the raw scores; it is no LLR and has no actual a-DCF. See
    :func:`fit_sasv` for the methods.

    Parameters
    ----------
    train
        Trials that the fusions are trained on.
    test
        Trials that they are evaluated on.
    methods
        Names of fusions, separated by commas, or a list of names and of functions.
    costs
        Priors and prices: the name of a preset, or :class:`llrkit.spoof.SpoofCosts`.
    options
        Options of single methods: name -> options.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> labels = np.repeat(["target", "nontarget", "spoof"], 400)
    >>> asv, cm = np.repeat([3.0, -3.0, 2.5], 400), np.repeat([3.0, 3.0, -3.0], 400)
    >>> def draw():
    ...     scores = {"asv": asv + 2 * rng.normal(size=1200), "cm": cm + 2 * rng.normal(size=1200)}
    ...     return SpoofTrials(scores | {"label": labels})
    >>> compare(draw(), draw(), costs="a-dcf1")
    method            min     act  train min  train act
    raw            0.3317       -     0.2953          -
    bayes          0.2181  0.2389     0.2047     0.2233
    bayes-trained  0.2278  0.2514     0.2075     0.2183
    linear         0.3381  0.3481     0.2981     0.3044
    """
    of_kind(train, SpoofTrials, "train")
    of_kind(test, SpoofTrials, "test")
    of_kind(options, Mapping, "options")
    chosen = spoof_costs(costs)
    systems = [train.systems["asv"], train.systems["cm"]]
    raw = LinearMap(weights=np.ones(2), offset=0.0, systems=systems, method="sum")

    def on(trials: SpoofTrials, fusion: Map | None) -> SpoofEvaluation:
        # Tandem costs need two scores, and a fused system has one.
        return evaluate(trials.fused(raw if fusion is None else fusion), [chosen], tandem=())

    compared = compared_on(
        train,
        methods,
        _FITS,
        lambda name: {"costs": chosen, **options.get(name, {})},
        lambda fusion: on(test, fusion),
    )
    # Trials that were trained on are shown beside the others, unless they are the others.
    maps = {} if test is train else {RAW: raw, **compared[1]}
    on_training = MappingProxyType({name: on(train, fusion) for name, fusion in maps.items()})
    return SasvComparison(*compared, chosen.name, on_training)
