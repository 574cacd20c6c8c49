"""Trials in files of any size, read one batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from llrkit._forks import refuse_after_fork
from llrkit._format import counted
from llrkit._memory import at_once
from llrkit.engine.chunks_of_rows import Before, chunk_of, joined, settle_words
from llrkit.errors import FileChangedError
from llrkit.io.checked_trials import require_roles
from llrkit.io.trial_table import Scan
from llrkit.scores import Scores
from llrkit.scores.roles import COUNTED, Roles, require_column, row_in_words
from llrkit.scores.source import S, ScoreSource, reduce_chunks
from llrkit.scores.weights import weighted

KEEP_BYTES = 256 << 20
"""Sets whose arrays are smaller than this stay in memory after the first pass."""
JOIN_BYTES = 1 << 30
"""Sets whose arrays are larger than this are summarized in larger chunks than they are read in."""


class Files(ScoreSource):
    """Trials in tables on disk, as a source: only summaries of batches are ever kept.

    Made by :func:`scan_trials`. Only the columns asked for are parsed; the next batch is read while
    the current ones are summarized. Repeated ids are not looked for.
    """

    def __init__(self, scans: Sequence[Scan], roles: Roles, kept: _KeptChunks | None = None) -> None:
        self.scans, self._roles = tuple(scans), roles
        self._kept = kept if kept is not None else _KeptChunks()
        self._counts: dict[str, object] = {}
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
        return Files(self.scans, self.roles.carrying(*names), self._kept)

    def reduce(self, summarize: Callable[[Scores], S]) -> S:
        """Summarize every batch in a pool of threads and merge the summaries in the order of the rows."""
        roles = self.roles
        if roles.weight is not None:
            carrying = Files(self.scans, roles.carrying_weight(), self._kept)
            return carrying.reduce(weighted(summarize, roles.weight))
        width = roles.n_systems + len(roles.carried)
        announced = sum(scan.rows or 0 for scan in self.scans) * 8 * width
        chunks = self._kept.or_else(roles.carried, self._read, announced)
        return reduce_chunks(joined(chunks) if announced > at_once(JOIN_BYTES) else chunks, summarize)

    @property
    def sizes(self) -> tuple[int, int] | None:
        """Numbers of targets and of non-targets, once the files have been read."""
        counts = self._kept.counts
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
        return self._counts if self._kept.sets else None

    def place(self, row: int) -> str:
        """Where a row stands, in words; the files are read again for it."""
        before = 0
        for scan in self.scans:
            for batch in scan.read(list(self.roles.score)):
                if row < before + batch.table.height:
                    return batch.place(row - before)
                before += batch.table.height
        return row_in_words(row)

    def _read(self) -> Iterator[Scores]:
        refuse_after_fork("files of trials")
        before, words = Before(), frozenset[str]()
        for scan in self.scans:
            here = Before()
            for batch in scan.read(self.roles.to_read(self.columns)):
                chunk, seen = chunk_of(replace(batch, roles=self.roles), before, words)
                words |= seen
                yield chunk
                before, here = before + Before.of(chunk), here + Before.of(chunk)
            self._kept.counts.require(scan.like.file, (here.n_target, here.n_nontarget))
        if not self._kept.warned:
            self._kept.warned = True
            settle_words(words, f"{self.scans[0].like.file}, column {self.roles.label!r}")

    def __repr__(self) -> str:
        names = [Path(scan.like.file).name for scan in self.scans]
        shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        files = f"{counted(len(names), 'file')}: {shown}"
        return f"Files({files}; {', '.join(self.roles.score)}, {self.roles.label})"


class PassCounts(dict[str, tuple[int, ...]]):
    """How many trials of each class every file had in the first pass; all later ones must find as many."""

    def require(self, file: str, counts: tuple[int, ...]) -> None:
        """Raise an error that names a file with other trials than before."""
        before = self.setdefault(file, counts)
        if before != counts:
            numbers = " and ".join(" + ".join(f"{n:,}" for n in each) for each in (before, counts))
            raise FileChangedError(
                f"{file}: was changed while it was being read: two passes counted {numbers} trials"
            )


@dataclass
class _KeptChunks:
    """The chunks of small sets, by the columns they carry; shared by all views of the same files."""

    sets: dict[tuple[str, ...], list[Scores]] = field(default_factory=dict)
    size: int = 0
    warned: bool = False
    counts: PassCounts = field(default_factory=PassCounts)

    def or_else(
        self, names: tuple[str, ...], read: Callable[[], Iterator[Scores]], announced: int
    ) -> Iterator[Scores]:
        """The chunks with these columns, as they were kept or as they are read, and kept if they are few.

        ``announced`` is their size as far as it is known before: what is too large is not even begun.
        """
        if names in self.sets:
            yield from map(_fresh_chunk, self.sets[names])
            return
        held: list[Scores] = []
        size, most = 0, at_once(KEEP_BYTES)
        for chunk in read():
            yield chunk
            size += _bytes_of_chunk(chunk)
            if self.size + max(size, announced) > most:
                held.clear()
            else:
                held.append(_fresh_chunk(chunk))
        if self.size + max(size, announced) <= most:
            self.sets[names], self.size = held, self.size + size


def _fresh_chunk(chunk: Scores) -> Scores:
    """The same arrays again: what was sorted of a chunk must not stay alive with it."""
    return Scores.part(chunk.target, chunk.nontarget, chunk.columns, chunk.categories)


def _bytes_of_chunk(chunk: Scores) -> int:
    arrays = [chunk.target, chunk.nontarget, *(array for pair in chunk.columns.values() for array in pair)]
    return sum(int(np.asarray(array).nbytes) for array in arrays)
