"""Readers of trial files, one module per family of formats."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from llrkit.errors import FileFormatError
from llrkit.scores.trials import Trials

__all__ = ["read_trials"]

_READ_AS = {".parquet": "parquet", ".pq": "parquet", ".npz": "npz"}


def read_trials(path: str | PathLike[str], *, score: str = "score", label: str = "label") -> Trials:
    """Read trials from a table with a score and a label column: CSV, TSV, Parquet or NPZ.

    Text tables have a header line; the delimiter (comma, tab, semicolon or blanks) is taken from it, and
    gzip is recognised. An NPZ holds one array per column, or two arrays ``target`` and ``nontarget``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("score,label\\n1.5,target\\n-0.5,nontarget\\n")
    >>> read_trials(path).scores()
    Scores(1 target, 1 nontarget trials)
    """
    file = Path(path)
    if not file.exists():
        raise FileFormatError(f"{file}: no such file")
    if file.is_dir():
        raise FileFormatError(f"{file}: is a directory, not a file of trials")
    kind = _READ_AS.get(file.suffix.lower(), "text")
    if kind == "npz":
        from llrkit.io.numpy_files import read_npz

        return read_npz(file, score=score, label=label)
    from llrkit.io.tables import read_parquet, read_text

    read = read_parquet if kind == "parquet" else read_text
    return read(file, score=score, label=label)
