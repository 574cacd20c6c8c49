"""What depends on the order of scores only: EER, AUC, minimum costs, minimum Cllr.

Each metric has one definition, as a function of PAV blocks or of a ranking; the public function counts a
source first.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit._warn import warn_caller
from llrkit.core.counting import count_blocks, rank
from llrkit.core.elementary_functions import LN2, softplus
from llrkit.core.pav_and_hull import PavBlocks, crossing, crossing_of_rejected
from llrkit.core.ranking import Ranking
from llrkit.errors import ReversedScoresWarning
from llrkit.metrics.separation import reversed_text, separation
from llrkit.scores import ScoreSource
from llrkit.scores.scores_and_labels import takes_labels
from llrkit.theory.operating_points import OperatingPoint
from llrkit.theory.presets import Point, operating_point


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
    ranking = rank(source)
    area = auc_from_ranking(ranking)
    if separation(ranking, area).reversed:
        warn_caller(reversed_text(ranking.bins, area), ReversedScoresWarning)
    return eer_from_blocks(ranking.blocks)


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
    return eer_roc_from_ranking(rank(source))


def eer_roc_from_ranking(ranking: Ranking) -> float:
    """Interpolated-ROC EER of ordered trials."""
    missed, rejected = ranking.rejected_around_eer
    return crossing_of_rejected(missed, [rejected])


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
    return prbep_from_blocks(count_blocks(source))


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
    return auc_from_ranking(rank(source))


def auc_from_ranking(ranking: Ranking) -> float:
    """AUC of ordered trials."""
    return ranking.doubled_wins / 2.0 / ranking.n_target / ranking.n_nontarget


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
    return min_dcf_from_blocks(count_blocks(source), point)


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
    return min_cllr_from_blocks(count_blocks(source))


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
