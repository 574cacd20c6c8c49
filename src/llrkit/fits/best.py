"""The best calibrator by cross-validation: candidates, losses held out, and a blend.

Cross-validation says what loss to expect of a method after a fit on everything, and how sure that is. The
losses are kept as sums over blocks of trials, so any source will do. A block holds the trials between two
sets of groups (speakers); there are as many sets as groups, at most 64, or 64 sets of trials without groups.

The weights of a blend are those with the lowest cross-validated loss. A single method is a blend too, so the
weights that are found never lose more in cross-validation than the best of the methods, nor than logistic
regression where that is one of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from types import MappingProxyType
from typing import Generic, TypeVar

import numpy as np

from llrkit.base.arguments import RNG, FloatArray, names_of, seed_of, whole_number, yes_or_no
from llrkit.base.process import tracked
from llrkit.base.text import Json, as_list, as_number, as_object, as_text, counted
from llrkit.core.losses import NewtonSums
from llrkit.core.numerics import SHARES, binary_entropy, logit, newton, probability, softplus
from llrkit.core.summaries import FieldwiseSums, SummaryBase, both
from llrkit.errors import InputError, SeparationError
from llrkit.fits import folds as crossval
from llrkit.fits.folds import Fit, Folds, M, Methods, Pair
from llrkit.fits.logistic import TOLERATED, fit_logistic
from llrkit.fits.training_checks import TiedScores, training_moments
from llrkit.maps.bounds import BoundedMap, count_groups
from llrkit.maps.composite import MeanMap
from llrkit.maps.map import Map, reading_of
from llrkit.results.result import Result
from llrkit.scores import Scores, ScoreSource
from llrkit.scores.derived import AnyTrials, Labels, as_source

# blocks are pairs of sets, so summaries hold SETS^2 sums per class whatever the number of speakers
SETS = 64
"""Sets that groups or trials are dealt into, for standard errors of losses."""

Crossed = TypeVar("Crossed")


@dataclass(frozen=True, repr=False)
class CrossCalibration(Result, Generic[Crossed, M]):
    """Cross-validated LLRs as a source, and the maps that made them; log-likelihoods of several classes."""

    source: Crossed
    """The trials with cross-validated LLRs in place of scores."""
    maps: Mapping[Pair, M]
    """For each pair of folds that was left out, the map trained on the rest."""
    folds: Folds
    """How trials were dealt out."""

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers: the folds, and the map of each pair of folds that was left out."""
        maps: list[Json] = [
            {"left_out": list(pair), "map": fitted.to_dict()} for pair, fitted in self.maps.items()
        ]
        return {"folds": self.folds.n, "groups": self.folds.groups, "maps": maps}

    def _frame_rows(self) -> list[dict[str, Json]]:
        return [
            {"first_fold": f, "second_fold": g, "map": repr(fitted)} for (f, g), fitted in self.maps.items()
        ]

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows for people: the map of each pair of folds that was left out."""
        rows = [[", ".join(map(str, sorted({*pair}))), repr(fitted)] for pair, fitted in self.maps.items()]
        return ["folds left out", "map"], rows

    def __repr__(self) -> str:
        return f"CrossCalibration({counted(len(self.maps), 'map')}, {counted(self.folds.n, 'fold')})"


def cross_calibrate(
    source: AnyTrials,
    labels: Labels | None = None,
    method: str | Fit[Map] = "logistic",
    *,
    groups: str | Sequence[str] | None = None,
    leave_out: str | None = None,
    folds: int | str = 5,
    rng: RNG = 0,
    **options: object,
) -> CrossCalibration[ScoreSource, Map]:
    """LLRs for reporting: each trial is calibrated by a map that has not seen it, nor its speakers.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    method, **options
        The calibrator, by name or as a function, and its options.
    groups
        One column, or the two columns with the speakers of the two sides. A trial whose speakers are in
        folds f and g gets the map trained on the trials without a speaker in f or g. By default the
        enrollment and test ids of a table that has both; without any, trials are taken to be independent.
    leave_out
        In place of ``groups``: a column whose values (attacks, devices) are left out one at a time, so that
        every trial tells what happens with a group that was not there in training. A class of a single
        group, such as bona fide speech, is dealt out trial by trial.
    folds
        How many, or the name of a column whose values are the folds.
    rng
        Seed of the random numbers; the same seed gives the same result.

    Examples
    --------
    >>> import llrkit as lk
    >>> scores = lk.Scores([1.0, 2.0, 4.0, 2.5, 3.0], [-1.0, 0.0, 1.5, -2.0, 2.2])
    >>> crossed = lk.cross_calibrate(scores, method="cmlg", folds=2)
    >>> lk.evaluate(crossed.source).n_target
    5
    """
    source = as_source(source, labels)
    seed = seed_of(rng)
    if leave_out is not None and groups is not None:
        raise InputError("give groups or leave_out, not both")
    left = groups if leave_out is None else leave_out
    assigned = crossval.make_folds(source, left, folds, seed, leave_one_out=leave_out is not None)
    carried = dict.fromkeys((*assigned.carried, *source.roles.carried))  # a method may look at columns
    wide = source.with_columns(*carried)
    # the map of every pair of folds is fitted on the trials that share neither
    maps = {
        pair: crossval.fit_quietly(method, crossval.training_source(wide, assigned, pair), options)
        for pair in tracked(assigned.pairs, crossval.method_name(method), len(assigned.pairs), "fits")
    }
    return CrossCalibration(crossval.crossed_source(source, assigned, maps), MappingProxyType(maps), assigned)


def fit_best(
    source: AnyTrials,
    labels: Labels | None = None,
    *,
    methods: Methods[Map] = crossval.CANDIDATES,
    groups: str | Sequence[str] | None = None,
    group_limits: bool = True,
    folds: int = 5,
    repeats: int = 3,
    prior: float = 0.5,
    blend: bool = True,
    rng: RNG = 0,
) -> Map:
    """The blend of calibrators with the lowest cross-validated Cllr, fitted on everything; or a single one.

    Every method is fitted on folds that share no group, as in :func:`cross_calibrate`, and evaluated on the
    trials left out. The maps of folds have seen fewer trials than the map that is returned, which counts
    most against methods with much to estimate; Burman's correction takes that out. The folds are dealt
    several times, and what they say is averaged.

    All LLRs are held to ``log(1 + 4 n)`` of n non-targets and ``-log(1 + 4 n)`` of n targets, before they are
    judged and in the map that is returned: no method wins or loses by what it says beyond the data. Where the
    classes of a fold do not overlap, regularized logistic regression (``regularization=1``) takes the place
    of a method that would refuse.

    The map's ``details`` hold ``chosen``, the best single method, ``weights``, ``expected_cllr``, ``low`` and
    ``high``, the limits of the LLRs, ``tied``, what saturates or ties in the scores, and
    ``cross_validation``, the table of all methods, best first: ``cllr`` is what decides, ``cllr_crossed`` the
    value without correction, ``standard_error`` that of the difference from the best, ``flags`` what is wrong
    with a method: that it loses more than LLRs of 0 would, or clearly more than logistic regression; that
    many of its LLRs were at the limits; that folds did not overlap. A method that failed has a ``reason``
    instead.

    Parameters
    ----------
    source
        Trials: a score source such as :class:`llrkit.Scores` or :class:`llrkit.Trials`, a table with columns
        ``score`` and ``label``, or an array of scores that comes with ``labels``.
    labels
        The label of each score, where the first argument is an array.
    methods
        Names of calibrators.
    groups
        As in :func:`cross_calibrate`. Values of one column (attacks, devices, speakers) of which only one
        class has several are left out one at a time.
    group_limits
        Where ``groups`` is one column: hold LLRs to ``log(1 + groups)`` of the other class, where that has
        several. False: the groups only deal folds.
    folds
        Number of folds of the cross-validation.
    repeats
        How many times the folds are dealt.
    prior
        Where the calibration should be best: losses are cross-entropies at this prior of a target, as
        shares of its entropy, which at 1/2 is Cllr (:term:`training prior`).
    blend
        Return the weighted mean of the LLRs of several methods, with the weights that have the lowest
        cross-validated Cllr (stacking). It is never worse in cross-validation than any of the methods alone.
        Otherwise the single method with the lowest cross-validated Cllr is returned.
    rng
        Seed of the random numbers; the same seed gives the same result.

    References
    ----------
    Burman, "A comparative study of ordinary cross-validation, v-fold cross-validation and the repeated
    learning-testing methods", Biometrika 76 (1989) 503; ``best_blend``.

    Examples
    --------
    >>> import llrkit as lk
    >>> import numpy as np
    >>> model = lk.theory.GaussianLLR.from_eer(0.1)
    >>> target, nontarget = model.rvs(2000, 2000, np.random.default_rng(3))
    >>> best = lk.fit_best(lk.Scores(target, nontarget), methods="cmlg,logistic,pav", folds=3)
    >>> best.details["chosen"], [row["method"] for row in best.details["cross_validation"]]
    ('logistic', ['logistic', 'cmlg', 'pav'])
    """
    source = as_source(source, labels)
    seed = seed_of(rng)
    repeats = whole_number(repeats, 1, "repeats")
    blend, group_limits = yes_or_no(blend, "blend"), yes_or_no(group_limits, "group_limits")
    prior, fits = probability(prior, "prior"), crossval.named_fits(methods, crossval.METHODS)
    moments = training_moments(source)  # what all methods would refuse or warn of is said once
    n_target, n_nontarget = float(moments.target.n), float(moments.nontarget.n)
    if groups is not None and group_limits and len(names_of(groups, "groups")) == 1:
        counts = count_groups(source, groups, moments=moments)
        # no LLR speaks for more groups (attacks, devices) than were seen: what is granted to trials is undone
        n_target, n_nontarget = (
            n / BEYOND if what.startswith("groups") else n
            for n, what in ((counts.n_target, counts.target), (counts.n_nontarget, counts.nontarget))
        )
    limits = llr_limits(n_target, n_nontarget)
    first = crossval.make_folds(source, groups, folds, seed)
    # all deals share the groups and differ in the seed alone: the pass that finds the groups is made once
    deals = [replace(first, seed=seed + i) for i in range(repeats)]
    wide = source.with_columns(*first.carried)  # once: what it has read and coded is kept
    # weighted trials are left to their source: CodedTrials holds plain trials and refuses a weight
    if source.roles.weight is None and moments.target.n + moments.nontarget.n <= crossval.MOST_HELD:
        # the sets of the standard errors are coded beside the folds, so the trials are read once for both
        sets = [replace(deal, n=SETS) for deal in deals]
        wide = wide.reduce(crossval.CodedTrials.at([*deals, *sets])).scores
    training = [crossval.training_sets(wide, deal) for deal in deals]
    # every fold map runs over all trials for Burman's correction, where
    # points stand for them; held-out losses use the trials themselves
    everything = crossval.condensed(wide.target, wide.nontarget) if isinstance(wide, Scores) else wide
    candidates: dict[str, Candidate] = {}
    failed: dict[str, str] = {}
    for name, fit in tracked(fits.items(), "cross-validating", len(fits), "methods"):
        try:
            # of all trials only its own name stands for logistic regression: another that refuses is left out
            full_map, regularized = fit_held(fit, source, limits, stand_in=fit is fit_logistic)
            # one fold without overlap must not cost a method its place: its loss would be unknown
            fitted = [
                {
                    pair: fit_held(fit, trials, limits, stand_in=True)
                    for pair, trials in tracked(sets.items(), name, len(sets), "fits")
                }
                for sets in training
            ]
        except InputError as error:
            failed[name] = str(error)
            continue
        maps = [{pair: held for pair, (held, _) in of_deal.items()} for of_deal in fitted]
        smooth = name not in crossval.NOT_SMOOTH
        loss = MethodLoss.from_source(wide, deals, maps, full_map, prior, everything, corrected=smooth)
        n_regularized = sum(flag for of_deal in fitted for _, flag in of_deal.values())
        note = "the classes do not overlap: regularized (regularization=1)" if regularized else ""
        candidates[name] = Candidate(loss, full_map, maps, n_regularized, note)
    if not candidates:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in failed.items())
        # a method that fails is reported as a row of the table; only if all fail is there nothing to return
        raise InputError(f"no method could be cross-validated: {reasons}")
    losses = {name: candidate.loss for name, candidate in candidates.items()}
    chosen = min(losses, key=lambda name: losses[name].cllr)
    how = {"folds": folds, "repeats": repeats, "groups": first.groups, "prior": prior, "seed": seed}
    details = {
        "chosen": chosen,
        "cross_validation": table_of(candidates, failed),
        "tied": TiedScores.of_source(source).sentences(),
        "low": limits[0],
        "high": limits[1],
        **how,
    }
    if not blend or len(losses) == 1:
        weights, expected = {chosen: 1.0}, losses[chosen].cllr
    else:
        crossed = {name: candidate.fold_maps for name, candidate in candidates.items()}
        weights, expected = best_blend(wide, deals, crossed, losses)
    details |= {"weights": weights, "expected_cllr": expected}
    if len(weights) == 1:
        (only,) = (candidates[name].full_map for name in weights)
        return replace(only, details={**only.map.details, **details}, reading=reading_of(source.roles))
    return MeanMap(
        maps={name: candidates[name].full_map for name in weights},
        weights=weights,
        method="blend",
        options={**how, "methods": list(fits)},
        details=details,
        provenance=candidates[chosen].full_map.provenance,
        reading=reading_of(source.roles),
    )


@dataclass(frozen=True, eq=False)
class CrossLosses(FieldwiseSums):
    """Sums of losses under maps that have not seen the trials; the first axis is the class, targets first."""

    count: FloatArray
    """Trials in each block."""
    held_out: FloatArray
    """Of each block, the losses."""
    share: FloatArray
    """How many trials each map is used for."""

    @classmethod
    def at(cls, folds: Folds, maps: Mapping[Pair, Map], prior: float) -> Callable[[Scores], CrossLosses]:
        """A summarizer: each trial goes through the map of its folds."""
        # same groups and seed as the folds, only finer: standard errors need more blocks than there are folds
        sets = replace(folds, n=SETS)

        def make(chunk: Scores) -> CrossLosses:
            own, blocks, size = folds.of(chunk), sets.of(chunk), SETS * SETS
            llrs = crossval.crossed_llrs(chunk, folds, [maps])
            lost = losses_of_trials(Scores.part(llrs[0][:, 0], llrs[1][:, 0]), prior)
            codes = [f * folds.n + g for f, g in maps]
            used = [np.bincount(code, minlength=folds.n**2)[codes] for code in own]
            count = [np.bincount(block, minlength=size) for block in blocks]
            sums = [np.bincount(block, held, size) for block, held in zip(blocks, lost, strict=True)]
            return cls(*(np.array(each, np.float64) for each in (count, sums, used)))

        return make


@dataclass(frozen=True, eq=False)
class WholeLosses(FieldwiseSums):
    """Sums of losses of all trials under each of several maps; the first axis is the class."""

    lost: FloatArray
    at_bounds: FloatArray
    """How many LLRs of the last map are at the ends of what it can say."""

    @classmethod
    def at(cls, maps: Sequence[Map], full_map: BoundedMap, prior: float) -> Callable[[Scores], WholeLosses]:
        """A summarizer: each trial goes through every map, and at the end through that of everything."""

        def make(chunk: Scores) -> WholeLosses:
            full = full_map.of_training_unit(chunk)
            lost = [
                [side.sum() for side in losses_of_trials(fitted.of_training_unit(chunk), prior)]
                for fitted in maps
            ]
            lost.append([side.sum() for side in losses_of_trials(full, prior)])
            ends = [
                float(((llrs <= full_map.low) | (llrs >= full_map.high)).sum())
                for llrs in (full.target, full.nontarget)
            ]
            return cls(np.array(lost).T, np.array(ends))

        return make


def losses_of_trials(llrs: Scores, prior: float) -> list[FloatArray]:
    """The loss of each trial of both classes at a prior, in nats."""
    log_odds = float(logit(prior))
    return [softplus(-llrs.target - log_odds), softplus(llrs.nontarget + log_odds)]


@dataclass(frozen=True, eq=False)
class MethodLoss:
    """The cross-validated loss of a method at a prior, as a share of the prior's entropy (Cllr at 1/2)."""

    deals: tuple[CrossLosses, ...]
    whole: WholeLosses
    prior: float
    corrected: bool = True

    @classmethod
    def from_source(
        cls,
        source: ScoreSource,
        deals: Sequence[Folds],
        maps: Sequence[Mapping[Pair, Map]],
        full_map: BoundedMap,
        prior: float,
        everything: ScoreSource | None = None,
        *,
        corrected: bool = True,
    ) -> MethodLoss:
        """From the maps of each deal of the folds and the map fitted on everything.

        The source carries the columns of the folds; ``everything`` stands for the same trials where maps are
        evaluated that have seen them.
        """
        crossed = (CrossLosses.at(*of_deal, prior) for of_deal in zip(deals, maps, strict=True))
        deal_losses = source.reduce(both(*crossed)).summaries
        # without the correction no fold map has to run over all trials
        every_map = [fitted for fold_maps in maps for fitted in fold_maps.values()] if corrected else []
        seen = source if everything is None else everything
        whole = seen.reduce(WholeLosses.at(every_map, full_map, prior))
        return cls(deal_losses, whole, prior, corrected)

    @property
    def crossed(self) -> float:
        """The loss of all trials under maps that have not seen their groups."""
        return float(np.mean([self.weights @ deal.held_out.sum(1) for deal in self.deals]))

    @property
    def cllr(self) -> float:
        """The loss to be expected of the map fitted on everything, on other trials.

        The maps of the folds were fitted on fewer trials, which makes ``crossed`` too large, and more so for
        methods with more to estimate. Burman's correction adds what the map of everything loses on all
        trials, less what the maps of the folds lose on them, each weighing as much as the share of trials
        it was used for.
        """
        crossed = self.crossed
        # an infinite loss has no Taylor series to correct it by
        if not (self.corrected and math.isfinite(crossed)):
            return crossed
        share = np.concatenate([deal.share / deal.count.sum(1, keepdims=True) for deal in self.deals], axis=1)
        used = share > 0  # a map that is used for no trial may lose infinitely much
        lost = np.multiply(share, self.whole.lost[:, :-1], where=used, out=np.zeros(share.shape)).sum(1)
        correction = float(self.weights @ (self.whole.lost[:, -1] - lost / len(self.deals)))
        # cross-entropy is not negative; the correction, a difference of two noisy sums, can push it below 0
        return max(crossed + correction, 0.0) if math.isfinite(correction) else crossed

    def standard_error(self, other: MethodLoss) -> float:
        """Of the difference in cross-validated loss, trials with a group in common being dependent."""
        if not (math.isfinite(self.crossed) and math.isfinite(other.crossed)):
            return math.inf
        (own, shared), (_, others) = covariance_of_losses([self, other])
        # a variance from sums over blocks subtracts the pairs counted twice and may come out below 0
        return math.sqrt(max(float(own + others - 2.0 * shared), 0.0))

    @property
    def at_bounds(self) -> FloatArray:
        """The share of the trials of each class whose LLR is at the ends of what the map can say."""
        return np.asarray(self.whole.at_bounds / self.deals[0].count.sum(1))

    @property
    def weights(self) -> FloatArray:
        """What the loss of one trial of each class weighs."""
        share = np.array([self.prior, 1.0 - self.prior]) / float(binary_entropy(self.prior))
        return np.asarray(share / self.deals[0].count.sum(1))


def covariance_of_losses(methods: Sequence[MethodLoss]) -> FloatArray:
    """Of the cross-validated losses of methods, trials with a group in common being dependent.

    ``Cov = sum_p t_p t_p' - sum_(p<q) b_pq b_pq'`` with ``t_p`` the losses of the trials that touch group p,
    ``b_pq`` those of the trials between p and q, one number for each method and each trial's loss taken from
    its class mean: the trials between two groups would otherwise be counted twice. More deals of the folds
    are not more trials, so what they say is averaged.
    """
    total = np.zeros((len(methods), len(methods)))
    for deals in zip(*(method.deals for method in methods), strict=True):
        count = deals[0].count
        blocks = []
        for deal in deals:
            mean = deal.held_out.sum(1, keepdims=True) / count.sum(1, keepdims=True)
            blocks.append((methods[0].weights @ (deal.held_out - mean * count)).reshape(SETS, SETS))
        block = np.array(blocks)
        # Folds.of puts the lower set first, so each pair of sets is in one off-diagonal cell and the sum over
        # p < q below is the sum over all cells less the diagonal
        within = np.einsum("mii->mi", block)
        touching = block.sum(1) + block.sum(2) - within
        total += touching @ touching.T - np.einsum("aij,bij->ab", block, block) + within @ within.T
    return np.asarray(total / len(methods[0].deals))


_CLOSE = 1e-8  # to the minimum, in Cllr
_NOTHING = 0.01  # a weight that is not worth a map
_AT_ONCE = 1 << 16  # trials: the LLRs of all methods are in memory at the same time
_KEPT = 1 << 23  # LLRs that are kept from one step to the next; more are made again


def best_blend(
    source: ScoreSource,
    deals: Sequence[Folds],
    maps: Mapping[str, Sequence[Mapping[Pair, Map]]],
    losses: Mapping[str, MethodLoss],
) -> tuple[dict[str, float], float]:
    """The weights w of methods with the lowest cross-validated loss of their weighted mean LLR, and it.

    It is slightly too low: the weights are those that make it low. Methods that do not count have no weight.

    The loss is corrected for the size of the folds by ``sum_j w_j^2 c_j``, where ``c_j`` corrects that of
    method j: the correction is of second order in the errors of a map, and those of different methods are
    taken to be independent. At a single method this is the loss of that method; the search begins at equal
    weights, and where it ends above the best single method it begins again next to that one.

    The maps should be bounded: an LLR without end would decide the weights alone.

    Parameters
    ----------
    source
        Carries the columns of the folds.
    maps
        For each method and each deal of the folds, the maps of the pairs of folds.

    References
    ----------
    Wolpert, "Stacked generalization", Neural Networks 5 (1992) 241; van der Laan, Polley & Hubbard, "Super
    learner", Statistical Applications in Genetics and Molecular Biology 6 (2007) 25.
    """
    names = list(losses)
    first = losses[names[0]]
    single = np.array([method.cllr for method in losses.values()])
    # c_j, the part of the loss of method j that fitting on everything instead of on folds takes away
    correction = single - np.array([method.crossed for method in losses.values()])
    bent = np.diag(np.maximum(2.0 * correction, 0.0))  # where it bends down a step must not rely on it
    # each deal sees all trials once more, so a trial weighs 1 / deals in the sum over deals
    weights, log_odds = first.weights / len(deals), float(logit(first.prior))
    methods = [[maps[name][i] for name in names] for i in range(len(deals))]

    n_llrs = float(first.deals[0].count.sum()) * len(deals) * len(names)
    keep = n_llrs <= _KEPT and source.roles.weight is None
    crossed_at = CrossedLlrs.at(deals, methods)
    kept_llrs = source.reduce(crossed_at) if keep else None

    def objective(shares: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        def by_block(chunk: Scores) -> NewtonSums:
            blocks = list(chunk.chunks(_AT_ONCE)) or [chunk]  # which may have nothing left
            return reduce(add, (crossed_at(block).sums(shares, log_odds) for block in blocks))

        sums = source.reduce(by_block) if kept_llrs is None else kept_llrs.sums(shares, log_odds)
        target, nontarget = sums.target, sums.nontarget
        # NewtonSums also fits an offset, last; a blend has none, so its row and column are dropped
        gradient = weights[0] * target.gradient[:-1] + weights[1] * nontarget.gradient[:-1]
        hessian = weights[0] * target.hessian[:-1, :-1] + weights[1] * nontarget.hessian[:-1, :-1]
        loss = float(weights @ [target.loss, nontarget.loss] + correction @ shares**2)
        return loss, gradient + 2.0 * correction * shares, hessian + bent

    # Equal weights first. The corrected objective need not be convex, so the search may end above the best
    # single method; then it starts again beside that method.
    best = np.eye(len(names))[single.argmin()]
    even = np.full(len(names), 1.0 / len(names))
    for start in (even, 0.9 * best + 0.1 * even):
        found = newton(objective, start, over=SHARES, tolerance=_CLOSE).x
        counts = found > _NOTHING
        shares = np.where(counts, found, 0.0) / found[counts].sum()
        # the loss is taken after small weights are dropped: it is that of the blend that is returned
        loss = objective(shares)[0]
        if loss <= single.min():
            break
    else:
        # neither start beats the best single method, which is a blend too
        shares, loss = best, float(single.min())
    kept = {name: float(share) for name, share in zip(names, shares, strict=True) if share > 0.0}
    return kept, max(loss, 0.0)


@dataclass(frozen=True, eq=False)
class CrossedLlrs(SummaryBase):
    """LLRs under maps that have not seen the trials: by trial, deal of the folds and method."""

    target: FloatArray
    nontarget: FloatArray

    @classmethod
    def at(
        cls, deals: Sequence[Folds], methods: Sequence[Sequence[Mapping[Pair, Map]]]
    ) -> Callable[[Scores], CrossedLlrs]:
        """A summarizer, for the maps of all methods in each deal."""

        def make(chunk: Scores) -> CrossedLlrs:
            of_deals = zip(deals, methods, strict=True)
            llrs = [crossval.crossed_llrs(chunk, folds, maps) for folds, maps in of_deals]
            return cls(*(np.stack(of_class, axis=1) for of_class in zip(*llrs, strict=True)))

        return make

    def sums(self, shares: FloatArray, log_odds: float) -> NewtonSums:
        """Loss of the blend and its derivatives, each trial counted once for each deal of the folds."""
        deals = range(self.target.shape[1])
        parts = [Scores.part(self.target[:, deal], self.nontarget[:, deal]) for deal in deals]
        return reduce(add, (NewtonSums.of(part, np.append(shares, 0.0), log_odds) for part in parts))

    def __add__(self, other: CrossedLlrs) -> CrossedLlrs:
        return CrossedLlrs(
            np.concatenate([self.target, other.target]), np.concatenate([self.nontarget, other.nontarget])
        )

    def __mul__(self, weight: float) -> CrossedLlrs:
        raise TypeError("LLRs that are kept have no weight")


MANY_AT_BOUNDS = 0.05
"""Share of the LLRs of a class at the bounds from which on a method is said to go beyond the data."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A method: its losses, its map of all trials and its maps of the folds, all of them bounded."""

    loss: MethodLoss
    full_map: BoundedMap
    fold_maps: Sequence[Mapping[Pair, BoundedMap]]
    n_regularized: int
    note: str
    """What was done to fit it on all trials, if anything."""

    def flags(self, logistic: MethodLoss | None) -> list[str]:
        """What is wrong with the method, in words."""
        told = [self.note] if self.note else []
        n_folds = sum(len(maps) for maps in self.fold_maps)
        if self.n_regularized:
            told.append(
                f"the classes do not overlap in {self.n_regularized} of {n_folds} folds: regularized "
                "logistic regression there"
            )
        # 1 is the Cllr of LLRs that are all 0, whatever the prior: losses are shares of its entropy
        if self.loss.cllr > 1.0:
            told.append("it loses more than LLRs that are all 0")
        elif logistic is not None and self.loss.cllr > logistic.cllr + TOLERATED:
            told.append(f"it loses {self.loss.cllr - logistic.cllr:.2g} bits more than logistic regression")
        for name, share in zip(("target", "non-target"), self.loss.at_bounds.tolist(), strict=True):
            if share > MANY_AT_BOUNDS:
                told.append(f"{100.0 * share:.0f} % of the LLRs of {name} trials are at the bounds")
        return told


@dataclass(frozen=True)
class MethodRow:
    """A method in the table of a cross-validation that a map keeps in its details."""

    method: str
    cllr: float
    standard_error: float | None = None
    """Of the difference from the best method; None where it is not known."""
    reason: str | None = None
    """Why the method could not be cross-validated."""
    flags: tuple[str, ...] = ()
    """What is wrong with it, in words."""

    @classmethod
    def of_details(cls, details: Mapping[str, object]) -> list[MethodRow]:
        """The rows of a map's details, best first.

        Examples
        --------
        >>> row = {"method": "pav", "cllr": 0.2, "standard_error": 0.01}
        >>> MethodRow.of_details({"cross_validation": [row]})
        [MethodRow(method='pav', cllr=0.2, standard_error=0.01, reason=None, flags=())]
        """
        return [
            cls(
                as_text(row["method"]),
                as_number(row["cllr"]),
                as_number(row["standard_error"]) if "standard_error" in row else None,
                as_text(row["reason"]) if "reason" in row else None,
                tuple(map(as_text, as_list(row.get("flags", ())))),
            )
            for row in map(as_object, as_list(details["cross_validation"]))
        ]


def table_of(candidates: Mapping[str, Candidate], failed: Mapping[str, str]) -> list[dict[str, Json]]:
    """A row for each method, best first; those that failed, and why, at the end."""
    ranked = sorted(candidates, key=lambda name: candidates[name].loss.cllr)
    best = candidates[ranked[0]].loss
    logistic = candidates["logistic"].loss if "logistic" in candidates else None
    table: list[dict[str, Json]] = []
    for name in ranked:
        loss, flags = candidates[name].loss, candidates[name].flags(logistic)
        row: dict[str, Json] = {"method": name, "cllr": loss.cllr, "cllr_crossed": loss.crossed}
        row["standard_error"] = loss.standard_error(best)
        table.append(row | {"flags": flags} if flags else row)
    # failed methods keep their reason; an infinite loss sorts them last
    return table + [{"method": name, "cllr": math.inf, "reason": reason} for name, reason in failed.items()]


BEYOND = 4.0
"""How many times as many trials as were seen an LLR may speak for; decided by ``benchmarks/regret.py``."""
REGULARIZATION = 1.0
"""Of logistic regression where the classes do not overlap."""


def llr_limits(n_target: float, n_nontarget: float) -> tuple[float, float]:
    """The LLRs that methods are held to before they are compared, blended and returned.

    The upper one is ``log(1 + 4 n)`` of n non-targets, the lower one ``-log(1 + 4 n)`` of n targets: had a
    trial in four times as many contradicted, no more could be said. What is beyond rests on the shape that a
    method assumes, and a single such trial may decide which method looks best.

    Examples
    --------
    >>> [round(limit, 2) for limit in llr_limits(100, 1000)]
    [-5.99, 8.29]
    """
    return -math.log1p(BEYOND * n_target), math.log1p(BEYOND * n_nontarget)


def fit_held(
    method: Callable[..., Map], trials: ScoreSource, limits: tuple[float, float], *, stand_in: bool
) -> tuple[BoundedMap, bool]:
    """A map whose LLRs are within limits, and whether it is that of regularized logistic regression.

    That may stand in for a method which refuses classes that do not overlap.
    """
    regularized = False
    try:
        fitted = crossval.fit_quietly(method, trials, {})
    except SeparationError:
        if not stand_in:
            raise
        fitted = crossval.fit_quietly(fit_logistic, trials, {"regularization": REGULARIZATION})
        regularized = True
    low, high = limits
    held = BoundedMap(
        map=fitted, low=low, high=high, method=fitted.method, options=fitted.options,
        provenance=fitted.provenance,
    )  # fmt: skip
    return held, regularized
