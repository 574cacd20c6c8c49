"""Parquet files as a cluster sees them: which there are, what their columns mean, how they are cut."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING

from llrkit.engine import cluster_worker_tasks as worker_tasks
from llrkit.engine.cluster_results import results_of
from llrkit.engine.cluster_worker_tasks import Unreadable
from llrkit.engine.partitions import RowGroups, expand, pieces_in_one_schema
from llrkit.errors import InputError, LlrkitError
from llrkit.io.checked_trials import require_named_roles
from llrkit.io.column_roles import HeaderRoles, header_roles
from llrkit.io.reading_options import PathArg
from llrkit.scores.roles import Roles

if TYPE_CHECKING:
    from distributed import Client


def parquet_files(paths: PathArg | Sequence[PathArg]) -> list[str]:
    """The files of paths, directories and patterns that fsspec can open."""
    given = [paths] if isinstance(paths, (str, PathLike)) else list(paths)
    return [name for path in given for name in expand(fspath(path))]


def header_on_cluster(
    files: Sequence[str],
    client: Client,
    *,
    score: Sequence[str] | None,
    label: str | None,
    unreadable: Unreadable,
) -> HeaderRoles:
    """The roles of the columns of the first file that can be read; where none can, the usual names."""
    for file in files:
        [names] = results_of(client, [client.submit(worker_tasks.header, file, pure=False)])
        if not isinstance(names, LlrkitError):
            header = header_roles(names, score=score, label=label, where=file)
            require_named_roles(header.roles, names, file)
            return header
        if unreadable == "error":
            raise names
    return HeaderRoles(Roles(tuple(score or ("score",)), label or "label"))


def partitions_on_cluster(
    files: Sequence[str], client: Client, header: HeaderRoles, *, most: int, unreadable: Unreadable
) -> tuple[list[RowGroups], list[str]]:
    """Runs of row groups of at most ``most`` rows, and what is to be said of files that cannot be read."""
    if unreadable not in ("error", "skip"):
        raise InputError(f"unreadable must be 'error' or 'skip', got {unreadable!r}")
    footers = results_of(client, client.map(worker_tasks.footer, files, header=header, most=most, pure=False))
    failed = [footer for footer in footers if isinstance(footer, LlrkitError)]
    if failed and unreadable == "error":
        raise failed[0]
    partitions = pieces_in_one_schema([footer for footer in footers if not isinstance(footer, LlrkitError)])
    return partitions, [str(error) for error in failed]
