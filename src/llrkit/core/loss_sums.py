"""LossSums: sums of logarithmic losses at given priors and error counts at given thresholds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array, FloatArray
from llrkit.core.elementary_functions import BLOCK, blocks
from llrkit.core.score_index import ScoreIndex, score_indexes
from llrkit.core.score_rows import ScoreRows, score_rows
from llrkit.core.summary_algebra import SummaryBase
from llrkit.core.trial_counts import BelowCounts
from llrkit.scores import Scores

# Above this, log(1 + e^x) equals x in float64; below it, 16 factors 1 + e^x still multiply without overflow.
LINEAR_ABOVE = 37.0
_FACTORS = 16
_WITHOUT_PRODUCTS = 1 << 10  # so few logarithms take no longer than the calls for products


_NONE = np.zeros(0, dtype=np.int64)
_NOWHERE = BelowCounts(np.zeros(0), _NONE, _NONE)


def softplus_sums(values: Array, shifts: npt.ArrayLike) -> FloatArray:
    """``sum(log(1 + exp(x + shift)))`` over all ``x``, for each shift.

    Logarithms are taken of products of 16 factors instead of each factor, and the products are carried as
    ``product - 1`` so that small terms keep all their digits: (1+a)(1+b) - 1 = a + b + ab.

    Examples
    --------
    >>> softplus_sums(np.array([-np.inf, 0.0, 800.0]), [0.0]) - np.log(2.0)
    array([800.])
    """
    shifts = np.atleast_1d(np.asarray(shifts, dtype=np.float64))
    if len(values) == 0:
        return np.zeros(len(shifts))
    limit = LINEAR_ABOVE - float(shifts.max())
    large = np.empty(0)
    if values.max() > limit:
        above = values > limit
        values, large = values[~above], values[above].astype(np.float64)
    sums = np.zeros(len(shifts))
    factors = [float(np.exp(shift)) for shift in shifts]
    odds = np.empty(min(BLOCK, len(values)))
    for block in blocks(len(values)):
        block_odds = odds[: block.stop - block.start]
        np.exp(values[block], out=block_odds, dtype=np.float64)  # shared by all shifts
        for i, factor in enumerate(factors):
            sums[i] += log_of_products(block_odds, factor)
    for i, shift in enumerate(shifts if len(large) else ()):
        sums[i] += np.logaddexp(0.0, large + shift).sum()
    return sums


def log_of_products(odds: FloatArray, factor: float) -> float:
    """``sum(log(1 + factor * odds))``, by logarithms of products of 16; odds up to e^37."""
    if len(odds) <= _WITHOUT_PRODUCTS:
        return float(np.log1p(odds * factor).sum())
    whole = len(odds) // _FACTORS * _FACTORS
    total = float(np.log1p(odds[whole:] * factor).sum())
    if whole:
        u = odds[:whole] * factor if factor != 1.0 else odds[:whole]
        while len(u) > whole // _FACTORS:
            half = len(u) // 2
            product = u[:half] * u[half:]
            product += u[:half]
            product += u[half:]
            u = product
        total += float(np.log1p(u).sum())
    return total


def _losses(rows: ScoreRows | None, index: ScoreIndex, shifts: FloatArray, *, negated: bool) -> FloatArray:
    """The sums over one class, of the negated scores if asked for."""
    values = index.summands if rows is None else rows.rest
    sums = softplus_sums(-values if negated else values, shifts)
    if rows is not None:
        sums += [rows.softplus_sum(float(shift), negated=negated) for shift in shifts]
    return sums


@dataclass(frozen=True, eq=False)
class LossSums(SummaryBase):
    """Soft and hard losses of scores read as LLRs.

    ``target_loss[i]`` is the sum over targets of ``log(1 + exp(-(x + log_odds[i])))``, ``nontarget_loss``
    likewise of ``log(1 + exp(x + log_odds[i]))``; ``n_miss[j]`` counts targets below ``thresholds[j]`` and
    ``n_fa[j]`` non-targets at or above it.
    """

    n_target: float
    n_nontarget: float
    log_odds: FloatArray
    target_loss: FloatArray
    nontarget_loss: FloatArray
    thresholds: FloatArray
    n_miss: Array
    n_fa: Array

    @classmethod
    def of(cls, scores: Scores, log_odds: npt.ArrayLike = 0.0, thresholds: npt.ArrayLike = ()) -> LossSums:
        """The losses of a chunk."""
        log_odds = np.atleast_1d(np.asarray(log_odds, dtype=np.float64))
        thresholds = np.atleast_1d(np.asarray(thresholds, dtype=np.float64))
        below = BelowCounts.of(scores, thresholds) if len(thresholds) else _NOWHERE
        target, nontarget = score_indexes(scores)
        t_rows, n_rows = score_rows(scores)
        return cls(
            n_target=scores.n_target,
            n_nontarget=scores.n_nontarget,
            log_odds=log_odds,
            target_loss=_losses(t_rows, target, -log_odds, negated=True),
            nontarget_loss=_losses(n_rows, nontarget, log_odds, negated=False),
            thresholds=thresholds,
            n_miss=below.target,
            n_fa=scores.n_nontarget - below.nontarget if len(thresholds) else below.nontarget,
        )

    @classmethod
    def at(
        cls, log_odds: npt.ArrayLike = 0.0, thresholds: npt.ArrayLike = ()
    ) -> Callable[[Scores], LossSums]:
        """A summarizer for given priors and thresholds.

        Examples
        --------
        >>> losses = Scores([2.0, -1.0], [-3.0]).reduce(LossSums.at(thresholds=[0.0]))
        >>> losses.n_miss, losses.n_fa
        (array([1]), array([0]))
        """
        return lambda chunk: cls.of(chunk, log_odds, thresholds)

    def __add__(self, other: LossSums) -> LossSums:
        return LossSums(
            self.n_target + other.n_target,
            self.n_nontarget + other.n_nontarget,
            self.log_odds,
            self.target_loss + other.target_loss,
            self.nontarget_loss + other.nontarget_loss,
            self.thresholds,
            self.n_miss + other.n_miss,
            self.n_fa + other.n_fa,
        )

    def __mul__(self, weight: float) -> LossSums:
        return self.weighted(weight, weight)

    def weighted(self, target: float, nontarget: float) -> LossSums:
        """Count every target ``target`` times and every non-target ``nontarget`` times."""
        return LossSums(
            self.n_target * target,
            self.n_nontarget * nontarget,
            self.log_odds,
            self.target_loss * target,
            self.nontarget_loss * nontarget,
            self.thresholds,
            self.n_miss * target,
            self.n_fa * nontarget,
        )

    def with_errors(self, thresholds: FloatArray, target_below: Array, nontarget_below: Array) -> LossSums:
        """The same losses with the errors at other thresholds, from the trials below each of them."""
        return LossSums(
            self.n_target, self.n_nontarget, self.log_odds, self.target_loss, self.nontarget_loss,
            thresholds, target_below, self.n_nontarget - nontarget_below,
        )  # fmt: skip

    def slice_thresholds(self, start: int, stop: int | None) -> LossSums:
        """The same losses with only the thresholds from ``start`` to ``stop``."""
        chosen = slice(start, stop)
        return replace(
            self, thresholds=self.thresholds[chosen], n_miss=self.n_miss[chosen], n_fa=self.n_fa[chosen]
        )

    @property
    def p_miss(self) -> FloatArray:
        """Miss rate at each threshold."""
        return np.asarray(self.n_miss / self.n_target)

    @property
    def p_fa(self) -> FloatArray:
        """False-alarm rate at each threshold."""
        return np.asarray(self.n_fa / self.n_nontarget)
