"""Measures of how unequal the error rates of groups are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray


def worst_ratio(rates: npt.ArrayLike) -> FloatArray:
    """Largest over smallest rate; along the last axis. Infinite if only some groups have errors, 1 if none.

    Examples
    --------
    >>> float(worst_ratio([0.01, 0.02, 0.04])), float(worst_ratio([0.0, 0.1])), float(worst_ratio([0.0, 0.0]))
    (4.0, inf, 1.0)
    """
    x = np.asarray(rates, dtype=np.float64)
    return _ratio_of_rates(x.max(axis=-1), x.min(axis=-1))


def over_geometric_mean(rates: npt.ArrayLike) -> FloatArray:
    """Largest rate over the geometric mean of all, the inequity measure of NIST FRTE (NIST IR 8429).

    Examples
    --------
    >>> float(over_geometric_mean([0.01, 0.02, 0.04]))
    2.0
    """
    x = np.asarray(rates, dtype=np.float64)
    with np.errstate(divide="ignore"):
        mean = np.exp(np.log(x).mean(axis=-1))
    return _ratio_of_rates(x.max(axis=-1), mean)


def gini(rates: npt.ArrayLike) -> FloatArray:
    """Gini coefficient with the correction ``n / (n - 1)`` for few groups: 0 for equal rates, at most 1.

    ``n / (n - 1) sum_ij |x_i - x_j| / (2 n^2 mean)``, as in GARBE (Howard et al. 2022).

    Examples
    --------
    >>> round(float(gini([0.01, 0.01, 0.01])), 12), round(float(gini([0.0, 0.0, 0.3])), 12)
    (0.0, 1.0)
    """
    x = np.asarray(rates, dtype=np.float64)
    n = x.shape[-1]
    apart = np.abs(x[..., :, None] - x[..., None, :]).sum(axis=(-2, -1))
    mean = x.mean(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = n / (n - 1.0) * apart / (2.0 * n**2 * mean)
    return np.asarray(np.where(mean > 0.0, value, 0.0))


def spread(rates: npt.ArrayLike) -> FloatArray:
    """Largest less smallest rate, of which the fairness discrepancy rate (FDR) is made.

    Examples
    --------
    >>> round(float(spread([0.01, 0.02, 0.04])), 12)
    0.03
    """
    x = np.asarray(rates, dtype=np.float64)
    return np.asarray(x.max(axis=-1) - x.min(axis=-1))


def _ratio_of_rates(top: FloatArray, bottom: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = top / bottom
    return np.asarray(np.where(top == 0.0, 1.0, ratio))
