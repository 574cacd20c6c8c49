"""What depends on the order of scores only: EER, AUC, minimum costs, minimum Cllr.

Each metric has one definition, as a function of counted bins; the public function counts a source first.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit._warn import warn_caller
from llrkit.core.counting import count_bins
from llrkit.core.elementary_functions import LN2, blocks, softplus
from llrkit.core.pav_and_hull import PavBlocks, crossing, crossing_of_rejected, pav_blocks
from llrkit.core.pav_pooling import from_zero
from llrkit.core.score_bins import ScoreBins
from llrkit.errors import ReversedScoresWarning
from llrkit.metrics.separation import reversed_text, separation
from llrkit.scores import ScoreSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.theory.operating_points import OperatingPoint
from llrkit.theory.presets import Point, operating_point

_BINS_AT_A_TIME = 1 << 14
"""Bins of which temporary arrays are made together: small enough for the allocator to reuse them."""


@takes_labels
def eer(source: ScoreSource) -> float:
    """Equal error rate on the ROC convex hull (ROCCH-EER).

    The value where the hull meets Pmiss = Pfa; equals the maximum over priors of the minimum error rate
    (Brümmer & de Villiers 2013). :func:`eer_roc` gives the interpolated-ROC variant. Where targets score
    below non-targets beyond chance, a :class:`ReversedScoresWarning` tells the rate of the negated scores.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.eer(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])) == 3 / 13
    True
    """
    bins = count_bins(source)
    area = auc_from_bins(bins)
    if separation(bins, area).reversed:
        warn_caller(reversed_text(bins, area), ReversedScoresWarning)
    return eer_from_blocks(pav_blocks(bins))


def eer_from_blocks(blocks: PavBlocks) -> float:
    """ROCCH-EER of pooled bins."""
    hull = blocks.hull
    return crossing(hull.p_miss, hull.p_fa)


@takes_labels
def eer_roc(source: ScoreSource) -> float:
    """Equal error rate on the ROC itself, with straight lines between its points.

    Ties are pooled, so the order of the trials does not matter.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.eer_roc(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1]))
    0.25
    """
    return eer_roc_from_bins(count_bins(source))


def eer_roc_from_bins(bins: ScoreBins) -> float:
    """Interpolated-ROC EER of bins."""
    return crossing_of_rejected(from_zero(bins.target), [from_zero(bins.nontarget)])


@takes_labels
def prbep(source: ScoreSource) -> float:
    """Precision-recall break-even point: the number of misses where it equals that of false alarms.

    Taken on the ROC convex hull with counts instead of rates, as BOSARIS does.

    Examples
    --------
    >>> import llrkit as lk
    >>> round(lk.prbep(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])), 6)
    1.0
    """
    return prbep_from_blocks(pav_blocks(count_bins(source)))


def prbep_from_blocks(blocks: PavBlocks) -> float:
    """Break-even count of pooled bins."""
    hull = blocks.hull
    return crossing(hull.n_miss, hull.n_fa)


@takes_labels
def auc(source: ScoreSource) -> float:
    """Area under the ROC: the chance that a target scores above a non-target, ties counting one half.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.auc(lk.Scores([1, 2], [0, 1]))
    0.875
    """
    return auc_from_bins(count_bins(source))


def auc_from_bins(bins: ScoreBins) -> float:
    """AUC of bins."""
    wins, below = 0.0, bins.nontarget.dtype.type(0)
    for part in blocks(len(bins.low), _BINS_AT_A_TIME):
        nontarget = bins.nontarget[part]
        sums = below + np.cumsum(nontarget)
        # 2 * below + nontarget keeps whole numbers whole; one row of the sum may exceed 2^63, hence floats
        wins += float((bins.target[part].astype(np.float64) * (2 * sums - nontarget)).sum())
        below = sums[-1]
    return wins / 2.0 / bins.n_target / bins.n_nontarget


@takes_labels
def min_dcf(source: ScoreSource, point: Point) -> float:
    """Smallest normalized detection cost that any threshold gives on these trials (minDCF).

    ``min over t of (c_miss p Pmiss(t) + c_fa (1 - p) Pfa(t)) / default cost``.

    Parameters
    ----------
    point
        Operating point: a prior, ``(prior, c_miss, c_fa)``, an :class:`llrkit.OperatingPoint`, or the name
        of a preset.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.min_dcf(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1]), lk.OperatingPoint(0.5))
    0.45
    """
    point = operating_point(point)
    return min_dcf_from_blocks(pav_blocks(count_bins(source)), point)


def min_dcf_from_blocks(blocks: PavBlocks, point: OperatingPoint) -> float:
    """Minimum normalized DCF of pooled bins."""
    p_miss, p_fa = best_errors(blocks, [point.log_odds])
    return point.cost(float(p_miss[0]), float(p_fa[0]))


def best_errors(blocks: PavBlocks, log_odds: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Error rates of the best threshold at each prior log-odds.

    The best vertex of the convex hull rejects the blocks whose PAV LLR is below the Bayes threshold.
    """
    hull = blocks.hull
    vertex = np.searchsorted(blocks.llr, -np.asarray(log_odds, dtype=np.float64))
    return hull.p_miss[vertex], hull.p_fa[vertex]


@takes_labels
def min_cllr(source: ScoreSource) -> float:
    """Cllr after the optimal monotone calibration of the same trials (PAV, no Laplace end points).

    The cost of imperfect discrimination alone, in bits; biased low on small sets.

    Examples
    --------
    >>> import llrkit as lk
    >>> round(lk.min_cllr(lk.Scores([-1, 0.5, 2, 3], [-3, -2, -1, 0, 1])), 13)
    0.5353940099985
    """
    return min_cllr_from_blocks(pav_blocks(count_bins(source)))


def min_cllr_from_blocks(blocks: PavBlocks) -> float:
    """Minimum Cllr of pooled bins, in bits."""
    target, nontarget = block_losses(blocks, [0.0])
    return float(target[0] + nontarget[0]) / (2.0 * LN2)


def block_losses(blocks: PavBlocks, log_odds: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Mean logarithmic loss of the PAV LLRs of each class at each prior log-odds, in nats."""
    llr = blocks.llr
    # a block at -inf holds no targets and one at inf no non-targets: their losses are 0 times inf, that is 0
    with_target, with_nontarget = blocks.target > 0, blocks.nontarget > 0
    t_llr, t_share = llr[with_target], blocks.target[with_target] / blocks.target.sum()
    n_llr, n_share = llr[with_nontarget], blocks.nontarget[with_nontarget] / blocks.nontarget.sum()
    odds = np.atleast_1d(np.asarray(log_odds, dtype=np.float64))
    target = np.array([(t_share * softplus(-t_llr - shift)).sum() for shift in odds])
    nontarget = np.array([(n_share * softplus(n_llr + shift)).sum() for shift in odds])
    return target, nontarget
