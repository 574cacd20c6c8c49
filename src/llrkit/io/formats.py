"""Which format a file has, and which files a path names."""

from __future__ import annotations

import glob
import hashlib
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path

from llrkit.base.files import file_sha256, note_input, state_of, unchanged
from llrkit.base.process import refuse_after_fork, warn_caller
from llrkit.base.text import not_among
from llrkit.errors import FileFormatError, InputError, LlrkitWarning, SkippedFilesWarning, UnknownNameError
from llrkit.io.array_files import decoded_size, read_hdf5, read_npy, read_npz, scan_columns
from llrkit.io.read_options import PLAIN, PathArg, Reading
from llrkit.io.table_columns import LAYOUTS, Scan, TrialTable, in_one_schema, together
from llrkit.io.text_lines import GZIP, ZSTD, open_text
from llrkit.io.text_tables import scan_delimited

BINARY = {
    "npz": (b"PK\x03\x04", (".npz",)),
    "npy": (b"\x93NUMPY", (".npy",)),
    "bosaris": (b"\x89HDF\r\n\x1a\n", (".h5", ".hdf5")),
    "parquet": (b"PAR1", (".parquet", ".pq")),
    # An Arrow stream does not begin with these bytes; only the ending of its name gives it away.
    "arrow": (b"ARROW1", (".arrow", ".ipc", ".feather", ".arrows")),
}
"""The first bytes of files that are no text, and how their names end."""
NAMES = ("table", *dict.fromkeys(layout.format for layout in LAYOUTS), "matrix", *BINARY)
_PACKED = 10
"""Text is about ten times smaller when it is packed."""


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
    # The content decides where it can; the ending of a name may be wrong.
    by_magic = next((name for name, (magic, _) in BINARY.items() if head.startswith(magic)), None)
    by_ending = next((name for name, (_, ends) in BINARY.items() if file.suffix.lower() in ends), None)
    return by_magic or by_ending or "text"


def first_rows(file: Path) -> list[list[str]]:
    """The fields of the first rows of a text; none of a file that is no text."""
    return [fields for _, fields in open_text(file).head] if detect(file) == "text" else []


def decoded_bytes(file: Path) -> float:
    """About what a file takes in memory, from its description; its size where that says nothing."""
    kind = detect(file)
    if kind in ("parquet", "arrow"):
        with suppress(FileFormatError):  # broken, as its reader will say
            return decoded_size(file, kind)
    with file.open("rb") as raw:
        return file.stat().st_size * (_PACKED if raw.read(4).startswith((GZIP, ZSTD)) else 1)


def read_table(path: PathArg, reading: Reading = PLAIN) -> TrialTable:
    """Read a file, a directory or a glob: the table and which of its columns are what.

    Of the options only those about one file matter here: format, columns, score, label, decimal, encoding.
    """
    tables = [read_file(file, reading) for file in files_of(path)]
    return tables[0] if len(tables) == 1 else together(tables, str(path))


def scan_tables(paths: PathArg | Sequence[PathArg], reading: Reading = PLAIN) -> list[Scan]:
    """The files of one or several names, directories or globs, to be read in batches one after another."""
    given = [paths] if isinstance(paths, (str, PathLike)) else paths
    return in_one_schema([scan_file(file, reading) for path in given for file in files_of(path)])


def read_file(file: Path, reading: Reading) -> TrialTable:
    """Read one file of any format; one that changes meanwhile is an error."""
    # Noted before it is opened: a command may not write over its inputs, and nobody may change them
    # meanwhile.
    note_input(file)
    with unchanged(file):
        opened = _opened_by_format(file, reading)
        return opened.whole() if isinstance(opened, Scan) else opened


def scan_file(file: Path, reading: Reading) -> Scan:
    """A file of any format to be read in batches; where that cannot be done, what is in it as one batch.

    A file that changes between two passes, or while it is read, is an error.
    """
    note_input(file)
    with unchanged(file) as state:
        opened = _opened_by_format(file, reading)
    if not isinstance(opened, Scan):
        return Scan.of(opened)
    read = opened.read

    # Compared with the state at the first look, not at the start of this pass: a change between two
    # passes would mix two sets of trials.
    def read_unchanged(wanted: Sequence[str]) -> Iterator[TrialTable]:
        with unchanged(file, since=state):
            yield from read(wanted)

    return replace(opened, read=read_unchanged)


def _opened_by_format(file: Path, reading: Reading) -> Scan | TrialTable:
    """A file to be read in batches or, of formats that must be seen as a whole, what is in it."""
    if reading.format is not None and reading.format not in NAMES:
        raise UnknownNameError(f"unknown format {not_among(reading.format, NAMES, '; there are: ')}")
    kind = reading.format or detect(file)
    if reading.columns is not None and kind in BINARY:
        raise InputError(
            f"{file}: --columns is for text; name columns of this file with --score-column and --label-column"
        )
    if kind in ("parquet", "arrow"):
        return scan_columns(file, kind, score=reading.score, label=reading.own_label)
    if kind == "npy":
        return read_npy(file)
    if kind == "npz":
        return read_npz(file, score=reading.score, label=reading.own_label)
    # The name stands for the HDF5 files and for the text files of BOSARIS; the first bytes tell which.
    if kind == "bosaris" and detect(file) == "bosaris":
        return read_hdf5(file)
    if kind == "bosaris":  # its text files have the columns of Kaldi's
        reading = replace(reading, format="kaldi")
    return scan_delimited(file, reading)


def sha256_of(path: PathArg) -> str:
    """The hash of a training file, as kept in a calibration file.

    Of a directory or a glob, the hash of what ``sha256sum`` prints for its files in the order of their names.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = file.write_text("abc")
    >>> sha256_of(file)[:16], sha256_of(file.parent)[:16]
    ('ba7816bf8f01cfea', 'de6ab0485a2f9629')
    """
    hashes = [(file_sha256(file), file.name) for file in files_of(path)]
    if len(hashes) == 1 and Path(path).is_file():
        return hashes[0][0]
    return hashlib.sha256("".join(f"{digest}  {name}\n" for digest, name in hashes).encode()).hexdigest()


def files_of(path: PathArg) -> list[Path]:
    """The files that a name stands for: itself, those of a directory or of a glob, by name.

    Names that begin with a dot or an underscore are left out, unless the pattern begins like that.
    """
    # polars' threads do not survive a fork: reading would hang instead of failing.
    refuse_after_fork("files of trials")
    file = Path(path)
    if file.is_dir():
        # By name, since a directory lists its files in an order of its own, and rows must come in the
        # same order everywhere.
        visible = sorted(one for one in file.iterdir() if is_taken(one.name))
        inside = [one for one in visible if one.is_file()]
        _say_what_is_left_out(file, visible)
        if not inside:
            raise FileFormatError(f"{file}: a directory without files")
        return inside
    if file.exists():
        # Formats are told by the first bytes and read in several passes, which a pipe does not allow.
        if not file.is_file():
            what = "a pipe, which can be read once only" if file.is_fifo() else "a device, not a file"
            raise FileFormatError(f"{file}: {what}; copy it to a file")
        return [file]
    if file.is_symlink():
        raise FileFormatError(f"{file}: a link to {file.readlink()}, which is not there")
    names = glob.glob(str(path), recursive=True) if glob.has_magic(str(path)) else []
    matches = sorted(one for one in map(Path, names) if is_taken(one.name, file.name))
    # A pattern with ** names folders on purpose, to look inside them.
    _say_what_is_left_out(file, [] if "**" in str(path) else matches)
    matches = [one for one in matches if one.is_file()]
    if not matches:
        raise FileFormatError(f"{file}: no such file")
    return matches


def _say_what_is_left_out(where: Path, named: Iterable[Path]) -> None:
    """Warn of what looks like input but is not read: subfolders, and links that lead nowhere."""
    links = [one.name for one in named if one.is_symlink() and not one.exists()]
    folders = [one.name for one in named if one.is_dir()]
    for names, what in ((links, "links to nothing"), (folders, "subfolders")):
        if names:
            shown = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
            warn_caller(f"{where}: {what} are not read: {shown}", SkippedFilesWarning)


def is_taken(name: str, pattern: str = "*") -> bool:
    """Whether a file of a directory, or one that matches a pattern, is meant to be read.

    Examples
    --------
    >>> is_taken("part-0.parquet"), is_taken("_manifest.json"), is_taken("_odd.csv", "_*.csv")
    (True, False, True)
    """
    return name[0] not in "._" or pattern[:1] == name[0]


STANDARD = "-"
"""Standard input or output, which is no file."""


def require_separate(inputs: Iterable[PathArg], outputs: Sequence[PathArg]) -> None:
    """Refuse an output that is read as well, that lies in a folder that is read, or that is written twice.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.csv").write_text("score,label")
    >>> require_separate([folder], [folder / "llrs.csv"])  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    llrkit.errors.InputError: llrs.csv: would be read with the other files of the folder the next time
    """
    written: dict[str, PathArg] = {}
    read = [(os.fspath(path), local_files(path)) for path in inputs if path != STANDARD]
    for output in outputs:
        if output == STANDARD:
            continue
        place, there = os.path.realpath(output), state_of(output)
        if place in written:
            raise InputError(f"{output}: would be written twice ({written[place]}); name two places")
        written[place] = output
        parent, name = os.path.split(place)
        for path, files in read:
            source = os.path.realpath(path)
            states = [state for state in map(state_of, files) if state is not None]
            # Device and inode, which also find hard links; realpath only resolves symbolic ones.
            same_file = there is not None and any(there[:2] == state[:2] for state in states)
            if place == source or same_file:
                raise InputError(
                    f"{output}: is read by this command, so it is not overwritten; choose another name"
                )
            # The parts of an output folder would stand beside this input and be read with it the next
            # time.
            if place in {os.path.realpath(folder) for folder in {file.parent for file in files}}:
                raise InputError(f"{output}: holds {path}, which is read; write into another folder")
            in_folder = os.path.isdir(path) and parent == source and is_taken(name)
            if in_folder or _matches_pattern(place, path):
                raise InputError(
                    f"{output}: would be read with the other files of {path} the next time; write elsewhere"
                )


def _matches_pattern(place: str, pattern: str) -> bool:
    """Whether a file of this name would be taken for a pattern (one without ``**``)."""
    # fnmatch has no **; such a pattern is not guarded.
    if not glob.has_magic(pattern) or "**" in pattern or os.path.exists(pattern):
        return False
    folder, name = os.path.split(os.path.abspath(pattern))
    taken = is_taken(Path(place).name, name)
    return taken and Path(place).match(os.path.join(os.path.realpath(folder), name))


def local_files(path: PathArg) -> list[Path]:
    """The files that a name stands for on this machine; whoever reads it says so if there are none."""
    if path == STANDARD:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LlrkitWarning)  # whoever reads them says it
        try:
            return files_of(path)
        except (FileFormatError, OSError, ValueError):
            return []
