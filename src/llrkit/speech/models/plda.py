"""PLDA of two covariances: whole matrices of scores, training by EM, and adaptation to another domain.

Scores are made by matrix products. In coordinates where the within-speaker covariance is the
identity and the between-speaker covariance is diagonal, with ratios ``lambda``, each side of a trial is known
by two things: its natural parameter ``gamma`` and the precision ``P`` it adds to a speaker drawn from a
standard normal distribution. The LLR is then

    1/2 [ (g1+g2)' (I+P1+P2)^-1 (g1+g2) - g1' (I+P1)^-1 g1 - g2' (I+P2)^-1 g2
          - log|I+P1+P2| + log|I+P1| + log|I+P2| ].

Rows with the same precision share one matrix product. Without covariances the precisions are diagonal, and
only depend on the number of sessions.

A model is adapted by unlabeled embeddings of another domain, or by a second labeled model. There ``B`` is the
covariance between speakers, ``W`` that within, and ``C`` that of the unlabeled embeddings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import cholesky, eigh, solve_triangular

from llrkit.base import arguments
from llrkit.base.arguments import Array, FloatArray, IntArray
from llrkit.base.process import cached_property
from llrkit.core.numerics import blocks
from llrkit.errors import InputError, UnknownNameError
from llrkit.speech.embeddings import Embeddings, SavedModel, vectors_of
from llrkit.speech.models import transforms
from llrkit.speech.models.transforms import SpeakerSums, Trainable
from llrkit.theory.mixtures import PLDALLR

_STACK = 1 << 22  # numbers in a stack of matrices worked on at a time
_FEW = 8  # groups smaller than this, on average, are scored row by row in stacks


@dataclass(frozen=True, eq=False)
class PLDARows:
    """One side of the trials: ``natural`` (n, r), and for each row which of the ``precisions`` it has.

    ``precisions`` has shape (g, r) where they are diagonal, else (g, r, r).
    """

    natural: FloatArray
    group: IntArray
    precisions: FloatArray

    def rows(self, selection: slice) -> PLDARows:
        """Some consecutive rows, with the precisions they have."""
        # Only the precisions of these rows: whether they are scattered is judged block by block.
        used, group = np.unique(self.group[selection], return_inverse=True)
        return PLDARows(self.natural[selection], group, self.precisions[used])

    @property
    def diagonal(self) -> bool:
        """Whether the precisions are diagonal."""
        return self.precisions.ndim == 2

    @property
    def scattered(self) -> bool:
        """Whether most rows have a precision of their own."""
        return len(self.precisions) > max(1, len(self.natural) // _FEW)

    def own_terms(self) -> FloatArray:
        """What each row adds to the LLR whatever the other side: ``1/2 [log|I+P| - g' (I+P)^-1 g]``."""
        alone, log_alone = _inverse_and_log_det(self.precisions, self.diagonal)
        terms = np.empty(len(self.natural))
        # Every row gathers the inverse of its own, so a stack of full matrices is cut to _STACK numbers.
        for block in blocks(len(terms), max(1, _STACK // max(self.precisions[0].size, 1))):
            g, inverse = self.natural[block], alone[self.group[block]]
            moved = inverse * g if self.diagonal else np.einsum("irs,is->ir", inverse, g)
            terms[block] = 0.5 * (log_alone[self.group[block]] - np.einsum("ir,ir->i", moved, g))
        return terms

    def by_group(self) -> Iterator[tuple[PLDARows, IntArray]]:
        """The rows of each group, and where they are."""
        for g in range(len(self.precisions)):
            rows = np.flatnonzero(self.group == g)
            yield PLDARows(self.natural[rows], np.zeros_like(rows), self.precisions[g : g + 1]), rows

    def full(self) -> PLDARows:
        """The same with precisions as full matrices."""
        if not self.diagonal:
            return self
        return PLDARows(self.natural, self.group, self.precisions[:, :, None] * np.eye(self.natural.shape[1]))


def rows_from_covariances(
    y: FloatArray, ratios: FloatArray, counts: FloatArray, covariances: Array, basis: FloatArray
) -> PLDARows:
    """The same with a full covariance per row; ``y`` has all dimensions, ``ratios`` those that matter.

    Rows with equal covariance and count share a group, whatever their order.
    """
    r = len(ratios)
    scale = np.sqrt(ratios)
    seen: dict[tuple[float, bytes], int] = {}
    group = np.empty(len(y), dtype=np.intp)
    natural, precisions = np.empty((len(y), r)), []
    gains: list[FloatArray] = []
    for i, (count, covariance) in enumerate(zip(counts, covariances, strict=True)):
        # The bytes are the key: only covariances that are equal to the last bit may share a matrix
        # product.
        key = (float(count), np.ascontiguousarray(covariance).tobytes())
        if key not in seen:
            seen[key] = len(seen)
            noise = basis.T @ np.asarray(covariance, dtype=np.float64) @ basis
            # In this basis the within-speaker covariance is the identity, and an average of n sessions
            # has 1/n of it.
            noise[np.diag_indices_from(noise)] += 1.0 / count
            try:
                factor = cholesky(noise, lower=True)
            except np.linalg.LinAlgError:
                raise InputError(f"row {i}: its covariance has negative eigenvalues") from None
            half = solve_triangular(factor, np.eye(len(noise)), lower=True)
            inverse = np.asarray(half.T @ half)
            # All dimensions of y enter, since the noise correlates those without speaker variance with
            # the others; only the first r rows of the inverse are needed.
            gains.append(scale[:, None] * inverse[:r])
            precisions.append(scale[:, None] * inverse[:r, :r] * scale)
        group[i] = seen[key]
    for g, gain in enumerate(gains):
        rows = group == g
        natural[rows] = y[rows] @ gain.T
    return PLDARows(natural, group, np.array(precisions).reshape(-1, r, r))


def score_into(out: Array, left: PLDARows, right: PLDARows) -> None:
    """Write the LLRs of all pairs of rows into ``out``, of shape (rows of left, rows of right)."""
    if left.diagonal != right.diagonal:
        left, right = left.full(), right.full()
    if len(left.precisions) < len(right.precisions):
        out, left, right = out.T, right, left  # the LLR is symmetric; the loop is over the fewer groups
    left_own, right_own = left.own_terms(), right.own_terms()
    if len(right.precisions) == 1 and not left.scattered:
        _score_by_product(left, left_own, right, right_own, out)
        return
    for group_rows, columns in right.by_group():
        if left.scattered:
            out[:, columns] = _score_in_stacks(left, left_own, group_rows, right_own[columns])
        else:
            # np.matmul cannot write to columns that are picked by an index.
            scores = np.empty((len(left.natural), len(columns)), dtype=out.dtype)
            _score_by_product(left, left_own, group_rows, right_own[columns], scores)
            out[:, columns] = scores


def _score_by_product(
    left: PLDARows, left_own: FloatArray, right: PLDARows, right_own: FloatArray, out: Array
) -> None:
    """All rows of a few groups against rows of one group: a single matrix product.

    One column more holds what depends on the left side only; one for each group of the left side what
    depends on the right side and on that group.
    """
    r, groups = left.natural.shape[1], len(left.precisions)
    first = np.zeros((len(left.natural), r + 1 + groups), dtype=out.dtype)
    second = np.empty((len(right.natural), r + 1 + groups), dtype=out.dtype)
    second[:, :r], second[:, r] = right.natural, 1.0
    first[np.arange(len(first)), r + 1 + left.group] = 1.0
    times = np.multiply if left.diagonal else np.matmul
    for g, precision in enumerate(left.precisions):
        rows = slice(None) if groups == 1 else left.group == g
        joint, log_joint = _inverse_and_log_det(precision + right.precisions[0], left.diagonal)
        moved = times(left.natural[rows], joint)
        first[rows, :r] = moved
        first[rows, r] = left_own[rows] + 0.5 * np.einsum("ir,ir->i", moved, left.natural[rows])
        own = np.einsum("ir,ir->i", times(right.natural, joint), right.natural)
        second[:, r + 1 + g] = right_own + 0.5 * (own - log_joint)
    np.matmul(first, second.T, out=out)


def _score_in_stacks(
    left: PLDARows, left_own: FloatArray, right: PLDARows, right_own: FloatArray
) -> FloatArray:
    """Rows that each have a precision of their own against rows of one group."""
    out = np.empty((len(left.natural), len(right.natural)))
    other = right.precisions[0]
    size = other.size + (0 if left.diagonal else right.natural.size)
    for block in blocks(len(left.natural), max(1, _STACK // max(size, 1))):
        natural = left.natural[block]
        precision = left.precisions[left.group[block]] + other
        if left.diagonal:
            joint, log_joint = _inverse_and_log_det(precision, diagonal=True)
            # The quadratic form of a sum, multiplied out: squares of each side and a cross term, each a
            # matrix product.
            squares = (joint * natural**2).sum(axis=1)[:, None] + joint @ (right.natural**2).T
            squares += 2.0 * (joint * natural) @ right.natural.T
        else:
            whole = np.eye(len(other)) + precision
            # The log-determinant of a positive definite matrix, from the diagonal of its Cholesky
            # factor.
            log_joint = 2.0 * np.log(np.diagonal(np.linalg.cholesky(whole), axis1=1, axis2=2)).sum(axis=1)
            sums = natural[:, :, None] + right.natural.T
            squares = np.einsum("irj,irj->ij", sums, np.linalg.solve(whole, sums))
        out[block] = left_own[block, None] + right_own + 0.5 * (squares - log_joint[:, None])
    return out


def _inverse_and_log_det(precision: FloatArray, diagonal: bool) -> tuple[FloatArray, FloatArray]:
    """Inverse and log-determinant of ``I + P``; of each, for a stack."""
    if diagonal:
        # log1p, since precisions are small in directions that say little about the speaker.
        return 1.0 / (1.0 + precision), np.log1p(precision).sum(axis=-1)
    whole = np.eye(precision.shape[-1]) + precision
    return np.asarray(np.linalg.inv(whole), dtype=np.float64), np.linalg.slogdet(whole)[1]


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
            matrix = transforms.symmetric(getattr(self, name), len(mean), f"the {name}-speaker covariance")
            object.__setattr__(self, name, matrix)
        # Before ``eigen``, which needs a positive definite matrix on the right.
        transforms.require_definite(self.within, "the within-speaker covariance")
        lowest, largest = (float(f(self.eigen[0])) for f in (np.min, np.max))
        # Rounding makes eigenvalues of a low-rank matrix slightly negative.
        if lowest < -1e-8 * max(largest, 1e-300):
            raise InputError("the between-speaker covariance has negative eigenvalues")
        super().__post_init__()  # the matrices are new: they must not be written to either

    @cached_property
    def eigen(self) -> tuple[FloatArray, FloatArray]:
        """Ratios and basis: ``V' within V = I``, ``V' between V = diag(ratios)``, largest ratio first."""
        # eigh solves between v = ratio within v with v' within v = 1, smallest ratio first.
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
        # Ratios below this are rounding errors of the eigenvalue solver, not dimensions.
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
        left = self._rows_of(enroll, counts, covariances, uncertainty, "enrollment embeddings")
        right = self._rows_of(test, test_counts, test_covariances, uncertainty, "test embeddings")
        shape = (len(left.natural), len(right.natural))
        scores = transforms.empty_scores(shape, dtype, out)
        for rows in blocks(shape[0], transforms.rows_per_block(shape[1])):
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
        left = self._rows_of(enroll, counts, covariances, uncertainty, "enrollment embeddings")
        right = self._rows_of(test, test_counts, test_covariances, uncertainty, "test embeddings")
        m = len(right.natural)
        for rows in blocks(len(left.natural), transforms.rows_per_block(m)):
            block = transforms.empty_scores((rows.stop - rows.start, m), dtype)
            score_into(block, left.rows(rows), right)
            yield rows, block

    def _rows_of(
        self,
        rows: Trainable,
        counts: npt.ArrayLike | None,
        covariances: npt.ArrayLike | None,
        uncertainty: str,
        what: str,
    ) -> PLDARows:
        arguments.one_of(uncertainty, UNCERTAINTY, "uncertainty")
        vectors = vectors_of(rows, self.dim, what)
        n = len(vectors)
        if isinstance(rows, Embeddings):
            counts = rows.columns.get(SESSIONS) if counts is None else counts
            covariances = rows.covariances if covariances is None else covariances
        sizes = np.ones(n) if counts is None else np.asarray(counts, dtype=np.float64)
        if sizes.shape != (n,) or not (sizes >= 1).all() or not np.isfinite(sizes).all():
            raise InputError(f"{what}: counts must be {n} numbers of at least 1")
        # Without covariances, or with diagonal ones, directions without speaker variance drop out of the
        # LLR.
        basis = self.basis if covariances is None or uncertainty == "diagonal" else self.eigen[1]
        # The mean is subtracted after the product, which spares a centered copy of all vectors.
        y = np.asarray(vectors, dtype=np.float64) @ basis - self.mean @ basis
        natural = y[:, : self.rank] * np.sqrt(self.ratios)
        if covariances is None:  # rows with as many sessions share a precision
            distinct, group = np.unique(sizes, return_inverse=True)
            # Single sessions on both sides are the usual case and need no second pass over the array.
            if not np.array_equal(distinct, [1.0]):
                natural *= sizes[:, None]
            return PLDARows(natural, group, distinct[:, None] * self.ratios)
        given: Array = np.asarray(covariances)
        if given.shape != (n, self.dim, self.dim):
            raise InputError(
                f"{what}: covariances must have shape {(n, self.dim, self.dim)}, got {given.shape}"
            )
        if uncertainty == "diagonal":
            # optimize: two products one after the other, instead of one loop over all four indices.
            variances = np.einsum("dr,nde,er->nr", basis, given, basis, optimize=True)
            noise = 1.0 / sizes[:, None] + variances
            if not (noise > 0.0).all():
                row = int(np.argmin(noise.min(axis=1)))
                raise InputError(f"row {row}: its covariance has negative eigenvalues")
            return PLDARows(natural / noise, np.arange(n), self.ratios / noise)
        return rows_from_covariances(y, self.ratios, sizes, given, basis)

    def __repr__(self) -> str:
        return f"PLDA({self.dim} dimensions, rank {self.rank})"


_FLOOR = 1e-3  # smallest ratio between/within that EM starts from: from zero it could never grow


class PLDATraining(NamedTuple):
    """A trained model, and the log-likelihood of its training data at the start and after each iteration."""

    model: PLDA
    """The trained model."""
    log_likelihood: FloatArray
    """At the start and after each iteration; it never falls."""


def train_plda(
    vectors: Embeddings | npt.ArrayLike,
    speakers: npt.ArrayLike | None = None,
    *,
    start: str | PLDA = "moments",
    iterations: int = 20,
    rank: int | None = None,
    shrinkage: float = 0.0,
) -> PLDATraining:
    """Train a PLDA model by expectation-maximization.

    The speaker space is found by regression on the latent variables, followed by a minimum-divergence step,
    which needs far fewer iterations than the textbook updates of the two covariances and has the same
    optimum; the log-likelihood never falls. EM cannot leave a direction in which speakers do not differ at
    all, so from the moments it starts with at least a thousandth of the variance within speakers in every
    direction.

    Parameters
    ----------
    vectors, speakers
        One row per session and its speaker; the speakers of embeddings are those they carry.
    start
        'moments' (see :func:`moment_estimate`), or a model.
    iterations
        How often to repeat; 0 gives the start itself.
    rank
        Dimensions of the space in which speakers differ; all of them by default.
    shrinkage
        Adds this share of the mean variance within speakers to that variance in every direction, for
        embeddings some of whose directions do not vary. The log-likelihood then includes the penalty that
        this amounts to.

    References
    ----------
    Brümmer & de Villiers, "The speaker partitioning problem", Odyssey 2010 (two-covariance model);
    Brümmer, "EM for probabilistic LDA", 2010 (regression and minimum divergence).

    Examples
    --------
    >>> rng = np.random.default_rng(4)
    >>> speakers = np.repeat(np.arange(500), 4)
    >>> vectors = 2.0 * rng.normal(size=(500, 1))[speakers] + rng.normal(size=(2000, 1))
    >>> model, log_likelihood = train_plda(vectors, speakers, iterations=10)
    >>> round(float(model.between[0, 0]), 1), round(float(model.within[0, 0]), 1)
    (4.0, 1.0)
    >>> bool((np.diff(log_likelihood) >= -1e-9).all())
    True
    """
    arguments.whole_number(iterations, 0, "iterations")
    sums = transforms.speaker_sums(vectors, speakers, shrinkage=shrinkage)
    if rank is not None and not (int(rank) == rank and 1 <= rank <= sums.dim):
        raise InputError(f"rank must be a whole number from 1 to {sums.dim}, got {rank!r}")
    if isinstance(start, PLDA):
        if start.dim != sums.dim:
            raise InputError(f"the start has {start.dim} dimensions, the embeddings {sums.dim}")
        # A model that is given is taken as it is, also where it has directions of no variance.
        model, floor = start, 0.0
    elif start == "moments":
        # Without iterations the result is the moment estimate itself, which has no floor.
        model, floor = _moments_of_speakers(sums), _FLOOR if iterations else 0.0
    else:
        raise UnknownNameError(f"start={start!r}: expected moments or a model")
    if rank is not None or floor > 0.0:
        model = _plda_with_ratios(model, model.between, floor, rank)
    history = [log_likelihood(model, sums)]
    for _ in range(int(iterations)):
        model = _plda_em_step(model, sums, sums.dim if rank is None else int(rank))
        history.append(log_likelihood(model, sums))
    return PLDATraining(model, np.array(history))


def moment_estimate(
    vectors: Embeddings | npt.ArrayLike, speakers: npt.ArrayLike | None = None, *, shrinkage: float = 0.0
) -> PLDA:
    """Analysis of variance: the within-speaker covariance, and what is left over it between speaker means.

    ``within = S_w / (N - K)``, ``between = (S_b / (K - 1) - within) / n0`` with
    ``n0 = (N - sum n_i^2 / N) / (K - 1)``; negative variances between speakers are set to zero. Unbiased
    for any number of sessions per speaker, apart from that.

    Parameters
    ----------
    vectors
        Embeddings, or an array with one row each.
    speakers
        The speaker of each row; by default that of the embeddings.
    shrinkage
        Share of the mean variance that is mixed into the covariance.

    Examples
    --------
    >>> moment_estimate([[0.0], [2.0], [6.0], [8.0]], ["a", "a", "b", "b"]).between
    array([[17.]])
    """
    return _moments_of_speakers(transforms.speaker_sums(vectors, speakers, shrinkage=shrinkage))


def _moments_of_speakers(sums: SpeakerSums) -> PLDA:
    n, total, within = sums.counts, sums.sessions, sums.within
    degrees = len(n) - 1
    centered = sums.means - sums.mean
    # The number of sessions that equally many of each speaker would have for the same expectation of
    # S_b.
    n0 = (total - (n @ n) / total) / degrees
    between = ((centered * n[:, None]).T @ centered / degrees - within) / n0
    return _plda_with_ratios(PLDA(sums.mean, np.zeros_like(within), within), between, floor=0.0, rank=None)


def _plda_with_ratios(base: PLDA, between: FloatArray, floor: float, rank: int | None) -> PLDA:
    """A model with this covariance between speakers, its ratios to the one within made at least ``floor``."""
    ratios, basis = eigh(between, base.within)
    # Negative estimates of variances come from chance, where speakers hardly differ.
    ratios = np.maximum(ratios, floor)
    if rank is not None:
        # Ratios are sorted upwards: the first are the smallest.
        ratios[: len(ratios) - rank] = 0.0
    back = base.within @ basis  # the inverse of the transposed basis
    return PLDA(base.mean, (back * ratios) @ back.T, base.within)


def log_likelihood(model: PLDA, sums: SpeakerSums) -> float:
    """Log-likelihood of the training vectors, from their sums."""
    ratios, basis = model.eigen
    n = sums.counts
    y = (sums.means - model.mean) @ basis
    spread = 1.0 + n[:, None] * np.maximum(ratios, 0.0)
    # The change to coordinates where the within-speaker covariance is the identity costs its
    # log-determinant for every session.
    log_within = float(np.linalg.slogdet(model.within)[1])
    squares = float(np.sum(n[:, None] * y * y / spread)) + float(np.sum((sums.scatter @ basis) * basis))
    constant = sums.sessions * (sums.dim * np.log(2.0 * np.pi) + log_within)
    return float(-0.5 * (constant + np.sum(np.log(spread)) + squares))


def _plda_em_step(model: PLDA, sums: SpeakerSums, rank: int) -> PLDA:
    """One iteration, in coordinates where the model is diagonal: ``x = center + loadings h + e``."""
    n, k = sums.counts[:, None], len(sums.counts)
    ratios, basis = model.eigen
    y = (sums.means - model.mean) @ basis
    ratios = np.maximum(ratios[:rank], 0.0)
    uncertain = 1.0 / (1.0 + n * ratios)  # of the latent variables h, whose prior variance is one
    h = n * np.sqrt(ratios) * y[:, :rank] * uncertain
    # A column of ones estimates the center together with the loadings, in one regression.
    known = np.column_stack([h, np.ones(k)])
    second, cross = (n * known).T @ known, (n * known).T @ y
    # E[h h'] is the square of the mean plus the posterior variance, which is diagonal in these
    # coordinates.
    second[np.arange(rank), np.arange(rank)] += (n * uncertain).sum(axis=0)
    regression = np.linalg.solve(second, cross).T
    loadings, center = regression[:, :rank], regression[:, rank]
    # The sum of squares less what the regression explains.
    within = (basis.T @ sums.scatter @ basis + (n * y).T @ y - regression @ cross) / sums.sessions
    # minimum divergence: give the latent variables back their mean of zero and their unit covariance
    shift = h.mean(axis=0)
    covariance = (h - shift).T @ (h - shift) / k + np.diag(uncertain.mean(axis=0))
    between = loadings @ covariance @ loadings.T
    back = model.within @ basis  # the inverse of the transposed basis
    # Rounding leaves it slightly unsymmetric, and eigh reads one triangle only.
    within = 0.5 * (within + within.T)
    return PLDA(
        model.mean + back @ (center + loadings @ shift), back @ between @ back.T, back @ within @ back.T
    )


def recoloring(source: FloatArray, target: FloatArray, *, shrinkage: float = 1e-3) -> FloatArray:
    """The matrix ``A`` of CORAL: rows ``x @ A`` of covariance ``source`` get the covariance ``target``.

    ``A = source^(-1/2) target^(1/2)`` with symmetric square roots; ``shrinkage`` adds that share of the mean
    variance to every direction of both first.

    Parameters
    ----------
    source
        The covariance of the rows.
    target
        The covariance that is wanted.
    shrinkage
        Share of the mean variance that is mixed into the covariance.

    References
    ----------
    Sun, Feng & Saenko, "Return of frustratingly easy domain adaptation", AAAI 2016; Alam, Bhattacharya &
    Kenny, "Speaker verification in mismatched conditions with frustratingly easy domain adaptation",
    Odyssey 2018.

    Examples
    --------
    >>> recoloring(np.diag([4.0, 1.0]), np.diag([1.0, 9.0]), shrinkage=0.0)
    array([[0.5, 0. ],
           [0. , 3. ]])
    """
    arguments.not_negative(shrinkage, "shrinkage")
    powers = []
    for covariance, power in ((source, -0.5), (target, 0.5)):
        values, directions = np.linalg.eigh(covariance)
        # Covariances of fewer vectors than dimensions have eigenvalues of zero, which rounding makes
        # negative.
        values = np.maximum(values, 0.0) + shrinkage * np.trace(covariance) / len(covariance)
        if values[0] <= 0.0:
            raise InputError("the covariance is singular; give a shrinkage")
        powers.append((directions * values**power) @ directions.T)
    return np.asarray(powers[0] @ powers[1])


def coral_plus(plda: PLDA, unlabeled: Trainable, *, between: float = 0.8, within: float = 0.8) -> PLDA:
    """CORAL+: covariances of a PLDA model raised, never lowered, towards those of another domain.

    With ``A`` of :func:`recoloring` from ``B + W`` to ``C``, pseudo-in-domain covariances are ``A' B A`` and
    ``A' W A``. In coordinates where the old covariance is the identity and the new one diagonal with
    variances d, the result has ``(1 - g) + g max(1, d)``. The mean becomes that of the new domain.

    Parameters
    ----------
    plda
        The PLDA model.
    unlabeled
        Embeddings of the new domain; their speakers need not be known.
    between, within
        The weights ``g`` of the new covariances.

    References
    ----------
    Lee, Wang & Koshinaka, "The CORAL+ algorithm for unsupervised domain adaptation of PLDA", ICASSP 2019.

    Examples
    --------
    >>> plda = PLDA([0.0], [[1.0]], [[1.0]])
    >>> coral_plus(plda, [[-4.0], [4.0]], between=1.0, within=0.5).within.round(2)
    array([[4.5]])
    """
    arguments.of_kind(plda, PLDA, "plda")
    arguments.share(between, "between")
    arguments.share(within, "within")
    mean, covariance = transforms.mean_and_covariance(unlabeled, plda.dim, "unlabeled embeddings")
    # Just enough that the covariance of a few unlabeled embeddings is not refused as singular; the
    # shrinkage of CORAL proper is a thousand times larger.
    a = recoloring(plda.between + plda.within, covariance, shrinkage=1e-6)
    return PLDA(mean, _raised_variances(plda.between, a, between), _raised_variances(plda.within, a, within))


def _raised_variances(old: FloatArray, a: FloatArray, weight: float) -> FloatArray:
    """The variances of ``a' old a`` where they are larger, with this weight; low-rank covariances too."""
    # A between-speaker covariance of low rank cannot be the reference of eigh; the floor only makes it
    # invertible.
    floor = 1e-8 * np.trace(old) / len(old)
    definite = old + floor * np.eye(len(old))
    ratios, basis = eigh(a.T @ old @ a, definite)
    back = definite @ basis  # the inverse of the transposed basis
    # Variances smaller than the old ones are left alone: the ratio counts from one up.
    gain = weight * np.maximum(ratios - 1.0, 0.0)
    result = old + (back * gain) @ back.T
    return np.asarray(0.5 * (result + result.T))


def kaldi_adapted(
    plda: PLDA,
    unlabeled: Trainable,
    *,
    # The defaults are those of Kaldi's ivector-adapt-plda.
    between: float = 0.7,
    within: float = 0.3,
    mean_difference: float = 1.0,
) -> PLDA:
    """Kaldi's unsupervised adaptation (``ivector-adapt-plda``): variance that is too large is shared out.

    The mean becomes that of the unlabeled embeddings, their covariance is enlarged by ``mean_difference``
    times the square of the shift. In coordinates where ``B + W`` is the identity and that covariance is
    diagonal, the excess ``s_i - 1`` of each direction, where positive, is added to ``W`` and to ``B`` with
    the weights ``within`` and ``between``.

    Parameters
    ----------
    plda
        The PLDA model.
    unlabeled
        Embeddings of the new domain; their speakers need not be known.
    between
        Share of the excess that goes between speakers.
    within
        Share of the excess that goes within speakers.
    mean_difference
        Weight of the difference of the means.

    Examples
    --------
    >>> plda = PLDA([0.0], [[3.0]], [[1.0]])
    >>> moved = kaldi_adapted(plda, [[-4.0], [4.0]])
    >>> moved.between.round(2), moved.within.round(2)
    (array([[11.4]]), array([[4.6]]))
    """
    arguments.of_kind(plda, PLDA, "plda")
    for name, weight in (("between", between), ("within", within), ("mean_difference", mean_difference)):
        arguments.not_negative(weight, name)
    mean, covariance = transforms.mean_and_covariance(unlabeled, plda.dim, "unlabeled embeddings")
    shift = mean - plda.mean
    covariance = covariance + mean_difference * np.outer(shift, shift)
    total = plda.between + plda.within
    excess, basis = eigh(covariance, total)  # basis' total basis = I
    back = total @ basis
    extra = (back * np.maximum(excess - 1.0, 0.0)) @ back.T
    return PLDA(mean, plda.between + between * extra, plda.within + within * extra)


def interpolated(plda: PLDA, in_domain: PLDA, weight: float = 0.5) -> PLDA:
    """Covariances of two labeled models, ``weight`` of the one of the domain; its mean.

    Parameters
    ----------
    plda
        The PLDA model.
    in_domain
        A model of the new domain.
    weight
        Weight of the model of the new domain.

    References
    ----------
    Garcia-Romero, McCree, Shum, Brümmer & Vaquero, "Unsupervised domain adaptation for i-vector speaker
    recognition", Odyssey 2014.

    Examples
    --------
    >>> interpolated(PLDA([0.0], [[1.0]], [[1.0]]), PLDA([2.0], [[3.0]], [[5.0]]), 0.25).within
    array([[2.]])
    """
    arguments.of_kind(plda, PLDA, "plda")
    arguments.of_kind(in_domain, PLDA, "in_domain")
    arguments.share(weight, "weight")
    if plda.dim != in_domain.dim:
        raise InputError(f"models of {plda.dim} and {in_domain.dim} dimensions")
    between = (1.0 - weight) * plda.between + weight * in_domain.between
    within = (1.0 - weight) * plda.within + weight * in_domain.within
    return PLDA(in_domain.mean, between, within)
