"""Two-covariance PLDA: a Gaussian speaker plus Gaussian variation within the speaker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh

from llrkit._arrays import Array, FloatArray
from llrkit._cached import cached_property
from llrkit._format import not_among
from llrkit.core.elementary_functions import blocks
from llrkit.errors import InputError, UnknownNameError
from llrkit.recognize.covariances import float_type, require_definite, rows_per_block, symmetric
from llrkit.recognize.embeddings import Embeddings, vectors_of
from llrkit.recognize.model_files import SavedModel
from llrkit.recognize.plda.plda_matrix_products import (
    PLDARows,
    rows_from_counts,
    rows_from_covariances,
    rows_from_variances,
    score_into,
)
from llrkit.theory.plda_pair import PLDALLR

SESSIONS = "sessions"
"""The column of an :class:`Embeddings` that says of how many sessions each row is the average."""
UNCERTAINTY = ("exact", "diagonal")


@dataclass(frozen=True, eq=False, repr=False)
class PLDA(SavedModel):
    """The model ``x = mean + y + e``, ``y ~ N(0, between)`` per speaker, ``e ~ N(0, within)`` per session.

    ``between`` may have low rank; only that many dimensions are then used in scoring.

    References
    ----------
    Brümmer & de Villiers, "The speaker partitioning problem", Odyssey 2010; Prince & Elder, "Probabilistic
    linear discriminant analysis for inferences about identity", ICCV 2007.

    Examples
    --------
    >>> plda = PLDA(mean=[0.0, 0.0], between=np.diag([3.0, 0.0]), within=np.eye(2))
    >>> plda
    PLDA(2 dimensions, rank 1)
    >>> plda.scores([[2.0, 0.5], [-2.0, 0.5]], [[2.0, -1.0]]).round(4)
    array([[ 0.8419],
           [-2.5867]])
    """

    mean: FloatArray
    """Shape (d,)."""
    between: FloatArray
    """Covariance of speakers, shape (d, d)."""
    within: FloatArray
    """Covariance of the sessions of a speaker, shape (d, d)."""
    schema: ClassVar[str] = "llrkit.plda/1"

    def __post_init__(self) -> None:
        super().__post_init__()  # all of them arrays of floats
        mean = self.mean
        if mean.ndim != 1 or len(mean) == 0 or not np.isfinite(mean).all():
            raise InputError(f"the mean must be a vector of finite numbers, got shape {mean.shape}")
        for name in ("between", "within"):
            matrix = symmetric(getattr(self, name), len(mean), f"the {name}-speaker covariance")
            object.__setattr__(self, name, matrix)
        require_definite(self.within, "the within-speaker covariance")
        lowest, largest = (float(f(self.eigen[0])) for f in (np.min, np.max))
        if lowest < -1e-8 * max(largest, 1e-300):
            raise InputError("the between-speaker covariance has negative eigenvalues")
        super().__post_init__()  # the matrices are new: they must not be written to either

    @cached_property
    def eigen(self) -> tuple[FloatArray, FloatArray]:
        """Ratios and basis: ``V' within V = I``, ``V' between V = diag(ratios)``, largest ratio first."""
        ratios, basis = eigh(self.between, self.within)
        return ratios[::-1], np.ascontiguousarray(basis[:, ::-1])

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return len(self.mean)

    @cached_property
    def rank(self) -> int:
        """Number of dimensions in which speakers differ."""
        ratios = self.eigen[0]
        return int(np.sum(ratios > 10 * self.dim * np.finfo(float).eps * max(float(ratios[0]), 0.0)))

    @property
    def ratios(self) -> FloatArray:
        """Ratios of the variance between speakers to that within, in the dimensions where it is not zero."""
        return self.eigen[0][: self.rank]

    @property
    def basis(self) -> FloatArray:
        """Directions (columns) in which the model falls apart into independent dimensions."""
        return self.eigen[1][:, : self.rank]

    def pair(self, sessions: int = 1, test_sessions: int = 1) -> PLDALLR:
        """The exact distributions of the LLRs of trials that follow the model.

        In each dimension the averages of ``n`` and ``m`` sessions of one speaker have the correlation
        ``lambda / sqrt((lambda + 1/n) (lambda + 1/m))``, and nothing else matters.

        Parameters
        ----------
        sessions
            Number of enrollment sessions.
        test_sessions
            Number of test sessions.

        Examples
        --------
        >>> plda = PLDA([0.0], [[1.0]], [[1.0]])
        >>> plda.pair().rho, plda.pair(sessions=10_000).rho
        ((0.5,), (0.7070714...,))
        """
        ratios = self.ratios
        return PLDALLR(tuple(ratios / np.sqrt((ratios + 1.0 / sessions) * (ratios + 1.0 / test_sessions))))

    def scores(
        self,
        enroll: Embeddings | npt.ArrayLike,
        test: Embeddings | npt.ArrayLike,
        counts: npt.ArrayLike | None = None,
        *,
        test_counts: npt.ArrayLike | None = None,
        covariances: npt.ArrayLike | None = None,
        test_covariances: npt.ArrayLike | None = None,
        uncertainty: str = "exact",
        dtype: npt.DTypeLike = np.float64,
        out: Array | None = None,
    ) -> Array:
        """LLRs of all pairs, a matrix of shape (rows of ``enroll``, rows of ``test``).

        Parameters
        ----------
        enroll, test
            Embeddings, or matrices. Of embeddings the column ``sessions`` and the covariances are used too.
        counts, test_counts
            Of how many sessions each row is the average; the LLR is that of all its sessions together.
        covariances, test_covariances
            The uncertainty of each row, shape ``(n, d, d)``, added to the covariance within speakers.
        uncertainty
            'exact', or 'diagonal': only the variances in the model's own dimensions are used, which is much
            faster where every row has another covariance.
        dtype
            Float32 halves memory and time; its error is about 1e-6 of the largest term of the LLR.
        out
            A matrix to write to, for example a memory map.

        Examples
        --------
        >>> plda = PLDA([0.0], [[1.0]], [[1.0]])
        >>> plda.scores([[1.0], [1.0]], [[1.0]], counts=[1, 100]).round(4)
        array([[0.3105],
               [0.5916]])
        """
        left, right = self._both_sides(
            enroll, test, counts, test_counts, covariances, test_covariances, uncertainty
        )
        shape, kind = (len(left.natural), len(right.natural)), float_type(dtype)
        scores = np.empty(shape, dtype=kind) if out is None else out
        if scores.shape != shape:
            raise InputError(f"out has shape {scores.shape}, but there are {shape} scores")
        for rows in blocks(shape[0], rows_per_block(shape[1])):
            score_into(scores[rows], left.rows(rows), right)
        return scores

    def score_blocks(
        self,
        enroll: Embeddings | npt.ArrayLike,
        test: Embeddings | npt.ArrayLike,
        counts: npt.ArrayLike | None = None,
        *,
        test_counts: npt.ArrayLike | None = None,
        covariances: npt.ArrayLike | None = None,
        test_covariances: npt.ArrayLike | None = None,
        uncertainty: str = "exact",
        dtype: npt.DTypeLike = np.float64,
    ) -> Iterator[tuple[slice, Array]]:
        """The same scores some enrollment rows at a time: (rows, their scores), some 64 MB each.

        Parameters
        ----------
        enroll
            Embeddings of the enrollment side.
        test
            Embeddings of the test side.
        counts
            Number of sessions in each enrollment row.
        test_counts
            Number of sessions in each test row.
        covariances
            Posterior covariance of each enrollment row.
        test_covariances
            Posterior covariance of each test row.
        uncertainty
            How covariances are used.
        dtype
            Type of the result.

        Examples
        --------
        >>> plda = PLDA([0.0], [[1.0]], [[1.0]])
        >>> [(rows, block.shape) for rows, block in plda.score_blocks([[1.0], [2.0]], [[0.5], [1.0], [2.0]])]
        [(slice(0, 2, None), (2, 3))]
        """
        left, right = self._both_sides(
            enroll, test, counts, test_counts, covariances, test_covariances, uncertainty
        )
        kind, m = float_type(dtype), len(right.natural)
        for rows in blocks(len(left.natural), rows_per_block(m)):
            block = np.empty((rows.stop - rows.start, m), dtype=kind)
            score_into(block, left.rows(rows), right)
            yield rows, block

    def _both_sides(
        self,
        enroll: Embeddings | npt.ArrayLike,
        test: Embeddings | npt.ArrayLike,
        counts: npt.ArrayLike | None,
        test_counts: npt.ArrayLike | None,
        covariances: npt.ArrayLike | None,
        test_covariances: npt.ArrayLike | None,
        uncertainty: str,
    ) -> tuple[PLDARows, PLDARows]:
        if uncertainty not in UNCERTAINTY:
            raise UnknownNameError(f"uncertainty={not_among(uncertainty, UNCERTAINTY, ': expected one of ')}")
        return (
            self._plda_rows(enroll, counts, covariances, uncertainty, "enrollment embeddings"),
            self._plda_rows(test, test_counts, test_covariances, uncertainty, "test embeddings"),
        )

    def _plda_rows(
        self,
        rows: Embeddings | npt.ArrayLike,
        counts: npt.ArrayLike | None,
        covariances: npt.ArrayLike | None,
        uncertainty: str,
        what: str,
    ) -> PLDARows:
        vectors = vectors_of(rows, self.dim, what)
        n = len(vectors)
        if isinstance(rows, Embeddings):
            counts = rows.columns.get(SESSIONS) if counts is None else counts
            covariances = rows.covariances if covariances is None else covariances
        sizes = np.ones(n) if counts is None else np.asarray(counts, dtype=np.float64)
        if sizes.shape != (n,) or not (sizes >= 1).all() or not np.isfinite(sizes).all():
            raise InputError(f"{what}: counts must be {n} numbers of at least 1")
        basis = self.basis if covariances is None or uncertainty == "diagonal" else self.eigen[1]
        y = np.asarray(vectors, dtype=np.float64) @ basis - self.mean @ basis
        if covariances is None:
            return rows_from_counts(y, self.ratios, sizes)
        given: Array = np.asarray(covariances)
        if given.shape != (n, self.dim, self.dim):
            raise InputError(
                f"{what}: covariances must have shape {(n, self.dim, self.dim)}, got {given.shape}"
            )
        if uncertainty == "diagonal":
            variances = np.einsum("dr,nde,er->nr", basis, given, basis, optimize=True)
            return rows_from_variances(y, self.ratios, sizes, variances)
        return rows_from_covariances(y, self.ratios, sizes, given, basis)

    def __repr__(self) -> str:
        return f"PLDA({self.dim} dimensions, rank {self.rank})"
