"""CMLG: constrained maximum-likelihood Gaussian calibration, the paper's closed form."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from llrkit.calibrate.fitting import fits_map
from llrkit.calibrate.maps import AffineMap
from llrkit.calibrate.option_checks import class_weight
from llrkit.calibrate.training_checks import provenance, training_moments
from llrkit.core.moments import ClassMoments, Moments
from llrkit.errors import ConstantScoreError, ShapeWarning
from llrkit.scores import ScoreSource
from llrkit.theory import GaussianLLR

SKEWNESS, KURTOSIS, SD_RATIO = 0.5, 1.0, 1.25
"""Skewness, excess kurtosis and ratio of the spreads that CMLG bears; beyond them it is not recommended."""


@fits_map
def fit_cmlg(source: ScoreSource, *, alpha: float = 0.5) -> AffineMap:
    """Affine calibration in closed form from means and variances (van Leeuwen & Brümmer 2013).

    ``a = (m_e - m_d) / v``, ``b = -a (m_e + m_d) / 2`` with the 1/N variance
    ``v = alpha v_e + (1 - alpha) v_d``: the maximum of the class-weighted Gaussian likelihood under the
    constraint that the result is calibrated. One pass.

    Parameters
    ----------
    alpha
        Weight of the targets, from 0 to 1, both ends included. It matters only when the variances differ.

    The map's ``details`` hold the standard errors of a and b (for independent trials), the weighted
    log-likelihood, what the Gaussian pair promises (mu, EER, Cllr), and the shape of the scores. A
    ``ShapeWarning`` says when they do not look Gaussian with equal variances: the method is not
    recommended then.

    Examples
    --------
    >>> import llrkit as lk
    >>> lk.fit_cmlg(lk.Scores([2.0, 4.0], [0.0, 2.0]))
    AffineMap(cmlg: llr = 2 * score -4)
    """
    weight = class_weight(alpha)
    moments = training_moments(source)
    fitted = cmlg_from_moments(moments, weight)
    warn_of_shape(moments)
    return fitted


def cmlg_from_moments(moments: Moments, alpha: float = 0.5) -> AffineMap:
    """The closed form, from moments that were checked."""
    target, nontarget = moments.target, moments.nontarget
    m_e, m_d = float(target.mean[0]), float(nontarget.mean[0])
    v_e, v_d = float(target.variance[0]), float(nontarget.variance[0])
    v = alpha * v_e + (1.0 - alpha) * v_d
    if v == 0.0:
        which = {0.0: "the non-target scores are", 1.0: "the target scores are"}.get(alpha, "each class is")
        raise ConstantScoreError(f"{which} constant: the slope would be infinite")
    a = (m_e - m_d) / v
    b = -a * (m_e + m_d) / 2.0
    mu = a * (m_e - m_d) / 2.0
    pair = GaussianLLR.from_mu(mu) if mu > 0 else None
    se_a, se_b = _standard_errors(moments, alpha, a, v)
    details: dict[str, Any] = {
        "mean_target": m_e,
        "mean_nontarget": m_d,
        "variance": v,
        "se_a": se_a,
        "se_b": se_b,
        "log_likelihood": -0.5 * (math.log(2.0 * math.pi * v) + 1.0),
        "mu": mu,
        "eer": pair.eer if pair else 0.5,
        "cllr": pair.cllr if pair else 1.0,
        **shape_statistics(moments),
    }
    return AffineMap(
        a=a, b=b, method="cmlg", options={"alpha": alpha}, details=details, provenance=provenance(moments)
    )


def _standard_errors(moments: Moments, alpha: float, a: float, v: float) -> tuple[float, float]:
    """Delta method: a and b are functions of two means and two variances, estimated on independent trials."""
    middle = (float(moments.target.mean[0]) + float(moments.nontarget.mean[0])) / 2.0
    var_a = var_b = 0.0
    for class_moments, sign, weight in ((moments.target, 1.0, alpha), (moments.nontarget, -1.0, 1.0 - alpha)):
        covariance = _moment_covariance(class_moments)
        grad_a = np.array([sign / v, -weight * a / v])
        grad_b = -middle * grad_a - np.array([a / 2.0, 0.0])
        var_a += float(grad_a @ covariance @ grad_a)
        var_b += float(grad_b @ covariance @ grad_b)
    return math.sqrt(max(var_a, 0.0)), math.sqrt(max(var_b, 0.0))


def _moment_covariance(moments: ClassMoments) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Covariance matrix of the sample mean and the sample variance of a class."""
    variance = float(moments.variance[0])
    third, fourth = float(moments.m3[0] / moments.n), float(moments.m4[0] / moments.n)
    return np.array([[variance, third], [third, fourth - variance**2]]) / moments.n


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


def spread_limit(n_target: float, n_nontarget: float) -> float:
    """The larger of ``SD_RATIO`` and exp of 4 standard errors of the log ratio of two Gaussians' spreads.

    Examples
    --------
    >>> spread_limit(10_000, 10_000), round(spread_limit(100, 100), 2)
    (1.25, 1.49)
    """
    return max(SD_RATIO, math.exp(4.0 * math.sqrt(0.5 / n_target + 0.5 / n_nontarget)))


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
            problems.append(f"{scores} are skewed: skewness {skewness:+.2f} is beyond {limit:.3g}")
        limit = max(KURTOSIS, 6.0 * math.sqrt(24.0 / count))
        if abs(kurtosis) > limit:
            tails = "heavy" if kurtosis > 0 else "light"
            said = f"excess kurtosis {kurtosis:+.2f} is beyond {limit:.3g}"
            problems.append(f"{scores} are {tails}-tailed: {said}")
    ratio = statistics["sd_ratio"]
    widest = spread_limit(n["target"], n["nontarget"])
    if ratio in (0.0, math.inf):
        problems.append(f"all {'non-target' if ratio == 0.0 else 'target'} scores are the same: no spread")
    elif ratio > widest or ratio < 1.0 / widest:
        limits = f"more than {widest:.2f}" if ratio > 1.0 else f"less than {1.0 / widest:.2f}"
        problems.append(f"non-target scores spread {ratio:.2f} times as much as target scores, {limits}")
    return problems


def warn_of_shape(moments: Moments) -> None:
    """Warn when CMLG is not recommended for these scores."""
    problems = shape_problems(moments)
    if problems:
        warnings.warn(
            f"CMLG assumes Gaussian scores of equal variance, but {'; '.join(problems)}. "
            "Compare with fit_logistic, or choose alpha for the operating point.",
            ShapeWarning,
            stacklevel=3,
        )
