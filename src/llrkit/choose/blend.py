"""How much each method counts in a blend: the weights with the lowest cross-validated loss.

A single method is a blend too, so the weights that are found never lose more in cross-validation than the
best of the methods, nor than logistic regression where that is one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.calibrate.maps import Map
from llrkit.choose.cross_validated_loss import MethodLoss
from llrkit.choose.folds import Folds, Pair, crossed_llrs
from llrkit.core.elementary_functions import logit
from llrkit.core.newton_minimizer import SHARES, newton
from llrkit.core.newton_sums import NewtonSums
from llrkit.core.summary_algebra import SummaryBase
from llrkit.scores import Scores, ScoreSource

_CLOSE = 1e-8  # to the minimum, in Cllr
_NOTHING = 0.01  # a weight that is not worth a map
_AT_ONCE = 1 << 16  # trials: the LLRs of all methods are in memory at the same time
_KEPT = 1 << 23  # LLRs that are kept from one step to the next; more are made again


@dataclass(frozen=True)
class Blend:
    """The weights of methods, and the loss that cross-validation expects of their weighted mean."""

    weights: Mapping[str, float]
    """Of the methods that count."""
    cllr: float
    """Slightly too low: the weights are those that make it low."""


def best_blend(
    source: ScoreSource,
    deals: Sequence[Folds],
    maps: Mapping[str, Sequence[Mapping[Pair, Map]]],
    losses: Mapping[str, MethodLoss],
) -> Blend:
    """The weights w of methods with the lowest cross-validated loss of their weighted mean LLR.

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
    correction = single - np.array([method.crossed for method in losses.values()])
    bent = np.diag(np.maximum(2.0 * correction, 0.0))  # where it bends down a step must not rely on it
    weights, log_odds = first.weights / len(deals), float(logit(first.prior))
    methods = [[maps[name][i] for name in names] for i in range(len(deals))]

    n_llrs = float(first.deals[0].count.sum()) * len(deals) * len(names)
    keep = n_llrs <= _KEPT and source.roles.weight is None
    kept_llrs = source.reduce(CrossedLlrs.at(deals, methods)) if keep else None

    def objective(shares: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        if kept_llrs is not None:
            sums = kept_llrs.sums(shares, log_odds)
        else:
            make = CrossedLlrs.at(deals, methods)
            sums = source.reduce(lambda chunk: _blend_sums_by_block(chunk, make, shares, log_odds))
        target, nontarget = sums.target, sums.nontarget
        gradient = weights[0] * target.gradient[:-1] + weights[1] * nontarget.gradient[:-1]
        hessian = weights[0] * target.hessian[:-1, :-1] + weights[1] * nontarget.hessian[:-1, :-1]
        return (
            float(weights @ [target.loss, nontarget.loss] + correction @ shares**2),
            gradient + 2.0 * correction * shares,
            hessian + bent,
        )

    best = np.eye(len(names))[single.argmin()]
    even = np.full(len(names), 1.0 / len(names))
    for start in (even, 0.9 * best + 0.1 * even):
        found = newton(objective, start, over=SHARES, tolerance=_CLOSE).x
        counts = found > _NOTHING
        shares = np.where(counts, found, 0.0) / found[counts].sum()
        loss = objective(shares)[0]
        if loss <= single.min():
            break
    else:
        shares, loss = best, float(single.min())
    kept = {name: float(share) for name, share in zip(names, shares, strict=True) if share > 0.0}
    return Blend(kept, max(loss, 0.0))


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
            llrs = [crossed_llrs(chunk, folds, maps) for folds, maps in zip(deals, methods, strict=True)]
            return cls(*(np.stack(of_class, axis=1) for of_class in zip(*llrs, strict=True)))

        return make

    def sums(self, shares: FloatArray, log_odds: float) -> NewtonSums:
        """Loss of the blend and its derivatives, each trial counted once for each deal of the folds."""
        parts = [
            NewtonSums.of(
                Scores.part(self.target[:, deal], self.nontarget[:, deal]), np.append(shares, 0.0), log_odds
            )
            for deal in range(self.target.shape[1])
        ]
        return reduce(add, parts)

    def __add__(self, other: CrossedLlrs) -> CrossedLlrs:
        return CrossedLlrs(
            np.concatenate([self.target, other.target]), np.concatenate([self.nontarget, other.nontarget])
        )

    def __mul__(self, weight: float) -> CrossedLlrs:
        raise TypeError("LLRs that are kept have no weight")


def _blend_sums_by_block(
    chunk: Scores, make: Callable[[Scores], CrossedLlrs], shares: FloatArray, log_odds: float
) -> NewtonSums:
    blocks = list(chunk.chunks(_AT_ONCE)) or [chunk]  # which may have nothing left
    return reduce(add, (make(block).sums(shares, log_odds) for block in blocks))
