"""A mixture of Gaussians with diagonal covariances, and which of them each frame belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array, FloatArray
from llrkit._cached import cached_property
from llrkit.core.elementary_functions import blocks
from llrkit.errors import InputError
from llrkit.recognize.frames.utterance_frames import checked_frames
from llrkit.recognize.model_files import SavedModel
from llrkit.scores.source import thread_count

FRAMES_AT_ONCE = 4096
"""Frames whose posteriors are in memory at a time."""
_ROWS = 256  # rows of posteriors that stay in the cache of one core


@dataclass(frozen=True, eq=False)
class DiagonalGMM(SavedModel):
    """A mixture of C Gaussians with diagonal covariances in D dimensions.

    ``p(x) = sum_c w_c N(x; m_c, diag(v_c))``. As a universal background model it says what frames of speech
    look like, whoever speaks (Reynolds, Quatieri & Dunn 2000).

    Parameters
    ----------
    weights
        Shape (C,); they sum to one.
    means, variances
        Shape (C, D).
    log_likelihoods
        The mean log-likelihood of a frame before each step of the training with all Gaussians, shape
        (steps,); empty if the model was not trained here.

    Examples
    --------
    >>> gmm = DiagonalGMM(weights=[0.5, 0.5], means=[[0.0], [4.0]], variances=[[1.0], [1.0]])
    >>> gmm.log_density(np.array([[0.0], [2.0]])).round(4)
    array([-1.6118, -2.9189])
    >>> gmm.posteriors(np.array([[0.0], [2.0]])).round(4)
    array([[9.997e-01, 3.000e-04],
           [5.000e-01, 5.000e-01]])
    """

    weights: FloatArray
    means: FloatArray
    variances: FloatArray
    log_likelihoods: FloatArray = field(default_factory=lambda: np.empty(0))

    schema: ClassVar[str] = "llrkit.gmm/1"

    def __post_init__(self) -> None:
        super().__post_init__()
        shape = self.means.shape
        if len(shape) != 2 or self.variances.shape != shape or self.weights.shape != shape[:1]:
            raise InputError(
                f"a mixture needs weights (C,), means (C, D) and variances (C, D), got {self.weights.shape}, "
                f"{shape} and {self.variances.shape}"
            )
        if not (np.isfinite(self.means).all() and np.isfinite(self.variances).all()):
            raise InputError("a mean or variance of the mixture is not finite")
        if not (self.variances > 0).all() or not (self.weights >= 0).all():
            raise InputError("the variances of a mixture must be positive and its weights not negative")
        if abs(self.weights.sum() - 1.0) > 1e-6:
            raise InputError(f"the weights of a mixture must sum to 1, got {self.weights.sum():.6g}")

    @property
    def n_gaussians(self) -> int:
        """How many Gaussians."""
        return len(self.weights)

    @property
    def n_dimensions(self) -> int:
        """Numbers per frame."""
        return int(self.means.shape[1])

    @cached_property
    def center(self) -> FloatArray:
        """The mean of the mixture; frames are counted from here, which saves digits in 32 bits."""
        return self.weights @ self.means

    @cached_property
    def _coefficients(self) -> FloatArray:
        """``log(w_c N(x; m_c, v_c))`` is linear in (x, x * x, 1), x counted from the center."""
        means = self.means - self.center
        precisions = 1.0 / self.variances
        with np.errstate(divide="ignore"):  # a Gaussian of weight 0 gets the log-density -inf
            constant = np.log(self.weights)
        constant = constant - 0.5 * (np.log(2.0 * np.pi * self.variances) + means**2 * precisions).sum(axis=1)
        return np.concatenate([(means * precisions).T, -0.5 * precisions.T, constant[None]])

    def expanded(self, frames: Array) -> Array:
        """Frames as (x, x * x, 1), x counted from the center; the type of the frames decides that of all.

        Parameters
        ----------
        frames
            The frames.
        """
        n, d = frames.shape
        dtype = frames.dtype if frames.dtype == np.float32 else np.dtype(np.float64)
        wide = np.empty((n, 2 * d + 1), dtype)
        np.subtract(frames, self.center.astype(dtype), out=wide[:, :d])
        np.multiply(wide[:, :d], wide[:, :d], out=wide[:, d : 2 * d])
        wide[:, 2 * d] = 1.0
        return wide

    def joint(self, wide: Array) -> Array:
        """``log(w_c N(x; m_c, v_c))`` of expanded frames for every Gaussian, shape (T, C).

        Parameters
        ----------
        wide
            What ``expanded`` returned.
        """
        # one matrix product for all Gaussians; BLAS threads it
        return np.asarray(wide @ self._coefficients.astype(wide.dtype))

    def log_density(self, frames: npt.ArrayLike) -> FloatArray:
        """Log-density of each frame.

        Parameters
        ----------
        frames
            The frames.
        """
        densities = [
            log_sum_exp(self.joint(self.expanded(piece)))
            for piece in pieces(checked_frames(frames, self.n_dimensions))
        ]
        return np.concatenate(densities).astype(np.float64)

    def posteriors(self, frames: npt.ArrayLike) -> FloatArray:
        """For each frame the probability of each Gaussian, shape (T, C).

        Parameters
        ----------
        frames
            The frames.
        """
        posteriors = []
        for piece in pieces(checked_frames(frames, self.n_dimensions)):
            joint = self.joint(self.expanded(piece))
            _, total = exponentiate(joint)
            posteriors.append(joint / total)
        return np.concatenate(posteriors).astype(np.float64)


def pieces(frames: Array) -> Iterator[Array]:
    """Some frames at a time, so that posteriors never fill the memory."""
    return (frames[rows] for rows in blocks(len(frames), FRAMES_AT_ONCE))


def exponentiate(joint: Array) -> tuple[Array, Array]:
    """Turn log-densities into ``exp(joint - largest of the row)`` in place; gives largest and row sum.

    Rows are shared among threads in blocks that stay in the cache. No BLAS is called here, whose threads
    would get in the way of ours.
    """
    largest, total = np.empty((len(joint), 1), joint.dtype), np.empty((len(joint), 1), joint.dtype)

    def work(rows: slice) -> None:
        block = joint[rows]
        np.max(block, axis=1, keepdims=True, out=largest[rows])
        np.subtract(block, largest[rows], out=block)
        np.exp(block, out=block)
        np.sum(block, axis=1, keepdims=True, out=total[rows])

    in_threads(work, list(blocks(len(joint), _ROWS)))
    return largest, total


def log_sum_exp(joint: Array) -> Array:
    """Log of the sum of the exponentials of each row; overwrites its argument."""
    largest, total = exponentiate(joint)
    return np.asarray((largest + np.log(total))[:, 0])


def in_threads(work: Callable[[slice], None], row_blocks: list[slice]) -> None:
    """Do the parts of a job in a pool of threads; they write to places of their own, so order is nothing."""
    workers = min(thread_count(), len(row_blocks))
    if workers < 2:
        for rows in row_blocks:
            work(rows)
        return
    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(work, row_blocks):
            pass
