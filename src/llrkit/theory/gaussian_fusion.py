"""Fusion of Gaussian systems whose LLRs or scores are correlated, in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from llrkit._arrays import FloatArray
from llrkit._format import counted
from llrkit.errors import InputError
from llrkit.theory.gaussian_pair import GaussianLLR


@dataclass(frozen=True)
class GaussianFusion:
    """A linear fusion ``x = weights @ scores + offset`` and the calibrated pair it leads to.

    Examples
    --------
    >>> fuse_calibrated([GaussianLLR(3.0), GaussianLLR(3.0)], 0.0)(np.array([[1.0, 2.0]]))
    array([3.])
    """

    weights: tuple[float, ...]
    """Weight of each system."""
    offset: float
    """Offset of the fused LLR."""
    fused: GaussianLLR
    """Distribution of the fused LLRs."""

    def __call__(self, scores: npt.ArrayLike) -> FloatArray:
        """Fused LLRs of an array with one column per system."""
        values = np.asarray(scores, dtype=np.float64)
        if values.shape[-1:] != (len(self.weights),):
            raise InputError(
                f"one column for each of {counted(len(self.weights), 'system')} is needed, got {values.shape}"
            )
        return np.asarray(values @ np.array(self.weights) + self.offset)


def fuse_calibrated(systems: Sequence[GaussianLLR], correlation: npt.ArrayLike) -> GaussianFusion:
    """Best fusion of calibrated Gaussian systems from their strengths and correlations alone.

    With ``R`` the within-class correlation matrix, the same in both classes, and ``sigma`` the standard
    deviations: ``w_i = 1/sigma_i sum_j (R^-1)_ij sigma_j``, no offset, ``sigma_f^2 = sigma' R^-1 sigma``;
    the fused LLR is a calibrated Gaussian again. Two systems:
    ``w_1 = (1 - rho sigma_2/sigma_1)/(1 - rho^2)``. A weaker system with ``rho > sigma_2/sigma_1`` gets
    a negative weight and still helps.

    Parameters
    ----------
    systems
        The calibrated pairs.
    correlation
        One number for all pairs of systems, or a matrix.

    Examples
    --------
    >>> fusion = fuse_calibrated([GaussianLLR(3.0), GaussianLLR(2.0)], 0.5)
    >>> np.round(fusion.weights, 3), round(100 * fusion.fused.eer, 2)
    (array([0.889, 0.333]), 6.33)
    """
    sigma = np.array([system.sigma for system in systems])
    if sigma.size == 0:
        raise InputError("at least one system is needed")
    matrix = np.asarray(correlation, dtype=np.float64)
    if matrix.ndim == 0:
        matrix = np.where(np.eye(sigma.size, dtype=bool), 1.0, matrix)
    if matrix.shape == (sigma.size, sigma.size) and not np.allclose(np.diag(matrix), 1.0, atol=1e-9):
        raise InputError("the diagonal of a correlation matrix must be 1; fuse_moments takes covariances")
    half = _solve_for_weights(matrix, sigma, "correlation")
    return GaussianFusion(tuple((half / sigma).tolist()), 0.0, GaussianLLR(float(np.sqrt(sigma @ half))))


def fuse_moments(
    mean_target: npt.ArrayLike,
    mean_nontarget: npt.ArrayLike,
    cov_target: npt.ArrayLike,
    cov_nontarget: npt.ArrayLike,
    *,
    alpha: float = 0.5,
) -> GaussianFusion:
    """Fusion and calibration of raw scores from the means and covariances of the two classes.

    ``V = alpha V_e + (1 - alpha) V_d``, ``w = V^-1 (m_e - m_d)``, ``b = -w'(m_e + m_d)/2``: constrained
    maximum likelihood Gaussian calibration in several dimensions. ``fused`` is exact when the covariances are
    equal and a prediction otherwise.

    Parameters
    ----------
    mean_target
        Mean of the targets.
    mean_nontarget
        Mean of the non-targets.
    cov_target
        Covariance of the targets.
    cov_nontarget
        Covariance of the non-targets.
    alpha
        Weight of the covariance of the targets.

    Examples
    --------
    >>> fusion = fuse_moments([1.0, 1.0], [-1.0, 0.0], np.eye(2), np.eye(2))
    >>> fusion.weights, fusion.offset, round(fusion.fused.mu, 12)
    ((2.0, 1.0), -0.5, 2.5)
    """
    if not 0.0 <= alpha <= 1.0:
        raise InputError(
            f"alpha, the weight of the target covariance, must lie between 0 and 1, got {alpha!r}"
        )
    up, down = (np.atleast_1d(np.asarray(mean, dtype=np.float64)) for mean in (mean_target, mean_nontarget))
    if up.ndim != 1 or up.shape != down.shape:
        raise InputError(f"two mean vectors of one length are needed, got shapes {up.shape} and {down.shape}")
    pooled = alpha * np.asarray(cov_target, dtype=np.float64) + (1.0 - alpha) * np.asarray(
        cov_nontarget, dtype=np.float64
    )
    weights = _solve_for_weights(np.atleast_2d(pooled), up - down, "covariance")
    strength = float(weights @ (up - down))
    if not strength > 0.0:
        raise InputError("the means of the two classes are equal: there is nothing to fuse")
    offset = float(-0.5 * weights @ (up + down))
    return GaussianFusion(tuple(weights.tolist()), offset, GaussianLLR(float(np.sqrt(strength))))


def _solve_for_weights(matrix: FloatArray, vector: FloatArray, name: str) -> FloatArray:
    if matrix.shape != (vector.size, vector.size):
        raise InputError(f"{name} must be a {vector.size} by {vector.size} matrix, got shape {matrix.shape}")
    if not (np.isfinite(matrix).all() and np.isfinite(vector).all()):
        raise InputError(f"{name} and means must be finite")
    if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0.0) or np.linalg.eigvalsh(matrix)[0] <= 0.0:
        raise InputError(f"{name} must be a symmetric positive definite matrix")
    return np.asarray(np.linalg.solve(matrix, vector), dtype=np.float64)
