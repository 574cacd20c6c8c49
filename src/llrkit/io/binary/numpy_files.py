"""NumPy files: NPZ with one array per column, per class, or a matrix with ids; NPY. Nothing is unpickled."""

from __future__ import annotations

import math
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import numpy as np
import polars as pl

from llrkit._arrays import Array
from llrkit._format import counted
from llrkit._memory import require_memory
from llrkit.errors import FileFormatError, LlrkitError
from llrkit.io.column_roles import with_roles
from llrkit.io.decompress import ALWAYS_FINE, LARGEST_RATIO
from llrkit.io.score_matrices import long_table
from llrkit.io.text.header_row import named
from llrkit.io.text.layouts import LABEL_NAMES, SCORE_NAMES
from llrkit.io.trial_table import TrialTable
from llrkit.scores.roles import Roles

Arrays = dict[str, Array]
ROW_IDS, COLUMN_IDS = ("row_ids", "enroll", "models", "rows"), ("column_ids", "test", "segments", "columns")


def read_npz(file: Path, *, score: Sequence[str] | None = None, label: str | None = None) -> TrialTable:
    """Read arrays of equal length, or ``target`` and ``nontarget``, or a matrix of scores with ids."""
    arrays = read_arrays(file)
    name = score[0] if score else named(list(arrays), SCORE_NAMES)
    classes = {"target", "nontarget"} <= arrays.keys() and all(
        arrays[one].ndim == 1 for one in ("target", "nontarget")
    )
    if classes and (name is None or name not in arrays):
        return two_classes(arrays["target"], arrays["nontarget"], str(file), "npz", name or "score", label)
    if name is not None and name in arrays and arrays[name].ndim == 2:
        return _npz_matrix(file, arrays, name)
    return _npz_columns(file, arrays, name, score, label)


def _npz_columns(
    file: Path, arrays: Arrays, name: str | None, score: Sequence[str] | None, label: str | None
) -> TrialTable:
    role = label or named(list(arrays), LABEL_NAMES)
    wanted = [*(score or [name or "score"]), *([role] if role else [])]
    for wish in wanted:
        if wish not in arrays:
            there = ", ".join(f"{key} {array.shape}" for key, array in arrays.items()) or "none"
            raise FileFormatError(f"{file}: no array {wish!r}; there are: {there}")
        if arrays[wish].ndim != 1:
            raise FileFormatError(f"{file}: array {wish!r} has shape {arrays[wish].shape}, expected (n,)")
    n = len(arrays[wanted[0]])
    for wish in wanted[1:]:
        if len(arrays[wish]) != n:
            what = "labels" if wish == role else f"values in {wish!r}"
            raise FileFormatError(f"{file}: {counted(n, 'score')} but {len(arrays[wish])} {what}")
    columns = {key: _npz_series(array, f"{file}: array {key!r}") for key, array in arrays.items()
               if array.shape == (n,)}  # fmt: skip
    return with_roles(TrialTable(str(file), "npz", pl.DataFrame(columns)), score=score, label=label)


def read_npy(file: Path) -> TrialTable:
    """Read a single array of scores; which class they belong to is not in the file."""
    try:
        with file.open("rb") as raw, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # files of Python 2
            size = _announced_bytes(raw)
            if size > file.stat().st_size:
                raise ValueError("it ends too early")
            require_memory(size, str(file))
            raw.seek(0)
            array = np.lib.format.read_array(raw, allow_pickle=False)
    except LlrkitError:
        raise
    except Exception as error:  # NumPy raises nearly everything on broken files
        raise FileFormatError(f"{file}: cannot be read as NPY without pickles ({error})") from None
    return one_class(array, str(file), "npy")


def one_class(array: Array, file: str, kind: str) -> TrialTable:
    """Scores of one class, from an array."""
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        raise FileFormatError(
            f"{file}: an array of {array.dtype} with shape {array.shape}, expected (n,) numbers"
        )
    return TrialTable(file, kind, pl.DataFrame({"score": _npz_series(array, file)}), Roles(("score",)))


def two_classes(
    target: Array, nontarget: Array, file: str, kind: str, score: str, label: str | None
) -> TrialTable:
    """Trials from the scores of each class, targets first."""
    both = [one_class(one, file, kind).table["score"].to_numpy() for one in (target, nontarget)]
    is_target = np.repeat([True, False], [len(one) for one in both])
    role = label or "label"
    table = pl.DataFrame({score: np.concatenate(both), role: is_target})
    return TrialTable(file, kind, table, Roles((score,), role))


def _npz_matrix(file: Path, arrays: Arrays, name: str) -> TrialTable:
    values = arrays[name]
    row_ids, column_ids = (named(list(arrays), names) for names in (ROW_IDS, COLUMN_IDS))
    if row_ids is None or column_ids is None:
        raise FileFormatError(
            f"{file}: array {name!r} has shape {values.shape}, expected (n,), or row_ids and column_ids "
            "beside a matrix"
        )
    shape = (arrays[row_ids].size, arrays[column_ids].size)
    if values.shape != shape or values.dtype.kind not in "iuf":
        raise FileFormatError(f"{file}: {name!r} has shape {values.shape}, but there are ids for {shape}")
    ids = [arrays[one].ravel().astype(str).tolist() for one in (row_ids, column_ids)]
    table = long_table(values, ids[0], ids[1])
    role = named(list(arrays), LABEL_NAMES)
    if role is not None and arrays[role].shape == values.shape:
        table = table.with_columns(pl.Series("label", arrays[role].ravel()))
    label = "label" if "label" in table.columns else None
    return TrialTable(str(file), "npz", table, Roles(("score",), label, "enroll", "test"))


def _npz_series(array: Array, where: str) -> pl.Series:
    if array.dtype.kind not in "biufU":
        raise FileFormatError(f"{where} holds {array.dtype}, expected numbers or text")
    if array.dtype == np.float16 or (array.dtype.itemsize > 8 and array.dtype.kind == "f"):
        array = array.astype(np.float64)
    return pl.Series(array.astype(array.dtype.newbyteorder("=")))


def write_arrays(raw: IO[bytes], arrays: Mapping[str, Array]) -> None:
    """Write arrays by name as an NPZ archive: as ``np.savez`` does, under any name and without pickles.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.npz"
    >>> with path.open("wb") as raw:
    ...     write_arrays(raw, {"file": np.array([1.0, 2.0])})
    >>> read_arrays(path)
    {'file': array([1., 2.])}
    """
    with zipfile.ZipFile(raw, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def read_arrays(file: Path) -> Arrays:
    """The arrays of an NPZ archive by name; pickles and archives made to fill the memory are refused."""
    try:
        # opened here: np.load leaves a broken file open
        with file.open("rb") as raw:
            if zipfile.is_zipfile(raw):
                raw.seek(0)
                _refuse_npz_bomb(raw, file)
                _refuse_large_arrays(raw, file)
            raw.seek(0)
            if raw.read(2) not in (b"PK", b"\x93N"):  # NumPy would take anything else for a pickle
                raise FileFormatError(f"{file}: not an NPZ archive of named arrays")
            raw.seek(0)
            with warnings.catch_warnings(), np.load(raw, allow_pickle=False) as archive:
                warnings.simplefilter("ignore")  # files of Python 2
                return {name: _npz_member(archive[name], name, file) for name in archive.files}
    except LlrkitError:
        raise
    except AttributeError:
        raise FileFormatError(f"{file}: a single NumPy array, not an NPZ archive of named arrays") from None
    except Exception as error:  # NumPy raises nearly everything on broken files
        raise FileFormatError(f"{file}: cannot be read as NPZ without pickles ({error})") from None


def _npz_member(member: object, name: str, file: Path) -> Array:
    """A member of an archive; what is no array comes as bytes."""
    if not isinstance(member, np.ndarray):
        raise FileFormatError(f"{file}: the member {name!r} is not an array")
    return member


def _refuse_large_arrays(raw: IO[bytes], file: Path) -> None:
    """Refuse arrays that announce more than may be held: NumPy makes room before it reads."""
    total = 0.0
    with zipfile.ZipFile(raw) as archive:
        for member in archive.infolist():
            if member.filename.endswith(".npy"):
                with archive.open(member) as inside:
                    size = _announced_bytes(inside)
                if size > member.file_size:
                    raise FileFormatError(f"{file}: the array {member.filename!r} ends too early")
                total += size
    require_memory(total, str(file))


def _announced_bytes(raw: IO[bytes]) -> float:
    """The size of an array by its header; objects are refused elsewhere."""
    version = np.lib.format.read_magic(raw)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(raw)
    return float(math.prod(map(float, shape))) * dtype.itemsize


def _refuse_npz_bomb(raw: IO[bytes], file: Path) -> None:
    with zipfile.ZipFile(raw) as archive:
        size = sum(member.file_size for member in archive.infolist())
    packed = raw.seek(0, 2)
    if size > ALWAYS_FINE and size > LARGEST_RATIO * packed:
        raise FileFormatError(f"{file}: unpacks to more than {LARGEST_RATIO} times its size; not read")
