"""Checks of covariance matrices, and how matrices of scores are cut into blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit.errors import InputError

BLOCK_BYTES = 1 << 26
"""Size of a block of scores."""


def symmetric(values: Any, dim: int, what: str) -> FloatArray:
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


def float_type(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """float32 or float64, nothing else."""
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise InputError(f"dtype must be float32 or float64, got {kind}")
    return kind


def rows_per_block(columns: int) -> int:
    """How many rows of so many scores make a block."""
    return max(1, BLOCK_BYTES // (8 * max(columns, 1)))
