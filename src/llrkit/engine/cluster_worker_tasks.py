"""What the workers of a cluster do: read partitions, summarize them, and merge summaries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from llrkit._arrays import Array
from llrkit.engine.chunks_of_rows import B, C, Chunking, Countable
from llrkit.engine.cluster_same_program import require_same_program
from llrkit.engine.partitions import ParquetFooter, Partition, chunks_of, column_names, parquet_footer
from llrkit.errors import FileFormatError, LlrkitError
from llrkit.io.column_roles import HeaderRoles

Unreadable = Literal["error", "skip"]
T = TypeVar("T", bound=Countable)


@dataclass(frozen=True)
class Work(Generic[C, B, T]):
    """What is done to each partition."""

    summarize: Callable[[C], T]
    chunking: Chunking[C, B]
    unreadable: Unreadable
    topic: str
    program: str
    """The source files of llrkit that the client has, as a hash; no worker with others does the work."""


@dataclass(frozen=True)
class PartialSum(Generic[T]):
    """The summary of some partitions, if any could be read, and those that could not."""

    summary: T | None
    skipped: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    """The words among the labels."""


def summarize(work: Work[C, B, T], partitions: Sequence[Partition], before: B) -> PartialSum[T]:
    """Read partitions chunk by chunk, summarize, forget; ``before`` are the trials of earlier tasks."""
    from distributed import get_worker

    require_same_program(work.program)
    total: T | None = None
    skipped, rows, words = list[str](), 0, set[str]()
    # Where files may be left out each is summed by itself: nothing of one that breaks off may be in the sum.
    together = [partitions] if work.unreadable == "error" else [[partition] for partition in partitions]
    for some in together:
        summary: T | None = None
        after, here, seen = before, 0, set(words)
        try:
            for chunk in work.chunking.joined(chunks_of(some, work.chunking, before, seen)):
                summary = _sum_of_summaries(summary, work.summarize(chunk))
                after, here = after + work.chunking.counted(chunk), here + work.chunking.rows_of(chunk)
                del chunk  # what was sorted of it is not needed while the next one is read
        except FileFormatError as error:
            if work.unreadable == "error":
                raise
            skipped.append(str(error))
            continue
        total, before, rows, words = _sum_of_summaries(total, summary), after, rows + here, seen
    get_worker().log_event(work.topic, rows)
    return PartialSum(total, tuple(skipped), frozenset(words))


def merge(sums: Sequence[PartialSum[T]]) -> PartialSum[T]:
    """The sum of some parts."""
    total: T | None = None
    for one in sums:
        total = _sum_of_summaries(total, one.summary)
    return PartialSum(
        total,
        tuple(name for one in sums for name in one.skipped),
        frozenset[str]().union(*(one.words for one in sums)),
    )


def header(path: str) -> list[str] | LlrkitError:
    """The names of the columns of a Parquet file, or why it cannot be read."""
    try:
        return column_names(path)
    except FileFormatError as error:
        return error


def footer(path: str, header: HeaderRoles, most: int) -> ParquetFooter | LlrkitError:
    """How a Parquet file is cut into partitions, or why it cannot be: what follows is the client's policy."""
    try:
        return parquet_footer(path, header, most)
    except FileFormatError as error:
        return error


def pairs(values: Array, is_target: Array) -> dict[str, Array]:
    """Two arrays as a table."""
    return {"score": values, "label": is_target}


def _sum_of_summaries(one: T | None, other: T | None) -> T | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other
