"""read_trials() and scan_trials(): trials from files, in memory and in batches."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

from llrkit.engine.scanned_files import Files
from llrkit.errors import UnknownNameError
from llrkit.io.files_to_trials import read_whole
from llrkit.io.reading_options import PathArg, Reading
from llrkit.scores.trials import Trials

if TYPE_CHECKING:
    pass
from llrkit.engine.open_trials import files_in_batches


def read_trials(
    path: PathArg,
    key: PathArg | None = None,
    *,
    score: str | Sequence[str] | None = None,
    label: str | None = None,
    format: str | None = None,  # noqa: A002
    columns: Sequence[str] | None = None,
    nontargets: PathArg | None = None,
    positive: str | None = None,
    log10: bool = False,
    distance: bool = False,
    missing: str = "error",
    duplicates: str | None = None,
    quality: PathArg | None = None,
    weight: str | None = None,
    where: str | Sequence[str] = (),
    key_columns: Sequence[str] | None = None,
    key_label: str | None = None,
    missing_scores: str = "error",
    decimal: str | None = None,
    encoding: str | None = None,
) -> Trials:
    """Read trials from a file of any of the usual formats.

    Parameters
    ----------
    path
        A file, a directory or a glob. The format is taken from the content, then from the name.
    key
        A file with the labels, joined on the ids of the trials whatever the order of the rows.
    score, label
        The columns with the scores (several for several systems) and the labels. By default those that
        have one of the usual names.
    format
        Insist on a format: table, kaldi, voxceleb, nist, asvspoof, bob, two-column, values, matrix, npz,
        npy, bosaris, parquet, arrow.
    columns
        Names for the columns of a text without header (or instead of its header).
    nontargets
        A second file: ``path`` then holds the scores of targets only, this one those of the others.
    positive
        The label that means target; every other label then means non-target.
    log10, distance
        The scores are log10 LLRs; the scores are distances, lower meaning more alike. Never guessed.
    missing
        A trial without score or label when joining with a key: 'error' or 'drop'.
    duplicates
        A trial that occurs more than once: 'keep', 'error' or 'drop' (all but the first). By default kept,
        and an error when joining with a key.
    quality
        A file with quality measures of segments (BOSARIS Seg_Quality, or a table with an id): they become
        columns ``enroll_<name>`` and ``test_<name>``.
    weight
        The column that says how often each trial counts.
    where
        A condition such as ``"seconds >= 5"``, or several: only trials that satisfy all of them are read. A
        column, one of ``= != < <= > >=`` and a value, or ``in`` and ``not in`` with values separated by
        commas.
    key_columns, key_label
        Names for the columns of a key without header; the column of the key with the labels.
    missing_scores
        A trial whose score is missing or NaN: 'error', 'drop', or 'reject', which gives it the worst score;
        a warning says how many there are.
    decimal
        What numbers in text have before their fraction: '.' or ','. By default a comma where the scores can
        be nothing else, for example ``0,25`` between semicolons.
    encoding
        The encoding of text that is not UTF-8: 'latin-1', 'cp1252', 'utf-16', ...

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "scores.csv").write_text("score,label\\n1.5,target\\n-0.5,nontarget\\n")
    >>> read_trials(folder / "scores.csv").scores()
    Scores(1 target, 1 nontarget trials)
    >>> _ = (folder / "scores").write_text("spk1 utt1 1.5\\nspk2 utt1 -0.5\\n")
    >>> _ = (folder / "trials").write_text("spk2 utt1 nontarget\\nspk1 utt1 target\\n")
    >>> read_trials(folder / "scores", key=folder / "trials")
    Trials(2 rows: score, label, enroll, test)
    """
    if missing not in ("error", "drop"):
        raise UnknownNameError(f"missing={missing!r}: expected one of error, drop")
    reading = Reading(
        key=key,
        score=_names_of_columns(score),
        label=label,
        format=format,
        columns=_names_of_columns(columns),
        nontargets=nontargets,
        positive=positive,
        log10=log10,
        distance=distance,
        missing=missing,
        duplicates=duplicates,
        quality=quality,
        weight=weight,
        where=_names_of_columns(where) or (),
        key_columns=_names_of_columns(key_columns),
        key_label=key_label,
        missing_scores=missing_scores,
        decimal=decimal,
        encoding=encoding,
    )
    return read_whole([path], reading)


def scan_trials(
    paths: PathArg | Sequence[PathArg],
    *,
    score: str | Sequence[str] | None = None,
    label: str | None = None,
    format: str | None = None,  # noqa: A002
    columns: Sequence[str] | None = None,
    weight: str | None = None,
    positive: str | None = None,
    log10: bool = False,
    distance: bool = False,
    where: str | Sequence[str] = (),
    missing_scores: str = "error",
    decimal: str | None = None,
    encoding: str | None = None,
) -> Files:
    """Trials in files of any size, to be used like trials in memory.

    ``paths`` is a file, a directory, a glob pattern, or a list of these. Parquet, Arrow files and text (plain
    or gzip, with or without header) are read in batches, other formats at once. Every ``fit_*``, every metric
    and ``evaluate`` take the result; memory grows with the smaller class only. Sets below 256 MB stay in
    memory after the first pass. The options are those of :func:`read_trials`; scores and labels must be in
    the same file, and repeated trials are not looked for.

    Parameters
    ----------
    paths
        A file, a directory, a pattern, or several of them.
    score
        Column, or columns, of the scores; by default found by their names.
    label
        Column of the labels; by default found by its name.
    format
        Name of the format; by default it is recognized.
    columns
        Names of the columns of a file without header.
    weight
        Column that says how often each trial counts.
    positive
        The label that means target; all other labels mean non-target.
    log10
        The scores are LLRs to base ten.
    distance
        The scores are distances: lower means more alike.
    where
        Conditions such as ``"seconds >= 5"``; all must hold.
    missing_scores
        ``"error"``, ``"drop"`` or ``"reject"``: trials whose score is missing.
    decimal
        ``"."`` or ``","``; by default told from the scores.
    encoding
        Encoding of text; by default UTF-8.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import llrkit as lk
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("score,label\\n1.5,target\\n-0.5,nontarget\\n0.25,nontarget\\n")
    >>> lk.eer(scan_trials(path))
    0.0
    """
    given = [paths] if isinstance(paths, (str, PathLike)) else list(paths)
    reading = Reading(
        score=_names_of_columns(score),
        label=label,
        format=format,
        columns=_names_of_columns(columns),
        weight=weight,
        positive=positive,
        log10=log10,
        distance=distance,
        where=_names_of_columns(where) or (),
        missing_scores=missing_scores,
        decimal=decimal,
        encoding=encoding,
    )
    return files_in_batches(given, reading)


def _names_of_columns(names: str | Sequence[str] | None) -> tuple[str, ...] | None:
    return None if names is None else (names,) if isinstance(names, str) else tuple(names)
