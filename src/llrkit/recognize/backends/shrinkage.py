"""Covariances of fewer vectors than dimensions, shrunk so that they can be inverted."""

from __future__ import annotations

import numpy as np

from llrkit._arrays import FloatArray


def rank_of(covariance: FloatArray) -> int:
    """The number of directions in which there is any variance.

    Examples
    --------
    >>> rank_of(np.diag([3.0, 1.0, 0.0]))
    2
    """
    values = np.linalg.eigvalsh(covariance)
    return int(np.sum(values > len(values) * np.finfo(float).eps * max(float(values[-1]), 0.0)))


def oas_share(covariance: FloatArray, n: float) -> float:
    """How much of the mean variance to mix into a covariance estimated from ``n`` vectors.

    The oracle approximating shrinkage: with ``p`` dimensions, ``t = trace S`` and ``q = trace S^2``, it is
    ``((1 - 2/p) q + t^2) / ((n + 1 - 2/p) (q - t^2 / p))``, at most one.

    References
    ----------
    Chen, Wiesel, Eldar & Hero, "Shrinkage algorithms for MMSE covariance estimation", IEEE Trans. Signal
    Processing 58(10), 2010.

    Examples
    --------
    >>> round(oas_share(np.diag([4.0, 1.0, 1.0]), 20), 4)
    0.3443
    """
    p, t, q = len(covariance), float(np.trace(covariance)), float(np.sum(covariance * covariance))
    spread = q - t * t / p
    if spread <= 0.0:
        return 1.0
    return float(min(1.0, ((1.0 - 2.0 / p) * q + t * t) / ((n + 1.0 - 2.0 / p) * spread)))


def shrunk(covariance: FloatArray, share: float) -> FloatArray:
    """``(1 - share) S + share trace(S) / p I``.

    Examples
    --------
    >>> shrunk(np.diag([4.0, 0.0]), 0.5)
    array([[3., 0.],
           [0., 1.]])
    """
    return np.asarray(
        (1.0 - share) * covariance + share * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
    )
