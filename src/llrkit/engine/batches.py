"""Trials in files of any size: batches become chunks, chunks become summaries, and only these are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

import numpy as np

from llrkit.base.arguments import Array, IntArray
from llrkit.base.process import at_once, refuse_after_fork
from llrkit.base.text import counted
from llrkit.base.threads import reduce_chunks
from llrkit.errors import FileChangedError, LabelError
from llrkit.io.class_files import chosen_classes, class_scores_of_table
from llrkit.io.table_columns import Scan, TrialTable
from llrkit.io.trial_checks import require_roles, score_values, target_mask_of, with_scores
from llrkit.scores import Scores
from llrkit.scores.classes import ClassScores, ClassVectors, positions
from llrkit.scores.derived import weighted
from llrkit.scores.labels import ACCEPTED, listed, warn_of_pooled
from llrkit.scores.source import COUNTED, POSITION, ROW, Roles, S, ScoreSource, require_column, row_in_words
from llrkit.scores.trials import Trials

if TYPE_CHECKING:
    from llrkit.engine.pieces import RowGroups, Table

KEEP_BYTES = 256 << 20
"""Sets whose arrays are smaller than this stay in memory after the first pass."""
JOIN_BYTES = 1 << 30
"""Sets whose arrays are larger than this are summarized in larger chunks than they are read in."""
ENOUGH_BYTES = 10 << 20
"""Scores in such a larger chunk: what a summary costs besides, for its grid say, is spread over many.
benchmarks/out_of_core.py and benchmarks/billion.py time sets for which this matters."""

C = TypeVar("C")


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
        weight = () if roles.weight is None else (roles.weight,)
        for name in (*roles.carried, *weight):
            if name not in COUNTED:
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
        return reduce_chunks(
            chunking.joined(chunks) if announced > at_once(JOIN_BYTES) else chunks, summarize
        )

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
            # Once the limit is passed, what was held is let go at once, not at the end of the pass.
            if self.kept_bytes + max(size, announced) > most:
                held.clear()
            else:
                held.append(chunk)
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
