"""Trials of files: in memory, in batches or on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Unpack, cast

from llrkit.base.options import documented
from llrkit.base.process import at_once
from llrkit.engine.batches import ClassChunking, ClassFiles, Files
from llrkit.errors import InputError
from llrkit.io.formats import decoded_bytes, detect, files_of, scan_tables
from llrkit.io.read import read_whole, selected
from llrkit.io.read_options import BATCHES, CLUSTER, PLAIN, THREE_KINDS, UNLABELED, PathArg, Reading, Way
from llrkit.io.table_columns import one_after_another
from llrkit.io.trial_checks import with_one_label
from llrkit.scores.classes import ClassSource
from llrkit.scores.labels import class_names
from llrkit.scores.source import Roles, ScoreSource
from llrkit.scores.trials import Trials

if TYPE_CHECKING:
    from distributed import Client

    from llrkit.keywords import ReadingKeywords


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
    # Several paths are several systems, and joining them needs the ids of all trials at once.
    if len(given) > 1 or reading.needs_memory or not _are_large_files(given[0]):
        return read_whole(given, reading)
    return files_in_batches(given, reading)


def open_in_batches(path: PathArg, reading: Reading = PLAIN, *, client: Client | None = None) -> ScoreSource:
    """As :func:`open_trials` of one path, but never read as a whole: labels stay as they are written.

    Chunks can then carry the column of labels, which tells apart more kinds of trials than two classes.
    """
    if client is None:
        return files_in_batches(path, reading, way=THREE_KINDS)
    # The cluster itself could honor ``positive``; it is refused because labels of three kinds must stay
    # as they are written.
    replace(PLAIN, positive=reading.positive).require(THREE_KINDS)
    return _open_on_cluster([path], reading, client)


def _are_large_files(path: PathArg) -> bool:
    """Whether files are large, and of kinds that can be read in batches."""
    files = files_of(path)
    # By the size in memory, not on disk: a small packed file may hold a large table.
    large = sum(map(decoded_bytes, files)) >= at_once(LARGE_BYTES)
    # NPZ and HDF5 cannot be read in batches whatever their size.
    return large and all(detect(file) in ("text", "parquet", "arrow") for file in files)


def files_in_batches(
    paths: PathArg | Sequence[PathArg], reading: Reading, *, way: Way = BATCHES, labeled: bool = True
) -> Files:
    """The trials of files that are read batch by batch, in every pass again if they are large."""
    reading.require(way)
    scans = scan_tables(paths, reading)
    # As one scan, so that "no trial satisfies" and the number of trials left out are about all files
    # together.
    if reading.selection is not None or reading.missing_scores != "error":
        scans = [selected(one_after_another(scans), reading)]
    # Sources have two classes, so trials without labels are made targets throughout.
    if not labeled:
        scans = [with_one_label(scan) for scan in scans]
    like = scans[0].like.roles
    roles = replace(like, positive=reading.positive, factor=reading.factor_for(like), weight=reading.weight)
    return Files(scans, roles)


def open_unlabeled(path: PathArg, reading: Reading = PLAIN, *, client: Client | None = None) -> ScoreSource:
    """Trials whose labels are not looked at, and need not be there; all of them count as targets.

    Where a cluster reads them, or a key or a second file comes with them, they are trials as any others.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("score\\n1.5\\n-0.5\\n")
    >>> from llrkit.core.summaries import Moments
    >>> open_unlabeled(path).reduce(Moments.of).target.n
    2
    """
    if client is not None or reading.needs_memory:
        return open_trials(path, reading, client=client)
    return files_in_batches(path, reading, way=UNLABELED, labeled=False)


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
    # On a cluster, chunks are filtered after they are read; a fault in a row that is left out is still
    # an error there.
    return trials if reading.selection is None else reading.selection.of_source(trials)


@documented(Reading, without=("key", "ids", "classes", "unreadable"))
def read_trials(path: PathArg, key: PathArg | None = None, **options: Unpack[ReadingKeywords]) -> Trials:
    """Read trials from a file of any of the usual formats.

    Parameters
    ----------
    path
        A file, a directory or a glob. The format is taken from the content, then from the name.
    key
        A file with the labels, joined on the ids of the trials whatever the order of the rows.
    {options}

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
    return read_whole([path], Reading.of(None, {"key": key, **options}))


@documented(Reading, without=BATCHES.refused)
def scan_trials(paths: PathArg | Sequence[PathArg], **options: Unpack[ReadingKeywords]) -> Files:
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
    {options}

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import llrkit as lk
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("score,label\\n1.5,target\\n-0.5,nontarget\\n0.25,nontarget\\n")
    >>> lk.eer(scan_trials(path))
    0.0
    """
    return files_in_batches(paths, Reading.of(None, options))


def scan_classes(
    paths: PathArg | Sequence[PathArg],
    classes: Sequence[str],
    *,
    label: str = "label",
) -> ClassFiles:
    """Log-likelihoods in files of any size, to be used like :class:`llrkit.ClassScores`.

    ``paths`` is a table with a column per class (Parquet, Arrow, CSV, ...), a directory of them, a glob
    pattern, or a list of these; ``classes`` are the names of these columns and of the labels. Sets below
    256 MB stay in memory after the first pass.

    Parameters
    ----------
    paths
        A file, a directory, a pattern, or several of them.
    classes
        Names of the classes.
    label
        Column of the labels.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import llrkit as lk
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("en,de,label\\n2.0,0.1,en\\n0.5,1.5,de\\n")
    >>> lk.multiclass.error_rate(scan_classes(path, ["en", "de"]))
    0.0
    """
    roles = Roles(class_names(classes), label)
    return ClassFiles(scan_tables(paths, Reading(score=(), label=label)), roles)


def scatter_classes(
    paths: PathArg | Sequence[PathArg],
    classes: Sequence[str],
    client: Client,
    *,
    label: str = "label",
) -> ClassSource:
    """Log-likelihoods in Parquet files as a source on a Dask cluster, see :class:`llrkit.DaskSource`.

    Parameters
    ----------
    paths
        A file, a directory, a pattern, or several of them.
    classes
        Names of the classes.
    client
        A client of the Dask cluster.
    label
        Column of the labels.

    Examples
    --------
    >>> import llrkit as lk
    >>> with lk.cluster(workers=2) as client:  # doctest: +SKIP
    ...     print(lk.multiclass.cllr(scatter_classes("scores/*.parquet", ["en", "de"], client)))
    """
    from llrkit.engine.dask_source import DaskSource
    from llrkit.engine.pieces import parquet_files

    chunking = ClassChunking(Roles(class_names(classes), label))
    # DaskSource is generic in what its chunks are; only the chunking knows that they hold several
    # classes.
    return cast(ClassSource, DaskSource.of_files(parquet_files(paths), client, chunking))
