"""What cross-validation says of a method: its expected loss after a fit on everything, and how sure that is.

The losses are kept as sums over blocks of trials, so any source will do. A block holds the trials between two
sets of groups (speakers); there are as many sets as groups, at most 64, or 64 sets of trials without groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.calibrate.bounds.bounded_map import BoundedMap
from llrkit.calibrate.maps import Map
from llrkit.choose.folds import Folds, Pair, crossed_llrs
from llrkit.core.elementary_functions import binary_entropy, logit, softplus
from llrkit.core.summary_algebra import FieldwiseSums, both
from llrkit.scores import Scores, ScoreSource

SETS = 64


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
        sets = replace(folds, n=SETS)

        def make(chunk: Scores) -> CrossLosses:
            own, blocks, size = folds.of(chunk), sets.of(chunk), SETS * SETS
            llrs = crossed_llrs(chunk, folds, [maps])
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
            full = full_map(chunk)
            lost = [[side.sum() for side in losses_of_trials(fitted(chunk), prior)] for fitted in maps]
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
        every_map = [fitted for fold_maps in maps for fitted in fold_maps.values()] if corrected else []
        whole = (source if everything is None else everything).reduce(
            WholeLosses.at(every_map, full_map, prior)
        )
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
        if not (self.corrected and math.isfinite(crossed)):
            return crossed
        share = np.concatenate([deal.share / deal.count.sum(1, keepdims=True) for deal in self.deals], axis=1)
        used = share > 0  # a map that is used for no trial may lose infinitely much
        lost = np.multiply(share, self.whole.lost[:, :-1], where=used, out=np.zeros(share.shape)).sum(1)
        correction = float(self.weights @ (self.whole.lost[:, -1] - lost / len(self.deals)))
        return max(crossed + correction, 0.0) if math.isfinite(correction) else crossed

    def standard_error(self, other: MethodLoss) -> float:
        """Of the difference in cross-validated loss, trials with a group in common being dependent."""
        if not (math.isfinite(self.crossed) and math.isfinite(other.crossed)):
            return math.inf
        (own, shared), (_, others) = covariance_of_losses([self, other])
        return math.sqrt(max(float(own + others - 2.0 * shared), 0.0))

    def row(self, best: MethodLoss) -> dict[str, float]:
        """What is reported of a method beside the best one."""
        return {
            "cllr": self.cllr,
            "cllr_crossed": self.crossed,
            "standard_error": self.standard_error(best),
        }

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
        within = np.einsum("mii->mi", block)
        touching = block.sum(1) + block.sum(2) - within
        total += touching @ touching.T - np.einsum("aij,bij->ab", block, block) + within @ within.T
    return np.asarray(total / len(methods[0].deals))
