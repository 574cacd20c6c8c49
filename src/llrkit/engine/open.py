"""Trials of files: in memory, in batches or on a cluster.

In batches, files may be of any size: batches become chunks, chunks become summaries, and only these are kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, Unpack, cast

import numpy as np

from llrkit.base.arguments import Array, IntArray
from llrkit.base.options import documented
from llrkit.base.process import at_once, reduce_chunks, refuse_after_fork
from llrkit.base.text import counted
from llrkit.errors import FileChangedError, InputError, LabelError
from llrkit.io.class_files import chosen_classes, class_scores_of_table
from llrkit.io.formats import decoded_bytes, detect, files_of, scan_tables
from llrkit.io.read import read_whole, selected
from llrkit.io.read_options import BATCHES, CLUSTER, PLAIN, THREE_KINDS, UNLABELED, PathArg, Reading, Way
from llrkit.io.table_columns import Scan, TrialTable, one_after_another
from llrkit.io.trial_checks import require_roles, score_values, target_mask_of, with_one_label, with_scores
from llrkit.scores import Scores
from llrkit.scores.classes import ClassScores, ClassSource, ClassVectors, positions
from llrkit.scores.derived import weighted
from llrkit.scores.labels import ACCEPTED, class_names, listed, warn_of_pooled
from llrkit.scores.source import POSITION, ROW, Roles, S, ScoreSource, require_column, row_in_words
from llrkit.scores.trials import Trials

if TYPE_CHECKING:
    from distributed import Client

    from llrkit.engine.dask_source import RowGroups, Table
    from llrkit.keywords import ReadingKeywords

LARGE_BYTES = 64 << 20
"""Files that are larger than this together are read in batches, unless they must be seen as a whole."""
KEEP_BYTES = 256 << 20
"""Sets whose arrays are smaller than this stay in memory after the first pass."""
JOIN_BYTES = 1 << 30
"""Sets whose arrays are larger than this are summarized in larger chunks than they are read in."""
ENOUGH_BYTES = 10 << 20
"""Scores in such a larger chunk: what a summary costs besides, for its grid say, is spread over many.
benchmarks/out_of_core.py and benchmarks/billion.py time sets for which this matters."""

C = TypeVar("C")


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
    if len(given) == 1 and not reading.needs_memory:
        files = files_of(given[0])
        # By the size in memory, not on disk: a small packed file may hold a large table. NPZ and HDF5 cannot
        # be read in batches whatever their size.
        large = sum(map(decoded_bytes, files)) >= at_once(LARGE_BYTES)
        if large and all(detect(file) in ("text", "parquet", "arrow") for file in files):
            return files_in_batches(given, reading)
    return read_whole(given, reading)


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
    options = {name: getattr(reading, name) for name in ("score", "label", "positive", "factor", "weight")}
    options["unreadable"] = reading.unreadable or "error"
    trials = DaskSource.from_parquet(paths[0], client, **options)
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
    paths: PathArg | Sequence[PathArg], classes: Sequence[str], *, label: str = "label"
) -> ClassFiles:
    """Log-likelihoods in files of any size, to be used like :class:`llrkit.scores.ClassScores`.

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
    paths: PathArg | Sequence[PathArg], classes: Sequence[str], client: Client, *, label: str = "label"
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
    from llrkit.engine.dask_source import DaskSource, parquet_files

    chunking = ClassChunking(Roles(class_names(classes), label))
    # DaskSource is generic in what its chunks are; only the chunking knows that they hold several
    # classes.
    return cast(ClassSource, DaskSource.of_files(parquet_files(paths), client, chunking))


class Files(ScoreSource):
    """Trials in tables on disk, as a source: only summaries of batches are ever kept.

    Made by :func:`scan_trials`. Only the columns asked for are parsed; the next batch is read while
    the current ones are summarized. Repeated ids are not looked for.
    """

    def __init__(self, scans: Sequence[Scan], roles: Roles, passes: Passes[Scores] | None = None) -> None:
        self.scans, self._roles = tuple(scans), roles
        self._passes = Passes[Scores](self.scans) if passes is None else passes
        # Shared by metrics of this source through kept_counts.
        self._counts: dict[str, object] = {}
        # Before any pass, so that a missing column is an error at once.
        require_roles(self.scans[0].like)
        for name in (roles if roles.weight is None else roles.carrying_weight()).to_read(self.columns):
            require_column(name, self.columns, self.scans[0].like.file)

    @property
    def roles(self) -> Roles:
        """Which columns hold what, how they are read, and which of them chunks carry."""
        return self._roles

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        return self.scans[0].columns

    def with_columns(self, *names: str) -> Files:
        """The same trials, each chunk carrying these columns."""
        return Files(self.scans, self.roles.carrying(*names), self._passes)

    def reduce(self, summarize: Callable[[Scores], S]) -> S:
        """Summarize every batch in a pool of threads and merge the summaries in the order of the rows."""
        roles = self.roles
        if roles.weight is not None:
            carrying = Files(self.scans, roles.carrying_weight(), self._passes)
            return carrying.reduce(weighted(summarize, roles.weight))
        width = roles.n_systems + len(roles.carried)
        # Text files do not announce their rows; they count as 0 and are joined into larger chunks only
        # where others announce enough.
        announced = sum(scan.rows or 0 for scan in self.scans) * 8 * width
        chunking = TwoClassChunking(roles)
        # The same arrays in new objects: what is sorted of a chunk must not stay alive with one that is kept.
        chunks: Iterator[Scores] = (
            Scores.part(chunk.target, chunk.nontarget, chunk.columns, chunk.categories)
            for chunk in self._passes.chunks(chunking, announced)
        )
        chunks = chunking.joined(chunks) if announced > at_once(JOIN_BYTES) else chunks
        return reduce_chunks(chunks, summarize)

    @property
    def sizes(self) -> tuple[int, int] | None:
        """Numbers of targets and of non-targets, once the files have been read."""
        counts = self._passes.counts
        # Weighted trials have no whole number of trials in each class.
        if self.roles.weight is not None or len(counts) < len(self.scans):
            return None
        target, nontarget = (sum(each) for each in zip(*counts.values(), strict=True))
        return target, nontarget

    @property
    def reads_again(self) -> bool:
        """A set that is large enough for this to matter is read in every pass."""
        return True

    @property
    def kept_counts(self) -> dict[str, object] | None:
        """Counts for the next metric, as long as the trials themselves are kept."""
        # Only while chunks are kept: counts of a set that is read again would take the memory that
        # reading in batches saves.
        return self._counts if self._passes.kept else None

    def place(self, row: int) -> str:
        """Where a row stands, in words; the files are read again for it."""
        before = 0
        for scan in self.scans:
            for batch in scan.read(list(self.roles.score)):
                if row < before + batch.table.height:
                    return batch.place(row - before)
                before += batch.table.height
        return row_in_words(row)

    def __repr__(self) -> str:
        return f"Files({_names_of_files(self.scans)}; {', '.join(self.roles.score)}, {self.roles.label})"


class ClassFiles:
    """Trials of several classes in wide tables on disk, as a source.

    Made by :func:`scan_classes`. Only the columns asked for are parsed, and only summaries of batches are
    ever kept, unless the whole set is small.
    """

    def __init__(
        self, scans: Sequence[Scan], roles: Roles, passes: Passes[ClassScores] | None = None
    ) -> None:
        self.scans, self.classes, self._roles = tuple(scans), roles.score, roles
        self._passes = Passes[ClassScores](self.scans) if passes is None else passes
        columns, first = self.scans[0].columns, self.scans[0].like.file
        chosen_classes(columns, self.classes, first)
        for name in roles.to_read():
            require_column(name, columns, first)

    def with_columns(self, *names: str) -> ClassFiles:
        """The same trials, each chunk carrying these columns."""
        return ClassFiles(self.scans, self._roles.carrying(*names), self._passes)

    def reduce(self, summarize: Callable[[ClassVectors], S]) -> S:
        """Summarize every batch in a pool of threads and merge the summaries in the order of the rows."""
        chunks = self._passes.chunks(ClassChunking(self._roles))
        return reduce_chunks((piece for chunk in chunks for piece in chunk.chunks()), summarize)

    def __repr__(self) -> str:
        return f"ClassFiles({_names_of_files(self.scans)}; classes {listed(self.classes)})"


def _names_of_files(scans: Sequence[Scan]) -> str:
    names = [Path(scan.like.file).name for scan in scans]
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return f"{counted(len(names), 'file')}: {shown}"


@dataclass
class Passes(Generic[C]):
    """The passes over some files, shared by all views of them; what is small is kept after the first one."""

    scans: tuple[Scan, ...]
    kept: dict[tuple[str, ...], list[C]] = field(default_factory=dict)
    """The chunks of small sets, by the columns they carry."""
    kept_bytes: int = 0
    counts: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """How many trials of each class every file had in the first pass; all later ones must find as many."""
    warned: bool = False

    def chunks(self, chunking: Chunking[C], announced: int = 0) -> Iterator[C]:
        """The chunks as they were kept or as they are read, and kept if they are few.

        ``announced`` is their size as far as it is known before: what is too large is not even begun.
        """
        names = chunking.roles.carried
        if names in self.kept:
            yield from self.kept[names]
            return
        held: list[C] = []
        size, most = 0, at_once(KEEP_BYTES)
        for chunk in self._read(chunking):
            yield chunk
            size += chunking.bytes_of(chunk)
            held.append(chunk)
            # Once the limit is passed, what was held is let go at once, not at the end of the pass.
            if self.kept_bytes + max(size, announced) > most:
                held.clear()
        if self.kept_bytes + max(size, announced) <= most:
            self.kept[names], self.kept_bytes = held, self.kept_bytes + size

    def _read(self, chunking: Chunking[C]) -> Iterator[C]:
        # Here and not in the constructor: the source may have been made before the fork.
        refuse_after_fork("files of trials")
        before, words = chunking.nothing(), set[str]()
        for scan in self.scans:
            start, file = before, scan.like.file
            for chunk in chunking.chunks([scan], before, words):
                yield chunk
                before = before + chunking.counted(chunk)
            counts = tuple(map(int, before - start))
            # By file name; the counts of the first complete pass are the reference for all later ones.
            first = self.counts.setdefault(file, counts)
            if counts != first:
                numbers = " and ".join(" + ".join(f"{n:,}" for n in each) for each in (first, counts))
                raise FileChangedError(
                    f"{file}: was changed while it was being read: two passes counted {numbers} trials"
                )
        # After all batches: a third kind of label may first occur in the last file.
        if not self.warned:
            self.warned = True
            settle_words(words, f"{self.scans[0].like.file}, column {chunking.roles.label!r}")


@dataclass(frozen=True)
class Chunking(ABC, Generic[C]):
    """How batches of rows become the chunks that are summarized; one for each kind of trials."""

    roles: Roles
    skips_empty: ClassVar[bool] = False
    """Whether a batch without rows makes no chunk."""

    @abstractmethod
    def chunk(self, batch: TrialTable, before: IntArray, words: set[str]) -> C:
        """The trials of a batch, checked; ``before`` counts those of each class in earlier batches.

        The words among the labels are added to ``words``, where labels are words.
        """

    @abstractmethod
    def nothing(self) -> IntArray:
        """The counts of no trials: where the first batch stands."""

    @abstractmethod
    def counted(self, chunk: C) -> IntArray:
        """How many trials of each class a chunk holds."""

    @abstractmethod
    def bytes_of(self, chunk: C) -> int:
        """The memory that the arrays of a chunk take."""

    def joined(self, chunks: Iterator[C]) -> Iterator[C]:
        """The same trials in larger chunks, where that saves time."""
        return chunks

    def chunks(
        self, parts: Iterable[Scan | RowGroups | Table], before: IntArray, words: set[str]
    ) -> Iterator[C]:
        """The trials of consecutive files, or of pieces that a worker reads, one chunk for each batch."""
        for part in parts:
            for batch in part.read(self.roles.to_read(part.columns)):
                if self.skips_empty and batch.table.height == 0:
                    continue
                chunk = self.chunk(batch, before, words)
                yield chunk
                before = before + self.counted(chunk)


class TwoClassChunking(Chunking[Scores]):
    """Trials of targets and non-targets become :class:`Scores`; either class of a chunk may be empty."""

    def chunk(self, batch: TrialTable, before: IntArray, words: set[str]) -> Scores:
        """The scores of a batch with the columns that are carried."""
        roles, batch = self.roles, replace(batch, roles=self.roles)
        scores = score_values(batch) if roles.factor == 1.0 else score_values(batch) * roles.factor
        mask, seen = target_mask_of(batch, roles.positive, words)  # earlier words are looked for first
        words |= seen
        # Trials of this batch alone, only to code columns of text as numbers and names.
        trials = Trials.of(batch.table, Roles(roles.score, roles.label))
        columns: dict[str, tuple[Array, Array]] = {}
        categories: dict[str, tuple[Hashable, ...]] = {}
        for name in roles.carried:
            names = None
            if name in trials.columns:
                values, names = trials.coded(name)
            elif name == ROW:
                values = np.arange(len(mask)) + before.sum()
            else:
                # Position within the class, counted over all earlier batches.
                values = np.where(mask, np.cumsum(mask) + before[0], np.cumsum(~mask) + before[1]) - 1
            columns[name] = (values[mask], values[~mask])
            if names is not None:
                categories[name] = tuple(names)
        return Scores.part(scores[mask], scores[~mask], columns, categories)

    def nothing(self) -> IntArray:
        """No targets and no non-targets."""
        return np.zeros(2, dtype=np.intp)

    def counted(self, chunk: Scores) -> IntArray:
        """The targets and non-targets of a chunk."""
        return np.array([chunk.n_target, chunk.n_nontarget])

    def bytes_of(self, chunk: Scores) -> int:
        """The bytes of scores and columns."""
        pairs = [(chunk.target, chunk.nontarget), *chunk.columns.values()]
        return sum(np.asarray(values).nbytes for pair in pairs for values in pair)

    def joined(self, chunks: Iterator[Scores]) -> Iterator[Scores]:
        """Scores in larger chunks; those that carry columns as they are."""
        held: list[Scores] = []
        size, enough = 0, at_once(ENOUGH_BYTES)
        for chunk in chunks:
            # Columns would have to be coded alike first, so such chunks stay as they are.
            if chunk.columns:
                yield chunk
                continue
            held.append(chunk)
            size += self.bytes_of(chunk)
            if size >= enough:
                yield _one_chunk_of(held)
                held, size = [], 0
        if held:
            yield _one_chunk_of(held)


def _one_chunk_of(chunks: list[Scores]) -> Scores:
    if len(chunks) == 1:
        return chunks[0]
    target = np.concatenate([chunk.target for chunk in chunks])
    return Scores.part(target, np.concatenate([chunk.nontarget for chunk in chunks]), {}, {})


class ClassChunking(Chunking[ClassScores]):
    """Columns with the log-likelihoods of several classes (``score``) and with the names of the true ones."""

    skips_empty = True

    def chunk(self, batch: TrialTable, before: IntArray, words: set[str]) -> ClassScores:
        """The trials of a batch, checked; faults are named by their line."""
        chunk = class_scores_of_table(with_scores(replace(batch, roles=self.roles), droppable=False))
        columns = {name: chunk.columns[name] for name in self.roles.carried if name in chunk.columns}
        if POSITION in self.roles.carried and POSITION not in columns:
            columns[POSITION] = positions(chunk.codes, before)
        return ClassScores.part(chunk.values, chunk.codes, chunk.classes, columns)

    def nothing(self) -> IntArray:
        """No trials of any class."""
        return np.zeros(len(self.roles.score), dtype=np.intp)

    def counted(self, chunk: ClassScores) -> IntArray:
        """How many trials of each class a chunk has."""
        return chunk.counts.astype(np.intp)

    def bytes_of(self, chunk: ClassScores) -> int:
        """The bytes of the log-likelihoods."""
        return chunk.values.nbytes


def settle_words(words: Iterable[str], where: str) -> None:
    """What all labels of a set must be, though each batch may look right by itself: two classes.

    Examples
    --------
    >>> settle_words(["1", "0", "-1"], "scores/, column 'label'")
    Traceback (most recent call last):
    llrkit.errors.LabelError: scores/, column 'label': labels are not two classes: saw '-1', '0', '1'; ...
    """
    seen = sorted(words)
    # -1 and 0 both mean non-target, in different conventions: in one set they cannot both be right.
    if {"0", "-1"} <= set(seen):
        shown = ", ".join(map(repr, seen[:5]))
        raise LabelError(f"{where}: labels are not two classes: saw {shown}; accepted are {ACCEPTED}")
    warn_of_pooled(seen, where)
