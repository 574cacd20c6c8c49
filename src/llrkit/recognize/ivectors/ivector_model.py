"""I-vectors: where in a low-dimensional space of means an utterance lies, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.linalg import lapack

from llrkit._arrays import FloatArray
from llrkit._cached import cached_property
from llrkit._memory import at_once
from llrkit.core.elementary_functions import blocks
from llrkit.errors import InputError
from llrkit.recognize.embeddings import Embeddings
from llrkit.recognize.ivectors.baum_welch import Statistics
from llrkit.recognize.model_files import SavedModel

_BLOCK_BYTES = 1 << 26  # precision matrices in memory at a time
_GAUSSIANS = 32  # Gaussians whose square matrices are in memory at a time


@dataclass(frozen=True, eq=False)
class TotalVariability(SavedModel):
    """The model ``M = m + T w``, w ~ N(0, I), of the means M of an utterance, and its posterior of w.

    Given the statistics N_c and F_c of an utterance, w is Gaussian with precision
    ``L = I + sum_c N_c T_c' inv(V_c) T_c`` and mean ``inv(L) sum_c T_c' inv(V_c) F_c``: the i-vector (Dehak,
    Kenny, Dehak, Dumouchel & Ouellet 2011). V_c are the variances of the background model, F_c is counted
    from m_c.

    Parameters
    ----------
    matrix
        T, shape (C, D, R): Gaussians, dimensions of a frame, factors.
    variances
        V, shape (C, D).
    offsets
        The mean ``m`` minus the means of the background model, shape (C, D).
    log_likelihoods
        Of the training, before each of its steps: log-likelihood per utterance beyond that of the
        background model.

    Examples
    --------
    >>> model = TotalVariability(matrix=[[[1.0]]], variances=[[1.0]], offsets=[[0.0]])
    >>> counts, sums = np.array([[1.0], [9.0]]), np.array([[[2.0]], [[18.0]]])
    >>> statistics = Statistics(("a", "b"), counts, sums, log_likelihood=np.zeros(2))
    >>> ivectors = model.extract(statistics, covariances=True)
    >>> ivectors.vectors.ravel(), ivectors.covariances.ravel()
    (array([1. , 1.8]), array([0.5, 0.1]))
    """

    matrix: FloatArray
    variances: FloatArray
    offsets: FloatArray
    log_likelihoods: FloatArray = field(default_factory=lambda: np.empty(0))

    schema: ClassVar[str] = "llrkit.ivectors/1"

    def __post_init__(self) -> None:
        super().__post_init__()
        shape = self.matrix.shape
        if len(shape) != 3 or self.variances.shape != shape[:2] or self.offsets.shape != shape[:2]:
            raise InputError(
                f"expected a matrix (C, D, R), variances (C, D) and offsets (C, D), got {shape}, "
                f"{self.variances.shape} and {self.offsets.shape}"
            )
        if not (self.variances > 0).all() or not np.isfinite(self.matrix).all():
            raise InputError("the variances must be positive and the matrix finite")

    @property
    def n_factors(self) -> int:
        """Numbers in an i-vector."""
        return int(self.matrix.shape[2])

    @cached_property
    def white(self) -> FloatArray:
        """T in units of the standard deviations of the background model, shape (C, D, R)."""
        return self.matrix / np.sqrt(self.variances)[:, :, None]

    @cached_property
    def _squares(self) -> FloatArray:
        """``T_c' inv(V_c) T_c`` of each Gaussian, lower triangle, shape (C, R (R + 1) / 2)."""
        lower = np.tril_indices(self.n_factors)
        squares = np.empty((len(self.matrix), len(lower[0])))
        for gaussians in blocks(len(squares), _GAUSSIANS):
            square = self.white[gaussians].transpose(0, 2, 1) @ self.white[gaussians]
            squares[gaussians] = square[:, lower[0], lower[1]]
        return squares

    def deviations(self, statistics: Statistics) -> FloatArray:
        """``inv(sqrt(V)) (F - N offset)`` of each utterance as one long row, shape (U, C D).

        Parameters
        ----------
        statistics
            Baum-Welch statistics of utterances.
        """
        if statistics.first.shape[1:] != self.variances.shape:
            raise InputError(
                f"statistics for {statistics.first.shape[1:]}, a model for {self.variances.shape}"
            )
        white = statistics.first - statistics.zeroth[:, :, None] * self.offsets
        white /= np.sqrt(self.variances)
        return white.reshape(len(white), -1)

    def posteriors(self, statistics: Statistics) -> Iterator[tuple[slice, Posterior]]:
        """Posteriors of w, some utterances at a time.

        Parameters
        ----------
        statistics
            Baum-Welch statistics of utterances.
        """
        size = max(1, at_once(_BLOCK_BYTES) // (8 * self.n_factors**2))
        rows, columns = np.tril_indices(self.n_factors)
        flat = self.white.reshape(-1, self.n_factors)
        for utterances in blocks(len(statistics), size):
            block = statistics.subset(range(utterances.start, utterances.stop))
            white = self.deviations(block)
            packed = block.zeroth @ self._squares
            precisions = np.zeros((len(block), self.n_factors, self.n_factors))
            precisions[:, rows, columns] = packed
            precisions[:, range(self.n_factors), range(self.n_factors)] += 1.0
            yield utterances, Posterior.of(precisions, white @ flat)

    def extract(self, statistics: Statistics, *, covariances: bool = False) -> Embeddings:
        """The i-vector of every utterance, if asked for with its posterior covariance.

        Ids, speakers and the number of frames (column ``frames``) come from the statistics.

        Parameters
        ----------
        statistics
            Baum-Welch statistics of utterances.
        covariances
            Also compute posterior covariances.
        """
        vectors = np.empty((len(statistics), self.n_factors))
        spread = np.empty((len(statistics), self.n_factors, self.n_factors)) if covariances else None
        for utterances, posterior in self.posteriors(statistics):
            vectors[utterances] = posterior.means
            if spread is not None:
                spread[utterances] = posterior.covariances
        return Embeddings(
            vectors, np.array(statistics.ids),
            None if statistics.speakers is None else np.array(statistics.speakers),
            {"frames": np.rint(statistics.n_frames).astype(np.int64)}, spread,
        )  # fmt: skip


@dataclass(frozen=True)
class Posterior:
    """Gaussian posteriors of w: means (U, R), covariances (U, R, R), and the log-likelihood each gains."""

    means: FloatArray
    covariances: FloatArray
    gains: FloatArray

    @classmethod
    def of(cls, precisions: FloatArray, linear: FloatArray) -> Posterior:
        """From the lower triangles of the precisions L, which are overwritten, and b, precision times mean.

        The gain ``(b' inv(L) b - log det L) / 2`` is the log-ratio of the marginal likelihood to that of
        w = 0.
        """
        log_determinants = np.empty(len(linear))
        for u, precision in enumerate(precisions):
            # a row-major lower triangle is a column-major upper one, which LAPACK inverts in its place
            factor, failed = lapack.dpotrf(precision.T, lower=0, overwrite_a=1, clean=0)
            if failed:
                raise InputError("a precision matrix is not positive definite: the statistics are unusable")
            log_determinants[u] = 2.0 * np.log(factor.diagonal()).sum()
            precision[:] = lapack.dpotri(factor, lower=0, overwrite_c=1)[0].T
            precision += np.tril(precision, -1).T
        means = (precisions @ linear[:, :, None])[:, :, 0]
        return cls(means, precisions, 0.5 * ((means * linear).sum(axis=1) - log_determinants))
