"""The mathematics of ranks among exchangeable foils, without data."""

from __future__ import annotations

import numpy as np

from llrkit._arrays import FloatArray, IntArray

LARGEST_D_PRIME = 12.0
_BLOCK = 1 << 20  # elements of a temporary table


def drawn_above(above: IntArray, size: IntArray, cohort: int) -> FloatArray:
    """P(j of ``cohort`` foils drawn from ``size`` are among the ``above`` best): rows of cases, columns of j.

    Examples
    --------
    >>> drawn_above(np.array([1]), np.array([2]), 1)
    array([[0.5, 0.5]])
    """
    j = np.arange(cohort + 1)[None, :]
    k, n = above[:, None], size[:, None]
    possible = (j <= k) & (cohort - j <= n - k)
    j = np.where(possible, j, np.maximum(cohort - (n - k), 0))
    log = _log_choose(k, j) + _log_choose(n - k, cohort - j) - _log_choose(n, np.full_like(n, cohort))
    return np.where(possible, np.exp(log), 0.0)


def _log_choose(n: IntArray, k: IntArray) -> FloatArray:
    from scipy.special import gammaln

    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))


def rank_histogram(above: IntArray, tied: IntArray, size: IntArray, cohort: int) -> FloatArray:
    """Expected counts of the ranks 1 to cohort + 1 when ``cohort`` of each target's foils are drawn.

    Examples
    --------
    >>> rank_histogram(np.array([0, 1]), np.array([0, 1]), np.array([2, 2]), 2)
    array([1. , 0.5, 0.5])
    """
    rows = np.repeat(np.arange(len(above)), tied + 1)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(tied + 1) - (tied + 1), tied + 1)
    pairs, where = np.unique(
        np.stack([above[rows] + place, size[rows]], axis=1), axis=0, return_inverse=True
    )  # fmt: skip
    weight = np.bincount(where.ravel(), 1.0 / (tied[rows] + 1), minlength=len(pairs))
    counts = np.zeros(cohort + 1)
    height = max(1, _BLOCK // (cohort + 1))
    for start in range(0, len(pairs), height):
        block = pairs[start : start + height]
        table = drawn_above(block[:, 0], block[:, 1], cohort)
        counts += (weight[start : start + height, None] * table).sum(axis=0)
    return counts


def lr_of_ranks(rank: IntArray, cohort: int, smoothing: str, share: FloatArray, d_prime: float) -> FloatArray:
    """LR of each rank among ``cohort`` foils, given P(rank | target) among ``len(share) - 1`` foils.

    Examples
    --------
    >>> lr_of_ranks(np.array([1, 2]), 1, "add-one", np.array([0.5, 0.3, 0.2]), 0.0)  # 0.5 + 0.3 / 2, ...
    array([1.3, 0.7])
    """
    if cohort == 0:
        return np.ones(len(rank))  # no foils, no evidence
    if smoothing == "gaussian":
        return gaussian_lr(rank, cohort, d_prime)
    trained = len(share) - 1
    if smoothing == "add-one" and cohort < trained:
        places = np.arange(trained + 1)
        table = drawn_above(places, np.full(trained + 1, trained), cohort)
        return np.asarray((cohort + 1) * (share[:, None] * table).sum(axis=0)[rank - 1])
    lr = np.empty(len(rank))
    height = max(1, _BLOCK // (trained + 1))
    for start in range(0, len(rank), height):
        block = rank[start : start + height]
        if smoothing == "add-one":
            table = (trained + 1) * drawn_above(block - 1, np.full(len(block), cohort), trained)
        else:
            table = _beta_overlap(block, cohort, trained)
        lr[start : start + height] = (table * share[None, :]).sum(axis=1)
    return lr


def _beta_overlap(rank: IntArray, cohort: int, trained: int) -> FloatArray:
    """Integral of the density Beta(r, N - r + 2) times Beta(r', N' - r' + 2) for all r'."""
    from scipy.special import betaln

    r, other = rank[:, None].astype(np.float64), np.arange(1.0, trained + 2.0)[None, :]
    log = betaln(r + other - 1.0, cohort - r + trained - other + 3.0)
    log = log - betaln(r, cohort - r + 2.0) - betaln(other, trained - other + 2.0)
    return np.asarray(np.exp(log))


def gaussian_lr(rank: IntArray, cohort: int, d_prime: float) -> FloatArray:
    """E[h'(t)], t ~ Beta(r, N - r + 2), with ``h'(t) = exp(-d' probit(t) - d'^2 / 2)``.

    The integral is over z = probit(t), where it is smooth and the trapezium rule converges fastest.

    Examples
    --------
    >>> round(float(gaussian_lr(np.array([1, 2, 3]), 2, 1.0).mean()), 12)
    1.0
    """
    from scipy.special import betaln, log_ndtr

    step = 0.25 / np.sqrt(cohort + 4.0)
    z = np.arange(min(-d_prime, 0.0) - 12.0, max(-d_prime, 0.0) + 12.0, step)
    # the standard normal density at z times h' is the density at z + d'
    weight = -0.5 * (z + d_prime) ** 2 - 0.5 * np.log(2.0 * np.pi) + np.log(step)
    below, above = log_ndtr(z), log_ndtr(-z)
    lr = np.empty(len(rank))
    for i, r in enumerate(rank):
        log = (r - 1.0) * below + (cohort - r + 1.0) * above + weight
        lr[i] = np.exp(log - betaln(float(r), cohort - r + 2.0)).sum()
    return lr


def best_d_prime(share: FloatArray) -> float:
    """The d' for which ranks with these shares are most likely."""
    from scipy.optimize import minimize_scalar

    filled = np.flatnonzero(share)

    def cost(d_prime: float) -> float:
        lr = gaussian_lr(filled + 1, len(share) - 1, d_prime)
        return -float((share[filled] * np.log(np.maximum(lr, 1e-300))).sum())

    bounds = (-LARGEST_D_PRIME, LARGEST_D_PRIME)
    return float(minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 1e-9}).x)
