"""Log-likelihoods of several classes in files of any size, read one batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from llrkit.engine.files import KEEP_BYTES, expand, numeric
from llrkit.errors import (
    FileFormatError,
    InputError,
    LabelError,
    LlrkitError,
    NaNScoreError,
    UnknownNameError,
)
from llrkit.io.stream import scan_table
from llrkit.scores.class_labels import class_names, listed
from llrkit.scores.classes import ClassScores, ClassVectors, positions
from llrkit.scores.source import POSITION, S, reduce_chunks

BATCH_NUMBERS = 1 << 22
"""How many log-likelihoods are read at a time."""


class ClassFiles:
    """Trials of several classes in wide Parquet or text tables, as a source.

    Made by :func:`scan_classes`. Only the columns asked for are parsed, and only summaries of batches are
    ever kept, unless the whole set is small.
    """

    def __init__(
        self, paths: Sequence[Path], classes: tuple[str, ...], label: str, carried: Sequence[str] = ()
    ) -> None:
        self.paths, self.classes, self.label, self.carried = tuple(paths), classes, label, tuple(carried)
        self._kept: list[ClassScores] | None = None
        for path in self.paths:
            there = _schema(path)
            for name in (*classes, label, *(name for name in carried if name != POSITION)):
                if name not in there:
                    raise UnknownNameError(f"{path}: there is no column {name!r}; there are: {listed(there)}")

    def with_columns(self, *names: str) -> ClassFiles:
        """The same trials, each chunk carrying these columns."""
        return ClassFiles(self.paths, self.classes, self.label, names)

    def reduce(self, summarise: Callable[[ClassVectors], S]) -> S:
        """Summarise every batch in a pool of threads and merge the summaries in the order of the rows."""
        return reduce_chunks(self._chunks(), summarise)

    def _chunks(self) -> Iterator[ClassScores]:
        if self._kept is not None:
            yield from self._kept
            return
        kept: list[ClassScores] | None = []
        size = 0
        for chunk in self._read():
            yield chunk
            size += chunk.values.nbytes
            if kept is not None:
                kept.append(chunk)
            if size > KEEP_BYTES:
                kept = None
        self._kept = kept

    def _read(self) -> Iterator[ClassScores]:
        before = np.zeros(len(self.classes), dtype=np.intp)
        wanted = dict.fromkeys((*self.classes, self.label, *(n for n in self.carried if n != POSITION)))
        rows = max(1, BATCH_NUMBERS // len(self.classes))
        for path in self.paths:
            first_row = 0
            try:
                batches = scan_table(path).select(list(wanted))
                for batch in batches.collect_batches(chunk_size=rows, maintain_order=True):
                    chunk = self._chunk(batch, path, first_row, before)
                    before = before + chunk.counts
                    first_row += batch.height
                    yield chunk
            except (pl.exceptions.PolarsError, OSError) as error:
                raise FileFormatError(f"{path}: cannot be read ({str(error).splitlines()[0]})") from None

    def _chunk(
        self,
        batch: pl.DataFrame,
        path: Path,
        first_row: int,
        before: npt.NDArray[np.intp],
    ) -> ClassScores:
        batch = numeric(batch, self.classes, path, first_row)
        text = path.suffix.lower() not in (".parquet", ".pq")

        def place(row: int) -> str:
            return f"{path}, line {first_row + row + 2}" if text else f"{path}, row {first_row + row}"

        labels = batch[self.label].cast(pl.String).str.strip_chars()
        bad = labels.is_null() | ~labels.is_in(list(self.classes))
        if bad.any():
            row = int(bad.arg_max() or 0)
            raise LabelError(
                f"{place(row)}: unknown class {labels[row]!r}; the classes are {listed(self.classes)}"
            )
        columns = {name: batch[name].to_numpy() for name in self.carried if name != POSITION}
        values = batch.select(self.classes).to_numpy()
        try:
            chunk = ClassScores(values, labels.to_numpy(), self.classes, columns=columns)
        except (InputError, NaNScoreError) as error:
            raise type(error)(f"{path}, after row {first_row}: {error}") from None
        if POSITION in self.carried:
            placed = {POSITION: positions(chunk.codes, before)}
            return ClassScores.part(chunk.values, chunk.codes, chunk.classes, {**columns, **placed})
        return chunk

    def __repr__(self) -> str:
        return f"ClassFiles({len(self.paths)} files, {len(self.classes)} classes: {listed(self.classes)})"


def scan_classes(
    paths: str | PathLike[str] | Sequence[str | PathLike[str]],
    classes: Sequence[str],
    *,
    label: str = "label",
) -> ClassFiles:
    """Log-likelihoods in files of any size, to be used like :class:`llrkit.ClassScores`.

    ``paths`` is a Parquet, CSV or TSV file with a column per class, a directory of them, a glob pattern,
    or a list of these; ``classes`` are the names of these columns and of the labels. Sets below 256 MB
    stay in memory after the first pass.

    Examples
    --------
    >>> import tempfile
    >>> import llrkit as lk
    >>> path = Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("en,de,label\\n2.0,0.1,en\\n0.5,1.5,de\\n")
    >>> lk.multiclass.error_rate(scan_classes(path, ["en", "de"]))
    0.0
    """
    given = [paths] if isinstance(paths, (str, PathLike)) else list(paths)
    found = [path for item in given for path in expand(item)]
    return ClassFiles(found, class_names(classes), label)


def _schema(path: Path) -> list[str]:
    try:
        return list(scan_table(path).collect_schema().names())
    except LlrkitError:
        raise
    except (pl.exceptions.PolarsError, OSError) as error:
        raise FileFormatError(f"{path}: cannot be read ({str(error).splitlines()[0]})") from None
