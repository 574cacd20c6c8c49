"""Embeddings: one vector per segment of speech, with an id and what else is known of the segment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array
from llrkit._format import counted
from llrkit.core.elementary_functions import BLOCK, blocks
from llrkit.core.summary_algebra import ReadOnlyArrays
from llrkit.errors import InputError, UnknownNameError
from llrkit.scores.roles import require_column


class EmbeddingChanges(TypedDict, total=False):
    """Some of the fields of :class:`Embeddings`; whatever becomes an array will do."""

    vectors: npt.ArrayLike
    ids: npt.ArrayLike
    speakers: npt.ArrayLike | None
    columns: Mapping[str, npt.ArrayLike]
    covariances: npt.ArrayLike | None
    origin: str


@dataclass(frozen=True, eq=False, repr=False)
class Embeddings(ReadOnlyArrays):
    """Vectors of equal length, one per segment, with unique ids.

    Parameters
    ----------
    vectors
        Matrix of shape ``(n, d)``; float32 and float64 are used as they are, other numbers become float64.
    ids
        One text per row, all different.
    speakers
        One text per row, if the speakers are known.
    columns
        What else is known of each row: name -> ``n`` values (duration, gender, ...).
    covariances
        The uncertainty of each vector, shape ``(n, d, d)``: the posterior covariance of an i-vector, say.
    origin
        The fingerprint of the extractor that made them, if that is known.

    Examples
    --------
    >>> embeddings = Embeddings([[1.0, 2.0], [0.0, 1.0]], ["a", "b"], ["spk1", "spk2"], {"duration": [5, 40]})
    >>> embeddings
    Embeddings(2 rows of 2 dimensions, 2 speakers; columns duration)
    >>> embeddings.where(duration=40).ids
    array(['b'], dtype='<U1')
    """

    vectors: Array
    ids: Array
    speakers: Array | None = None
    columns: Mapping[str, Array] = field(default_factory=dict)
    covariances: Array | None = None
    origin: str = ""

    def __post_init__(self) -> None:
        ids = checked_texts(self.ids, "ids")
        vectors = finite_matrix(self.vectors, ids=ids)
        n = len(vectors)
        _require_length(len(ids), n, "ids")
        _refuse_duplicate_ids(ids)
        checked = {"vectors": vectors, "ids": ids}
        if self.speakers is not None:
            checked["speakers"] = checked_texts(self.speakers, "speakers", ids=ids)
            _require_length(len(checked["speakers"]), n, "speakers")
        if self.covariances is not None:
            checked["covariances"] = _checked_covariances(self.covariances, vectors.shape, ids)
        columns = {str(name): np.asarray(values) for name, values in self.columns.items()}
        for name, values in columns.items():
            if values.ndim == 0:
                raise InputError(f"column {name!r} is a single value, not one per row")
            _require_length(len(values), n, f"values in column {name!r}")
            if values.dtype == object:
                columns[name] = checked_texts(values, f"column {name!r}", ids=ids)
        for name, array in checked.items():
            object.__setattr__(self, name, array)
        object.__setattr__(
            self, "columns", {name: _read_only_vectors(values) for name, values in columns.items()}
        )
        super().__post_init__()

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return int(self.vectors.shape[1])

    def column(self, name: str) -> Array:
        """The values of a column; ``id`` and ``speaker`` are columns too.

        Parameters
        ----------
        name
            Name of the column.

        Examples
        --------
        >>> Embeddings([[1.0]], ["a"]).column("speaker")
        Traceback (most recent call last):
        llrkit.errors.InputError: the speakers of these embeddings are not known
        """
        if name in self.columns:
            return self.columns[name]
        if name == "speaker":
            return self.known_speakers
        require_column(name, ["id", *(["speaker"] if self.speakers is not None else []), *self.columns])
        return self.ids

    @property
    def known_speakers(self) -> Array:
        """The speakers, or an error where they are not known."""
        if self.speakers is None:
            raise InputError("the speakers of these embeddings are not known")
        return self.speakers

    def select(self, rows: npt.ArrayLike) -> Embeddings:
        """Some of the rows: a mask or row numbers.

        Parameters
        ----------
        rows
            A mask or row numbers.

        Examples
        --------
        >>> Embeddings([[1.0], [2.0]], ["a", "b"]).select([1]).vectors
        array([[2.]])
        """
        index = np.asarray(rows)
        if index.size == 0:
            index = index.astype(np.intp)
        return Embeddings(
            self.vectors[index],
            self.ids[index],
            None if self.speakers is None else self.speakers[index],
            {name: values[index] for name, values in self.columns.items()},
            None if self.covariances is None else self.covariances[index],
            self.origin,
        )

    def where(self, **values: object) -> Embeddings:
        """The rows whose columns have these values (one value, or any of a list).

        Parameters
        ----------
        **values
            The value, or a list of values, of each column.

        Examples
        --------
        >>> both = Embeddings([[1.0], [2.0], [3.0]], ["a", "b", "c"], columns={"sex": ["f", "m", "m"]})
        >>> len(both.where(sex="m")), len(both.where(sex=["f", "m"]))
        (2, 3)
        """
        keep = np.ones(len(self), dtype=bool)
        for name, value in values.items():
            keep &= np.isin(self.column(name), np.atleast_1d(np.asarray(value)))
        if not keep.any():
            raise InputError(f"no embedding has {', '.join(f'{k}={v!r}' for k, v in values.items())}")
        return self.select(keep)

    def rows_of(self, ids: Sequence[str] | Array) -> npt.NDArray[np.intp]:
        """The row numbers of some ids; one that is not there is an error that names it.

        Parameters
        ----------
        ids
            Identifiers.

        Examples
        --------
        >>> Embeddings([[1.0], [2.0]], ["a", "b"]).rows_of(["b", "a", "b"])
        array([1, 0, 1])
        """
        wanted = np.asarray(ids, dtype=str)
        order = np.argsort(self.ids)
        place = np.minimum(np.searchsorted(self.ids, wanted, sorter=order), len(self) - 1)
        rows = order[place]
        missing = self.ids[rows] != wanted
        if missing.any():
            names = list(dict.fromkeys(wanted[missing].tolist()))
            shown = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
            raise UnknownNameError(f"there is no embedding of {shown}")
        return np.asarray(rows, dtype=np.intp)

    def replace(self, **changes: Unpack[EmbeddingChanges]) -> Embeddings:
        """The same embeddings with some fields changed.

        Parameters
        ----------
        **changes
            New values by the name of the field.

        Examples
        --------
        >>> Embeddings([[1.0]], ["a"]).replace(speakers=["spk1"])
        Embeddings(1 row of 1 dimensions, 1 speaker)
        """
        current = {field.name: getattr(self, field.name) for field in fields(self)}
        return Embeddings(**{**current, **changes})

    def __repr__(self) -> str:
        known = "" if self.speakers is None else f", {counted(len(np.unique(self.speakers)), 'speaker')}"
        uncertain = "" if self.covariances is None else ", with covariances"
        more = f"; columns {', '.join(self.columns)}" if self.columns else ""
        return f"Embeddings({counted(len(self), 'row')} of {self.dim} dimensions{known}{uncertain}{more})"


def finite_matrix(values: object, *, ids: Array | None = None, what: str = "embeddings") -> Array:
    """A matrix of finite numbers, float32 or float64, or an error that names the first bad row."""
    try:
        matrix = np.asarray(values)
        if matrix.dtype not in (np.float32, np.float64):
            matrix = matrix.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"{what} of different sizes, or not of numbers{_first_different_size(values, ids)}"
        ) from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InputError(f"{what} must be a matrix of shape (n, d), got {matrix.shape}")
    # a sum is not finite as soon as one number is not, and needs no temporary array
    if not np.isfinite(matrix.sum()) and not np.isfinite(matrix).all():
        row, dim = (int(i) for i in np.argwhere(~np.isfinite(matrix))[0])
        name = f"embedding {str(ids[row])!r}" if ids is not None and row < len(ids) else f"{what}, row {row}"
        bad = "NaN" if np.isnan(matrix[row, dim]) else "an infinite value"
        raise InputError(f"{name}: {bad} in dimension {dim}; every number must be finite")
    return matrix


def vectors_of(values: object, dim: int | None = None, what: str = "embeddings") -> Array:
    """The matrix of some embeddings, or a matrix; of ``dim`` columns where that is given."""
    vectors = values.vectors if isinstance(values, Embeddings) else finite_matrix(values, what=what)
    if dim is not None and vectors.shape[1] != dim:
        raise InputError(f"{what} have {vectors.shape[1]} dimensions, the model {dim}")
    return np.asarray(vectors)


def checked_texts(values: object, what: str, *, ids: Array | None = None) -> Array:
    """One text per row, none of them empty."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"{what} must be a list of texts, got shape {array.shape}")
    missing = np.zeros(len(array), bool)
    if array.dtype == object:
        missing = np.array([value is None or value != value for value in array], dtype=bool)
    array = array.astype(str)
    missing |= array == ""
    if missing.any():
        row = int(np.argmax(missing))
        where = f" of embedding {str(ids[row])!r}" if ids is not None and row < len(ids) else f", row {row}"
        raise InputError(f"{what}{where}: empty")
    return array


def _first_different_size(values: object, ids: Array | None) -> str:
    if not isinstance(values, Iterable):
        return ""
    try:
        sizes = [len(row) for row in values]
    except TypeError:
        return ""
    for i, size in enumerate(sizes):
        if size != sizes[0]:
            name = f"embedding {str(ids[i])!r}" if ids is not None and i < len(ids) else f"row {i}"
            return f": {name} has {size} dimensions, the first {sizes[0]}"
    return ""


def _checked_covariances(values: object, shape: tuple[int, ...], ids: Array) -> Array:
    array = np.asarray(values)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.shape != (*shape, shape[1]):
        raise InputError(f"covariances must have shape {(*shape, shape[1])}, got {array.shape}")
    for rows in blocks(len(array), max(1, BLOCK // max(array[0].size, 1))):
        block = array[rows]
        size = np.abs(block).max(axis=(1, 2))
        lopsided = np.abs(block - block.transpose(0, 2, 1)).max(axis=(1, 2)) > 1e-4 * size
        negative = (np.diagonal(block, axis1=1, axis2=2) < 0).any(axis=1)
        for bad, what in (
            (~np.isfinite(size), "holds NaN or an infinite value"),
            (lopsided, "is not symmetric"),
            (negative, "has a negative variance"),
        ):
            if bad.any():
                raise InputError(f"embedding {str(ids[rows][np.argmax(bad)])!r}: its covariance {what}")
    return array


def _require_length(length: int, n: int, what: str) -> None:
    if length != n:
        raise InputError(f"{counted(n, 'embedding')} but {length} {what}")


def _refuse_duplicate_ids(ids: Array) -> None:
    names, counts = np.unique(ids, return_counts=True)
    if (counts > 1).any():
        raise InputError(f"the id {str(names[np.argmax(counts > 1)])!r} occurs more than once")


def _read_only_vectors(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view
