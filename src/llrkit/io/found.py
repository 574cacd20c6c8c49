"""What a reader gives: a table and which of its columns are what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

Lines = Callable[[Sequence[int]], list[int]]


@dataclass(frozen=True)
class Found:
    """A table as read, the format it was read as, and the roles of its columns.

    ``score`` holds no name where the file has no scores (a key), ``label`` is None where it has no labels.
    ``lines`` gives the lines of rows, for messages; it is None for a file without lines.
    """

    file: str
    format: str
    table: pl.DataFrame
    score: tuple[str, ...] = ()
    label: str | None = None
    enroll: str | None = None
    test: str | None = None
    lines: Lines | None = None

    def place(self, row: int) -> str:
        """Where a row stands, in words."""
        if self.lines is None:
            return f"{self.file}, row {row}"
        return f"{self.file}, line {self.lines([row])[0]}"
