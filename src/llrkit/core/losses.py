"""LossSums: sums of logarithmic losses at given priors and error counts at given thresholds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from llrkit.core.special import FloatArray
from llrkit.core.summary import SummaryBase
from llrkit.scores import Scores

# Above this, log(1 + e^x) equals x in float64; below it, 16 factors 1 + e^x still multiply without overflow.
_LINEAR_ABOVE = 37.0
_BLOCK = 16


def softplus_sums(ascending: FloatArray, shifts: npt.ArrayLike) -> FloatArray:
    """``sum(log(1 + exp(x + shift)))`` over sorted ``x``, for each shift.

    Logarithms are taken of products of 16 factors instead of each factor, and the products are carried as
    ``product - 1`` so that small terms keep all their digits: (1+a)(1+b) - 1 = a + b + ab.

    Examples
    --------
    >>> softplus_sums(np.array([-np.inf, 0.0, 800.0]), [0.0]) - np.log(2.0)
    array([800.])
    """
    shifts = np.atleast_1d(np.asarray(shifts, dtype=np.float64))
    sums = np.zeros(len(shifts))
    if len(ascending) == 0:
        return sums
    # e^x is shared by all shifts; where it overflows every sensible shift is in the linear part
    n_exp = int(np.searchsorted(ascending, 700.0))
    odds = np.exp(ascending[:n_exp])
    for i, shift in enumerate(shifts):
        linear = int(np.searchsorted(ascending, _LINEAR_ABOVE - shift))
        split = min(linear, n_exp)
        sums[i] = _log_of_products(odds[:split], np.exp(shift))
        sums[i] += np.logaddexp(0.0, ascending[split:linear] + shift).sum()
        sums[i] += (ascending[linear:] + shift).sum()
    return sums


def _log_of_products(odds: FloatArray, factor: float) -> float:
    whole = len(odds) // _BLOCK * _BLOCK
    total = float(np.log1p(odds[whole:] * factor).sum())
    if whole:
        u = odds[:whole] * factor if factor != 1.0 else odds[:whole]
        while len(u) > whole // _BLOCK:
            half = len(u) // 2
            product = u[:half] * u[half:]
            product += u[:half]
            product += u[half:]
            u = product
        total += float(np.log1p(u).sum())
    return total


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
    n_miss: npt.NDArray[Any]
    n_fa: npt.NDArray[Any]

    @classmethod
    def of(cls, scores: Scores, log_odds: npt.ArrayLike = 0.0, thresholds: npt.ArrayLike = ()) -> LossSums:
        """The losses of a chunk."""
        log_odds = np.atleast_1d(np.asarray(log_odds, dtype=np.float64))
        thresholds = np.atleast_1d(np.asarray(thresholds, dtype=np.float64))
        target, nontarget = scores.sorted_target, scores.sorted_nontarget
        return cls(
            n_target=len(target),
            n_nontarget=len(nontarget),
            log_odds=log_odds,
            target_loss=softplus_sums(-target[::-1], -log_odds),
            nontarget_loss=softplus_sums(nontarget, log_odds),
            thresholds=thresholds,
            n_miss=np.searchsorted(target, thresholds, side="left"),
            n_fa=len(nontarget) - np.searchsorted(nontarget, thresholds, side="left"),
        )

    @classmethod
    def at(
        cls, log_odds: npt.ArrayLike = 0.0, thresholds: npt.ArrayLike = ()
    ) -> Callable[[Scores], LossSums]:
        """A summariser for given priors and thresholds.

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
        return LossSums(
            self.n_target * weight,
            self.n_nontarget * weight,
            self.log_odds,
            self.target_loss * weight,
            self.nontarget_loss * weight,
            self.thresholds,
            self.n_miss * weight,
            self.n_fa * weight,
        )

    def at_some(self, start: int, stop: int | None) -> LossSums:
        """The same losses with only the thresholds from ``start`` to ``stop``."""
        part = slice(start, stop)
        return replace(self, thresholds=self.thresholds[part], n_miss=self.n_miss[part], n_fa=self.n_fa[part])

    @property
    def p_miss(self) -> FloatArray:
        """Miss rate at each threshold."""
        return np.asarray(self.n_miss / self.n_target)

    @property
    def p_fa(self) -> FloatArray:
        """False-alarm rate at each threshold."""
        return np.asarray(self.n_fa / self.n_nontarget)
