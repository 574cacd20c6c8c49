"""Trials in files of any size, read one batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from llrkit.engine.batches import COUNTED, Before, Roles, chunk_of, joined
from llrkit.errors import UnknownNameError
from llrkit.io import factor_of, files_of, needs_memory, read_trials, scan_found
from llrkit.io.checks import require_roles
from llrkit.io.formats import in_batches
from llrkit.io.trial_table import Scan
from llrkit.scores import Scores
from llrkit.scores.derived import row_in_words
from llrkit.scores.labels import warn_of_pooled
from llrkit.scores.source import S, reduce_chunks
from llrkit.scores.trials import Trials
from llrkit.scores.weights import weighted

KEEP_BYTES = 256 << 20
"""Sets whose arrays are smaller than this stay in memory after the first pass."""
JOIN_BYTES = 1 << 30
"""Sets whose arrays are larger than this are summarized in larger chunks than they are read in."""
LARGE_BYTES = 64 << 20
"""Files that are larger than this together are read in batches by the command line."""


class Files:
    """Trials in tables on disk, as a source: only summaries of batches are ever kept.

    Made by :func:`scan_trials`. Only the columns asked for are parsed; the next batch is read while
    the current ones are summarized. Repeated ids are not looked for.
    """

    def __init__(
        self,
        scans: Sequence[Scan],
        *,
        positive: str | None = None,
        factor: float = 1.0,
        weight: str | None = None,
        carried: Sequence[str] = (),
        kept: _Kept | None = None,
    ) -> None:
        self.scans, self.positive, self.factor, self.weight = tuple(scans), positive, factor, weight
        self.carried = tuple(carried)
        first = self.scans[0].like
        require_roles(first)
        self.score, self.label = first.score, first.label or ""
        self.enroll, self.test = first.enroll, first.test
        self.roles = Roles(self.score, self.label, positive, factor, self.carried)
        self._kept = kept if kept is not None else _Kept()
        for name in (*self.carried, *((weight,) if weight else ())):
            if name not in (*COUNTED, *self.columns):
                raise UnknownNameError(
                    f"{first.file}: there is no column {name!r}; there are: {', '.join(self.columns)}"
                )

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        return self.scans[0].columns

    def with_columns(self, *names: str) -> Files:
        """The same trials, each chunk carrying these columns."""
        return self._carrying(names, self.weight)

    def _carrying(self, names: Sequence[str], weight: str | None) -> Files:
        return Files(
            self.scans,
            positive=self.positive,
            factor=self.factor,
            weight=weight,
            carried=names,
            kept=self._kept,
        )

    def reduce(self, summarize: Callable[[Scores], S]) -> S:
        """Summarize every batch in a pool of threads and merge the summaries in the order of the rows."""
        if self.weight is not None:
            names = tuple(dict.fromkeys((*self.carried, self.weight)))
            return self._carrying(names, None).reduce(weighted(summarize, self.weight))
        announced = sum(scan.rows or 0 for scan in self.scans) * 8 * (len(self.score) + len(self.carried))
        chunks = self._kept.or_else(self.carried, self._read, announced)
        return reduce_chunks(joined(chunks) if announced > JOIN_BYTES else chunks, summarize)

    def place(self, row: int) -> str:
        """Where a row stands, in words; the files are read again for it."""
        before = 0
        for scan in self.scans:
            for batch in scan.read(list(self.score)):
                if row < before + batch.table.height:
                    return batch.place(row - before)
                before += batch.table.height
        return row_in_words(row)

    def _read(self) -> Iterator[Scores]:
        before, words = Before(), frozenset[str]()
        for scan in self.scans:
            for batch in scan.read(self.roles.stored(self.columns)):
                chunk, seen = chunk_of(batch, self.roles, before, words)
                words |= seen
                yield chunk
                before += Before.of(chunk)
        if not self._kept.warned:
            self._kept.warned = True
            warn_of_pooled(words, f"{self.scans[0].like.file}, column {self.label!r}")

    def __repr__(self) -> str:
        names = [Path(scan.like.file).name for scan in self.scans]
        shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        return f"Files({len(names)} files: {shown}; {', '.join(self.score)}, {self.label})"


@dataclass
class _Kept:
    """The chunks of small sets, by the columns they carry; shared by all views of the same files."""

    sets: dict[tuple[str, ...], list[Scores]] = field(default_factory=dict)
    size: int = 0
    warned: bool = False

    def or_else(
        self, names: tuple[str, ...], read: Callable[[], Iterator[Scores]], announced: int
    ) -> Iterator[Scores]:
        """The chunks with these columns, as they were kept or as they are read, and kept if they are few.

        ``announced`` is their size as far as it is known before: what is too large is not even begun.
        """
        if names in self.sets:
            yield from map(_fresh, self.sets[names])
            return
        held: list[Scores] = []
        size = 0
        for chunk in read():
            yield chunk
            size += _bytes_of(chunk)
            if self.size + max(size, announced) > KEEP_BYTES:
                held.clear()
            else:
                held.append(_fresh(chunk))
        if self.size + max(size, announced) <= KEEP_BYTES:
            self.sets[names], self.size = held, self.size + size


def _fresh(chunk: Scores) -> Scores:
    """The same arrays again: what was sorted of a chunk must not stay alive with it."""
    return Scores.part(chunk.target, chunk.nontarget, chunk.columns, chunk.categories)


def _bytes_of(chunk: Scores) -> int:
    arrays = [chunk.target, chunk.nontarget, *(array for pair in chunk.columns.values() for array in pair)]
    return sum(int(np.asarray(array).nbytes) for array in arrays)


def scan_trials(
    paths: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    score: str | Sequence[str] | None = None,
    label: str | None = None,
    format: str | None = None,  # noqa: A002
    columns: Sequence[str] | None = None,
    weight: str | None = None,
    positive: str | None = None,
    log10: bool = False,
    distance: bool = False,
) -> Files:
    """Trials in files of any size, to be used like trials in memory.

    ``paths`` is a file, a directory, a glob pattern, or a list of these. Parquet, Arrow files and text (plain
    or gzip, with or without header) are read in batches, other formats at once. Every ``fit_*``, every metric
    and ``evaluate`` take the result; memory grows with the smaller class only. Sets below 256 MB stay in
    memory after the first pass. The options are those of :func:`read_trials`; scores and labels must be in
    the same file, and repeated trials are not looked for.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import llrkit as lk
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("score,label\\n1.5,target\\n-0.5,nontarget\\n0.25,nontarget\\n")
    >>> lk.eer(scan_trials(path))
    0.0
    """
    names = [score] if isinstance(score, str) else score
    scans = scan_found(paths, format=format, columns=columns, score=names, label=label)
    factor = factor_of(log10=log10, distance=distance)
    return Files(scans, positive=positive, factor=factor, weight=weight)


def open_trials(
    path: str | PathLike[str], key: str | PathLike[str] | None = None, **options: Any
) -> Trials | Files:
    """Trials in memory if the files are small or must be seen as a whole, otherwise a source that scans them.

    The options are those of :func:`read_trials`. A key, a second file of non-targets, quality measures, and
    looking for repeated trials need all ids in memory.
    """
    whole = needs_memory(key, **options) or options.get("quality") is not None
    files = [] if whole else files_of(path)
    large = sum(file.stat().st_size for file in files) >= LARGE_BYTES
    if whole or not large or not all(map(in_batches, files)):
        return read_trials(path, key, **options)
    unused = ("nontargets", "duplicates", "missing")
    return scan_trials(files, **{name: value for name, value in options.items() if name not in unused})
