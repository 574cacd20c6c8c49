"""Where trials are read: here, in memory or in batches, or by the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from distributed import Client

    from llrkit.scores.source import ScoreSource

_CLUSTER = "llrkit.cluster"
_NEEDS_ALL = ("key", "nontargets", "columns", "format")


def cluster_options(command: Any) -> Any:
    """The options of commands that read trials on a cluster."""
    return worker_options(
        click.option(
            "--unreadable", type=click.Choice(["error", "skip"]),
            help="On a cluster: what to do with a Parquet file that cannot be read; by default an error.",
        )(command)
    )  # fmt: skip


def worker_options(command: Any) -> Any:
    """``--scheduler`` and ``--workers``, for commands whose work a cluster can do."""
    workers = click.option(
        "--workers", type=click.IntRange(min=1), metavar="N",
        help="Start N Dask workers on this machine and stop them at the end (Parquet only).",
    )  # fmt: skip
    scheduler = click.option(
        "--scheduler", metavar="ADDRESS", help="Use a running Dask cluster (Parquet on paths it can read)."
    )
    return scheduler(workers(command))


def open_scores(
    path: str,
    key: str | None = None,
    *,
    scheduler: str | None,
    workers: int | None,
    unreadable: str | None = None,
    **options: Any,
) -> ScoreSource:
    """The trials of a file, a directory or a pattern, on the cluster if one was asked for."""
    from llrkit.errors import InputError

    if scheduler is None and workers is None:
        from llrkit.engine.scanned_files import open_trials

        if unreadable is not None:
            raise InputError("--unreadable is for a cluster (--scheduler, --workers)")
        return open_trials(path, key, **options)
    from llrkit.engine.dask_source import DaskSource
    from llrkit.io import factor_of
    from llrkit.scores.weights import weigh

    for name in _NEEDS_ALL:
        if options.get(name) or (name == "key" and key):
            raise InputError(f"--{name} does not go together with a cluster; convert to Parquet first")
    if options.get("duplicates") not in (None, "keep"):
        raise InputError("--duplicates: repeated trials are not looked for on a cluster")
    trials = DaskSource.from_parquet(
        path,
        client_of(scheduler, workers),
        score=options.get("score") or "score",
        label=options.get("label") or "label",
        positive=options.get("positive"),
        factor=factor_of(log10=options.get("log10", False), distance=options.get("distance", False)),
        unreadable="skip" if unreadable == "skip" else "error",
    )
    return weigh(trials, options["weight"]) if options.get("weight") else trials


def client_of(scheduler: str | None, workers: int | None) -> Client:
    """The cluster of this command; what was started for it ends with the command."""
    from llrkit.engine.cluster import cluster, quieten

    context = click.get_current_context()
    if _CLUSTER not in context.meta:
        quieten()
        context.meta[_CLUSTER] = context.with_resource(cluster(scheduler, workers=workers))
    client: Client = context.meta[_CLUSTER]
    return client


def part_runner(scheduler: str | None, workers: int | None) -> Callable[..., Any] | None:
    """How parts of a folder are worked on by the cluster, or None without one."""
    if scheduler is None and workers is None:
        return None
    from functools import partial

    from llrkit.engine.cluster import done_on

    return partial(done_on, client_of(scheduler, workers))
