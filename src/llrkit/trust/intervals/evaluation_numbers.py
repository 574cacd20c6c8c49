"""All numbers of an evaluation again, with some of its trials left out or drawn several times."""

from __future__ import annotations

import numpy as np

from llrkit._arrays import FloatArray
from llrkit.core.elementary_functions import LN2, probit
from llrkit.core.pav_and_hull import error_path
from llrkit.core.ranking import RankedBins
from llrkit.core.score_bins import ScoreBins
from llrkit.metrics import discrimination
from llrkit.metrics.det_shape import det_slope_from_bins
from llrkit.metrics.measurements import Measurements

MOST_CELLS = 2_000
"""Cells of the score in which trials are counted by speaker; fewer distinct scores are counted exactly."""


def decision_thresholds(result: Measurements) -> FloatArray:
    """The thresholds of the operating points and, last, the one fixed on other trials if there is one."""
    fixed = [result.fixed.threshold] if result.fixed is not None else []
    return np.array([*(point.point.threshold for point in result.points), *fixed], dtype=np.float64)


def evaluation_numbers(
    bins: ScoreBins,
    mean_loss: tuple[float, float],
    rates: tuple[FloatArray, FloatArray],
    result: Measurements,
    *,
    slope: bool = False,
) -> dict[str, float]:
    """The numbers that an evaluation of these counts would have, by name.

    ``mean_loss`` is the mean logarithmic loss of each class in nats, ``rates`` are Pmiss and Pfa at the
    :func:`decision_thresholds`.
    """
    ranking = RankedBins(bins)
    blocks = ranking.blocks
    numbers = {
        "cllr": (mean_loss[0] + mean_loss[1]) / (2.0 * LN2),
        "min_cllr": discrimination.min_cllr_from_blocks(blocks),
        "auc": discrimination.auc_from_ranking(ranking),
        "eer": discrimination.eer_from_blocks(blocks),
        "eer_roc": discrimination.eer_roc_from_ranking(ranking),
    }
    if slope:
        numbers["det_slope"] = det_slope_from_bins(bins).slope
    p_miss, p_fa = rates
    best = discrimination.best_errors(blocks, [point.point.log_odds for point in result.points])
    for i, point in enumerate(result.points):
        miss, fa = float(p_miss[i]), float(p_fa[i])
        numbers[f"points.{i}.p_miss"], numbers[f"points.{i}.p_fa"] = miss, fa
        numbers[f"points.{i}.act_dcf"] = point.point.cost(miss, fa)
        numbers[f"points.{i}.min_dcf"] = point.point.cost(float(best[0][i]), float(best[1][i]))
    for i, primary in enumerate(result.primaries):
        for kind in ("min", "act"):
            costs = [numbers[f"points.{member}.{kind}_dcf"] for member in primary.members]
            numbers[f"primaries.{i}.{kind}"] = float(np.mean(costs))
    if result.fixed is not None:
        miss, fa = float(p_miss[-1]), float(p_fa[-1])
        numbers["fixed_threshold.p_miss"], numbers["fixed_threshold.p_fa"] = miss, fa
        numbers["fixed_threshold.hter"] = (miss + fa) / 2.0
    return numbers


def score_cuts(result: Measurements, most: int = MOST_CELLS) -> FloatArray:
    """Where scores are cut into cells so that counts in the cells give the numbers of an evaluation.

    All distinct scores that matter if they are at most ``most``. Otherwise the ends of the PAV blocks, which
    keep minimum costs and minimum Cllr of all trials exact, and scores that are close to each other along the
    ROC, both in shares of trials and on probit axes, which looks into the corners.
    """
    bins, thresholds = result.summaries.bins, decision_thresholds(result)
    lows = bins.low
    if len(lows) > most:
        roc = error_path(bins)
        p_miss, p_fa = roc.p_miss[1:-1], roc.p_fa[1:-1]
        shares = p_miss - p_fa
        smallest = 0.5 / max(float(bins.n_target), float(bins.n_nontarget), 2.0)
        probits = probit(np.clip(p_miss, smallest, 1.0 - smallest)) - probit(
            np.clip(p_fa, smallest, 1.0 - smallest)
        )
        places = [
            np.searchsorted(along, np.linspace(along[0], along[-1], most // 2)) for along in (shares, probits)
        ]
        inner = lows[1:][np.unique(np.concatenate(places))]
        lows = np.concatenate([inner, result.summaries.blocks.low])
    return np.unique(np.concatenate([lows, thresholds]))
