"""Do the scores tell the classes apart, and which way? A rank test of AUC = 1/2."""

from __future__ import annotations

import math
from dataclasses import dataclass

from llrkit.core.pav_and_hull import crossing, error_path, pav_blocks
from llrkit.core.ranking import Ranking
from llrkit.core.score_bins import ScoreBins

BEYOND_CHANCE = 2.576
"""Standard errors from 1/2, two-sided 1 %."""


@dataclass(frozen=True)
class Separation:
    """AUC beside 1/2, with the standard error it has if scores say nothing about the class."""

    auc: float
    standard_error: float

    @property
    def reversed(self) -> bool:
        """Targets score below non-targets, beyond chance."""
        return self.auc - 0.5 < -BEYOND_CHANCE * self.standard_error

    @property
    def none(self) -> bool:
        """AUC cannot be told from 1/2."""
        return abs(self.auc - 0.5) <= BEYOND_CHANCE * self.standard_error

    @property
    def would_show(self) -> float:
        """The smallest AUC above 1/2 that would have been told from it."""
        return 0.5 + BEYOND_CHANCE * self.standard_error


def separation(ranking: Ranking, auc: float) -> Separation:
    """The Mann-Whitney test of ordered trials; ties between the classes are taken into account.

    Examples
    --------
    >>> import numpy as np
    >>> from llrkit.core.ranking import RankedBins
    >>> bins = ScoreBins(np.array([20, 0]), np.array([0, 20]), *np.array([[0.0, 1.0]] * 2))
    >>> separation(RankedBins(bins), auc=0.0).reversed
    True
    """
    n_t, n_n = float(ranking.n_target), float(ranking.n_nontarget)
    total = n_t + n_n
    ties = ranking.tie_sum / (total * max(total - 1.0, 1.0))
    variance = max(total + 1.0 - ties, 0.0) / (12.0 * n_t * n_n)
    return Separation(auc, math.sqrt(variance))


def reversed_bins(bins: ScoreBins) -> ScoreBins:
    """The bins of the negated scores."""
    return ScoreBins(bins.target[::-1], bins.nontarget[::-1], -bins.high[::-1], -bins.low[::-1])


def eer_reversed(bins: ScoreBins) -> float:
    """ROCCH-EER of the negated scores.

    Examples
    --------
    >>> import numpy as np
    >>> eer_reversed(ScoreBins(np.array([20, 0]), np.array([0, 20]), *np.array([[0.0, 1.0]] * 2)))
    0.0
    """
    hull = error_path(pav_blocks(reversed_bins(bins)))
    return crossing(hull.p_miss, hull.p_fa)


def reversed_text(bins: ScoreBins, auc: float) -> str:
    """What is wrong, and what the equal error rate would be."""
    return (
        f"targets score below non-targets (AUC {auc:.3f}): is a higher score really more target-like? "
        f"The other way round the EER is {100 * eer_reversed(bins):.2f} %"
    )
