"""KindLosses: the logarithmic loss of fused scores and its gradient, for each kind of trial."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.chunk_kinds import spoof_mask
from llrkit.core.special import sigmoid, softplus
from llrkit.core.summary import SummaryBase
from llrkit.scores import Scores

FusedScore = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""From scores of both systems, shape (n, 2), to one score and its derivatives by the parameters."""


@dataclass(frozen=True, eq=False)
class KindLosses(SummaryBase):
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
            sums = [_sums(fused, np.asarray(s, dtype=np.float64), sign, log_odds) for s, sign in groups]
            n, loss, gradient = zip(*sums, strict=True)
            return cls(np.array(n), np.array(loss), np.stack(gradient))

        return make

    def __add__(self, other: KindLosses) -> KindLosses:
        return KindLosses(self.n + other.n, self.loss + other.loss, self.gradient + other.gradient)

    def __mul__(self, weight: float) -> KindLosses:
        return KindLosses(self.n * weight, self.loss * weight, self.gradient * weight)

    def weighted(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Loss and gradient with these weights of the means over the kinds."""
        shares = np.divide(weights, self.n, out=np.zeros(3), where=self.n > 0)
        return float(shares @ self.loss), np.asarray(shares @ self.gradient)


def _sums(
    fused: FusedScore, scores: FloatArray, sign: float, log_odds: float
) -> tuple[float, float, FloatArray]:
    values, slopes = fused(scores)
    margin = sign * (values + log_odds)
    pull = sign * np.asarray(sigmoid(margin))
    # where the loss no longer falls, the score may be infinite: it pulls at nothing
    return float(len(values)), float(np.sum(softplus(margin))), np.where(pull == 0.0, 0.0, pull) @ slopes
