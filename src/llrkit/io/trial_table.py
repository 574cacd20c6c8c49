"""What a reader gives: a table and which of its columns are what, at once or batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import polars as pl

Lines = Callable[[list[int]], list[int]]


@dataclass(frozen=True)
class Found:
    """A table as read, the format it was read as, and the roles of its columns.

    ``score`` holds no name where the file has no scores (a key), ``label`` is None where it has no labels.
    ``lines`` gives the lines of rows, for messages; it is None for a file without lines. ``first_row`` is the
    number of rows before this table in its file.
    """

    file: str
    format: str
    table: pl.DataFrame
    score: tuple[str, ...] = ()
    label: str | None = None
    enroll: str | None = None
    test: str | None = None
    lines: Lines | None = None
    first_row: int = 0

    def place(self, row: int) -> str:
        """Where a row stands, in words."""
        return f"{self.file}, {self.places([row])}"

    def places(self, rows: list[int]) -> str:
        """Where rows stand in their file, in words."""
        s = "s" if len(rows) > 1 else ""
        if self.lines is None:
            return f"row{s} " + ", ".join(str(self.first_row + row) for row in rows) + " (counted from 0)"
        return f"line{s} " + ", ".join(map(str, self.lines(rows)))


@dataclass(frozen=True)
class Scan:
    """A file that is read one batch at a time.

    ``like`` is what a batch looks like, without rows; ``read`` gives batches with the columns asked for.
    """

    like: Found
    read: Callable[[Sequence[str]], Iterator[Found]]

    in_memory: bool = False
    """Whether there is but one batch, which is read already."""
    rows: int | None = None
    """How many rows there are, where the file says so."""

    @classmethod
    def of(cls, found: Found) -> Scan:
        """A table that is read already, as one batch."""

        def read(wanted: Sequence[str]) -> Iterator[Found]:
            yield replace(found, table=found.table.select(wanted))

        return cls(replace(found, table=found.table.clear(), lines=None), read, in_memory=True)

    @property
    def columns(self) -> list[str]:
        """Names of the columns that can be asked for."""
        return self.like.table.columns

    def whole(self) -> Found:
        """All batches as one table."""
        parts = list(self.read(self.columns))
        first = parts[0]
        if len(parts) == 1:
            return first
        table = pl.concat([part.table for part in parts])
        starts = [part.first_row for part in parts]
        return replace(first, table=table, lines=None if first.lines is None else self._lines(starts))

    def _lines(self, starts: list[int]) -> Lines:
        """Reads the file again: nobody holds on to the text of a large file."""

        def lines(rows: list[int]) -> list[int]:
            found: dict[int, int] = {}
            batches = self.read(self.columns)
            for batch, start in zip(batches, starts, strict=False):
                inside = [row for row in rows if start <= row < start + batch.table.height]
                if inside and batch.lines is not None:
                    found.update(zip(inside, batch.lines([row - start for row in inside]), strict=True))
                if len(found) == len(set(rows)):
                    break
            return [found[row] for row in rows]

        return lines
