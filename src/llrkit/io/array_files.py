"""Binary files: Parquet and Arrow, NumPy, and the HDF5 files of BOSARIS, SIDEKIT and bob.

The HDF5 library (h5py is needed) follows the sizes in a heap without looking where they lead; a size of
nothing keeps it busy for ever (version 2.0), which no caller can stop. So heaps are walked through here
first. It also opens any other file that a file names: links and arrays that may lead there are refused before
they are followed.
"""

from __future__ import annotations

import math
import mmap
import struct
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeAlias

import numpy as np
import polars as pl

from llrkit.base.arguments import Array
from llrkit.base.files import naming_file, replacing
from llrkit.base.process import at_once, fits, memory_limit, needed_package, require_memory, stage
from llrkit.base.text import counted
from llrkit.errors import FileFormatError, InputError
from llrkit.io import table_columns
from llrkit.io.read_options import require_text_name
from llrkit.io.table_columns import Scan, TrialTable, header_roles, held_size, named, with_roles
from llrkit.io.text_lines import refuse_bomb
from llrkit.io.text_tables import long_table
from llrkit.io.trial_checks import target_mask_of
from llrkit.scores.source import Roles

Arrays = dict[str, Array]
ROW_IDS, COLUMN_IDS = ("row_ids", "enroll", "models", "rows"), ("column_ids", "test", "segments", "columns")
BATCH_ROWS = 1 << 20
_ARROW_FILE = b"ARROW1"
_FEWEST_ROWS = 1 << 16
_PIECES = 16
"""A piece takes one part in so many of the memory that may be used."""


def scan_columns(
    file: Path, kind: str, *, score: Sequence[str] | None = None, label: str | None = None
) -> Scan | TrialTable:
    """A Parquet or Arrow file (Feather 2) to be read batch by batch; an Arrow stream is read at once."""
    if kind == "arrow" and _is_arrow_stream(file):
        with _naming_file(file, kind), stage(f"reading {file.name}"):
            require_memory(decoded_size(file, kind), str(file), table_columns.IN_BATCHES)
            table = pl.read_ipc_stream(file.read_bytes())  # as bytes: polars loses its place in files
            _require_equal_lengths(table)
        return with_roles(TrialTable(str(file), kind, table), score=score, label=label)
    require_text_name(file)
    with _naming_file(file, kind):
        lazy, rows, width = _description(file, kind)
        schema = lazy.collect_schema()
    roles = header_roles(schema.names(), score=score, label=label, where=str(file))
    like = roles.assigned_to(TrialTable(str(file), kind, pl.DataFrame(schema=schema)))

    def read(wanted: Sequence[str]) -> Iterator[TrialTable]:
        lazy_wanted = lazy.select(roles.needed_for(schema.names(), wanted))
        # Row numbers are counted here: polars does not say where in the file a batch stands.
        first_row = 0
        with _naming_file(file, kind), stage(f"reading {file.name}", rows) as done:
            for batch in _batches(lazy_wanted, rows, width):
                _require_equal_lengths(batch)
                if batch.height:
                    yield roles.assigned_to(TrialTable(str(file), kind, batch, first_row=first_row), wanted)
                first_row += batch.height
                done(batch.height)
        # Damaged files can end early without an error of polars.
        if first_row != rows:
            raise FileFormatError(f"{file}: {first_row:,} rows were read, but the file says it has {rows:,}")
        if first_row == 0:
            yield replace(like, table=like.table.select(wanted))

    return Scan(like, read, rows=rows, size=rows * width + file.stat().st_size)


def glance(file: Path, kind: str, rows: int) -> pl.DataFrame:
    """The first rows of a Parquet or Arrow file."""
    require_text_name(file)
    with _naming_file(file, kind):
        return _description(file, kind)[0].head(rows).collect()


def decoded_size(file: Path, kind: str) -> float:
    """About what the values of a file take in memory: rows times widths, and its size for letters of texts.

    The bytes in the footer of a Parquet file are those of packed dictionaries, so they are not asked for. An
    Arrow stream does not say how many rows it has.
    """
    size = float(file.stat().st_size)
    if kind == "arrow" and _is_arrow_stream(file):
        return size
    with _naming_file(file, kind):
        _, rows, width = _description(file, kind)
    return rows * width + size


def _description(file: Path, kind: str) -> tuple[pl.LazyFrame, int, float]:
    """A file that is not read yet, its number of rows, and the bytes that each takes in memory."""
    lazy = pl.scan_parquet(file) if kind == "parquet" else pl.scan_ipc(file)
    # From the metadata; no column is read for it.
    rows = int(lazy.select(pl.len()).collect().item())
    # 1,024 rows of nulls, since fixed costs would distort the width of a single one.
    return lazy, rows, held_size(pl.DataFrame(schema=lazy.collect_schema()).clear(1024)) / 1024


def _batches(table: pl.LazyFrame, rows: int, width: float) -> Iterator[pl.DataFrame]:
    # Groups of rows may be too large to be decoded as a whole, and polars decodes several ahead. So a file
    # that does not fit is read in pieces. Each looks for its first row again, so it is as large as memory
    # allows with several in work at a time.
    step = rows if fits(rows * width) else max(_FEWEST_ROWS, int(memory_limit() / (_PIECES * width)))
    for start in range(0, rows, max(step, 1)):
        piece = table if step == rows else table.slice(start, step)
        yield from piece.collect_batches(chunk_size=at_once(BATCH_ROWS, unit=8), maintain_order=True)


def _is_arrow_stream(file: Path) -> bool:
    with file.open("rb") as raw:
        return raw.read(len(_ARROW_FILE)) != _ARROW_FILE


def _require_equal_lengths(table: pl.DataFrame) -> None:
    if any(column.len() != table.height for column in table):  # of a damaged file
        raise ValueError("its columns have different lengths")


def _naming_file(file: Path, kind: str) -> AbstractContextManager[None]:
    # PanicException is no PolarsError: polars panics on some damaged files.
    errors = pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError
    return naming_file(file, kind.capitalize(), *errors)


def read_npz(file: Path, *, score: Sequence[str] | None = None, label: str | None = None) -> TrialTable:
    """Read arrays of equal length, or ``target`` and ``nontarget``, or a matrix of scores with ids."""
    arrays = read_arrays(file)
    name = score[0] if score else named(list(arrays), table_columns.SCORE_NAMES)
    vectors = {key for key, array in arrays.items() if array.ndim == 1}
    # An array of scores wins over one array per class.
    if vectors >= {"target", "nontarget"} and (name is None or name not in arrays):
        return two_classes(arrays["target"], arrays["nontarget"], str(file), "npz", name or "score", label)
    if name is not None and name in arrays and arrays[name].ndim == 2:
        return _npz_matrix(file, arrays, name)
    role = label or named(list(arrays), table_columns.LABEL_NAMES)
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
    same_length = {key: array for key, array in arrays.items() if array.shape == (n,)}
    columns = {key: _npz_series(array, f"{file}: array {key!r}") for key, array in same_length.items()}
    return with_roles(TrialTable(str(file), "npz", pl.DataFrame(columns)), score=score, label=label)


def read_npy(file: Path) -> TrialTable:
    """Read a single array of scores; which class they belong to is not in the file."""
    with _opened_for_numpy(file, "NPY") as raw:
        size = _announced_bytes(raw)
        if size > file.stat().st_size:
            raise ValueError("it ends too early")
        require_memory(size, str(file))
        raw.seek(0)
        array = np.lib.format.read_array(raw, allow_pickle=False)
    return one_class(array, str(file), "npy")


def one_class(array: Array, file: str, kind: str) -> TrialTable:
    """Scores of one class, from an array."""
    # Kinds i, u and f: booleans are labels, and complex numbers are no scores.
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
        expected = "expected (n,), or row_ids and column_ids beside a matrix"
        raise FileFormatError(f"{file}: array {name!r} has shape {values.shape}, {expected}")
    shape = (arrays[row_ids].size, arrays[column_ids].size)
    if values.shape != shape or values.dtype.kind not in "iuf":
        raise FileFormatError(f"{file}: {name!r} has shape {values.shape}, but there are ids for {shape}")
    ids = [arrays[one].ravel().astype(str).tolist() for one in (row_ids, column_ids)]
    role, label = named(list(arrays), table_columns.LABEL_NAMES), None
    table = long_table(values, *ids)
    if role is not None and arrays[role].shape == values.shape:
        table, label = table.with_columns(pl.Series("label", arrays[role].ravel())), "label"
    return TrialTable(str(file), "npz", table, Roles(("score",), label, "enroll", "test"))


def _npz_series(array: Array, where: str) -> pl.Series:
    if array.dtype.kind not in "biufU":
        raise FileFormatError(f"{where} holds {array.dtype}, expected numbers or text")
    # Not every version of polars has 16-bit floats, and none has long doubles.
    if array.dtype == np.float16 or (array.dtype.itemsize > 8 and array.dtype.kind == "f"):
        array = array.astype(np.float64)
    # polars takes arrays in the byte order of the machine only.
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
            # force_zip64, as np.savez does: the size of a member is not known when its header is
            # written.
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def read_arrays(file: Path) -> Arrays:
    """The arrays of an NPZ archive by name; pickles and archives made to fill the memory are refused."""
    with _opened_for_numpy(file, "NPZ") as raw:
        first = raw.read(2)
        if first == b"\x93N":
            raise FileFormatError(f"{file}: a single NumPy array, not an NPZ archive of named arrays")
        if first != b"PK":  # NumPy would take anything else for a pickle
            raise FileFormatError(f"{file}: not an NPZ archive of named arrays")
        if zipfile.is_zipfile(raw):
            # Before np.load, which allocates what the header of an array announces.
            _refuse_large_archive(raw, file)
        raw.seek(0)
        with np.load(raw, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        for name, array in arrays.items():
            if not isinstance(array, np.ndarray):  # bytes
                raise FileFormatError(f"{file}: the member {name!r} is not an array")
    return arrays


def prefixed(prefix: str, arrays: Mapping[str, Array]) -> Arrays:
    """Arrays of a part of something, under names that say which part.

    Examples
    --------
    >>> part_of(prefixed("plda.", {"mean": np.zeros(1)}), "plda.")
    {'mean': array([0.])}
    """
    return {prefix + name: array for name, array in arrays.items()}


def part_of(arrays: Mapping[str, Array], prefix: str) -> Arrays:
    """The arrays of one part, by the names they have in it; none if it is not there."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


@contextmanager
def _opened_for_numpy(file: Path, kind: str) -> Iterator[BinaryIO]:
    """A file opened here, since ``np.load`` leaves a broken one open; NumPy warns of files of Python 2."""
    with (
        # Any exception: zipfile, zlib, struct and NumPy's own parser of headers raise different ones on
        # broken files.
        naming_file(file, f"{kind} without pickles", Exception),  # it raises nearly everything
        file.open("rb") as raw,
        warnings.catch_warnings(action="ignore"),
    ):
        yield raw


def _refuse_large_archive(raw: IO[bytes], file: Path) -> None:
    """Refuse bombs, and arrays that announce more than may be held: NumPy makes room before it reads."""
    total, packed = 0.0, raw.seek(0, 2)
    with zipfile.ZipFile(raw) as archive:
        refuse_bomb(sum(member.file_size for member in archive.infolist()), packed, file)
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


HEAP = b"GCOL\x01\0\0\0"  # signature, version, three bytes that are zero


def _refuse_endless_heaps(file: Path) -> None:
    """Raise unless going from object to object leads to the end of every heap; sizes have eight bytes."""
    whole = file.stat().st_size
    if not whole:  # nothing cannot be mapped
        return
    with file.open("rb") as raw, mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ) as data:
        start = data.find(HEAP)
        while start >= 0:
            at, end = start + 16, whole + 1  # beyond the file, as if it had no end
            if at <= whole:
                end = start + int(struct.unpack_from("<Q", data, start + 8)[0])
            while at + 16 <= end <= whole:
                index, size = struct.unpack_from("<H6xQ", data, at)
                step = 16 + (size + 7) // 8 * 8 if index else size  # index 0 is free space, with its header
                # An object of no size, or one that is larger than the heap.
                at, end = (at + step, end) if 16 <= step <= end - at else (at, whole + 1)
            if not at <= end <= whole:
                raise FileFormatError(f"{file}: cannot be read as HDF5 (the heap at byte {start} has no end)")
            start = data.find(HEAP, start + len(HEAP))


Ids: TypeAlias = tuple[pl.Series, pl.Series]
Archive: TypeAlias = Mapping[str, Any]
"""Arrays by name; h5py has no types."""

_NEED = ("HDF5 files need h5py", "hdf5")
VERSION = "2.0"
DEFLATE_RATIO, ID_RATIO = 1100, 200
"""How much smaller packed data can be: at most 1,032 times by deflate, and ids, which differ, less."""
BLOCK_CELLS = 1 << 18
"""A matrix is read in blocks of rows of about as many cells: only those that are trials are kept."""
TRIAL_BYTES, CELL_BYTES = 48, 64
"""What a trial takes, two ids and a value, and a cell while it becomes one, with its place in the matrix."""


@contextmanager
def _opened(file: Path) -> Iterator[Archive]:
    """An HDF5 file that leads to no other file; whatever goes wrong names it."""
    h5py = needed_package("h5py", *_NEED)
    with naming_file(file, "HDF5", Exception):  # h5py raises nearly everything on broken files
        _refuse_endless_heaps(file)
        with h5py.File(file, "r") as archive:
            links: list[tuple[str, object]] = []
            archive.visititems_links(lambda name, link: links.append((name, link)))  # follows hard links only
            for name, link in links:
                if not isinstance(link, h5py.HardLink):
                    raise FileFormatError(f"{file}: /{name} is a link, which is not followed")
                there = archive[name]
                # External storage and virtual datasets name other files, which HDF5 would open when the
                # array is read.
                if isinstance(there, h5py.Dataset) and (there.external or there.is_virtual):
                    raise FileFormatError(f"{file}: /{name} is stored in another file, which is not read")
            yield archive


def read_hdf5(file: Path) -> TrialTable:
    """Read BOSARIS scores or a key, or an array as bob writes it."""
    name = str(file)
    with _opened(file) as archive:
        if "scores" in archive and "score_mask" in archive:
            blocks = _blocks_of_matrices(archive, ("scores", "score_mask"), name)
            cells = ((ids, scores, mask != 0) for ids, (scores, mask) in blocks)
            table = _trials_of_matrices(cells, "score", name)
            return TrialTable(name, "bosaris", table, Roles(("score",), None, "enroll", "test"))
        if "trial_mask" in archive or "target_mask" in archive:
            return _bosaris_key(archive, name)
        if "ids" in archive and "values" in archive:
            raise FileFormatError(
                f"{file}: quality measures of segments, no trials; use it as --quality-file"
            )
        # bob writes one array without ids.
        arrays = [one for one in archive if hasattr(archive[one], "shape")]
        if len(arrays) == 1:
            return one_class(_hdf5_array(archive, arrays[0], name), name, "bosaris")
        expected = "/scores and /score_mask, /trial_mask, or one array"
        raise FileFormatError(f"{file}: expected {expected}; there are: {', '.join(archive) or 'none'}")


def _bosaris_key(archive: Archive, file: str) -> TrialTable:
    """A Key or an Ndx: +1 target, -1 non-target, 0 no trial; old keys have a mask for each class."""
    names = ("trial_mask",) if "trial_mask" in archive else ("target_mask", "nontarget_mask")
    kind, lowest = "b", 0

    def signed() -> Iterator[tuple[Ids, Array, Array]]:
        nonlocal kind, lowest
        for ids, (mask, *other) in _blocks_of_matrices(archive, names, file):
            if other:
                if ((mask != 0) & (other[0] != 0)).any():
                    raise FileFormatError(f"{file}: a trial is in both /target_mask and /nontarget_mask")
                mask = (mask != 0).astype(np.int8) - (other[0] != 0)
            kind, lowest = mask.dtype.kind, min(lowest, mask.min(initial=0))
            yield ids, mask, mask != 0

    table = _trials_of_matrices(signed(), "label", file)
    table = table.with_columns(table["label"].cast(pl.Int64))
    # an Ndx says which trials there are, not what they are; SIDEKIT writes it as signed numbers too
    if kind in "bu" or ("modelset" in archive and lowest >= 0):
        return TrialTable(file, "bosaris", table.drop("label"), Roles((), None, "enroll", "test"))
    return TrialTable(file, "bosaris", table, Roles((), "label", "enroll", "test"))


def read_hdf5_quality(file: Path) -> tuple[list[str], Array]:
    """The ids and the measures of a BOSARIS Seg_Quality file, one row per measure."""
    with _opened(file) as archive:
        if "ids" not in archive or "values" not in archive:
            there = ", ".join(archive) or "none"
            raise FileFormatError(f"{file}: expected /ids and /values; there are: {there}")
        ids = _hdf5_texts(archive, "ids", str(file))
        # A file with one measure may hold a plain vector.
        values = np.atleast_2d(_hdf5_array(archive, "values", str(file)))
    if values.ndim != 2 or values.shape[1] != len(ids) or values.dtype.kind not in "biuf":
        raise FileFormatError(
            f"{file}: /values has shape {values.shape}, expected a row of {len(ids)} numbers per measure"
        )
    if not np.isfinite(values).all():
        raise FileFormatError(f"{file}: /values holds something that is not a finite number")
    return ids, values.astype(np.float64)


def _hdf5_array(archive: Archive, name: str, file: str, ratio: int = DEFLATE_RATIO) -> Array:
    """An array; one that is larger than the file or the memory can hold is refused before it is made."""
    there = _announced_hdf5_array(archive, name, file, ratio)
    cells = math.prod(there.shape or ())
    # CELL_BYTES is for eight-byte values, so it is scaled by the width of this type.
    require_memory(CELL_BYTES / 8.0 * max(cells * there.dtype.itemsize, cells), file)
    return np.asarray(there)


def _announced_hdf5_array(archive: Archive, name: str, file: str, ratio: int = DEFLATE_RATIO) -> Any:
    """An array that is not read yet, and says that it is no larger than the file can hold."""
    if name not in archive:
        raise FileFormatError(f"{file}: no /{name}")
    there = archive[name]
    if not hasattr(there, "shape"):
        raise FileFormatError(f"{file}: /{name} is not an array")
    # A header may announce any shape; nothing deflates more than DEFLATE_RATIO times, so more than that
    # cannot be in the file.
    size, most = math.prod(there.shape or ()) * there.dtype.itemsize, ratio * Path(file).stat().st_size
    if size > most:
        raise FileFormatError(f"{file}: /{name} has shape {there.shape}, more than the file can hold")
    return there


def _hdf5_texts(archive: Archive, name: str, file: str) -> list[str]:
    values = _hdf5_array(archive, name, file, ID_RATIO).ravel()
    return [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in values]


def _blocks_of_matrices(
    archive: Archive, names: Sequence[str], file: str
) -> Iterator[tuple[Ids, list[Array]]]:
    """Blocks of rows of matrices that belong together: the ids of rows and columns, then each matrix."""
    ids = []
    for name, other in (("ID/row_ids", "modelset"), ("ID/column_ids", "segset")):  # BOSARIS, SIDEKIT
        if name not in archive and other not in archive:
            raise FileFormatError(f"{file}: neither /{name} nor /{other}")
        there = name if name in archive else other
        ids.append(pl.Series(_hdf5_texts(archive, there, file), dtype=pl.String))
    row_ids, column_ids = ids
    matrices = [_announced_hdf5_array(archive, name, file) for name in names]
    shape = (len(row_ids), len(column_ids))
    for name, matrix in zip(names, matrices, strict=True):
        if matrix.shape != shape or matrix.dtype.kind not in "biuf":
            raise FileFormatError(f"{file}: /{name} has shape {matrix.shape}, but there are ids for {shape}")
    # what is packed together is unpacked together
    packed = max((matrix.chunks[0] for matrix in matrices if matrix.chunks), default=1)
    step = min(max(packed, BLOCK_CELLS // max(shape[1], 1) // packed * packed), max(shape[0], 1))
    require_memory(float(CELL_BYTES * step * shape[1]), file)
    for start in range(0, max(shape[0], 1), step):
        rows = slice(start, start + step)
        yield (row_ids[rows], column_ids), [matrix[rows] for matrix in matrices]


def _trials_of_matrices(blocks: Iterable[tuple[Ids, Array, Array]], name: str, file: str) -> pl.DataFrame:
    """One row per trial, of blocks of values and masks; refused as soon as there are too many."""
    pieces = []
    for ids, values, mask in blocks:
        pieces.append(long_table(values, *ids, name=name, mask=mask))
        require_memory(float(TRIAL_BYTES * sum(piece.height for piece in pieces)), file)
    return pl.concat(pieces)


def write_hdf5(trials: TrialTable, path: str | Path, *, key: bool = False) -> None:
    """Write scores, or the key, as BOSARIS does: a matrix of models and segments, and which cells count."""
    h5py = needed_package("h5py", *_NEED)
    column = trials.label if key else (trials.score[0] if len(trials.score) == 1 else None)
    if trials.enroll is None or trials.test is None or column is None:
        what = "a label" if key else "one score"
        raise InputError(f"{path}: a BOSARIS file needs both ids of each trial and {what}")
    models, rows = _codes_of_ids(trials, trials.enroll, path)
    segments, columns = _codes_of_ids(trials, trials.test, path)
    shape = (len(models), len(segments))
    cells = rows * len(segments) + columns
    if len(np.unique(cells)) < len(cells):
        raise InputError(f"{path}: a BOSARIS file holds every trial once; some occur more than once")
    mask = np.zeros(shape, np.int8)
    mask[rows, columns] = 1
    if key:
        is_target, _ = target_mask_of(trials)
        mask[rows, columns] = np.where(is_target, 1, -1)
    # In memory: what goes wrong while HDF5 itself writes is hard to tell. Not by way of a Python file, which
    # h5py gives back too late if writing fails: Python 3.12 ends in a segmentation fault.
    with h5py.File(str(path), "w", driver="core", backing_store=False) as archive:
        # Strings of variable length: ids may have any length.
        archive["ID/row_ids"], archive["ID/column_ids"] = (
            np.asarray([name.encode() for name in names], dtype=h5py.string_dtype())
            for names in (models, segments)
        )
        if key:
            archive["trial_mask"] = mask
        else:
            scores = np.zeros(shape)
            scores[rows, columns] = trials.table[column].to_numpy()
            archive["scores"], archive["score_mask"] = scores, mask
        archive["file_format"] = VERSION
        archive.flush()
        written = archive.id.get_file_image()
    with replacing(path) as temporary:
        temporary.write_bytes(written)


def _codes_of_ids(trials: TrialTable, name: str, path: str | Path) -> tuple[list[str], Array]:
    """The ids in the order in which they come first, and which of them each trial has."""
    ids = trials.table[name].cast(pl.String)
    if ids.has_nulls():
        raise InputError(f"{path}: some trials have no {name}")
    # In order of appearance, so that writing twice gives the same file.
    names = ids.unique(maintain_order=True)
    return names.to_list(), ids.replace_strict(names, np.arange(len(names))).to_numpy()
