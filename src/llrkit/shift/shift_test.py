"""A test of whether unlabeled scores fit any mixture of the training classes.

The shares of scores below some cuts, ``F``, are compared with ``p F_t + (1 - p) F_n`` of the training classes
at the share of targets ``p`` that fits best. The statistic is Anderson and Darling's: squares of what is
left, each divided by ``F (1 - F)``. Under the null hypothesis it is a weighted sum of squares of normal
variables; the weights follow from the covariances of the three sets of shares, which groups of trials
(speakers) make larger. Its distribution is taken as Satterthwaite's, with an F in place of a chi-square where
the covariances themselves come from few groups.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc, gammaincc, stdtrit

from llrkit._arrays import FloatArray
from llrkit.calibrate.training_densities import TrainingDensities
from llrkit.shift.new_scores import NewScores, share_below

ALPHA = 0.01
"""A shift is called one if chance makes as much with a smaller probability than this."""


@dataclass(frozen=True)
class ShiftTest:
    """The share of targets that fits best, its interval, and how well it fits."""

    p_value: float
    share: float
    share_low: float
    share_high: float
    inflation: float
    """The variance of shares as a multiple of what independent trials would have; at least 1."""
    by_groups: bool
    """Whether the groups (speakers) of the new scores were known."""
    trained_by_groups: bool
    """Whether those of the training trials were."""


def shift_test(densities: TrainingDensities, new: NewScores, confidence: float = 0.95) -> ShiftTest:
    """Test unlabeled scores against all mixtures of two training classes."""
    cuts = densities.cuts
    classes = densities.histogram.target, densities.histogram.nontarget
    target, nontarget = (share_below(one, cuts) for one in classes)
    seen = share_below(new.histogram, cuts)
    independent = [
        _multinomial(share, one.total) for share, one in zip((target, nontarget), classes, strict=True)
    ]
    spread = densities.spread
    of_class = independent if spread is None else list(spread.covariance)
    df = (math.inf, math.inf) if spread is None else spread.df
    apart = target - nontarget
    share, weight = 0.5, np.ones(len(cuts))
    for _ in range(8):  # the weights depend on the share, which hardly depends on them
        mixed = np.clip(share * target + (1.0 - share) * nontarget, 1e-9, 1.0 - 1e-9)
        weight = 1.0 / np.maximum(mixed * (1.0 - mixed), 1e-4)
        scale = float(apart @ (weight * apart))
        free = float(apart @ (weight * (seen - nontarget))) / scale if scale > 0.0 else 0.5
        share = min(max(free, 0.0), 1.0)
    parts = [new.covariance, share**2 * of_class[0], (1.0 - share) ** 2 * of_class[1]]
    covariance = np.sum(parts, axis=0)
    plain = _multinomial(seen, new.n) + share**2 * independent[0] + (1.0 - share) ** 2 * independent[1]
    inflation = max(float((weight * np.diag(covariance)).sum() / (weight * np.diag(plain)).sum()), 1.0)
    traces = [float((weight * np.diag(part)).sum()) for part in parts]
    dfs = (new.df, *df)
    loss = sum(trace**2 / each for trace, each in zip(traces, dfs, strict=True) if math.isfinite(each))
    df_error = sum(traces) ** 2 / loss if loss > 0.0 else math.inf
    # a share outside of [0, 1] is no mixture: then nothing is projected out
    inside = scale > 0.0 and 0.0 <= free <= 1.0
    project = np.eye(len(cuts)) - np.outer(apart, weight * apart) / scale if inside else np.eye(len(cuts))
    left = seen - share * target - (1.0 - share) * nontarget
    statistic = float(left @ (weight * left))
    root = np.sqrt(weight)[:, None] * project
    values = np.linalg.eigvalsh(root @ covariance @ root.T)
    values = np.maximum(values, 0.0)
    p_value = _tail_of_squares(statistic, values, df_error)
    gain = apart * weight / scale if scale > 0.0 else np.zeros(len(cuts))
    reach = math.sqrt(max(float(gain @ covariance @ gain), 0.0)) * _quantile_of_test(confidence, df_error)
    return ShiftTest(
        p_value,
        share,
        max(share - reach, 0.0),
        min(share + reach, 1.0),
        inflation,
        new.by_groups,
        spread is not None,
    )


def _multinomial(share: FloatArray, n: float) -> FloatArray:
    return np.asarray((np.minimum.outer(share, share) - np.outer(share, share)) / n)


def _quantile_of_test(confidence: float, df: float) -> float:
    return float(stdtrit(min(df, 1e9), 0.5 + 0.5 * confidence))


def _tail_of_squares(statistic: float, values: FloatArray, df_error: float) -> float:
    """Probability that a weighted sum of squares of normal variables is larger."""
    total, squares = float(values.sum()), float((values**2).sum())
    if total <= 0.0:
        return 0.0 if statistic > 0.0 else 1.0
    df = total**2 / squares
    ratio = statistic / total
    if math.isinf(df_error):
        return float(gammaincc(0.5 * df, 0.5 * df * ratio))
    return float(fdtrc(df, df_error, ratio))
