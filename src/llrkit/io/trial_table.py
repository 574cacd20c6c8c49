"""TrialTable: a table as read with the roles of its columns; Scan: the same, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import polars as pl

from llrkit._memory import require_memory
from llrkit.scores.roles import RoleChanges, Roles

Lines = Callable[[list[int]], list[int]]
NO_ROLES = Roles(score=())


@dataclass(frozen=True)
class TrialTable:
    """A table as read, the format it was read as, and the roles of its columns.

    Nothing in it is checked yet. There are no names of scores where the file has none (a key), and no label
    where it has no labels. ``lines`` gives the lines of rows, for messages; it is None for a file without
    lines. ``first_row`` is the number of rows before this table in its file.
    """

    file: str
    format: str
    table: pl.DataFrame
    roles: Roles = NO_ROLES
    lines: Lines | None = None
    first_row: int = 0
    row_numbers: Lines | None = None
    """The numbers of rows in their file, where not all of its rows are here."""

    @property
    def score(self) -> tuple[str, ...]:
        """The columns with the scores."""
        return self.roles.score

    @property
    def label(self) -> str | None:
        """The column with the labels."""
        return self.roles.label

    @property
    def enroll(self) -> str | None:
        """The column with the ids of the enrollment side."""
        return self.roles.enroll

    @property
    def test(self) -> str | None:
        """The column with the ids of the test side."""
        return self.roles.test

    def with_roles(self, **changed: Unpack[RoleChanges]) -> TrialTable:
        """The same table with other roles."""
        return replace(self, roles=replace(self.roles, **changed))

    def with_table(self, table: pl.DataFrame, **changed: Unpack[RoleChanges]) -> TrialTable:
        """The same rows in another table, and perhaps with other roles."""
        return replace(self, table=table, roles=replace(self.roles, **changed))

    def without_lines(self, table: pl.DataFrame) -> TrialTable:
        """Other rows, which no longer stand where they stood in the file."""
        return replace(self, table=table, lines=None)

    def only(self, mask: pl.Series) -> TrialTable:
        """Some of the rows, which still say where they stand in the file."""
        rows, first, lines, earlier = mask.arg_true(), self.first_row, self.lines, self.row_numbers

        def numbers(of: list[int]) -> list[int]:
            before = [int(rows[row]) for row in of]
            return [first + row for row in before] if earlier is None else earlier(before)

        def lines_of(of: list[int]) -> list[int]:
            assert lines is not None
            return lines([int(rows[row]) for row in of])

        kept_lines: Lines | None = None if lines is None else lines_of
        return replace(self, table=self.table.filter(mask), lines=kept_lines, row_numbers=numbers)

    def place(self, row: int) -> str:
        """Where a row stands, in words."""
        return f"{self.file}, {self.places([row])}"

    def places(self, rows: list[int]) -> str:
        """Where rows stand in their file, in words."""
        s = "s" if len(rows) > 1 else ""
        if self.lines is None:
            numbers = self.row_numbers(rows) if self.row_numbers else [self.first_row + row for row in rows]
            return f"row{s} " + ", ".join(map(str, numbers)) + " (counted from 0)"
        return f"line{s} " + ", ".join(map(str, self.lines(rows)))


@dataclass(frozen=True)
class Scan:
    """A file that is read one batch at a time.

    ``like`` is what a batch looks like, without rows; ``read`` gives batches with the columns asked for.
    """

    like: TrialTable
    read: Callable[[Sequence[str]], Iterator[TrialTable]]

    in_memory: bool = False
    """Whether there is but one batch, which is read already."""
    rows: int | None = None
    """How many rows there are, where the file says so."""

    @classmethod
    def of(cls, trials: TrialTable) -> Scan:
        """A table that is read already, as one batch."""

        def read(wanted: Sequence[str]) -> Iterator[TrialTable]:
            yield replace(trials, table=trials.table.select(wanted))

        return cls(trials.without_lines(trials.table.clear()), read, in_memory=True)

    @property
    def columns(self) -> list[str]:
        """Names of the columns that can be asked for."""
        return self.like.table.columns

    def changed(self, change: Callable[[TrialTable], TrialTable], like: TrialTable | None = None) -> Scan:
        """The same file with every batch changed on the way; ``like`` where that cannot be told from none."""

        def read(wanted: Sequence[str]) -> Iterator[TrialTable]:
            return map(change, self.read(wanted))

        return Scan(change(self.like) if like is None else like, read)

    def whole(self) -> TrialTable:
        """All batches as one table."""
        first, tables, starts, size = None, [], [], 0
        for batch in self.read(self.columns):
            size += held_size(batch.table)
            require_memory(size, self.like.file, "read it in batches (scan_trials)")
            # only the first batch is held, since batches hold on to their text
            first = batch if first is None else first
            tables.append(batch.table)
            starts.append(batch.first_row)
        assert first is not None
        if len(tables) == 1:
            return first
        table = pl.concat(tables)
        return replace(first, table=table, lines=None if first.lines is None else self._lines(starts))

    def _lines(self, starts: list[int]) -> Lines:
        """Reads the file again: nobody holds on to the text of a large file."""

        def lines(rows: list[int]) -> list[int]:
            line_of: dict[int, int] = {}
            batches = self.read(self.columns)
            for batch, start in zip(batches, starts, strict=False):
                inside = [row for row in rows if start <= row < start + batch.table.height]
                if inside and batch.lines is not None:
                    line_of.update(zip(inside, batch.lines([row - start for row in inside]), strict=True))
                if len(line_of) == len(set(rows)):
                    break
            return [line_of[row] for row in rows]

        return lines


def held_size(table: pl.DataFrame) -> int:
    """The bytes that a table takes; polars leaves out the 16 that each text takes, however short it is.

    Examples
    --------
    >>> held_size(pl.DataFrame({"score": [0.5] * 1000, "label": ["1"] * 1000}))
    25000
    """
    text = sum(dtype in (pl.String, pl.Binary) for dtype in table.dtypes)
    return int(table.estimated_size()) + 16 * text * table.height


def one_after_another(scans: Sequence[Scan]) -> Scan:
    """Several files of the same columns and types as one."""
    if len(scans) == 1:
        return scans[0]

    def read(wanted: Sequence[str]) -> Iterator[TrialTable]:
        for scan in scans:
            yield from scan.read(wanted)

    return Scan(scans[0].like, read)
