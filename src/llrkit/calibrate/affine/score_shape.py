"""How unlike two Gaussians of equal variance scores are: measures, limits, and words."""

from __future__ import annotations

import math

from llrkit._format import told_apart
from llrkit.core.moments import Moments

SKEWNESS, KURTOSIS, SD_RATIO = 0.5, 1.0, 1.1
"""Skewness, excess kurtosis and ratio of the spreads that CMLG bears; beyond them it is not recommended.

Gaussian classes at an EER of 2 to 5 % whose spreads differ by a factor of 1.1 cost 1 to 4 % more with CMLG
than with logistic regression at a prior of 0.001, those that differ by a factor of 1.2 already 4 to 14 %.
"""
CHANCE = 4.0
"""Standard errors that chance is given before a ratio of spreads counts as one."""


def shape_statistics(moments: Moments) -> dict[str, float]:
    """Skewness and excess kurtosis of each class, and the ratio of their standard deviations."""
    statistics = {}
    for name, class_moments in (("target", moments.target), ("nontarget", moments.nontarget)):
        constant = class_moments.n == 0 or class_moments.variance[0] == 0.0
        statistics[f"skewness_{name}"] = 0.0 if constant else float(class_moments.skewness[0])
        statistics[f"kurtosis_{name}"] = 0.0 if constant else float(class_moments.excess_kurtosis[0])
    v_e, v_d = (float(one.m2[0, 0] / max(one.n, 1)) for one in (moments.target, moments.nontarget))
    statistics["sd_ratio"] = math.sqrt(v_d / v_e) if v_e > 0 else math.inf
    return statistics


def spread_error(n_target: float, n_nontarget: float) -> float:
    """Standard error of the logarithm of the ratio of two Gaussians' spreads."""
    return math.sqrt(0.5 / n_target + 0.5 / n_nontarget)


def spread_limit(n_target: float, n_nontarget: float) -> float:
    """The larger of ``SD_RATIO`` and exp of 4 standard errors of the log ratio of two Gaussians' spreads.

    Examples
    --------
    >>> spread_limit(10_000, 10_000), round(spread_limit(100, 100), 2)
    (1.1, 1.49)
    """
    return max(SD_RATIO, math.exp(CHANCE * spread_error(n_target, n_nontarget)))


def shape_problems(moments: Moments) -> list[str]:
    """In words, what about the scores is unlike two Gaussians of equal variance, beyond chance.

    Each limit is the larger of what CMLG bears and what chance does: ``SKEWNESS`` or 5 standard errors
    sqrt(6 / n), ``KURTOSIS`` or 6 standard errors sqrt(24 / n), and :func:`spread_limit`.
    """
    statistics, problems = shape_statistics(moments), []
    if min(moments.target.n, moments.nontarget.n) == 0:
        return ["all scores of a class are infinite"]
    n = {"target": moments.target.n, "nontarget": moments.nontarget.n}
    for name, count in n.items():
        scores = f"{'non-target' if name == 'nontarget' else name} scores"
        skewness, kurtosis = statistics[f"skewness_{name}"], statistics[f"kurtosis_{name}"]
        limit = max(SKEWNESS, 5.0 * math.sqrt(6.0 / count))
        if abs(skewness) > limit:
            problems.append(f"{scores} are skewed: skewness {_beyond(skewness, limit)}")
        limit = max(KURTOSIS, 6.0 * math.sqrt(24.0 / count))
        if abs(kurtosis) > limit:
            tails = "heavy" if kurtosis > 0 else "light"
            said = f"excess kurtosis {_beyond(kurtosis, limit)}"
            problems.append(f"{scores} are {tails}-tailed: {said}")
    ratio = statistics["sd_ratio"]
    widest = spread_limit(n["target"], n["nontarget"])
    if ratio in (0.0, math.inf):
        problems.append(f"all {'non-target' if ratio == 0.0 else 'target'} scores are the same: no spread")
    elif ratio > widest or ratio < 1.0 / widest:
        shown, limit_shown = told_apart(ratio, widest if ratio > 1.0 else 1.0 / widest, 2)
        limits = f"{'more' if ratio > 1.0 else 'less'} than {limit_shown}"
        problems.append(f"non-target scores spread {shown} times as much as target scores, {limits}")
    return problems


def _beyond(value: float, limit: float) -> str:
    shown, _ = told_apart(abs(value), limit, 2)
    return f"{'-' if value < 0.0 else '+'}{shown} is beyond {limit:.3g}"
