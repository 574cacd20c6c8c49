"""Small steps from raw embeddings to those that are scored, and chains of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import ClassVar, overload

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array, FloatArray
from llrkit._format import not_among
from llrkit.core.summary_algebra import ReadOnlyArrays
from llrkit.errors import FileFormatError, InputError, UnknownNameError
from llrkit.recognize.embeddings import Embeddings, finite_matrix, vectors_of
from llrkit.recognize.model_files import Arrays, load_arrays, naming_file, save_arrays

SCHEMA = "llrkit.chain/1"
LENGTHS = ("unit", "sqrt-dim")


class Transform(ReadOnlyArrays, ABC):
    """A step: call it with a matrix or with embeddings, and get the same with other vectors.

    Covariances of embeddings are carried along: exactly through linear steps, to first order through
    length normalization.
    """

    kind: ClassVar[str]

    @overload
    @abstractmethod
    def __call__(self, embeddings: Embeddings) -> Embeddings: ...
    @overload
    @abstractmethod
    def __call__(self, embeddings: npt.ArrayLike) -> Array: ...
    @abstractmethod
    def __call__(self, embeddings: Embeddings | npt.ArrayLike) -> Embeddings | Array:
        """Apply the step."""

    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """What has to be saved."""


class Step(Transform):
    """A single step, which says what becomes of vectors and of their covariances."""

    @overload
    def __call__(self, embeddings: Embeddings) -> Embeddings: ...
    @overload
    def __call__(self, embeddings: npt.ArrayLike) -> Array: ...
    def __call__(self, embeddings: Embeddings | npt.ArrayLike) -> Embeddings | Array:
        """Apply the step."""
        vectors = vectors_of(embeddings)
        self._check(vectors.shape[1])
        if not isinstance(embeddings, Embeddings):
            return self._vectors(vectors)
        covariances = None
        if embeddings.covariances is not None:
            covariances = self._covariances(embeddings.covariances, vectors)
        moved = self._vectors(vectors, embeddings.ids)
        return embeddings.replace(vectors=moved, covariances=covariances)

    def _check(self, dim: int) -> None:
        """Refuse vectors of another size."""

    @abstractmethod
    def _vectors(self, vectors: Array, ids: Array | None = None) -> Array:
        """The vectors after the step."""

    @abstractmethod
    def _covariances(self, covariances: Array, vectors: Array) -> Array:
        """The covariances after the step."""


@dataclass(frozen=True, eq=False, repr=False)
class Affine(Step):
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

    def _check(self, dim: int) -> None:
        if dim != len(self.mean):
            raise InputError(f"embeddings have {dim} dimensions, the {self.name} step {len(self.mean)}")

    def _vectors(self, vectors: Array, ids: Array | None = None) -> Array:
        centered = vectors.astype(np.float64) - self.mean
        return centered if self.matrix is None else centered @ self.matrix

    def _covariances(self, covariances: Array, vectors: Array) -> Array:
        if self.matrix is None:
            return covariances
        return self.matrix.T @ covariances.astype(np.float64) @ self.matrix

    def arrays(self) -> dict[str, Array]:
        """Mean and matrix."""
        arrays = {"mean": self.mean, "name": np.array(self.name)}
        return arrays if self.matrix is None else {**arrays, "matrix": self.matrix}

    def __repr__(self) -> str:
        to = "" if self.matrix is None else f" to {self.matrix.shape[1]}"
        return f"{self.name}({len(self.mean)}{to} dimensions)"


@dataclass(frozen=True)
class LengthNorm(Step):
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
        if self.length not in LENGTHS:
            raise UnknownNameError(f"length={not_among(self.length, LENGTHS, ': expected one of ')}")

    def _wanted(self, dim: int) -> float:
        return 1.0 if self.length == "unit" else float(np.sqrt(dim))

    def _vectors(self, vectors: Array, ids: Array | None = None) -> Array:
        return vectors * (self._wanted(vectors.shape[1]) / lengths_to_divide_by(vectors, ids)[:, None])

    def _covariances(self, covariances: Array, vectors: Array) -> Array:
        size = lengths_to_divide_by(vectors)[:, None]
        unit = vectors / size
        # the derivative of x / |x| takes away what points along x
        slope = np.eye(vectors.shape[1]) - unit[:, :, None] * unit[:, None, :]
        scale = (self._wanted(vectors.shape[1]) / size[:, :, None]) ** 2
        return scale * (slope @ covariances.astype(np.float64) @ slope)

    def arrays(self) -> dict[str, Array]:
        """Which length."""
        return {"length": np.array(self.length)}


@dataclass(frozen=True)
class Chain(Transform):
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

    @overload
    def __call__(self, embeddings: Embeddings) -> Embeddings: ...
    @overload
    def __call__(self, embeddings: npt.ArrayLike) -> Array: ...
    def __call__(self, embeddings: Embeddings | npt.ArrayLike) -> Embeddings | Array:
        """Apply all steps in their order."""
        moved = embeddings if isinstance(embeddings, Embeddings) else np.asarray(embeddings)
        for step in self.steps:
            moved = step(moved)
        return moved

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
        arrays: dict[str, Array] = {"kinds": np.array([step.kind for step in self.steps], dtype=str)}
        for i, step in enumerate(self.steps):
            arrays.update({f"step{i}.{name}": array for name, array in step.arrays().items()})
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Arrays, where: str = "a chain") -> Chain:
        """The chain that :meth:`arrays` described.

        Parameters
        ----------
        arrays
            Named arrays, as they were saved.
        where
            What the arrays belong to, for messages.
        """
        steps: list[Transform] = []
        for i, kind in enumerate(np.atleast_1d(arrays["kinds"]).tolist() if "kinds" in arrays else ()):
            own = {n.split(".", 1)[1]: a for n, a in arrays.items() if n.startswith(f"step{i}.")}
            with naming_file(f"{where}: step {i}"):
                if kind == Affine.kind:
                    steps.append(Affine(own["mean"], own.get("matrix"), str(own["name"])))
                elif kind == LengthNorm.kind:
                    steps.append(LengthNorm(str(own["length"])))
                else:
                    raise FileFormatError(f"{where}: step {i} is of the unknown kind {kind!r}")
        return cls(tuple(steps))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the chain to an NPZ file.

        Parameters
        ----------
        path
            The file.
        """
        save_arrays(path, SCHEMA, self.arrays())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Chain:
        """Read a chain that was saved.

        Parameters
        ----------
        path
            The file.

        Examples
        --------
        >>> import tempfile
        >>> file = tempfile.mkdtemp() + "/chain.npz"
        >>> Chain((Affine([1.0], name="center"), LengthNorm())).save(file)
        >>> Chain.load(file)
        Chain(steps=(center(1 dimensions), LengthNorm(length='unit')))
        """
        return cls.from_arrays(load_arrays(path, SCHEMA, ("kinds",)), str(path))


def lengths_to_divide_by(vectors: Array, ids: Sequence[str] | Array | None = None) -> FloatArray:
    """The length of each row; none may be zero."""
    norms = np.sqrt(np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64))
    if not norms.all():
        row = int(np.argmin(norms))
        name = f"embedding {str(ids[row])!r}" if ids is not None else f"row {row}"
        raise InputError(f"{name} is zero: it has no direction")
    return np.asarray(norms)
