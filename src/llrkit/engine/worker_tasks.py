"""What the workers of a cluster do: read partitions, summarize them, and merge summaries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Literal

from llrkit.engine.batches import Roles, joined
from llrkit.engine.partitions import Partition, RowGroups, chunks_of, parquet_partitions
from llrkit.errors import FileFormatError, LlrkitError

Unreadable = Literal["error", "skip"]


@dataclass(frozen=True)
class Work:
    """What is done to each partition."""

    summarize: Callable[[Any], Any]
    roles: Roles
    unreadable: Unreadable
    topic: str


@dataclass(frozen=True)
class Part:
    """The summary of some partitions, if any could be read, and those that could not."""

    summary: Any
    skipped: tuple[str, ...] = ()


def summarize(work: Work, partitions: Sequence[Partition], before: Any) -> Part:
    """Read partitions chunk by chunk, summarize, forget; ``before`` are the trials of earlier tasks."""
    from distributed import get_worker

    found, skipped, rows = None, [], 0
    # Where files may be left out each is summed by itself: nothing of one that breaks off may be in the sum.
    together = [partitions] if work.unreadable == "error" else [[partition] for partition in partitions]
    for some in together:
        part, after, here = None, before, 0
        try:
            for chunk in joined(chunks_of(some, work.roles, before)):
                part = _sum(part, work.summarize(chunk))
                after, here = after + work.roles.counted(chunk), here + work.roles.rows_of(chunk)
                del chunk  # what was sorted of it is not needed while the next one is read
        except FileFormatError as error:
            if work.unreadable == "error":
                raise
            skipped.append(str(error))
            continue
        found, before, rows = _sum(found, part), after, rows + here
    get_worker().log_event(work.topic, rows)
    return Part(found, tuple(skipped))


def merge(parts: Sequence[Part]) -> Part:
    """The sum of some parts."""
    return Part(
        reduce(_sum, (part.summary for part in parts)), tuple(name for part in parts for name in part.skipped)
    )


def footer(path: str, roles: Roles, most: int) -> list[RowGroups] | LlrkitError:
    """How a Parquet file is cut into partitions, or why it cannot be: what follows is the client's policy."""
    try:
        return parquet_partitions(path, roles.stored([]), most, (roles.label,))
    except FileFormatError as error:
        return error


def pairs(values: Any, is_target: Any) -> dict[str, Any]:
    """Two arrays as a table."""
    return {"score": values, "label": is_target}


def _sum(one: Any, other: Any) -> Any:
    return other if one is None else one if other is None else add(one, other)
