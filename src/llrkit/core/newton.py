"""NewtonSums: loss, gradient and Hessian of a linear map under a scoring rule, for one Newton step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from llrkit.core.rules import ScoringRule
from llrkit.core.special import FloatArray
from llrkit.core.summary import SummaryBase
from llrkit.scores import Scores

LOGARITHMIC = ScoringRule(1, 1)


@dataclass(frozen=True, eq=False)
class ClassNewton(SummaryBase):
    """Sums over the trials of one class at given parameters (K slopes, then the offset)."""

    n: float
    loss: float
    gradient: FloatArray
    hessian: FloatArray

    def __add__(self, other: ClassNewton) -> ClassNewton:
        return ClassNewton(
            self.n + other.n,
            self.loss + other.loss,
            self.gradient + other.gradient,
            self.hessian + other.hessian,
        )

    def __mul__(self, weight: float) -> ClassNewton:
        return ClassNewton(self.n * weight, self.loss * weight, self.gradient * weight, self.hessian * weight)


@dataclass(frozen=True, eq=False)
class NewtonSums(SummaryBase):
    """One Newton step of logistic regression, or of another rule, from mergeable sums.

    The classes are kept apart; the objective at prior ``p`` is
    ``p * target.loss / target.n + (1 - p) * nontarget.loss / nontarget.n``.

    Examples
    --------
    >>> sums = NewtonSums.of(Scores([1.0, -1.0], [0.0]), [1.0, 0.0], log_odds=0.0)
    >>> sums.target.gradient  # d loss / d slope, d loss / d offset
    array([ 0.46211716, -1.        ])
    """

    target: ClassNewton
    nontarget: ClassNewton

    @classmethod
    def of(
        cls,
        scores: Scores,
        parameters: npt.ArrayLike,
        log_odds: float = 0.0,
        rule: ScoringRule = LOGARITHMIC,
    ) -> NewtonSums:
        """The sums of a chunk at ``z = slopes . score + offset + log_odds``."""
        w = np.asarray(parameters, dtype=np.float64)
        return cls(
            _class_sums(scores.target, w, log_odds, rule.miss, rule.miss_derivatives),
            _class_sums(scores.nontarget, w, log_odds, rule.fa, rule.fa_derivatives),
        )

    @classmethod
    def at(
        cls, parameters: npt.ArrayLike, log_odds: float = 0.0, rule: ScoringRule = LOGARITHMIC
    ) -> Callable[[Scores], NewtonSums]:
        """A summariser at given parameters."""
        return lambda chunk: cls.of(chunk, parameters, log_odds, rule)

    def __add__(self, other: NewtonSums) -> NewtonSums:
        return NewtonSums(self.target + other.target, self.nontarget + other.nontarget)

    def __mul__(self, weight: float) -> NewtonSums:
        return NewtonSums(self.target * weight, self.nontarget * weight)


def _class_sums(
    values: npt.NDArray[Any],
    w: FloatArray,
    log_odds: float,
    loss: Callable[[FloatArray], FloatArray],
    derivatives: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
) -> ClassNewton:
    columns = [values] if values.ndim == 1 else [values[:, k] for k in range(values.shape[1])]
    columns = [column.astype(np.float64, copy=False) for column in columns]
    z = np.full(len(values), w[-1] + log_odds)
    for column, slope in zip(columns, w[:-1], strict=True):
        z += slope * column
    first, second = derivatives(z)
    # sums of products one column at a time: BLAS would start threads of its own inside our pool
    size = len(columns) + 1
    gradient, hessian = np.empty(size), np.empty((size, size))
    for i, column in enumerate(columns):
        gradient[i] = (first * column).sum()
        weighted = second * column
        for j in range(i + 1):
            hessian[i, j] = hessian[j, i] = (weighted * columns[j]).sum()
        hessian[i, -1] = hessian[-1, i] = weighted.sum()
    gradient[-1], hessian[-1, -1] = first.sum(), second.sum()
    return ClassNewton(len(values), float(loss(z).sum()), gradient, hessian)
