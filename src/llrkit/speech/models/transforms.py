"""Centering, whitening, LDA, WCCN and length normalization of embeddings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self, overload

import numpy as np
import numpy.typing as npt
from scipy.linalg import cholesky, eigh

from llrkit.base.arguments import Array, FloatArray, not_negative, of_kind, one_of, whole_number
from llrkit.base.process import at_once, warn_caller
from llrkit.base.text import counted
from llrkit.core.summaries import ReadOnlyArrays
from llrkit.errors import InputError, SpeechWarning, UnknownNameError
from llrkit.io.array_files import part_of, prefixed
from llrkit.speech.embeddings import Arrays, Embeddings, Saved, checked_texts, finite_matrix, vectors_of

LENGTHS = ("unit", "sqrt-dim")
Trainable = Embeddings | npt.ArrayLike
Moved = tuple[Array, Array | None]
"""Vectors after a step, and their covariances if they have any."""


class Transform(ReadOnlyArrays, ABC):
    """A step: call it with a matrix or with embeddings, and get the same with other vectors.

    Covariances of embeddings are carried along: exactly through linear steps, to first order through
    length normalization.
    """

    kind: ClassVar[str]

    @overload
    def __call__(self, embeddings: Embeddings) -> Embeddings: ...
    @overload
    def __call__(self, embeddings: npt.ArrayLike) -> Array: ...
    def __call__(self, embeddings: Embeddings | npt.ArrayLike) -> Embeddings | Array:
        """Apply the step."""
        if not isinstance(embeddings, Embeddings):
            return self._moved(vectors_of(embeddings))[0]
        vectors, covariances = self._moved(embeddings.vectors, embeddings.covariances, embeddings.ids)
        return embeddings.replace(vectors=vectors, covariances=covariances)

    @abstractmethod
    def _moved(self, vectors: Array, covariances: Array | None = None, ids: Array | None = None) -> Moved:
        """Vectors and their covariances after the step; ids are for messages."""

    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """What has to be saved."""


@dataclass(frozen=True, eq=False, repr=False)
class Affine(Transform):
    """``(x - mean) @ matrix``; centering has no matrix.

    Examples
    --------
    >>> Affine([1.0, 2.0])(np.array([[1.0, 3.0]]))
    array([[0., 1.]])
    """

    mean: FloatArray
    """Subtracted from every vector, shape (d,)."""
    matrix: FloatArray | None = None
    """Shape (d, new dimensions); None leaves the dimensions as they are."""
    name: str = "affine"
    """What the step is called in messages: center, lda, ..."""
    kind: ClassVar[str] = "affine"

    def __post_init__(self) -> None:
        mean = finite_matrix(np.atleast_2d(self.mean), what="the mean")[0].astype(np.float64)
        object.__setattr__(self, "mean", mean)
        if self.matrix is not None:
            matrix = finite_matrix(self.matrix, what="the matrix").astype(np.float64)
            if len(matrix) != len(mean):
                raise InputError(f"the mean has {len(mean)} dimensions, the matrix {len(matrix)} rows")
            object.__setattr__(self, "matrix", matrix)
        super().__post_init__()

    def _moved(self, vectors: Array, covariances: Array | None = None, ids: Array | None = None) -> Moved:
        """See :class:`Transform`."""
        if vectors.shape[1] != len(self.mean):
            raise InputError(
                f"embeddings have {vectors.shape[1]} dimensions, the {self.name} step {len(self.mean)}"
            )
        # In 64 bits: embeddings are often stored in 32, and centering cancels digits.
        centered = vectors.astype(np.float64) - self.mean
        if self.matrix is None:
            return centered, covariances
        if covariances is not None:
            covariances = self.matrix.T @ covariances.astype(np.float64) @ self.matrix
        return centered @ self.matrix, covariances

    def arrays(self) -> dict[str, Array]:
        """Mean and matrix."""
        arrays = {"mean": self.mean, "name": np.array(self.name)}
        return arrays if self.matrix is None else {**arrays, "matrix": self.matrix}

    def __repr__(self) -> str:
        to = "" if self.matrix is None else f" to {self.matrix.shape[1]}"
        return f"{self.name}({len(self.mean)}{to} dimensions)"


@dataclass(frozen=True)
class LengthNorm(Transform):
    """Every vector divided by its length; times the root of the number of dimensions if 'sqrt-dim'.

    References
    ----------
    Garcia-Romero & Espy-Wilson, "Analysis of i-vector length normalization in speaker recognition systems",
    Interspeech 2011.

    Examples
    --------
    >>> LengthNorm()(np.array([[3.0, 4.0]]))
    array([[0.6, 0.8]])
    """

    length: str = "unit"
    """The new length: ``"unit"`` for 1, ``"sqrt-dim"`` for the root of the number of dimensions."""
    kind: ClassVar[str] = "length"

    def __post_init__(self) -> None:
        one_of(self.length, LENGTHS, "length")

    def _moved(self, vectors: Array, covariances: Array | None = None, ids: Array | None = None) -> Moved:
        """See :class:`Transform`."""
        dim = vectors.shape[1]
        wanted = 1.0 if self.length == "unit" else float(np.sqrt(dim))
        size = lengths_to_divide_by(vectors, ids)[:, None]
        if covariances is not None:
            unit = vectors / size
            # the derivative of x / |x| takes away what points along x
            slope = np.eye(dim) - unit[:, :, None] * unit[:, None, :]
            covariances = (wanted / size[:, :, None]) ** 2 * (slope @ covariances.astype(np.float64) @ slope)
        return vectors * (wanted / size), covariances

    def arrays(self) -> dict[str, Array]:
        """Which length."""
        return {"length": np.array(self.length)}


@dataclass(frozen=True)
class Chain(Transform, Saved):
    """Steps one after the other.

    Examples
    --------
    >>> chain = Chain((Affine([1.0, 0.0]), LengthNorm()))
    >>> chain(np.array([[1.0, 5.0]]))
    array([[0., 1.]])
    """

    steps: tuple[Transform, ...] = field(default=())
    """Applied from the first to the last."""
    kind: ClassVar[str] = "chain"
    schema: ClassVar[str] = "llrkit.chain/1"
    needed: ClassVar[tuple[str, ...]] = ("kinds",)

    def _moved(self, vectors: Array, covariances: Array | None = None, ids: Array | None = None) -> Moved:
        """See :class:`Transform`."""
        for step in self.steps:
            vectors, covariances = step._moved(vectors, covariances, ids)
        return vectors, covariances

    def then(self, step: Transform) -> Chain:
        """The chain with one step more, or with the steps of another chain.

        Parameters
        ----------
        step
            A transform or a chain.
        """
        return Chain((*self.steps, *(step.steps if isinstance(step, Chain) else (step,))))

    def arrays(self) -> dict[str, Array]:
        """The arrays of all steps, by the number of the step."""
        # dtype=str, since an empty list would become an array of floats.
        arrays: dict[str, Array] = {"kinds": np.array([step.kind for step in self.steps], dtype=str)}
        for i, step in enumerate(self.steps):
            arrays |= prefixed(f"step{i}.", step.arrays())
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """The chain that :meth:`arrays` described.

        Parameters
        ----------
        arrays
            Named arrays, as they were saved.
        """
        steps: list[Transform] = []
        for i, kind in enumerate(np.atleast_1d(arrays["kinds"]).tolist()):
            own = part_of(arrays, f"step{i}.")
            if kind == Affine.kind:
                steps.append(Affine(own["mean"], own.get("matrix"), str(own["name"])))
            elif kind == LengthNorm.kind:
                steps.append(LengthNorm(str(own["length"])))
            else:
                raise InputError(f"step {i} is of the unknown kind {kind!r}")
        return cls(tuple(steps))


def row_lengths(vectors: Array) -> FloatArray:
    """The length of each row, in 64 bits.

    Examples
    --------
    >>> row_lengths(np.array([[3.0, 4.0]]))
    array([5.])
    """
    return np.asarray(np.sqrt(np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64)))


def lengths_to_divide_by(vectors: Array, ids: Sequence[str] | Array | None = None) -> FloatArray:
    """The length of each row; none may be zero."""
    norms = row_lengths(vectors)
    if not norms.all():
        row = int(np.argmin(norms))
        name = f"embedding {str(ids[row])!r}" if ids is not None else f"row {row}"
        raise InputError(f"{name} is zero: it has no direction")
    return norms


BLOCK_BYTES = 1 << 26
"""Size of a block of scores."""


def symmetric(values: object, dim: int, what: str) -> FloatArray:
    """A symmetric matrix of finite numbers."""
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.shape != (dim, dim):
        raise InputError(f"{what} must have shape {(dim, dim)}, got {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise InputError(f"{what} holds NaN or an infinite value")
    # Lets pass what rounding in 32 bits does to the two triangles, whose mean is returned.
    if not np.allclose(matrix, matrix.T, rtol=1e-6, atol=1e-9 * float(np.abs(matrix).max())):
        raise InputError(f"{what} is not symmetric")
    return np.asarray(0.5 * (matrix + matrix.T))


def rank_of(covariance: FloatArray) -> int:
    """The number of directions in which there is any variance.

    Examples
    --------
    >>> rank_of(np.diag([3.0, 1.0, 0.0]))
    2
    """
    values = np.linalg.eigvalsh(covariance)
    # The threshold of np.linalg.matrix_rank.
    return int(np.sum(values > len(values) * np.finfo(float).eps * max(float(values[-1]), 0.0)))


def require_definite(matrix: FloatArray, what: str) -> None:
    """Refuse a covariance matrix that cannot be inverted."""
    rank = rank_of(matrix)
    if rank < len(matrix):
        then = "use more sessions than dimensions, or reduce the dimensions first"
        raise InputError(f"{what} is singular (rank {rank} of {len(matrix)}): {then}")


def empty_scores(shape: tuple[int, int], dtype: npt.DTypeLike, out: Array | None = None) -> Array:
    """Where scores of all pairs are written: ``out``, or a new matrix of float32 or float64."""
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise InputError(f"dtype must be float32 or float64, got {kind}")
    if out is not None and out.shape != shape:
        raise InputError(f"out has shape {out.shape}, but there are {shape} scores")
    return np.empty(shape, dtype=kind) if out is None else out


def rows_per_block(columns: int) -> int:
    """How many rows of so many scores make a block."""
    # Eight bytes a score, also where scores are of 32 bits: temporary arrays are of 64.
    return max(1, at_once(BLOCK_BYTES) // (8 * max(columns, 1)))


def mean_and_covariance(
    vectors: Trainable, dim: int | None = None, what: str = "embeddings"
) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance (1/n) of embeddings.

    Examples
    --------
    >>> mean_and_covariance([[0.0], [2.0]])
    (array([1.]), array([[1.]]))
    """
    matrix = np.asarray(vectors_of(vectors, dim, what), dtype=np.float64)
    mean = matrix.mean(axis=0)
    return mean, (matrix - mean).T @ (matrix - mean) / len(matrix)


def add_to_variances(covariance: FloatArray, shrinkage: float) -> None:
    """Add a share of the mean variance to the variance of every direction, in place."""
    not_negative(shrinkage, "shrinkage")
    covariance[np.diag_indices_from(covariance)] += shrinkage * np.trace(covariance) / len(covariance)


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
    # All variances are equal: the target of the shrinkage itself.
    if spread <= 0.0:
        return 1.0
    return float(min(1.0, ((1.0 - 2.0 / p) * q + t * t) / ((n + 1.0 - 2.0 / p) * spread)))


@dataclass(frozen=True, eq=False)
class SpeakerSums:
    """What training needs of the vectors: sessions and mean of each speaker, scatter within speakers."""

    counts: FloatArray
    means: FloatArray
    scatter: FloatArray

    @property
    def within(self) -> FloatArray:
        """Unbiased covariance within speakers, ``scatter / (sessions - speakers)``; never singular."""
        k = len(self.counts)
        # Each speaker's mean takes a degree of freedom.
        covariance = self.scatter / (self.sessions - k)
        require_definite(
            covariance, f"the within-speaker covariance of {self.sessions:.0f} sessions of {k} speakers"
        )
        return covariance

    @property
    def mean(self) -> FloatArray:
        """The mean of all sessions."""
        return np.asarray(self.counts @ self.means / self.sessions)

    @property
    def sessions(self) -> float:
        """Number of sessions of all speakers."""
        return float(self.counts.sum())

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return int(self.means.shape[1])


def speaker_codes(names: Array) -> tuple[Array, Array, FloatArray]:
    """The distinct speakers, the place of each row's among them, and their sessions; training needs several.

    Examples
    --------
    >>> speaker_codes(np.array(["b", "a", "b"]))[2]
    array([1., 2.])
    """
    distinct, codes = np.unique(names, return_inverse=True)
    if len(distinct) < 2:
        raise InputError(f"there is only one speaker, {str(distinct[0])!r}; training needs at least two")
    counts = np.bincount(codes).astype(np.float64)
    if counts.max() == 1:
        all_of = f"each of the {counted(len(distinct), 'speaker')} has one session only"
        raise InputError(f"{all_of}: the variation within speakers cannot be estimated")
    return distinct, codes, counts


def speaker_sums(
    vectors: Embeddings | npt.ArrayLike, speakers: npt.ArrayLike | None = None, *, shrinkage: float = 0.0
) -> SpeakerSums:
    """Collect what training needs; one session of every speaker is not enough.

    ``shrinkage`` adds that share of the mean variance within speakers to every direction. Without it, a
    scatter that leaves out some directions (fewer sessions than dimensions) is shrunk by
    :func:`~llrkit.speech.models.transforms.oas_share`, and a warning says so.

    Examples
    --------
    >>> sums = speaker_sums([[0.0], [2.0], [5.0]], ["a", "a", "b"])
    >>> sums.counts, sums.means.ravel(), sums.scatter
    (array([2., 1.]), array([1., 5.]), array([[2.]]))
    """
    matrix = np.asarray(vectors_of(vectors), dtype=np.float64)
    if speakers is None:
        if not isinstance(vectors, Embeddings):
            raise InputError("training needs the speaker of each row")
        speakers = vectors.known_speakers
    names = checked_texts(speakers, "speakers")
    if len(names) != len(matrix):
        raise InputError(f"{counted(len(matrix), 'embedding')} but {counted(len(names), 'speaker')}")
    distinct, codes, counts = speaker_codes(names)
    totals = np.zeros((len(distinct), matrix.shape[1]))
    # np.add.at adds every row; totals[codes] += matrix would add one row of each speaker.
    np.add.at(totals, codes, matrix)
    means = totals / counts[:, None]
    rest = matrix - means[codes]
    scatter = rest.T @ rest
    add_to_variances(scatter, shrinkage)
    rank, dim = rank_of(scatter), len(scatter)
    # Of rank 0 there is nothing to shrink towards; ``within`` refuses it.
    if 0 < rank < dim:
        # Degrees of freedom, not sessions: the speaker means were estimated from the same vectors.
        share = oas_share(scatter / (len(matrix) - len(distinct)), len(matrix) - len(distinct))
        scatter = (1.0 - share) * scatter + share * np.trace(scatter) / dim * np.eye(dim)
        warn_caller(
            f"{len(matrix)} sessions of {len(distinct)} speakers vary within speakers in {rank} of {dim} "
            f"directions: the covariance was shrunk by {100 * share:.3g} % of the mean variance in all "
            "directions; use more sessions, or fewer dimensions",
            SpeechWarning,
        )
    return SpeakerSums(counts, means, scatter)


def train_centering(vectors: Trainable) -> Affine:
    """Subtract the mean.

    Parameters
    ----------
    vectors
        Embeddings, or an array with one row each.

    Examples
    --------
    >>> train_centering([[1.0, 0.0], [3.0, 0.0]]).mean
    array([2., 0.])
    """
    return Affine(vectors_of(vectors).mean(axis=0, dtype=np.float64), name="centering")


def train_whitening(vectors: Trainable, *, dim: int | None = None, shrinkage: float = 0.0) -> Affine:
    """Subtract the mean and make the covariance the identity, in the ``dim`` directions of largest variance.

    ``shrinkage`` adds that share of the mean variance to every direction first. Without ``dim``, directions
    in which the embeddings do not vary are left out, and a warning says so.

    Parameters
    ----------
    vectors
        Embeddings, or an array with one row each.
    dim
        Number of dimensions to keep; by default all.
    shrinkage
        Share of the mean variance that is mixed into the covariance.

    Examples
    --------
    >>> whiten = train_whitening([[0.0, 1.0], [2.0, -1.0], [4.0, 1.0], [2.0, 3.0]])
    >>> np.cov(whiten([[0.0, 1.0], [2.0, -1.0], [4.0, 1.0], [2.0, 3.0]]).T, bias=True).round(12) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """
    mean, covariance = mean_and_covariance(vectors)
    add_to_variances(covariance, shrinkage)
    n, kept = len(vectors_of(vectors)), len(mean)
    if dim is not None and not 1 <= (kept := whole_number(dim, 1, "dim")) <= len(mean):
        raise InputError(f"dim must be from 1 to {len(mean)}, got {dim!r}")
    if dim is None and 0 < (rank := rank_of(covariance)) < kept:
        kept = rank
        warn_caller(
            f"{n} embeddings vary in {rank} of {len(mean)} directions: the others are left out", SpeechWarning
        )
    elif dim is None:
        require_definite(covariance, f"the covariance of {counted(n, 'embedding')}")
    # eigh sorts upwards, and the directions of largest variance are kept.
    values, directions = np.linalg.eigh(covariance)
    values, directions = values[::-1][:kept], directions[:, ::-1][:, :kept]
    # Dividing by a variance that is a rounding error would blow up noise.
    if values[-1] <= len(mean) * np.finfo(float).eps * values[0]:
        raise InputError(f"the embeddings do not vary in {kept} directions; ask for fewer dimensions")
    return Affine(mean, directions / np.sqrt(values), name="whitening")


def train_lda(
    vectors: Trainable,
    speakers: npt.ArrayLike | None = None,
    *,
    dim: int | None = None,
    shrinkage: float = 0.0,
) -> Affine:
    """Linear discriminant analysis: the directions in which speakers differ most, within-variance one.

    The columns solve ``S_b v = lambda W v`` with ``v' W v = 1``. At most as many dimensions as there are
    speakers less one.

    Parameters
    ----------
    vectors
        Embeddings, or an array with one row each.
    speakers
        The speaker of each row; by default that of the embeddings.
    dim
        Number of dimensions to keep; by default all.
    shrinkage
        Share of the mean variance that is mixed into the covariance.

    Examples
    --------
    >>> lda = train_lda([[0.0, 1.0], [0.0, -1.0], [9.0, 1.5], [9.2, -1.0]], list("aabb"))
    >>> lda
    LDA(2 to 1 dimensions)
    """
    sums = speaker_sums(vectors, speakers, shrinkage=shrinkage)
    # The means of K speakers span K - 1 directions.
    most = min(sums.dim, len(sums.counts) - 1)
    if dim is not None and not 1 <= whole_number(dim, 1, "dim") <= most:
        raise InputError(f"dim must be from 1 to {most} (dimensions, speakers less one), got {dim!r}")
    centered = sums.means - sums.mean
    between = (centered * sums.counts[:, None]).T @ centered / sums.sessions
    # The generalized problem scales directions so that the variance within speakers is one.
    _, directions = eigh(between, sums.within)
    return Affine(sums.mean, directions[:, ::-1][:, : dim or most], name="LDA")


def train_wccn(
    vectors: Trainable, speakers: npt.ArrayLike | None = None, *, shrinkage: float = 0.0
) -> Affine:
    """Within-class covariance normalization: subtract the mean, make the covariance within speakers one.

    The matrix is the Cholesky factor of the inverse of the covariance within speakers (Hatch, Kajarekar &
    Stolcke, Interspeech 2006).

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
    >>> wccn = train_wccn([[0.0], [4.0], [9.0], [13.0]], list("aabb"))
    >>> round(float(wccn.matrix[0, 0])**-2, 6)
    8.0
    """
    sums = speaker_sums(vectors, speakers, shrinkage=shrinkage)
    return Affine(sums.mean, cholesky(np.linalg.inv(sums.within), lower=True), name="WCCN")


AnyStep = str | Transform | Callable[[Embeddings], Transform]
_NAMED: dict[str, Callable[[Embeddings, int | None], Transform]] = {
    "center": lambda e, dim: train_centering(e),
    "whiten": lambda e, dim: train_whitening(e, dim=dim),
    "lda": lambda e, dim: train_lda(e, dim=dim),
    "wccn": lambda e, dim: train_wccn(e),
    "length": lambda e, dim: LengthNorm(),
}
_WITH_DIM = ("whiten", "lda")


def train_chain(embeddings: Embeddings, steps: Sequence[AnyStep]) -> Chain:
    """Train steps one after the other, each on what the ones before it make of the embeddings.

    Parameters
    ----------
    embeddings
        The background, with speakers where a step needs them.
    steps
        Names (``center``, ``whiten``, ``whiten:100``, ``lda``, ``lda:150``, ``wccn``, ``length``), steps that
        are trained already, or functions that train one.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> background = Embeddings(rng.normal(size=(60, 5)), [str(i) for i in range(60)], np.arange(60) // 3)
    >>> train_chain(background, ["center", "length", "lda:2"])
    Chain(steps=(centering(5 dimensions), LengthNorm(length='unit'), LDA(5 to 2 dimensions)))
    """
    of_kind(embeddings, Embeddings, "embeddings")
    chain = Chain()
    for step in steps:
        if isinstance(step, str):
            name, size = parsed_step(step)
            transform = _NAMED[name](embeddings, size)
        else:
            transform = step if isinstance(step, Transform) else step(embeddings)
        # The next step is trained on what this one makes of the background.
        embeddings = transform(embeddings)
        chain = chain.then(transform)
    return chain


def parsed_step(text: str) -> tuple[str, int | None]:
    """Name and dimensions of a step.

    Examples
    --------
    >>> parsed_step("LDA:150"), parsed_step("length")
    (('lda', 150), ('length', None))
    """
    name, colon, size = text.strip().lower().partition(":")
    if name not in _NAMED or (colon and (name not in _WITH_DIM or not size.isdecimal())):
        known_steps = ", ".join(f"{known}[:DIM]" if known in _WITH_DIM else known for known in _NAMED)
        raise UnknownNameError(f"unknown step {text!r}; there are: {known_steps}")
    return name, int(size) if colon else None
