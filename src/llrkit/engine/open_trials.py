"""Trials from files, wherever they are read: in memory, in batches, or by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING

from llrkit._memory import at_once
from llrkit.engine.scanned_files import Files
from llrkit.errors import InputError
from llrkit.io.files_to_trials import read_whole, table_options
from llrkit.io.formats import decoded_bytes, in_batches
from llrkit.io.missing_scores_and_labels import scan_without_missing_scores, with_one_label
from llrkit.io.reading_options import BATCHES, CLUSTER, PLAIN, THREE_KINDS, UNLABELED, PathArg, Reading
from llrkit.io.tables_of_paths import files_of, scan_tables
from llrkit.io.trial_table import Scan, one_after_another
from llrkit.scores.source import ScoreSource

if TYPE_CHECKING:
    from distributed import Client


LARGE_BYTES = 64 << 20
"""Files that are larger than this together are read in batches, unless they must be seen as a whole."""


def open_trials(
    paths: PathArg | Sequence[PathArg], reading: Reading = PLAIN, *, client: Client | None = None
) -> ScoreSource:
    """Trials of a file, a directory or a pattern; of several paths, with one system each.

    They are read by the cluster if there is one, in batches if they are large and need not be seen as a
    whole, and otherwise in memory. What the chosen way cannot do is refused.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("score,label\\n1.5,target\\n-0.5,nontarget\\n")
    >>> open_trials(path, Reading(distance=True)).scores().target
    array([-1.5])
    """
    given = [paths] if isinstance(paths, (str, PathLike)) else list(paths)
    if client is not None:
        return _open_on_cluster(given, reading, client)
    if len(given) > 1 or reading.needs_memory or not _are_large_files(given[0]):
        return read_whole(given, reading)
    return files_in_batches(given, reading)


def open_in_batches(path: PathArg, reading: Reading = PLAIN, *, client: Client | None = None) -> ScoreSource:
    """As :func:`open_trials` of one path, but never read as a whole: labels stay as they are written.

    Chunks can then carry the column of labels, which tells apart more kinds of trials than two classes.
    """
    if client is None:
        reading.require(THREE_KINDS)
        return files_in_batches([path], reading)
    replace(PLAIN, positive=reading.positive).require(THREE_KINDS)
    return _open_on_cluster([path], reading, client)


def _are_large_files(path: PathArg) -> bool:
    files = files_of(path)
    large = sum(map(decoded_bytes, files)) >= at_once(LARGE_BYTES)
    return large and all(map(in_batches, files))


def files_in_batches(paths: Sequence[PathArg], reading: Reading) -> Files:
    """The trials of files that are read batch by batch, in every pass again if they are large."""
    reading.require(BATCHES)
    scans = _selected_scans(paths, reading)
    like = scans[0].like.roles
    roles = replace(like, positive=reading.positive, factor=reading.factor_for(like), weight=reading.weight)
    return Files(scans, roles)


def _selected_scans(paths: PathArg | Sequence[PathArg], reading: Reading) -> list[Scan]:
    """The files to be read in batches, without the trials that were not asked for."""
    scans = scan_tables(paths, **table_options(reading))
    if reading.selection is not None:
        scans = [reading.selection.of_scan(one_after_another(scans))]
    if reading.missing_scores != "error":
        instead = reading.instead_of_missing(scans[0].like.roles)
        scans = [scan_without_missing_scores(one_after_another(scans), instead)]
    return scans


def open_unlabeled(path: PathArg, reading: Reading = PLAIN, *, client: Client | None = None) -> ScoreSource:
    """Trials whose labels are not looked at, and need not be there; all of them count as targets.

    Where a cluster reads them, or a key or a second file comes with them, they are trials as any others.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("score\\n1.5\\n-0.5\\n")
    >>> from llrkit.core.moments import Moments
    >>> open_unlabeled(path).reduce(Moments.of).target.n
    2
    """
    if client is not None or reading.needs_memory:
        return open_trials(path, reading, client=client)
    reading.require(UNLABELED)
    scans = [with_one_label(scan) for scan in _selected_scans(path, reading)]
    like = scans[0].like.roles
    roles = replace(like, factor=reading.factor_for(like), weight=reading.weight)
    return Files(scans, roles)


def _open_on_cluster(paths: Sequence[PathArg], reading: Reading, client: Client) -> ScoreSource:
    from llrkit.engine.dask_source import DaskSource

    reading.require(CLUSTER)
    if len(paths) > 1:
        raise InputError("several files are several systems, which a cluster does not join; give one path")
    trials = DaskSource.from_parquet(
        paths[0],
        client,
        score=reading.score,
        label=reading.label,
        positive=reading.positive,
        factor=reading.factor,
        weight=reading.weight,
        unreadable="skip" if reading.unreadable == "skip" else "error",
    )
    return trials if reading.selection is None else reading.selection.of_source(trials)
