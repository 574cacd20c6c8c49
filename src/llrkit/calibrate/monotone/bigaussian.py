"""Bi-Gaussianized calibration: the scores are given the distribution that calibrated LLRs would have."""

from __future__ import annotations

import numpy as np

from llrkit._arrays import BoolArray, FloatArray
from llrkit._plain import Json
from llrkit.calibrate.densities.training_points import (
    DistinctScores,
    TrainingPoints,
    WeightedPoints,
    points_of_grid,
)
from llrkit.calibrate.fit_decorator import fits_map
from llrkit.calibrate.knot_map import CLOSE, MAX_KNOTS, KnotMap, thin_knots
from llrkit.calibrate.option_checks import one_of
from llrkit.calibrate.training_checks import check_moments, provenance
from llrkit.core.density_grid import CELLS, DensityGrid
from llrkit.core.elementary_functions import LN2, probit, sigmoid, softplus
from llrkit.core.moments import Moments
from llrkit.core.pav_and_hull import PavBlocks, crossing, error_path, pav_blocks
from llrkit.core.summary_algebra import both
from llrkit.core.threshold_grid import Grid, collect_again
from llrkit.core.trial_counts import count_on
from llrkit.errors import InputError, SeparationError, SystemCountError
from llrkit.scores import ScoreSource
from llrkit.scores.source import as_source
from llrkit.theory import sigma_from_cllr

_KAPPA = 0.01


def sigma_of_blocks(blocks: PavBlocks, sigma_from: str) -> float:
    """Sigma from the EER of the ROC convex hull, or from the Cllr after PAV."""
    if sigma_from == "eer":
        path = error_path(blocks)
        eer = crossing(path.p_miss, path.p_fa)
        if eer == 0.0:
            raise SeparationError("the classes do not overlap: an EER of 0 gives an infinite sigma")
        if eer >= 0.5:
            raise InputError("the EER is 50 %: the scores carry no information to calibrate")
        return -2.0 * float(probit(eer))
    llr = blocks.llr
    t, n = blocks.target > 0, blocks.nontarget > 0
    loss = float((blocks.target[t] * softplus(-llr[t])).sum()) / float(blocks.target.sum())
    loss += float((blocks.nontarget[n] * softplus(llr[n])).sum()) / float(blocks.nontarget.sum())
    return _sigma_of_cllr(0.5 * loss / LN2)


def _sigma_of_cllr(cllr: float) -> float:
    if cllr <= 0.0:
        raise SeparationError("the classes do not overlap: a Cllr of 0 gives an infinite sigma")
    if cllr >= 1.0:
        raise InputError("the Cllr is 1 bit: the scores carry no information to calibrate")
    return float(sigma_from_cllr(cllr))


def sigma_of_logistic(training: TrainingPoints) -> float:
    """Sigma from the Cllr after regularized logistic regression.

    Every trial counts once with its label, and ``kappa / (2 N_e)`` times with either label.
    """
    target, nontarget = training.standardized()
    t = np.concatenate([target.points, nontarget.points])
    w = 0.5 * np.concatenate([target.weights / target.total, nontarget.weights / nontarget.total])
    is_target = np.repeat([1.0, 0.0], [len(target.points), len(nontarget.points)])
    share = 0.5 * _KAPPA / target.total
    w_e, w_d = w * (is_target + share), w * (1.0 - is_target + share)

    def loss(x: FloatArray) -> float:
        z = x[0] * t + x[1]
        return float((w_e * softplus(-z) + w_d * softplus(z)).sum())

    x = np.zeros(2)
    for _ in range(200):
        p = sigmoid(x[0] * t + x[1])
        slope = w_d * p - w_e * (1.0 - p)
        curve = (w_e + w_d) * p * (1.0 - p)
        gradient = np.array([(slope * t).sum(), slope.sum()])
        cross = (curve * t).sum()
        step = np.linalg.solve(np.array([[(curve * t * t).sum(), cross], [cross, curve.sum()]]), -gradient)
        size, here = 1.0, loss(x)
        while loss(x + size * step) > here and size > 1e-9:
            size *= 0.5
        x = x + size * step
        if np.abs(step).max() < 1e-10 * (1.0 + np.abs(x).max()):
            break
    z = x[0] * t + x[1]
    return _sigma_of_cllr(
        float((w * (is_target * softplus(-z) + (1.0 - is_target) * softplus(z))).sum()) / LN2
    )


SIGMA_FROM = ("cllr", "eer", "min_cllr")
_TABLE = 4001  # one line for each hundredth of a standard deviation, or a little more
_STEPS = 5
_ROOT_TWO_PI = float(np.sqrt(2.0 * np.pi))


@fits_map
def fit_bigaussian(source: ScoreSource, *, sigma_from: str = "cllr") -> KnotMap:
    """Bi-Gaussianized calibration (Morrison 2024).

    ``llr(s) = G^-1(F(s))`` where ``F`` is the distribution function of the training scores, each class
    weighing one half, and ``G(x) = Phi((x + sigma^2/2)/sigma)/2 + Phi((x - sigma^2/2)/sigma)/2`` that of
    calibrated Gaussian LLRs. A non-target weighs ``0.5/(N_d + 1)`` and a target ``0.5/(N_e + 1)``; ``F``
    counts scores up to and including ``s``. Two passes, or three when the first dropped the class that
    turned out to be the smaller.

    The map is exact at up to 4,096 distinct scores, with straight lines in between and constant beyond.
    With more, scores sharing one of the 16,384 cells of the density grid are represented by two points
    per class; ``details`` hold the largest error in LLR that this may have caused
    (``discretization_error``), and that of thinning to 4,096 knots (``thinning_error``).

    Parameters
    ----------
    sigma_from
        Where sigma comes from: ``"cllr"`` (Cllr of the training scores after logistic regression with
        regularization 0.01), ``"eer"`` (of the ROC convex hull) or ``"min_cllr"`` (PAV); the Cllr is turned
        into sigma by the exact inverse, not by a regression formula.

    References
    ----------
    Morrison, "Bi-Gaussianized calibration of likelihood ratios", Law, Probability and Risk 23 (2024).

    Examples
    --------
    >>> import llrkit as lk
    >>> from llrkit.calibrate.monotone.bigaussian import fit_bigaussian
    >>> rng = np.random.default_rng(1)
    >>> pair = lk.theory.GaussianLLR.from_eer(0.1)
    >>> scores = lk.Scores(pair.target.rvs(20_000, rng), pair.nontarget.rvs(20_000, rng))
    >>> calibrate = fit_bigaussian(scores)
    >>> np.abs(calibrate([-3.0, 0.0, 3.0]) - [-3.0, 0.0, 3.0]).max() < 0.1
    np.True_
    """
    one_of(sigma_from, SIGMA_FROM, "sigma_from")
    ranks = sigma_from != "cllr"
    source, distinct_at = as_source(source), DistinctScores.at(MAX_KNOTS)
    grid: Grid | None = None
    if ranks:
        moments, distinct, grid = source.reduce(both(Moments.of, distinct_at, Grid.of)).summaries
    else:
        moments, distinct = source.reduce(both(Moments.of, distinct_at)).summaries
    if len(moments.target.mean) != 1:
        raise SystemCountError(f"one system expected, got {len(moments.target.mean)}")
    check_moments(source, moments, at_least=2)
    low, high = moments.extremes
    density_at = DensityGrid.at(low, high)
    if grid is not None:
        count_again = count_on(collect_again(source, grid))
        density, counts = source.reduce(both(density_at, count_again)).summaries
        sigma = sigma_of_blocks(pav_blocks(counts.bins()), sigma_from)
        training = points_of_grid(density, moments)
    else:
        training = points_of_grid(source.reduce(density_at), moments)
        sigma = sigma_of_logistic(training)
    return bigaussian_from_training(training, distinct, sigma, sigma_from)


def bigaussian_from_training(
    training: TrainingPoints, distinct: DistinctScores, sigma: float, sigma_from: str
) -> KnotMap:
    """The map for a given sigma."""
    n_e, n_d = training.target.total, training.nontarget.total
    if distinct.values is not None:
        score, w_e, w_d = distinct.values, distinct.target, distinct.nontarget
    else:
        score, w_e, w_d = _pooled_classes(training.target, training.nontarget)
    weight = 0.5 * w_e / (n_e + 1.0) + 0.5 * w_d / (n_d + 1.0)
    missing = 0.5 / (n_e + 1.0) + 0.5 / (n_d + 1.0)
    below = np.cumsum(weight)
    above = missing + np.append(np.cumsum(weight[:0:-1])[::-1], 0.0)
    llr = _inverse_pair_cdf(below, above, sigma)
    error = 0.0
    if distinct.values is None:
        lowest = np.array([min(0.5 / (n_e + 1.0), 0.5 / (n_d + 1.0))])
        start = float(_inverse_pair_cdf(lowest, 1.0 - lowest, sigma)[0])
        error = _largest_jump(score, llr, (w_e > 1.0) | (w_d > 1.0), start, training.moments.extremes)
    enough = CLOSE if distinct.values is None else 0.0  # where scores are not exact, neither are lines
    score, llr_at, thinning = thin_knots(score, llr, MAX_KNOTS, enough=enough)
    details: dict[str, Json] = {
        "sigma": sigma,
        "cdf": "distinct scores" if distinct.values is not None else "two points per class and cell",
        "discretization_error": error,
        "thinning_error": thinning,
    }
    return KnotMap(
        score=score, llr_at=llr_at, method="bigaussian", options={"sigma_from": sigma_from}, details=details,
        provenance=provenance(training.moments),
    )  # fmt: skip


def _largest_jump(
    score: FloatArray,
    llr: FloatArray,
    crowded: BoolArray,
    start: float,
    extremes: tuple[float, float],
) -> float:
    """How much the LLR changes over a cell of which not every score is known: no error can be larger."""
    low, high = extremes
    cell = np.floor((score - low) / (high / CELLS - low / CELLS))
    first = np.flatnonzero(np.append(True, cell[1:] != cell[:-1]))
    last = np.append(first[1:], len(score)) - 1
    jump = llr[last] - np.append(start, llr[first[1:] - 1])
    return float(jump[np.logical_or.reduceat(crowded, first)].max(initial=0.0))


def _pooled_classes(
    target: WeightedPoints, nontarget: WeightedPoints
) -> tuple[FloatArray, FloatArray, FloatArray]:
    score = np.concatenate([target.points, nontarget.points])
    zeros = (np.zeros(len(target.points)), np.zeros(len(nontarget.points)))
    distinct, place = np.unique(score, return_inverse=True)
    w_e = np.bincount(place, np.concatenate([target.weights, zeros[1]])).astype(np.float64)
    w_d = np.bincount(place, np.concatenate([zeros[0], nontarget.weights])).astype(np.float64)
    return distinct, w_e, w_d


def _inverse_pair_cdf(below: FloatArray, above: FloatArray, sigma: float) -> FloatArray:
    """``G^-1``, from the smaller of the probabilities below and above: neither tail loses digits."""
    p = np.minimum(below, above)
    half, reach = 0.5 * sigma, 0.5 * sigma + 40.0
    # where x / sigma is in a table, then Newton's method in log p, held between the lines of the table
    table = np.linspace(-reach, 0.0, _TABLE)
    log_p = np.log(p)
    line = np.clip(np.searchsorted(_log_pair_cdf(table, half), log_p), 1, _TABLE - 1)
    a, b = table[line - 1], table[line]
    x = 0.5 * (a + b)
    for _ in range(_STEPS):
        value = _log_pair_cdf(x, half)
        a, b = np.where(value < log_p, x, a), np.where(value < log_p, b, x)
        density = np.exp(-0.5 * (x + half) ** 2 - value) + np.exp(-0.5 * (x - half) ** 2 - value)
        x = np.clip(x - (value - log_p) * (2.0 * _ROOT_TWO_PI) / density, a, b)
    return np.asarray(np.where(below <= above, x, -x) * sigma)


def _log_pair_cdf(x: FloatArray, half: float) -> FloatArray:
    """``log G`` at ``sigma x``, for x up to 0."""
    from scipy.special import log_ndtr

    return np.asarray(np.logaddexp(log_ndtr(x + half), log_ndtr(x - half)) - LN2)
