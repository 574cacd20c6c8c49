"""Heavy-tailed PLDA: sessions vary by Student's t, so that odd ones are trusted less."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array, FloatArray
from llrkit._cached import cached_property
from llrkit.core.elementary_functions import blocks
from llrkit.errors import InputError
from llrkit.recognize.covariances import float_type, rows_per_block
from llrkit.recognize.embeddings import Embeddings, vectors_of
from llrkit.recognize.model_files import SavedModel
from llrkit.recognize.plda.plda_matrix_products import PLDARows, rows_from_counts, score_into
from llrkit.recognize.plda.plda_model import PLDA

WEIGHT = "weight"
"""The column of pooled embeddings with the sum of the weights of their sessions."""


@dataclass(frozen=True, eq=False, repr=False)
class HeavyTailedPLDA(SavedModel):
    """The model ``x = mean + y + e`` with ``y ~ N(0, between)`` and ``e ~ N(0, within / p)``, ``p`` random.

    ``p ~ Gamma(n/2, n/2)`` makes ``e`` a t with ``n`` degrees of freedom. ``between`` has low rank r, less
    than the dimensions d. As a function of the speaker, the likelihood of a session is a t with ``n + d - r``
    degrees of freedom, which is taken for a Gaussian of the same mode and scale: a session counts as
    ``b = (n + d - r) / (n + q)`` sessions of Gaussian PLDA, ``q`` being its squared distance from the speaker
    space, in units of ``within``. The error falls as ``d - r`` grows. For embeddings whose length has not
    been normalized: it says how odd they are.

    References
    ----------
    Silnova, Brümmer, Garcia-Romero, Snyder & Burget, "Fast variational Bayes for heavy-tailed PLDA applied to
    i-vectors and x-vectors", Interspeech 2018; Kenny, "Bayesian speaker verification with heavy-tailed
    priors", Odyssey 2010.

    Examples
    --------
    >>> model = HeavyTailedPLDA(np.zeros(3), np.diag([3.0, 0.0, 0.0]), np.eye(3), 4.0)
    >>> model
    HeavyTailedPLDA(3 dimensions, rank 1, 4 degrees of freedom)
    >>> odd, usual = [2.0, 4.0, 4.0], [2.0, 0.0, 1.0]
    >>> model.weights([odd, usual]).round(3)
    array([0.167, 1.2  ])
    >>> model.scores([odd, usual], [usual]).round(3)
    array([[0.359],
           [0.932]])
    """

    mean: FloatArray
    """Shape (d,)."""
    between: FloatArray
    """Covariance of speakers, shape (d, d), of rank r < d."""
    within: FloatArray
    """Scale of the covariance of sessions, shape (d, d)."""
    degrees: FloatArray
    """The degrees of freedom ``n`` of the t of a session."""
    schema: ClassVar[str] = "llrkit.heavy-tailed-plda/1"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.degrees.shape or not 0.0 < float(self.degrees) < np.inf:
            raise InputError("the degrees of freedom must be a positive number")
        if self.gaussian.rank >= self.gaussian.dim:
            raise InputError(
                f"heavy tails show where speakers do not differ, so the rank must be less than the "
                f"{self.gaussian.dim} dimensions"
            )

    @cached_property
    def gaussian(self) -> PLDA:
        """The same with infinite degrees of freedom."""
        return PLDA(self.mean, self.between, self.within)

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return len(self.mean)

    @property
    def rank(self) -> int:
        """Number of dimensions in which speakers differ."""
        return self.gaussian.rank

    def weights(self, vectors: Embeddings | npt.ArrayLike) -> FloatArray:
        """As how many sessions of Gaussian PLDA each row counts.

        Parameters
        ----------
        vectors
            Embeddings, or an array with one row each.
        """
        x = np.asarray(vectors_of(vectors, self.dim), dtype=np.float64)
        beside = (x - self.mean) @ self.gaussian.eigen[1][:, self.rank :]
        n = float(self.degrees)
        return np.asarray((n + self.dim - self.rank) / (n + np.einsum("nd,nd->n", beside, beside)))

    def scores(
        self,
        enroll: Embeddings | npt.ArrayLike,
        test: Embeddings | npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        dtype: npt.DTypeLike = np.float64,
    ) -> Array:
        """LLRs of all pairs, a matrix of shape (rows of ``enroll``, rows of ``test``).

        A row of ``enroll`` may be the average of several sessions, weighted by :meth:`weights`; their sum is
        then given as ``weights``, or in the column ``weight`` that ``pool_sessions`` makes.

        Parameters
        ----------
        enroll
            Embeddings of the enrollment side.
        test
            Embeddings of the test side.
        weights
            Sum of the weights of the sessions in each enrollment row.
        dtype
            Type of the result.
        """
        left = self._rows(enroll, weights, "enrollment embeddings")
        right = self._rows(test, None, "test embeddings")
        scores = np.empty((len(left.natural), len(right.natural)), dtype=float_type(dtype))
        for rows in blocks(len(scores), rows_per_block(scores.shape[1])):
            score_into(scores[rows], left.rows(rows), right)
        return scores

    def _rows(self, rows: Embeddings | npt.ArrayLike, weights: npt.ArrayLike | None, what: str) -> PLDARows:
        vectors = np.asarray(vectors_of(rows, self.dim, what), dtype=np.float64)
        if weights is None and isinstance(rows, Embeddings):
            weights = rows.columns.get(WEIGHT)
        sums = self.weights(vectors) if weights is None else np.asarray(weights, dtype=np.float64)
        if sums.shape != (len(vectors),) or not ((sums > 0.0) & (sums < np.inf)).all():
            raise InputError(f"{what}: weights must be {len(vectors)} positive numbers")
        return rows_from_counts((vectors - self.mean) @ self.gaussian.basis, self.gaussian.ratios, sums)

    def __repr__(self) -> str:
        return (
            f"HeavyTailedPLDA({self.dim} dimensions, rank {self.rank}, "
            f"{float(self.degrees):.3g} degrees of freedom)"
        )
