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
from llrkit.calibrate.composite.bounded import BoundedMap
from llrkit.choose.folds import Folds, Pair
from llrkit.core.special import binary_entropy, logit, softplus
from llrkit.core.summary import SummaryBase, both
from llrkit.scores import Scores, ScoreSource

SETS = 64


@dataclass(frozen=True, eq=False)
class CrossLosses(SummaryBase):
    """Sums of losses of the maps of one method; the first axis is the class, targets first."""

    count: FloatArray
    """Trials in each block."""
    held_out: FloatArray
    """For each block, the losses under maps that have not seen the trials' groups."""
    share: FloatArray
    """How many trials each of those maps is used for."""
    on_all: FloatArray
    """For each of those maps, and at the end for the map fitted on everything, the losses of all trials."""
    at_bounds: FloatArray
    """How many LLRs of the map fitted on everything are at the ends of what it can say."""

    @classmethod
    def at(
        cls, folds: Folds, maps: Mapping[Pair, BoundedMap], full_map: BoundedMap, prior: float
    ) -> Callable[[Scores], CrossLosses]:
        """A summarizer: each trial goes through every map."""
        log_odds = float(logit(prior))
        sets = replace(folds, n=SETS)

        def losses(llrs: Scores) -> list[FloatArray]:
            return [softplus(-llrs.target - log_odds), softplus(llrs.nontarget + log_odds)]

        def make(chunk: Scores) -> CrossLosses:
            own, blocks = folds.of(chunk), sets.of(chunk)
            held_out = [np.zeros(len(code)) for code in own]
            share, on_all = np.zeros((2, len(maps))), np.zeros((2, len(maps) + 1))
            for i, ((f, g), fitted) in enumerate(maps.items()):
                for class_index, loss in enumerate(losses(fitted(chunk))):
                    mine = own[class_index] == f * folds.n + g
                    held_out[class_index][mine] = loss[mine]
                    share[class_index, i], on_all[class_index, i] = mine.sum(), loss.sum()
            full = full_map(chunk)
            on_all[:, -1] = [loss.sum() for loss in losses(full)]
            ends = [
                (llrs <= full_map.low) | (llrs >= full_map.high) for llrs in (full.target, full.nontarget)
            ]
            size = SETS * SETS
            count = [np.bincount(block, minlength=size) for block in blocks]
            sums = [np.bincount(block, held, size) for block, held in zip(blocks, held_out, strict=True)]
            beyond = np.array([float(each.sum()) for each in ends])
            return cls(np.array(count, dtype=np.float64), np.array(sums), share, on_all, beyond)

        return make

    def __add__(self, other: CrossLosses) -> CrossLosses:
        return CrossLosses(
            self.count + other.count,
            self.held_out + other.held_out,
            self.share + other.share,
            self.on_all + other.on_all,
            self.at_bounds + other.at_bounds,
        )

    def __mul__(self, weight: float) -> CrossLosses:
        return CrossLosses(
            self.count * weight,
            self.held_out * weight,
            self.share * weight,
            self.on_all * weight,
            self.at_bounds * weight,
        )


@dataclass(frozen=True, eq=False)
class MethodLoss:
    """The cross-validated loss of a method at a prior, as a share of the prior's entropy (Cllr at 1/2)."""

    deals: tuple[CrossLosses, ...]
    prior: float
    corrected: bool = True

    @classmethod
    def from_source(
        cls,
        source: ScoreSource,
        deals: Sequence[Folds],
        maps: Sequence[Mapping[Pair, BoundedMap]],
        full_map: BoundedMap,
        prior: float,
        *,
        corrected: bool = True,
    ) -> MethodLoss:
        """From the maps of each deal of the folds and the map fitted on everything; one pass.

        The source carries the columns of the folds.
        """
        summarize = both(
            *(
                CrossLosses.at(folds, fold_maps, full_map, prior)
                for folds, fold_maps in zip(deals, maps, strict=True)
            )
        )
        return cls(source.reduce(summarize).summaries, prior, corrected)

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
        gaps = []
        for deal in self.deals:
            share = deal.share / deal.count.sum(1, keepdims=True)
            used = share > 0  # a map that is used for no trial may lose infinitely much
            lost = np.multiply(share, deal.on_all[:, :-1], where=used, out=np.zeros(share.shape)).sum(1)
            gaps.append(self.weights @ (deal.on_all[:, -1] - lost))
        correction = float(np.mean(gaps))
        return max(crossed + correction, 0.0) if math.isfinite(correction) else crossed

    def standard_error(self, other: MethodLoss) -> float:
        """Of the difference in cross-validated loss, trials with a group in common being dependent."""
        if not (math.isfinite(self.crossed) and math.isfinite(other.crossed)):
            return math.inf
        (own, shared), (_, others) = covariance([self, other])
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
        return np.asarray(self.deals[0].at_bounds / self.deals[0].count.sum(1))

    @property
    def weights(self) -> FloatArray:
        """What the loss of one trial of each class weighs."""
        share = np.array([self.prior, 1.0 - self.prior]) / float(binary_entropy(self.prior))
        return np.asarray(share / self.deals[0].count.sum(1))


def covariance(methods: Sequence[MethodLoss]) -> FloatArray:
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
