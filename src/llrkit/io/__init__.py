"""Readers of trial files, one module per family of formats."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import polars as pl

from llrkit.errors import FileFormatError
from llrkit.scores.trials import Trials

__all__ = ["read_table", "read_trials"]

_READ_AS = {".parquet": "parquet", ".pq": "parquet", ".npz": "npz"}


def read_trials(
    path: str | PathLike[str],
    key: str | PathLike[str] | None = None,
    *,
    score: str | Sequence[str] = "score",
    label: str = "label",
) -> Trials:
    """Read trials from a table with a score and a label column: CSV, TSV, Parquet or NPZ.

    Text tables have a header line; the delimiter (comma, tab, semicolon or blanks) is taken from it, and
    gzip is recognised. An NPZ holds one array per column, or two arrays ``target`` and ``nontarget``.
    Several score columns are several systems. With ``key`` the labels come from another file; the two are
    joined on the columns they share, whatever the order of their rows.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("score,label\\n1.5,target\\n-0.5,nontarget\\n")
    >>> read_trials(path).scores()
    Scores(1 target, 1 nontarget trials)
    """
    names = [score] if isinstance(score, str) else list(score)
    file, kind = _existing(path)
    if key is not None:
        from llrkit.io.join import join_key

        labels = read_table(key, scores=[], label=label)
        joined = join_key(read_table(file, scores=names), labels, label, (str(file), str(key)))
        return Trials(joined, score=names, label=label, origin=str(file))
    table = read_table(file, scores=names, label=label)
    first_line = 2 if kind == "text" else None
    return Trials(table, score=names, label=label, origin=str(file), first_line=first_line)


def read_table(
    path: str | PathLike[str], *, scores: Sequence[str] = ("score",), label: str | None = None
) -> pl.DataFrame:
    """Read a table whose score columns must be there and hold numbers; so must the label, if one is named."""
    file, kind = _existing(path)
    if kind == "npz":
        from llrkit.io.numpy_files import read_npz

        return read_npz(file, scores, label)
    from llrkit.io.tables import read_parquet, read_text

    read = read_parquet if kind == "parquet" else read_text
    return read(file, scores, label)


def _existing(path: str | PathLike[str]) -> tuple[Path, str]:
    file = Path(path)
    if not file.exists():
        raise FileFormatError(f"{file}: no such file")
    if file.is_dir():
        raise FileFormatError(f"{file}: is a directory, not a file of trials")
    return file, _READ_AS.get(file.suffix.lower(), "text")
