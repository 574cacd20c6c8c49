"""Readers and writers of trial files, one module per family of formats; ``formats.py`` lists them."""

from __future__ import annotations

import glob
import math
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

from llrkit._progress import stage
from llrkit.errors import FileFormatError, InputError, UnknownNameError
from llrkit.io.binary.column_files import refuse_other_columns, together
from llrkit.io.checks import DUPLICATES, MISSING, as_trials_checked, repeated
from llrkit.io.formats import read_file, scan_file
from llrkit.io.trial_table import Found, Scan
from llrkit.scores.trials import Trials

__all__ = ["read_found", "read_trials", "scan_found"]


def read_trials(
    path: str | PathLike[str],
    key: str | PathLike[str] | None = None,
    *,
    score: str | Sequence[str] | None = None,
    label: str | None = None,
    format: str | None = None,  # noqa: A002
    columns: Sequence[str] | None = None,
    nontargets: str | PathLike[str] | None = None,
    positive: str | None = None,
    log10: bool = False,
    distance: bool = False,
    missing: str = "error",
    duplicates: str | None = None,
    quality: str | PathLike[str] | None = None,
    weight: str | None = None,
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
    for value, accepted, what in (
        (missing, MISSING, "missing"),
        (duplicates, (None, *DUPLICATES), "duplicates"),
    ):
        if value not in accepted:
            there = ", ".join(word for word in accepted if word)
            raise UnknownNameError(f"{what}={value!r}: expected one of {there}")
    names = [score] if isinstance(score, str) else list(score) if score is not None else None
    if nontargets is not None and key is not None:
        raise InputError("a key and a file of non-targets do not go together")
    if nontargets is not None:
        found = _two_files(path, nontargets, format)
    elif key is not None:
        from llrkit.io.join import join_found

        scores = read_found(path, format=format, columns=columns, score=names)
        labels = read_found(key, score=[], label=label)
        with stage("joining scores and key"):
            found = join_found(scores, labels, missing=missing, duplicates=duplicates or "error")
    else:
        found = read_found(path, format=format, columns=columns, score=names, label=label)
        found = repeated(found, duplicates or "keep")
    if quality is not None:
        from llrkit.io.quality import with_quality

        found = with_quality(found, quality, missing=missing)
    trials = as_trials_checked(found, positive=positive)
    if weight is not None:
        trials = trials.weighed_by(weight)
    factor = factor_of(log10=log10, distance=distance)
    return trials if factor == 1.0 else trials.rescaled(factor)


def needs_memory(
    key: object = None, *, nontargets: object = None, duplicates: str | None = None, **_: object
) -> bool:
    """Whether files must be seen as a whole: to be joined, put together, or searched for repeated trials."""
    return key is not None or nontargets is not None or duplicates not in (None, "keep")


def factor_of(*, log10: bool, distance: bool) -> float:
    """What scores are multiplied by to become natural-log LLRs, or at least to grow with them."""
    return (math.log(10.0) if log10 else 1.0) * (-1.0 if distance else 1.0)


def read_found(
    path: str | PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    columns: Sequence[str] | None = None,
    score: Sequence[str] | None = None,
    label: str | None = None,
) -> Found:
    """Read a file, a directory or a glob: the table and which of its columns are what."""
    parts = [
        read_file(file, format=format, columns=columns, score=score, label=label) for file in files_of(path)
    ]
    return parts[0] if len(parts) == 1 else together(parts, str(path))


def scan_found(
    paths: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    format: str | None = None,  # noqa: A002
    columns: Sequence[str] | None = None,
    score: Sequence[str] | None = None,
    label: str | None = None,
) -> list[Scan]:
    """The files of one or several names, directories or globs, to be read in batches one after another."""
    given = [paths] if isinstance(paths, (str, PathLike)) else list(paths)
    opened = [
        scan_file(file, format=format, columns=columns, score=score, label=label)
        for path in given
        for file in files_of(path)
    ]
    scans = [part if isinstance(part, Scan) else Scan.of(part) for part in opened]
    for scan in scans[1:]:
        refuse_other_columns(scans[0].like, scan.like)
    return scans


def _two_files(
    targets: str | PathLike[str],
    nontargets: str | PathLike[str],
    format: str | None,  # noqa: A002
) -> Found:
    from llrkit.io.binary.numpy_files import two_classes

    parts = [read_found(path, format=format) for path in (targets, nontargets)]
    for part in parts:
        if len(part.score) != 1:
            raise FileFormatError(f"{part.file}: expected the scores of one class, one per line")
        as_trials_checked(replace(part, label=None), labeled=False)
    target, nontarget = (part.table[part.score[0]].to_numpy() for part in parts)
    return two_classes(target, nontarget, f"{targets} and {nontargets}", parts[0].format, "score", None)


def files_of(path: str | PathLike[str]) -> list[Path]:
    """The files that a name stands for: itself, those of a directory or of a glob, by name."""
    file = Path(path)
    if file.is_dir():
        found = sorted(part for part in file.iterdir() if part.is_file() and part.name[0] not in "._")
        if not found:
            raise FileFormatError(f"{file}: a directory without files")
        return found
    if file.exists():
        return [file]
    names = glob.glob(str(path), recursive=True) if glob.has_magic(str(path)) else []
    found = sorted(part for part in map(Path, names) if part.is_file())
    if not found:
        raise FileFormatError(f"{file}: no such file")
    return found
