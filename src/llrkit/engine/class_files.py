"""Log-likelihoods of several classes in files of any size, read one batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from llrkit._arrays import IntArray
from llrkit._format import counted
from llrkit._memory import at_once
from llrkit.engine.chunks_of_rows import Chunking
from llrkit.engine.scanned_files import KEEP_BYTES, PassCounts
from llrkit.io.checked_trials import with_scores
from llrkit.io.classes.class_layouts import chosen_classes
from llrkit.io.classes.read_classes import class_scores_of_table
from llrkit.io.tables_of_paths import scan_tables
from llrkit.io.trial_table import Scan, TrialTable
from llrkit.scores.class_labels import class_names, listed
from llrkit.scores.class_scores import ClassScores, ClassSource, ClassVectors, positions
from llrkit.scores.roles import POSITION, Roles, require_column
from llrkit.scores.source import S, reduce_chunks

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True)
class ClassChunking(Chunking[ClassScores, IntArray]):
    """Columns with the log-likelihoods of several classes (``score``) and with the names of the true ones."""

    def chunk(self, batch: TrialTable, before: IntArray, words: set[str]) -> ClassScores:
        """The trials of a batch, checked; faults are named by their line."""
        chunk = class_scores_of_table(with_scores(replace(batch, roles=self.roles), droppable=False))
        columns = {name: chunk.columns[name] for name in self.roles.carried if name in chunk.columns}
        if POSITION in self.roles.carried and POSITION not in columns:
            columns[POSITION] = positions(chunk.codes, before)
        return ClassScores.part(chunk.values, chunk.codes, chunk.classes, columns)

    def counted(self, chunk: ClassScores) -> IntArray:
        """How many trials of each class a chunk has."""
        return chunk.counts.astype(np.intp)

    def rows_of(self, chunk: ClassScores) -> int:
        """How many trials a chunk has."""
        return len(chunk)

    def nothing_before(self) -> IntArray:
        """No trials of any class."""
        return np.zeros(len(self.roles.score), dtype=np.intp)


class ClassFiles:
    """Trials of several classes in wide tables on disk, as a source.

    Made by :func:`scan_classes`. Only the columns asked for are parsed, and only summaries of batches are
    ever kept, unless the whole set is small.
    """

    def __init__(
        self,
        scans: Sequence[Scan],
        classes: tuple[str, ...],
        label: str,
        carried: Sequence[str] = (),
        counts: PassCounts | None = None,
    ) -> None:
        self.scans, self.classes, self.label, self.carried = tuple(scans), classes, label, tuple(carried)
        self._kept: list[ClassScores] | None = None
        self._counts = PassCounts() if counts is None else counts
        first = self.scans[0].like.file
        chosen_classes(self.scans[0].columns, classes, first)
        for name in (label, *self.carried):
            if name != POSITION:
                require_column(name, self.scans[0].columns, first)

    def with_columns(self, *names: str) -> ClassFiles:
        """The same trials, each chunk carrying these columns."""
        return ClassFiles(self.scans, self.classes, self.label, names, self._counts)

    def reduce(self, summarize: Callable[[ClassVectors], S]) -> S:
        """Summarize every batch in a pool of threads and merge the summaries in the order of the rows."""
        return reduce_chunks(self._chunks(), summarize)

    def _chunks(self) -> Iterator[ClassScores]:
        if self._kept is not None:
            yield from self._kept
            return
        kept: list[ClassScores] | None = []
        size, most = 0, at_once(KEEP_BYTES)
        for chunk in self._read():
            yield chunk
            size += chunk.values.nbytes
            if kept is not None:
                kept.append(chunk)
            if size > most:
                kept = None
        self._kept = kept

    def _read(self) -> Iterator[ClassScores]:
        roles = Roles(self.classes, self.label, carried=self.carried)
        chunking = ClassChunking(roles)
        before, wanted = chunking.nothing_before(), roles.to_read(self.scans[0].columns)
        for scan in self.scans:
            start = before
            for batch in scan.read(wanted):
                if batch.table.height:
                    chunk = chunking.chunk(batch, before, set())
                    before = before + chunking.counted(chunk)
                    yield from chunk.chunks()
            self._counts.require(scan.like.file, tuple(map(int, before - start)))

    def __repr__(self) -> str:
        names = [Path(scan.like.file).name for scan in self.scans]
        return f"ClassFiles({counted(len(names), 'file')}: {listed(names)}; classes {listed(self.classes)})"


def scan_classes(
    paths: str | PathLike[str] | Sequence[str | PathLike[str]],
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
    >>> import tempfile
    >>> import llrkit as lk
    >>> path = Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("en,de,label\\n2.0,0.1,en\\n0.5,1.5,de\\n")
    >>> lk.multiclass.error_rate(scan_classes(path, ["en", "de"]))
    0.0
    """
    names = class_names(classes)
    return ClassFiles(scan_tables(paths, score=[], label=label), names, label)


def scatter_classes(
    paths: str | PathLike[str] | Sequence[str | PathLike[str]],
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

    chunking = ClassChunking(Roles(class_names(classes), label))
    return cast(ClassSource, DaskSource.of_files(paths, client, chunking))
