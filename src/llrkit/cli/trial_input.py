"""How a command reads trials: its options, and the trials of its files, here or on a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from llrkit.base.options import Options, declared, opt
from llrkit.base.text import counted
from llrkit.cli.options import Command, options_of, typed_options
from llrkit.errors import InputError
from llrkit.io.read_options import CLUSTER, Reading

if TYPE_CHECKING:
    from distributed import Client

    from llrkit.engine.apply_files import Run
    from llrkit.scores.source import ScoreSource

_CLUSTER = "llrkit.cluster"
CALIBRATED = "llrkit.calibrated"
"""Where a command notes which of its files hold LLRs that a calibration wrote."""

score_columns_option = click.option(
    "--score-columns", metavar="COL,COL", help="Columns of a file that hold the scores of different systems."
)
accept_changed_option = click.option(
    "--accept-changed", is_flag=True, help="Use a calibration file that was changed after it was saved."
)
names_option = click.option(
    "--names", metavar="NAME,NAME", help="Names of the systems; by default the names of files or columns."
)


@dataclass(frozen=True, kw_only=True)
class ClusterChoice(Options):
    """Which Dask cluster a command was told to use, if any."""

    scheduler: str | None = opt(
        None, "Use a running Dask cluster, which is trusted (Parquet on paths it can read).",
        metavar="ADDRESS", against=("workers",),
    )  # fmt: skip
    workers: int | None = opt(
        None, "Start N Dask workers on this machine, for this command only (Parquet only).", "whole", low=1
    )

    @property
    def any(self) -> bool:
        """Whether a cluster was asked for."""
        return self.scheduler is not None or self.workers is not None


# several files, several classes and clusters are asked for by commands that have them
reading_options = options_of(Reading, set(declared(Reading)) - {"ids", "classes", "unreadable"})
"""The options that say how scores are read, for every command that reads some."""
worker_options = options_of(ClusterChoice)
"""``--scheduler`` and ``--workers``, for commands whose work a cluster can do."""


def cluster_options(command: Command) -> Command:
    """The options of commands that read trials on a cluster."""
    return worker_options(options_of(Reading, ("unreadable",))(command))


def _calibration_of(source: ScoreSource) -> str:
    """The calibration that wrote the LLRs of a source, by name where the trials are in memory and tell."""
    from llrkit.io.table_columns import LLR_MAP
    from llrkit.scores.trials import Trials

    if not isinstance(source, Trials) or LLR_MAP not in source.table.columns:
        return "a calibration"
    maps = source.table[LLR_MAP].drop_nulls().unique(maintain_order=True).to_list()
    if len(maps) == 1:
        return f"the calibration {maps[0]}"
    return f"{counted(len(maps), 'calibration')}" if maps else "a calibration"


@dataclass(frozen=True)
class TrialInput:
    """What a command was told about its input: how to read it, and which cluster does, if one does."""

    reading: Reading
    cluster: ClusterChoice = field(default_factory=ClusterChoice)

    @classmethod
    def of(cls, typed: Mapping[str, object]) -> TrialInput:
        """From what was typed for the options of reading and of clusters.

        Examples
        --------
        >>> TrialInput.of({"columns": "test,score", "score_column": "score", "log10": True}).reading.to_dict()
        {'score': ['score'], 'columns': ['test', 'score'], 'log10': True}
        """
        return cls(typed_options(Reading, typed), typed_options(ClusterChoice, typed))

    def open(self, *paths: str, **changed: Any) -> ScoreSource:
        """The trials of a path, or of one path per system; ``changed`` are options that differ."""
        from llrkit.engine.open import open_trials

        reading = self.reading.with_files(**changed)
        if self.cluster.any:
            reading.require(CLUSTER)  # before any worker is started
        source = open_trials(paths, reading, client=self.client() if self.cluster.any else None)
        if source.roles.calibrated:
            said = f"LLRs of the column {source.roles.score[0]!r}, written by {_calibration_of(source)}"
            click.echo(f"{', '.join(paths)}: {said}", err=True)
            names = ", ".join(Path(path).name for path in paths)
            click.get_current_context().meta.setdefault(CALIBRATED, []).append(f"{names}: {said}.")
        return source

    def open_unlabeled(self, path: str) -> ScoreSource:
        """The trials of a path whose labels are not looked at, and need not be there."""
        from llrkit.engine.open import open_unlabeled

        if self.cluster.any:
            self.reading.require(CLUSTER)
        return open_unlabeled(path, self.reading, client=self.client() if self.cluster.any else None)

    def open_systems(
        self, files: tuple[str, ...], score_columns: str | None, names: str | None
    ) -> dict[str, ScoreSource]:
        """Trials by the name of their system: of several files, or several columns of each, in order."""
        from llrkit.io.joins import titles_of

        if score_columns and self.reading.score:
            raise InputError("--score-column and --score-columns cannot be combined")
        columns = score_columns.split(",") if score_columns else []
        titles = titles_of(files, columns, names.split(",") if names is not None else None)
        scores: list[tuple[str, ...] | None] = [(column,) for column in columns] or [self.reading.score]
        wanted = [(file, score) for file in files for score in scores]
        return {
            title: self.open(file, score=score) for title, (file, score) in zip(titles, wanted, strict=True)
        }

    def client(self) -> Client:
        """The cluster of this command; what was started for it ends with the command."""
        context = click.get_current_context()
        if _CLUSTER not in context.meta:
            from llrkit.engine.cluster import cluster, quieten

            quieten()
            opened = cluster(self.cluster.scheduler, workers=self.cluster.workers)
            context.meta[_CLUSTER] = context.with_resource(opened)
        client: Client = context.meta[_CLUSTER]
        return client

    def part_runner(self) -> Run:
        """How parts of a folder are worked on: by the cluster if there is one, otherwise one by one."""
        if not self.cluster.any:
            return map
        from llrkit.engine.cluster import done_on

        return partial(done_on, self.client())
