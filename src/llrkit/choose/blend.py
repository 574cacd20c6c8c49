"""How much each method counts in a blend: the weights with the lowest cross-validated loss.

With few speakers cross-validation cannot tell several methods apart, and the one that comes out best owes it
to chance. The mean of what methods say never costs more than they do on average, so all that may be the best
share the weight, and to change that the evidence must be more than chance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.calibrate.maps import Map
from llrkit.choose.expected_loss import MethodLoss, covariance
from llrkit.choose.folds import Folds, Pair, crossed_llrs
from llrkit.core.minimize import newton_of_shares
from llrkit.core.newton_sums import NewtonSums
from llrkit.core.special import logit
from llrkit.scores import Scores, ScoreSource

_CERTAIN = 1e5  # an LLR as good as infinite, with which one can still compute
_CLOSE = 1e-8  # to the minimum, in Cllr
_NOTHING = 0.01  # a weight that is not worth a map
_AT_ONCE = 1 << 16  # trials: the LLRs of all methods are in memory at the same time


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
    taken to be independent.

    Without further evidence all methods that are not out of the question count alike; out of the question is
    one that loses half as much again as the best and more than three standard errors more. What other
    weights gain is uncertain: to first order its variance is ``d' C d``, where d is by how much the weights
    change and C the covariance of the methods' losses. Added to the loss is this variance, divided by the
    standard error of what the best method gains over equal weights.

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
    correction = np.array([method.cllr - method.crossed for method in losses.values()])
    bent = np.diag(np.maximum(2.0 * correction, 0.0))  # where it bends down a step must not rely on it
    start, price = _start_and_penalty(list(losses.values()))
    weights, log_odds = first.weights / len(deals), float(logit(first.prior))
    methods = [[maps[name][i] for name in names] for i in range(len(deals))]

    def objective(shares: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        sums = source.reduce(lambda chunk: _crossed_sums(chunk, deals, methods, shares, log_odds))
        target, nontarget, off = sums.target, sums.nontarget, shares - start
        gradient = weights[0] * target.gradient[:-1] + weights[1] * nontarget.gradient[:-1]
        hessian = weights[0] * target.hessian[:-1, :-1] + weights[1] * nontarget.hessian[:-1, :-1]
        return (
            float(weights @ [target.loss, nontarget.loss] + correction @ shares**2 + off @ price @ off),
            gradient + 2.0 * (correction * shares + price @ off),
            hessian + 2.0 * price + bent,
        )

    minimum = newton_of_shares(objective, start, tolerance=_CLOSE)
    off, counts = minimum.x - start, minimum.x > _NOTHING
    shares = minimum.x[counts] / minimum.x[counts].sum()
    kept = [name for name, counting in zip(names, counts, strict=True) if counting]
    loss = max(minimum.value - float(off @ price @ off), 0.0)
    return Blend(dict(zip(kept, shares.tolist(), strict=True)), loss)


def _start_and_penalty(methods: Sequence[MethodLoss]) -> tuple[FloatArray, FloatArray]:
    """The same share for every method that may be the best, and what it costs to leave these shares."""
    values, vectors = np.linalg.eigh(covariance(methods))
    cov = (vectors * np.maximum(values, 0.0)) @ vectors.T  # dependent trials may leave a negative variance
    losses, units = np.array([method.cllr for method in methods]), np.eye(len(methods))
    best = units[losses.argmin()]

    def error(difference: FloatArray) -> float:
        return math.sqrt(max(float(difference @ cov @ difference), _CLOSE**2))

    far = losses - losses.min() > 3.0 * np.array([error(unit - best) for unit in units])
    possible = ~far | (losses <= 1.5 * losses.min())
    return possible / possible.sum(), np.asarray(cov / error(best - 1.0 / len(methods)))


def _crossed_sums(
    chunk: Scores,
    deals: Sequence[Folds],
    methods: Sequence[Sequence[Mapping[Pair, Map]]],
    shares: FloatArray,
    log_odds: float,
) -> NewtonSums:
    """Loss of the blend and its derivatives, each trial counted once for each deal of the folds."""
    sums = []
    for block in list(chunk.chunks(_AT_ONCE)) or [chunk]:  # which may have nothing left
        for folds, maps in zip(deals, methods, strict=True):
            target, nontarget = crossed_llrs(block, folds, maps)
            llrs = Scores.part(target.clip(-_CERTAIN, _CERTAIN), nontarget.clip(-_CERTAIN, _CERTAIN))
            sums.append(NewtonSums.of(llrs, np.append(shares, 0.0), log_odds))
    return reduce(add, sums)
