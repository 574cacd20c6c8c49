"""Trials in files of any size, read one batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from glob import glob
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from llrkit.errors import FileFormatError, UnknownNameError
from llrkit.io.stream import scan_table
from llrkit.scores import Scores
from llrkit.scores.source import POSITION, S, reduce_chunks
from llrkit.scores.trials import ROW, Trials

BATCH_ROWS = 1 << 20
KEEP_BYTES = 256 << 20
"""Sets whose arrays are smaller than this stay in memory after the first pass."""

_COUNTED = (ROW, POSITION)
_TABLES = (".parquet", ".pq", ".csv", ".tsv", ".txt")


class Files:
    """Trials in Parquet or text tables, as a source: only summaries of batches are ever kept.

    Made by :func:`scan_trials`. Only the columns asked for are parsed; the next batch is read while
    the current ones are summarised. Repeated ids are not looked for.
    """

    def __init__(
        self, paths: Sequence[Path], score: Sequence[str], label: str, carried: Sequence[str] = ()
    ) -> None:
        self.paths, self.score, self.label = tuple(paths), tuple(score), label
        self.carried = tuple(carried)
        self._kept: list[Scores] | None = None
        for path in self.paths:
            self._require(path)

    def _require(self, path: Path) -> None:
        try:
            there = scan_table(path).collect_schema().names()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise FileFormatError(f"{path}: cannot be read ({str(error).splitlines()[0]})") from None
        for name in (*self.score, self.label, *(name for name in self.carried if name not in _COUNTED)):
            if name not in there:
                raise UnknownNameError(f"{path}: there is no column {name!r}; there are: {', '.join(there)}")

    def with_columns(self, *names: str) -> Files:
        """The same trials, each chunk carrying these columns."""
        return Files(self.paths, self.score, self.label, names)

    def reduce(self, summarise: Callable[[Scores], S]) -> S:
        """Summarise every batch in a pool of threads and merge the summaries in the order of the rows."""
        return reduce_chunks(self._chunks(), summarise)

    def _chunks(self) -> Iterator[Scores]:
        if self._kept is not None:
            yield from self._kept
            return
        kept: list[Scores] | None = []
        size = 0
        for chunk in self._read():
            yield chunk
            size += _bytes_of(chunk)
            if kept is not None:
                # a copy of its own: what was sorted of a chunk must not stay alive with it
                kept.append(Scores.part(chunk.target, chunk.nontarget, chunk.columns, chunk.categories))
            if size > KEEP_BYTES:
                kept = None
        self._kept = kept

    def _read(self) -> Iterator[Scores]:
        before = {ROW: np.zeros(2, dtype=np.int64), POSITION: np.zeros(2, dtype=np.int64)}
        for path in self.paths:
            wanted = dict.fromkeys((*self.score, self.label, *(n for n in self.carried if n not in _COUNTED)))
            first_row = 0
            try:
                table = scan_table(path).select(list(wanted))
                for batch in table.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True):
                    chunk = self._chunk(batch, path, first_row, before)
                    yield chunk
                    first_row += batch.height
                    before[ROW] += batch.height
                    before[POSITION] += (chunk.n_target, chunk.n_nontarget)
            except (pl.exceptions.PolarsError, OSError) as error:
                raise FileFormatError(f"{path}: cannot be read ({str(error).splitlines()[0]})") from None

    def _chunk(self, batch: pl.DataFrame, path: Path, first_row: int, before: dict[str, Any]) -> Scores:
        batch = numeric(batch, self.score, path, first_row)
        text = path.suffix.lower() not in (".parquet", ".pq")
        trials = Trials(
            batch,
            score=self.score,
            label=self.label,
            carried=self.carried,
            origin=str(path),
            first_line=first_row + (2 if text else 0),
        )
        mask = trials.is_target
        columns: dict[str, tuple[Any, Any]] = {}
        categories: dict[str, tuple[Any, ...]] = {}
        for name in self.carried:
            values, names = trials.coded(name)
            columns[name] = (values[mask], values[~mask])
            if name in _COUNTED:
                columns[name] = tuple(part + n for part, n in zip(columns[name], before[name], strict=True))
            if names is not None:
                categories[name] = tuple(names)
        scores = trials.score_array
        return Scores.part(scores[mask], scores[~mask], columns, categories)

    def __repr__(self) -> str:
        names = ", ".join(path.name for path in self.paths[:3]) + (", ..." if len(self.paths) > 3 else "")
        return f"Files({len(self.paths)} files: {names}; {', '.join(self.score)}, {self.label})"


def scan_trials(
    paths: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    score: str | Sequence[str] = "score",
    label: str = "label",
) -> Files:
    """Trials in files of any size, to be used like trials in memory.

    ``paths`` is a Parquet, CSV or TSV file, a directory of them, a glob pattern, or a list of these.
    Every ``fit_*``, every metric and ``evaluate`` take the result; memory grows with the smaller class
    only. Sets below 256 MB stay in memory after the first pass.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import llrkit as lk
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("score,label\\n1.5,target\\n-0.5,nontarget\\n0.25,nontarget\\n")
    >>> lk.eer(scan_trials(path))
    0.0
    """
    given = [paths] if isinstance(paths, (str, PathLike)) else list(paths)
    found = [path for item in given for path in expand(item)]
    return Files(found, [score] if isinstance(score, str) else score, label)


def expand(item: str | PathLike[str]) -> list[Path]:
    """The tables that a path, a directory or a pattern stands for."""
    path = Path(item)
    if path.is_file():
        return [path]
    if path.is_dir():
        found = sorted(file for file in path.iterdir() if file.name.endswith(_TABLES))
    else:
        found = sorted(Path(name) for name in glob(str(item), recursive=True) if Path(name).is_file())
    if not found:
        raise FileFormatError(
            f"{item}: no file, and no directory or pattern with tables ({', '.join(_TABLES)})"
        )
    return found


def numeric(batch: pl.DataFrame, names: Sequence[str], path: Path, first_row: int) -> pl.DataFrame:
    """Scores of a text table as numbers; what is not one is named by line."""
    for name in names:
        if batch[name].dtype == pl.String:
            numbers = batch[name].str.strip_chars().cast(pl.Float64, strict=False)
            bad = numbers.is_null()
            if bad.any():
                row = int(bad.arg_max() or 0)
                line = first_row + row + 2
                raise FileFormatError(
                    f"{path}, line {line}, column {name!r}: {batch[name][row]!r} is not a number"
                )
            batch = batch.with_columns(numbers.alias(name))
    return batch


def _bytes_of(chunk: Scores) -> int:
    arrays = [chunk.target, chunk.nontarget, *(array for pair in chunk.columns.values() for array in pair)]
    return sum(int(np.asarray(array).nbytes) for array in arrays)
