"""NewtonSums: loss, gradient and Hessian of a linear map under a scoring rule, for one Newton step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array, FloatArray
from llrkit.core.elementary_functions import blocks
from llrkit.core.loss_sums import LINEAR_ABOVE, log_of_products
from llrkit.core.scoring_rules import ScoringRule
from llrkit.core.summary_algebra import FieldwiseSums
from llrkit.scores import Scores

LOGARITHMIC = ScoringRule(1, 1)


def _blocks_for_sums(n: int) -> Iterator[slice]:
    """Blocks that stay in the cache, unless two threads would then wait for each other all the time."""
    return blocks(n, 1 << 15 if n < 1 << 19 else 1 << 17)


@dataclass(frozen=True, eq=False)
class ClassNewtonSums(FieldwiseSums):
    """Sums over the trials of one class at given parameters (K slopes, then the offset)."""

    n: float
    loss: float
    gradient: FloatArray
    hessian: FloatArray


@dataclass(frozen=True, eq=False)
class NewtonSums(FieldwiseSums):
    """One Newton step of logistic regression, or of another rule, from mergeable sums.

    The classes are kept apart; the objective at prior ``p`` is
    ``p * target.loss / target.n + (1 - p) * nontarget.loss / nontarget.n``.

    Examples
    --------
    >>> sums = NewtonSums.of(Scores([1.0, -1.0], [0.0]), [1.0, 0.0], log_odds=0.0)
    >>> sums.target.gradient  # d loss / d slope, d loss / d offset
    array([ 0.46211716, -1.        ])
    """

    target: ClassNewtonSums
    nontarget: ClassNewtonSums

    @classmethod
    def of(
        cls,
        scores: Scores,
        parameters: npt.ArrayLike,
        log_odds: float = 0.0,
        rule: ScoringRule = LOGARITHMIC,
        center: npt.ArrayLike = 0.0,
        scale: npt.ArrayLike = 1.0,
    ) -> NewtonSums:
        """The sums of a chunk at ``z = slopes . (score - center) / scale + offset + log_odds``."""
        w = np.asarray(parameters, dtype=np.float64)
        k = len(w) - 1
        shift, unit = (np.broadcast_to(np.asarray(x, dtype=np.float64), (k,)) for x in (center, scale))
        line = _Line(w, log_odds, shift, unit)
        if rule == LOGARITHMIC:
            return cls(
                _sums_of_log_rule(scores.target, line, -1.0), _sums_of_log_rule(scores.nontarget, line, 1.0)
            )
        return cls(
            _sums_of_any_rule(scores.target, line, rule.miss, rule.miss_derivatives),
            _sums_of_any_rule(scores.nontarget, line, rule.fa, rule.fa_derivatives),
        )

    @classmethod
    def at(
        cls,
        parameters: npt.ArrayLike,
        log_odds: float = 0.0,
        rule: ScoringRule = LOGARITHMIC,
        center: npt.ArrayLike = 0.0,
        scale: npt.ArrayLike = 1.0,
    ) -> Callable[[Scores], NewtonSums]:
        """A summarizer at given parameters."""
        return lambda chunk: cls.of(chunk, parameters, log_odds, rule, center, scale)


@dataclass(frozen=True)
class _Line:
    """The linear function whose parameters are looked for."""

    w: FloatArray
    log_odds: float
    center: FloatArray
    scale: FloatArray

    def of(self, values: Array, block: slice, sign: float = 1.0) -> tuple[list[FloatArray], FloatArray]:
        """Standardized columns of a block, and the line (negated for sign -1)."""
        columns = [values[block]] if values.ndim == 1 else [values[block, k] for k in range(values.shape[1])]
        columns = [
            (column - center) * (1.0 / scale)
            if (center, scale) != (0.0, 1.0)
            else column.astype(np.float64, copy=False)
            for column, center, scale in zip(columns, self.center, self.scale, strict=True)
        ]
        z = columns[0] * (sign * self.w[0])
        for column, slope in zip(columns[1:], self.w[1:-1], strict=True):
            z += (sign * slope) * column
        z += sign * (self.w[-1] + self.log_odds)
        return columns, z


def _sums_of_log_rule(values: Array, line: _Line, sign: float) -> ClassNewtonSums:
    """Sums of softplus(sign * z) and its derivatives: one exponential for all of them."""
    total = _zero_sums(len(line.w))
    for block in _blocks_for_sums(len(values)):
        columns, z = line.of(values, block, sign)
        loss = float(np.logaddexp(0.0, z).sum()) if z.max() > LINEAR_ABOVE else None
        odds = np.exp(np.minimum(z, 700.0, out=z), out=z)
        if loss is None:
            loss = log_of_products(odds, 1.0)
        below = 1.0 + odds
        p = np.divide(odds, below, out=odds)
        total += _block_sums(columns, p, np.divide(p, below, out=below), loss, sign)
    return total


def _sums_of_any_rule(
    values: Array,
    line: _Line,
    loss: Callable[[FloatArray], FloatArray],
    derivatives: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
) -> ClassNewtonSums:
    total = _zero_sums(len(line.w))
    for block in _blocks_for_sums(len(values)):
        columns, z = line.of(values, block)
        total += _block_sums(columns, *derivatives(z), float(loss(z).sum()))
    return total


def _zero_sums(size: int) -> ClassNewtonSums:
    return ClassNewtonSums(0, 0.0, np.zeros(size), np.zeros((size, size)))


def _block_sums(
    columns: list[FloatArray], first: FloatArray, second: FloatArray, loss: float, sign: float = 1.0
) -> ClassNewtonSums:
    # einsum, not dot: BLAS would start threads of its own inside our pool
    size = len(columns) + 1
    gradient, hessian = np.empty(size), np.empty((size, size))
    for i, column in enumerate(columns):
        gradient[i] = sign * np.einsum("i,i->", first, column)
        weighted = second * column
        for j in range(i + 1):
            hessian[i, j] = hessian[j, i] = np.einsum("i,i->", weighted, columns[j])
        hessian[i, -1] = hessian[-1, i] = weighted.sum()
    gradient[-1], hessian[-1, -1] = sign * first.sum(), second.sum()
    return ClassNewtonSums(len(first), loss, gradient, hessian)
