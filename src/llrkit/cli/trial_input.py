"""How a command reads trials: its options, and the trials of its files, here or on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from llrkit.base.text import counted
from llrkit.cli.typed_options import Command, ReadingAsTyped
from llrkit.errors import InputError
from llrkit.io.read_options import CLUSTER, Reading

if TYPE_CHECKING:
    from distributed import Client

    from llrkit.engine.apply_files import Run
    from llrkit.scores.source import ScoreSource

_CLUSTER = "llrkit.cluster"
CALIBRATED = "llrkit.calibrated"
"""Where a command notes which of its files hold LLRs that a calibration wrote."""

_READING = (
    click.option("--key", metavar="KEY", help="A file with the labels, joined on the ids of the trials."),
    click.option("--key-columns", metavar="NAME,NAME", help="Names of the columns of a key without header."),
    click.option("--key-label-column", metavar="NAME",
                 help="Column of the key with the labels; by default found by its name."),
    click.option("--score-column", metavar="NAME", help="Column of the scores; by default found "
    "by its name."),
    click.option("--label-column", metavar="NAME",
                 help="Column of the labels (of the key, if there is one); by default found by its name."),
    click.option("--format", metavar="NAME", help="Insist on a format (kaldi, nist, bob, ...)."),
    click.option("--columns", metavar="NAME,NAME", help="Names of the columns of a file without header."),
    click.option("--decimal", type=click.Choice([".", ","]),
                 help="Decimal mark in text files; by default recognized from the scores."),
    click.option("--encoding", metavar="NAME", help="Encoding of text, like latin-1; by default UTF-8."),
    click.option("--nontargets", metavar="FILE",
                 help="Scores of non-targets, one per line; the first file then holds targets only."),
    click.option("--positive", metavar="WORD", help="The label that means target; all other "
    "labels mean non-target."),
    click.option("--log10", is_flag=True, help="The scores are log10 LLRs."),
    click.option("--distance", is_flag=True, help="The scores are distances: lower means more alike."),
    click.option("--weight-column", metavar="NAME", help="Column that says how often each trial counts."),
    click.option("--quality-file", metavar="FILE",
                 help="Quality measures of segments by id, added as columns (BOSARIS, or a table)."),
    click.option("--missing", type=click.Choice(["error", "drop"]), default="error", show_default=True,
                 help="With a key: trials that only one of the files has."),
    click.option("--missing-scores", type=click.Choice(["error", "drop", "reject"]), default="error",
                 show_default=True,
                 help="What to do with trials whose score is empty, NA, '-' or NaN: leave them "
                 "out, or reject them at every threshold."),
    click.option("--where", multiple=True, metavar="'COLUMN OP VALUE'",
                 help="Read only trials that satisfy a condition such as 'seconds >= 5' or "
                 "'room in a,b'. Repeatable: all must hold."),
    click.option("--duplicates", type=click.Choice(["keep", "error", "drop"]),
                 help="What to do with trials that occur more than once. Default: keep; when "
                 "joining: error."),
)  # fmt: skip

score_columns_option = click.option(
    "--score-columns", metavar="COL,COL", help="Columns of a file that hold the scores of different systems."
)
accept_changed_option = click.option(
    "--accept-changed", is_flag=True, help="Use a calibration file that was changed after it was saved."
)
names_option = click.option(
    "--names", metavar="NAME,NAME", help="Names of the systems; by default the names of files or columns."
)


def reading_options(command: Command) -> Command:
    """The options that say how scores are read, for every command that reads some.

    :meth:`TrialInput.of` makes a :class:`Reading` of them. An option that the command has already, with a
    meaning of its own, is left alone.
    """
    own = {param.name for param in _params_of_function(command)}
    for option in reversed(_READING):
        params = _params_of_function(option(command))
        if params[-1].name in own:
            params.pop()
    return command


def _params_of_function(command: Callable[..., object]) -> list[click.Parameter]:
    """The options that click has noted at a function, the last one first."""
    noted: list[click.Parameter] = getattr(command, "__click_params__", [])
    return noted


def cluster_options(command: Command) -> Command:
    """The options of commands that read trials on a cluster."""
    return worker_options(
        click.option(
            "--unreadable", type=click.Choice(["error", "skip"]),
            help="On a cluster: what to do with a Parquet file that cannot be read; by default an error.",
        )(command)
    )  # fmt: skip


def worker_options(command: Command) -> Command:
    """``--scheduler`` and ``--workers``, for commands whose work a cluster can do."""
    for option in (
        click.option("--workers", type=click.IntRange(min=1), metavar="N",
                     help="Start N Dask workers on this machine, for this command only (Parquet only)."),
        click.option("--scheduler", metavar="ADDRESS",
                     help="Use a running Dask cluster, which is trusted (Parquet on paths it can read)."),
    ):  # fmt: skip
        command = option(command)
    return command


def _calibration_of(source: ScoreSource) -> str:
    """The calibration that wrote the LLRs of a source, by name where the trials are in memory and tell."""
    from llrkit.io.columns import LLR_MAP
    from llrkit.scores.trials import Trials

    if not isinstance(source, Trials) or LLR_MAP not in source.table.columns:
        return "a calibration"
    maps = source.table[LLR_MAP].drop_nulls().unique(maintain_order=True).to_list()
    if len(maps) == 1:
        return f"the calibration {maps[0]}"
    return f"{counted(len(maps), 'calibration')}" if maps else "a calibration"


def _names_typed(typed: str | None) -> tuple[str, ...] | None:
    return None if typed is None else tuple(typed.split(","))


@dataclass(frozen=True)
class ClusterChoice:
    """Which Dask cluster a command was told to use, if any."""

    scheduler: str | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        if self.scheduler is not None and self.workers is not None:
            raise InputError("--scheduler and --workers cannot be combined")

    @property
    def any(self) -> bool:
        """Whether a cluster was asked for."""
        return self.scheduler is not None or self.workers is not None


@dataclass(frozen=True)
class TrialInput:
    """What a command was told about its input: how to read it, and which cluster does, if one does."""

    reading: Reading
    cluster: ClusterChoice = field(default_factory=ClusterChoice)

    @classmethod
    def of(cls, options: ReadingAsTyped) -> TrialInput:
        """From the options that ``reading_options`` and ``cluster_options`` gave a command.

        Examples
        --------
        >>> TrialInput.of({"columns": "test,score", "score_column": "score", "log10": True}).reading.to_dict()
        {'score': ['score'], 'columns': ['test', 'score'], 'log10': True}
        """
        score = options.get("score_column")
        reading = Reading(
            key=options.get("key"),
            score=None if score is None else (score,),
            label=options.get("label_column"),
            key_columns=_names_typed(options.get("key_columns")),
            key_label=options.get("key_label_column"),
            format=options.get("format"),
            columns=_names_typed(options.get("columns")),
            decimal=options.get("decimal"),
            encoding=options.get("encoding"),
            nontargets=options.get("nontargets"),
            positive=options.get("positive"),
            log10=options.get("log10", False),
            distance=options.get("distance", False),
            missing=options.get("missing", "error"),
            missing_scores=options.get("missing_scores", "error"),
            duplicates=options.get("duplicates"),
            quality=options.get("quality_file"),
            weight=options.get("weight_column"),
            ids=_names_typed(options.get("ids")) or (),
            where=options.get("where", ()),
            unreadable=options.get("unreadable"),
        )
        return cls(reading, ClusterChoice(options.get("scheduler"), options.get("workers")))

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
