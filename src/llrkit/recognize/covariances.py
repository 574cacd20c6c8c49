"""Covariance matrices: checked, and shrunk where vectors are few; score matrices cut into blocks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from llrkit._arrays import DType, FloatArray
from llrkit._memory import at_once
from llrkit.errors import InputError

BLOCK_BYTES = 1 << 26
"""Size of a block of scores."""


def symmetric(values: object, dim: int, what: str) -> FloatArray:
    """A symmetric matrix of finite numbers."""
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.shape != (dim, dim):
        raise InputError(f"{what} must have shape {(dim, dim)}, got {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise InputError(f"{what} holds NaN or an infinite value")
    if not np.allclose(matrix, matrix.T, rtol=1e-6, atol=1e-9 * float(np.abs(matrix).max())):
        raise InputError(f"{what} is not symmetric")
    return np.asarray(0.5 * (matrix + matrix.T))


def require_definite(matrix: FloatArray, what: str) -> None:
    """Refuse a covariance matrix that cannot be inverted."""
    values = np.linalg.eigvalsh(matrix)
    rank = int(np.sum(values > len(values) * np.finfo(float).eps * max(float(values[-1]), 0.0)))
    if rank < len(values):
        raise InputError(
            f"{what} is singular (rank {rank} of {len(values)}): use more sessions than dimensions, "
            "or reduce the dimensions first"
        )


def float_type(dtype: npt.DTypeLike) -> DType:
    """float32 or float64, nothing else."""
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise InputError(f"dtype must be float32 or float64, got {kind}")
    return kind


def rows_per_block(columns: int) -> int:
    """How many rows of so many scores make a block."""
    return max(1, at_once(BLOCK_BYTES) // (8 * max(columns, 1)))


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
