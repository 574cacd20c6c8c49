"""The formats: how each is recognized, and which reader takes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypedDict, Unpack

from llrkit._format import not_among
from llrkit._inputs import unchanged
from llrkit.errors import FileFormatError, InputError, UnknownNameError
from llrkit.io.decompress import GZIP, ZSTD
from llrkit.io.trial_table import Scan, TrialTable


@dataclass(frozen=True)
class Format:
    """One format; ``magic`` are the first bytes of its files, text is told apart by its columns."""

    name: str
    holds: str
    magic: bytes = b""
    endings: tuple[str, ...] = ()


FORMATS = (
    Format("table", "delimited text with a header, or --columns", endings=(".csv", ".tsv")),
    Format("kaldi", "enroll test score | enroll test target"),
    Format("voxceleb", "label enroll test | score enroll test"),
    Format("nist", "model segment side LLR, keys"),
    Format("asvspoof", "ASV and CM scores, protocols"),
    Format("bob", "4 or 5 columns"),
    Format("two-column", "label score | score label"),
    Format("values", "one score per line, of one class"),
    Format("matrix", "ids in the first row and column"),
    Format("npz", "arrays by name", b"PK\x03\x04", (".npz",)),
    Format("npy", "one array, of one class", b"\x93NUMPY", (".npy",)),
    Format("bosaris", "HDF5: Scores, Key, Ndx; bob arrays", b"\x89HDF\r\n\x1a\n", (".h5", ".hdf5")),
    Format("parquet", "table", b"PAR1", (".parquet", ".pq")),
    Format("arrow", "table, file or stream", b"ARROW1", (".arrow", ".ipc", ".feather", ".arrows")),
)
NAMES = tuple(known.name for known in FORMATS)
_PACKED = 10
"""Text is about ten times smaller when it is packed."""
BINARY = tuple(known for known in FORMATS if known.magic)


class TextOptions(TypedDict, total=False):
    """How text is written."""

    decimal: str | None
    encoding: str | None


class TableOptions(TextOptions, total=False):
    """What can be said about one file: how it is written, and which of its columns are what."""

    format: str | None
    columns: Sequence[str] | None
    score: Sequence[str] | None
    label: str | None


def detect(file: Path) -> str:
    """The format of a file from its first bytes, else from its ending; text is told apart later.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "scores.dat"
    >>> _ = file.write_bytes(b"PAR1...")
    >>> detect(file)
    'parquet'
    """
    try:
        with file.open("rb") as raw:
            head = raw.read(8)
    except OSError as error:
        raise FileFormatError(f"{file}: cannot be read ({error.strerror or error})") from None
    by_magic = next((known.name for known in BINARY if head.startswith(known.magic)), None)
    by_ending = next((known.name for known in BINARY if file.suffix.lower() in known.endings), None)
    return by_magic or by_ending or "text"


def in_batches(file: Path) -> bool:
    """Whether files of this kind are read in batches rather than at once."""
    return detect(file) in ("text", "parquet", "arrow")


def decoded_bytes(file: Path) -> float:
    """About what a file takes in memory, from its description; its size where that says nothing."""
    size, kind = file.stat().st_size, detect(file)
    try:
        if kind == "parquet":
            from llrkit.io.binary.parquet_check import decoded_size

            return max(size, decoded_size(file).total)
        if kind == "arrow":
            from llrkit.io.binary.arrow_check import batch_sizes

            return max(size, sum(batch_sizes(file)))
    except ValueError:  # broken, as its reader will say
        return size
    with file.open("rb") as raw:
        return size * (_PACKED if raw.read(4).startswith((GZIP, ZSTD)) else 1)


def read_file(file: Path, **options: Unpack[TableOptions]) -> TrialTable:
    """Read one file of any format; one that changes meanwhile is an error."""
    with unchanged(file):
        kind = _kind_of_format(file, options)
        if kind in ("parquet", "arrow"):
            from llrkit.io.binary.column_files import read_arrow, read_parquet

            score, label = options.get("score"), options.get("label")
            return (read_parquet if kind == "parquet" else read_arrow)(file, score=score, label=label)
        opened = _opened_by_format(file, kind, options)
        return opened.whole() if isinstance(opened, Scan) else opened


def scan_file(file: Path, **options: Unpack[TableOptions]) -> Scan | TrialTable:
    """A file of any format to be read in batches, or what is in it where that cannot be done.

    A file that changes between two passes, or while it is read, is an error.
    """
    with unchanged(file) as stamp:
        opened = _opened_by_format(file, _kind_of_format(file, options), options)
    if stamp is None or not isinstance(opened, Scan):
        return opened
    read = opened.read

    def read_unchanged(wanted: Sequence[str]) -> Iterator[TrialTable]:
        with stamp.holding(file):
            yield from read(wanted)

    return replace(opened, read=read_unchanged)


def _opened_by_format(file: Path, kind: str, options: TableOptions) -> Scan | TrialTable:
    score, label = options.get("score"), options.get("label")
    if kind in ("parquet", "arrow"):
        from llrkit.io.binary.column_files import scan_columns

        return scan_columns(file, kind, score=score, label=label)
    if kind in ("npz", "npy"):
        from llrkit.io.binary.numpy_files import read_npy, read_npz

        return read_npy(file) if kind == "npy" else read_npz(file, score=score, label=label)
    if kind == "bosaris" and detect(file) == "bosaris":
        from llrkit.io.binary.bosaris_hdf5 import read_hdf5

        return read_hdf5(file)
    if kind == "bosaris":  # its text files have the columns of Kaldi's
        options = {**options, "format": "kaldi"}
    from llrkit.io.text.delimited import scan_delimited

    return scan_delimited(file, **options)


def _kind_of_format(file: Path, options: TableOptions) -> str:
    insisted = options.get("format")
    if insisted is not None and insisted not in NAMES:
        raise UnknownNameError(f"unknown format {not_among(insisted, NAMES, '; there are: ')}")
    kind = insisted or detect(file)
    if options.get("columns") is not None and kind in {known.name for known in BINARY}:
        raise InputError(
            f"{file}: --columns is for text; name columns of this file with --score-column and --label-column"
        )
    return kind
