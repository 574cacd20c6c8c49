"""Models as NPZ archives of plain arrays, with a line that says what they are; nothing is unpickled."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from llrkit._arrays import Array
from llrkit._atomic import replacing
from llrkit.core.summary_algebra import ReadOnlyArrays
from llrkit.errors import FileFormatError
from llrkit.io.binary.numpy_files import read_arrays, write_arrays

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


class SavedModel(ReadOnlyArrays):
    """Shared by frozen dataclasses all of whose fields are arrays of floats, which cannot be written to."""

    schema: ClassVar[str]

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            object.__setattr__(self, field.name, np.asarray(getattr(self, field.name), dtype=np.float64))
        super().__post_init__()

    def arrays(self, prefix: str = "") -> dict[str, Array]:
        """The arrays by name."""
        return {prefix + field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_arrays(cls, arrays: Arrays, prefix: str = "") -> Self:
        """The model that :meth:`arrays` described."""
        return cls(**{field.name: arrays[prefix + field.name] for field in fields(cls)})  # type: ignore[arg-type]

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to an NPZ file."""
        save_arrays(path, self.schema, self.arrays())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model that was saved."""
        arrays = load_arrays(path, cls.schema)
        with naming_file(str(path)):
            return cls.from_arrays(arrays)
