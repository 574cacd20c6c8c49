"""Embeddings, the files they come in, and files of models."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from llrkit.base.arguments import Array, of_kind
from llrkit.base.files import existing_file, replacing
from llrkit.base.text import counted
from llrkit.core.numerics import BLOCK, blocks
from llrkit.core.summaries import ReadOnlyArrays
from llrkit.errors import FileFormatError, InputError, UnknownNameError
from llrkit.io.array_files import read_arrays, write_arrays
from llrkit.io.table_columns import named
from llrkit.scores.source import require_column
from llrkit.speech.kaldi import read_kaldi, read_speakers, write_kaldi


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
        checked: dict[str, Array] = {"vectors": vectors, "ids": ids}
        if self.speakers is not None:
            checked["speakers"] = checked_texts(self.speakers, "speakers", ids=ids)
        columns = {str(name): np.asarray(values) for name, values in self.columns.items()}
        for name, values in columns.items():
            # A scalar would be broadcast to all rows without a word.
            if values.ndim == 0:
                raise InputError(f"column {name!r} is a single value, not one per row")
            # Objects could not be saved without pickles.
            if values.dtype == object:
                columns[name] = checked_texts(values, f"column {name!r}", ids=ids)
            # A view, so that the caller's own array stays writeable.
            columns[name] = columns[name].view()
            columns[name].flags.writeable = False
        of_columns = {f"values in column {name!r}": values for name, values in columns.items()}
        for name, values in (checked | of_columns).items():
            if len(values) != len(vectors):
                raise InputError(f"{counted(len(vectors), 'embedding')} but {len(values)} {name}")
        names, counts = np.unique(ids, return_counts=True)
        if (counts > 1).any():
            raise InputError(f"the id {str(names[np.argmax(counts > 1)])!r} occurs more than once")
        if self.covariances is not None:
            checked["covariances"] = _checked_covariances(self.covariances, vectors.shape, ids)
        for name, array in checked.items():
            object.__setattr__(self, name, array)
        object.__setattr__(self, "columns", columns)
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
        # Raises unless the name is ``id``, which is all that is left.
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
        # An empty list becomes an array of floats, which cannot index.
        if index.size == 0:
            index = index.astype(np.intp)
        own = {name: getattr(self, name) for name in ("vectors", "ids", "speakers", "covariances")}
        chosen = {name: values[index] for name, values in own.items() if values is not None}
        return self.replace(**chosen, columns={name: v[index] for name, v in self.columns.items()})

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
        # searchsorted may point behind the last id; such a name is found missing by the comparison
        # below.
        place = np.minimum(np.searchsorted(self.ids, wanted, sorter=order), len(self) - 1)
        rows = order[place]
        missing = self.ids[rows] != wanted
        if missing.any():
            names = list(dict.fromkeys(wanted[missing].tolist()))
            shown = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
            raise UnknownNameError(f"there is no embedding of {shown}")
        return np.asarray(rows, dtype=np.intp)

    def replace(self, **changes: Any) -> Embeddings:
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
        return replace(self, **changes)

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
        # Only to say which row is to blame.
        rows = list(values) if isinstance(values, Iterable) else []
        sizes = [len(row) if isinstance(row, Sized) else 0 for row in rows]
        at = next((i for i, size in enumerate(sizes) if size != sizes[0]), None)
        which = ""
        if at is not None:
            name = f"embedding {str(ids[at])!r}" if ids is not None and at < len(ids) else f"row {at}"
            which = f": {name} has {sizes[at]} dimensions, the first {sizes[0]}"
        raise InputError(f"{what} of different sizes, or not of numbers{which}") from None
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
        # NaN, as pandas writes missing texts, is the one value that differs from itself.
        missing = np.array([value is None or value != value for value in array], dtype=bool)
    array = array.astype(str)
    missing |= array == ""
    if missing.any():
        row = int(np.argmax(missing))
        where = f" of embedding {str(ids[row])!r}" if ids is not None and row < len(ids) else f", row {row}"
        raise InputError(f"{what}{where}: empty")
    return array


def _checked_covariances(values: object, shape: tuple[int, ...], ids: Array) -> Array:
    array = np.asarray(values)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.shape != (*shape, shape[1]):
        raise InputError(f"covariances must have shape {(*shape, shape[1])}, got {array.shape}")
    # By blocks: comparing n matrices with their transposes at once would copy all of them.
    for rows in blocks(len(array), max(1, BLOCK // max(array[0].size, 1))):
        block = array[rows]
        size = np.abs(block).max(axis=(1, 2))
        # Posterior covariances of 32 bits are symmetric to a few digits only.
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


ID_NAMES = ("ids", "id", "segment", "segments", "utt", "utterance", "file")
SPEAKER_NAMES = ("speakers", "speaker", "spk", "spk_id")
VECTOR_NAMES = ("vectors", "embeddings", "x")
PROCESSED = {"llrkit.enrolled/1": "enrolled models", "llrkit.cohort/1": "a cohort"}
RESERVED = ("vectors", "ids", "speakers", "covariances", "origin")


def read_embeddings(
    path: str | PathLike[str], *, vectors: str | None = None, speakers: str | PathLike[str] | None = None
) -> Embeddings:
    """Read embeddings from an NPZ archive, or from a Kaldi ark or scp file.

    Parameters
    ----------
    path
        NPZ: arrays by name, one row or value per segment. The ids are in ``ids``, ``id``, ``segment``,
        ``utt`` or ``file``, the speakers in ``speakers``, ``speaker`` or ``spk``; every other array with one
        value per row becomes a column. Kaldi: vectors by id.
    vectors
        NPZ: which array holds the vectors, where there are several (also without a leading ``emb_``).
    speakers
        A text file with an id and its speaker on each line (Kaldi's utt2spk).

    Examples
    --------
    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/embeddings.npz"
    >>> np.savez(file, emb_a=np.ones((2, 3)), emb_b=np.ones((2, 5)), segment=["s", "t"], speaker=["x", "y"])
    >>> read_embeddings(file, vectors="b")
    Embeddings(2 rows of 5 dimensions, 2 speakers)
    """
    file = existing_file(path)
    kaldi = file.suffix.lower() in (".ark", ".scp")
    if kaldi and vectors is not None:
        raise InputError(f"{file}: a Kaldi file holds one set of vectors; {vectors!r} cannot be chosen")
    with naming_file(str(file)):
        embeddings = _read_kaldi_vectors(file) if kaldi else _read_npz_embeddings(file, vectors)
    if speakers is None:
        return embeddings
    return embeddings.replace(speakers=read_speakers(speakers, embeddings.ids.tolist(), str(file)))


def _read_npz_embeddings(file: Path, wanted: str | None) -> Embeddings:
    arrays = read_arrays(file)
    schema = str(arrays.pop("schema", ""))
    # Vectors after all steps look like any others, and would be centered and whitened a second time.
    if schema in PROCESSED:
        raise FileFormatError(
            f"{file}: holds {PROCESSED[schema]}, whose vectors are processed for scoring; give raw embeddings"
        )
    # A column may be called origin; the fingerprint is a single value.
    origin = str(arrays.pop("origin")) if "origin" in arrays and arrays["origin"].ndim == 0 else ""
    matrices = [name for name, array in arrays.items() if array.ndim == 2 and array.dtype.kind in "iuf"]
    if wanted is None:
        name = named(matrices, VECTOR_NAMES) or (matrices[0] if len(matrices) == 1 else None)
    else:
        name = next((given for given in (wanted, f"emb_{wanted}") if given in matrices), None)
    if name is None:
        what = "say which matrix holds the vectors (vectors=... or --vectors)"
        if wanted is None and not matrices:
            raise FileFormatError(f"{file}: no matrix of numbers, one row per embedding, in it")
        what = what if wanted is None else f"no matrix {wanted!r}"
        raise FileFormatError(f"{file}: {what}; there are: {', '.join(matrices) or 'none'}")
    values = arrays[name]
    ids = named(list(arrays), ID_NAMES)
    if ids is None:
        raise FileFormatError(f"{file}: no ids; expected an array named {', '.join(ID_NAMES)}")
    speaker = named(list(arrays), SPEAKER_NAMES)
    # Covariances belong to the usual matrix; nothing says that they fit another that was chosen by name.
    covariances = arrays.get("covariances") if name in VECTOR_NAMES else None
    taken = {name, ids, speaker, "covariances"}
    rest = {key: array for key, array in arrays.items() if key not in taken}
    columns = {key: array for key, array in rest.items() if array.shape == (len(values),)}
    return Embeddings(values, arrays[ids], arrays[speaker] if speaker else None, columns, covariances, origin)


def _read_kaldi_vectors(file: Path) -> Embeddings:
    ids: list[str] = []
    vectors: list[Array] = []
    for name, vector in read_kaldi(file):
        # A vector may be stored as a matrix of one row.
        flat = vector[0] if vector.ndim == 2 and len(vector) == 1 else vector
        if flat.ndim != 1:
            raise FileFormatError(f"{file}: {name!r} is a matrix of shape {vector.shape}, expected a vector")
        if vectors and len(flat) != len(vectors[0]):
            raise FileFormatError(
                f"{file}: embedding {name!r} has {len(flat)} dimensions, {ids[0]!r} has {len(vectors[0])}"
            )
        ids.append(name)
        vectors.append(flat)
    if not ids:
        raise FileFormatError(f"{file}: holds no vectors")
    return Embeddings(np.array(vectors), np.array(ids))


def write_embeddings(embeddings: Embeddings, path: str | PathLike[str]) -> None:
    """Write embeddings: all of them as ``.npz``, ids and vectors as ``.ark`` (with an ``.scp`` beside it).

    Parameters
    ----------
    embeddings
        The embeddings.
    path
        Where the embeddings are written.

    Examples
    --------
    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/embeddings.npz"
    >>> write_embeddings(Embeddings([[1.0, 2.0]], ["a"], ["spk"], {"duration": [5.0]}), file)
    >>> read_embeddings(file)
    Embeddings(1 row of 2 dimensions, 1 speaker; columns duration)
    """
    of_kind(embeddings, Embeddings, "embeddings")
    file = Path(path)
    if ends_in_ark(file):
        write_kaldi(file, zip(embeddings.ids.tolist(), embeddings.vectors, strict=True))
        return
    # Reading finds ids and speakers by these names, so a column of that name would be taken for them.
    clash = [name for name in embeddings.columns if name in (*RESERVED, *ID_NAMES, *SPEAKER_NAMES)]
    if clash:
        raise InputError(f"{file}: a column cannot have the name {clash[0]!r} in a file")
    arrays = {name: getattr(embeddings, name) for name in RESERVED}
    arrays["origin"] = np.array(embeddings.origin) if embeddings.origin else None
    known = {name: array for name, array in arrays.items() if array is not None}
    with replacing(file) as temporary, temporary.open("wb") as raw:
        write_arrays(raw, {**known, **embeddings.columns})


def ends_in_ark(path: str | PathLike[str]) -> bool:
    """Whether to write a Kaldi archive, rather than NPZ; other endings are refused."""
    ending = Path(path).suffix.lower()
    if ending not in (".ark", ".npz"):
        raise InputError(f"{path}: the ending must be .npz or .ark")
    return ending == ".ark"


Arrays = Mapping[str, Array]
SCHEMA = "schema"


def save_arrays(path: str | PathLike[str], schema: str, arrays: Mapping[str, npt.ArrayLike]) -> None:
    """Write named arrays all at once, marked with a schema such as ``llrkit.plda/1``.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "model.npz"
    >>> save_arrays(file, "llrkit.example/1", {"mean": [1.0, 2.0]})
    >>> load_arrays(file, "llrkit.example/1", ["mean"])["mean"]
    array([1., 2.])
    """
    plain = {name: np.asarray(value) for name, value in arrays.items()}
    with replacing(Path(path)) as temporary, temporary.open("wb") as raw:
        write_arrays(raw, {SCHEMA: np.array(schema), **plain})


def load_arrays(path: str | PathLike[str], schema: str, needed: Sequence[str] = ()) -> Arrays:
    """Read named arrays saved with this schema; a file without one of those ``needed`` is refused."""
    file = Path(path)
    arrays = read_arrays(file)
    written_schema = str(arrays.pop(SCHEMA)) if SCHEMA in arrays else None
    if written_schema != schema:
        holds = f"holds {written_schema}" if written_schema else "does not say what it holds"
        raise FileFormatError(f"{file}: {holds}, expected {schema}")
    # Only numbers are looked at: options and names are kept as texts.
    for name, array in arrays.items():
        if array.dtype.kind in "fc" and not np.isfinite(array).all():
            raise FileFormatError(
                f"{file}: array {name!r} holds NaN or an infinite value; a model has neither"
            )
    missing = [name for name in needed if name not in arrays]
    if missing:
        raise FileFormatError(f"{file}: no array {missing[0]!r}; there are: {', '.join(arrays) or 'none'}")
    return arrays


def arrays_hash(arrays: Mapping[str, Array]) -> str:
    """A hash of named arrays, whatever their order."""
    digest = hashlib.sha256()
    # Sorted by name, so that the order in which arrays were added does not matter.
    for name, array in sorted(arrays.items()):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


@contextmanager
def naming_file(where: str) -> Iterator[None]:
    """What cannot be made of the arrays of a file is the fault of the file, and the message names it.

    Examples
    --------
    >>> with naming_file("model.npz"):
    ...     raise ValueError("the mean is missing")
    Traceback (most recent call last):
    llrkit.errors.FileFormatError: model.npz: the mean is missing
    """
    try:
        yield
    except FileFormatError:
        raise
    except KeyError as error:
        raise FileFormatError(f"{where}: no array {error}") from None
    except (TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RecursionError) as error:
        # errors of input are ValueErrors too
        raise FileFormatError(f"{where}: {error}") from None


class Saved(ReadOnlyArrays):
    """Shared by dataclasses that are kept in an NPZ file.

    ``arrays`` gives the content of the file, ``from_arrays`` takes it back: by default all fields by name.
    """

    schema: ClassVar[str]
    needed: ClassVar[tuple[str, ...]] = ()
    """Arrays without which a file is refused."""

    def arrays(self) -> dict[str, Array]:
        """What is saved."""
        return {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_arrays(cls, arrays: Arrays) -> Self:
        """What :meth:`arrays` described.

        Parameters
        ----------
        arrays
            Named arrays, as they were saved.
        """
        return cls(**{one.name: arrays[one.name] for one in fields(cls)})  # type: ignore[arg-type]

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to an NPZ file.

        Parameters
        ----------
        path
            The file.
        """
        save_arrays(path, self.schema, self.arrays())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read what was saved.

        Parameters
        ----------
        path
            The file.
        """
        arrays = load_arrays(path, cls.schema, cls.needed)
        with naming_file(str(path)):
            return cls.from_arrays(arrays)


class SavedModel(Saved):
    """Shared by frozen dataclasses all of whose fields are arrays of floats, which cannot be written to."""

    def __post_init__(self) -> None:
        # All fields, whether given as lists or arrays, become arrays of 64 bits that the base class
        # locks.
        for one in fields(self):  # type: ignore[arg-type]
            object.__setattr__(self, one.name, np.asarray(getattr(self, one.name), dtype=np.float64))
        super().__post_init__()
